//! A sweep: every cell of some plans, on all processors, with a journal.
//!
//! What comes out depends on the plans alone: neither the number of processors, nor the order in
//! which runs end, nor an interruption changes a byte of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ahead_sim::algorithm::{Policy, PolicyError};
use ahead_sim::bound;
use ahead_sim::report::WorldReport;
use ahead_sim::world::{Machine, RunTotals, WorldError, WorldObserver};
use ahead_trace::TraceError;
use ahead_workload::Job;
use ahead_workload::trace::{self, Timing};

use crate::journal::{Journal, JournalError};
use crate::parallel;
use crate::plan::{Cell, Plan, PlanError};

/// Why a sweep ended without results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// A plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The simulator refused a cell.
    #[error("{}/{}/{} MiB/{}/{}: {source}", cell.plan, cell.disk, cell.memory_mib, cell.workload,
        cell.policy)]
    Simulate {
        /// Which one.
        cell: Box<Cell>,
        /// What it said.
        source: WorldError,
    },
    /// A trace that cannot be read.
    #[error("{prefix}{source}")]
    Unreadable {
        /// Of which plan, as [`Plan::prefix`].
        prefix: String,
        /// What the reader said, with the name of the file.
        source: TraceError,
    },
    /// A trace that the plan does not describe well.
    #[error("{prefix}trace '{trace}': {reason}")]
    Trace {
        /// Of which plan, as [`Plan::prefix`].
        prefix: String,
        /// The trace's name in the plan.
        trace: String,
        /// Why not.
        reason: String,
    },
    /// Stopped on request; what was finished is in the journal, if there is one.
    #[error("interrupted with {finished} of {total} runs finished{hint}")]
    Interrupted {
        /// Runs finished.
        finished: usize,
        /// Runs wanted.
        total: usize,
        /// How to go on.
        hint: &'static str,
    },
}

/// A cell and what came out of it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct CellOutcome {
    /// Which run.
    pub cell: Cell,
    /// What came out.
    pub report: WorldReport,
}

/// What a sweep is doing.
#[derive(Clone, Copy, Debug)]
pub struct SweepProgress<'a> {
    /// Runs finished.
    pub finished: usize,
    /// Runs in all.
    pub total: usize,
    /// The newest.
    pub cell: &'a Cell,
}

/// Runs one cell of `plan`.
///
/// # Errors
/// [`SweepError`].
pub fn run_cell(plan: &Plan, cell: &Cell) -> Result<WorldReport, SweepError> {
    run_with(plan, cell, None)
}

/// As [`run_cell`], with a timeline of at most `buckets`. The run is done twice: only its end
/// says how long a bucket is.
///
/// # Errors
/// [`SweepError`].
pub fn run_cell_in_detail(
    plan: &Plan,
    cell: &Cell,
    buckets: u64,
) -> Result<WorldReport, SweepError> {
    let elapsed_ns = run_with(plan, cell, None)?.elapsed_ns;
    run_with(plan, cell, Some(elapsed_ns.div_ceil(buckets.max(1))))
}

/// Runs one cell of `plan` before `observer`, which comes back.
///
/// # Errors
/// [`SweepError`].
pub fn observe_cell<O: WorldObserver>(
    plan: &Plan,
    cell: &Cell,
    observer: O,
) -> Result<O, SweepError> {
    let (machine, policy, job) = parts(plan, cell)?;
    ahead_sim::observe(&machine, &policy, &job, observer).map_err(|source| failed(cell, source))
}

fn run_with(plan: &Plan, cell: &Cell, bucket_ns: Option<u64>) -> Result<WorldReport, SweepError> {
    let (machine, policy, job) = parts(plan, cell)?;
    let account = RunTotals::new(&job);
    let account = match bucket_ns {
        Some(bucket_ns) => account.with_timeline(bucket_ns),
        None => account,
    };
    ahead_sim::simulate_with(&machine, &policy, &job, account)
        .map_err(|source| failed(cell, source))
}

/// What a cell consists of.
fn parts(plan: &Plan, cell: &Cell) -> Result<(Machine, Policy, Job), SweepError> {
    let disk = plan.disk(&cell.disk)?;
    let policy = Policy::for_disk(&cell.policy, &disk)?;
    let machine = plan.machine(disk, cell.memory_mib);
    let job = plan.circumstances().lay_out(job(plan, &cell.workload)?);
    Ok((machine, policy, job))
}

/// Nanoseconds that every run in the place of `cell` takes at least, whatever the policy.
///
/// # Errors
/// [`SweepError`]: the disk, the workload or the trace.
pub fn lower_bound_ns(plans: &[Plan], cell: &Cell) -> Result<Option<u64>, SweepError> {
    let Some(plan) = plans.iter().find(|plan| plan.name == cell.plan) else {
        return Ok(None);
    };
    let (machine, _, job) = parts(plan, cell)?;
    Ok(Some(bound::lower_bound_ns(&machine, &job)))
}

