//! The simulator as a host of the shipped policy: what the interposed library is on Linux.
//!
//! As there, a descriptor is unwatched until one of its reads waits, and after each wait the next
//! fresh descriptors are watched from their first read.
//!
//! One session per process. The loop is [`ahead_engine::session`]'s; this file brings it a plain
//! table of files and answers from the simulated cache. Decisions are carried out by calls that end
//! in the kernel algorithm's `on_will_need`, in the reading task and on its time (`walk`). What the
//! library cannot see, is not sent here either: faults.

use std::cell::{Cell, RefCell, RefMut};
use std::rc::Rc;
use std::sync::atomic::AtomicU64;

use ahead_engine::adviser::{Answer, Residency};
use ahead_engine::device_facts::DeviceFacts;
use ahead_engine::file::FileState;
use ahead_engine::host::{Deferred, EnterError, EnteredFile, FileTable};
use ahead_engine::members::{self, Members};
use ahead_engine::session::{Carried, Pending, Session, Token, WhenTold};
use ahead_engine::settings::Settings;
use ahead_policy::adaptive::{Quick, STREAMS_MANY, Stream};
use ahead_units::{Advice, ByteRange, PageCount, PageRange, Timestamp};

use super::page_set::PageSet;
use super::task::{Watch, at};

/// Fresh descriptors that are watched from their first read, after something waited: as in the
/// library.
const FRESH_LOOKED_AT: u32 = 64;

/// All files of a world lie on one device.
const DEVICE: u64 = 1;

/// What the library finds out about the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// The disk has an arm.
    pub(super) rotational: bool,
    /// Bytes of a chunk and of a row of them, where it is an array.
    pub(super) stripes: Option<(u64, u64)>,
    /// Largest request of the queue, and read-ahead limit of the kernel, in pages.
    pub(super) request_pages_max: u64,
    pub(super) ra_pages: u64,
    /// Memory that readers may use.
    pub(super) memory_pages: u64,
}

#[derive(Debug, Default)]
struct File {
    is_open: bool,
    state: FileState,
    many: Option<Box<[Stream]>>,
}

/// The files of one process, by their number in the job, and what it shares with the others.
#[derive(Debug)]
pub(super) struct Plain {
    files: Vec<RefCell<Option<Box<File>>>>,
    members: Rc<[AtomicU64]>,
}

pub(super) struct Entered<'a>(RefMut<'a, Option<Box<File>>>);

impl FileTable for Plain {
    type File = u32;
    type Entered<'a> = Entered<'a>;

    fn number(&self, file: u32) -> u64 {
        u64::from(file)
    }

    fn enter(&self, file: u32) -> Result<Entered<'_>, EnterError> {
        let place = self.files[at(file)].try_borrow_mut();
        place.map(Entered).map_err(|_| EnterError::Busy)
    }

    fn defer(&self, _file: u32, _deferred: Deferred) {}

    fn visit(&self, mut visit: impl FnMut(&mut Entered<'_>)) {
        for file in &self.files {
            if let Ok(file) = file.try_borrow_mut()
                && file.is_some()
            {
                visit(&mut Entered(file));
            }
        }
    }

    fn members(&self) -> Members<'_> {
        Members::new(&self.members)
    }
}

impl EnteredFile for Entered<'_> {
    fn state(&mut self) -> (&mut FileState, Option<&mut [Stream]>) {
        let file = self.0.get_or_insert_default();
        (&mut file.state, file.many.as_deref_mut())
    }

    fn has_deferred(&self) -> bool {
        false
    }

    fn next_deferred(&mut self) -> Option<Deferred> {
        None
    }

    /// The library has a thousand large tables for a process; a world lends one to every file in
    /// need.
    fn grow(&mut self) {
        let file = self.0.get_or_insert_default();
        if file.many.is_none() {
            let mut many = vec![Stream::default(); STREAMS_MANY].into_boxed_slice();
            file.state.move_to_many(&mut many);
            file.many = Some(many);
        }
    }
}

