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
//! plan, named or not. Whatever can be known to be wrong before the first run is refused while a
//! plan is read: a name, a number ([`limits`]), a file that is not there.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use ahead_disk_model::DiskModel;
use ahead_sim::algorithm::Policy;
use ahead_sim::world::Machine;
use ahead_trace::{Columns, Format, OpenOptions};
use ahead_units::PageCount;
use ahead_workload::Workload;
use serde::{Deserialize, Serialize};

use crate::circumstances::{
    Circumstances, CostsChoice, Fragments, MachineChoice, QueueChoice, ReclaimChoice,
    SchedulerChoice,
};
use crate::limits;

/// No read-ahead at all.
pub const FLOOR: &str = "none";
/// What the running kernel does.
pub const KERNEL: &str = "linux-6.18";
/// What the kernel of guests does.
pub const GUEST_KERNEL: &str = "linux-6.12";
/// What that kernel does with the series of `kernel/patches`, switched on. The simulator has `adaptive` instead.
pub const PATCHED: &str = "patched";
/// Knows the future, under the same memory.
pub const CEILING: &str = "oracle";

/// Pages in a mebibyte.
const PAGES_PER_MIB: u64 = 256;
/// Memory that can be asked for, in MiB: up to 16 TiB.
const MEMORY_MIB: Range<u64> = 1..(1 << 24) + 1;

/// A plan as a person wrote it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
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
    /// Which machine is simulated: `modern` when absent, and so the five keys below.
    pub machine: Option<MachineChoice>,
    /// Its request queue.
    pub queue: Option<QueueChoice>,
    /// In which order requests go to the disk.
    pub scheduler: Option<SchedulerChoice>,
    /// How pages leave memory.
    pub reclaim: Option<ReclaimChoice>,
    /// What processors take.
    pub costs: Option<CostsChoice>,
    /// Files in pieces; each is in one when absent.
    pub layout: Option<Fragments>,
    /// Generated workloads by name.
    #[serde(default)]
    pub workload: BTreeMap<String, Workload>,
    /// Recorded workloads by name.
    #[serde(default)]
    pub trace: BTreeMap<String, TraceSource>,
    /// The folder that paths are relative to.
    #[serde(skip)]
    pub folder: PathBuf,
    /// What messages call the plan: its file, or where else it came from.
    #[serde(skip)]
    pub origin: String,
}

/// A recorded workload. All but the path is what `ahead convert` takes under the same names.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TraceSource {
    /// The file, in any form that `ahead convert` reads.
    pub path: PathBuf,
    /// Each access at its recorded moment, instead of as fast as the reads are answered.
    #[serde(default)]
    pub timing: bool,
    /// The format; recognised when it is not given.
    pub from: Option<String>,
    /// What the columns of a table mean.
    pub columns: Option<String>,
    /// What an object of a cache trace is.
    pub objects: Option<String>,
    /// The action of a block request that counts.
    pub action: Option<String>,
}

impl TraceSource {
    /// How the trace is to be read.
    ///
    /// # Errors
    /// A sentence about the value that cannot be used.
    pub fn options(&self) -> Result<OpenOptions, String> {
        let mut options = OpenOptions::default();
        if let Some(name) = &self.from {
            let known = || Format::ALL.map(Format::name).join(", ");
            let format = Format::named(name);
            options.format =
                Some(format.ok_or_else(|| format!("no format '{name}': known are {}", known()))?);
        }
        if let Some(map) = &self.columns {
            options.columns = Some(Columns::parse(map).map_err(|error| error.to_string())?);
        }
        if let Some(objects) = &self.objects {
            options.objects = objects.parse()?;
        }
        if let Some(action) = &self.action {
            options.action = match action.as_bytes() {
                [action @ (b'Q' | b'D' | b'C')] => *action,
                _ => return Err(format!("no action '{action}': it is Q, D or C")),
            };
        }
        Ok(options)
    }
}

const fn one() -> u64 {
    1
}

/// What messages call a plan of the words of a command line.
pub const COMMAND_LINE: &str = "the command line";

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
    /// Something in it.
    #[error("{place}: {reason}")]
    Wrong {
        /// Where.
        place: Place,
        /// What is wrong there.
        reason: String,
    },
    /// Two plans would have the same name in a table.
    #[error("two plans are called '{0}'")]
    SameName(String),
}

/// A place in a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// As [`Plan::origin`].
    pub origin: String,
    /// Counted from 1; `None` where no line is to blame.
    pub line: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin)?;
        self.line.map_or(Ok(()), |line| write!(f, ", line {line}"))
    }
}

