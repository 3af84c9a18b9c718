//! `ahead device measure`: a device opened, measured within bounds, shown, and kept for `ahead run`.
//!
//! What a step is, how it is run and what the figures say is in `ahead_device::measurement`. Here is what is
//! around it: the words of the command line, counters and pauses, progress, files, and the window that the
//! ladder changes for a moment.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ahead_device::machine::MachineTree;
use ahead_device::measurement::direct::{DirectDevice, DirectError};
use ahead_device::measurement::fit::FittedFigures;
use ahead_device::measurement::ladder::{self, LadderPlace, LadderPoint};
use ahead_device::measurement::plan::{self, MeasureBounds};
use ahead_device::measurement::report::{MEASUREMENT_VERSION, MeasuredTarget, Measurement};
use ahead_device::measurement::session;
use ahead_device::measurement::step::StepError;
use ahead_device::stack;
use ahead_device::stacked;
use ahead_device::target::{self, DeviceTargetError, Target};
use ahead_policy::device::DeviceEstimate;
use ahead_sys::block_queue::{BlockQueue, DeviceNumber, QueueFacts};

use crate::arguments::DeviceMeasure;
use crate::duration::{self, DurationError};
use crate::exit::Exit;
use crate::output::{self, to_json};
use crate::run::devices;
use crate::signals;
use crate::size::{self, SizeError};
use crate::studies::{self, StudyError};

use super::stored;

mod around;
mod fio;
mod hold;
mod show;

use around::Around;
use hold::WindowHold;
pub use hold::{GUARD_ARGUMENT, guard};

/// Parts of the time, of a hundred, that the ladder gets where there is one.
const LADDER_PART: u64 = 40;
/// Shorter than this, and a disk with an arm gives each step fewer than a dozen requests.
const TIME_NS_MIN: u64 = 2_000_000_000;
const TIME_NS_MAX: u64 = 24 * 3_600_000_000_000;

/// Why nothing, or not all, was measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureCommandError {
    /// `--time`.
    #[error("--time: {0}")]
    Time(#[from] DurationError),
    /// `--time` is out of range.
    #[error("--time: '{0}' is not between 2s and 24h")]
    TimeRange(String),
    /// `--bytes`.
    #[error("--bytes: {0}")]
    Bytes(#[from] SizeError),
    /// `--bytes` is too small.
    #[error("--bytes: '{0}' is less than 128M, which says little about a device")]
    BytesRange(String),
    /// The target stands for nothing.
    #[error(transparent)]
    Target(#[from] DeviceTargetError),
    /// The target cannot be opened.
    #[error(transparent)]
    Open(#[from] DirectError),
    /// What would be measured is memory.
    #[error("'{path}' would be read from memory and not from a disk: {why}")]
    InMemory {
        /// What was named.
        path: String,
        /// Why, and what to do.
        why: String,
    },
    /// A read failed.
    #[error("'{path}': {source}; is the device still there?")]
    Read {
        /// What was read.
        path: String,
        /// Where, and why.
        source: StepError,
    },
    /// The measurement ended before there were figures.
    #[error("nothing was measured: {0}")]
    Nothing(String),
    /// It ended early, with figures, which were shown.
    #[error("the measurement ended early, {0}")]
    Early(String),
    /// A file cannot be written, or the picture not be drawn.
    #[error(transparent)]
    Files(#[from] StudyError),
    /// A folder for job files cannot be made.
    #[error("cannot make the folder '{path}': {source}")]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Standard output, or the order to stop.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl MeasureCommandError {
    /// How the program ends after this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Time(_) | Self::TimeRange(_) | Self::Bytes(_) | Self::BytesRange(_) => {
                Exit::Usage
            }
            Self::Target(error) if error.is_usage() => Exit::Usage,
            // What stands for nothing, and what has no window, as in all commands of `ahead device`.
            Self::Open(DirectError::Kind(_)) => Exit::Usage,
            Self::Open(DirectError::Open { source, .. })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                Exit::Usage
            }
            _ => Exit::Failed,
        }
    }
}

