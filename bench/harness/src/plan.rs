//! What to run: a value that a command line or a test fills in.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ahead_disk_model::DiskModel;
use ahead_workload::scenario::ScenarioWork;
use ahead_workload::{Scenario, Workload};

use crate::arm::Arm;
use crate::results::{Limits, Results, RunRecord};

/// The sizes that `static-best` tries unless given otherwise, in KiB.
pub const SWEEP_KIB: [u64; 6] = [32, 128, 512, 1024, 4096, 8192];

/// Which disk to test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskChoice {
    /// An emulated disk of this model (`hdd`, `ssd`, `cloud`), created and destroyed.
    Emulated(String),
    /// A folder, and so the disk below it.
    Folder(PathBuf),
}

impl FromStr for DiskChoice {
    type Err = std::convert::Infallible;

    /// The names of models are models, everything else is a folder.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if DiskModel::PRESETS.contains(&text) {
            Self::Emulated(text.to_owned())
        } else {
            Self::Folder(text.into())
        })
    }
}

/// How to start a reader: a program and the arguments that make it call
/// [`reader_main`](crate::reader::reader_main) with the ones that follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReaderCommand {
    /// The program, normally our own.
    pub program: PathBuf,
    /// Arguments in front.
    pub arguments: Vec<OsString>,
}

impl ReaderCommand {
    /// Of a bench that starts no reader: the program is the server of emulated disks only.
    pub(crate) fn of_disk_server(program: &Path) -> Self {
        Self {
            program: program.to_owned(),
            arguments: Vec::new(),
        }
    }
}

/// What the arms `daemon` and `daemon:static` need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonCommands {
    /// How to start the daemon; `--config FILE` follows.
    pub daemon: ReaderCommand,
    /// How to start a reader that is linked statically; for `daemon:static`.
    pub static_reader: Option<ReaderCommand>,
}

/// The library of the `run` arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preload {
    /// What goes into `LD_PRELOAD`.
    pub library: PathBuf,
    /// Further variables.
    pub environment: Vec<(String, String)>,
    /// The variable for settings, `key=value` with commas between. The settings of an arm such as
    /// `run:key=value` are added to what `environment` has under this name.
    pub settings_variable: String,
}

/// One bench run.
#[derive(Clone, Debug)]
pub struct BenchPlan {
    /// On which disk.
    pub disk: DiskChoice,
    /// Size of an emulated disk, in bytes; `None` is right for the memory of the machine.
    pub disk_bytes: Option<u64>,
    /// How many times faster than real an emulated disk is, as `4` or `1/2`; `None` is right for
    /// the model.
    pub time_scale: Option<String>,
    /// Program that serves an emulated disk; `None` is the reader's.
    pub disk_server: Option<PathBuf>,
    /// Which patterns, and workloads of plans.
    pub scenarios: Vec<Scenario>,
    /// What the workloads of plans are, by the names of their scenarios.
    pub planned: BTreeMap<String, Workload>,
    /// Which arms.
    pub arms: Vec<Arm>,
    /// What `static-best` tries, in KiB.
    pub sweep_kib: Vec<u64>,
    /// How many times everything is done.
    pub repeat: u32,
    /// When a run stops.
    pub limits: Limits,
    /// Seed of all chance.
    pub seed: u64,
    /// What the disk below a folder is, and its name, where that is known.
    pub known_model: Option<(String, DiskModel)>,
    /// Longest hole that the ceiling reads through, in bytes; `None` is right for the disk.
    pub hole_bytes_max: Option<u64>,
    /// Where files lie is looked up before each run and reported: the run reads no tables of the
    /// file system, and a simulator can do the same reads.
    pub looks_up_places: bool,
    /// Readers sleep where a workload computes: in a guest, where computing takes no time and looking at
    /// the clock until it has passed takes for ever.
    pub sleeps: bool,
    /// Leaves the test files (and an emulated disk) for the next run.
    pub keep: bool,
    /// How to start a reader.
    pub reader: ReaderCommand,
    /// For the `run` arm.
    pub preload: Option<Preload>,
    /// For the `daemon` arms.
    pub daemon: Option<DaemonCommands>,
    /// Where notes about changes to the machine are kept, normally `/run/ahead/bench`.
    pub state_folder: PathBuf,
    /// Set from elsewhere (a signal handler), it ends the bench at the next moment, in order.
    pub stop: Arc<AtomicBool>,
}

impl BenchPlan {
    /// The plan with everything left as usual.
    #[must_use]
    pub fn new(disk: DiskChoice, reader: ReaderCommand) -> Self {
        Self {
            disk,
            disk_bytes: None,
            time_scale: None,
            disk_server: None,
            scenarios: Vec::new(),
            planned: BTreeMap::new(),
            arms: Vec::new(),
            sweep_kib: SWEEP_KIB.to_vec(),
            repeat: 3,
            limits: Limits {
                bytes: 2 << 30,
                milliseconds: 5000,
            },
            seed: 1,
            known_model: None,
            hole_bytes_max: None,
            looks_up_places: false,
            sleeps: false,
            keep: false,
            reader,
            preload: None,
            daemon: None,
            state_folder: "/run/ahead/bench".into(),
            stop: Arc::new(AtomicBool::new(false)),
        }
    }
}

impl BenchPlan {
    /// What `scenario` reads; `None` for a workload of a plan that is not at hand.
    #[must_use]
    pub fn workload(&self, scenario: &Scenario) -> Option<&Workload> {
        match &scenario.work {
            ScenarioWork::Preset(preset) => Some(&preset.workload),
            ScenarioWork::Planned(name) => self.planned.get(&**name),
        }
    }

    /// The sizes of the files that workloads of plans need, each list once.
    pub(crate) fn planned_files(&self) -> Vec<Vec<u64>> {
        let mut lists: Vec<Vec<u64>> = Vec::new();
        for workload in self.planned.values() {
            let sizes = workload.files().iter().map(|file| file.bytes).collect();
            if !lists.contains(&sizes) {
                lists.push(sizes);
            }
        }
        lists
    }

    /// Whether a preset is among the scenarios.
    pub(crate) fn wants_presets(&self) -> bool {
        let mut presets = self.scenarios.iter().filter_map(Scenario::preset);
        presets.next().is_some()
    }
}

/// How far a bench run has come.
#[derive(Clone, Copy, Debug)]
pub enum BenchProgress<'a> {
    /// Test files are being written.
    Preparing {
        /// Bytes so far.
        done: u64,
        /// Bytes in all.
        total: u64,
    },
    /// A run begins.
    Started {
        /// Which one, from 0.
        number: usize,
        /// How many.
        total: usize,
        /// Its pattern.
        scenario: &'a Scenario,
        /// Its arm.
        arm: &'a Arm,
    },
    /// A run has ended.
    Ended {
        /// Which one, from 0.
        number: usize,
        /// How many.
        total: usize,
        /// What it found.
        record: &'a RunRecord,
    },
    /// A run has ended early, as there was no memory left for its readers.
    OutOfMemory {
        /// Which one, from 0.
        number: usize,
        /// How many.
        total: usize,
        /// Its pattern.
        scenario: &'a Scenario,
        /// Its arm.
        arm: &'a Arm,
    },
    /// Before the first run and after each: what there is.
    SoFar(&'a Results),
}
