//! What is known about each disk on this machine: one folder per disk, with a small JSON file.
//!
//! The file is the journal of the disk (`record`); undoing what it says is in `layers`. One lock
//! serialises creating, destroying and listing; it goes with the process that holds it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ahead_device::undo::{UndoLock, UndoLockError};

use crate::info::{STATE_ROOT, StateError};
use crate::record::{Record, journal_in};

/// The locked state folder.
#[derive(Debug)]
pub(crate) struct State {
    _lock: UndoLock,
}

impl State {
    /// Waits until no other process creates, destroys or lists.
    pub(crate) fn lock() -> Result<Self, StateError> {
        require_root()?;
        match UndoLock::take(Path::new(STATE_ROOT)) {
            Ok(lock) => Ok(Self { _lock: lock }),
            Err(UndoLockError::NotOurs { path }) => Err(StateError::NotOurs { path }),
            Err(UndoLockError::Io { path, source }) => Err(StateError::Io { path, source }),
        }
    }

    /// All journals that can be read, by name.
    pub(crate) fn records(&self) -> Vec<Record> {
        let mut records: Vec<Record> = self
            .folders()
            .iter()
            .filter_map(|folder| Record::read(folder).ok())
            .collect();
        records.sort_by(|a, b| a.name.cmp(&b.name));
        records
    }

    /// The folders of all disks, also of those whose journal cannot be read.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(STATE_ROOT) else {
            return Vec::new();
        };
        let entries = entries.flatten().filter(|entry| {
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            is_dir && entry.file_name().to_str().is_some_and(is_name)
        });
        entries.map(|entry| entry.path()).collect()
    }

    /// The journal of disk `name`.
    pub(crate) fn record(&self, name: &str) -> Result<Record, StateError> {
        read_record(name)
    }
}

/// The journal of disk `name`, without the lock: for looking, not for changing.
pub(crate) fn read_record(name: &str) -> Result<Record, StateError> {
    require_root()?;
    check_name(name)?;
    let folder = Path::new(STATE_ROOT).join(name);
    match Record::read(&folder) {
        Ok(record) => Ok(record),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(StateError::NoSuchDisk(name.to_owned()))
        }
        Err(source) => Err(StateError::Io {
            path: journal_in(&folder).path().to_owned(),
            source,
        }),
    }
}

/// Only root can do any of this.
pub(crate) fn require_root() -> Result<(), StateError> {
    if rustix::process::geteuid().is_root() {
        Ok(())
    } else {
        Err(StateError::NotRoot)
    }
}

/// Refuses what is not a name; a name becomes part of paths.
pub(crate) fn check_name(name: &str) -> Result<(), StateError> {
    if is_name(name) {
        Ok(())
    } else {
        Err(StateError::Name(name.to_owned()))
    }
}

fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=64).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_the_state_folder() {
        for good in ["hdd", "a", "x.y-z_1", &"a".repeat(64)] {
            assert!(is_name(good), "{good:?}");
        }
        for bad in [
            "",
            ".",
            "..",
            ".lock",
            "a/b",
            "a b",
            "a\n",
            "ä",
            &"a".repeat(65),
        ] {
            assert!(!is_name(bad), "{bad:?}");
        }
    }
}
