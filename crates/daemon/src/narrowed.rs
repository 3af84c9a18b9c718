//! Open files that have a smaller window than their device, or none: written down, and put back.
//!
//! A page fault that misses brings the kernel's whole window around it, 128 KiB and more, and a process's mapping
//! cannot be advised from outside. But a window belongs to the open file, and the kernel takes it from the device when
//! it hears POSIX_FADV_NORMAL: for a moment the device's window is 0, the duplicate is advised NORMAL, and the device's
//! window is what it was. Files that were open before keep theirs; one that is opened in these microseconds has none
//! until it is advised. Scans behind which page faults starve get a small one in the same way, or, where they read much at once,
//! none at all: their open file is advised POSIX_FADV_RANDOM, so that the kernel asks for what is read and for nothing behind it.
//!
//! Two things are written down first: the window of the device
//! ([`TemporaryWindow`]: put back by whoever opens that journal next, never over a value that another program has set
//! meanwhile), and here the open file, so that the next start, or `ahead daemon --undo`, gives it the device's window
//! again.

mod note;
mod small_window;

use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::rc::Rc;

use ahead_device::machine::MachineTree;
use ahead_device::temporary_window::TemporaryWindow;
use ahead_device::undo::{NotedProcess, UndoFile, UndoLock, UndoLockError};
use ahead_device::window::WindowError;
use ahead_observer::observation::{FileKey, Observation};
use ahead_sys::block_queue::DeviceNumber;
use ahead_units::{PageCount, Timestamp};
use rustix::fs::Advice;
use serde::{Deserialize, Serialize};

use crate::machine_facts::now;
use crate::reach::Reacher;
use crate::windows::DeviceWindows;
use note::Narrowed;

pub use small_window::SmallWindow;

/// The folder of the journal, below the root of the machine.
const FOLDER: &str = "run/ahead/daemon";

/// Most open files that are narrowed at once.
const NARROWED_MAX: usize = 256;

/// Why a window was not taken from an open file. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum NarrowError {
    /// The file is not open there any more.
    #[error("the file is not open any more: {0}")]
    Gone(io::Error),
    /// The device's window cannot be changed, or another program holds it.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// It cannot be written down.
    #[error("cannot write down what is changed: {0}")]
    Journal(io::Error),
    /// The journal's folder is not ours.
    #[error(transparent)]
    Lock(#[from] UndoLockError),
    /// One daemon sees all readers.
    #[error("a daemon runs already: process {0}; end it first")]
    Runs(i32),
    /// As many are narrowed as are kept.
    #[error("{NARROWED_MAX} open files have no window already")]
    Full,
    /// Its window is another than the device's, or as small already.
    #[error("the window of the open file is its program's")]
    NotTheDevices,
}

/// The journal: who has narrowed what.
#[derive(Debug, Serialize, Deserialize)]
struct Noted {
    daemon: NotedProcess,
    files: Vec<Narrowed>,
}

fn folder(machine: &MachineTree) -> PathBuf {
    machine.root().join(FOLDER)
}

fn journal(machine: &MachineTree) -> UndoFile {
    UndoFile::new(&folder(machine), "narrowed")
}

/// What became of the open files that a daemon has left without a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PutBackFiles {
    /// So many have the device's again, or are not open any more.
    pub put_back: usize,
    /// So many could not be reached. They stay noted, and the next start tries again.
    pub left: usize,
}

/// Gives all open files that a daemon has left without a window the device's again.
///
/// # Errors
/// That daemon still runs; or the journal cannot be read or written, or its folder is not ours or cannot be made.
pub fn put_back_left(machine: &MachineTree) -> Result<PutBackFiles, NarrowError> {
    let _lock = UndoLock::take(&folder(machine))?;
    let journal = journal(machine);
    let Some(mut noted) = left_by_another(&journal)? else {
        return Ok(PutBackFiles::default());
    };
    let put_back = put_back_all(&mut noted.files, &Reacher::new());
    let left = noted.files.len();
    if left == 0 {
        journal.remove();
    } else {
        journal.write(&noted).map_err(NarrowError::Journal)?;
    }
    Ok(PutBackFiles { put_back, left })
}

