//! `ahead daemon`: starts it, says what it can do here, runs it until a signal, and puts back what it changed.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use ahead_daemon::daemon::{Daemon, DaemonError, Service};
use ahead_daemon::narrowed::NarrowedFiles;
use ahead_device::machine::MachineTree;
use ahead_device::window_journal::{self, WindowJournalError};
use ahead_engine::settings::Settings;

use crate::arguments::{self, DaemonMode};
use crate::{output, signals};

/// Where known reads are made at the start: a folder on a disk.
const STATE: &str = "/var/lib/ahead";

/// Longest that a signal waits to be noticed.
const STEP: Duration = Duration::from_millis(100);

/// Why the daemon ended.
#[derive(Debug, thiserror::Error)]
pub enum DaemonCommandError {
    /// It could not start, or go on.
    #[error(transparent)]
    Daemon(#[from] DaemonError),
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
    /// Signals cannot be handled.
    #[error("cannot handle signals: {0}")]
    Signals(io::Error),
}

/// Runs the daemon, or only puts back what one has left.
///
/// # Errors
/// [`DaemonCommandError`].
pub fn daemon(arguments: &arguments::Daemon) -> Result<(), DaemonCommandError> {
    let machine = MachineTree::at(Path::new("/"));
    for window in window_journal::put_back_left(&machine)? {
        say(&format!(
            "put back: the window of {} is {} KiB",
            window.bdi, window.kib
        ));
    }
    if arguments.undo {
        let (_, left) = NarrowedFiles::open(&machine).map_err(DaemonError::Journal)?;
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
    let (service, words) = match arguments.mode {
        DaemonMode::Observe => (Service::Observe, "watching; nothing is asked for"),
        DaemonMode::Advise => (Service::Advise, "reading ahead; no window is changed"),
        DaemonMode::Full => (Service::Full, "reading ahead"),
    };
    let mut daemon = Daemon::start(&Settings::default(), service, &machine, state)?;
    say(words);
    for lost in daemon.lost() {
        say(&format!("this kernel does not tell: {lost}"));
    }
    while !stop.load(Ordering::Relaxed) {
        daemon.step(STEP)?;
    }
    let counts = daemon.counts();
    daemon.stop();
    say(&format!(
        "ended: {} facts, {} misses, {} decisions in {} calls, {} facts lost",
        counts.facts, counts.misses, counts.decisions, counts.calls, counts.overruns
    ));
    Ok(())
}

/// One line for the log.
fn say(text: &str) {
    output::to_stderr(&format!("ahead daemon: {text}\n"));
}