/// Measures and returns the text to print.
///
/// # Errors
/// [`MeasureCommandError`].
pub fn measure(arguments: &DeviceMeasure) -> Result<String, MeasureCommandError> {
    let time_ns = duration::parse(&arguments.time)?;
    if !(TIME_NS_MIN..=TIME_NS_MAX).contains(&time_ns) {
        return Err(MeasureCommandError::TimeRange(arguments.time.clone()));
    }
    let bytes = size::parse(&arguments.bytes)?;
    if bytes < plan::BYTES_MIN {
        return Err(MeasureCommandError::BytesRange(arguments.bytes.clone()));
    }
    let (prints_json, json_file) = match &arguments.json {
        Some(path) if path.as_os_str() == "-" => (true, None),
        other => (false, other.as_ref()),
    };
    let machine = MachineTree::at(Path::new("/"));
    let mut job = Job::open(&machine, &arguments.target)?;
    studies::prepare([json_file, arguments.svg.as_ref()].into_iter().flatten())?;
    if let Some(folder) = &arguments.fio {
        fs::create_dir_all(folder).map_err(|source| MeasureCommandError::Folder {
            path: folder.clone(),
            source,
        })?;
    }
    let stop = signals::stop_flag()?;
    let (measurement, ended_early) = job.measure(arguments, time_ns, bytes, &stop)?;
    let mut text = if prints_json {
        to_json(&measurement)
    } else {
        show::text(&measurement)
    };
    if let Some(path) = json_file {
        studies::write(path, to_json(&measurement).as_bytes())?;
    }
    if let Some(path) = &arguments.svg {
        studies::draw(&show::chart(&measurement), Some(path), None)?;
    }
    // Behind JSON nothing may follow.
    let mut say = |line: String| {
        if prints_json {
            output::to_stderr(&line);
        } else {
            text += &line;
        }
    };
    let has_failed = ended_early.as_ref().is_some_and(|end| end.has_failed);
    if has_failed {
        say("Not stored for `ahead run`: the device failed.\n".to_owned());
    } else if !arguments.no_store {
        say(job.store(&measurement));
    }
    if !has_failed && (arguments.fio.is_some() || arguments.with_fio) {
        let folder = arguments.fio.as_deref();
        say(fio::jobs(&measurement, folder, arguments.with_fio, &stop)?);
    }
    match ended_early {
        None => Ok(text),
        Some(end) => {
            output::to_stdout(&text)?;
            Err(MeasureCommandError::Early(end.why))
        }
    }
}

/// Why a measurement with figures ended before its end.
#[derive(Debug)]
struct EarlyEnd {
    why: String,
    /// The device did not answer, or its window could not be set: its figures are not to be relied on.
    has_failed: bool,
}

/// What came of the ladder.
#[derive(Debug, Default)]
struct LadderOutcome {
    points: Vec<LadderPoint>,
    /// Why there is none.
    left_out: Option<String>,
    /// A rung could not be set or read, or the window not be put back: the measurement ends with it.
    failed: Option<String>,
}

/// What is measured, and where it stands on this machine.
struct Job<'a> {
    machine: &'a MachineTree,
    device: DirectDevice,
    target: MeasuredTarget,
    identity: Option<u64>,
    /// The whole disk's, where there is one: its counters say who else uses it.
    queue: Option<BlockQueue>,
}

