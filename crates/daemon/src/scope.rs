//! Which files and processes the daemon acts for: what the owner of the machine says. Pure.
//!
//! Nothing said means all. Where anything is included, only that is; what is excluded is left alone in any case.

use std::path::{Path, PathBuf};

use ahead_sys::block_queue::DeviceNumber;
use serde::Deserialize;

/// One list of what is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScopeRules {
    /// Files, and folders with all below them. Absolute.
    pub paths: Vec<PathBuf>,
    /// Names of processes, as `/proc/PID/comm` has them.
    pub processes: Vec<String>,
    /// Control groups with all below them, as `/proc/PID/cgroup` has them: `/system.slice/x.service`.
    pub cgroups: Vec<String>,
    /// Numbers of devices, as the mounts have them: `8:17`.
    pub devices: Vec<String>,
}

/// What the daemon acts for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scope {
    /// Only this, if anything is said.
    pub include: ScopeRules,
    /// Not this.
    pub exclude: ScopeRules,
}

/// What is known of a read, as far as rules need it.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadFacts<'a> {
    /// The file.
    pub path: Option<&'a Path>,
    /// Name of the process.
    pub process: Option<&'a str>,
    /// Its control groups.
    pub cgroups: &'a [String],
    /// The device.
    pub device: Option<DeviceNumber>,
}

/// Why a scope is refused.
#[derive(Debug, thiserror::Error)]
#[error("{what} '{value}' {why}")]
pub struct ScopeError {
    what: &'static str,
    value: String,
    why: &'static str,
}

impl ScopeRules {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn add(&mut self, more: Self) {
        self.paths.extend(more.paths);
        self.processes.extend(more.processes);
        self.cgroups.extend(more.cgroups);
        self.devices.extend(more.devices);
    }

    fn names(&self, facts: &ReadFacts<'_>) -> bool {
        let below = |group: &String, rule: &String| {
            let rest = group.strip_prefix(rule.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let path = facts.path;
        let is_path =
            || path.is_some_and(|path| self.paths.iter().any(|rule| path.starts_with(rule)));
        let name = facts.process;
        let is_process = || name.is_some_and(|name| self.processes.iter().any(|rule| rule == name));
        let is_group = || {
            let groups = &self.cgroups;
            facts
                .cgroups
                .iter()
                .any(|group| groups.iter().any(|rule| below(group, rule)))
        };
        let number = facts.device;
        let is_device = || {
            let numbers = self.devices.iter().map(|rule| DeviceNumber::parse(rule));
            number.is_some() && numbers.into_iter().any(|rule| rule == number)
        };
        is_path() || is_process() || is_group() || is_device()
    }

    fn check(&self) -> Result<(), ScopeError> {
        if let Some(path) = self.paths.iter().find(|path| !path.is_absolute()) {
            return Err(ScopeError {
                what: "the path",
                value: path.display().to_string(),
                why: "must begin with '/'",
            });
        }
        if let Some(group) = self.cgroups.iter().find(|group| !group.starts_with('/')) {
            return Err(ScopeError {
                what: "the control group",
                value: group.clone(),
                why: "must begin with '/', as in /proc/PID/cgroup",
            });
        }
        let is_number = |device: &&String| DeviceNumber::parse(device).is_none();
        if let Some(device) = self.devices.iter().find(is_number) {
            return Err(ScopeError {
                what: "the device",
                value: device.clone(),
                why: "must be a number such as 8:17; `ahead device list` shows them",
            });
        }
        Ok(())
    }
}

impl Scope {
    /// Whether what is said makes sense.
    ///
    /// # Errors
    /// What does not, and what would.
    pub fn check(&self) -> Result<(), ScopeError> {
        self.include.check()?;
        self.exclude.check()
    }

    /// What another file says counts too.
    pub fn add(&mut self, more: Self) {
        self.include.add(more.include);
        self.exclude.add(more.exclude);
    }

    /// Whether nothing is said, so that nothing need be known of a read.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }

    /// Whether the path of a file matters.
    #[must_use]
    pub fn names_paths(&self) -> bool {
        !self.include.paths.is_empty() || !self.exclude.paths.is_empty()
    }

    /// Whether this is acted for.
    #[must_use]
    pub fn holds(&self, facts: &ReadFacts<'_>) -> bool {
        let is_included = self.include.is_empty() || self.include.names(facts);
        is_included && !self.exclude.names(facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(paths: &[&str], processes: &[&str], cgroups: &[&str], devices: &[&str]) -> ScopeRules {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        ScopeRules {
            paths: paths.iter().map(PathBuf::from).collect(),
            processes: texts(processes),
            cgroups: texts(cgroups),
            devices: texts(devices),
        }
    }

    fn of(path: &str) -> ReadFacts<'_> {
        ReadFacts {
            path: Some(Path::new(path)),
            ..ReadFacts::default()
        }
    }

    #[test]
    fn nothing_said_is_everything() {
        let scope = Scope::default();
        assert!(scope.is_everything() && scope.holds(&of("/a")));
    }

    #[test]
    fn a_folder_means_what_is_below_it_and_exclusion_wins() {
        let scope = Scope {
            include: rules(&["/data"], &[], &[], &[]),
            exclude: rules(&["/data/db"], &[], &[], &[]),
        };
        assert!(scope.holds(&of("/data/x")));
        assert!(!scope.holds(&of("/data/db/x")));
        assert!(scope.holds(&of("/data/dbs")));
        assert!(!scope.holds(&of("/database")));
        assert!(
            !scope.holds(&ReadFacts::default()),
            "not known to be inside"
        );
    }

    #[test]
    fn processes_groups_and_devices_are_meant_by_their_names() {
        let scope = Scope {
            exclude: rules(&[], &["postgres"], &["/system.slice"], &["8:17"]),
            ..Scope::default()
        };
        let groups = ["/system.slice/cron.service".to_owned()];
        let others = ["/system.slices".to_owned()];
        let process = |process| ReadFacts {
            process: Some(process),
            ..ReadFacts::default()
        };
        let inside = |cgroups| ReadFacts {
            cgroups,
            ..ReadFacts::default()
        };
        let on = |minor| ReadFacts {
            device: Some(DeviceNumber { major: 8, minor }),
            ..ReadFacts::default()
        };
        assert!(!scope.holds(&process("postgres")) && scope.holds(&process("postgresql")));
        assert!(!scope.holds(&inside(&groups)) && scope.holds(&inside(&others)));
        assert!(!scope.holds(&on(17)) && scope.holds(&on(18)));
    }

    #[test]
    fn what_could_never_match_is_refused_with_what_would() {
        let wrong = [
            (rules(&["data"], &[], &[], &[]), "must begin with '/'"),
            (rules(&[], &[], &["x.slice"], &[]), "/proc/PID/cgroup"),
            (rules(&[], &[], &[], &["sdb"]), "8:17"),
        ];
        for (exclude, words) in wrong {
            let scope = Scope {
                exclude,
                ..Scope::default()
            };
            let said = scope.check().unwrap_err().to_string();
            assert!(said.contains(words), "{said}");
        }
    }
}
