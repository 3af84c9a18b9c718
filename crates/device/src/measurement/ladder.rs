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

use super::statistics::{Spanned, permille, quantile};

/// Of the sorted repeats one in so many is left out at each end: of three none.
const LEFT_OUT_PARTS: usize = 4;
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
    /// Bytes per second that the readers got together, with the ends of the repeats: of more than three, of their middle half. What a repeat was
    /// slower for the other windows too is left out.
    pub bytes_per_second: Spanned,
    /// How many there were.
    #[serde(default = "usual_repeats")]
    pub repeats: usize,
    /// Median time of a read, in nanoseconds, over all repeats.
    pub p50_ns: u64,
    /// 99 of 100 reads took no longer.
    pub p99_ns: u64,
}

/// Of measurements that do not say it.
const fn usual_repeats() -> usize {
    REPEATS
}

impl LadderPoint {
    /// Whether its rate is known: its repeats differ little, or two of three agree and the third was disturbed.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        let is_near = self.bytes_per_second.spread_permille() <= SPREAD_PERMILLE_MAX;
        let is_whole = self.repeats >= REPEATS;
        is_whole && (is_near || agree(&self.bytes_per_second, self.repeats))
    }
}

/// Whether so many repeats agree, of which these are the ends.
fn agree(rate: &Spanned, repeats: usize) -> bool {
    let apart = if repeats > REPEATS {
        rate.spread_permille()
    } else {
        rate.nearer_end_permille()
    };
    apart <= AGREE_PERMILLE_MAX
}

/// What a ladder found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LadderResult {
    /// What was run to its end, windows ascending.
    pub points: Vec<LadderPoint>,
    /// Why it ended before its end, where it was not told to.
    pub failed: Option<LadderError>,
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

/// Runs every kind of work at every window, one window right behind the other, and then all of that again: what a disk gives that others share
/// changes by half within a minute, and so it does for all windows alike. Streams whose repeats do not agree under one of the windows are run
/// again under each of them, as long as there are runs to spare. `set_window` sets one, in KiB, and says what the kernel
/// keeps.
pub fn run(
    plan: &LadderPlan,
    place: &LadderPlace<'_>,
    set_window: &mut dyn FnMut(u64) -> Result<u64, String>,
) -> LadderResult {
    let mut rungs = rungs(plan, place.bytes_per_second);
    let failed = run_all(plan, place, &mut rungs, set_window).err();
    LadderResult {
        points: points(&rungs),
        failed,
    }
}

/// # Errors
/// A window cannot be set, or the target not be opened or read.
fn run_all(
    plan: &LadderPlan,
    place: &LadderPlace<'_>,
    rungs: &mut [Rung],
    set_window: &mut dyn FnMut(u64) -> Result<u64, String>,
) -> Result<(), LadderError> {
    // Those of what is left out.
    let mut spare_runs = (plan.windows_kib.len() * plan.works.len() - rungs.len()) * REPEATS;
    for repeat in 0..REPEATS_MAX {
        let works = if repeat < REPEATS {
            plan.works.clone()
        } else {
            let works = again(rungs, &plan.works, spare_runs);
            spare_runs -= runs_of(rungs, &works);
            works
        };
        for rung in rungs.iter_mut().filter(|one| works.contains(&one.work)) {
            let failed = |why| LadderError {
                window_kib: rung.asked_kib,
                why,
            };
            let kept_kib = set_window(rung.asked_kib).map_err(failed)?;
            let ran = one_run::run(rung.work, plan, place, repeat);
            let ran = ran.map_err(|error| failed(error.to_string()))?;
            // A run that was cut short says nothing.
            if place.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            rung.kept_kib = kept_kib;
            rung.rates.push(ran.bytes_per_second);
            rung.latencies_ns.extend(ran.latencies_ns);
        }
    }
    Ok(())
}

