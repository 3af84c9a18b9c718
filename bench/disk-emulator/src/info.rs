//! A disk as others need to know it, where its state is kept, and why that can fail.

use std::io;
use std::path::PathBuf;

use ahead_disk_model::{DiskModel, TimeScale};
use serde::{Deserialize, Serialize};

/// Where the folders are. On a file system that a reboot empties, as everything a disk is made of.
pub(crate) const STATE_ROOT: &str = "/run/ahead/disk";

/// A disk, as others need to know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskInfo {
    /// Its name.
    pub name: String,
    /// Where its file system is mounted.
    pub mount_dir: PathBuf,
    /// Its block device, such as `/dev/loop0`.
    pub device: PathBuf,
    /// Major number of the block device.
    pub major: u32,
    /// Minor number of the block device.
    pub minor: u32,
    /// Process that serves it.
    pub server_pid: i32,
    /// Size of the block device; the file system on it holds a little less.
    pub size_bytes: u64,
    /// How it takes its time.
    pub model: DiskModel,
    /// How much faster than real.
    pub time_scale: TimeScale,
}

/// The state folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// Disks belong to root.
    #[error("emulated disks need root: they mount file systems (try sudo)")]
    NotRoot,
    /// A name that cannot be that of a disk.
    #[error(
        "{0:?} is not a name for a disk: use 1 to 64 letters, digits, dots, dashes and underscores, \
         not starting with a dot"
    )]
    Name(String),
    /// No disk has this name.
    #[error("there is no disk called {0:?}; `list` shows those that there are")]
    NoSuchDisk(String),
    /// Others could have put things there.
    #[error("{} is not a folder of root alone: remove it", path.display())]
    NotOurs {
        /// What was found.
        path: PathBuf,
    },
    /// Reading or writing failed.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
}
