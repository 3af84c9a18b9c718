//! The places of plans in guests: each workload of a plan on each of its disks, done by the bench's
//! reader over the real kernel, as outcomes that the simulator's tables show.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ahead_disk_model::TimeScale;
use ahead_guest::source::KernelSeries;
use ahead_guest::{Console, GuestDisk, GuestError, Task};
use ahead_harness::Results;
use ahead_harness::arm::Arm;
use ahead_harness::results::RunRecord;
use ahead_sim::report::{DeviceReport, WorldReport};
use ahead_study::parallel;
use ahead_study::plan::{CEILING, Cell, FLOOR, GUEST_KERNEL, PATCHED, Plan};
use ahead_study::results::CONTENDER;
use ahead_study::sweep::CellOutcome;
use ahead_workload::{Scenario, Workload};

use super::error::LabError;
use super::machine::{
    WALL_LIMIT, bench_command, bench_in, guest_of, in_shared, results_so_far, runs_of_bench,
    shared_folder,
};
use super::unfinished::Unfinished;
use crate::arguments::LabKernel;

/// The plan of one place, in the shared folder.
const PLAN: &str = "plan.toml";
/// The disk of that plan, which needs one.
const ANY_DISK: &str = "hdd";
/// Memory of a guest: the reader's is what the plan says, the rest holds the programs.
const SPARE_BYTES: u64 = 1 << 30;
/// Of the disk, beside the files: a file system's tables and journal.
const TABLES_BYTES: u64 = 512 << 20;

/// The arm that does what the simulator's `policy` stands for.
fn arm(policy: &str) -> Option<Arm> {
    let (name, keys) = policy.split_once(':').unwrap_or((policy, ""));
    match name {
        FLOOR if keys.is_empty() => Some(Arm::Off),
        CEILING if keys.is_empty() => Some(Arm::Ceiling),
        PATCHED if keys.is_empty() => Some(Arm::Patched),
        GUEST_KERNEL if keys.is_empty() => Some(Arm::Stock { kib: 128 }),
        GUEST_KERNEL => {
            let kib = keys.strip_prefix("ra_kb=")?.parse().ok()?;
            Some(Arm::Stock { kib })
        }
        CONTENDER => Some(Arm::Run {
            settings: keys
                .split(',')
                .filter(|pair| !pair.is_empty())
                .map(str::to_owned)
                .collect(),
        }),
        _ => None,
    }
}

/// One workload on one disk, in all its memory sizes.
struct Place<'a> {
    plan: &'a Plan,
    name: &'a str,
    workload: &'a Workload,
    disk: &'a str,
}

impl Place<'_> {
    fn described(&self) -> String {
        format!("{}/{}", self.disk, self.name)
    }

    fn cell(&self, (memory_mib, policy): &Open<'_>) -> Cell {
        Cell {
            plan: self.plan.name.clone(),
            disk: self.disk.to_owned(),
            memory_mib: *memory_mib,
            workload: self.name.to_owned(),
            policy: (*policy).to_owned(),
        }
    }
}

/// What came of plans in guests.
#[derive(Clone, Debug, Default)]
pub struct PlaceOutcomes {
    /// Outcomes in the order of the plans, named as the simulator names its own.
    pub finished: Vec<CellOutcome>,
    /// What did not come to its end, and why.
    pub unfinished: Vec<(Cell, Unfinished)>,
}

/// All workloads of `plans` in guests. `on_step` hears how many places of how many are done.
///
/// # Errors
/// A policy that no guest has, a trace, or a run that did not come to its end.
pub fn outcomes(
    plans: &[Plan],
    stop: &AtomicBool,
    on_step: &mut (dyn FnMut(usize, usize) + Send),
) -> Result<Vec<CellOutcome>, LabError> {
    let found = outcomes_and_unfinished(plans, None, WALL_LIMIT, stop, on_step)?;
    match found.unfinished.into_iter().next() {
        None => Ok(found.finished),
        Some((cell, why)) => Err(LabError::Unfinished {
            what: format!("{}/{}, {}", cell.disk, cell.workload, cell.policy),
            why,
            last: String::new(),
        }),
    }
}

