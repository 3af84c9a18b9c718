//! Through the page cache, at a ladder of windows: sequential streams and random reads, as programs have them.
//!
//! Windows take turns, and each has its repeats ([`run`]). Streams whose windows fill no sooner than in a quarter of a run are
//! left out, as they would show the filling. Who sets the windows and puts them back is the caller; `one_run` is one run.

mod one_run;
mod plan;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};

pub use plan::{LadderPlace, LadderPlan, LadderWork, STREAM_READ_BYTES, plan};
use plan::{REPEATS, REPEATS_MAX};

use super::statistics::{Spanned, quantile};

/// Repeats that lie so near together, in thousandths of their median, agree: a sixteenth.
const AGREE_PERMILLE_MAX: u64 = 62;
/// A point whose repeats differ by more than a quarter of their median says nothing: the rates of two windows differ by less. In memory
/// that a virtual machine had given back to its host, runs of one stream under 8 MiB differed by 1.9 times their median.
const SPREAD_PERMILLE_MAX: u64 = 250;

/// What one window did for one kind of reading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LadderPoint {
    /// The window, in KiB.
    pub window_kib: u64,
    /// What was read.
    pub work: LadderWork,
    /// Bytes per second that the readers got together, with the ends of the repeats: of the first three, or, where these do not agree,
    /// of the majority of all that lies nearest together.
    pub bytes_per_second: Spanned,
    /// Median time of a read, in nanoseconds, over all repeats.
    pub p50_ns: u64,
    /// 99 of 100 reads took no longer.
    pub p99_ns: u64,
}

impl LadderPoint {
    /// Whether its rate is known: its repeats differ little, or two of three agree and the third was disturbed.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        let rate = &self.bytes_per_second;
        rate.spread_permille() <= SPREAD_PERMILLE_MAX
            || rate.nearer_end_permille() <= AGREE_PERMILLE_MAX
    }
}

/// Why a ladder ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at {window_kib} KiB: {why}")]
pub struct LadderError {
    /// The window, in KiB.
    pub window_kib: u64,
    /// What could not be set, opened or read.
    pub why: String,
}

/// Runs every kind of work at every window, window by window, and then all of that again: what a disk gives that others share
/// changes by half within a minute, and so it does for all windows alike. Streams whose repeats do not agree under one of the windows are run
/// again under each of them, as long as there are runs to spare. `set_window` sets one, in KiB, and says what the kernel
/// keeps. Where it is to stop, what had all of its repeats comes back, windows ascending.
///
/// # Errors
/// A window cannot be set, or the target not be opened or read.
pub fn run(
    plan: &LadderPlan,
    place: &LadderPlace<'_>,
    set_window: &mut dyn FnMut(u64) -> Result<u64, String>,
) -> Result<Vec<LadderPoint>, LadderError> {
    let mut rungs = rungs(plan, place.bytes_per_second);
    // Those of what is left out.
    let mut spare_runs = (plan.windows_kib.len() * plan.works.len() - rungs.len()) * REPEATS;
    let mut works = plan.works.clone();
    for repeat in 0..REPEATS_MAX {
        if repeat >= REPEATS {
            works.retain(|work| !has_agreed(&rungs, *work));
            while runs_of(&rungs, &works) > spare_runs {
                works.pop();
            }
            spare_runs -= runs_of(&rungs, &works);
        }
        for window_kib in &plan.windows_kib {
            let is_meant =
                |one: &&mut Rung| one.asked_kib == *window_kib && works.contains(&one.work);
            let mut at_window = rungs.iter_mut().filter(is_meant).peekable();
            if at_window.peek().is_none() {
                continue;
            }
            let failed = |why| LadderError {
                window_kib: *window_kib,
                why,
            };
            let kept_kib = set_window(*window_kib).map_err(failed)?;
            for rung in at_window {
                if place.stop.load(Ordering::Relaxed) {
                    return Ok(points(&rungs));
                }
                let ran = one_run::run(rung.work, plan, place, repeat);
                let ran = ran.map_err(|error| failed(error.to_string()))?;
                rung.kept_kib = kept_kib;
                rung.rates.push(ran.bytes_per_second);
                rung.latencies_ns.extend(ran.latencies_ns);
            }
        }
    }
    Ok(points(&rungs))
}

/// One kind of work at one window, and what its repeats found.
struct Rung {
    asked_kib: u64,
    kept_kib: u64,
    work: LadderWork,
    rates: Vec<u64>,
    latencies_ns: Vec<u64>,
}

/// What is run, windows ascending.
fn rungs(plan: &LadderPlan, bytes_per_second: u64) -> Vec<Rung> {
    let mut rungs = Vec::new();
    for window_kib in &plan.windows_kib {
        let fills = |work: &&LadderWork| plan.fills(**work, *window_kib, bytes_per_second);
        rungs.extend(plan.works.iter().filter(fills).map(|work| Rung {
            asked_kib: *window_kib,
            kept_kib: *window_kib,
            work: *work,
            rates: Vec::new(),
            latencies_ns: Vec::new(),
        }));
    }
    rungs
}

/// Whether the repeats of `work` agree under every window; random reads are not asked that much.
fn has_agreed(rungs: &[Rung], work: LadderWork) -> bool {
    let mut of_work = rungs.iter().filter(|one| one.work == work);
    let agree = |one: &Rung| agreed(&one.rates).spread_permille() <= AGREE_PERMILLE_MAX;
    matches!(work, LadderWork::Random(_)) || of_work.all(agree)
}

