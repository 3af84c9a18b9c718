//! Boots a guest, waits for its end, and ends it when it hangs.
//!
//! A guest is one process group of the host. It runs with our rights, sees the host's files read-only
//! and may write to one folder only, which is shared: the task goes in, the answer comes out.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use ahead_disk_model::{DiskModel, ModelError, TimeScale};
use ahead_sys::fixed_layout::spawn_with_fixed_layout;
use ahead_sys::terminal::{self, Lent};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::kernel::Kernel;
use crate::requests::{self, LoggedRequest};
use crate::task::{self, ANSWER, CommandTime, GuestAnswer, OUTPUT, TASK, Task};

/// The log of the disk, in the shared folder.
const LOG: &str = "requests";
/// What the guest said, in the shared folder.
const CONSOLE: &str = "console";
/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The disk of a guest.
#[derive(Clone, Debug)]
pub struct GuestDisk {
    /// What it is.
    pub model: DiskModel,
    /// How fast its time runs.
    pub scale: TimeScale,
    /// What is on it; `None`: zeros.
    pub image: Option<PathBuf>,
    /// What is written goes to the image, instead of being gone with the guest.
    pub keeps: bool,
    /// Its size.
    pub bytes: u64,
    /// The longest request, in KiB.
    pub request_kib: u32,
    /// How many requests it takes at once.
    pub depth: u32,
}

impl GuestDisk {
    /// A blank disk of 4 GiB, with the limits of an emulated one.
    #[must_use]
    pub const fn new(model: DiskModel) -> Self {
        Self {
            model,
            scale: TimeScale::REAL,
            image: None,
            keeps: false,
            bytes: 4 << 30,
            request_kib: 1024,
            depth: 128,
        }
    }
}

/// Where a guest's console is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Console {
    /// Ours: what the command prints is seen, and it can ask.
    Ours,
    /// Kept, for [`GuestRun::said`].
    Kept,
}

/// One guest that can be booted.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Its kernel.
    pub kernel: Kernel,
    /// Our own program and the arguments that make it call [`init::main`](crate::init::main).
    pub init: Vec<OsString>,
    /// Its memory.
    pub memory_bytes: u64,
    /// Its disk.
    pub disk: GuestDisk,
    /// What it does.
    pub task: Task,
    /// Where its console is.
    pub console: Console,
    /// It is ended after so long on the host's clock.
    pub wall_limit: Duration,
    /// Of a task with several steps: the limit is one for each.
    pub steps: Option<Steps>,
}

/// The steps of a task, which a file in the shared folder tells.
#[derive(Clone, Debug)]
pub struct Steps {
    /// Its name there. It is written anew when a step begins.
    pub file: &'static str,
    /// From then on a step may take so long on the host's clock; before the first the guest's own limit counts.
    pub wall_limit: Duration,
}

/// A guest that has ended in order.
#[derive(Clone, Debug)]
pub struct GuestRun {
    /// How its command ended.
    pub measured: CommandTime,
    /// The requests that reached its disk from the command's start on: what still was on its way
    /// at its end is in it.
    pub requests: Vec<LoggedRequest>,
    /// All that reached its disk from the boot on, in order of completion.
    pub log: Vec<LoggedRequest>,
    /// What was printed, if it was kept.
    pub said: String,
    /// How long it took on the host's clock.
    pub wall: Duration,
}

/// A guest that did not end in order.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuestError {
    /// The disk model cannot be written down.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The folder, or the kernel does not start.
    #[error("cannot start the guest: {0}")]
    Start(io::Error),
    /// It took too long.
    #[error("the guest was ended: it took longer than {} s (`--wall-limit` allows more){last}", limit.as_secs())]
    Hung {
        /// How long it was given.
        limit: Duration,
        /// What it said last, with a line break in front.
        last: String,
    },
    /// We were asked to stop.
    #[error("stopped; the guest is gone")]
    Stopped,
    /// It ended without an answer.
    #[error("the guest ended with {status} and no answer{last}")]
    Lost {
        /// How.
        status: ExitStatus,
        /// What it said last, with a line break in front.
        last: String,
    },
    /// Its first process could not do what it was told.
    #[error("in the guest: {0}")]
    Task(String),
    /// There, the command does not start.
    #[error("in the guest: {reason}")]
    NotStarted {
        /// What the system said.
        reason: String,
        /// There is no such program.
        is_missing: bool,
    },
    /// The log of its disk.
    #[error("cannot read the log of the guest's disk: {0}")]
    Log(io::Error),
}

impl Guest {
    /// Boots it and waits until it has powered off. `shared` is an empty folder of its own; `stop`
    /// ends it early.
    ///
    /// # Errors
    /// It did not start, hung, or could not do its task. A command that fails is no error.
    pub fn run(&self, shared: &Path, stop: &AtomicBool) -> Result<GuestRun, GuestError> {
        let start = Instant::now();
        let task = Task {
            keeps_output: self.console == Console::Kept,
            ..self.task.clone()
        };
        task::write(&shared.join(TASK), &task).map_err(GuestError::Start)?;
        let model = shared.join("disk.toml");
        fs::write(&model, self.disk.model.to_toml()?).map_err(GuestError::Start)?;
        let flags = StandardFlags::now();
        let mut child = self
            .command(shared, &model)
            .and_then(|mut command| spawn_with_fixed_layout(&mut command))
            .map_err(GuestError::Start)?;
        // The guest is a group of its own: in the background it could neither read nor draw.
        let lent = self.lend_terminal(&child);
        let status = self.wait(&mut child, shared, start, stop);
        drop(lent);
        flags.put_back();
        let status = status?;
        let said = self.said(shared);
        let answer =
            task::read::<GuestAnswer>(&shared.join(ANSWER)).map_err(|_| GuestError::Lost {
                status,
                last: last_line(&said),
            })?;
        let measured = match answer {
            GuestAnswer::Measured(measured) => measured,
            GuestAnswer::Failed(reason) => return Err(GuestError::Task(reason)),
            GuestAnswer::NotStarted { reason, is_missing } => {
                return Err(GuestError::NotStarted { reason, is_missing });
            }
        };
        let log = requests::read(&shared.join(LOG)).map_err(GuestError::Log)?;
        let during = measured.began_ns..measured.ended_ns;
        let requests = log.iter().copied();
        let requests = requests.filter(|request| during.contains(&request.arrived_ns));
        Ok(GuestRun {
            requests: requests.collect(),
            log,
            measured,
            said,
            wall: start.elapsed(),
        })
    }

