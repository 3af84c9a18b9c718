//! Real programs by themselves and in another arm, under `ahead run` or beside the daemon, on one disk: are they faster, is any slower, do they
//! produce the same.
//!
//! ```text
//! list ──► data, made on the disk ──► each program: plain, with, with, plain, … ──► speed and its interval
//!                                       (cold, or warm)      until it is narrow
//! ```
//!
//! A program is a shell script in a [list](list::ProgramList). Both sides of a round are neighbours in time, and
//! rounds go on until the interval of the speed is narrow or there have been enough of them.

pub mod list;
pub mod results;
mod stage;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ahead_sys::child_usage::{ChildEnd, wait_blocking};
use ahead_sys::drop_caches::drop_caches;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::arm::Arm;
use crate::calendar::{monotonic_ns, utc_minutes};
use crate::daemon_arm::RunningDaemon;
use crate::error::BenchError;
use crate::ground::{Ground, machine};
use crate::plan::{BenchPlan, DiskChoice, ReaderCommand};
use crate::side::{Launcher, MeasureError, Side, ended_badly, failed, succeed};
use crate::target::Target;
use crate::tree_files::{TREE_ARGUMENT, TreePart};
use list::{BenchProgram, Interpreter, Need, ProgramData, ProgramList, TreeCeiling};
use results::{
    CacheState, Digest, ProgramOutcome, ProgramResults, ProgramRow, ProgramRun, VERSION, speed,
};
use stage::{Stage, digest, lacking, nanoseconds};

/// The data of our list, and what a file system needs beside it.
const DISK_BYTES: u64 = 5 << 30;
/// How soon a program is ended after the bench was told to stop.
const STOP_WITHIN: Duration = Duration::from_millis(50);

/// What to measure.
#[derive(Clone, Debug)]
pub struct ProgramsPlan {
    /// The programs.
    pub list: ProgramList,
    /// What they are compared with: [`Arm::Run`], or [`Arm::Daemon`] for [`Self::program`] as the daemon.
    pub arm: Arm,
    /// On which disk.
    pub disk: DiskChoice,
    /// How many times faster than real an emulated disk is; `None` is right for the model.
    pub time_scale: Option<String>,
    /// Size of an emulated disk, in bytes; `None` is right for our list.
    pub disk_bytes: Option<u64>,
    /// What is in memory when a program starts.
    pub cache: CacheState,
    /// `read_ahead_kb` of the disk meanwhile; `None` leaves it as it is.
    pub read_ahead_kib: Option<u64>,
    /// Size of the data, of a hundred.
    pub percent: u32,
    /// Rounds of every program.
    pub rounds: u32,
    /// Rounds of a program whose interval is not narrow.
    pub rounds_max: u32,
    /// Ends of an interval that is narrow are no further from each other than this, as a share.
    pub narrow: f64,
    /// Settings of `ahead run`, as `key=value`.
    pub settings: Vec<String>,
    /// Our own program, which is also the server of an emulated disk.
    pub program: PathBuf,
    /// The environment variable by which `ahead run` finds its library.
    pub library_variable: String,
    /// The library.
    pub library: PathBuf,
    /// Where programs are looked for, as in the variable `PATH`.
    pub path: OsString,
    /// Leaves the data (and an emulated disk) for the next bench.
    pub keep: bool,
    /// Makes the data, and measures nothing.
    pub prepares_only: bool,
    /// Where notes about changes to the machine are kept, normally `/run/ahead/bench`.
    pub state_folder: PathBuf,
    /// Set from elsewhere, it ends the bench at the next moment.
    pub stop: Arc<AtomicBool>,
}