fn runs_of(rungs: &[Rung], works: &[LadderWork]) -> usize {
    rungs.iter().filter(|one| works.contains(&one.work)).count()
}

/// Of the rungs that had all of their repeats.
fn points(rungs: &[Rung]) -> Vec<LadderPoint> {
    let done = rungs.iter().filter(|one| one.rates.len() >= REPEATS);
    let point = |one: &Rung| {
        let mut latencies_ns = one.latencies_ns.clone();
        latencies_ns.sort_unstable();
        LadderPoint {
            window_kib: one.kept_kib,
            work: one.work,
            bytes_per_second: if one.rates.len() > REPEATS {
                agreed(&one.rates)
            } else {
                Spanned::of(one.rates.clone())
            },
            p50_ns: quantile(&latencies_ns, 500),
            p99_ns: quantile(&latencies_ns, 990),
        }
    };
    done.map(point).collect()
}

/// The majority of `rates` that lies nearest together: what disturbs a run makes it slower, each time by something else.
fn agreed(rates: &[u64]) -> Spanned {
    let mut sorted = rates.to_vec();
    sorted.sort_unstable();
    let nearest = sorted.windows(sorted.len() / 2 + 1).min_by_key(|some| {
        some.last()
            .zip(some.first())
            .map(|(last, first)| last - first)
    });
    Spanned::of(nearest.unwrap_or_default().to_vec())
}

/// Points by what was read, windows ascending: the rows of a table.
#[must_use]
pub fn by_work(points: &[LadderPoint]) -> BTreeMap<LadderWork, Vec<&LadderPoint>> {
    let mut rows: BTreeMap<LadderWork, Vec<&LadderPoint>> = BTreeMap::new();
    for point in points {
        rows.entry(point.work).or_default().push(point);
    }
    rows
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// One stream under 8 MiB: what it may be run again takes nothing from the others.
    #[test]
    fn streams_that_do_not_agree_are_run_again_and_random_reads_are_not() {
        let rung = |work, rates: &[u64]| Rung {
            asked_kib: 128,
            kept_kib: 128,
            work,
            rates: rates.to_vec(),
            latencies_ns: vec![1],
        };
        let [one, many, random] = [
            LadderWork::Streams(1),
            LadderWork::Streams(8),
            LadderWork::Random(4096),
        ];
        let apart = [2190, 2814, 3565];
        let rungs = [
            rung(one, &[3000, 3010, 3020]),
            rung(one, &apart),
            rung(many, &[3000, 2000, 3010]),
            rung(random, &apart),
        ];
        let agreed = [one, many, random].map(|work| has_agreed(&rungs, work));
        assert_eq!(agreed, [false, true, true]);
        assert_eq!(runs_of(&rungs, &[one, random]), 3);
        assert_eq!(points(&rungs).len(), 4);
        assert_eq!(points(&[rung(one, &[1, 2])]), []);
    }

    /// Rates of one stream under 8 MiB on the disk of a virtual machine: its host had to give memory in some of the repeats.
    #[test]
    fn what_most_repeats_agree_on_counts() {
        let rates = [2190, 3565, 2814, 3620, 3601, 3588];
        let found = agreed(&rates);
        assert_eq!((found.low, found.value, found.high), (3565, 3601, 3620));
        let of_three = agreed(&rates[..3]);
        assert_eq!((of_three.low, of_three.high), (2190, 2814));
        assert!(of_three.spread_permille() > AGREE_PERMILLE_MAX);
        assert_eq!(agreed(&[7]), Spanned::of(vec![7]));
    }

    #[test]
    fn a_ladder_is_run_on_a_file_and_every_work_has_a_point_at_every_window() {
        let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&vec![1; 16 << 20]).unwrap();
        let plan = LadderPlan {
            windows_kib: vec![64, 128],
            works: vec![LadderWork::Streams(8), LadderWork::Random(4096)],
            run_ns: 50_000_000,
            run_bytes_max: 8 << 20,
        };
        let stop = AtomicBool::new(false);
        let place = LadderPlace {
            path: file.path(),
            size_bytes: 16 << 20,
            bytes_per_second: 1 << 40,
            settle: &|| (),
            stop: &stop,
        };
        let mut set = Vec::new();
        let mut set_window = |kib| {
            set.push(kib);
            Ok(kib)
        };
        let points = run(&plan, &place, &mut set_window).unwrap();
        let at: Vec<_> = points
            .iter()
            .map(|one| (one.window_kib, one.work))
            .collect();
        let [streams, random] = [LadderWork::Streams(8), LadderWork::Random(4096)];
        assert_eq!(
            at,
            [(64, streams), (64, random), (128, streams), (128, random)]
        );
        assert!(points.iter().all(|one| one.bytes_per_second.value > 0));
        assert_eq!(by_work(&points).len(), 2);
        assert_eq!(
            set,
            [64, 128, 64, 128, 64, 128],
            "in turn, and nothing is to spare"
        );
        let refused = run(&plan, &place, &mut |_| Err("no".to_owned())).unwrap_err();
        assert_eq!(refused.to_string(), "at 64 KiB: no");
        stop.store(true, Ordering::Relaxed);
        assert_eq!(run(&plan, &place, &mut Ok), Ok(Vec::new()));
    }
}
