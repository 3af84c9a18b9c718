//! A recommendation proved: the mix is read by real programs over a real kernel at every window, and the
//! recommended one held against the fastest.
//!
//! In a guest the kernel is Linux 6.12 and the disk the model that was recommended for, in virtual time: figures that
//! repeat. On a folder, or on an emulated disk, it is the running kernel in real time, whose noise is in the figures.
//! The files are those of the recommendation, only that the random places lie in a file that can be written.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use ahead_disk_model::DiskModel;
use ahead_harness::arm::Arm;
use ahead_harness::results::RunRecord;
use ahead_harness::{DiskChoice, Results};
use ahead_study::plan::{CEILING, Plan};
use ahead_study::results::CONTENDER;
use ahead_workload::Workload;

use super::error::{RecommendCommandError, range};
use super::mix::{self, Mix};
use super::proof::{Duel, Proof, ProvedRate, policy};
use super::sweep::WINDOWS_KIB;
use crate::arguments::BenchRun;
use crate::lab::Unfinished;
use crate::progress::{self, Shows};
use crate::{bench, lab, studies};

/// What `--prove` calls a guest.
pub(super) const LAB: &str = "lab";
/// Smaller windows are proved only where one is recommended. They take a request for every few pages, which is set
/// by few, and half of the time of a proof.
const PROVED_KIB_MIN: u64 = 32;
/// Real time: how often each window is measured. The median is compared.
const REPEATS: u32 = 3;
/// Real time: how often two windows are run in turn that the first runs do not tell apart. Where runs differ by a tenth, the
/// median of so many pairs is known to some 2 %.
const DUEL_REPEATS: u32 = 21;
/// A guest: what a run may take on the host's clock, and what more for each GiB that is read. A GiB takes 5 s there, and a
/// minute or two on a machine with ten other jobs; who takes so much longer hangs.
const RUN_SECONDS: u64 = 600;
const RUN_SECONDS_PER_GIB: u64 = 100;
const MODEL: &str = "device.toml";
const NAME: &str = "mix";

/// What is read to prove a recommendation, and where.
#[derive(Debug)]
pub(super) struct Proving<'a> {
    place: &'a str,
    workload: Workload,
    memory_bytes: u64,
    run_limit: Duration,
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
        let capacity = mix::random_bytes(memory_bytes);
        Ok(Self {
            place,
            workload: mix.workload(capacity),
            memory_bytes,
            run_limit: run_limit(mix.bytes(capacity)),
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
        run_limit,
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
        return in_lab(plan, request_kib, run_limit, recommended_kib);
    }
    let file = folder.path().join("plan.toml");
    studies::write(&file, plan.to_toml().as_bytes())?;
    let measure = |arms: String, repeat| {
        bench::results(&BenchRun {
            disk: Some(place.to_owned()),
            plan: Some(file.clone()),
            arm: arms,
            repeat,
            ..BenchRun::default()
        })
    };
    let names = |windows: &mut dyn Iterator<Item = u64>| {
        let names: Vec<String> = windows.map(|kib| arm_of(kib).to_string()).collect();
        names.join(",")
    };
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let all = names(&mut windows(recommended_kib)) + ",run,ceiling";
    let results = measure(all, REPEATS)?;
    let said = format!(
        "Linux {} on {} ({}), in real time",
        kernel.trim(),
        place,
        results.disk.description
    );
    let proof = Proof::of(said, true, &rates(&results), recommended_kib);
    if !proof.is_undecided() {
        return Ok(proof);
    }
    let both = [recommended_kib, proof.fastest_kib];
    let again = measure(names(&mut both.into_iter()), DUEL_REPEATS)?;
    let [own, other] = both.map(|kib| {
        let runs = again.runs.iter().filter(move |run| run.arm == arm_of(kib));
        runs.map(rate)
    });
    let pairs: Vec<(u64, u64)> = own.zip(other).collect();
    Ok(match Duel::of(&pairs) {
        Some(duel) => proof.decided_by(duel),
        None => proof,
    })
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

/// What a run that reads so much may take in a guest.
fn run_limit(bytes: u64) -> Duration {
    let gib = bytes.div_ceil(1 << 30);
    Duration::from_secs(RUN_SECONDS + RUN_SECONDS_PER_GIB.saturating_mul(gib))
}

fn in_lab(
    plan: Plan,
    request_kib: u64,
    run_limit: Duration,
    recommended_kib: u64,
) -> Result<Proof, RecommendCommandError> {
    let request_kib = u32::try_from(request_kib).ok();
    let stop = studies::stop_flag()?;
    let bar = progress::bar(Shows::Parts, 1);
    bar.set_message("every window, in a guest");
    let plans = [plan];
    let outcomes =
        lab::outcomes_and_unfinished(&plans, request_kib, run_limit, &stop, &mut |_, _| {
            bar.inc(1)
        });
    bar.finish_and_clear();
    let outcomes = outcomes?;
    let rates = outcomes.finished.into_iter().map(|one| {
        let rate = ProvedRate::of(vec![one.report.bytes_per_second()]);
        (one.cell.policy, rate)
    });
    let unfinished = outcomes.unfinished.into_iter();
    let rates = rates.chain(unfinished.map(|(cell, why)| (cell.policy, ProvedRate::none(why))));
    let place = "Linux 6.12 in a guest over this model, in virtual time".to_owned();
    Ok(Proof::of(place, false, &rates.collect(), recommended_kib))
}

/// Each arm, by what the lab calls it. One that was out of memory once cannot be relied on.
fn rates(results: &Results) -> BTreeMap<String, ProvedRate> {
    let mut all: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for run in &results.runs {
        all.entry(name_of(&run.arm)).or_default().push(rate(run));
    }
    let killed = results.out_of_memory.iter();
    let killed: BTreeSet<String> = killed.map(|run| name_of(&run.arm)).collect();
    let mut rates: BTreeMap<String, ProvedRate> = all
        .into_iter()
        .map(|(name, rates)| (name, ProvedRate::of(rates)))
        .collect();
    let none = ProvedRate::none(Unfinished::OutOfMemory);
    rates.extend(killed.into_iter().map(|name| (name, none)));
    rates
}

fn name_of(arm: &Arm) -> String {
    match arm {
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

    /// One that is recommended is measured, however small it is.
    #[test]
    fn small_windows_are_proved_where_they_are_recommended() {
        assert_eq!(windows(16).min(), Some(16));
        assert_eq!(windows(512).min(), Some(32));
        assert_eq!(windows(512).max(), Some(64 << 10));
    }

    /// A program of 16 MiB and a hundred of them: what hangs is found in minutes, and nobody who is slow is taken for it.
    #[test]
    fn a_run_may_take_longer_the_more_it_reads() {
        assert_eq!(run_limit(16 << 20).as_secs(), 700);
        assert_eq!(run_limit(1 << 30).as_secs(), 700);
        assert_eq!(run_limit(16 << 30).as_secs(), 2200);
        assert!(run_limit(u64::MAX) > run_limit(1 << 40));
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