/// How far it has come.
#[derive(Clone, Copy, Debug)]
pub enum ProgramsProgress<'a> {
    /// Data is being made.
    Making(&'a ProgramData),
    /// A program begins: which one, from 0, and of how many.
    Started(usize, usize, &'a BenchProgram),
    /// A program has ended: which one, from 0, and of how many.
    Ended(usize, usize, &'a ProgramRow),
}

/// The bench could not be finished.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramsError {
    /// The disk, or something around it.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// Data could not be made.
    #[error("cannot make the data '{name}': {source}")]
    Data {
        /// Which.
        name: String,
        /// Why.
        source: MeasureError,
    },
    /// A program failed.
    #[error("{name}: {source}")]
    Program {
        /// Which.
        name: String,
        /// Why.
        source: MeasureError,
    },
}

fn machine_error(what: &'static str) -> impl Fn(io::Error) -> ProgramsError {
    move |source| BenchError::Machine { what, source }.into()
}

/// Measures every program of `plan`.
///
/// # Errors
/// [`ProgramsError`]; the machine is as before also then, and the data gone unless it is to be kept.
pub fn programs(
    plan: &ProgramsPlan,
    on_progress: &mut dyn FnMut(ProgramsProgress<'_>),
) -> Result<ProgramResults, ProgramsError> {
    let disk_server = ReaderCommand::of_disk_server(&plan.program);
    let bench = BenchPlan {
        time_scale: plan.time_scale.clone(),
        disk_bytes: plan.disk_bytes.or(Some(DISK_BYTES)),
        keep: plan.keep,
        state_folder: plan.state_folder.clone(),
        ..BenchPlan::new(plan.disk.clone(), disk_server)
    };
    let mut ground = Ground::make(&bench)?;
    let outcome = on_ground(plan, &mut ground, on_progress);
    let cleared = ground.clear().map_err(ProgramsError::from);
    // What was measured, or went wrong first, is what there is to say.
    outcome.and_then(|results| cleared.map(|()| results))
}

fn on_ground(
    plan: &ProgramsPlan,
    ground: &mut Ground,
    on_progress: &mut dyn FnMut(ProgramsProgress<'_>),
) -> Result<ProgramResults, ProgramsError> {
    let stage = Stage::on(&ground.target.folder, plan.percent)
        .map_err(machine_error("cannot make the folders for programs"))?;
    let set = match plan.read_ahead_kib {
        Some(kib) => {
            ground.note_read_ahead()?;
            ground.target.queue.set_read_ahead_kb(kib).map(|()| kib)
        }
        None => ground.target.queue.read_ahead_kb(),
    };
    let outcome = set
        .map_err(machine_error("cannot set read_ahead_kb"))
        .and_then(|read_ahead_kib| {
            let bench = Bench {
                plan,
                read_ahead_kib,
                target: &ground.target,
                stage: &stage,
                launcher: Launcher {
                    program: &plan.program,
                    library_variable: &plan.library_variable,
                    library: &plan.library,
                    against: None,
                    folder: ground.folder(),
                },
            };
            bench.all(on_progress)
        });
    let restored = ground.restore_read_ahead().map_err(ProgramsError::from);
    let removed = if matches!(plan.disk, DiskChoice::Folder(_)) && !plan.keep {
        stage.remove()
    } else {
        Ok(())
    };
    let removed = removed.map_err(machine_error("cannot remove the data of the programs"));
    outcome.and_then(|results| restored.and(removed).map(|()| results))
}

/// How a program is run in one half of a round.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Turn<'a> {
    side: Side<'a>,
    /// Beside a daemon of its own.
    has_daemon: bool,
}

impl Turn<'_> {
    const PLAIN: Self = Self {
        side: Side::Plain,
        has_daemon: false,
    };
}

struct Bench<'a> {
    plan: &'a ProgramsPlan,
    read_ahead_kib: u64,
    target: &'a Target,
    stage: &'a Stage,
    launcher: Launcher<'a>,
}