/// What a daemon that has ended has noted, if anything.
fn left_by_another(journal: &UndoFile) -> Result<Option<Noted>, NarrowError> {
    use io::ErrorKind::{InvalidData, NotFound, UnexpectedEof};
    let noted = match journal.read::<Noted>() {
        Ok(noted) => noted,
        // A journal that makes no sense names nothing that could be put back.
        Err(error) if matches!(error.kind(), NotFound | InvalidData | UnexpectedEof) => {
            return Ok(None);
        }
        Err(error) => return Err(NarrowError::Journal(error)),
    };
    if noted.daemon.is_running() {
        return Err(NarrowError::Runs(noted.daemon.pid));
    }
    Ok(Some(noted))
}

/// Puts back what can be, and says how many that were; the others are left.
fn put_back_all(files: &mut Vec<Narrowed>, reacher: &Reacher) -> usize {
    let all = files.len();
    files.retain_mut(|one| {
        one.is_due = one.put_back(reacher).is_err();
        one.is_due
    });
    all - files.len()
}

/// What becomes of an open file that is not kept any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    /// It has the device's window again.
    PutBack,
    /// It has what it has.
    AsItIs,
}

/// The open files without a window, and their journal.
#[derive(Debug)]
pub struct NarrowedFiles {
    machine: MachineTree,
    reacher: Rc<Reacher>,
    windows: Rc<DeviceWindows>,
    folder: PathBuf,
    journal: UndoFile,
    noted: Noted,
}

impl NarrowedFiles {
    /// None, after what an earlier daemon left was put back. This process is noted as the one daemon, until
    /// it is dropped, or its death.
    ///
    /// # Errors
    /// A daemon runs; or the journal's folder is not ours or cannot be made.
    pub(crate) fn start(
        machine: &MachineTree,
        reacher: &Rc<Reacher>,
        windows: &Rc<DeviceWindows>,
    ) -> Result<Self, NarrowError> {
        let journal = journal(machine);
        // Until this process is noted as the one daemon no other may see that there is none.
        let lock = UndoLock::take(&folder(machine))?;
        let left = left_by_another(&journal)?;
        let mut files = left.map_or_else(Vec::new, |noted| noted.files);
        put_back_all(&mut files, &Reacher::new());
        let daemon = NotedProcess::of(std::process::id()).map_err(NarrowError::Journal)?;
        let started = Self {
            machine: machine.clone(),
            reacher: Rc::clone(reacher),
            windows: Rc::clone(windows),
            folder: folder(machine),
            journal,
            noted: Noted { daemon, files },
        };
        started.write_locked(&lock)?;
        Ok(started)
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.noted.files.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.noted.files.is_empty()
    }

    /// Whether another process that lives has set the window of `device` for a while. What one that was killed has left is put back.
    #[must_use]
    pub fn is_held_by_another(&self, device: u64) -> bool {
        self.windows.is_held_by_another(device, self.noted.daemon)
    }

    /// Whether an open file of `file` in any process has this one.
    #[must_use]
    pub fn holds_any(&self, file: FileKey, window: SmallWindow) -> bool {
        let files = &self.noted.files;
        files
            .iter()
            .any(|one| one.file() == file && one.window == window)
    }

    /// Whether an open file of `file` in this process has this one. Others that read it have open files of their own.
    #[must_use]
    pub fn holds(&self, file: FileKey, process: u32, window: SmallWindow) -> bool {
        let mut files = self.noted.files.iter();
        files.any(|one| one.window == window && one.is_of(file, process))
    }

    /// Whether a scan of `file` in this process is held back.
    #[must_use]
    pub fn holds_back(&self, file: FileKey, process: u32) -> bool {
        let mut files = self.noted.files.iter();
        files.any(|one| one.window.is_of_scan() && one.is_of(file, process))
    }

