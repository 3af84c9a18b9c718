//! Changing a window: checked, noted before, read back, and put back on request.
//!
//! The value before is in the [journal](crate::window_journal) before the change.

use std::fs;
use std::io;
use std::path::PathBuf;

use ahead_sys::block_queue::DeviceNumber;
use ahead_sys::mounts;
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags};
use serde::Serialize;

use crate::machine::{MachineTree, Unread};
use crate::origin::PAGE_KIB;
use crate::stack;
use crate::target::{self, DeviceTargetError, Target};
use crate::undo::NotedProcess;
use crate::window_journal::{self, WindowJournal, WindowJournalError, WindowNote};

/// Largest window that is set: more is memory for one stream that no device needs, and mostly a value that was
/// meant in another unit.
pub const WINDOW_KIB_MAX: u64 = 1 << 20;

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
    #[error(
        "{0} KiB is not a multiple of a page ({PAGE_KIB} KiB): the kernel would round it down; write {whole}K",
        whole = whole_pages(*.0)
    )]
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
    #[error(transparent)]
    Journal(#[from] WindowJournalError),
    /// Another process has set it for a while.
    #[error("process {pid} measures with the window of {name}: wait for its end, or end it")]
    Held {
        /// Which layer.
        name: String,
        /// Which process.
        pid: i32,
    },
    /// Another program has set it meanwhile.
    #[error("another program has set the window of {name} to {now_kib} KiB meanwhile: it stays")]
    Taken {
        /// Which layer.
        name: String,
        /// What it is, in KiB.
        now_kib: u64,
    },
    /// The device is not there any more, or is another one.
    #[error("{0} is gone: it was removed, or is another device now")]
    Gone(String),
    /// Nothing to put back.
    #[error("no change of {0} is noted since the last boot, or since it appeared")]
    NothingNoted(String),
}

impl WindowError {
    /// Whether what was typed is wrong, not what was found.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        match self {
            Self::Target(error) => error.is_usage(),
            Self::NotPages(_) | Self::TooLarge(_) => true,
            _ => false,
        }
    }
}

/// Sets the window that counts for `text`. What is there already is neither written nor noted.
///
/// # Errors
/// [`WindowError`]; nothing was changed.
pub fn set(machine: &MachineTree, text: &str, kib: u64) -> Result<WindowChange, WindowError> {
    check(kib)?;
    target::find_to_change(machine, text)?;
    let window = CountingWindow::find(machine, text)?;
    // A file that cannot be written needs no note; one that can has it before the change.
    window.refuse_unwritable(machine)?;
    let mut journal = WindowJournal::open(machine)?;
    window.refuse_held(&journal)?;
    let note = window.note(machine)?;
    let before_kib = note.before_kib;
    if before_kib == kib {
        // Nothing is changed, and an undo would put back what is there.
        drop(journal);
        return Ok(window.change(machine, before_kib, kib, kib));
    }
    journal.note(note)?;
    let now_kib = match window.write(machine, kib) {
        Ok(now_kib) => now_kib,
        Err(error) => {
            journal.notes.pop();
            journal.write()?;
            return Err(error);
        }
    };
    // What follows looks at every process of the machine: nothing waits for that.
    drop(journal);
    Ok(window.change(machine, before_kib, now_kib, kib))
}

/// Puts back the window from before the last change of `text`.
///
/// # Errors
/// [`WindowError`]; nothing was changed.
pub fn undo(machine: &MachineTree, text: &str) -> Result<WindowChange, WindowError> {
    let window = CountingWindow::find(machine, text)?;
    let nothing = || WindowError::NothingNoted(window.name.clone());
    if !WindowJournal::is_there(machine) {
        return Err(nothing());
    }
    let mut journal = WindowJournal::open(machine)?;
    window.refuse_held(&journal)?;
    let last = journal.last(&window.bdi).ok_or_else(nothing)?;
    let asked_kib = journal.notes[last].before_kib;
    let before_kib = window.now(machine, &mut Vec::new()).unwrap_or(asked_kib);
    let now_kib = window.write(machine, asked_kib)?;
    journal.notes.remove(last);
    journal.write()?;
    drop(journal);
    Ok(window.change(machine, before_kib, now_kib, asked_kib))
}

/// What the next [`undo`] of `text` would put back, in KiB; `None` where nothing is noted.
///
/// # Errors
/// [`WindowError`].
pub fn noted(machine: &MachineTree, text: &str) -> Result<Option<u64>, WindowError> {
    let window = CountingWindow::find(machine, text)?;
    if !WindowJournal::is_there(machine) {
        return Ok(None);
    }
    let journal = WindowJournal::open(machine)?;
    let last = journal.last(&window.bdi);
    Ok(last.map(|last| journal.notes[last].before_kib))
}

