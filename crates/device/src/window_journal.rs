//! The journal of windows: what each was before it was changed.
//!
//! It lies in `/run/ahead/device/windows.json`, which no boot survives, as no window does. A window is that of
//! one *appearance* of a device: numbers of bdis are used again, after a re-plug for the same disk and after an
//! unmount for another server, and what was noted of the one before must never be written to the next. sysfs
//! gives every folder that it makes a new inode number, so the start of the machine, the name of the bdi and
//! the inode of its folder name an appearance; and where a folder stays while what is in the device changes, as
//! a loop device's does that gets another file, the kernel's number of the disk (`diskseq`, Linux 5.15).
//!
//! No path is taken from the journal: a name leads to `read_ahead_kb` of that bdi and to nothing else. When it
//! is opened, notes of what is gone are dropped, and windows are put back that a process set for a while and
//! died.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::block;
use crate::machine::MachineTree;
use crate::superblock;
use crate::undo::{NotedProcess, UndoFile, UndoLock, UndoLockError};

/// The folder of it, below the root of the machine.
const FOLDER: &str = "run/ahead/device";

/// Its version; another one is not read.
const VERSION: u32 = 1;

/// Most notes of one window. The oldest but the first are forgotten: the first says what the device had.
const NOTES_MAX: usize = 64;

/// Why the journal cannot be used. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum WindowJournalError {
    /// Its folder is not ours, or cannot be made or locked.
    #[error("cannot note the window before: {0}; nothing was changed")]
    Lock(#[from] UndoLockError),
    /// It is there and makes no sense.
    #[error(
        "the notes of changed windows are damaged ({file}: {why}); nothing was changed: see `ahead device list` for the windows, then remove that file"
    )]
    Damaged {
        /// The journal.
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// It cannot be written.
    #[error("cannot note the window before in {file}: {source}; nothing was changed")]
    Write {
        /// The journal.
        file: String,
        /// Why.
        source: io::Error,
    },
}

/// One window as it was before a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WindowNote {
    /// The bdi whose window it is.
    pub(crate) bdi: String,
    /// Inode of its folder in sysfs.
    pub(crate) appearance: u64,
    /// The kernel's number of the disk, where it gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) disk_sequence: Option<u64>,
    /// The window before, in KiB.
    pub(crate) before_kib: u64,
    /// Who changed it for a while; nothing for a change that stays until it is undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) holder: Option<NotedProcess>,
    /// What the holder set, in KiB. Any other value that is found is that of another program, and stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) set_kib: Vec<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    boot: String,
    notes: Vec<WindowNote>,
}

/// A window that was put back because the process that had set it for a while died.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PutBackWindow {
    /// The bdi whose window it is.
    pub bdi: String,
    /// What it is again, in KiB.
    pub kib: u64,
}

/// The journal, locked.
#[derive(Debug)]
pub(crate) struct WindowJournal<'a> {
    machine: &'a MachineTree,
    _lock: UndoLock,
    file: UndoFile,
    boot: String,
    /// What is noted of windows that there are.
    pub(crate) notes: Vec<WindowNote>,
    /// What opening it has put back.
    pub(crate) put_back: Vec<PutBackWindow>,
}

impl<'a> WindowJournal<'a> {
    /// Waits for the lock, reads the notes, and puts back what processes left that are gone.
    pub(crate) fn open(machine: &'a MachineTree) -> Result<Self, WindowJournalError> {
        let folder = machine.root().join(FOLDER);
        let lock = UndoLock::take(&folder)?;
        let mut journal = Self {
            machine,
            _lock: lock,
            file: UndoFile::new(&folder, "windows"),
            boot: machine.boot(),
            notes: Vec::new(),
            put_back: Vec::new(),
        };
        let found = journal.read()?;
        journal.notes.clone_from(&found);
        journal.notes.retain(|note| {
            let here = appearance(machine, &note.bdi);
            here.is_some_and(|here| here.is_of(note))
        });
        journal.put_back_left();
        if journal.notes != found {
            journal.write()?;
        }
        Ok(journal)
    }

    /// Whether anything is noted, as far as this user may look.
    pub(crate) fn is_there(machine: &MachineTree) -> bool {
        let folder = machine.root().join(FOLDER);
        UndoFile::new(&folder, "windows").path().exists()
    }

    fn read(&self) -> Result<Vec<WindowNote>, WindowJournalError> {
        let damaged = |why: String| WindowJournalError::Damaged {
            file: self.machine.seen(self.file.path()),
            why,
        };
        let written: Written = match self.file.read() {
            Ok(written) => written,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(damaged(error.to_string())),
        };
        if written.version != VERSION {
            let why = format!("version {} and not {VERSION}", written.version);
            return Err(damaged(why));
        }
        let is_ours = written.boot == self.boot;
        Ok(if is_ours { written.notes } else { Vec::new() })
    }