/// Which of `works` are run once more: streams whose repeats do not agree under every window, as many as `spare_runs` are enough for.
/// Random reads are not asked that much.
fn again(rungs: &[Rung], works: &[LadderWork], spare_runs: usize) -> Vec<LadderWork> {
    let mut again = Vec::new();
    for work in works {
        let mut of_work = (0..rungs.len()).filter(|place| rungs[*place].work == *work);
        let is_known = of_work.all(|place| {
            let rates = levelled(rungs, place);
            agree(&middle(&rates), rates.len())
        });
        if is_known || matches!(work, LadderWork::Random(_)) {
            continue;
        }
        again.push(*work);
        if runs_of(rungs, &again) > spare_runs {
            again.pop();
        }
    }
    again
}

fn runs_of(rungs: &[Rung], works: &[LadderWork]) -> usize {
    rungs.iter().filter(|one| works.contains(&one.work)).count()
}

/// One kind of work at one window, and what its repeats found.
struct Rung {
    asked_kib: u64,
    kept_kib: u64,
    work: LadderWork,
    rates: Vec<u64>,
    latencies_ns: Vec<u64>,
}

/// What is run, work by work, and of each the windows ascending.
fn rungs(plan: &LadderPlan, bytes_per_second: u64) -> Vec<Rung> {
    let mut rungs = Vec::new();
    for work in &plan.works {
        let fills = |window_kib: &&u64| plan.fills(*work, **window_kib, bytes_per_second);
        let windows = plan.windows_kib.iter().filter(fills);
        rungs.extend(windows.map(|window_kib| Rung {
            asked_kib: *window_kib,
            kept_kib: *window_kib,
            work: *work,
            rates: Vec::new(),
            latencies_ns: Vec::new(),
        }));
    }
    rungs
}

/// The rates of the rung at `place`, each as it would have been if its repeat had gone for the other windows of this work as their middle one did. Without
/// another window they are as they are.
fn levelled(rungs: &[Rung], place: usize) -> Vec<u64> {
    let own = &rungs[place];
    let level_permille = |repeat: usize| {
        let others = rungs.iter().enumerate();
        let others = others.filter(|(other, one)| *other != place && one.work == own.work);
        let levels = others.filter_map(|(_, one)| {
            let rate = one.rates.get(repeat)?;
            Some(permille(*rate, middle(&one.rates).value))
        });
        let (count, sum) = levels.fold((0, 0), |(count, sum), level| (count + 1, sum + level));
        sum.checked_div(count).unwrap_or(1000).max(1)
    };
    let rates = own.rates.iter().enumerate();
    rates
        .map(|(repeat, rate)| permille(*rate, level_permille(repeat)))
        .collect()
}

/// Of the rungs that were run.
fn points(rungs: &[Rung]) -> Vec<LadderPoint> {
    let run = (0..rungs.len()).filter(|place| !rungs[*place].rates.is_empty());
    let point = |place| {
        let one: &Rung = &rungs[place];
        let mut latencies_ns = one.latencies_ns.clone();
        latencies_ns.sort_unstable();
        LadderPoint {
            window_kib: one.kept_kib,
            work: one.work,
            bytes_per_second: middle(&levelled(rungs, place)),
            repeats: one.rates.len(),
            p50_ns: quantile(&latencies_ns, 500),
            p99_ns: quantile(&latencies_ns, 990),
        }
    };
    let mut points: Vec<LadderPoint> = run.map(point).collect();
    points.sort_by_key(|one| one.window_kib);
    points
}

