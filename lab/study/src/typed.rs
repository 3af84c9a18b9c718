//! A plan from the words of a command line.
//!
//! Workloads are written like policies: `sequential:file-mib=64,read-kib=4`, with the values of
//! [`KINDS`] for what is left out; a preset is written as its name, and one that
//! chance made as `generated:seed=7`, or `odd-reads:seed=7`. A word that is neither is the path of a trace. Workloads that contain others need a plan.

use std::path::Path;

use ahead_workload::{KINDS, Workload, presets};
use serde::{Deserialize, Serialize};

use crate::limits;
use crate::plan::{COMMAND_LINE, Plan, TraceSource};

/// What is written instead of a kind where a seed says everything.
const GENERATED: &str = "generated";
/// The same for reads at odd places.
const ODD_READS: &str = "odd-reads";

/// What is typed with `seed=N` behind it, and what that is.
pub const BY_SEED: [(&str, &str); 2] = [
    (
        GENERATED,
        "one that chance makes of those above; `ahead compare --generated` takes many",
    ),
    (
        ODD_READS,
        "reads at odd places of one file, made by chance; `ahead compare --odd-reads`",
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
    if let Some(made) = by_seed(kind) {
        let seed = rest.strip_prefix("seed=").and_then(|it| it.parse().ok());
        let seed =
            seed.ok_or_else(|| format!("workload '{kind}' takes seed=N and nothing else"))?;
        return Ok(Some(made(seed)));
    }
    let Some((_, defaults, _)) = KINDS.iter().find(|(known, ..)| *known == kind) else {
        return preset(kind, rest);
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

/// How a workload by seed is typed.
#[must_use]
pub fn generated(seed: u64) -> String {
    format!("{GENERATED}:seed={seed}")
}

/// How reads at odd places are typed by their seed.
#[must_use]
pub fn odd_reads(seed: u64) -> String {
    format!("{ODD_READS}:seed={seed}")
}

/// Who makes the workload of a seed.
fn by_seed(kind: &str) -> Option<fn(u64) -> Workload> {
    match kind {
        GENERATED => Some(ahead_workload::generated),
        ODD_READS => Some(ahead_workload::odd),
        _ => None,
    }
}

/// A workload, or a disk, in one line, as a file would hold it.
#[must_use]
pub fn described(it: &impl Serialize) -> String {
    toml::Value::try_from(it).map_or_else(|error| error.to_string(), |value| value.to_string())
}

/// A preset has its values, and in a simulator has to have an end.
fn preset(name: &str, rest: &str) -> Result<Option<Workload>, String> {
    let Some(preset) = presets::find(name) else {
        return Ok(None);
    };
    if !rest.is_empty() {
        return Err(format!(
            "'{name}' has a name for its values and takes no others: write its kind instead"
        ));
    }
    if !preset.has_an_end() {
        return Err(format!(
            "'{name}' goes on until it is stopped, which the bench does: \
             `random` and `mapped:order=random` come to an end"
        ));
    }
    Ok(Some(preset.workload.clone()))
}

/// A plan of nothing but `words`. It is not checked yet.
///
/// # Errors
/// A sentence about a workload that is none.
pub fn plan(words: &Words) -> Result<Plan, String> {
    let mut plan = Plan {
        name: "typed".to_owned(),
        about: "From the command line.".to_owned(),
        origin: COMMAND_LINE.to_owned(),
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
            let known: Vec<_> = KINDS.iter().map(|(kind, ..)| *kind).collect();
            return Err(format!(
                "'{text}' is no workload and no file: workloads are {} {GENERATED} {ODD_READS}, and those with a name; \
                 `ahead simulate --list` has all",
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

/// A typed model file is relative to the current folder, not to the plan.
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
        for (kind, ..) in KINDS {
            let typed = workload(kind).expect(kind);
            assert!(typed.is_some(), "{kind}");
        }
        let said = toml::from_str::<Workload>("kind = \"?\"").expect_err("no kind");
        let said = said.message().to_owned();
        let kinds = said.split('`').skip(3).step_by(2);
        let missing: Vec<&str> = kinds
            .filter(|kind| !KINDS.iter().any(|(known, ..)| known == kind))
            .collect();
        assert_eq!(missing, ["paced", "phases", "together"], "{said}");
    }

    #[test]
    fn values_that_were_typed_replace_the_usual_ones() {
        let typed = workload("mapped:file-mib=8,order=random").expect("a workload");
        let expected = "kind = \"mapped\"\nfile-mib = 8\norder = \"random\"";
        assert_eq!(typed, toml::from_str(expected).ok());
    }

    #[test]
    fn what_a_workload_does_not_take_is_answered_with_what_it_takes() {
        let said = workload("random:read-mib=4").expect_err("no such key");
        assert!(
            said.contains("read-mib=4") && said.contains("read-kib"),
            "{said}"
        );
        let said = workload("random:read-kib=many").expect_err("no number");
        assert!(said.contains("random:read-kib=many"), "{said}");
        assert!(workload("random:read-kib=0").is_err());
    }

    #[test]
    fn a_preset_is_typed_by_its_name_and_takes_no_values() {
        let typed = workload("stride16-64").expect("a workload");
        let preset = presets::find("stride16-64").expect("a preset");
        assert_eq!(typed.as_ref(), Some(&preset.workload));
        assert!(workload("seq4k:read-kib=8").is_err());
        let said = workload("rand4k").expect_err("no end");
        assert!(said.contains("`random`"), "{said}");
    }

    #[test]
    fn keys_of_an_older_plan_are_answered_with_those_of_today() {
        let said = workload("random:read_kib=4").expect_err("no such key");
        assert!(
            said.contains("read_kib=4") && said.contains("read-kib="),
            "{said}"
        );
    }

    #[test]
    fn a_comma_inside_an_item_does_not_end_it() {
        assert_eq!(
            list("ara-v15:ratio=50,hit_rate=2,adaptive, amp:n=3,,none"),
            ["ara-v15:ratio=50,hit_rate=2", "adaptive", "amp:n=3", "none"]
        );
    }
}
