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
    /// A few pages: a read brings little more than what it asks for, and page faults wait behind that alone.
    FewPages,
    /// What is read, in one request.
    WhatIsRead,
}

/// Reads of fewer pages are no requests of their own: 32 KiB. A device that serves 3000 requests a second serves as many
/// bytes by smaller ones as a slow disk.
const WHAT_IS_READ_PAGES_MIN: u64 = 8;

/// A turn as long as that of a network volume. Where turns are shorter, as on flash, a reader that asks only when it was answered leaves
/// the device alone for as long as it takes to wake it: four scans lost a third of their speed by it.
const WHAT_IS_READ_TURN_NS: u64 = 500_000;

impl SmallWindow {
    /// That of a scan behind which page faults starve, which reads `pages` at once, where a turn takes `turn_ns`.
    #[must_use]
    pub const fn of_scan(pages: PageCount, turn_ns: u64) -> Self {
        if pages.get() >= WHAT_IS_READ_PAGES_MIN && turn_ns >= WHAT_IS_READ_TURN_NS {
            Self::WhatIsRead
        } else {
            Self::FewPages
        }
    }

    /// Whether a scan has it that is held back.
    #[must_use]
    pub const fn is_of_scan(self) -> bool {
        !matches!(self, Self::Nothing)
    }

