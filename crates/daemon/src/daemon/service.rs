//! How far the daemon goes, why it cannot, and what it counts.

use std::io;

use ahead_observer::observer::WORKS;

use crate::narrowed::NarrowError;
use crate::observing::ObservingError;

/// How far the daemon goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Service {
    /// Watches and explains; nothing is asked for.
    Observe,
    /// Asks for pages; nothing of a process or a device is changed.
    Advise,
    /// Also takes the window from open files whose mapping is read at random.
    #[default]
    Full,
}

impl Service {
    /// As it is called in settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Advise => "advise",
            Self::Full => "full",
        }
    }
}

/// Why the daemon cannot start, or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DaemonError {
    /// Nothing can be observed, or not any more.
    #[error(transparent)]
    Observing(#[from] ObservingError),
    /// Files that other processes have open cannot be reached, so nothing could be done for them.
    #[error(
        "cannot reach the files that other processes have open: {source}; that needs CAP_SYS_PTRACE, and kernel.yama.ptrace_scope below 3 \
         (`sysctl kernel.yama.ptrace_scope`); with --mode observe they are only watched; {WORKS}"
    )]
    Reach {
        /// Why.
        source: io::Error,
    },
    /// What is changed cannot be written down.
    #[error(transparent)]
    Journal(#[from] NarrowError),
}

/// What the daemon has seen and done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DaemonCounts {
    /// Facts told.
    pub facts: u64,
    /// Of those, misses of files that were not watched.
    pub misses: u64,
    /// Decisions carried out.
    pub decisions: u64,
    /// Calls that this took.
    pub calls: u64,
    /// Facts that were lost, as they came faster than they were taken in.
    pub overruns: u64,
}