    /// Files of which scans are held back.
    pub fn held_back(&self) -> impl Iterator<Item = FileKey> + '_ {
        let files = self.noted.files.iter();
        files
            .filter(|one| one.window.is_of_scan())
            .map(Narrowed::file)
    }

    /// Gives the open file `number` of `process` a smaller window. Where `known` is said, its window is that many pages, and
    /// has to be the device's: another one is its program's.
    ///
    /// # Errors
    /// [`NarrowError`]; nothing was changed.
    pub fn narrow(
        &mut self,
        file: FileKey,
        (process, number): (u32, i32),
        window: SmallWindow,
        known: Option<PageCount>,
    ) -> Result<(), NarrowError> {
        self.forget_ended();
        if self.noted.files.len() >= NARROWED_MAX {
            return Err(NarrowError::Full);
        }
        let open = (self.reacher)
            .duplicate(file, process, number)
            .map_err(NarrowError::Gone)?;
        let process = NotedProcess::of(process).map_err(NarrowError::Gone)?;
        let target = self.windows.target(file.device).ok_or_else(|| {
            WindowError::NoWindow(DeviceNumber::from_dev(file.device).to_string())
        })?;
        let mut held = TemporaryWindow::hold(&self.machine, &target)?;
        let before_kib = held.before_kib();
        let is_other = |known: PageCount| known.bytes().get() / 1024 != before_kib;
        if known.is_some_and(is_other) || before_kib < window.kib().unwrap_or(0) {
            return Err(NarrowError::NotTheDevices);
        }
        let mut narrowed = Narrowed {
            window,
            parent: process.parent().ok(),
            since: Timestamp::new(u64::MAX),
            ..Narrowed::of(file, process, number)
        };
        narrowed.note_children();
        self.noted.files.push(narrowed);
        let taken = self
            .write()
            .and_then(|()| take_window(&mut held, window, open.opened));
        if taken.is_err() {
            self.noted.files.pop();
            let _ = self.write();
        } else if let Some(narrowed) = self.noted.files.last_mut() {
            narrowed.since = now();
        }
        // Puts the device's window back; where that fails, the journal does at the next start.
        drop(held);
        taken
    }

    /// Gives all open files of `file` that have none the device's window again.
    pub fn widen(&mut self, file: FileKey) {
        let is_it = |one: &Narrowed| one.file() == file && !one.window.is_of_scan();
        self.remove_where(is_it, Leave::PutBack);
    }

    /// Scans of `file` that are held back have the device's window again.
    pub fn let_go(&mut self, file: FileKey) {
        let is_it = |one: &Narrowed| one.file() == file && one.window.is_of_scan();
        self.remove_where(is_it, Leave::PutBack);
    }

    /// Where a program has said something of an open file after it was narrowed, which `fact` shows, that stays.
    pub fn notice_undone(&mut self, fact: &Observation) {
        self.remove_where(|one| one.is_undone(fact), Leave::AsItIs);
    }

    /// `file` was removed: nothing of it is open any more. It is not given back, as the number may be that of a file which has its
    /// inode now.
    pub fn forget(&mut self, file: FileKey) {
        self.remove_where(|one| one.file() == file, Leave::AsItIs);
    }

    /// Gives all open files of `device` its window again.
    pub fn widen_device(&mut self, device: u64) {
        self.remove_where(|one| one.device == device, Leave::PutBack);
    }

    fn remove_where(&mut self, is_meant: impl Fn(&Narrowed) -> bool, leave: Leave) {
        let before = self.noted.files.len();
        self.noted.files.retain_mut(|one| {
            if !is_meant(one) {
                return true;
            }
            one.is_due = leave == Leave::PutBack && one.put_back(&self.reacher).is_err();
            one.is_due
        });
        if self.noted.files.len() != before {
            // What is put back twice is as it was.
            let _ = self.write();
        }
    }

    /// Gives all of them the device's window again; how many could not be reached, and stay noted.
    pub fn widen_all(&mut self) -> usize {
        self.remove_where(|_| true, Leave::PutBack);
        self.noted.files.len()
    }

    /// Those whose process has ended have nothing to be put back, unless who has started it, or whom it has started, has the open file
    /// too. What could not be put back is tried again.
    pub fn forget_ended(&mut self) {
        let reacher = &self.reacher;
        let before = self.noted.files.len();
        let mut has_moved = false;
        self.noted.files.retain_mut(|one| {
            if one.is_due {
                return one.put_back(reacher).is_err();
            }
            if one.process.is_running() {
                has_moved |= one.note_children();
                return true;
            }
            match one.inherited(reacher) {
                Ok(Some(inherited)) => *one = inherited,
                Ok(None) => return false,
                // It is seen later.
                Err(_) => return true,
            }
            has_moved = true;
            true
        });
        if has_moved || self.noted.files.len() != before {
            let _ = self.write();
        }
    }

    fn write(&self) -> Result<(), NarrowError> {
        self.write_locked(&UndoLock::take(&self.folder)?)
    }

    fn write_locked(&self, _lock: &UndoLock) -> Result<(), NarrowError> {
        self.journal
            .write(&self.noted)
            .map_err(NarrowError::Journal)
    }
}

