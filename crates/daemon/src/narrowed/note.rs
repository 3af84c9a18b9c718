//! The note of one open file with a smaller window than its device: who has it open, and how the device's is given to it again.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use ahead_device::undo::NotedProcess;
use ahead_observer::observation::{FileKey, Observation};
use ahead_sys::process_children::children_of;
use ahead_units::Timestamp;
use rustix::fs::Advice;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::small_window::SmallWindow;
use crate::reach::Reacher;

const PROC: &str = "/proc";

/// Children of a process that are noted. Workers of one file are mostly few; each is looked at once a second.
const CHILDREN_MAX: usize = 8;

/// One open file with a smaller window than its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Narrowed {
    pub(super) process: NotedProcess,
    pub(super) number: i32,
    pub(super) device: u64,
    pub(super) inode: u64,
    /// What it was given; journals of earlier versions do not say.
    #[serde(default)]
    pub(super) window: SmallWindow,
    /// Who has started that process, and may have the same open file.
    #[serde(default)]
    pub(super) parent: Option<NotedProcess>,
    /// Whom it has started, and who may have inherited it; of many the first ones.
    #[serde(default)]
    pub(super) children: [Option<NotedProcess>; CHILDREN_MAX],
    /// Since when, on the clock of the facts.
    #[serde(skip)]
    pub(super) since: Timestamp,
    /// It should have the device's window again, and could not be given it yet.
    #[serde(skip)]
    pub(super) is_due: bool,
}

impl Narrowed {
    /// Descriptor `number` of `process`, which stands for `file`, without relatives.
    pub(super) fn of(file: FileKey, process: NotedProcess, number: i32) -> Self {
        Self {
            process,
            number,
            device: file.device,
            inode: file.inode,
            window: SmallWindow::Nothing,
            parent: None,
            children: Default::default(),
            since: Timestamp::new(0),
            is_due: false,
        }
    }

    pub(super) fn file(&self) -> FileKey {
        FileKey {
            device: self.device,
            inode: self.inode,
        }
    }

    pub(super) fn is_of(&self, file: FileKey, process: u32) -> bool {
        self.file() == file && u32::try_from(self.process.pid) == Ok(process)
    }

    /// It in `process`; `None` where that has ended, or has another file at this number, or none.
    fn open_in(&self, process: NotedProcess, reacher: &Reacher) -> io::Result<Option<OwnedFd>> {
        let Ok(pid) = u32::try_from(process.pid) else {
            return Ok(None);
        };
        match reacher.duplicate(self.file(), pid, self.number) {
            Ok(open) => Ok(Some(open.opened)),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The same open file in the process that has started this one, or in one that this one has started, as it has ended: a worker goes,
    /// and who has opened the file for it starts another; or who has started a worker goes, and leaves it the file.
    pub(super) fn inherited(&self, reacher: &Reacher) -> io::Result<Option<Self>> {
        let mut unreached = None;
        let relatives = [self.parent].into_iter().chain(self.children).flatten();
        for process in relatives.filter(|one| one.is_running()) {
            match self.open_in(process, reacher) {
                Ok(Some(_)) => {
                    let parent = process.parent().ok();
                    let mut moved = Self {
                        process,
                        parent,
                        ..*self
                    };
                    moved.note_children();
                    return Ok(Some(moved));
                }
                Ok(None) => {}
                Err(error) => unreached = Some(error),
            }
        }
        unreached.map_or(Ok(None), Err)
    }

    /// Notes whom its process has started; whether these are others than before. What is noted of a process that has ended stays.
    pub(super) fn note_children(&mut self) -> bool {
        let Ok(found) = children_of(Path::new(PROC), self.process.pid) else {
            return false;
        };
        let mut children = [None; CHILDREN_MAX];
        for (place, &child) in children.iter_mut().zip(&found) {
            let mut noted = self.children.iter().flatten();
            let known = noted.find(|one| u32::try_from(one.pid) == Ok(child) && one.is_running());
            *place = known.copied().or_else(|| NotedProcess::of(child).ok());
        }
        // One that ends meanwhile has none any more, and these are who has the file then.
        self.process.is_running() && std::mem::replace(&mut self.children, children) != children
    }

    /// Whether `fact` shows that its program has said something of the open file since. Where the descriptor is not told, as of a mapping,
    /// RANDOM is taken to be about this one.
    pub(super) fn is_undone(&self, fact: &Observation) -> bool {
        let is_it = fact
            .descriptor
            .map_or(fact.advised_random, |it| it == self.number);
        let is_later = fact.time > self.since;
        let Some(window) = fact.window else {
            return false;
        };
        if !is_it || !is_later || !self.is_of(fact.file, fact.process) {
            return false;
        }
        match self.window.kib() {
            // NORMAL would take back what it has said.
            Some(kib) => fact.advised_random || window.bytes().get() / 1024 != kib,
            None => !fact.advised_random,
        }
    }

    /// Gives the open file the device's window again, in its process or a relative of it. What has ended needs none.
    ///
    /// # Errors
    /// It may be open still, and could not be reached: without a descriptor, or a right. It is to be tried again.
    pub(super) fn put_back(&self, reacher: &Reacher) -> io::Result<()> {
        if !self.process.is_running() {
            return match self.inherited(reacher)? {
                Some(inherited) => inherited.put_back(reacher),
                None => Ok(()),
            };
        }
        match self.open_in(self.process, reacher)? {
            Some(opened) => Ok(rustix::fs::fadvise(opened, 0, None, Advice::Normal)?),
            None => Ok(()),
        }
    }
}

/// Whether what could not be reached is not there any more: the process has ended, the number is closed, or another file's.
fn is_gone(error: &io::Error) -> bool {
    let gone = [Errno::SRCH, Errno::BADF].map(Errno::raw_os_error);
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error().is_some_and(|raw| gone.contains(&raw))
}

#[cfg(test)]
mod tests {
    use ahead_observer::observation::FactKind;
    use ahead_units::{PageCount, PageRange};

    use super::*;

    const FILE: FileKey = FileKey {
        device: 1,
        inode: 2,
    };

    fn narrowed(window: SmallWindow) -> Narrowed {
        Narrowed {
            window,
            since: Timestamp::new(100),
            ..Narrowed::of(FILE, NotedProcess::of(std::process::id()).unwrap(), 3)
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

    /// POSIX_FADV_RANDOM leaves the window as it is, and our NORMAL, which puts that back, ended it.
    #[test]
    fn an_open_file_that_is_read_at_random_by_its_programs_word_is_not_put_back() {
        let none = narrowed(SmallWindow::Nothing);
        assert!(!none.is_undone(&fact(101, Some(0), false)));
        assert!(none.is_undone(&fact(101, Some(0), true)), "RANDOM");
        assert!(!none.is_undone(&fact(99, Some(0), true)), "before");
        let of_mapping = |advised_random| Observation {
            descriptor: None,
            is_mapped: true,
            ..fact(101, Some(0), advised_random)
        };
        assert!(none.is_undone(&of_mapping(true)));
        assert!(!none.is_undone(&of_mapping(false)));
        // That is ours.
        assert!(!narrowed(SmallWindow::WhatIsRead).is_undone(&of_mapping(true)));
    }
}
