//! A recommendation proved: the mix is read by real programs over a real kernel at every window, and the
//! recommended one held against the fastest.
//!
//! In a guest the kernel is Linux 6.12 and the disk the model that was recommended for, in virtual time: figures that
//! repeat. On a folder, or on an emulated disk, it is the running kernel in real time, whose noise is in the figures.
//! The files are those of the recommendation, only that the random places lie in a file that can be written.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ahead_device::measurement::statistics::permille;
use ahead_disk_model::DiskModel;
use ahead_harness::arm::Arm;
use ahead_harness::results::RunRecord;
use ahead_harness::{DiskChoice, Results};
use ahead_study::plan::{CEILING, FLOOR, GUEST_KERNEL, Plan};
use ahead_study::results::CONTENDER;
use ahead_study::table;
use ahead_workload::Workload;
use serde::Serialize;

use super::error::{RecommendCommandError, range};
use super::mix::{self, Mix};
use super::sweep::{ALIKE_PER_CENT, WINDOWS_KIB, name_of as name_of_window};
use crate::arguments::BenchRun;
use crate::figures::{megabytes, per_cent, per_cent_of_permille};
use crate::progress::{self, Shows};
use crate::{bench, lab, studies};

/// What `--prove` calls a guest.
pub(super) const LAB: &str = "lab";
/// Smaller windows are proved only where one is recommended. They take a request for every few pages, which is set
/// by few, and half of the time of a proof.
const PROVED_KIB_MIN: u64 = 32;
/// Real time: how often each window is measured. The median is compared.
const REPEATS: u32 = 3;
const MODEL: &str = "device.toml";
const NAME: &str = "mix";

/// What one window does, measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct ProvedRate {
    /// Bytes per second that the programs got; of several runs the median.
    pub bytes_per_second: u64,
    /// (Largest − smallest) by the median of the runs, in thousandths; `None` of a single run.
    pub spread_permille: Option<u64>,
}

/// A recommendation and what a kernel really does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Proof {
    /// What was measured, and on what.
    pub place: String,
    /// Noise is in the figures.
    pub is_real_time: bool,
    /// Window by window, in KiB.
    pub windows: BTreeMap<u64, ProvedRate>,
    /// Under `ahead run`.
    pub ahead_run: Option<ProvedRate>,
    /// By a reader that knows its future.
    pub ceiling: Option<ProvedRate>,
    /// The window that was recommended.
    pub recommended_kib: u64,
    /// The fastest of all.
    pub fastest_kib: u64,
    /// So much slower is the recommended one, in thousandths.
    pub loss_permille: u64,
    /// It is as fast as the fastest, as far as windows are told apart.
    pub holds: bool,
}

impl Proof {
    /// For people.
    pub(super) fn text(&self) -> String {
        let best = self.windows.get(&self.fastest_kib);
        let best = best.map_or(0, |one| one.bytes_per_second);
        let mut titles = vec!["window", "MB/s", "of best"];
        titles.extend(self.is_real_time.then_some("spread"));
        let row = |name: String, one: &ProvedRate| {
            let spread = per_cent_of_permille(one.spread_permille);
            let mut cells = vec![
                name,
                megabytes(one.bytes_per_second),
                per_cent(one.bytes_per_second, best),
            ];
            cells.extend(self.is_real_time.then_some(spread));
            cells
        };
        let mut rows = table::with_titles(&titles, 1..titles.len());
        for (kib, one) in &self.windows {
            let mark = if *kib == self.recommended_kib {
                " <"
            } else {
                ""
            };
            rows.add_row(row(name_of_window(*kib) + mark, one));
        }
        for (name, one) in [("ahead run", &self.ahead_run), ("ceiling", &self.ceiling)] {
            if let Some(one) = one {
                rows.add_row(row(name.to_owned(), one));
            }
        }
        let verdict = if self.holds { "Proved" } else { "Not proved" };
        let noise = if self.is_real_time {
            " Real time: what else the machine did is in these figures."
        } else {
            ""
        };
        format!(
            "\nMeasured: {}\n\n{rows}\n\n{verdict}: {} is {} slower than the fastest, {}; up to {ALIKE_PER_CENT} % \
             counts as alike.{noise}\n",
            self.place,
            name_of_window(self.recommended_kib),
            per_cent_of_permille(Some(self.loss_permille)),
            name_of_window(self.fastest_kib),
        )
    }

