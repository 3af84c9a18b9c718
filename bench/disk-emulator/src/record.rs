//! The journal of one disk: what was done, or was about to be done, to make it.
//!
//! Each step is written down *before* it is taken, so that whoever comes after a killed process knows
//! what to look for. The journal says where to look; what is there, only the kernel knows (`layers`).

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ahead_device::undo::{NotedProcess, NotedSetting, UndoFile};
use ahead_disk_model::{DiskModel, TimeScale};
use serde::{Deserialize, Serialize};

use crate::info::{DiskInfo, STATE_ROOT, StateError};

/// The file of the server that holds the bytes of a disk, in its FUSE folder.
pub(crate) const IMAGE_NAME: &str = "image";

/// The file of the server that holds the figures of a disk, beside it.
pub(crate) const STATS_NAME: &str = "stats";

/// The journal in the folder of a disk.
pub(crate) fn journal_in(folder: &Path) -> UndoFile {
    UndoFile::new(folder, "disk")
}

/// Where the server of a disk writes what goes wrong.
pub(crate) fn log_in(folder: &Path) -> PathBuf {
    folder.join("server.log")
}

/// How far the making of a disk has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Phase {
    /// Some process is making it, or died while doing so.
    Creating,
    /// It can be used.
    Ready,
}

/// The block device of a disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoopDevice {
    pub(crate) number: u32,
    /// The kernel made the device for us, so it goes with the disk.
    pub(crate) is_new: bool,
    pub(crate) settings_before: Vec<NotedSetting>,
}

/// The journal of one disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) phase: Phase,
    pub(crate) model: DiskModel,
    pub(crate) time_scale: TimeScale,
    pub(crate) size_bytes: u64,
    pub(crate) mount_dir: PathBuf,
    /// Folders that were made for the mount point, outermost first.
    pub(crate) made_dirs: Vec<PathBuf>,
    pub(crate) server: Option<NotedProcess>,
    pub(crate) loop_device: Option<LoopDevice>,
}

impl Record {
    /// The state folder of this disk.
    pub(crate) fn folder(&self) -> PathBuf {
        Path::new(STATE_ROOT).join(&self.name)
    }

    /// Where its FUSE file system is mounted.
    pub(crate) fn fuse_dir(&self) -> PathBuf {
        self.folder().join("fuse")
    }

    /// The file with its bytes.
    pub(crate) fn image(&self) -> PathBuf {
        self.fuse_dir().join(IMAGE_NAME)
    }

    /// The file with its figures.
    pub(crate) fn stats_file(&self) -> PathBuf {
        self.fuse_dir().join(STATS_NAME)
    }

    /// Reads the journal in `folder`.
    pub(crate) fn read(folder: &Path) -> io::Result<Self> {
        journal_in(folder).read()
    }

    /// Writes the journal; a reader sees the old or the new one, nothing in between.
    pub(crate) fn write(&self) -> Result<(), StateError> {
        let journal = journal_in(&self.folder());
        journal.write(self).map_err(|source| StateError::Io {
            path: journal.path().to_owned(),
            source,
        })
    }

    /// Whether the process that serves it is alive.
    pub(crate) fn is_served(&self) -> bool {
        self.server.is_some_and(NotedProcess::is_running)
    }

    /// What others need to know; `None` while it cannot be used.
    pub(crate) fn info(&self) -> Option<DiskInfo> {
        let number = self.loop_device.as_ref()?.number;
        let device = ahead_sys::loop_device::node(number);
        let rdev = fs::metadata(&device).ok()?.rdev();
        Some(DiskInfo {
            name: self.name.clone(),
            mount_dir: self.mount_dir.clone(),
            device,
            major: rustix::fs::major(rdev),
            minor: rustix::fs::minor(rdev),
            server_pid: self.server?.pid,
            size_bytes: self.size_bytes,
            model: self.model.clone(),
            time_scale: self.time_scale,
        })
    }
}