/// The median of `rates`, and the ends without a quarter of them at each side.
fn middle(rates: &[u64]) -> Spanned {
    let mut sorted = rates.to_vec();
    sorted.sort_unstable();
    let left_out = sorted.len() / LEFT_OUT_PARTS;
    Spanned::of(sorted[left_out..sorted.len() - left_out].to_vec())
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

    fn rung(work: LadderWork, rates: &[u64]) -> Rung {
        Rung {
            asked_kib: 128,
            kept_kib: 128,
            work,
            rates: rates.to_vec(),
            latencies_ns: vec![1],
        }
    }

    /// One stream under 8 MiB of the disk of a virtual machine had these rates.
    const APART: [u64; 3] = [2190, 2814, 3565];

    #[test]
    fn streams_that_do_not_agree_are_run_again_while_there_are_runs_to_spare() {
        let works = [
            LadderWork::Streams(1),
            LadderWork::Streams(8),
            LadderWork::Streams(64),
            LadderWork::Random(4096),
        ];
        let [one, many, most, random] = works;
        let rungs = [
            rung(one, &[3000, 3010, 3020]),
            rung(one, &APART),
            rung(many, &[3000, 2000, 3010]),
            rung(most, &APART),
            rung(random, &APART),
        ];
        let again = |spare_runs| again(&rungs, &works, spare_runs);
        assert_eq!(again(9), [one, most], "two of three agree of the others");
        assert_eq!(again(2), [one], "both of its windows");
        assert_eq!(again(1), [most]);
        assert_eq!(again(0), []);
    }

    /// One stream of a disk that gives half as much in some moments, and in some places.
    #[test]
    fn a_repeat_that_is_slow_for_all_windows_tells_none_apart() {
        let work = LadderWork::Streams(1);
        let mut rungs = vec![
            rung(work, &[1500, 750, 1520, 760]),
            rung(work, &[2400, 1210, 2410, 1200]),
        ];
        let points = points(&rungs);
        let [small, large] = [&points[0].bytes_per_second, &points[1].bytes_per_second];
        assert!(
            small.spread_permille() < 30 && large.spread_permille() < 30,
            "{points:?}"
        );
        assert_eq!(permille(large.value, small.value) / 10, 158);
        assert_eq!(again(&rungs, &[work], 9), []);
        rungs.pop();
        assert_eq!(again(&rungs, &[work], 9), [work], "alone it says nothing");
    }

    #[test]
    fn more_than_three_repeats_agree_in_their_middle_half() {
        let ends = |rates: &[u64]| {
            let found = middle(rates);
            (found.low, found.value, found.high)
        };
        assert_eq!(ends(&APART), (2190, 2814, 3565));
        assert_eq!(
            ends(&[2190, 3565, 2814, 3620, 3601, 3588]),
            (2814, 3588, 3601)
        );
        assert_eq!(ends(&[7]), (7, 7, 7));
        let is_sure = |rates: &[u64]| points(&[rung(LadderWork::Streams(1), rates)])[0].is_sure();
        assert!(is_sure(&[2000, 3000, 3010]) && !is_sure(&APART));
        assert!(!is_sure(&[3000, 3010]), "interrupted");
        assert!(
            !is_sure(&[1000, 1010, 2000, 3000]),
            "two of four are not enough"
        );
        assert!(is_sure(&[1000, 2990, 3010, 3000, 3020, 4000]));
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
        let LadderResult { points, failed } = run(&plan, &place, &mut set_window);
        assert_eq!(failed, None);
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
            [64, 128, 64, 128, 64, 128, 64, 128, 64, 128, 64, 128],
            "in turn, and nothing is to spare"
        );
        let mut turns = 0;
        let refused = run(&plan, &place, &mut |kib| {
            turns += 1;
            (turns < 5).then_some(kib).ok_or_else(|| "no".to_owned())
        });
        assert_eq!(refused.failed.unwrap().to_string(), "at 64 KiB: no");
        let repeats = refused.points.iter().map(|one| one.repeats);
        assert_eq!(
            repeats.collect::<Vec<_>>(),
            [1; 4],
            "what was run is not lost"
        );
        stop.store(true, Ordering::Relaxed);
        assert_eq!(run(&plan, &place, &mut Ok), LadderResult::default());
    }
}