    fn of(
        place: String,
        is_real_time: bool,
        rates: &BTreeMap<String, ProvedRate>,
        recommended_kib: u64,
    ) -> Self {
        let rate = |name: &str| rates.get(name).copied();
        let windows: BTreeMap<u64, ProvedRate> = WINDOWS_KIB
            .into_iter()
            .filter_map(|kib| Some((kib, rate(&policy(kib))?)))
            .collect();
        let fastest = windows.iter().max_by_key(|(_, one)| one.bytes_per_second);
        let (fastest_kib, best) = fastest.map_or((0, 0), |(kib, one)| (*kib, one.bytes_per_second));
        let own = windows.get(&recommended_kib);
        let own = own.map_or(0, |one| one.bytes_per_second);
        let loss_permille = permille(best, own.max(1)).saturating_sub(1000);
        Self {
            place,
            is_real_time,
            ahead_run: rate(CONTENDER),
            ceiling: rate(CEILING),
            recommended_kib,
            fastest_kib,
            loss_permille,
            holds: u128::from(best) * 100 <= u128::from(own) * u128::from(100 + ALIKE_PER_CENT),
            windows,
        }
    }
}

/// What the lab calls the kernel with this window.
fn policy(kib: u64) -> String {
    match kib {
        0 => FLOOR.to_owned(),
        128 => GUEST_KERNEL.to_owned(),
        _ => format!("{GUEST_KERNEL}:ra_kb={kib}"),
    }
}

/// What is read to prove a recommendation, and where.
#[derive(Debug)]
pub(super) struct Proving<'a> {
    place: &'a str,
    workload: Workload,
    memory_bytes: u64,
}

impl<'a> Proving<'a> {
    /// `mix` in `place`: [`LAB`], or what `ahead bench run --disk` takes.
    ///
    /// # Errors
    /// There is no such place.
    pub(super) fn new(
        place: &'a str,
        mix: &Mix,
        memory_bytes: u64,
    ) -> Result<Self, RecommendCommandError> {
        let is_emulated = matches!(place.parse(), Ok(DiskChoice::Emulated(_)));
        if place != LAB && !is_emulated && !Path::new(place).is_dir() {
            let expected = "lab, the name of an emulated disk, or a folder";
            return Err(range("--prove", place, expected));
        }
        let workload = mix.workload(mix::random_bytes(memory_bytes));
        Ok(Self {
            place,
            workload,
            memory_bytes,
        })
    }
}

/// Measures every window, on `disk` with requests of `request_kib` where that is a guest's.
pub(super) fn prove(
    proving: Proving<'_>,
    disk: &DiskModel,
    request_kib: u64,
    recommended_kib: u64,
) -> Result<Proof, RecommendCommandError> {
    let Proving {
        place,
        workload,
        memory_bytes,
    } = proving;
    let folder = tempfile::Builder::new().prefix("ahead-prove-").tempdir();
    let folder = folder.map_err(RecommendCommandError::Folder)?;
    let model = folder.path().join(MODEL);
    let toml = disk.to_toml().map_err(RecommendCommandError::ModelText)?;
    studies::write(&model, toml.as_bytes())?;
    let plan = Plan {
        name: NAME.to_owned(),
        about: "what a window is recommended for".to_owned(),
        seed: 1,
        disks: vec![MODEL.to_owned()],
        memory_mib: vec![(memory_bytes >> 20).max(1)],
        policies: windows(recommended_kib)
            .map(policy)
            .chain([CONTENDER.to_owned()])
            .collect(),
        workload: [(NAME.to_owned(), workload)].into(),
        folder: folder.path().to_owned(),
        ..Plan::default()
    };
    if place == LAB {
        return in_lab(plan, request_kib, recommended_kib);
    }
    let file = folder.path().join("plan.toml");
    studies::write(&file, plan.to_toml().as_bytes())?;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let arms: Vec<String> = windows(recommended_kib)
        .map(|kib| arm_of(kib).to_string())
        .collect();
    let results = bench::results(&BenchRun {
        disk: Some(place.to_owned()),
        plan: Some(file),
        arm: format!("{},run,ceiling", arms.join(",")),
        repeat: REPEATS,
        ..BenchRun::default()
    })?;
    let said = format!(
        "Linux {} on {} ({}), in real time",
        kernel.trim(),
        place,
        results.disk.description
    );
    Ok(Proof::of(said, true, &rates(&results), recommended_kib))
}

/// The windows of a proof, in KiB.
fn windows(recommended_kib: u64) -> impl Iterator<Item = u64> {
    let is_proved = move |kib: &u64| *kib >= PROVED_KIB_MIN || *kib == recommended_kib;
    WINDOWS_KIB.into_iter().filter(is_proved)
}

