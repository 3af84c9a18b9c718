//! A plan from the words of a command line.
//!
//! Workloads are written like policies: `sequential:file_mib=64,read_kib=4`, with the values of
//! [`WORKLOADS`] for what is left out. A word that is no kind of workload is the path of a trace.
//! Workloads that contain others need a plan.

use std::path::Path;

use ahead_workload::Workload;
use serde::Deserialize;

use crate::limits;
use crate::plan::{Plan, TraceSource};

/// What can be typed as a workload: kind, values when nothing else is said, and what it is.
pub const WORKLOADS: &[(&str, &str, &str)] = &[
    (
        "sequential",
        "file_mib=256,read_kib=64,passes=1",
        "one file from its start",
    ),
    (
        "backward",
        "file_mib=256,read_kib=64",
        "one file from its end",
    ),
    (
        "strided",
        "file_mib=256,read_kib=16,period_kib=64",
        "the first part of every period",
    ),
    (
        "interleaved",
        "file_mib=256,streams=8,read_kib=64",
        "parts of one file in turn, one descriptor",
    ),
    (
        "separate",
        "file_mib=64,streams=8,read_kib=64",
        "several files in turn, a descriptor each",
    ),
    (
        "threads",
        "file_mib=256,threads=8,read_kib=64",
        "tasks with one descriptor, a part each",
    ),
    (
        "readers",
        "file_mib=64,readers=8,read_kib=64",
        "processes, a file each",
    ),
    (
        "server",
        "file_mib=256,daemons=8,read_kib=32,shuffle=8",
        "workers share a scan that arrives shuffled",
    ),
    (
        "reopen",
        "file_mib=256,read_kib=64,every_kib=1024",
        "sequential, closed and opened again",
    ),
    (
        "random",
        "file_mib=1024,read_kib=4,reads=2000",
        "random places",
    ),
    (
        "bursts",
        "file_mib=1024,read_kib=16,burst=8,bursts=400",
        "random places, some reads in a row each",
    ),
    (
        "mixed",
        "file_mib=512,read_kib=64,run=4,random_kib=16",
        "sequential, with a random read now and then",
    ),
    (
        "sparse",
        "file_mib=128,percent=50",
        "ascending, some of the pages",
    ),
    (
        "sizes",
        "file_mib=256,factor_max=64",
        "sequential, reads of 1 to factor_max pages",
    ),
    (
        "merge",
        "file_mib=64,runs=8,read_kib=64",
        "sorted runs, the next block from any of them",
    ),
    (
        "small-files",
        "files=1000,file_kib=100,read_kib=32",
        "small files, each read whole",
    ),
    (
        "mapped",
        "file_mib=256,order=forward,advice=normal",
        "a mapping: forward, backward or random",
    ),
    (
        "libraries",
        "files=30,file_mib=8,clusters=500,cluster_pages=8",
        "a program that starts",
    ),
    (
        "streams",
        "streams=100,bytes_per_s=300000,read_kib=16,seconds=20",
        "slow readers, a file each",
    ),
    (
        "tail",
        "file_mib=8,look_kib=16,think_us=2000",
        "what was appended, now and then",
    ),
    (
        "database",
        "heap_mib=256,index_mib=64,backends=4,lookups=500",
        "lookups through an index beside a scan",
    ),
];

/// What a command line says. What is empty or `None` was not said.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// Policies.
    pub policies: Vec<String>,
    /// Workloads as above, or names of a plan's.
    pub workloads: Vec<String>,
    /// Disks.
    pub disks: Vec<String>,
    /// Memory sizes.
    pub memory_mib: Vec<u64>,
    /// Where chance comes from.
    pub seed: Option<u64>,
    /// Processors.
    pub cpus: Option<u32>,
    /// How traces are read; their path does not count.
    pub trace: TraceSource,
}

/// A comma separated list whose items may hold commas themselves: a part that is a bare
/// `key=value` belongs to the item before it.
#[must_use]
pub fn list(text: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for part in text.split(',') {
        let key = part.split_once('=').map(|(key, _)| key);
        match items.last_mut() {
            Some(item) if item.contains(':') && key.is_some_and(|key| !key.contains(':')) => {
                *item += ",";
                *item += part;
            }
            _ if part.trim().is_empty() => {}
            _ => items.push(part.trim().to_owned()),
        }
    }
    items
}

/// The workload that `text` writes; `None` if it does not begin with a kind.
///
/// # Errors
/// A sentence about what cannot be used.
pub fn workload(text: &str) -> Result<Option<Workload>, String> {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let Some((_, defaults, _)) = WORKLOADS.iter().find(|(known, ..)| *known == kind) else {
        return Ok(None);
    };
    let mut fields = toml::Table::new();
    fields.insert("kind".to_owned(), kind.into());
    for (pairs, is_default) in [(*defaults, true), (rest, false)] {
        for pair in pairs.split(',').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if !is_default && !fields.contains_key(key) {
                return Err(format!(
                    "workload '{kind}' does not take '{pair}': it takes {defaults}"
                ));
            }
            let number = value.parse::<i64>().map(toml::Value::from);
            fields.insert(key.to_owned(), number.unwrap_or_else(|_| value.into()));
        }
    }
    let workload = Workload::deserialize(fields)
        .map_err(|error| format!("workload '{text}': {}", error.message()))?;
    limits::check(&workload).map_err(|reason| format!("workload '{text}': {reason}"))?;
    Ok(Some(workload))
}