fn failed(cell: &Cell, source: WorldError) -> SweepError {
    SweepError::Simulate {
        cell: Box::new(cell.clone()),
        source,
    }
}

fn job(plan: &Plan, name: &str) -> Result<Job, SweepError> {
    if let Some(workload) = plan.workload.get(name) {
        return Ok(workload.job(plan.seed));
    }
    let source = plan.trace.get(name);
    let failed = |reason: String| SweepError::Trace {
        prefix: plan.prefix(),
        trace: name.to_owned(),
        reason,
    };
    let unreadable = |source| SweepError::Unreadable {
        prefix: plan.prefix(),
        source,
    };
    let source = source.ok_or_else(|| failed("no workload or trace has this name".to_owned()))?;
    let options = source.options().map_err(failed)?;
    let reader =
        ahead_trace::open(&plan.folder.join(&source.path), &options).map_err(unreadable)?;
    let timing = if source.timing {
        Timing::AsRecorded
    } else {
        Timing::Fast
    };
    match trace::job(reader, timing) {
        (job, None) => Ok(job),
        (_, Some(error)) => Err(unreadable(error)),
    }
}

/// Runs every cell of `plans` that the journal does not have yet. Results are in the order of the
/// plans, whatever was finished first.
///
/// # Errors
/// [`SweepError`]; the first that happens ends the sweep.
pub fn run(
    plans: &[Plan],
    journal: Option<&Path>,
    stop: &AtomicBool,
    progress: &mut (dyn FnMut(SweepProgress<'_>) + Send),
) -> Result<Vec<CellOutcome>, SweepError> {
    if let Some(name) = same_name(plans) {
        return Err(PlanError::SameName(name.to_owned()).into());
    }
    let cells: Vec<(usize, Cell)> = plans
        .iter()
        .enumerate()
        .flat_map(|(number, plan)| plan.cells().into_iter().map(move |cell| (number, cell)))
        .collect();
    let (mut journal, mut finished) = match journal {
        Some(path) => {
            let (journal, finished) = Journal::open(path, &digest(plans)?)?;
            (Some(journal), finished)
        }
        None => (None, BTreeMap::new()),
    };
    let is_resumable = journal.is_some();
    let open: Vec<&(usize, Cell)> = cells
        .iter()
        .filter(|(_, cell)| !finished.contains_key(cell))
        .collect();
    let mut first_error = None;
    parallel::for_each(
        &open,
        |(number, cell)| run_cell(&plans[*number], cell),
        |index, result| {
            let cell = &open[index].1;
            let noted = result.and_then(|report| {
                if let Some(journal) = &mut journal {
                    journal.note(cell, &report)?;
                }
                Ok(report)
            });
            match noted {
                Ok(report) => {
                    finished.insert(cell.clone(), report);
                    progress(SweepProgress {
                        finished: finished.len(),
                        total: cells.len(),
                        cell,
                    });
                }
                Err(error) => {
                    first_error.get_or_insert(error);
                }
            }
            first_error.is_none() && !stop.load(Ordering::Relaxed)
        },
    );
    if let Some(error) = first_error {
        return Err(error);
    }
    let total = cells.len();
    let mut outcomes = Vec::with_capacity(total);
    for (_, cell) in cells {
        if let Some(report) = finished.get(&cell) {
            outcomes.push(CellOutcome {
                report: report.clone(),
                cell,
            });
        }
    }
    if outcomes.len() < total {
        return Err(SweepError::Interrupted {
            finished: outcomes.len(),
            total,
            hint: if is_resumable {
                ": the same command goes on from there"
            } else {
                "; with --journal FILE the next one could go on from there"
            },
        });
    }
    Ok(outcomes)
}

/// A name that two of `plans` have: their cells would be the same.
fn same_name(plans: &[Plan]) -> Option<&str> {
    let mut seen = Vec::new();
    plans.iter().find_map(|plan| {
        let name = plan.name.as_str();
        let is_known = seen.contains(&name);
        seen.push(name);
        is_known.then_some(name)
    })
}

/// Stands for everything that the cells of `plans` depend on: their values, the disk models beside
/// them, the traces by size and date, and the version of the simulator. Where the plans lie and
/// what messages call them does not count.
fn digest(plans: &[Plan]) -> Result<String, PlanError> {
    let mut text = env!("CARGO_PKG_VERSION").to_owned();
    for plan in plans {
        let values = Plan {
            folder: std::path::PathBuf::new(),
            origin: String::new(),
            ..plan.clone()
        };
        text += &format!("{values:?}");
        for disk in &plan.disks {
            text += &format!("{:?}", plan.disk(disk)?);
        }
        for source in plan.trace.values() {
            let facts = fs::metadata(plan.folder.join(&source.path));
            let facts = facts.map(|facts| (facts.len(), facts.modified().ok()));
            text += &format!("{:?}", facts.ok());
        }
    }
    // FNV-1a.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Ok(format!("{hash:016x}"))
}
