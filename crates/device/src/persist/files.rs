//! The files of a persist: looked at, written whole, and brought back. No link is followed below the root.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{self as unix, DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::error::PersistError;
use crate::machine::MachineTree;
use crate::persist_record::{FileBefore, PersistedFile, PersistedText};
use crate::whole_file;

/// Longest file that is changed. Its text is kept in the record.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// Where a path lies below the root. No part of it may be a link: it would be another place than it says.
pub(super) fn place(machine: &MachineTree, path: &str) -> Result<PathBuf, PersistError> {
    let mut place = machine.root().to_path_buf();
    let mut parts = Path::new(path)
        .strip_prefix("/")
        .unwrap_or_else(|_| Path::new(path))
        .iter()
        .peekable();
    while let Some(part) = parts.next() {
        place.push(part);
        // The last one can be a link of ours.
        if parts.peek().is_some()
            && fs::symlink_metadata(&place).is_ok_and(|found| found.is_symlink())
        {
            let path = machine.seen(&place);
            return Err(PersistError::Link { path });
        }
    }
    Ok(place)
}

/// A file as it is, with its rights; nothing where there is none.
pub(super) fn file_before(place: &Path, path: &str) -> Result<Option<FileBefore>, PersistError> {
    let path = path.to_owned();
    let found = match fs::symlink_metadata(place) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(PersistError::Io { path, source }),
    };
    if found.is_symlink() {
        return Err(PersistError::Link { path });
    }
    if !found.is_file() || found.len() > FILE_BYTES_MAX {
        let why = if found.is_file() {
            "too long to be kept"
        } else {
            "no file"
        };
        return Err(PersistError::Odd { path, why });
    }
    match fs::read(place).map(String::from_utf8) {
        Ok(Ok(text)) => Ok(Some(FileBefore {
            text,
            mode: found.permissions().mode() & 0o7777,
            owner: (found.uid(), found.gid()),
        })),
        Ok(Err(_)) => Err(PersistError::Odd {
            path,
            why: "not a text",
        }),
        Err(source) => Err(PersistError::Io { path, source }),
    }
}

pub(super) fn missing_folders(machine: &MachineTree, file: &Path) -> Vec<String> {
    let folders = file
        .ancestors()
        .skip(1)
        .take_while(|folder| !folder.exists());
    let mut missing: Vec<_> = folders.map(|folder| machine.seen(folder)).collect();
    missing.reverse();
    missing
}

/// Where a file is written before it gets its name. Hidden, and of no kind that a mechanism reads.
fn aside(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}.ahead-new"))
}

pub(super) fn write(machine: &MachineTree, file: &PersistedFile) -> Result<(), PersistError> {
    let at = |source| PersistError::Io {
        path: file.path.clone(),
        source,
    };
    let there = place(machine, &file.path)?;
    let folder = there.parent().unwrap_or(&there);
    let mut make = DirBuilder::new();
    make.recursive(true)
        .mode(0o755)
        .create(folder)
        .map_err(at)?;
    let owner = file.before.as_ref().map(|before| before.owner);
    match &file.now {
        PersistedText::File { text, mode } => {
            whole_file::replace(&there, &aside(&there), text.as_bytes(), *mode).map_err(at)?;
            give(&there, owner).map_err(at)
        }
        PersistedText::Link(to) => {
            if fs::read_link(&there).is_ok_and(|found| found == *to) {
                return Ok(());
            }
            unix::symlink(to, &there).map_err(at)
        }
    }
}

fn give(file: &Path, owner: Option<(u32, u32)>) -> io::Result<()> {
    let Some((user, group)) = owner else {
        return Ok(());
    };
    let found = fs::symlink_metadata(file)?;
    if (found.uid(), found.gid()) == (user, group) {
        return Ok(());
    }
    unix::chown(file, Some(user), Some(group))
}

/// Whether what is there is ours or what was before: nothing that would be lost.
pub(super) fn refuse_changed(
    machine: &MachineTree,
    file: &PersistedFile,
) -> Result<(), PersistError> {
    let there = place(machine, &file.path)?;
    let changed = || PersistError::Changed {
        path: file.path.clone(),
        since: "since it was persisted",
    };
    if let PersistedText::Link(to) = &file.now {
        return match fs::read_link(&there) {
            Ok(found) if found == *to => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            _ => Err(changed()),
        };
    }
    let found = file_before(&there, &file.path).map_err(|_| changed())?;
    let is_ours = matches!((&found, &file.now), (Some(found), PersistedText::File { text, .. }) if found.text == *text);
    if is_ours || found == file.before {
        Ok(())
    } else {
        Err(changed())
    }
}

pub(super) fn take_back(machine: &MachineTree, file: &PersistedFile) -> Result<(), PersistError> {
    let at = |source| PersistError::Io {
        path: file.path.clone(),
        source,
    };
    // Asked first: a file system that cannot be written to refuses to remove what is not there.
    let gone = |path: &Path| match fs::symlink_metadata(path) {
        Err(error) if is_absent(&error) => Ok(()),
        _ => fs::remove_file(path).map_err(at),
    };
    let there = place(machine, &file.path)?;
    gone(&aside(&there))?;
    match &file.before {
        Some(before) => {
            let text = before.text.as_bytes();
            whole_file::replace(&there, &aside(&there), text, before.mode).map_err(at)?;
            give(&there, Some(before.owner)).map_err(at)?;
        }
        None => gone(&there)?,
    }
    for folder in file.made_folders.iter().rev() {
        // Where something else lies in it by now, it stays.
        let _ = fs::remove_dir(place(machine, folder)?);
    }
    Ok(())
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