/// The process that lives and has set the window that counts for `text` for a while, as a measurement does.
///
/// # Errors
/// [`WindowError`].
pub fn holder(machine: &MachineTree, text: &str) -> Result<Option<NotedProcess>, WindowError> {
    let window = CountingWindow::find(machine, text)?;
    if !WindowJournal::is_there(machine) {
        return Ok(None);
    }
    Ok(WindowJournal::open(machine)?.holder(&window.bdi))
}

/// The largest window of whole pages that is not larger than `kib`, and that reads ahead.
#[must_use]
pub const fn whole_pages(kib: u64) -> u64 {
    let pages = kib / PAGE_KIB;
    if pages == 0 {
        PAGE_KIB
    } else {
        pages * PAGE_KIB
    }
}

/// The file of the window that counts for `text`.
///
/// # Errors
/// [`WindowError`].
pub fn file_of(machine: &MachineTree, text: &str) -> Result<PathBuf, WindowError> {
    CountingWindow::find(machine, text).map(|window| window.file)
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

/// The window that counts for a target.
#[derive(Clone, Debug)]
pub(crate) struct CountingWindow {
    name: String,
    bdi: String,
    file: PathBuf,
}

impl CountingWindow {
    pub(crate) fn find(machine: &MachineTree, text: &str) -> Result<Self, WindowError> {
        let found = target::find(machine, text)?;
        let stack = stack::of(machine, &found);
        let no_window = || WindowError::NoWindow(text.to_owned());
        let layer = stack.counting().ok_or_else(no_window)?;
        Ok(Self {
            name: layer.name.clone(),
            bdi: layer.bdi.clone().ok_or_else(no_window)?,
            file: layer.window_file.clone().ok_or_else(no_window)?,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The window now, in KiB.
    pub(crate) fn now(
        &self,
        machine: &MachineTree,
        unread: &mut Vec<Unread>,
    ) -> Result<u64, WindowError> {
        let number = machine.number(&self.file, unread);
        number.ok_or_else(|| WindowError::Unreadable(self.name.clone()))
    }

    /// What is to be noted before a change.
    pub(crate) fn note(&self, machine: &MachineTree) -> Result<WindowNote, WindowError> {
        let here = window_journal::appearance(machine, &self.bdi);
        let here = here.ok_or_else(|| self.gone())?;
        Ok(WindowNote {
            bdi: self.bdi.clone(),
            appearance: here.inode,
            disk_sequence: here.disk_sequence,
            before_kib: self.now(machine, &mut Vec::new())?,
            holder: None,
            set_kib: Vec::new(),
        })
    }

    /// Writes and reads back.
    pub(crate) fn write(&self, machine: &MachineTree, kib: u64) -> Result<u64, WindowError> {
        fs::write(&self.file, kib.to_string()).map_err(|error| self.refused(machine, error))?;
        self.now(machine, &mut Vec::new())
    }

    pub(crate) fn refuse_unwritable(&self, machine: &MachineTree) -> Result<(), WindowError> {
        let opened = fs::OpenOptions::new().write(true).open(&self.file);
        opened
            .map(drop)
            .map_err(|error| self.refused(machine, error))
    }

    pub(crate) fn refuse_held(&self, journal: &WindowJournal<'_>) -> Result<(), WindowError> {
        let name = self.name.clone();
        match journal.holder(&self.bdi) {
            Some(holder) => Err(WindowError::Held {
                name,
                pid: holder.pid,
            }),
            None => Ok(()),
        }
    }

    pub(crate) fn gone(&self) -> WindowError {
        WindowError::Gone(self.name.clone())
    }

    pub(crate) fn refused(&self, machine: &MachineTree, source: io::Error) -> WindowError {
        let hint = match source.kind() {
            io::ErrorKind::PermissionDenied => "; this needs root",
            io::ErrorKind::ReadOnlyFilesystem => {
                "; /sys is read-only here, as in a container: set it on the host"
            }
            _ => "",
        };
        WindowError::Refused {
            name: self.name.clone(),
            file: machine.seen(&self.file),
            source,
            hint,
        }
    }

    fn change(
        &self,
        machine: &MachineTree,
        before_kib: u64,
        now_kib: u64,
        asked_kib: u64,
    ) -> WindowChange {
        WindowChange {
            name: self.name.clone(),
            before_kib,
            now_kib,
            asked_kib,
            open_files: open_files(machine, &self.bdi),
        }
    }
}

/// Files that are open on mounts whose window is that of `bdi`. Those of other users' processes are seen by
/// root alone, and files of btrfs have numbers of their own: at least so many. No server is asked for a file of its own,
/// as it need not answer: what the kernel has of it is enough.
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
        let found = rustix::fs::statx(CWD, path, AtFlags::STATX_DONT_SYNC, StatxFlags::TYPE);
        found.is_ok_and(|found| {
            let device = rustix::fs::makedev(found.stx_dev_major, found.stx_dev_minor);
            FileType::from_raw_mode(found.stx_mode.into()) == FileType::RegularFile
                && numbers.contains(&DeviceNumber::from_dev(device))
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