/// What the session says to a read that is about to begin.
pub(super) enum Before {
    /// Nothing has waited for long: the descriptor is unwatched again.
    Calm,
    /// A step of a learned stream.
    Quick(Token<u32>),
    /// It has had a closer look.
    Slow(Token<u32>, Option<Pending>),
}

/// The session of one process.
#[derive(Debug)]
pub(super) struct Adaptive {
    session: Session<Plain>,
    settings: Settings,
    device: DeviceFacts,
    /// Fresh descriptors that are still watched from their first read.
    fresh_left: Cell<u32>,
    /// Pages that the disk had got when it was last asked whether a read has waited.
    pages_seen: Cell<u64>,
}

impl Adaptive {
    /// The process numbered `process`, one of those that share `members`: a world is one group.
    pub(super) fn new(
        settings: &Settings,
        facts: &Facts,
        files: usize,
        process: u32,
        members: &Rc<[AtomicU64]>,
    ) -> Self {
        let session = Session::new(Plain {
            files: (0..files).map(|_| RefCell::new(None)).collect(),
            members: Rc::clone(members),
        });
        session.group.member.join(process + 1, 1);
        let memory = PageCount::new(facts.memory_pages);
        session.group.set_memory(memory, settings);
        let (chunk, row) = facts.stripes.unzip();
        let device = DeviceFacts {
            rotational: Some(facts.rotational),
            ..DeviceFacts::configured(settings)
                .with_call_limits(facts.request_pages_max, facts.ra_pages)
                .with_stripes(chunk, row)
        };
        Self {
            session,
            settings: *settings,
            device,
            fresh_left: Cell::new(0),
            pages_seen: Cell::new(0),
        }
    }

    /// What becomes of a descriptor whose next read comes.
    pub(super) fn watch(&self, watch: Watch) -> Watch {
        if watch != Watch::Fresh {
            return watch;
        }
        match self.fresh_left.get().checked_sub(1) {
            Some(left) => {
                self.fresh_left.set(left);
                Watch::Watched
            }
            None => Watch::Unwatched,
        }
    }

    /// A read of `pages` through an unwatched descriptor took `elapsed_ns`: whether it has waited
    /// for the disk, which has got `device_pages` so far. The descriptor is watched then.
    pub(super) fn has_waited(&self, pages: PageCount, elapsed_ns: u64, device_pages: u64) -> bool {
        if elapsed_ns <= self.wait_limit_ns(pages)
            || self.pages_seen.replace(device_pages) >= device_pages
        {
            return false;
        }
        self.stay_alert();
        true
    }

    /// The first read through a descriptor was looked at.
    pub(super) fn after_fresh(&self, read: Option<&Token<u32>>) {
        if read.is_some_and(|read| self.session.is_read_ahead(read)) {
            self.stay_alert();
        }
    }

    /// Something waited, was fetched from the disk, or was there because it had been: fresh descriptors are of interest.
    fn stay_alert(&self) {
        self.fresh_left.set(FRESH_LOOKED_AT);
    }

    /// The longest that a read of so many pages takes without waiting.
    pub(super) fn wait_limit_ns(&self, pages: PageCount) -> u64 {
        self.settings.wait_limit_ns(pages)
    }

    /// The file of a descriptor that is watched from now on, and what the program said through it.
    pub(super) fn look_at(&self, file: u32, file_pages: u64, advice: Advice, now_ns: u64) {
        self.open_if_new(file, file_pages, Timestamp::new(now_ns));
        self.on_advice(file, advice);
    }

    /// The program said how it is going to read a file that is watched.
    pub(super) fn on_advice(&self, file: u32, advice: Advice) {
        self.session.on_advice(file, advice);
    }

    /// The program is about to read `access`. What comes back is to be carried out before.
    pub(super) fn before_read(&self, file: u32, access: ByteRange, now_ns: u64) -> Before {
        match self.session.on_quick_access(file, access.pages()) {
            Ok((Quick::Calm, _)) => Before::Calm,
            Ok((Quick::Step(_) | Quick::Left(_), token)) => Before::Quick(token),
            _ => {
                let (token, pending) = self.on_access(file, access, now_ns, WhenTold::Before);
                Before::Slow(token, pending)
            }
        }
    }

