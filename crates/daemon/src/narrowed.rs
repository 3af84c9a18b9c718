//! Open files that have a smaller window than their device, or none: written down, and put back.
//!
//! A page fault that misses brings the kernel's whole window around it, 128 KiB and more, and a process's mapping
//! cannot be advised from outside. But a window belongs to the open file, and the kernel takes it from the device when
//! it hears POSIX_FADV_NORMAL: for a moment the device's window is 0, the duplicate is advised NORMAL, and the device's
//! window is what it was. Files that were open before keep theirs; one that is opened in these microseconds has none
//! until it is advised. Scans behind which page faults starve get a small one in the same way.
//!
//! Two things are written down first: the window of the device
//! ([`TemporaryWindow`]: put back by whoever opens that journal next, never over a value that another program has set
//! meanwhile), and here the open file, so that the next start, or `ahead daemon --undo`, gives it the device's window
//! again.

use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;

use ahead_device::machine::MachineTree;
use ahead_device::temporary_window::TemporaryWindow;
use ahead_device::undo::{NotedProcess, UndoFile, UndoLock, UndoLockError};
use ahead_device::window::WindowError;
use ahead_observer::observation::FileKey;
use ahead_sys::block_queue::DeviceNumber;
use ahead_units::PageCount;
use rustix::fs::Advice;
use serde::{Deserialize, Serialize};

use crate::reach::duplicate;

/// The folder of the journal, below the root of the machine.
const FOLDER: &str = "run/ahead/daemon";

/// Most open files that are narrowed at once.
const NARROWED_MAX: usize = 256;

/// What an open file is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SmallWindow {
    /// None: its mapping is read at random.
    #[default]
    Nothing,
    /// A few pages: a read brings what it asks for, and page faults wait behind that alone.
    FewPages,
}

impl SmallWindow {
    const fn kib(self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::FewPages => 16,
        }
    }
}

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

/// One open file with a smaller window than its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Narrowed {
    process: NotedProcess,
    number: i32,
    device: u64,
    inode: u64,
    /// What it was given; journals of earlier versions do not say.
    #[serde(default)]
    window: SmallWindow,
}

impl Narrowed {
    fn file(&self) -> FileKey {
        FileKey {
            device: self.device,
            inode: self.inode,
        }
    }

    /// Gives the open file the device's window again. What has ended needs none.
    fn put_back(&self) {
        let Ok(process) = u32::try_from(self.process.pid) else {
            return;
        };
        if self.process.is_running()
            && let Ok((opened, _)) = duplicate(self.file(), process, self.number)
        {
            let _ = rustix::fs::fadvise(opened, 0, None, Advice::Normal);
        }
    }
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

/// Gives all open files that a daemon has left without a window the device's again; how many.
///
/// # Errors
/// That daemon still runs; or the journal's folder is not ours or cannot be made.
pub fn put_back_left(machine: &MachineTree) -> Result<usize, NarrowError> {
    let _lock = UndoLock::take(&folder(machine))?;
    // A journal that makes no sense names nothing that could be put back.
    let Ok(left) = journal(machine).read::<Noted>() else {
        return Ok(0);
    };
    if left.daemon.is_running() {
        return Err(NarrowError::Runs(left.daemon.pid));
    }
    for one in &left.files {
        one.put_back();
    }
    journal(machine).remove();
    Ok(left.files.len())
}

/// The open files without a window, and their journal.
#[derive(Debug)]
pub struct NarrowedFiles {
    machine: MachineTree,
    folder: PathBuf,
    journal: UndoFile,
    noted: Noted,
}

impl NarrowedFiles {
    /// None, after what an earlier daemon left was put back. This process is noted as the one daemon, until
    /// [`Self::end`] or its death.
    ///
    /// # Errors
    /// A daemon runs; or the journal's folder is not ours or cannot be made.
    pub fn start(machine: &MachineTree) -> Result<Self, NarrowError> {
        put_back_left(machine)?;
        let me = NotedProcess::of(std::process::id()).map_err(NarrowError::Journal)?;
        let started = Self {
            machine: machine.clone(),
            folder: folder(machine),
            journal: journal(machine),
            noted: Noted {
                daemon: me,
                files: Vec::new(),
            },
        };
        started.write()?;
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
        let is_of = |one: &Narrowed| u32::try_from(one.process.pid) == Ok(process);
        let mut files = self.noted.files.iter();
        files.any(|one| one.file() == file && one.window == window && is_of(one))
    }

