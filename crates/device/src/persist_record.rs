//! What was persisted, and what was there before: `/var/lib/ahead/persisted.json`.
//!
//! The record is written before the files that it is about, so that what an interrupted persist has left is known,
//! and is taken out after they are as before. It holds what was in each file.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::identity::StableIdentity;
use crate::machine::MachineTree;
use crate::mechanism::Mechanism;
use crate::undo::{UndoFile, UndoLock, UndoLockError};

/// Its folder, below the root of the machine.
const FOLDER: &str = "var/lib/ahead";

/// Its version; another one is not read.
const VERSION: u32 = 1;

/// Why the record cannot be used. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum PersistRecordError {
    /// Its folder is not ours, or cannot be made or locked.
    #[error("cannot record what is persisted: {0}; nothing was changed")]
    Lock(#[from] UndoLockError),
    /// Its folder is root's, or can be made by root alone.
    #[error(
        "cannot record what is persisted in {folder}, which belongs to root: this needs root; nothing was changed"
    )]
    NeedsRoot {
        /// The folder.
        folder: String,
    },
    /// It makes no sense.
    #[error(
        "the record of what is persisted is damaged ({file}: {why}); nothing was changed: look for files with `ahead` in their name below /etc, then remove the record"
    )]
    Damaged {
        /// The record.
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// It cannot be read or written.
    #[error("cannot use {file}: {source}; nothing was changed")]
    Io {
        /// The record.
        file: String,
        /// Why.
        source: io::Error,
    },
}

/// A file as it was before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileBefore {
    /// All of it.
    pub text: String,
    /// Its rights.
    pub mode: u32,
    /// Its owner and group.
    pub owner: (u32, u32),
}

/// What is at a path now because of a persist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersistedFile {
    /// Where, from the root of the machine.
    pub path: String,
    /// What was there; nothing where there was none.
    pub before: Option<FileBefore>,
    /// The text that was written, or where the link leads.
    pub now: PersistedText,
    /// Folders that were made for it, the outermost first.
    pub made_folders: Vec<String>,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PersistedText {
    /// A file.
    File {
        /// All of it.
        text: String,
        /// Its rights.
        mode: u32,
    },
    /// A symbolic link.
    Link(PathBuf),
}

/// One window that is persisted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Persisted {
    /// What was said on the command line; a path from the root of the machine on.
    pub target: String,
    /// What the device is called.
    pub identity: StableIdentity,
    /// What sets it at boot.
    pub mechanism: Mechanism,
    /// The window, in KiB.
    pub kib: u64,
    /// The window before, in KiB.
    pub before_kib: u64,
    /// The start of the machine in which it was persisted.
    pub boot: String,
    /// The files.
    pub files: Vec<PersistedFile>,
}

impl Persisted {
    /// Whether it is that of `text`, which stands for a device that is called `here`. The kernel gives names anew at
    /// each boot: what was said then counts only where it stands for nothing now.
    pub(crate) fn is_of(&self, text: &str, here: Option<&StableIdentity>) -> bool {
        let is_place = |path: &String| path == text;
        match (&self.identity, here) {
            (identity, Some(here)) if identity == here => true,
            // Known by its place, whatever is mounted there now.
            (StableIdentity::Mount { path, .. }, _) if is_place(path) => true,
            (_, here) => here.is_none() && self.target == text,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    persisted: Vec<Persisted>,
}

/// The record, locked for a change.
#[derive(Debug)]
pub struct PersistRecord {
    _lock: UndoLock,
    file: UndoFile,
    seen: String,
    /// What is persisted.
    pub persisted: Vec<Persisted>,
}

impl PersistRecord {
    /// Waits for the lock and reads it.
    ///
    /// # Errors
    /// [`PersistRecordError`].
    pub fn open(machine: &MachineTree) -> Result<Self, PersistRecordError> {
        let folder = machine.root().join(FOLDER);
        let lock = lock(&folder).map_err(|error| match needs_root(&folder, &error) {
            true => PersistRecordError::NeedsRoot {
                folder: machine.seen(&folder),
            },
            false => error.into(),
        })?;
        let file = UndoFile::new(&folder, "persisted");
        Ok(Self {
            _lock: lock,
            persisted: read(machine)?,
            seen: machine.seen(file.path()),
            file,
        })
    }

    /// Writes what `persisted` has become.
    ///
    /// # Errors
    /// [`PersistRecordError`].
    pub fn write(&self) -> Result<(), PersistRecordError> {
        if self.persisted.is_empty() {
            self.file.remove();
            return Ok(());
        }
        let written = Written {
            version: VERSION,
            persisted: self.persisted.clone(),
        };
        self.file
            .write(&written)
            .map_err(|source| PersistRecordError::Io {
                file: self.seen.clone(),
                source,
            })
    }
}

fn lock(folder: &Path) -> Result<UndoLock, UndoLockError> {
    // Not only for its owner: who may not change windows may still verify them.
    let mut make = DirBuilder::new();
    let made = make.recursive(true).mode(0o755).create(folder);
    made.map_err(|source| UndoLockError::Io {
        path: folder.to_owned(),
        source,
    })?;
    UndoLock::take(folder)
}

/// Whether root could have done it.
fn needs_root(folder: &Path, error: &UndoLockError) -> bool {
    let is_refused = match error {
        UndoLockError::Io { source, .. } => source.kind() == io::ErrorKind::PermissionDenied,
        UndoLockError::NotOurs { .. } => true,
    };
    let mut above = folder.ancestors();
    let there = above.find_map(|folder| fs::symlink_metadata(folder).ok());
    let is_roots = there.is_some_and(|there| there.uid() == 0);
    is_refused && is_roots && !rustix::process::geteuid().is_root()
}

/// What is persisted, without the lock.
///
/// # Errors
/// [`PersistRecordError`].
pub fn read(machine: &MachineTree) -> Result<Vec<Persisted>, PersistRecordError> {
    let file = UndoFile::new(&machine.root().join(FOLDER), "persisted");
    let seen = machine.seen(file.path());
    let damaged = |why: String| PersistRecordError::Damaged {
        file: seen.clone(),
        why,
    };
    let written: Written = match file.read() {
        Ok(written) => written,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
            return Err(PersistRecordError::Io { file: seen, source });
        }
        Err(error) => return Err(damaged(error.to_string())),
    };
    if written.version != VERSION {
        return Err(damaged(format!(
            "version {} and not {VERSION}",
            written.version
        )));
    }
    let paths = written.persisted.iter().flat_map(|one| &one.files);
    let folders = paths.flat_map(|file| std::iter::once(&file.path).chain(&file.made_folders));
    // What is restored is written to these, so they are what persisting writes and nothing else.
    for path in folders {
        if !path.starts_with("/etc/") || path.split('/').any(|part| part == ".." || part == ".") {
            return Err(damaged(format!("'{path}' is nothing that is persisted")));
        }
    }
    Ok(written.persisted)
}