    /// Notes what the window of `bdi` is, before it is changed.
    pub(crate) fn note(&mut self, note: WindowNote) -> Result<(), WindowJournalError> {
        let bdi = note.bdi.clone();
        self.notes.push(note);
        let of_bdi = |(_, one): &(usize, &WindowNote)| one.bdi == bdi && one.holder.is_none();
        let places: Vec<_> = self.notes.iter().enumerate().filter(of_bdi).collect();
        if places.len() > NOTES_MAX {
            let second = places[1].0;
            self.notes.remove(second);
        }
        self.write()
    }

    /// Writes what `notes` has become; nothing to note leaves no file.
    pub(crate) fn write(&self) -> Result<(), WindowJournalError> {
        if self.notes.is_empty() {
            self.file.remove();
            return Ok(());
        }
        let written = Written {
            version: VERSION,
            boot: self.boot.clone(),
            notes: self.notes.clone(),
        };
        self.file
            .write(&written)
            .map_err(|source| WindowJournalError::Write {
                file: self.machine.seen(self.file.path()),
                source,
            })
    }

    /// The process that lives and has set the window of `bdi` for a while.
    pub(crate) fn holder(&self, bdi: &str) -> Option<NotedProcess> {
        let mut notes = self.notes.iter().filter(|note| note.bdi == bdi);
        notes.find_map(|note| note.holder)
    }

    /// Where the last change of `bdi` is noted that stays.
    pub(crate) fn last(&self, bdi: &str) -> Option<usize> {
        let is_of = |note: &WindowNote| note.bdi == bdi && note.holder.is_none();
        self.notes.iter().rposition(is_of)
    }

    fn put_back_left(&mut self) {
        let machine = self.machine;
        let mut put_back = Vec::new();
        self.notes.retain(|note| {
            if note.holder.is_none_or(NotedProcess::is_running) {
                return true;
            }
            match restore(machine, note) {
                Ok(None) => false,
                Ok(Some(kib)) => {
                    let bdi = note.bdi.clone();
                    put_back.push(PutBackWindow { bdi, kib });
                    false
                }
                // Who may not write it leaves it to who may.
                Err(_) => true,
            }
        });
        self.put_back = put_back;
    }
}

/// Writes the window of `note` back where the device is the one of the note and the value is the holder's; what it
/// is then, in KiB, where it was another one.
pub(crate) fn restore(machine: &MachineTree, note: &WindowNote) -> io::Result<Option<u64>> {
    let Some(here) = appearance(machine, &note.bdi) else {
        return Ok(None);
    };
    let now = fs::read_to_string(&here.window_file)?.trim().parse().ok();
    let is_the_holders = now.is_some_and(|now| note.set_kib.contains(&now));
    if !here.is_of(note) || !is_the_holders || now == Some(note.before_kib) {
        return Ok(None);
    }
    fs::write(&here.window_file, note.before_kib.to_string())?;
    Ok(Some(note.before_kib))
}

/// A bdi as it is now.
#[derive(Debug)]
pub(crate) struct Appearance {
    window_file: PathBuf,
    /// Of its folder, which no other bdi of this start of the machine has.
    pub(crate) inode: u64,
    /// The number of the disk, which no other disk of this start of the machine has.
    pub(crate) disk_sequence: Option<u64>,
}

impl Appearance {
    fn is_of(&self, note: &WindowNote) -> bool {
        (self.inode, self.disk_sequence) == (note.appearance, note.disk_sequence)
    }
}

/// What of `bdi` there is now; nothing where it is gone, or is no name of a bdi.
pub(crate) fn appearance(machine: &MachineTree, bdi: &str) -> Option<Appearance> {
    if bdi.is_empty() || bdi.starts_with('.') || bdi.contains('/') {
        return None;
    }
    let disk = block::folder_of(machine, bdi);
    let sequence = |disk: &PathBuf| machine.number(&disk.join("diskseq"), &mut Vec::new());
    let disk_sequence = disk.as_ref().and_then(sequence);
    let folder = superblock::bdi_folder(machine, bdi);
    let (window_file, found) = match fs::metadata(&folder) {
        Ok(found) => (superblock::window_file(machine, bdi), found),
        // Where there are no bdis to be seen, as in some containers, a block device has its queue.
        Err(_) => {
            let queue = disk?.join("queue");
            let found = fs::metadata(&queue).ok()?;
            (queue.join("read_ahead_kb"), found)
        }
    };
    Some(Appearance {
        window_file,
        inode: found.ino(),
        disk_sequence,
    })
}

/// Puts back what processes that died have left, as every change does first. Nothing where nothing is noted.
///
/// # Errors
/// [`WindowJournalError`].
pub fn put_back_left(machine: &MachineTree) -> Result<Vec<PutBackWindow>, WindowJournalError> {
    if !WindowJournal::is_there(machine) {
        return Ok(Vec::new());
    }
    Ok(WindowJournal::open(machine)?.put_back)
}
