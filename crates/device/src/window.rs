//! Changing a window: checked, noted before, read back, and put back on request.
//!
//! The value before is written to `/run/ahead/device-undo.json` before the change. That folder is empty after
//! a boot, as every window is what the kernel makes it then.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ahead_sys::block_queue::DeviceNumber;
use ahead_sys::mounts;
use serde::{Deserialize, Serialize};

use crate::machine::MachineTree;
use crate::origin::PAGE_KIB;
use crate::stack::{self, StackLayer};
use crate::target::{self, DeviceTargetError, Target};

/// Largest window that is set: more is memory for one stream that no device needs, and mostly a value that was
/// meant in another unit.
pub const WINDOW_KIB_MAX: u64 = 1 << 20;

/// The note, below the root of the machine.
const NOTE: &str = "run/ahead/device-undo.json";

/// A change that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WindowChange {
    /// The layer whose window it is.
    pub name: String,
    /// The window before, in KiB.
    pub before_kib: u64,
    /// What the kernel keeps now, in KiB.
    pub now_kib: u64,
    /// What was asked for, in KiB.
    pub asked_kib: u64,
    /// Open files that keep the window that they were opened with; at least so many.
    pub open_files: u64,
}

/// Why a window was not changed. Nothing was.
#[derive(Debug, thiserror::Error)]
pub enum WindowError {
    /// The target stands for nothing.
    #[error(transparent)]
    Target(#[from] DeviceTargetError),
    /// Not whole pages.
    #[error("{0} KiB is not a multiple of a page ({PAGE_KIB} KiB): the kernel would round it down")]
    NotPages(u64),
    /// Too large.
    #[error("{0} KiB is more than {WINDOW_KIB_MAX} KiB (1 GiB), which no device needs")]
    TooLarge(u64),
    /// Nothing here has a window.
    #[error("'{0}' has no read-ahead window: nothing is read ahead there")]
    NoWindow(String),
    /// The window of it cannot be read.
    #[error("cannot read the window of {0}")]
    Unreadable(String),
    /// The kernel refused.
    #[error("cannot set the window of {name} ({file}): {source}{hint}")]
    Refused {
        /// Which layer.
        name: String,
        /// The file of it.
        file: String,
        /// Why.
        source: io::Error,
        /// What to do.
        hint: &'static str,
    },
    /// The value before cannot be noted.
    #[error("cannot note the value before in {file}: {source}; nothing was changed")]
    Note {
        /// The file of it.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// Nothing to put back.
    #[error("no change of {0} is noted since the last boot")]
    NothingNoted(String),
}

impl WindowError {
    /// Whether what was typed is wrong, not what was found.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::NotPages(_) | Self::TooLarge(_))
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Noted {
    bdi: String,
    before_kib: u64,
}

/// Sets the window that counts for `text`.
///
/// # Errors
/// [`WindowError`]; nothing was changed.
pub fn set(machine: &MachineTree, text: &str, kib: u64) -> Result<WindowChange, WindowError> {
    check(kib)?;
    let (layer, bdi) = counting(machine, text)?;
    let file = layer.window_file.clone().ok_or_else(|| no_window(text))?;
    let before_kib = layer
        .read_ahead_kb
        .ok_or_else(|| WindowError::Unreadable(layer.name.clone()))?;
    let mut noted = notes(machine);
    let kept = noted.clone();
    noted.push(Noted {
        bdi: bdi.clone(),
        before_kib,
    });
    // A file that cannot be written needs no note; one that can has it before the change.
    refuse_unwritable(machine, &layer.name, &file)?;
    note(machine, &noted)?;
    match written(machine, &layer.name, &file, kib) {
        Ok(now_kib) => Ok(WindowChange {
            open_files: open_files(machine, &bdi),
            name: layer.name,
            before_kib,
            now_kib,
            asked_kib: kib,
        }),
        Err(error) => {
            note(machine, &kept)?;
            Err(error)
        }
    }
}

/// Puts back the window from before the last change of `text`.
///
/// # Errors
/// [`WindowError`]; nothing was changed.
pub fn undo(machine: &MachineTree, text: &str) -> Result<WindowChange, WindowError> {
    let (layer, bdi) = counting(machine, text)?;
    let file = layer.window_file.clone().ok_or_else(|| no_window(text))?;
    let mut noted = notes(machine);
    let last = noted.iter().rposition(|one| one.bdi == bdi);
    let Some(last) = last else {
        return Err(WindowError::NothingNoted(layer.name));
    };
    let asked_kib = noted.remove(last).before_kib;
    let now_kib = written(machine, &layer.name, &file, asked_kib)?;
    note(machine, &noted)?;
    Ok(WindowChange {
        open_files: open_files(machine, &bdi),
        before_kib: layer.read_ahead_kb.unwrap_or(now_kib),
        name: layer.name,
        now_kib,
        asked_kib,
    })
}

/// Whether a window of this size can be set.
///
/// # Errors
/// Not whole pages, or more than [`WINDOW_KIB_MAX`].
pub const fn check(kib: u64) -> Result<(), WindowError> {
    if kib > WINDOW_KIB_MAX {
        return Err(WindowError::TooLarge(kib));
    }
    if !kib.is_multiple_of(PAGE_KIB) {
        return Err(WindowError::NotPages(kib));
    }
    Ok(())
}

fn counting(machine: &MachineTree, text: &str) -> Result<(StackLayer, String), WindowError> {
    let found = target::find(machine, text)?;
    let stack = stack::of(machine, &found);
    let layer = stack.counting().cloned().ok_or_else(|| no_window(text))?;
    let bdi = layer.bdi.clone().ok_or_else(|| no_window(text))?;
    Ok((layer, bdi))
}

fn no_window(text: &str) -> WindowError {
    WindowError::NoWindow(text.to_owned())
}

fn refused(machine: &MachineTree, name: &str, file: &Path, source: io::Error) -> WindowError {
    let hint = match source.kind() {
        io::ErrorKind::PermissionDenied => "; this needs root",
        io::ErrorKind::ReadOnlyFilesystem => {
            "; /sys is read-only here, as in a container: set it on the host"
        }
        _ => "",
    };
    WindowError::Refused {
        name: name.to_owned(),
        file: machine.seen(file),
        source,
        hint,
    }
}

fn refuse_unwritable(machine: &MachineTree, name: &str, file: &Path) -> Result<(), WindowError> {
    let opened = fs::OpenOptions::new().write(true).open(file);
    opened
        .map(drop)
        .map_err(|error| refused(machine, name, file, error))
}

/// Writes and reads back.
fn written(machine: &MachineTree, name: &str, file: &Path, kib: u64) -> Result<u64, WindowError> {
    fs::write(file, kib.to_string()).map_err(|error| refused(machine, name, file, error))?;
    let mut unread = Vec::new();
    machine
        .number(file, &mut unread)
        .ok_or_else(|| WindowError::Unreadable(name.to_owned()))
}

fn note_file(machine: &MachineTree) -> PathBuf {
    machine.root().join(NOTE)
}

fn notes(machine: &MachineTree) -> Vec<Noted> {
    let text = fs::read(note_file(machine)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Written aside and renamed: a crash in between leaves the old note. Nothing to note leaves no file.
fn note(machine: &MachineTree, noted: &[Noted]) -> Result<(), WindowError> {
    let file = note_file(machine);
    let write = || -> io::Result<()> {
        if noted.is_empty() {
            return match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let aside = file.with_extension("new");
        fs::create_dir_all(file.parent().unwrap_or(&file))?;
        fs::write(&aside, serde_json::to_vec_pretty(noted)?)?;
        fs::rename(&aside, &file)
    };
    write().map_err(|source| WindowError::Note {
        file: machine.seen(&file),
        source,
    })
}

/// Files that are open on mounts whose window is that of `bdi`. Those of other users' processes are seen by
/// root alone, and files of btrfs have numbers of their own: at least so many.
#[must_use]
pub fn open_files(machine: &MachineTree, bdi: &str) -> u64 {
    let mounts = mounts::mounts(&machine.proc()).unwrap_or_default();
    let mut numbers: Vec<DeviceNumber> = Vec::new();
    for mount in mounts {
        let number = mount.device;
        let stack = stack::of(machine, &Target::Mounted(Box::new(mount)));
        let counting = stack.counting().and_then(|layer| layer.bdi.as_deref());
        if counting == Some(bdi) && !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    let processes = machine.names(&machine.proc());
    let processes = processes
        .iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let is_there = |path: PathBuf| {
        let found = fs::metadata(path).ok();
        found.is_some_and(|found| {
            found.is_file() && numbers.contains(&DeviceNumber::from_dev(found.dev()))
        })
    };
    let open = processes.map(|process| {
        let folder = machine.proc().join(process).join("fd");
        let names = machine.names(&folder);
        names
            .iter()
            .filter(|name| is_there(folder.join(name)))
            .count() as u64
    });
    open.sum()
}
