//! What a guest is told, and what it answers: two JSON files in a folder that it shares with the host.

use std::ffi::{CStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The name of the task in the shared folder.
pub(crate) const TASK: &str = "task.json";
/// The name of the answer there.
pub(crate) const ANSWER: &str = "answer.json";
/// The name of the file there with what the command printed.
pub(crate) const OUTPUT: &str = "output";

/// A file system that the guest's kernel has and whose `mkfs` the machine may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileSystem {
    /// ext4.
    #[default]
    Ext4,
    /// XFS.
    Xfs,
    /// btrfs. Its window is not the disk's.
    Btrfs,
    /// ext4, served by the guest's own kernel and mounted over the loopback.
    Nfs,
}

impl FileSystem {
    /// The one on the disk, as `mount -t` calls it.
    #[must_use]
    pub const fn on_disk(self) -> &'static str {
        match self {
            Self::Ext4 | Self::Nfs => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
        }
    }

    /// As `mount -o` takes them. What ext4 does in the background after a mount begins at a random
    /// time of the first five seconds: two reads of block bitmaps fell into four measurements
    /// of five.
    pub(crate) const fn mount_options(self) -> Option<&'static CStr> {
        match self {
            Self::Ext4 | Self::Nfs => Some(c"noinit_itable,no_prefetch_block_bitmaps"),
            Self::Xfs | Self::Btrfs => None,
        }
    }
}

/// What a guest does between its boot and its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The file system of the disk.
    pub file_system: FileSystem,
    /// The disk is blank: make the file system first.
    pub is_blank: bool,
    /// The disk is mounted read-only: no journal and no background work of the file system takes
    /// its time.
    pub is_read_only: bool,
    /// Files and folders of the host that are copied to the top folder of the disk before the
    /// clock starts.
    pub copies: Vec<PathBuf>,
    /// Commands, each with its arguments, that are run on the disk before the clock starts.
    pub preparations: Vec<Vec<OsString>>,
    /// The disk's read-ahead, in KiB; `None` is the kernel's default.
    pub read_ahead_kib: Option<u64>,
    /// The kernel's adaptive read-ahead is switched on; it has to have it.
    pub adaptive: bool,
    /// The program and its arguments. Its working folder is the top folder of the disk.
    pub command: Vec<OsString>,
    /// Variables of its environment, beside those of the host.
    pub environment: Vec<(OsString, OsString)>,
    /// What the command prints goes to a file of the shared folder, not to the console.
    pub keeps_output: bool,
    /// What the preparations and the command wrote to the disk is written out before the end.
    pub syncs: bool,
}

impl Task {
    /// `command` on a blank disk, nothing else.
    #[must_use]
    pub fn new(command: Vec<OsString>) -> Self {
        Self {
            file_system: FileSystem::Ext4,
            is_blank: true,
            is_read_only: false,
            copies: Vec::new(),
            preparations: Vec::new(),
            read_ahead_kib: None,
            adaptive: false,
            command,
            environment: Vec::new(),
            keeps_output: false,
            syncs: false,
        }
    }
}

/// How the command ended, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandTime {
    /// Its exit code; 128 and the number of the signal that ended it.
    pub exit_code: i32,
    /// `CLOCK_MONOTONIC` of the guest, in nanoseconds, when it started.
    pub began_ns: u64,
    /// When it had ended.
    pub ended_ns: u64,
    /// `uname -r` of the guest.
    pub kernel: String,
}

impl CommandTime {
    /// How long the command took, in virtual nanoseconds.
    #[must_use]
    pub const fn elapsed_ns(&self) -> u64 {
        self.ended_ns.saturating_sub(self.began_ns)
    }
}

/// What came of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GuestAnswer {
    /// The command was run.
    Measured(CommandTime),
    /// It was not; the reason in one line.
    Failed(String),
    /// Everything else was done, but the command does not start.
    NotStarted {
        /// The reason in one line.
        reason: String,
        /// There is no such program.
        is_missing: bool,
    },
}

pub(crate) fn write<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    fs::write(path, serde_json::to_vec(value)?)
}

pub(crate) fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> io::Result<T> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}
