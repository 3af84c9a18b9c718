//! The whole of a sweep as JSON.

use serde_json::{Value, json};

use super::columns::rows;
use crate::results::{CellGroup, Contest, Standing, contests};

/// `runs`: each with its place, its standing and its whole account. `contests`: each contender
/// against the best kernel algorithm and the best size of every place.
#[must_use]
pub fn json(groups: &[CellGroup<'_>]) -> String {
    let runs: Vec<Value> = rows(groups)
        .map(|(run, standing)| {
            json!({
                "plan": run.cell.plan,
                "disk": run.cell.disk,
                "memory_mib": run.cell.memory_mib,
                "workload": run.cell.workload,
                "policy": run.cell.policy,
                "standing": standing,
                "report": run.report,
            })
        })
        .collect();
    let contests: Vec<Value> = contests(groups).iter().map(contest).collect();
    format!("{:#}\n", json!({ "runs": runs, "contests": contests }))
}

fn contest(contest: &Contest<'_>) -> Value {
    let matches: Vec<Value> = contest
        .matches
        .iter()
        .map(|it| {
            let cell = &it.run.cell;
            let named = |run: &crate::sweep::CellOutcome| {
                json!({ "policy": run.cell.policy, "elapsed_ns": run.report.elapsed_ns })
            };
            json!({
                "plan": cell.plan,
                "disk": cell.disk,
                "memory_mib": cell.memory_mib,
                "workload": cell.workload,
                "elapsed_ns": it.run.report.elapsed_ns,
                "best_kernel": named(it.best_kernel),
                "best_size": it.group.best_size().map(named),
                "standing": Standing::new(it.run, &it.group),
                "lost": it.is_lost(),
            })
        })
        .collect();
    json!({
        "policy": contest.policy,
        "won": contest.won(),
        "lost": contest.lost(),
        "matches": matches,
    })
}
