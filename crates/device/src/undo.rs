//! The undo journal: what a process changes on the machine, written down before it is changed.
//!
//! Everything that must be put back after a crash goes through here, that of a window, of an emulated disk and
//! of a bench: who changed it, which settings were what, a small file that is the old or the new one and nothing
//! in between, and the lock of the folder that it lies in. What the notes are about, and when they are taken
//! back, is their owners' business.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ahead_sys::block_queue::QueueSetting;
use ahead_sys::process_identity::ProcessIdentity;
use rustix::fs::{FlockOperation, OFlags};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::whole_file;

const PROC: &str = "/proc";

/// Longest journal that is read. What is longer was not written by us.
const JOURNAL_BYTES_MAX: u64 = 1 << 20;

/// Rights of a journal. Who may not change a setting may still read what it was.
const JOURNAL_MODE: u32 = 0o644;

/// A process, as written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotedProcess {
    /// Its number.
    pub pid: i32,
    /// When it started, in clock ticks: numbers are used again, and never with the same time.
    pub start_ticks: u64,
}

impl NotedProcess {
    /// The process that has this number now. `NotFound` when there is none.
    pub fn of(pid: u32) -> io::Result<Self> {
        let pid = i32::try_from(pid).map_err(|_| io::ErrorKind::NotFound)?;
        let ProcessIdentity { pid, start_ticks } = ProcessIdentity::of(Path::new(PROC), pid)?;
        Ok(Self { pid, start_ticks })
    }

    /// The process that has started it, or took its place. `NotFound` when it has ended.
    pub fn parent(self) -> io::Result<Self> {
        let (found, parent) = ProcessIdentity::with_parent(Path::new(PROC), self.pid)?;
        if found != self.identity() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let parent = u32::try_from(parent).map_err(|_| io::ErrorKind::NotFound)?;
        Self::of(parent)
    }

    /// As the system knows it.
    #[must_use]
    pub const fn identity(self) -> ProcessIdentity {
        ProcessIdentity {
            pid: self.pid,
            start_ticks: self.start_ticks,
        }
    }

    /// Whether this very process still runs.
    #[must_use]
    pub fn is_running(self) -> bool {
        self.identity().is_running(Path::new(PROC))
    }
}

/// A setting as it was before a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotedSetting {
    /// The file that holds it.
    pub file: PathBuf,
    /// What was in it.
    pub value: String,
}

impl From<QueueSetting> for NotedSetting {
    fn from(setting: QueueSetting) -> Self {
        let QueueSetting { file, value } = setting;
        Self { file, value }
    }
}

impl NotedSetting {
    /// Writes the value back, if it is another one now.
    pub fn put_back(&self) -> io::Result<()> {
        if fs::read_to_string(&self.file)?.trim() == self.value {
            return Ok(());
        }
        fs::write(&self.file, &self.value)
    }
}

/// One journal: a small file in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoFile {
    path: PathBuf,
    /// The next version of it while it is being written.
    aside: PathBuf,
}

impl UndoFile {
    /// The journal called `name` in `folder`.
    #[must_use]
    pub fn new(folder: &Path, name: &str) -> Self {
        Self {
            path: folder.join(format!("{name}.json")),
            aside: folder.join(format!("{name}.new")),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is noted. `NotFound` when nothing was.
    pub fn read<T: DeserializeOwned>(&self) -> io::Result<T> {
        let mut text = Vec::new();
        let file = File::open(&self.path)?;
        file.take(JOURNAL_BYTES_MAX).read_to_end(&mut text)?;
        serde_json::from_slice(&text).map_err(io::Error::from)
    }

    /// Notes `what` in place of what was noted. Written aside and renamed: a crash in between
    /// leaves the old note.
    pub fn write(&self, what: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(what)?;
        whole_file::replace(&self.path, &self.aside, &text, JOURNAL_MODE)
    }

    /// Removes it, the half-written version first: without its journal nothing else is looked for.
    pub fn remove(&self) {
        let _ = fs::remove_file(&self.aside);
        let _ = fs::remove_file(&self.path);
    }
}

/// Why the folder of journals cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UndoLockError {
    /// Others than us could write into it.
    #[error("{} is not a folder that only we can write to", path.display())]
    NotOurs {
        /// The folder.
        path: PathBuf,
    },
    /// It cannot be made or locked.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// The folder or its lock.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The only one who reads and writes the journals in a folder, until it is dropped or its process ends.
#[derive(Debug)]
pub struct UndoLock {
    _lock: File,
}

impl UndoLock {
    /// Waits until no other process has the lock of `folder`, which is made if it is missing.
    ///
    /// # Errors
    /// [`UndoLockError`].
    pub fn take(folder: &Path) -> Result<Self, UndoLockError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| UndoLockError::Io { path, source }
        };
        let mut make = DirBuilder::new();
        let made = make.recursive(true).mode(0o700).create(folder);
        made.map_err(at(folder))?;
        let found = fs::symlink_metadata(folder).map_err(at(folder))?;
        let is_ours = found.uid() == rustix::process::geteuid().as_raw();
        if !found.is_dir() || !is_ours || found.mode() & 0o022 != 0 {
            let path = folder.to_owned();
            return Err(UndoLockError::NotOurs { path });
        }
        let path = folder.join(".lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)
            .map_err(at(&path))?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive)
            .map_err(|errno| at(&path)(errno.into()))?;
        Ok(Self { _lock: lock })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_replaces_the_one_before_and_is_gone_when_removed() {
        let folder = tempfile::tempdir().unwrap();
        let journal = UndoFile::new(folder.path(), "disk");
        let missing = journal.read::<u32>().unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        journal.write(&1_u32).unwrap();
        journal.write(&2_u32).unwrap();
        assert_eq!(journal.read::<u32>().unwrap(), 2);
        journal.remove();
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_not_used() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("notes");
        drop(UndoLock::take(&folder).unwrap());
        symlink(&folder, place.path().join("link")).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        for name in ["notes", "link"] {
            let refused = UndoLock::take(&place.path().join(name));
            assert!(
                matches!(refused, Err(UndoLockError::NotOurs { .. })),
                "{name}"
            );
        }
    }

    #[test]
    fn a_setting_is_put_back_and_a_device_that_is_gone_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("read_ahead_kb");
        fs::write(&file, "4096\n").unwrap();
        let before = NotedSetting {
            file: file.clone(),
            value: "128".into(),
        };
        before.put_back().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "128");
        fs::remove_file(&file).unwrap();
        assert!(before.put_back().is_err());
    }

    #[test]
    fn this_test_runs_and_an_earlier_process_of_its_number_does_not() {
        let now = NotedProcess::of(std::process::id()).unwrap();
        assert!(now.is_running());
        let start_ticks = now.start_ticks + 1;
        assert!(!NotedProcess { start_ticks, ..now }.is_running());
        assert!(NotedProcess::of(u32::MAX).is_err());
    }
}
