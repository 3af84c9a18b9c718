//! Plans: which policies, workloads, disks and memory sizes to run against each other, as TOML.
//!
//! ```toml
//! name = "interleaved"
//! about = "eight jobs scan one file each, in turn"
//! disks = ["hdd", "ssd"]           # presets, or model files beside the plan
//! memory-mib = [256]
//! policies = ["linux-6.18:ra_kb=512", "adaptive"]
//!
//! [workload.eight]
//! kind = "sequential"
//!
//! [trace.recorded]
//! path = "database.csv"
//! ```
//!
//! The floor (`none`), the running kernel's algorithm and the ceiling (`oracle`) stand in every
//! plan, named or not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use ahead_disks::DiskModel;
use ahead_policy::units::PageCount;
use ahead_sim::algorithm::Policy;
use ahead_sim::workload::Workload;
use ahead_sim::world::Machine;
use serde::Deserialize;

/// No read-ahead at all.
pub const FLOOR: &str = "none";
/// What the running kernel does.
pub const KERNEL: &str = "linux-6.18";
/// Knows the future, under the same memory.
pub const CEILING: &str = "oracle";

/// Pages in a mebibyte.
const PAGES_PER_MIB: u64 = 256;

/// A plan as a person wrote it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Plan {
    /// Names the plan in tables and journals.
    pub name: String,
    /// One sentence for a person.
    pub about: String,
    /// Where all chance comes from.
    #[serde(default = "one")]
    pub seed: u64,
    /// Disks: a preset, or a model file ending in `.toml` beside the plan.
    pub disks: Vec<String>,
    /// Memory for the page cache, in MiB.
    pub memory_mib: Vec<u64>,
    /// Policies besides floor, kernel and ceiling.
    #[serde(default)]
    pub policies: Vec<String>,
    /// Processors; the machine's default when absent.
    pub cpus: Option<u32>,
    /// Generated workloads by name.
    #[serde(default)]
    pub workload: BTreeMap<String, Workload>,
    /// Recorded workloads by name.
    #[serde(default)]
    pub trace: BTreeMap<String, TraceSource>,
    /// The folder that paths are relative to.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// A recorded workload.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TraceSource {
    /// The file, in any form that `ahead convert` reads.
    pub path: PathBuf,
    /// Each access at its recorded moment, instead of as fast as the reads are answered.
    #[serde(default)]
    pub timing: bool,
}

const fn one() -> u64 {
    1
}

/// A plan that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The file.
    #[error("cannot read the plan '{path}': {source}")]
    Read {
        /// The plan.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The text.
    #[error("plan '{path}': {reason}")]
    Syntax {
        /// The plan.
        path: PathBuf,
        /// What the parser said, with its line.
        reason: String,
    },
    /// Something in it.
    #[error("plan '{plan}': {what}: {reason}")]
    Value {
        /// The plan's name.
        plan: String,
        /// Which entry.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn read(path: &Path) -> Result<Self, PlanError> {
        let text = fs::read_to_string(path).map_err(|source| PlanError::Read {
            path: path.to_owned(),
            source,
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::from_toml(&text, folder).map_err(|error| match error {
            PlanError::Syntax { reason, .. } => PlanError::Syntax {
                path: path.to_owned(),
                reason,
            },
            other => other,
        })
    }

    /// Reads and checks the TOML form; paths in it are relative to `folder`.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn from_toml(text: &str, folder: &Path) -> Result<Self, PlanError> {
        let mut plan: Self = toml::from_str(text).map_err(|error| PlanError::Syntax {
            path: PathBuf::new(),
            reason: error.to_string(),
        })?;
        folder.clone_into(&mut plan.folder);
        plan.check()?;
        Ok(plan)
    }

    fn wrong(&self, what: impl Into<String>, reason: impl Into<String>) -> PlanError {
        PlanError::Value {
            plan: self.name.clone(),
            what: what.into(),
            reason: reason.into(),
        }
    }

    fn check(&self) -> Result<(), PlanError> {
        for (what, is_empty) in [
            ("disks", self.disks.is_empty()),
            ("memory-mib", self.memory_mib.is_empty()),
            (
                "workload",
                self.workload.is_empty() && self.trace.is_empty(),
            ),
        ] {
            if is_empty {
                return Err(self.wrong(what, "at least one is needed"));
            }
        }
        if let Some(wrong) = self
            .memory_mib
            .iter()
            .find(|mib| !(1..=1 << 24).contains(*mib))
        {
            return Err(self.wrong("memory-mib", format!("{wrong} is not from 1 to 16777216")));
        }
        if self.cpus.is_some_and(|cpus| !(1..=1024).contains(&cpus)) {
            return Err(self.wrong("cpus", "from 1 to 1024"));
        }
        if let Some(name) = self
            .workload
            .keys()
            .find(|name| self.trace.contains_key(*name))
        {
            return Err(self.wrong(name, "is the name of a workload and of a trace"));
        }
        for policy in &self.policies {
            policy
                .parse::<Policy>()
                .map_err(|error| self.wrong("policies", error.to_string()))?;
        }
        for disk in &self.disks {
            self.disk(disk)?;
        }
        Ok(())
    }

    /// The disk that the plan calls `name`.
    ///
    /// # Errors
    /// [`PlanError::Value`].
    pub fn disk(&self, name: &str) -> Result<DiskModel, PlanError> {
        if !name.ends_with(".toml") {
            return DiskModel::preset(name).map_err(|error| self.wrong("disks", error.to_string()));
        }
        let path = self.folder.join(name);
        let text = fs::read_to_string(&path)
            .map_err(|error| self.wrong(format!("disk '{}'", path.display()), error.to_string()))?;
        DiskModel::from_toml(&text)
            .map_err(|error| self.wrong(format!("disk '{}'", path.display()), error.to_string()))
    }

    /// The machine with `disk` and `memory_mib` MiB of page cache.
    #[must_use]
    pub fn machine(&self, disk: DiskModel, memory_mib: u64) -> Machine {
        let memory = PageCount::new(memory_mib.saturating_mul(PAGES_PER_MIB));
        let mut machine = Machine::modern(disk, memory);
        if let Some(cpus) = self.cpus {
            machine.cpus = cpus;
        }
        machine
    }

    /// Everything to run, in the order of the tables: disk, memory, workload, policy.
    #[must_use]
    pub fn cells(&self) -> Vec<Cell> {
        let mut policies = vec![FLOOR.to_owned(), KERNEL.to_owned()];
        for policy in &self.policies {
            if !policies.contains(policy) && policy != CEILING {
                policies.push(policy.clone());
            }
        }
        policies.push(CEILING.to_owned());
        let mut cells = Vec::new();
        for disk in &self.disks {
            for &memory_mib in &self.memory_mib {
                for workload in self.workload.keys().chain(self.trace.keys()) {
                    for policy in &policies {
                        cells.push(Cell {
                            plan: self.name.clone(),
                            disk: disk.clone(),
                            memory_mib,
                            workload: workload.clone(),
                            policy: policy.clone(),
                        });
                    }
                }
            }
        }
        cells
    }
}

/// One run: a place in the table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, Deserialize)]
pub struct Cell {
    /// The plan's name.
    pub plan: String,
    /// The disk, as the plan calls it.
    pub disk: String,
    /// Memory for the page cache.
    pub memory_mib: u64,
    /// The workload or trace, as the plan calls it.
    pub workload: String,
    /// The policy, as it is written.
    pub policy: String,
}
