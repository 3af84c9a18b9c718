//! A host of plain memory: its table of files, and an adviser that writes down what it is asked for.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;

use ahead_engine::adviser::{Act, Adviser, Answer, Residency};
use ahead_engine::device_facts::DeviceFacts;
use ahead_engine::file::FileState;
use ahead_engine::host::{Deferred, EnterError, EnteredFile, FileTable};
use ahead_engine::members::Members;
use ahead_engine::session::Session;
use ahead_engine::settings::Settings;
use ahead_policy::adaptive::{Quick, Stream};
use ahead_policy::decision::Decision;
use ahead_units::{PageCount, PageRange, Timestamp};

pub(crate) const MIB: u64 = 256;

/// A file of the table, and what was deferred for it.
#[derive(Default)]
pub(crate) struct Plain {
    pub(crate) state: RefCell<FileState>,
    pub(crate) deferred: RefCell<VecDeque<Deferred>>,
    pub(crate) busy: Cell<bool>,
}

pub(crate) struct Table {
    pub(crate) files: Vec<Plain>,
    /// What the processes of a group say; empty: there is one.
    pub(crate) words: Vec<AtomicU64>,
    /// How often the budget left nothing.
    pub(crate) budget_used: Cell<u32>,
}

pub(crate) struct Entered<'a>(RefMut<'a, FileState>, &'a Plain);

impl FileTable for Table {
    type File = usize;
    type Entered<'a> = Entered<'a>;

    fn number(&self, file: usize) -> u64 {
        file as u64
    }

    fn enter(&self, file: usize) -> Result<Entered<'_>, EnterError> {
        let plain = self.files.get(file).ok_or(EnterError::Gone)?;
        if plain.busy.get() {
            return Err(EnterError::Busy);
        }
        Ok(Entered(plain.state.borrow_mut(), plain))
    }

    fn defer(&self, file: usize, deferred: Deferred) {
        self.files[file].deferred.borrow_mut().push_back(deferred);
    }

    fn members(&self) -> Members<'_> {
        Members::new(&self.words)
    }

    fn on_budget_used(&self) {
        self.budget_used.set(self.budget_used.get() + 1);
    }

    fn visit(&self, mut visit: impl FnMut(&mut Entered<'_>)) {
        for plain in &self.files {
            visit(&mut Entered(plain.state.borrow_mut(), plain));
        }
    }
}

impl EnteredFile for Entered<'_> {
    fn state(&mut self) -> (&mut FileState, Option<&mut [Stream]>) {
        (&mut self.0, None)
    }

    fn has_deferred(&self) -> bool {
        !self.1.deferred.borrow().is_empty()
    }

    fn next_deferred(&mut self) -> Option<Deferred> {
        self.1.deferred.borrow_mut().pop_front()
    }

    fn grow(&mut self) {}
}

/// Carries everything out with one answer, and keeps what it was asked for.
pub(crate) struct Log {
    pub(crate) file_pages: Option<u64>,
    pub(crate) answer: Answer,
    pub(crate) asked: Vec<PageRange>,
}

impl Log {
    pub(crate) fn new(file_pages: u64) -> Self {
        Self {
            file_pages: Some(file_pages),
            answer: Answer::OnItsWay,
            asked: Vec::new(),
        }
    }
}

impl Adviser for Log {
    fn prepare(&mut self, _decision: &Decision) -> Option<PageCount> {
        self.file_pages.map(PageCount::new)
    }

    fn act(&mut self, act: Act) -> Answer {
        if let Act::Prefetch(range) = act {
            self.asked.push(range);
        }
        self.answer
    }
}

pub(crate) struct NothingEvicted;

impl Residency for NothingEvicted {
    fn evicted(&self, _range: PageRange) -> Option<PageCount> {
        Some(PageCount::new(0))
    }
}

pub(crate) fn at(ms: u64) -> Timestamp {
    Timestamp::new(ms * 1_000_000)
}

/// A session over `files` files of `file_pages` pages, with a budget of 256 MiB.
pub(crate) fn session(files: usize, file_pages: u64) -> Session<Table> {
    let session = Session::new(Table {
        files: (0..files).map(|_| Plain::default()).collect(),
        words: Vec::new(),
        budget_used: Cell::new(0),
    });
    let settings = Settings::default();
    session.group.set_memory(PageCount::new(1 << 22), &settings);
    for file in 0..files {
        let find = || DeviceFacts {
            rotational: Some(true),
            ..DeviceFacts::configured(&settings)
        };
        let pages = PageCount::new(file_pages);
        session.on_open(file, 1, pages, &settings, at(0), find);
    }
    session
}

pub(crate) fn read(session: &Session<Table>, file: usize, start: u64, ms: u64, log: &mut Log) {
    let access = PageRange::new(start, start + 16);
    if let Ok((Quick::Step(_) | Quick::Left(_) | Quick::Calm, _)) =
        session.on_quick_access(file, access)
    {
        return;
    }
    session.read(file, access, at(ms), log).unwrap();
}
