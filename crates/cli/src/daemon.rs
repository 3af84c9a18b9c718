//! `ahead daemon`: starts it, says what it can do here, runs it until a signal, and puts back what it changed.

pub mod config;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use ahead_daemon::control::{ControlSocket, SOCKET};
use ahead_daemon::daemon::{Daemon, DaemonError, Service};
use ahead_daemon::narrowed;
use ahead_device::machine::MachineTree;
use ahead_device::window_journal::{self, WindowJournalError};

use crate::arguments::{self, DaemonMode};
use crate::exit::Exit;
use crate::run::config::ConfigError;
use crate::{output, signals};
use config::DaemonConfig;

/// Where known reads are made at the start: a folder on a disk.
const STATE: &str = "/var/lib/ahead";

/// Longest that a signal waits to be noticed.
const STEP: Duration = Duration::from_millis(100);

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

/// Runs the daemon, or only puts back what one has left.
///
/// # Errors
/// [`DaemonCommandError`].
pub fn daemon(arguments: &arguments::DaemonOptions) -> Result<(), DaemonCommandError> {
    let config = config::read(arguments.config.as_deref())?;
    let machine = MachineTree::at(Path::new("/"));
    for window in window_journal::put_back_left(&machine)? {
        say(&format!(
            "put back: the window of {} is {} KiB",
            window.bdi, window.kib
        ));
    }
    if arguments.undo {
        let left = narrowed::put_back_left(&machine).map_err(DaemonError::Journal)?;
        say(&format!("put back: the windows of {left} open files"));
        return Ok(());
    }
    let state = Path::new(STATE);
    let mut make = DirBuilder::new();
    make.recursive(true).mode(0o755);
    make.create(state)
        .map_err(|source| DaemonCommandError::State {
            path: state.to_owned(),
            source,
        })?;
    let stop = signals::stop_flag().map_err(DaemonCommandError::Signals)?;
    let again = signals::hangup_flag().map_err(DaemonCommandError::Signals)?;
    let service = service(arguments.mode, &config);
    let mut daemon = Daemon::start(&config.settings, service, config.scope, &machine, state)?;
    // Readers wait for it where the machine is busy. Without the right to it, as busy as others.
    let _ = rustix::process::nice(PRIORITY);
    say(match service {
        Service::Observe => "watching; nothing is asked for",
        Service::Advise => "reading ahead; no window is changed",
        Service::Full => "reading ahead",
    });
    for lost in daemon.lost() {
        say(&format!("this kernel does not tell: {lost}"));
    }
    let socket = ControlSocket::open(Path::new(SOCKET))
        .map_err(|source| DaemonCommandError::Socket { source })?;
    while !stop.load(Ordering::Relaxed) {
        daemon.step(STEP)?;
        for change in daemon.owner_news() {
            say(&change.to_string());
        }
        while let Some(asked) = socket.next() {
            asked.answer(daemon.status(asked.user));
        }
        if again.swap(false, Ordering::Relaxed) {
            reload(arguments, &mut daemon);
        }
    }
    let counts = daemon.counts();
    daemon.stop();
    say(&format!(
        "ended: {} facts, {} misses, {} decisions in {} calls, {} facts lost",
        counts.facts, counts.misses, counts.decisions, counts.calls, counts.overruns
    ));
    Ok(())
}

/// Reads the settings again. Those that make no sense change nothing.
fn reload(arguments: &arguments::DaemonOptions, daemon: &mut Daemon) {
    match config::read(arguments.config.as_deref()) {
        Ok(config) => {
            daemon.set_service(service(arguments.mode, &config));
            daemon.set_settings(&config.settings);
            daemon.set_scope(config.scope);
            say("the settings were read again");
        }
        Err(error) => say(&format!("the settings stay as they were: {error}")),
    }
}

/// One line for the log.
fn say(text: &str) {
    output::to_stderr(&format!("ahead daemon: {text}\n"));
}