    /// The slow path of a read of `access`, which may also be over already.
    pub(super) fn on_access(
        &self,
        file: u32,
        access: ByteRange,
        now_ns: u64,
        told: WhenTold,
    ) -> (Token<u32>, Option<Pending>) {
        self.session
            .on_access(file, access, Timestamp::new(now_ns), told)
            .unwrap_or_else(|_| (Token::new(file, access.pages()), None))
    }

    fn open_if_new(&self, file: u32, file_pages: u64, now: Timestamp) {
        {
            let mut entry = self.session.files.files[at(file)].borrow_mut();
            let entry = entry.get_or_insert_default();
            if std::mem::replace(&mut entry.is_open, true) {
                return;
            }
        }
        let pages = PageCount::new(file_pages);
        let find = || self.device;
        self.session
            .on_open(file, DEVICE, pages, &self.settings, now, find);
    }

    /// A decision was carried out.
    pub(super) fn on_carried_out(&self, file: u32, carried: &Carried) {
        if carried.asked.answer == Answer::OnItsWay {
            self.stay_alert();
        }
        self.session.on_carried_out(file, carried);
    }

    /// The read that `token` stands for is over, after `elapsed_ns`.
    pub(super) fn after_read(
        &self,
        token: &Token<u32>,
        elapsed_ns: u64,
        evicted: &PageSet,
        now_ns: u64,
    ) {
        if elapsed_ns > self.settings.wait_limit_ns(token.access.len()) {
            self.stay_alert();
            let file = token.file;
            let residency = Shadows { file, evicted };
            let now = Timestamp::new(now_ns);
            self.session.on_wait(token, elapsed_ns, now, &residency);
        }
    }

    /// The process has ended.
    pub(super) fn on_exit(&self) {
        self.session.on_exit();
    }

    /// A descriptor of `file` was closed.
    pub(super) fn on_close(&self, file: u32, now_ns: u64) {
        if self.session.files.files[at(file)].borrow().is_some() {
            self.session.on_close(file, Timestamp::new(now_ns));
        }
    }
}

/// What the processes of a world share; nothing where there is only one.
pub(super) fn members(processes: usize) -> Rc<[AtomicU64]> {
    let words = if processes > 1 { members::WORDS } else { 0 };
    (0..words).map(|_| AtomicU64::new(0)).collect()
}

struct Shadows<'a> {
    file: u32,
    evicted: &'a PageSet,
}

impl Residency for Shadows<'_> {
    fn evicted(&self, range: PageRange) -> Option<PageCount> {
        let (start, end) = (range.start.get(), range.end.get());
        Some(PageCount::new(self.evicted.count(self.file, start, end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_is_watched_from_its_first_wait_and_fresh_ones_behind_it_at_once() {
        let facts = Facts {
            rotational: true,
            stripes: None,
            request_pages_max: 256,
            ra_pages: 32,
            memory_pages: 1 << 18,
        };
        let host = Adaptive::new(&Settings::default(), &facts, 1, 0, &members(1));
        let pages = PageCount::new(16);
        assert_eq!(host.watch(Watch::Fresh), Watch::Unwatched);
        assert!(!host.has_waited(pages, 1_000, 32), "a copy from memory");
        assert!(host.has_waited(pages, 9_000_000, 32));
        assert!(
            !host.has_waited(pages, 9_000_000, 32),
            "the disk got nothing more: it only lost its processor"
        );
        assert_eq!(host.watch(Watch::Unwatched), Watch::Unwatched);
        for _ in 0..FRESH_LOOKED_AT {
            assert_eq!(host.watch(Watch::Fresh), Watch::Watched);
        }
        assert_eq!(host.watch(Watch::Fresh), Watch::Unwatched);
    }
}
