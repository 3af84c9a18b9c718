//! Workloads of a plan as scenarios of the bench: those that the reader can do, in the plan's memory.
//!
//! Policies and processors of a plan belong to the simulator: here the arms stand for policies, and
//! the machine is what it is. Each workload runs under the limits of the bench, so that a long one
//! is measured in its first seconds.

use std::collections::BTreeMap;

use ahead_study::plan::Plan;
use ahead_workload::{Scenario, Workload};

/// A plan that the bench cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlannedError {
    /// A recorded workload.
    #[error(
        "{place}, trace {trace}: the bench reads files of its own, and a trace has others; \
         `ahead replay` reads the files of a trace"
    )]
    Trace {
        /// The plan.
        place: String,
        /// Which of its traces.
        trace: String,
    },
    /// Several disks, or one that the bench does not make.
    #[error("{place}: the bench measures on one disk: say with --disk which of {disks}")]
    Disk {
        /// The plan.
        place: String,
        /// Its disks.
        disks: String,
    },
}

/// The scenarios of `plan`, by workload and memory, and what their workloads are.
///
/// # Errors
/// [`PlannedError`] for the first that cannot be done.
pub fn scenarios(plan: &Plan) -> Result<(Vec<Scenario>, BTreeMap<String, Workload>), PlannedError> {
    if let Some(trace) = plan.trace.keys().next() {
        return Err(PlannedError::Trace {
            place: plan.origin.clone(),
            trace: trace.clone(),
        });
    }
    let (mut scenarios, mut planned) = (Vec::new(), BTreeMap::new());
    for (name, workload) in &plan.workload {
        for mib in &plan.memory_mib {
            let scenario = Scenario::planned(&plan.name, name, *mib);
            planned.insert(scenario.name().to_owned(), workload.clone());
            if !scenarios.contains(&scenario) {
                scenarios.push(scenario);
            }
        }
    }
    Ok((scenarios, planned))
}

/// The disk that `plan` names, if it is one that the bench can make.
///
/// # Errors
/// [`PlannedError::Disk`].
pub fn disk(plan: &Plan) -> Result<&str, PlannedError> {
    match plan.disks.as_slice() {
        [disk] if !disk.ends_with(".toml") => Ok(disk),
        disks => Err(PlannedError::Disk {
            place: plan.origin.clone(),
            disks: disks.join(", "),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn plan(workloads: &str) -> Plan {
        let head = "name = \"p\"\nabout = \"A plan.\"\ndisks = [\"hdd\"]\nmemory-mib = [64, 256]\n";
        Plan::from_toml(
            &format!("{head}{workloads}"),
            Path::new(""),
            "plan 'p.toml'",
        )
        .unwrap()
    }

    #[test]
    fn a_workload_runs_once_for_each_memory_size_of_its_plan() {
        let plan = plan("[workload.scan]\nkind = \"backward\"\nfile-mib = 8\nread-kib = 64");
        let (found, planned) = scenarios(&plan).unwrap();
        let names: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["p/scan@64m", "p/scan@256m"]);
        assert_eq!(planned.get("p/scan"), plan.workload.get("scan"));
        assert_eq!(disk(&plan).unwrap(), "hdd");
    }
}
