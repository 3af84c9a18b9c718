//! The columns of a table of runs: what each is called, and where its value comes from.

use crate::results::{CellGroup, Standing};
use crate::sweep::CellOutcome;

/// What stands in one column of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Text.
    Text(String),
    /// A whole number; `None` where there is none.
    Number(Option<u64>),
}

type Cut = fn(&CellOutcome, &Standing) -> Value;

macro_rules! columns {
    ($($name:literal: $value:expr,)*) => {
        /// Every column: its name, and where its value comes from.
        pub const COLUMNS: &[(&str, Cut)] = &[$(($name, $value)),*];
    };
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

const fn number(value: u64) -> Value {
    Value::Number(Some(value))
}

columns! {
    "plan": |run, _| text(&run.cell.plan),
    "disk": |run, _| text(&run.cell.disk),
    "memory_mib": |run, _| number(run.cell.memory_mib),
    "workload": |run, _| text(&run.cell.workload),
    "policy": |run, _| text(&run.cell.policy),
    "elapsed_ns": |run, _| number(run.report.elapsed_ns),
    "bytes": |run, _| number(run.report.bytes),
    "bytes_per_s": |run, _| number(run.report.bytes_per_second()),
    "of_ceiling_permille": |_, standing| Value::Number(standing.of_ceiling_permille),
    "of_best_kernel_permille": |_, standing| Value::Number(standing.of_best_kernel_permille),
    "of_best_size_permille": |_, standing| Value::Number(standing.of_best_size_permille),
    "reads": |run, _| number(run.report.reads),
    "faults": |run, _| number(run.report.faults),
    "device_bytes": |run, _| number(run.report.device.bytes),
    "amplification_permille": |run, _| number(run.report.amplification_permille()),
    "requests": |run, _| number(run.report.device.requests),
    "seeks": |run, _| number(run.report.device.seeks),
    "device_busy_ns": |run, _| number(run.report.device.busy_ns),
    "depth_permille": |run, _| number(run.report.depth_permille()),
    "hits_unlocked_pages": |run, _| number(run.report.pages.hits_unlocked),
    "hits_locked_pages": |run, _| number(run.report.pages.hits_locked),
    "missed_pages": |run, _| number(run.report.pages.misses),
    "prefetched_pages": |run, _| number(run.report.prefetch.pages),
    "useful_pages": |run, _| number(run.report.prefetch.useful),
    "late_pages": |run, _| number(run.report.prefetch.late),
    "wasted_pages": |run, _| number(run.report.prefetch.wasted),
    "thrashed_pages": |run, _| number(run.report.prefetch.thrashed),
    "unread_pages_max": |run, _| number(run.report.prefetch.unread_max),
    "unread_pages_mean": |run, _| number(run.report.prefetch.unread_mean),
    "page_waits": |run, _| number(run.report.waits.page),
    "page_waited_ns": |run, _| number(run.report.waits.page_ns),
    "queue_waits": |run, _| number(run.report.waits.queue),
    "queue_waited_ns": |run, _| number(run.report.waits.queue_ns),
    "user_ns": |run, _| number(run.report.processors.user_ns),
    "system_ns": |run, _| number(run.report.processors.system_ns),
    "interrupt_ns": |run, _| number(run.report.processors.interrupt_ns),
    "idle_ns": |run, _| number(run.report.processors.idle_ns),
    "latency_mean_ns": |run, _| number(run.report.latency.mean_ns),
    "latency_p50_ns": |run, _| number(run.report.latency.p50_ns),
    "latency_p99_ns": |run, _| number(run.report.latency.p99_ns),
    "latency_p999_ns": |run, _| number(run.report.latency.p999_ns),
    "latency_max_ns": |run, _| number(run.report.latency.max_ns),
}

/// Every run with its standing, in the order of the sweep.
pub(super) fn rows<'a>(
    groups: &[CellGroup<'a>],
) -> impl Iterator<Item = (&'a CellOutcome, Standing)> {
    let of_group = |group: &CellGroup<'a>| {
        let runs = group.runs().iter();
        runs.map(|run| (run, Standing::new(run, group)))
            .collect::<Vec<_>>()
    };
    groups
        .iter()
        .flat_map(of_group)
        .collect::<Vec<_>>()
        .into_iter()
}