/// As [`outcomes`], and what does not come to its end does not end the others. The disks take requests of `request_kib`
/// at most, or of what guests' disks mostly take. A run may take `run_limit` on the host's clock.
///
/// # Errors
/// A policy that no guest has, a trace, or a guest that did not come to its first run.
pub fn outcomes_and_unfinished(
    plans: &[Plan],
    request_kib: Option<u32>,
    run_limit: Duration,
    stop: &AtomicBool,
    on_step: &mut (dyn FnMut(usize, usize) + Send),
) -> Result<PlaceOutcomes, LabError> {
    let mut places = Vec::new();
    for plan in plans {
        if let Some(trace) = plan.trace.keys().next() {
            return Err(LabError::NotInLab(format!("the trace {trace}")));
        }
        if let Some(key) = plan.circumstances().first_key() {
            return Err(LabError::NotInLab(format!("the plan's `{key}`")));
        }
        if let Some(policy) = plan.policies.iter().find(|policy| arm(policy).is_none()) {
            return Err(LabError::NotInLab(format!("the policy {policy}")));
        }
        for disk in &plan.disks {
            places.extend(plan.workload.iter().map(|(name, workload)| Place {
                plan,
                name,
                workload,
                disk,
            }));
        }
    }
    let mut found: Vec<Vec<Ended<'_>>> = places.iter().map(|_| Vec::new()).collect();
    let (mut failure, mut finished) = (None, 0);
    parallel::for_each(
        &places,
        |place| in_guests(place, request_kib, run_limit, stop),
        |index, result| {
            finished += 1;
            on_step(finished, places.len());
            match result {
                Ok(ended) => found[index] = ended,
                Err(error) => failure = failure.take().or(Some(error)),
            }
            failure.is_none() && !stop.load(Ordering::Relaxed)
        },
    );
    match failure {
        Some(error) => Err(error),
        None if stop.load(Ordering::Relaxed) => Err(LabError::Guest(GuestError::Stopped)),
        None => {
            let mut all = PlaceOutcomes::default();
            for (place, ended) in places.iter().zip(found) {
                for (open, end) in ended {
                    let cell = place.cell(&open);
                    match end {
                        Ok(report) => all.finished.push(CellOutcome { cell, report }),
                        Err(why) => all.unfinished.push((cell, why)),
                    }
                }
            }
            Ok(all)
        }
    }
}

/// The policies of `plan` between the yardsticks: the kernel as it comes, and who knows the future.
fn policies(plan: &Plan) -> impl Iterator<Item = &str> {
    let own = plan.policies.iter().map(String::as_str);
    let own = own.filter(|policy| ![GUEST_KERNEL, CEILING].contains(policy));
    [GUEST_KERNEL].into_iter().chain(own).chain([CEILING])
}

/// A cell of a place: memory in MiB, and the policy.
type Open<'a> = (u64, &'a str);
/// How it ended.
type Ended<'a> = (Open<'a>, Result<WorldReport, Unfinished>);

/// One guest does it all, unless it hangs: then another one does what is left.
fn in_guests<'a>(
    place: &Place<'a>,
    request_kib: Option<u32>,
    run_limit: Duration,
    stop: &AtomicBool,
) -> Result<Vec<Ended<'a>>, LabError> {
    let plan = place.plan;
    let sizes = plan.memory_mib.iter();
    let mut open: Vec<Open<'a>> = sizes
        .flat_map(|mib| policies(plan).map(|policy| (*mib, policy)))
        .collect();
    let mut ended: Vec<Ended<'a>> = Vec::new();
    while !open.is_empty() {
        let (results, unfinished) = in_guest(place, &open, request_kib, run_limit, stop)?;
        let (now, left) = sort_out(open, unfinished, |(memory_mib, policy)| {
            let scenario = Scenario::planned(&plan.name, place.name, *memory_mib);
            end_of(&results, &scenario, arm(policy).as_ref()?)
        });
        ended.extend(now);
        open = left;
        if let (None, Some((_, policy))) = (unfinished, open.first()) {
            let what = place.described();
            return Err(LabError::Inside(format!("{what}: no run of {policy}")));
        }
    }
    Ok(ended)
}