    /// Files that have this one.
    pub fn files_with(&self, window: SmallWindow) -> impl Iterator<Item = FileKey> + '_ {
        let files = self.noted.files.iter();
        files
            .filter(move |one| one.window == window)
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
        let (opened, _) = duplicate(file, process, number).map_err(NarrowError::Gone)?;
        let process = NotedProcess::of(process).map_err(NarrowError::Gone)?;
        let device = DeviceNumber::from_dev(file.device).to_string();
        let mut held = TemporaryWindow::hold(&self.machine, &device)?;
        let before_kib = held.before_kib();
        let is_other = |known: PageCount| known.bytes().get() / 1024 != before_kib;
        if known.is_some_and(is_other) || before_kib < window.kib() {
            return Err(NarrowError::NotTheDevices);
        }
        self.noted.files.push(Narrowed {
            process,
            number,
            device: file.device,
            inode: file.inode,
            window,
        });
        let taken = self
            .write()
            .and_then(|()| take_window(&mut held, window, opened));
        if taken.is_err() {
            self.noted.files.pop();
            let _ = self.write();
        }
        // Puts the device's window back; where that fails, the journal does at the next start.
        drop(held);
        taken
    }

    /// Gives all open files of `file` that have this one the device's window again.
    pub fn widen(&mut self, file: FileKey, window: SmallWindow) {
        let is_it = |one: &Narrowed| one.file() == file && one.window == window;
        self.remove_where(is_it, Narrowed::put_back);
    }

    /// `file` was removed: nothing of it is open any more. It is not given back, as the number may be that of a file which has its
    /// inode now.
    pub fn forget(&mut self, file: FileKey) {
        self.remove_where(|one| one.file() == file, |_| ());
    }

    /// Gives all open files of `device` its window again.
    pub fn widen_device(&mut self, device: u64) {
        self.remove_where(|one| one.device == device, Narrowed::put_back);
    }

    fn remove_where(&mut self, is_meant: impl Fn(&Narrowed) -> bool, leave: impl Fn(&Narrowed)) {
        let before = self.noted.files.len();
        self.noted.files.retain(|one| {
            let is_it = is_meant(one);
            if is_it {
                leave(one);
            }
            !is_it
        });
        if self.noted.files.len() != before {
            // What is put back twice is as it was.
            let _ = self.write();
        }
    }

    /// Gives all of them the device's window again.
    pub fn widen_all(&mut self) {
        self.put_back_all();
        let _ = self.write();
    }

    /// The same, and this process is not the daemon any more.
    pub fn end(mut self) {
        self.put_back_all();
        if let Ok(_lock) = UndoLock::take(&self.folder) {
            self.journal.remove();
        }
    }

    fn put_back_all(&mut self) {
        for one in std::mem::take(&mut self.noted.files) {
            one.put_back();
        }
    }

    /// Those whose process has ended have nothing to be put back.
    pub fn forget_ended(&mut self) {
        self.noted.files.retain(|one| one.process.is_running());
    }

    fn write(&self) -> Result<(), NarrowError> {
        let _lock = UndoLock::take(&self.folder)?;
        self.journal
            .write(&self.noted)
            .map_err(NarrowError::Journal)
    }
}

/// The moment: the device has this window, and the open file takes it over.
fn take_window(
    held: &mut TemporaryWindow,
    window: SmallWindow,
    opened: impl AsFd,
) -> Result<(), NarrowError> {
    held.set(window.kib())?;
    let advised = rustix::fs::fadvise(opened, 0, None, Advice::Normal);
    advised.map_err(|errno| NarrowError::Gone(errno.into()))
}