    fn command(&self, shared: &Path, model: &Path) -> io::Result<Command> {
        let mut command = Command::new(&self.kernel.program);
        let disk = &self.disk;
        let (faster, slower) = disk.scale.sides();
        let memory_mib = self.memory_bytes >> 20;
        command
            .arg(format!("mem={memory_mib}M"))
            .args(["time-travel=inf-cpu", "time-travel-start=0"])
            .args(["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"])
            .args([
                "quiet",
                "loglevel=0",
                "panic=-1",
                // Linux 6.1 would gather randomness from a clock that does not move, for ever.
                "random.trust_cpu=on",
                // Or a program has a page table more in one run than in another, and what memory holds differs by one page.
                "norandmaps",
                "con=null",
                "con0=fd:0,fd:1",
                "ssl=null",
            ])
            .arg(with("uml_dir=", shared))
            .arg(with("ahead_disk.model=", model))
            .arg(with("ahead_disk.log=", &shared.join(LOG)))
            .arg(format!("ahead_disk.bytes={}", disk.bytes))
            .arg(format!("ahead_disk.keeps={}", u8::from(disk.keeps)))
            .arg(format!("ahead_disk.depth={}", disk.depth))
            .arg(format!("ahead_disk.request_kib={}", disk.request_kib))
            .arg(format!("ahead_disk.faster={faster}"))
            .arg(format!("ahead_disk.slower={slower}"));
        if let Some(image) = &disk.image {
            command.arg(with("ahead_disk.image=", image));
        }
        let mut init = self.init.iter();
        command.arg(with(
            "init=",
            Path::new(init.next().map_or_else(|| "".as_ref(), OsString::as_os_str)),
        ));
        command.arg("--").args(init).arg(shared);
        command.process_group(0);
        match self.console {
            Console::Ours => {}
            Console::Kept => {
                let file = File::create(shared.join(CONSOLE))?;
                command.stdin(Stdio::null());
                command.stdout(file.try_clone()?).stderr(file);
            }
        }
        Ok(command)
    }

    fn lend_terminal(&self, child: &Child) -> Option<Lent> {
        let group = i32::try_from(child.id()).ok()?;
        (self.console == Console::Ours).then(|| terminal::lend(group))?
    }

    fn wait(
        &self,
        child: &mut Child,
        shared: &Path,
        start: Instant,
        stop: &AtomicBool,
    ) -> Result<ExitStatus, GuestError> {
        let (mut began, mut limit) = (start, self.wall_limit);
        let mut step = None;
        loop {
            if let Some(status) = child.try_wait().map_err(GuestError::Start)? {
                return Ok(status);
            }
            if let Some(steps) = &self.steps {
                let now = last_written(&shared.join(steps.file));
                if now != step {
                    (step, began, limit) = (now, Instant::now(), steps.wall_limit);
                }
            }
            let hangs = began.elapsed() > limit;
            if hangs || stop.load(Ordering::Relaxed) {
                end_group(child);
                return Err(if hangs {
                    GuestError::Hung {
                        limit,
                        last: last_line(&self.said(shared)),
                    }
                } else {
                    GuestError::Stopped
                });
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn said(&self, shared: &Path) -> String {
        match self.console {
            Console::Ours => String::new(),
            Console::Kept => {
                let of = |name| fs::read(shared.join(name)).unwrap_or_default();
                let bytes = [of(CONSOLE), of(OUTPUT)].concat();
                String::from_utf8_lossy(&bytes).into_owned()
            }
        }
    }
}

/// How input and output are read and written. The guest's console makes them non-blocking, and it shares
/// them with us and with who called us.
struct StandardFlags([Option<OFlags>; 2]);

impl StandardFlags {
    fn now() -> Self {
        let (input, output) = (io::stdin(), io::stdout());
        Self([fcntl_getfl(&input).ok(), fcntl_getfl(&output).ok()])
    }

    fn put_back(self) {
        let Self([input, output]) = self;
        // Closed meanwhile, perhaps; then nobody misses it.
        let _ = input.map(|flags| fcntl_setfl(io::stdin(), flags));
        let _ = output.map(|flags| fcntl_setfl(io::stdout(), flags));
    }
}

/// When a file was written; `None` while there is none, and while it is empty.
fn last_written(path: &Path) -> Option<SystemTime> {
    let facts = fs::metadata(path).ok().filter(|facts| facts.len() > 0)?;
    facts.modified().ok()
}

/// Ends the guest with all its processes, which are processes of the host.
fn end_group(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // Nothing is left to end when this fails.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

fn with(name: &str, path: &Path) -> OsString {
    let mut word = OsString::from(name);
    word.push(path);
    word
}

fn last_line(said: &str) -> String {
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    last.map(|line| format!("\n  it said: {line}"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_last_that_says_something() {
        assert_eq!(last_line("one\ntwo\n\n  \n"), "\n  it said: two");
        assert_eq!(last_line(""), "");
    }
}