impl<'a> Job<'a> {
    fn open(machine: &'a MachineTree, text: &str) -> Result<Self, MeasureCommandError> {
        let path = stored::path_of(machine, text)?;
        let path = path.ok_or_else(|| DirectError::Kind(text.to_owned()))?;
        let device = DirectDevice::open(&path)?;
        let number = DeviceNumber::from_dev(device.device());
        let sys = machine.sys();
        let identity = stored::identity_of(machine, &path);
        let facts = QueueFacts::read(&sys, number);
        let queue = BlockQueue::open_whole(&sys, number).ok();
        let found = target::find(machine, &path.to_string_lossy())?;
        let layers = stack::of(machine, &found);
        if let Some(why) = stacked::in_memory(machine, &layers) {
            let path = text.to_owned();
            return Err(MeasureCommandError::InMemory { path, why });
        }
        // What orders requests is the disk's, below whatever maps them.
        let mut limits = layers.layers.iter().rev().map(|layer| &layer.limits);
        let lowest = limits.find(|limits| limits.scheduler.is_some());
        let target = MeasuredTarget {
            name: text.to_owned(),
            // It is asked about from other folders.
            path: target::name_to_keep(machine, &path.to_string_lossy()),
            size_bytes: device.size_bytes(),
            is_device: device.is_device(),
            identity: identity.map(|number| format!("{number:016x}")),
            disk: queue.as_ref().map(BlockQueue::name),
            rotational: facts.rotational,
            read_ahead_kb: layers.counting().and_then(|layer| layer.read_ahead_kb),
            max_sectors_kb: facts.max_sectors_kb,
            scheduler: lowest.and_then(|limits| limits.scheduler.clone()),
            nr_requests: lowest.and_then(|limits| limits.nr_requests),
            file_system: match &found {
                Target::Mounted(mount) if !device.is_device() => Some(mount.file_system.clone()),
                _ => None,
            },
        };
        Ok(Self {
            machine,
            device,
            target,
            identity,
            queue,
        })
    }

    /// The measurement, and its early end, if it had one.
    fn measure(
        &mut self,
        arguments: &DeviceMeasure,
        time_ns: u64,
        bytes: u64,
        stop: &Arc<AtomicBool>,
    ) -> Result<(Measurement, Option<EarlyEnd>), MeasureCommandError> {
        let began_s = devices::seconds_now();
        let ladder_part = if arguments.no_ladder || !is_root() {
            0
        } else {
            LADDER_PART
        };
        let ladder = ladder::plan(
            time_ns / 100 * ladder_part,
            bytes / 100 * ladder_part,
            self.target.size_bytes,
        );
        let direct_part = if ladder.is_some() {
            100 - LADDER_PART
        } else {
            100
        };
        let bounds = MeasureBounds {
            time_ns: time_ns / 100 * direct_part,
            bytes: bytes / 100 * direct_part,
            size_bytes: self.target.size_bytes,
            is_device: self.target.is_device,
        };
        let steps = plan::steps(&bounds);
        let rungs = ladder.as_ref().map_or(0, ladder::LadderPlan::windows_set);
        let queue = self.queue.clone();
        let mut around = Around::new(queue, Arc::clone(stop), (steps.len() + rungs) as u64);
        let found = session::run(&mut self.device, &mut around, &steps, bounds.time_ns);
        let found = found.map_err(|source| MeasureCommandError::Read {
            path: self.target.path.clone(),
            source,
        })?;
        let (mut notes, mut ended_early) = (found.notes, found.ended_early);
        let mut has_failed = false;
        let Some(figures) = FittedFigures::of(&found.steps) else {
            let why = ended_early.unwrap_or_else(|| "no step had an answer".to_owned());
            return Err(MeasureCommandError::Nothing(why));
        };
        if self.device.requests_by() == "threads" {
            let note =
                "io_uring is refused here: requests were made by threads, some microseconds each";
            notes.push(note.to_owned());
        }
        let points = match &ladder {
            Some(plan) if ended_early.is_none() => {
                let ladder = self.ladder(plan, &figures, &mut around, stop);
                if stop.load(Ordering::Relaxed) {
                    ended_early = Some("interrupted during the ladder of windows".to_owned());
                }
                has_failed = ladder.failed.is_some();
                ended_early = ladder.failed.or(ended_early);
                notes.extend(ladder.left_out);
                ladder.points
            }
            Some(_) => Vec::new(),
            None => {
                notes.push(self.why_no_ladder(arguments));
                Vec::new()
            }
        };
        around.done();
        notes.extend(figures.doubt());
        notes.extend(ended_early.clone());
        let measurement = Measurement {
            version: MEASUREMENT_VERSION,
            target: self.target.clone(),
            kernel: fs::read_to_string(self.machine.proc().join("sys/kernel/osrelease"))
                .unwrap_or_default()
                .trim()
                .to_owned(),
            began_s,
            requests_by: self.device.requests_by().to_owned(),
            figures,
            steps: found.steps,
            ladder: points,
            notes,
        };
        let early_end = ended_early.map(|why| EarlyEnd { why, has_failed });
        Ok((measurement, early_end))
    }