/// A plan of nothing but `words`. It is not checked yet.
///
/// # Errors
/// A sentence about a workload that is none.
pub fn plan(words: &Words) -> Result<Plan, String> {
    let mut plan = Plan {
        name: "typed".to_owned(),
        about: "From the command line.".to_owned(),
        origin: "the command line".to_owned(),
        policies: words.policies.clone(),
        disks: words.disks.clone(),
        memory_mib: words.memory_mib.clone(),
        seed: words.seed.unwrap_or(1),
        cpus: words.cpus,
        ..Plan::default()
    };
    for text in &words.workloads {
        if let Some(workload) = workload(text)? {
            plan.workload.insert(text.clone(), workload);
        } else if Path::new(text).exists() {
            let source = TraceSource {
                path: text.into(),
                ..words.trace.clone()
            };
            plan.trace.insert(text.clone(), source);
        } else {
            let known: Vec<_> = WORKLOADS.iter().map(|(kind, ..)| *kind).collect();
            return Err(format!(
                "'{text}' is no workload and no file: workloads are {}",
                known.join(" ")
            ));
        }
    }
    Ok(plan)
}

/// Changes `plans` to what `words` say: other policies, disks and memory sizes instead of their
/// own, and of their workloads only those that are named. Plans without one of those go.
///
/// # Errors
/// A workload that none of the plans has.
pub fn narrow(plans: &mut Vec<Plan>, words: &Words) -> Result<(), String> {
    let has = |plan: &Plan, name: &String| {
        plan.workload.contains_key(name) || plan.trace.contains_key(name)
    };
    for name in &words.workloads {
        if !plans.iter().any(|plan| has(plan, name)) {
            let known: Vec<_> = plans
                .iter()
                .flat_map(|plan| plan.workload.keys().chain(plan.trace.keys()))
                .map(String::as_str)
                .collect();
            return Err(format!(
                "no workload of the plan is called '{name}': known are {}",
                known.join(" ")
            ));
        }
    }
    for plan in plans.iter_mut() {
        if !words.workloads.is_empty() {
            plan.workload
                .retain(|name, _| words.workloads.contains(name));
            plan.trace.retain(|name, _| words.workloads.contains(name));
        }
        if !words.policies.is_empty() {
            plan.policies.clone_from(&words.policies);
        }
        if !words.disks.is_empty() {
            plan.disks = words.disks.iter().map(|disk| from_here(disk)).collect();
        }
        if !words.memory_mib.is_empty() {
            plan.memory_mib.clone_from(&words.memory_mib);
        }
        plan.seed = words.seed.unwrap_or(plan.seed);
        plan.cpus = words.cpus.or(plan.cpus);
    }
    plans.retain(|plan| !plan.workload.is_empty() || !plan.trace.is_empty());
    Ok(())
}

/// A model file that was typed lies where the person is, not beside the plan.
fn from_here(disk: &str) -> String {
    if !disk.ends_with(".toml") {
        return disk.to_owned();
    }
    std::path::absolute(disk).map_or_else(|_| disk.to_owned(), |path| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_that_stands_alone_can_be_typed_without_values() {
        for (kind, ..) in WORKLOADS {
            let typed = workload(kind).expect(kind);
            assert!(typed.is_some(), "{kind}");
        }
        let said = toml::from_str::<Workload>("kind = \"?\"").expect_err("no kind");
        let said = said.message().to_owned();
        let kinds = said.split('`').skip(3).step_by(2);
        let missing: Vec<&str> = kinds
            .filter(|kind| !WORKLOADS.iter().any(|(known, ..)| known == kind))
            .collect();
        assert_eq!(missing, ["paced", "together"], "{said}");
    }

    #[test]
    fn values_that_were_typed_replace_the_usual_ones() {
        let typed = workload("mapped:file_mib=8,order=random").expect("a workload");
        let expected = "kind = \"mapped\"\nfile_mib = 8\norder = \"random\"";
        assert_eq!(typed, toml::from_str(expected).ok());
    }

    #[test]
    fn what_a_workload_does_not_take_is_answered_with_what_it_takes() {
        let said = workload("random:read_mib=4").expect_err("no such key");
        assert!(
            said.contains("read_mib=4") && said.contains("read_kib"),
            "{said}"
        );
        let said = workload("random:read_kib=many").expect_err("no number");
        assert!(said.contains("random:read_kib=many"), "{said}");
        assert!(workload("random:read_kib=0").is_err());
    }

    #[test]
    fn a_comma_inside_an_item_does_not_end_it() {
        assert_eq!(
            list("ara-v15:ratio=50,hit_rate=2,adaptive, amp:n=3,,none"),
            ["ara-v15:ratio=50,hit_rate=2", "adaptive", "amp:n=3", "none"]
        );
    }
}