    /// What the device has for the moment in which the open file takes it over; `None`: that is not how it is given.
    const fn kib(self) -> Option<u64> {
        match self {
            Self::Nothing => Some(0),
            Self::FewPages => Some(16),
            Self::WhatIsRead => None,
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
    /// Who has started that process, and may have the same open file.
    #[serde(default)]
    parent: Option<NotedProcess>,
    /// Since when, on the clock of the facts.
    #[serde(skip)]
    since: Timestamp,
}

impl Narrowed {
    fn file(&self) -> FileKey {
        FileKey {
            device: self.device,
            inode: self.inode,
        }
    }

    fn is_of(&self, file: FileKey, process: u32) -> bool {
        self.file() == file && u32::try_from(self.process.pid) == Ok(process)
    }

    /// The same open file in the process that has started this one, which has ended: a worker goes, and who has opened the file for it
    /// starts another.
    fn inherited(&self, reacher: &Reacher) -> Option<Self> {
        let process = self.parent.filter(|parent| parent.is_running())?;
        let pid = u32::try_from(process.pid).ok()?;
        reacher.duplicate(self.file(), pid, self.number).ok()?;
        Some(Self {
            process,
            parent: process.parent().ok(),
            ..*self
        })
    }

    /// Whether `fact` shows that its program has said something of the open file since.
    fn is_undone(&self, fact: &Observation) -> bool {
        let is_it = self.is_of(fact.file, fact.process) && fact.descriptor == Some(self.number);
        let Some(window) = fact.window.filter(|_| is_it && fact.time > self.since) else {
            return false;
        };
        match self.window.kib() {
            Some(kib) => window.bytes().get() / 1024 != kib,
            None => !fact.advised_random,
        }
    }

    /// Gives the open file the device's window again, in its process or the one that has started it. What has ended needs none.
    fn put_back(&self, reacher: &Reacher) {
        if !self.process.is_running() {
            if let Some(inherited) = self.inherited(reacher) {
                inherited.put_back(reacher);
            }
            return;
        }
        if let Ok(process) = u32::try_from(self.process.pid)
            && let Ok((opened, _)) = reacher.duplicate(self.file(), process, self.number)
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
    let reacher = Reacher::new();
    for one in &left.files {
        one.put_back(&reacher);
    }
    journal(machine).remove();
    Ok(left.files.len())
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
    pub fn start(machine: &MachineTree, reacher: &Rc<Reacher>) -> Result<Self, NarrowError> {
        put_back_left(machine)?;
        let me = NotedProcess::of(std::process::id()).map_err(NarrowError::Journal)?;
        let started = Self {
            machine: machine.clone(),
            reacher: Rc::clone(reacher),
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
        let (opened, _) = (self.reacher)
            .duplicate(file, process, number)
            .map_err(NarrowError::Gone)?;
        let process = NotedProcess::of(process).map_err(NarrowError::Gone)?;
        let device = DeviceNumber::from_dev(file.device).to_string();
        let mut held = TemporaryWindow::hold(&self.machine, &device)?;
        let before_kib = held.before_kib();
        let is_other = |known: PageCount| known.bytes().get() / 1024 != before_kib;
        if known.is_some_and(is_other) || before_kib < window.kib().unwrap_or(0) {
            return Err(NarrowError::NotTheDevices);
        }
        self.noted.files.push(Narrowed {
            process,
            number,
            device: file.device,
            inode: file.inode,
            window,
            parent: process.parent().ok(),
            since: Timestamp::new(u64::MAX),
        });
        let taken = self
            .write()
            .and_then(|()| take_window(&mut held, window, opened));
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
        self.noted.files.retain(|one| {
            let is_it = is_meant(one);
            if is_it && leave == Leave::PutBack {
                one.put_back(&self.reacher);
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

    fn put_back_all(&mut self) {
        for one in std::mem::take(&mut self.noted.files) {
            one.put_back(&self.reacher);
        }
    }

    /// Those whose process has ended have nothing to be put back, unless who has started it has the open file too.
    pub fn forget_ended(&mut self) {
        let reacher = &self.reacher;
        let mut has_moved = false;
        self.noted.files.retain_mut(|one| {
            if one.process.is_running() {
                return true;
            }
            let inherited = one.inherited(reacher);
            has_moved |= inherited.is_some();
            inherited.map(|inherited| *one = inherited).is_some()
        });
        if has_moved {
            let _ = self.write();
        }
    }

    fn write(&self) -> Result<(), NarrowError> {
        let _lock = UndoLock::take(&self.folder)?;
        self.journal
            .write(&self.noted)
            .map_err(NarrowError::Journal)
    }
}

/// All of them have the device's window again, and this process is not the daemon any more.
impl Drop for NarrowedFiles {
    fn drop(&mut self) {
        self.put_back_all();
        if let Ok(_lock) = UndoLock::take(&self.folder) {
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
    use ahead_observer::observation::FactKind;
    use ahead_units::PageRange;

    use super::*;

    const FILE: FileKey = FileKey {
        device: 1,
        inode: 2,
    };

    fn narrowed(window: SmallWindow) -> Narrowed {
        Narrowed {
            process: NotedProcess::of(std::process::id()).unwrap(),
            number: 3,
            device: FILE.device,
            inode: FILE.inode,
            window,
            parent: None,
            since: Timestamp::new(100),
        }
    }

    fn fact(time: u64, window: Option<u64>, advised_random: bool) -> Observation {
        Observation {
            kind: FactKind::Accesses,
            time: Timestamp::new(time),
            file: FILE,
            generation: None,
            file_pages: PageCount::new(100),
            first: PageRange::new(0, 16).into(),
            step: 0,
            count: 1,
            waited_ns: 0,
            process: std::process::id(),
            thread: 1,
            programs: 0,
            descriptor: Some(3),
            is_mapped: false,
            advised_random,
            is_early: false,
            window: window.map(PageCount::new),
        }
    }

    #[test]
    fn what_a_program_says_of_an_open_file_that_is_held_back_stays() {
        let read = narrowed(SmallWindow::WhatIsRead);
        assert!(!read.is_undone(&fact(101, Some(32), true)));
        assert!(read.is_undone(&fact(101, Some(64), false)), "SEQUENTIAL");
        assert!(!read.is_undone(&fact(99, Some(32), false)), "before");
        assert!(!read.is_undone(&fact(101, None, false)), "it was not seen");
        let other = Observation {
            descriptor: Some(4),
            ..fact(101, Some(32), false)
        };
        assert!(!read.is_undone(&other), "another open file");
        let few = narrowed(SmallWindow::FewPages);
        assert!(!few.is_undone(&fact(101, Some(4), false)));
        assert!(few.is_undone(&fact(101, Some(64), false)), "SEQUENTIAL");
    }

    #[test]
    fn a_scan_reads_by_its_own_requests_where_these_are_large_and_turns_long() {
        let given = |pages, turn_ns| SmallWindow::of_scan(PageCount::new(pages), turn_ns);
        assert_eq!(given(16, 1_000_000), SmallWindow::WhatIsRead);
        assert_eq!(given(1, 1_000_000), SmallWindow::FewPages, "`dd` in 4 KiB");
        assert_eq!(given(16, 80_000), SmallWindow::FewPages, "flash");
    }
}
