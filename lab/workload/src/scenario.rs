//! A workload's name and the circumstances under which it runs, as reports write them.
//!
//! ```text
//! seq4k                  a preset
//! cached:seq4k           from memory
//! sep64@128m             in so much memory
//! two-scans/two@256m     the workload `two` of the plan `two-scans`
//! ```

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::presets::{self, PRESETS, Preset};

/// Whose workload it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ScenarioWork {
    /// A preset.
    Preset(&'static Preset),
    /// A workload of a plan, as `PLAN/WORKLOAD`; the plan has to be at hand to run it.
    Planned(Arc<str>),
}

/// A workload and its circumstances.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Scenario {
    /// What is read.
    pub work: ScenarioWork,
    /// Whether everything is in memory beforehand (`cached:` in front of the name).
    pub cached: bool,
    /// Memory of the reader's process group in MiB (`@128m` behind the name).
    pub memory_mib_max: Option<u64>,
}

impl Scenario {
    /// A preset as it is.
    #[must_use]
    pub const fn plain(preset: &'static Preset) -> Self {
        Self {
            work: ScenarioWork::Preset(preset),
            cached: false,
            memory_mib_max: None,
        }
    }

    /// The workload `workload` of the plan `plan`, in so much memory.
    #[must_use]
    pub fn planned(plan: &str, workload: &str, memory_mib_max: u64) -> Self {
        Self {
            work: ScenarioWork::Planned(format!("{plan}/{workload}").into()),
            cached: false,
            memory_mib_max: Some(memory_mib_max),
        }
    }

    /// The preset, if it is one.
    #[must_use]
    pub const fn preset(&self) -> Option<&'static Preset> {
        match self.work {
            ScenarioWork::Preset(preset) => Some(preset),
            ScenarioWork::Planned(_) => None,
        }
    }

    /// The name without its circumstances.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.work {
            ScenarioWork::Preset(preset) => preset.name,
            ScenarioWork::Planned(name) => name,
        }
    }

    /// Whether it enters the geometric mean: predictable, and under plain circumstances.
    #[must_use]
    pub fn counts(&self) -> bool {
        let is_predictable = self.preset().is_some_and(|preset| preset.is_predictable);
        is_predictable && !self.cached && self.memory_mib_max.is_none()
    }

    /// The memory limit that applies, in bytes.
    #[must_use]
    pub fn memory_bytes_max(&self) -> Option<u64> {
        let of_preset = || self.preset()?.memory_mib_max;
        self.memory_mib_max.or_else(of_preset).map(|mib| mib << 20)
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.cached {
            f.write_str("cached:")?;
        }
        f.write_str(self.name())?;
        if let Some(mib) = self.memory_mib_max {
            write!(f, "@{mib}m")?;
        }
        Ok(())
    }
}

impl From<Scenario> for String {
    fn from(scenario: Scenario) -> Self {
        scenario.to_string()
    }
}

impl TryFrom<String> for Scenario {
    type Error = ParseScenarioError;
    fn try_from(text: String) -> Result<Self, ParseScenarioError> {
        text.parse()
    }
}

/// A scenario was not understood.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseScenarioError {
    /// No preset has this name.
    #[error(
        "no pattern is called `{name}`; known: {}, or `all`; `cached:` in front runs it from \
             memory, `@128m` behind it in so much memory",
        known_names()
    )]
    UnknownName {
        /// What was asked for.
        name: String,
    },
    /// What follows `@` is not a number of MiB.
    #[error("`{text}`: the memory limit behind `@` is a number of MiB such as `@128m`")]
    BadLimit {
        /// What was asked for.
        text: String,
    },
}

fn known_names() -> String {
    let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
    names.join(" ")
}

impl FromStr for Scenario {
    type Err = ParseScenarioError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (cached, rest) = text
            .strip_prefix("cached:")
            .map_or((false, text), |rest| (true, rest));
        let (name, memory_mib_max) = match rest.rsplit_once('@') {
            None => (rest, None),
            Some((name, limit)) => {
                let mib = limit.strip_suffix('m').and_then(|mib| mib.parse().ok());
                let mib = mib.filter(|mib| (1..=1 << 24).contains(mib));
                let bad = || ParseScenarioError::BadLimit {
                    text: text.to_owned(),
                };
                (name, Some(mib.ok_or_else(bad)?))
            }
        };
        let work = match presets::find(name) {
            Some(preset) => ScenarioWork::Preset(preset),
            None if name.contains('/') => ScenarioWork::Planned(name.into()),
            None => {
                return Err(ParseScenarioError::UnknownName {
                    name: name.to_owned(),
                });
            }
        };
        Ok(Self {
            work,
            cached,
            memory_mib_max,
        })
    }
}

/// Reads a list of presets with commas between; `all` stands for every plain one.
///
/// # Errors
/// [`ParseScenarioError`], also for a workload of a plan: its plan is not here.
pub fn parse_list(text: &str) -> Result<Vec<Scenario>, ParseScenarioError> {
    let mut scenarios = Vec::new();
    let parts = text.split(',').map(str::trim);
    for part in parts.filter(|part| !part.is_empty()) {
        if part == "all" {
            scenarios.extend(PRESETS.iter().map(Scenario::plain));
            continue;
        }
        let scenario: Scenario = part.parse()?;
        if let ScenarioWork::Planned(name) = &scenario.work {
            return Err(ParseScenarioError::UnknownName {
                name: name.to_string(),
            });
        }
        scenarios.push(scenario);
    }
    Ok(scenarios)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back_as_itself() {
        for preset in PRESETS {
            let read: Scenario = preset.name.parse().unwrap();
            assert_eq!(read, Scenario::plain(preset));
            let limited = format!("cached:{}@128m", preset.name);
            assert_eq!(limited.parse::<Scenario>().unwrap().to_string(), limited);
        }
        let planned = Scenario::planned("two-scans", "two", 256);
        assert_eq!(planned.to_string(), "two-scans/two@256m");
        assert_eq!(planned.to_string().parse(), Ok(planned));
    }

    #[test]
    fn an_unknown_pattern_is_answered_with_the_known_ones() {
        for list in ["seq4k,seq5k", "seq5k", "seq5k@64m"] {
            let error = parse_list(list).unwrap_err().to_string();
            assert!(error.contains("`seq5k`"), "{error}");
            for preset in PRESETS {
                assert!(error.contains(preset.name), "{error}");
            }
        }
    }

    #[test]
    fn a_workload_of_a_plan_is_no_name_of_a_list() {
        assert!(parse_list("two-scans/two").is_err());
    }

    #[test]
    fn a_limit_without_a_number_is_refused() {
        assert!(matches!(
            "sep64@lots".parse::<Scenario>(),
            Err(ParseScenarioError::BadLimit { .. })
        ));
    }

    #[test]
    fn the_unpredictable_patterns_stay_out_of_the_mean() {
        let out: Vec<_> = parse_list("all")
            .unwrap()
            .into_iter()
            .filter(|scenario| !scenario.counts())
            .map(|scenario| scenario.to_string())
            .collect();
        assert_eq!(out, ["mixed", "skim", "loop", "rand4k", "rand16k", "mrand"]);
        assert!(!"sep64@128m".parse::<Scenario>().unwrap().counts());
    }
}