/// What [`Plan::check`] objects to.
struct Objection {
    /// The key, and the value if one of several is meant: what the line is looked for by.
    key: &'static str,
    value: Option<String>,
    reason: String,
}

impl Objection {
    fn new(key: &'static str, value: Option<String>, reason: impl Into<String>) -> Self {
        Self {
            key,
            value,
            reason: reason.into(),
        }
    }

    /// The line in `text` that has the value, or else the key.
    fn line(&self, text: &str) -> Option<usize> {
        let key_line = || {
            text.lines().position(|line| {
                let line = line.trim_start().trim_start_matches('[');
                line.strip_prefix(self.key)
                    .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
            })
        };
        let value_line = |value: &String| text.lines().position(|line| line.contains(value));
        let found = self.value.as_ref().and_then(value_line);
        found.or_else(key_line).map(|line| line + 1)
    }
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
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        Self::from_toml(&text, folder, &format!("plan '{}'", path.display()))
    }

    /// Reads and checks the TOML form; paths in it are relative to `folder`, and messages call it
    /// `origin`.
    ///
    /// # Errors
    /// [`PlanError::Wrong`].
    pub fn from_toml(text: &str, folder: &Path, origin: &str) -> Result<Self, PlanError> {
        let wrong = |line, reason| PlanError::Wrong {
            place: Place {
                origin: origin.to_owned(),
                line,
            },
            reason,
        };
        let mut plan: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| line_of(text, &span));
            wrong(line, error.message().to_owned())
        })?;
        folder.clone_into(&mut plan.folder);
        origin.clone_into(&mut plan.origin);
        plan.objection(&[]).map_or(Ok(plan), |objection| {
            let reason = format!("{}: {}", objection.key, objection.reason);
            Err(wrong(objection.line(text), reason))
        })
    }

    /// The TOML form, which [`Plan::from_toml`] reads: of a plan that came from the words of a command
    /// line, for another process.
    #[must_use]
    pub fn to_toml(&self) -> String {
        // Tables, texts and numbers only: this cannot fail.
        toml::to_string(self).unwrap_or_default()
    }

    /// Whether everything that the plan names is there, and every number can be used.
    ///
    /// # Errors
    /// [`PlanError::Wrong`].
    pub fn check(&self) -> Result<(), PlanError> {
        self.check_but(&[])
    }

    /// As [`Plan::check`], for guests: their kernel can have a policy more than the simulator.
    ///
    /// # Errors
    /// As [`Plan::check`].
    pub fn check_for_guests(&self) -> Result<(), PlanError> {
        self.check_but(&[PATCHED])
    }

    /// Policies in `known` are good without being the simulator's.
    fn check_but(&self, known: &[&str]) -> Result<(), PlanError> {
        self.objection(known).map_or(Ok(()), |objection| {
            Err(self.wrong(objection.key, &objection.reason))
        })
    }

    /// How a message about a part of the plan begins: with nothing, where the plan is what was typed.
    #[must_use]
    pub fn prefix(&self) -> String {
        if self.origin == COMMAND_LINE {
            String::new()
        } else {
            format!("plan '{}': ", self.name)
        }
    }

    fn wrong(&self, what: &str, reason: &str) -> PlanError {
        PlanError::Wrong {
            place: Place {
                origin: self.origin.clone(),
                line: None,
            },
            reason: format!("{what}: {reason}"),
        }
    }

    fn objection(&self, known: &[&str]) -> Option<Objection> {
        let no_work = self.workload.is_empty() && self.trace.is_empty();
        for (key, is_empty) in [
            ("name", self.name.is_empty()),
            ("disks", self.disks.is_empty()),
            ("memory-mib", self.memory_mib.is_empty()),
            ("workload", no_work),
        ] {
            if is_empty {
                return Some(Objection::new(key, None, "at least one is needed"));
            }
        }
        let is_memory = |mib: &&u64| !MEMORY_MIB.contains(*mib);
        if let Some(mib) = self.memory_mib.iter().find(is_memory) {
            let reason = format!("{mib} is not from 1 to {}", MEMORY_MIB.end - 1);
            return Some(Objection::new("memory-mib", None, reason));
        }
        if self.cpus.is_some_and(|cpus| !(1..=1024).contains(&cpus)) {
            return Some(Objection::new("cpus", None, "from 1 to 1024"));
        }
        if self.layout.is_some_and(|layout| {
            let pages = 1..=1 << 30;
            !pages.contains(&layout.extent_pages) || layout.gap_pages > *pages.end()
        }) {
            let reason = "extent-pages from 1 to 2^30, gap-pages at most 2^30";
            return Some(Objection::new("layout", None, reason));
        }
        let objection = |key, value: &str| {
            let value = value.to_owned();
            move |reason: String| Objection::new(key, Some(value), reason)
        };
        for disk in &self.disks {
            let model = match self.load_disk(disk) {
                Ok(model) => model,
                Err(reason) => return Some(objection("disks", &format!("\"{disk}\""))(reason)),
            };
            let own = self.policies.iter();
            for policy in own.filter(|policy| !known.contains(&policy.as_str())) {
                if let Err(error) = Policy::for_disk(policy, &model) {
                    let here = objection("policies", &format!("\"{policy}\""));
                    return Some(here(error.to_string()));
                }
            }
        }
        for (name, workload) in &self.workload {
            if self.trace.contains_key(name) {
                let reason = format!("'{name}' is the name of a workload and of a trace");
                return Some(objection("trace", name)(reason));
            }
            if let Err(reason) = limits::check(workload) {
                let here = objection("workload", &format!("workload.{name}"));
                return Some(here(format!("{name}: {reason}")));
            }
        }
        for (name, source) in &self.trace {
            let path = self.folder.join(&source.path);
            let found = fs::metadata(&path)
                .map_err(|error| format!("cannot read '{}': {error}", path.display()));
            if let Err(reason) = source.options().and(found) {
                let here = objection("trace", &format!("trace.{name}"));
                return Some(here(format!("{name}: {reason}")));
            }
        }
        None
    }

    /// The disk that the plan calls `name`.
    ///
    /// # Errors
    /// [`PlanError::Wrong`].
    pub fn disk(&self, name: &str) -> Result<DiskModel, PlanError> {
        self.load_disk(name)
            .map_err(|reason| self.wrong("disks", &reason))
    }

    /// The file of the disk that the plan calls `name`; none, where it is a name.
    #[must_use]
    pub fn disk_file(&self, name: &str) -> Option<PathBuf> {
        name.ends_with(".toml").then(|| self.folder.join(name))
    }

    fn load_disk(&self, name: &str) -> Result<DiskModel, String> {
        let Some(path) = self.disk_file(name) else {
            return DiskModel::typed(name).map_err(|error| error.to_string());
        };
        let text = fs::read_to_string(&path)
            .map_err(|error| format!("cannot read '{}': {error}", path.display()))?;
        DiskModel::from_toml(&text).map_err(|error| format!("'{}': {error}", path.display()))
    }

    /// The machine with `disk` and `memory_mib` MiB of page cache.
    #[must_use]
    pub fn machine(&self, disk: DiskModel, memory_mib: u64) -> Machine {
        let memory = PageCount::new(memory_mib.saturating_mul(PAGES_PER_MIB));
        let mut machine = self.circumstances().machine(disk, memory);
        if let Some(cpus) = self.cpus {
            machine.cpus = cpus;
        }
        machine
    }

    /// What the plan says of the simulated machine beside disk, memory and processors.
    #[must_use]
    pub const fn circumstances(&self) -> Circumstances {
        Circumstances {
            machine: self.machine,
            queue: self.queue,
            scheduler: self.scheduler,
            reclaim: self.reclaim,
            costs: self.costs,
            layout: self.layout,
        }
    }

    /// The policies of the tables, floor and kernel first and the ceiling last, each once.
    #[must_use]
    pub fn all_policies(&self) -> Vec<String> {
        let mut policies = vec![FLOOR.to_owned(), KERNEL.to_owned()];
        for policy in self.policies.iter().map(|policy| policy.trim()) {
            if policy != CEILING && !policies.iter().any(|known| known == policy) {
                policies.push(policy.to_owned());
            }
        }
        policies.push(CEILING.to_owned());
        policies
    }

    /// Everything to run, in the order of the tables: disk, memory, workload, policy. No two are
    /// the same.
    #[must_use]
    pub fn cells(&self) -> Vec<Cell> {
        let policies = self.all_policies();
        let mut cells = Vec::new();
        for (number, disk) in self.disks.iter().enumerate() {
            if self.disks[..number].contains(disk) {
                continue;
            }
            for (number, &memory_mib) in self.memory_mib.iter().enumerate() {
                if self.memory_mib[..number].contains(&memory_mib) {
                    continue;
                }
                for workload in self.workload.keys().chain(self.trace.keys()) {
                    cells.extend(policies.iter().map(|policy| Cell {
                        plan: self.name.clone(),
                        disk: disk.clone(),
                        memory_mib,
                        workload: workload.clone(),
                        policy: policy.clone(),
                    }));
                }
            }
        }
        cells
    }
}

/// The line, counted from 1, in which `span` begins.
fn line_of(text: &str, span: &Range<usize>) -> usize {
    let before = text.bytes().take(span.start);
    1 + before.filter(|byte| *byte == b'\n').count()
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
