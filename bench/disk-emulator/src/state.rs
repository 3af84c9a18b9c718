//! What is known about each disk on this machine: one folder per disk, with a small JSON file.
//!
//! The file is the journal of the disk (`record`); undoing what it says is in `layers`. One lock
//! serialises creating, destroying and listing; it goes with the process that holds it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use crate::info::{STATE_ROOT, StateError};
use crate::record::{Record, journal_in};

/// The locked state folder.
#[derive(Debug)]
pub(crate) struct State {
    _lock: File,
}

impl State {
    /// Waits until no other process creates, destroys or lists.
    pub(crate) fn lock() -> Result<Self, StateError> {
        require_root()?;
        let root = Path::new(STATE_ROOT);
        let io_error = |path: &Path| {
            let path = path.to_owned();
            move |source| StateError::Io { path, source }
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(root)
            .map_err(io_error(root))?;
        let found = fs::symlink_metadata(root).map_err(io_error(root))?;
        if !found.is_dir() || found.uid() != 0 || found.mode() & 0o022 != 0 {
            return Err(StateError::NotOurs {
                path: root.to_owned(),
            });
        }
        let path = root.join(".lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)
            .map_err(io_error(&path))?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive)
            .map_err(|errno| io_error(&path)(errno.into()))?;
        Ok(Self { _lock: lock })
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