    fn why_no_ladder(&self, arguments: &DeviceMeasure) -> String {
        let why = if arguments.no_ladder {
            "as asked for"
        } else if !is_root() {
            "setting windows needs root"
        } else {
            "it needs more --time, 15s or longer"
        };
        format!("the ladder of windows through the page cache was left out: {why}")
    }

    /// Every rung.
    fn ladder(
        &self,
        plan: &ladder::LadderPlan,
        figures: &FittedFigures,
        around: &mut Around,
        stop: &AtomicBool,
    ) -> LadderOutcome {
        let place = LadderPlace {
            path: Path::new(&self.target.path),
            size_bytes: self.target.size_bytes,
            bytes_per_second: figures.bytes_per_second.value,
            settle: &|| around::settle(self.queue.as_ref(), stop),
            stop,
        };
        let mut hold = match WindowHold::new(self.machine, &self.target.path) {
            Ok(hold) => hold,
            Err(why) => {
                return LadderOutcome {
                    left_out: Some(format!("no ladder of windows: {why}")),
                    ..LadderOutcome::default()
                };
            }
        };
        let run = ladder::run(plan, &place, &mut |window_kib| {
            around.on_rung(window_kib);
            hold.set(window_kib)
        });
        let failed = run
            .failed
            .map(|error| format!("in the ladder of windows, {error}; is the device still there?"));
        let put_back = hold.release();
        LadderOutcome {
            points: run.points,
            failed: failed.or_else(|| put_back.err()),
            ..LadderOutcome::default()
        }
    }

    /// Stores the estimate where `ahead run` begins with it; the sentence that says so, or why not.
    fn store(&self, measurement: &Measurement) -> String {
        let estimate = estimate(&measurement.figures);
        let stored = match self.identity {
            None => Err("nothing identifies this device".to_owned()),
            Some(_) if measurement.figures.doubt().is_some() => {
                Err("its parts differ too much, see above".to_owned())
            }
            Some(identity) => {
                let kept = devices::believe(identity, estimate);
                let kept = kept.and_then(|path| {
                    stored::keep(identity, &to_json(measurement))?;
                    Ok(path)
                });
                kept.map_err(|error| error.to_string())
            }
        };
        match stored {
            Ok(path) => {
                let sudo = std::env::var("SUDO_USER")
                    .ok()
                    .filter(|user| user != "root");
                let others = sudo.map(|user| {
                    format!("; for runs of {user} measure a file of the device without sudo")
                });
                format!(
                    "Stored in {}: `ahead run` begins with it, `ahead device recommend` knows it{}.\n",
                    path.display(),
                    others.unwrap_or_default()
                )
            }
            Err(why) => format!("Not stored for `ahead run`: {why}.\n"),
        }
    }
}

/// What `ahead run` begins with.
fn estimate(figures: &FittedFigures) -> DeviceEstimate {
    DeviceEstimate {
        access_ns: figures.access_ns.value,
        bytes_per_second: figures.bytes_per_second.value,
        depth: figures.depth,
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
