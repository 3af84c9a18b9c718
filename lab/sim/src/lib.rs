//! The simulator: any policy, on any workload or trace, on any disk, in virtual time.
//!
//! * [`queue`] — request queue, schedulers, and the disk behind them
//! * [`world`] — processes, processors, virtual time
//! * [`algorithm`] — every policy by its name
//! * [`report`] — the account of a run
//! * [`trees`] — programs that go through folders, and the file system below them
#![forbid(unsafe_code)]

pub mod algorithm;
pub mod bound;
pub mod queue;
pub mod report;
pub mod trees;
pub mod world;

use ahead_workload::Job;
use world::{
    FrontChoice, Machine, OracleSettings, OracleStyle, RunTotals, World, WorldError, WorldObserver,
};

/// Runs `job` under `policy` to its end and returns the account.
///
/// # Errors
/// [`WorldError`]: the job does not fit the disk, names what it does not have, or waits for ever.
pub fn simulate(
    machine: &Machine,
    policy: &algorithm::Policy,
    job: &Job,
) -> Result<report::WorldReport, WorldError> {
    simulate_with(machine, policy, job, RunTotals::new(job))
}

/// As [`simulate`], with an account that may keep a timeline.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_with(
    machine: &Machine,
    policy: &algorithm::Policy,
    job: &Job,
    account: RunTotals,
) -> Result<report::WorldReport, WorldError> {
    let FrontChoice::Oracle(settings) = policy.front else {
        return run(machine, policy, &policy.front, job, account);
    };
    if settings.style != OracleStyle::Best {
        return run(machine, policy, &policy.front, job, account);
    }
    let mut best: Option<report::WorldReport> = None;
    let programs = job.processes.iter().flat_map(|process| &process.groups);
    let programs = programs.count() as u64;
    let is_twin =
        |style: &OracleStyle| style.is_twin(settings.window_pages, programs, machine.memory_pages);
    for style in OracleStyle::ALL.into_iter().filter(|style| !is_twin(style)) {
        let front = FrontChoice::Oracle(OracleSettings { style, ..settings });
        let report = run(machine, policy, &front, job, account.clone())?;
        if best
            .as_ref()
            .is_none_or(|best| report.elapsed_ns < best.elapsed_ns)
        {
            best = Some(report);
        }
    }
    Ok(best.unwrap_or_default())
}

fn run(
    machine: &Machine,
    policy: &algorithm::Policy,
    front: &FrontChoice,
    job: &Job,
    account: RunTotals,
) -> Result<report::WorldReport, WorldError> {
    let (elapsed_ns, world) = run_before(machine, policy, front, job, account)?;
    Ok(world.observer().report(elapsed_ns, world.queue()))
}

/// Runs `job` under `policy` to its end before `observer`, which comes back.
///
/// # Errors
/// As [`simulate`].
pub fn observe<O: WorldObserver>(
    machine: &Machine,
    policy: &algorithm::Policy,
    job: &Job,
    observer: O,
) -> Result<O, WorldError> {
    let (_, world) = run_before(machine, policy, &policy.front, job, observer)?;
    Ok(world.into_observer())
}

/// As [`simulate`], before `observer`, which comes back beside the account. An oracle runs in its own style, not
/// in the best of all.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_before<O: WorldObserver>(
    machine: &Machine,
    policy: &algorithm::Policy,
    job: &Job,
    observer: O,
) -> Result<(report::WorldReport, O), WorldError> {
    let both = (RunTotals::new(job), observer);
    let (elapsed_ns, world) = run_before(machine, policy, &policy.front, job, both)?;
    let report = world.observer().0.report(elapsed_ns, world.queue());
    Ok((report, world.into_observer().1))
}

/// How long it took, and the world at its end.
fn run_before<O: WorldObserver>(
    machine: &Machine,
    policy: &algorithm::Policy,
    front: &FrontChoice,
    job: &Job,
    observer: O,
) -> Result<(u64, World<ahead_replicas::registry::Algorithm, O>), WorldError> {
    let prototype = policy.prototype.clone();
    let machine = policy.machine(machine);
    let mut world = World::new(&machine, prototype, front, job, observer)?;
    world.set_learned(policy.learned);
    let elapsed_ns = world.run()?;
    Ok((elapsed_ns, world))
}