/// All of them have the device's window again, and this process is not the daemon any more. What could not be put back is left to the next
/// start, which finds that this process has ended.
impl Drop for NarrowedFiles {
    fn drop(&mut self) {
        if self.widen_all() == 0
            && let Ok(_lock) = UndoLock::take(&self.folder)
        {
            self.journal.remove();
        }
    }
}

/// The moment: the device has this window, and the open file takes it over.
fn take_window(
    held: &mut TemporaryWindow,
    window: SmallWindow,
    opened: impl AsFd,
) -> Result<(), NarrowError> {
    let advice = match window.kib() {
        Some(kib) => {
            held.set(kib)?;
            Advice::Normal
        }
        None => Advice::Random,
    };
    let advised = rustix::fs::fadvise(opened, 0, None, advice);
    advised.map_err(|errno| NarrowError::Gone(errno.into()))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use super::*;

    fn start(machine: &MachineTree) -> NarrowedFiles {
        let windows = Rc::new(DeviceWindows::new(machine));
        NarrowedFiles::start(machine, &Rc::new(Reacher::new()), &windows).unwrap()
    }

    /// A server that opens a file, starts a worker and ends left the worker without a window for ever.
    #[test]
    fn what_a_child_has_inherited_is_put_back_there() {
        let root = tempfile::tempdir().unwrap();
        let machine = MachineTree::at(root.path());
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let key = FileKey::of(&file.as_file().metadata().unwrap());
        let me = NotedProcess::of(std::process::id()).unwrap();
        let mut started = start(&machine);
        let start_ticks = me.start_ticks + 1;
        let number = file.as_file().as_raw_fd();
        let mut left = Narrowed::of(key, NotedProcess { start_ticks, ..me }, number);
        left.children[1] = Some(me);
        started.noted.files.push(left);
        started.forget_ended();
        assert_eq!(started.len(), 1);
        assert_eq!(started.noted.files[0].process, me);
        assert_eq!(started.widen_all(), 0);
    }

    /// The first of these is on a server that nobody knows, so it may not be reached now. It was forgotten, with the journal.
    #[test]
    fn what_cannot_be_put_back_now_stays_noted_and_is_tried_again() {
        let root = tempfile::tempdir().unwrap();
        let machine = MachineTree::at(root.path());
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let key = FileKey::of(&file.as_file().metadata().unwrap());
        let me = NotedProcess::of(std::process::id()).unwrap();
        let start_ticks = me.start_ticks + 1;
        let gone = NotedProcess { start_ticks, ..me };
        let number = file.as_file().as_raw_fd();
        let open = Narrowed::of(key, me, number);
        let closed = i32::MAX;
        let unreached = Narrowed {
            device: rustix::fs::makedev(0, 1 << 19),
            ..open
        };
        let files = vec![
            unreached,
            open,
            Narrowed {
                process: gone,
                ..unreached
            },
            Narrowed {
                number: closed,
                ..open
            },
            Narrowed {
                inode: key.inode + 1,
                ..open
            },
        ];
        drop(UndoLock::take(&folder(&machine)).unwrap());
        let noted = Noted {
            daemon: gone,
            files,
        };
        journal(&machine).write(&noted).unwrap();
        let expected = PutBackFiles {
            put_back: 4,
            left: 1,
        };
        assert_eq!(put_back_left(&machine).unwrap(), expected);
        let noted_still = || journal(&machine).read::<Noted>().unwrap().files;
        assert_eq!(noted_still().len(), 1);
        assert_eq!(noted_still()[0].device, unreached.device);
        // So it is to the daemon that starts next, and when that ends.
        let mut started = start(&machine);
        started.forget_ended();
        assert_eq!((started.len(), started.widen_all()), (1, 1));
        drop(started);
        assert_eq!(noted_still().len(), 1);
    }
}