fn arm_of(kib: u64) -> Arm {
    match kib {
        0 => Arm::Off,
        kib => Arm::Stock { kib },
    }
}

fn in_lab(
    plan: Plan,
    request_kib: u64,
    recommended_kib: u64,
) -> Result<Proof, RecommendCommandError> {
    let request_kib = u32::try_from(request_kib).ok();
    let stop = studies::stop_flag()?;
    let bar = progress::bar(Shows::Parts, 1);
    bar.set_message("every window, in a guest");
    let outcomes = lab::outcomes(&[plan], request_kib, &stop, &mut |_, _| bar.inc(1));
    bar.finish_and_clear();
    let rates = outcomes?.into_iter().map(|one| {
        let rate = ProvedRate {
            bytes_per_second: one.report.bytes_per_second(),
            spread_permille: None,
        };
        (one.cell.policy, rate)
    });
    let place = "Linux 6.12 in a guest over this model, in virtual time".to_owned();
    Ok(Proof::of(place, false, &rates.collect(), recommended_kib))
}

/// The median of each arm, by what the lab calls it.
fn rates(results: &Results) -> BTreeMap<String, ProvedRate> {
    let mut all: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for run in &results.runs {
        all.entry(name_of(run)).or_default().push(rate(run));
    }
    let median = |mut rates: Vec<u64>| {
        rates.sort_unstable();
        let middle = rates[rates.len() / 2];
        let spread = rates[rates.len() - 1] - rates[0];
        ProvedRate {
            bytes_per_second: middle,
            spread_permille: (rates.len() > 1).then(|| permille(spread, middle.max(1))),
        }
    };
    all.into_iter()
        .map(|(name, rates)| (name, median(rates)))
        .collect()
}

fn name_of(run: &RunRecord) -> String {
    match &run.arm {
        Arm::Off => policy(0),
        Arm::Stock { kib } => policy(*kib),
        Arm::Ceiling => CEILING.to_owned(),
        _ => CONTENDER.to_owned(),
    }
}

fn rate(run: &RunRecord) -> u64 {
    let bytes = u128::from(run.useful_bytes) * 1_000_000_000 / u128::from(run.elapsed_ns.max(1));
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof(rates: &[(u64, u64)], recommended_kib: u64) -> Proof {
        let rate = |(kib, bytes_per_second): &(u64, u64)| {
            let rate = ProvedRate {
                bytes_per_second: *bytes_per_second,
                spread_permille: None,
            };
            (policy(*kib), rate)
        };
        let rates = rates.iter().map(rate).collect();
        Proof::of("a test".to_owned(), false, &rates, recommended_kib)
    }

    #[test]
    fn three_in_a_hundred_slower_than_the_fastest_holds_and_more_does_not() {
        let rates = [(128, 500), (512, 1000), (4096, 1030), (8192, 700)];
        let near = proof(&rates, 512);
        assert_eq!(
            (near.holds, near.loss_permille, near.fastest_kib),
            (true, 30, 4096)
        );
        assert!(
            near.text().contains("Proved: 512 KiB is 3.0 %"),
            "{}",
            near.text()
        );
        let far = proof(&[(512, 1000), (4096, 1031)], 512);
        assert!(
            !far.holds && far.text().contains("Not proved"),
            "{}",
            far.text()
        );
        assert!(!proof(&rates, 128).holds);
        assert!(
            !proof(&rates, 1024).holds,
            "what was not measured is not proved"
        );
    }

    /// One that is recommended is measured, however small it is.
    #[test]
    fn small_windows_are_proved_where_they_are_recommended() {
        assert_eq!(windows(16).min(), Some(16));
        assert_eq!(windows(512).min(), Some(32));
        assert_eq!(windows(512).max(), Some(64 << 10));
    }

    #[test]
    fn a_plan_of_a_proof_is_one_that_the_bench_reads() {
        let mix = Mix {
            streams: 8,
            random_permille: 300,
            request_bytes: 128 << 10,
            bytes_per_second_max: None,
        };
        let proving = Proving::new(LAB, &mix, 256 << 20).expect("a guest has space");
        let plan = Plan {
            name: NAME.to_owned(),
            about: "a test".to_owned(),
            disks: vec!["hdd".to_owned()],
            memory_mib: vec![256],
            workload: [(NAME.to_owned(), proving.workload)].into(),
            ..Plan::default()
        };
        let read = Plan::from_toml(&plan.to_toml(), Path::new(""), "a test");
        assert_eq!(read.expect("a plan").workload, plan.workload);
        assert!(Proving::new("/no/such", &mix, 1 << 30).is_err());
    }
}
