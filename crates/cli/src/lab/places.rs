//! The places of plans in guests: each workload of a plan on each of its disks, done by the bench's
//! reader over the real kernel, as outcomes that the simulator's tables show.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use ahead_disk_model::TimeScale;
use ahead_guest::source::KernelSeries;
use ahead_guest::{Console, GuestDisk, Task};
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
use super::machine::{bench_command, bench_in, guest_of, in_shared, shared_folder};
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

/// All workloads of `plans` in guests: outcomes in the order of the plans, named as the simulator names
/// its own. The disks take requests of `request_kib` at most, or of what guests' disks mostly take. `on_step` hears how
/// many places of how many are done.
///
/// # Errors
/// A policy that no guest has, a trace, or a guest that did not come to its end.
pub fn outcomes(
    plans: &[Plan],
    request_kib: Option<u32>,
    stop: &AtomicBool,
    on_step: &mut (dyn FnMut(usize, usize) + Send),
) -> Result<Vec<CellOutcome>, LabError> {
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
    let mut found: Vec<Option<Vec<CellOutcome>>> = places.iter().map(|_| None).collect();
    let (mut failure, mut finished) = (None, 0);
    parallel::for_each(
        &places,
        |place| in_guest(place, request_kib, stop),
        |index, result| {
            finished += 1;
            on_step(finished, places.len());
            match result {
                Ok(outcomes) => found[index] = Some(outcomes),
                Err(error) => failure = failure.take().or(Some(error)),
            }
            failure.is_none() && !stop.load(Ordering::Relaxed)
        },
    );
    match failure {
        Some(error) => Err(error),
        None if stop.load(Ordering::Relaxed) => {
            Err(LabError::Guest(ahead_guest::GuestError::Stopped))
        }
        None => Ok(found.into_iter().flatten().flatten().collect()),
    }
}

/// The policies of `plan` between the yardsticks: the kernel as it comes, and who knows the future.
fn policies(plan: &Plan) -> impl Iterator<Item = &str> {
    let own = plan.policies.iter().map(String::as_str);
    let own = own.filter(|policy| ![GUEST_KERNEL, CEILING].contains(policy));
    [GUEST_KERNEL].into_iter().chain(own).chain([CEILING])
}

fn in_guest(
    place: &Place<'_>,
    request_kib: Option<u32>,
    stop: &AtomicBool,
) -> Result<Vec<CellOutcome>, LabError> {
    let plan = place.plan;
    let what = format!("{}/{}", place.disk, place.name);
    let file = plan.disk_file(place.disk);
    let file = file.map(|path| path.display().to_string());
    let disk = file.as_deref().unwrap_or(place.disk);
    let single = Plan {
        // The reader is told by name where the files are; a model's file would be another one there.
        disks: vec![ANY_DISK.to_owned()],
        policies: Vec::new(),
        workload: [(place.name.to_owned(), place.workload.clone())].into(),
        ..plan.clone()
    };
    let shared = shared_folder()?;
    fs::write(shared.path().join(PLAN), single.to_toml())?;
    let arms: Vec<String> = policies(plan)
        .filter_map(arm)
        .map(|arm| arm.to_string())
        .collect();
    let options = [
        format!("--plan={}", in_shared(PLAN).display()),
        format!("--arm={}", arms.join(",")),
        "--repeat=1".to_owned(),
        "--sleep".to_owned(),
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
    let memory_mib = plan.memory_mib.iter().max().copied().unwrap_or(0);
    guest.memory_bytes = (memory_mib << 20) + SPARE_BYTES;
    guest.console = Console::Kept;
    let (_, results): (_, Results) = bench_in(&guest, &shared, stop, &what)?;
    let mut outcomes = Vec::new();
    for &memory_mib in &plan.memory_mib {
        let scenario = Scenario::planned(&plan.name, place.name, memory_mib);
        for policy in policies(plan) {
            let is_it = |run: &&RunRecord| {
                run.scenario == scenario && Some(&run.arm) == arm(policy).as_ref()
            };
            let Some(run) = results.runs.iter().find(is_it) else {
                return Err(LabError::Inside(format!("{what}: no run of {policy}")));
            };
            outcomes.push(CellOutcome {
                cell: Cell {
                    plan: plan.name.clone(),
                    disk: place.disk.to_owned(),
                    memory_mib,
                    workload: place.name.to_owned(),
                    policy: policy.to_owned(),
                },
                report: report(run),
            });
        }
    }
    Ok(outcomes)
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