impl Bench<'_> {
    fn all(
        &self,
        on_progress: &mut dyn FnMut(ProgramsProgress<'_>),
    ) -> Result<ProgramResults, ProgramsError> {
        let plan = self.plan;
        let mut results = ProgramResults {
            version: VERSION,
            began: utc_minutes(SystemTime::now()),
            machine: machine(),
            disk: self.target.disk.clone(),
            arm: plan.arm.clone(),
            list: plan.list.about.clone(),
            cache: plan.cache,
            read_ahead_kib: self.read_ahead_kib,
            percent: plan.percent,
            rows: Vec::new(),
        };
        let mut unmade: Vec<(&str, String)> = Vec::new();
        for data in &plan.list.data {
            if let Some(reason) = self.make(data, &unmade, on_progress)? {
                unmade.push((&data.name, reason));
            }
        }
        let disk = File::open(&self.stage.folder);
        // Only clean pages can be taken out of memory.
        disk.and_then(|disk| Ok(rustix::fs::syncfs(disk)?))
            .map_err(machine_error("cannot write the data of the programs out"))?;
        if plan.prepares_only {
            return Ok(results);
        }
        let total = plan.list.programs.len();
        for (number, program) in plan.list.programs.iter().enumerate() {
            on_progress(ProgramsProgress::Started(number, total, program));
            let lacking = lacking(&unmade, &program.data);
            let outcome = match lacking.or_else(|| self.missing(&program.needs)) {
                Some(reason) => ProgramOutcome::LeftOut(reason),
                None => self
                    .measure(program)
                    .map_err(|source| ProgramsError::Program {
                        name: program.name.clone(),
                        source,
                    })?,
            };
            let row = ProgramRow {
                name: program.name.clone(),
                about: program.about.clone(),
                is_tree: program.is_tree,
                outcome,
            };
            on_progress(ProgramsProgress::Ended(number, total, &row));
            results.rows.push(row);
        }
        Ok(results)
    }

    /// Makes `data`, unless it is there. Returns why it cannot be made here.
    fn make(
        &self,
        data: &ProgramData,
        unmade: &[(&str, String)],
        on_progress: &mut dyn FnMut(ProgramsProgress<'_>),
    ) -> Result<Option<String>, ProgramsError> {
        if self.stage.has(data) {
            return Ok(None);
        }
        let needs: Vec<Need> = data
            .needs
            .iter()
            .cloned()
            .chain([data.with.need()])
            .collect();
        if let Some(reason) = lacking(unmade, &data.of).or_else(|| self.missing(&needs)) {
            return Ok(Some(reason));
        }
        on_progress(ProgramsProgress::Making(data));
        let failed = |source| ProgramsError::Data {
            name: data.name.clone(),
            source,
        };
        if self.plan.stop.load(Ordering::Relaxed) {
            return Err(failed(MeasureError::Stopped));
        }
        let forgotten = self.stage.forget(data);
        forgotten.map_err(machine_error("cannot note that data is made again"))?;
        let mut command = self.command(data.with, &data.make, Side::Plain);
        let (end, said) = self.quietly(&mut command).map_err(failed)?;
        if !end.success() {
            return Err(failed(ended_badly(&command, end, &said)));
        }
        let noted = self.stage.note(data);
        noted.map_err(machine_error("cannot note that data was made"))?;
        Ok(None)
    }

    /// The first of `needs` that is not there.
    fn missing(&self, needs: &[Need]) -> Option<String> {
        let missing = needs.iter().find(|need| {
            let mut probe = self.command(Interpreter::Sh, &need.probe(), Side::Plain);
            succeed(&mut probe).is_err()
        });
        missing.map(|need| format!("{need} is not installed"))
    }

    /// `script` on a side, in the folder with the data.
    fn command(&self, with: Interpreter, script: &str, side: Side<'_>) -> Command {
        let mut words: Vec<OsString> = with.words().map(OsString::from).to_vec();
        words.push(script.into());
        let settings = self.plan.settings.iter();
        let options: Vec<OsString> = settings
            .flat_map(|setting| ["--set".into(), setting.into()])
            .collect();
        let mut command = self.launcher.command(&words, side, &options);
        self.stage.equip(&mut command);
        // What writes the trees of a list.
        command
            .env("PATH", &self.plan.path)
            .env("AHEAD", &self.plan.program);
        command
    }

    fn measure(&self, program: &BenchProgram) -> Result<ProgramOutcome, MeasureError> {
        let (mut plain, mut with, mut ceiling) = (Vec::new(), Vec::new(), Vec::new());
        if self.plan.cache == CacheState::Warm {
            self.once(program, Turn::PLAIN)?;
        }
        for round in 0..self.plan.rounds_max {
            if round >= self.plan.rounds && self.is_narrow(&plain, &with) {
                break;
            }
            for turn in self.turns(round) {
                let run = self.once(program, turn)?;
                if turn == Turn::PLAIN {
                    plain.push(run);
                } else {
                    with.push(run);
                }
            }
            if let Some(known) = &program.ceiling {
                ceiling.push(self.ceiling(program, known)?);
            }
        }
        Ok(ProgramOutcome::Measured {
            plain,
            with,
            ceiling,
        })
    }

    /// One who knows what is in the trees that `program` reads, and reads it.
    fn ceiling(
        &self,
        program: &BenchProgram,
        known: &TreeCeiling,
    ) -> Result<ProgramRun, MeasureError> {
        let list = self.launcher.folder.join("list");
        let part = match known.part {
            TreePart::Whole => "whole",
            TreePart::Head => "head",
            TreePart::Metadata => "metadata",
        };
        let trees = |words: &[&OsStr]| {
            let mut all: Vec<OsString> = vec![self.plan.program.clone().into()];
            all.push(TREE_ARGUMENT.into());
            all.extend(words.iter().map(Into::into));
            let mut command = self.launcher.command(&all, Side::Plain, &[]);
            self.stage.equip(&mut command);
            command
        };
        let mut words = vec!["list".as_ref(), part.as_ref(), list.as_os_str()];
        words.extend(known.folders.iter().map(OsStr::new));
        succeed(&mut trees(&words))?;
        self.timed(
            program,
            Turn::PLAIN,
            trees(&["read".as_ref(), list.as_os_str()]),
        )
    }

    fn is_narrow(&self, plain: &[ProgramRun], with: &[ProgramRun]) -> bool {
        speed(plain, with).is_some_and(|speed| {
            let interval = speed.interval;
            interval.high - interval.low <= self.plan.narrow * speed.value
        })
    }

    /// Both halves of a round, in their order.
    fn turns(&self, round: u32) -> impl Iterator<Item = Turn<'_>> {
        let has_daemon = matches!(self.plan.arm, Arm::Daemon { .. });
        let sides = self.launcher.sides(round).into_iter();
        sides.map(move |side| match side {
            Side::With(_) if has_daemon => Turn {
                side: Side::Plain,
                has_daemon,
            },
            side => Turn {
                side,
                has_daemon: false,
            },
        })
    }

    /// The daemon beside a run.
    fn daemon(&self, turn: Turn<'_>) -> Result<Option<RunningDaemon>, MeasureError> {
        if !turn.has_daemon {
            return Ok(None);
        }
        let command = ReaderCommand {
            program: self.plan.program.clone(),
            arguments: vec!["daemon".into()],
        };
        let started = self
            .target
            .device()
            .and_then(|device| RunningDaemon::start(&command, device, self.launcher.folder));
        started.map(Some).map_err(MeasureError::Daemon)
    }

    /// One run on one side.
    fn once(&self, program: &BenchProgram, turn: Turn<'_>) -> Result<ProgramRun, MeasureError> {
        let started = match &program.start {
            Some(script) => self.detached(script, turn.side),
            None => Ok(()),
        };
        let run = started.and_then(|()| self.between(program, turn));
        // Also where it did not start as a whole: nothing is to be left running.
        let stopped = match &program.stop {
            Some(script) => self.detached(script, Side::Plain),
            None => Ok(()),
        };
        run.and_then(|run| stopped.map(|()| run))
    }

    /// Runs `script`, whose children may go on; what they print belongs to nobody.
    fn detached(&self, script: &str, side: Side<'_>) -> Result<(), MeasureError> {
        let mut command = self.command(Interpreter::Sh, script, side);
        let (ended, said) = self.quietly(&mut command)?;
        if ended.success() {
            Ok(())
        } else {
            Err(ended_badly(&command, ended, &said))
        }
    }

    /// Runs `command` to its end, in a group of its own: an interrupted bench stops what it has started in its own
    /// order. Returns how it ended, and its messages.
    fn quietly(&self, command: &mut Command) -> Result<(ExitStatus, Vec<u8>), MeasureError> {
        let said = File::create(self.said())
            .map_err(|error| failed(command, format!("cannot keep its messages: {error}")))?;
        command.stdout(Stdio::null()).stderr(said).process_group(0);
        let ended = command
            .status()
            .map_err(|error| failed(command, format!("cannot be started: {error}")))?;
        Ok((ended, fs::read(self.said()).unwrap_or_default()))
    }

    /// One run, between what comes before and what comes after.
    fn between(&self, program: &BenchProgram, turn: Turn<'_>) -> Result<ProgramRun, MeasureError> {
        self.timed(
            program,
            turn,
            self.command(Interpreter::Sh, &program.run, turn.side),
        )
    }

    /// One run of `command`, which is `program` or stands for it.
    fn timed(
        &self,
        program: &BenchProgram,
        turn: Turn<'_>,
        mut command: Command,
    ) -> Result<ProgramRun, MeasureError> {
        if self.plan.stop.load(Ordering::Relaxed) {
            return Err(MeasureError::Stopped);
        }
        let daemon = self.daemon(turn)?;
        let prepared = self.stage.clear_output().and_then(|()| {
            if self.plan.cache == CacheState::Cold {
                rustix::fs::sync();
                drop_caches(Path::new("/proc"))?;
            }
            // The programs themselves, and the library, are read before the clock starts.
            self.warm(program, turn.side);
            self.target.queue.stat()
        });
        let before = prepared.map_err(MeasureError::Evict)?;
        let started_ns = monotonic_ns();
        let start = Instant::now();
        let (end, elapsed, printed) = self.run(&mut command, start)?;
        if !end.status.success() {
            let said = fs::read(self.said()).unwrap_or_default();
            return Err(ended_badly(&command, end.status, &said));
        }
        let daemon_end = daemon.map(RunningDaemon::end).transpose();
        let daemon_end = daemon_end.map_err(|error| failed(&command, error.to_string()))?;
        let measured = self.target.settled().and_then(|after| {
            Ok(ProgramRun {
                started_ns,
                elapsed_ns: nanoseconds(elapsed),
                cpu_ns: nanoseconds(end.user + end.system),
                device_bytes: after.read_bytes.saturating_sub(before.read_bytes),
                device_requests: after.reads.saturating_sub(before.reads),
                output: self.stage.take_output(printed)?,
                daemon_cpu_ns: daemon_end.map(|end| nanoseconds(end.user + end.system)),
                daemon_memory_bytes: daemon_end.map(|end| end.memory_bytes_max),
            })
        });
        measured.map_err(|error| failed(&command, error.to_string()))
    }

    /// Where a program's messages are.
    fn said(&self) -> PathBuf {
        self.launcher.folder.join("said")
    }

    fn warm(&self, program: &BenchProgram, side: Side<'_>) {
        for need in &program.needs {
            // What cannot be run says so when it is measured.
            let _ = self.detached(&need.probe(), side);
        }
        let _ = fs::read(&self.plan.library);
    }

    /// Runs `command` to its end. It has a group of its own, so that nothing of it is left when the bench is told
    /// to stop.
    fn run(
        &self,
        command: &mut Command,
        start: Instant,
    ) -> Result<(ChildEnd, Duration, Digest), MeasureError> {
        let said = File::create(self.said())
            .map_err(|error| failed(command, format!("cannot keep its messages: {error}")))?;
        command.stdout(Stdio::piped()).stderr(said).process_group(0);
        let mut child = command
            .spawn()
            .map_err(|error| failed(command, format!("cannot be started: {error}")))?;
        let pid = child.id();
        let printed = child.stdout.take();
        let (end, elapsed, printed) = thread::scope(|scope| {
            let ended = scope.spawn(move || (wait_blocking(pid), start.elapsed()));
            let printed =
                scope.spawn(move || printed.map_or_else(|| Ok(Digest::default()), digest));
            while !ended.is_finished() || !printed.is_finished() {
                if self.plan.stop.load(Ordering::Relaxed) {
                    end_group(&child);
                }
                thread::sleep(STOP_WITHIN);
            }
            let panicked = || io::Error::other("a thread of the bench panicked");
            let (end, elapsed) = ended
                .join()
                .unwrap_or_else(|_| (Err(panicked()), Duration::ZERO));
            let printed = printed.join().unwrap_or_else(|_| Err(panicked()));
            (end, elapsed, printed)
        });
        if self.plan.stop.load(Ordering::Relaxed) {
            return Err(MeasureError::Stopped);
        }
        let io_failed = |error: io::Error| failed(command, error.to_string());
        Ok((
            end.map_err(io_failed)?,
            elapsed,
            printed.map_err(io_failed)?,
        ))
    }
}

fn end_group(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // It may have ended meanwhile.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}
