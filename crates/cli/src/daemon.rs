//! `ahead daemon`: starts it, says what it can do here, runs it until a signal, and puts back what it changed.

pub mod config;
mod log;
mod manager;
mod privileges;

use std::fs::DirBuilder;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use ahead_daemon::control::{ControlSocket, SOCKET};
use ahead_daemon::daemon::{Daemon, DaemonError, Service};
use ahead_daemon::metrics;
use ahead_daemon::narrowed::{self, PutBackFiles};
use ahead_device::machine::MachineTree;
use ahead_device::window_journal::{self, WindowJournalError};
use ahead_sys::real_time;

use crate::arguments::{self, DaemonLog, DaemonMode};
use crate::exit::Exit;
use crate::run::config::ConfigError;
use crate::signals;
use config::DaemonConfig;
use log::Log;
use manager::Manager;

/// Where known reads are made at the start: a folder on a disk.
const STATE: &str = "/var/lib/ahead";

/// Longest that a signal waits to be noticed.
const STEP: Duration = Duration::from_millis(100);

/// Questions that are answered between two looks at what the kernel tells.
const ANSWERS_MAX: usize = 4;

/// Added to its niceness: before ordinary programs, behind what is in real time.
const PRIORITY: i32 = -10;

/// Why the daemon ended.
#[derive(Debug, thiserror::Error)]
pub enum DaemonCommandError {
    /// It could not start, or go on.
    #[error(transparent)]
    Daemon(#[from] DaemonError),
    /// The settings make no sense.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The windows that were left cannot be put back.
    #[error(transparent)]
    Windows(#[from] WindowJournalError),
    /// Not all of them were put back.
    #[error(
        "cannot reach {left} open files whose windows are to be put back; they are noted still: run this again, as root"
    )]
    Left {
        /// How many.
        left: usize,
    },
    /// Its folder cannot be made.
    #[error("cannot make {}: {source}; this needs root", path.display())]
    State {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Nothing can be asked of it.
    #[error("cannot make {SOCKET}: {source}; this needs root")]
    Socket {
        /// Why.
        source: io::Error,
    },
    /// It cannot do without what it does not need.
    #[error("cannot give up what it may do and does not need: {0}")]
    Privileges(io::Error),
    /// Prometheus cannot be answered.
    #[error("cannot answer Prometheus at {address}: {source}; name another port with --metrics")]
    Metrics {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// Signals cannot be handled.
    #[error("cannot handle signals: {0}")]
    Signals(io::Error),
}

impl DaemonCommandError {
    /// How the program ends after this error.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        match self {
            Self::Config(_) => Exit::Usage,
            _ => Exit::Failed,
        }
    }
}

/// How far it goes: what was typed wins.
fn service(typed: Option<DaemonMode>, config: &DaemonConfig) -> Service {
    match typed.or(config.mode) {
        Some(DaemonMode::Observe) => Service::Observe,
        Some(DaemonMode::Advise) => Service::Advise,
        Some(DaemonMode::Full) | None => Service::Full,
    }
}

fn log(arguments: &arguments::DaemonOptions, config: &DaemonConfig) -> Log {
    Log::new(arguments.log.or(config.log) == Some(DaemonLog::Changes))
}

/// Runs the daemon, or only puts back what one has left.
///
/// # Errors
/// [`DaemonCommandError`].
pub fn daemon(arguments: &arguments::DaemonOptions) -> Result<(), DaemonCommandError> {
    let machine = MachineTree::at(Path::new("/"));
    if arguments.undo {
        let files = put_back(&machine)?;
        say_put_back(files);
        return match files.left {
            0 => Ok(()),
            left => Err(DaemonCommandError::Left { left }),
        };
    }
    // What a killed one has left does not wait until its settings are right again.
    let config = config::read(arguments.config.as_deref()).inspect_err(|_| {
        let files = put_back(&machine).unwrap_or_default();
        if files != PutBackFiles::default() {
            say_put_back(files);
        }
    })?;
    let mut log = log(arguments, &config);
    put_back_windows(&machine, log)?;
    let stop = signals::stop_flag().map_err(DaemonCommandError::Signals)?;
    let again = signals::hangup_flag().map_err(DaemonCommandError::Signals)?;
    let mut daemon = start(arguments, &config, &machine)?;
    let socket = ControlSocket::open(Path::new(SOCKET), Path::new("/etc"))
        .map_err(|source| DaemonCommandError::Socket { source })?;
    let does = doing(service(arguments.mode, &config));
    log.say(does);
    say_what_is_lost(&daemon, log);
    if let Some(address) = arguments.metrics.or(config.metrics) {
        let here = metrics::serve(address, socket.questions())
            .map_err(|source| DaemonCommandError::Metrics { address, source })?;
        log.say(&format!("metrics: http://{here}/metrics"));
    }
    let mut manager = Manager::new();
    manager.ready(does);
    while !stop.load(Ordering::Relaxed) {
        daemon.step(STEP)?;
        for change in daemon.owner_news() {
            log.say(&change.to_string());
        }
        log.changes(&mut daemon);
        // Facts wait meanwhile, so who asks without end is answered in turn with them.
        for asked in (0..ANSWERS_MAX).map_while(|_| socket.next()) {
            asked.answer(daemon.status(asked.asker, &asked.question));
        }
        if again.swap(false, Ordering::Relaxed) {
            manager.reloading();
            reload(arguments, &mut daemon, &mut log, &manager);
        }
        manager.on_round();
    }
    manager.stopping();
    let counts = daemon.counts();
    let left = daemon.end();
    log.say(&format!(
        "ended: {} facts, {} misses, {} decisions in {} calls, {} facts lost",
        counts.facts, counts.misses, counts.decisions, counts.calls, counts.overruns
    ));
    if left > 0 {
        log.say(&format!(
            "not put back, and noted still: the windows of {left} open files; `ahead daemon --undo` tries again"
        ));
    }
    Ok(())
}