/// Boots a guest for what the first size of memory in `open` has left, and for those that have the same left. Says what
/// it found, and why it did not come to its end, if it did not.
fn in_guest(
    place: &Place<'_>,
    open: &[Open<'_>],
    request_kib: Option<u32>,
    run_limit: Duration,
    stop: &AtomicBool,
) -> Result<(Results, Option<Unfinished>), LabError> {
    let plan = place.plan;
    let left_of = |mib: u64| -> Vec<&str> {
        let left = open.iter().filter(|(size, _)| *size == mib);
        left.map(|(_, policy)| *policy).collect()
    };
    let left = open.first().map_or_else(Vec::new, |(mib, _)| left_of(*mib));
    let sizes = plan.memory_mib.iter().copied();
    let memory_mib: Vec<u64> = sizes.filter(|mib| left_of(*mib) == left).collect();
    let file = plan.disk_file(place.disk);
    let file = file.map(|path| path.display().to_string());
    let disk = file.as_deref().unwrap_or(place.disk);
    let largest_mib = memory_mib.iter().max().copied().unwrap_or(0);
    let single = Plan {
        // The reader is told by name where the files are; a model's file would be another one there.
        disks: vec![ANY_DISK.to_owned()],
        policies: Vec::new(),
        memory_mib,
        workload: [(place.name.to_owned(), place.workload.clone())].into(),
        ..plan.clone()
    };
    let shared = shared_folder()?;
    fs::write(shared.path().join(PLAN), single.to_toml())?;
    let arms = left.iter().filter_map(|policy| arm(policy));
    let arms: Vec<String> = arms.map(|arm| arm.to_string()).collect();
    let options = [
        format!("--plan={}", in_shared(PLAN).display()),
        format!("--arm={}", arms.join(",")),
        "--repeat=1".to_owned(),
        "--sleep".to_owned(),
        "--each".to_owned(),
        // To its own end: years of virtual time, and more than any disk.
        "--seconds=100000000".to_owned(),
        "--bytes=1024T".to_owned(),
    ];
    // Switched off it reads as the one without the series does: `kernel/same-as-stock`.
    let series = match policies(plan).any(|policy| policy == PATCHED) {
        true => KernelSeries::Linux6_12Patched,
        false => KernelSeries::Linux6_12,
    };
    let kernel = LabKernel {
        kernel: series.to_string(),
    };
    let mut guest = guest_of(&kernel, disk)?;
    guest.disk = GuestDisk {
        bytes: disk_bytes(place.workload),
        scale: TimeScale::REAL,
        request_kib: request_kib.unwrap_or(guest.disk.request_kib),
        ..guest.disk
    };
    guest.task = Task::new(bench_command("run", disk, options)?);
    guest.memory_bytes = (largest_mib << 20) + SPARE_BYTES;
    guest.console = Console::Kept;
    guest.steps = Some(runs_of_bench(run_limit));
    let found = bench_in(&guest, &shared, stop, &place.described());
    if let Err(LabError::Unfinished { why, .. }) = &found
        && let Some(results) = results_so_far(&shared)
    {
        return Ok((results, Some(*why)));
    }
    found.map(|(_, results)| (results, None))
}

/// How the run of `scenario` under `arm` ended; `None` where it did not.
fn end_of(
    results: &Results,
    scenario: &Scenario,
    arm: &Arm,
) -> Option<Result<WorldReport, Unfinished>> {
    let run = |run: &&RunRecord| run.scenario == *scenario && run.arm == *arm;
    if let Some(run) = results.runs.iter().find(run) {
        return Some(Ok(report(run)));
    }
    let mut killed = results.out_of_memory.iter();
    killed
        .any(|run| run.scenario == *scenario && run.arm == *arm)
        .then_some(Err(Unfinished::OutOfMemory))
}

/// What of `open` has ended, and what is left. Where the guest was ended, the first that has not ended is why, and `unfinished`.
fn sort_out<'a>(
    open: Vec<Open<'a>>,
    mut unfinished: Option<Unfinished>,
    end_of: impl Fn(&Open<'a>) -> Option<Result<WorldReport, Unfinished>>,
) -> (Vec<Ended<'a>>, Vec<Open<'a>>) {
    let (mut ended, mut left) = (Vec::new(), Vec::new());
    for one in open {
        match end_of(&one).or_else(|| unfinished.take().map(Err)) {
            Some(end) => ended.push((one, end)),
            None => left.push(one),
        }
    }
    (ended, left)
}

/// Of a disk that holds the files of `workload`; the bench fills half of the free space of a disk that it did
/// not make.
pub fn disk_bytes(workload: &Workload) -> u64 {
    let files: u64 = workload.files().iter().map(|file| file.bytes).sum();
    (files / 2 * 5 + TABLES_BYTES).next_multiple_of(1 << 20)
}

/// What a reader in a guest can say of what a simulated world says.
fn report(run: &RunRecord) -> WorldReport {
    WorldReport {
        elapsed_ns: run.elapsed_ns,
        reads: run.reads,
        bytes: run.useful_bytes,
        device: DeviceReport {
            requests: run.device_requests,
            bytes: run.device_bytes,
            ..DeviceReport::default()
        },
        ..WorldReport::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight windows and two sizes of memory: the third hangs, and what comes after it is left for another guest.
    #[test]
    fn what_hangs_is_one_cell_and_the_others_are_left_to_do() {
        let open = vec![(64, "a"), (64, "b"), (64, "c"), (64, "d"), (256, "a")];
        let end_of = |one: &Open<'_>| match one {
            (64, "a") => Some(Ok(WorldReport::default())),
            (64, "b") => Some(Err(Unfinished::OutOfMemory)),
            _ => None,
        };
        let too_long = Unfinished::TookTooLong { seconds: 9 };
        let (ended, left) = sort_out(open.clone(), Some(too_long), end_of);
        let ended: Vec<_> = ended
            .into_iter()
            .map(|(one, end)| (one.1, end.err()))
            .collect();
        let killed = Unfinished::OutOfMemory;
        assert_eq!(
            ended,
            [("a", None), ("b", Some(killed)), ("c", Some(too_long))]
        );
        assert_eq!(left, [(64, "d"), (256, "a")]);
        let (ended, left) = sort_out(open, None, end_of);
        assert_eq!((ended.len(), left.len()), (2, 3), "none is why");
    }

    #[test]
    fn a_policy_of_the_simulator_is_an_arm_where_a_guest_has_it() {
        for (policy, expected) in [
            ("linux-6.12", Some("stock:128")),
            ("linux-6.12:ra_kb=8192", Some("stock:8192")),
            ("adaptive", Some("run")),
            (
                "adaptive:budget_mib=64,readahead_ratio=30",
                Some("run:budget_mib=64+readahead_ratio=30"),
            ),
            ("oracle", Some("ceiling")),
            ("none", Some("off")),
            ("patched", Some("patched")),
            ("patched:hit_rate=1", None),
            ("linux-6.18", None),
            ("linux-6.12:cpus=4", None),
            ("ara-june", None),
        ] {
            assert_eq!(
                arm(policy).map(|arm| arm.to_string()).as_deref(),
                expected,
                "{policy}"
            );
        }
    }
}
