//! Which numbers a workload may hold.
//!
//! A plan is written by hand: a zero too many should be answered with a sentence, and not with a
//! run that never ends, an overflow, or a machine without memory. The limits lie far beyond what
//! makes sense; within them no arithmetic of the simulator wraps.

use std::ops::RangeInclusive;

use ahead_workload::Workload;
use serde_json::Value;

/// Whether every number of `workload`, and of those inside it, can be used.
///
/// # Errors
/// A sentence about the first that cannot.
pub fn check(workload: &Workload) -> Result<(), String> {
    match serde_json::to_value(workload) {
        Ok(value) => walk(&value),
        Err(error) => Err(error.to_string()),
    }
}

fn walk(workload: &Value) -> Result<(), String> {
    let Some(fields) = workload.as_object() else {
        return Ok(());
    };
    for (name, value) in fields {
        match value {
            Value::Number(number) => {
                let limits = limits(name);
                if !number.as_u64().is_some_and(|n| limits.contains(&n)) {
                    let (from, to) = (limits.start(), limits.end());
                    return Err(format!("{name} = {number} is not from {from} to {to}"));
                }
            }
            Value::Array(works) if works.is_empty() => {
                return Err(format!("{name}: at least one is needed"));
            }
            Value::Array(works) => works.iter().try_for_each(walk)?,
            Value::Object(_) => walk(value)?,
            _ => {}
        }
    }
    Ok(())
}

/// By the name of the field: its unit, or what it counts.
fn limits(name: &str) -> RangeInclusive<u64> {
    match name {
        "percent" => 1..=100,
        // More than was read is written, too.
        "written-percent" => 0..=1000,
        _ if name.ends_with("-permille") => 0..=1000,
        // Each is a task, a descriptor or a file with its own state.
        "streams" | "readers" | "loaders" | "threads" | "daemons" | "runs" | "backends" => {
            1..=10_000
        }
        "files" => 1..=1_000_000,
        "varied-bytes" => 0..=1_000_000_000,
        // Pages of one read, or reads in a row.
        "factor-max" | "cluster-pages" | "step-pages" | "burst" | "run" | "shuffle" => 1..=1 << 18,
        // A second's worth of a page at least: the time between two reads must fit 64 bits.
        "bytes-per-s" => 4096..=1_000_000_000_000,
        "seconds" => 1..=1_000_000,
        _ if name.ends_with("-us") => 0..=1_000_000_000,
        _ if name.ends_with("-kib") => 1..=1 << 20,
        // The simulator's disks end at 4 TiB.
        _ if name.ends_with("-mib") => 1..=1 << 22,
        _ => 1..=1_000_000_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequential(file_mib: u64, read_kib: u64) -> Workload {
        Workload::Sequential {
            file_mib,
            read_kib,
            passes: 1,
        }
    }

    #[test]
    fn a_read_of_nothing_is_refused_by_its_name() {
        let said = check(&sequential(1, 0)).expect_err("a read of 0 KiB");
        assert_eq!(said, "read-kib = 0 is not from 1 to 1048576");
        assert_eq!(check(&sequential(1, 4)), Ok(()));
    }

    #[test]
    fn a_number_inside_another_workload_is_found() {
        let works = vec![sequential(1, 4), sequential(u64::MAX, 4)];
        let paced = Workload::Paced {
            work: Box::new(Workload::Together { works }),
            compute_us: 0,
            think_us: 0,
        };
        assert!(check(&paced).is_err_and(|said| said.starts_with("file-mib")));
    }

    #[test]
    fn several_at_a_time_need_one() {
        let none = Workload::Together { works: Vec::new() };
        assert!(check(&none).is_err_and(|said| said.contains("works")));
    }
}