/// One line where no programs can be had, otherwise one for each thing that this kernel does not tell.
fn say_what_is_lost(daemon: &Daemon, log: Log) {
    let lost = daemon.lost();
    if let Some(why) = daemon.without_programs() {
        let lost = lost.join(", ");
        log.say(&format!(
            "{why}. Without that, reads are followed by the positions of descriptors, by system calls only; not seen \
             are: {lost}"
        ));
        return;
    }
    for lost in lost {
        log.say(&format!("this kernel does not tell: {lost}"));
    }
}

/// Puts back what a daemon that is gone has left. Where one kind cannot be put back, the other is all the same.
fn put_back(machine: &MachineTree) -> Result<PutBackFiles, DaemonCommandError> {
    let windows = put_back_windows(machine, Log::new(false));
    let files = narrowed::put_back_left(machine).map_err(DaemonError::Journal);
    windows?;
    Ok(files?)
}

fn say_put_back(PutBackFiles { put_back, left }: PutBackFiles) {
    let log = Log::new(false);
    log.say(&format!("put back: the windows of {put_back} open files"));
    if left > 0 {
        log.say(&format!(
            "not put back, and noted still: the windows of {left} open files"
        ));
    }
}

fn put_back_windows(machine: &MachineTree, log: Log) -> Result<(), DaemonCommandError> {
    for window in window_journal::put_back_left(machine)? {
        log.say(&format!(
            "put back: the window of {} is {} KiB",
            window.bdi, window.kib
        ));
    }
    Ok(())
}

/// Starts it, and gives up what it does not need from then on.
fn start(
    arguments: &arguments::DaemonOptions,
    config: &DaemonConfig,
    machine: &MachineTree,
) -> Result<Daemon, DaemonCommandError> {
    let state = state_folder().map_err(|source| DaemonCommandError::State {
        path: STATE.into(),
        source,
    })?;
    let service = service(arguments.mode, config);
    let scope = config.scope.clone();
    let daemon = Daemon::start(&config.settings, service, scope, machine, state)?;
    // Readers wait for it where the machine is busy. Without the right to it, as busy as others.
    let _ = rustix::process::nice(PRIORITY);
    // Most of what is told comes from a reader that is about to wait, and leaves the processor to us by itself. Taking it
    // before, or when the reader goes on, costs a reader of pages from flash an eighth of its time.
    let _ = real_time::set_batch();
    privileges::keep_needed().map_err(|errno| DaemonCommandError::Privileges(errno.into()))?;
    Ok(daemon)
}

/// The folder on a disk in which known reads are made.
///
/// # Errors
/// It cannot be made.
pub(crate) fn state_folder() -> io::Result<&'static Path> {
    let mut make = DirBuilder::new();
    make.recursive(true).mode(0o755).create(STATE)?;
    Ok(Path::new(STATE))
}

const fn doing(service: Service) -> &'static str {
    match service {
        Service::Observe => "watching; nothing is asked for",
        Service::Advise => "reading ahead; no window is changed",
        Service::Full => "reading ahead",
    }
}

/// Reads the settings again. Those that make no sense change nothing; where Prometheus is answered stays.
fn reload(
    arguments: &arguments::DaemonOptions,
    daemon: &mut Daemon,
    log: &mut Log,
    manager: &Manager,
) {
    match config::read(arguments.config.as_deref()) {
        Ok(config) => {
            let service = service(arguments.mode, &config);
            daemon.set_service(service);
            daemon.set_settings(&config.settings);
            *log = self::log(arguments, &config);
            daemon.set_scope(config.scope);
            log.say("the settings were read again");
            manager.ready(doing(service));
        }
        Err(error) => {
            log.say(&format!("the settings stay as they were: {error}"));
            manager.ready("the settings stay as they were");
        }
    }
}
