//! Why a window was not persisted, and what stands in the way.

use std::io;

use super::text::UnwritableName;
use crate::display::quoted;
use crate::mechanism::Mechanism;
use crate::origin::in_both_units;
use crate::persist_record::PersistRecordError;
use crate::window::WindowError;

/// Why a window was not persisted or reverted.
#[derive(Debug, thiserror::Error)]
pub enum PersistError {
    /// The window cannot be found or set.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// The record cannot be used.
    #[error(transparent)]
    Record(#[from] PersistRecordError),
    /// The mechanism has no words for the device.
    #[error(transparent)]
    Name(#[from] UnwritableName),
    /// The mechanism is not there.
    #[error("{} is not installed here: nothing would read what it is given", .0.word())]
    NotInstalled(Mechanism),
    /// The mechanism cannot do it.
    #[error("{} cannot set the window of {name}{hint}", mechanism.word())]
    CannotSet {
        /// Which.
        mechanism: Mechanism,
        /// Of what.
        name: String,
        /// What can.
        hint: &'static str,
    },
    /// None of the mechanisms can do it.
    #[error(
        "nothing that is installed here can set the window of {0} at boot (looked for nfs, udev, hotplug, systemd, tmpfiles, sysfs.d and tuned)"
    )]
    NoMechanism(String),
    /// Another file has the last word.
    #[error(
        "{file}:{line} sets {} after {}: change it there, or say --as with what comes later", in_both_units(*kib), mechanism.word()
    )]
    Overwritten {
        /// The mechanism that was to be used.
        mechanism: Mechanism,
        /// The other file.
        file: String,
        /// Its line.
        line: usize,
        /// What it sets, in KiB.
        kib: u64,
    },
    /// The mechanism would not read it, as another line for the same path comes first.
    #[error("{} would not read it: another file says the same path before it", .0.word())]
    NotRead(Mechanism),
    /// Several devices are called the same.
    #[error(
        "{name} and {others} say the same of themselves ({identity}): nothing that sets a window at boot could tell them apart; where they are two ways to one disk, name the device above them"
    )]
    Alike {
        /// The one that was meant.
        name: String,
        /// Those that are called so too.
        others: String,
        /// How they are called.
        identity: String,
    },
    /// The same window is persisted by other means.
    #[error("{target} is persisted by {} already: `ahead device revert {}` first", mechanism.word(), quoted(target))]
    Already {
        /// What was persisted.
        target: String,
        /// By what.
        mechanism: Mechanism,
    },
    /// The file is changed for another device.
    #[error(
        "{file} is persisted for {target} already: `ahead device revert {}` first",
        quoted(target)
    )]
    Shared {
        /// The file.
        file: String,
        /// The other one.
        target: String,
    },
    /// A path that is not followed.
    #[error("{path} is a symbolic link: nothing is written behind it")]
    Link {
        /// Which.
        path: String,
    },
    /// A file that is not changed.
    #[error("{path} is {why}: it is not changed")]
    Odd {
        /// Which.
        path: String,
        /// What it is.
        why: &'static str,
    },
    /// It is not what it was.
    #[error("{path} was changed by something else {since}: look at it; nothing was changed")]
    Changed {
        /// Which.
        path: String,
        /// Since when.
        since: &'static str,
    },
    /// Reading or writing failed.
    #[error("cannot write {path}: {source}")]
    Io {
        /// Which.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// There is nothing to revert or verify.
    #[error(
        "no window of {0} is persisted by `ahead device persist`; `ahead device verify` says which are"
    )]
    NothingPersisted(String),
}

impl PersistError {
    /// Whether what was typed is wrong, not what was found.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        match self {
            Self::Window(error) => error.is_usage(),
            _ => false,
        }
    }
}
