//! The `adaptive` policy's host in a world: what the interposed library is on Linux.
//!
//! One per process. Before a read the engine sees it; what the engine decides is asked for with
//! calls that end in the kernel algorithm's `on_will_need`, in the reading task and on its time.
//! After a read that waited, the engine hears of it. The engine is the one that `ahead run` loads
//! into programs; this file only brings it a table of files and answers its questions from the
//! simulated cache. What the library cannot see, it does not see here either: faults.

use ahead_engine::adviser::{Asked, Residency};
use ahead_engine::device::{Device, DeviceFacts};
use ahead_engine::file::{Engine, FileState, Many, Wait};
use ahead_engine::settings::Settings;
use ahead_policy::adaptive::{Outcome, Quick, STREAMS_MANY, Stream, StreamId};
use ahead_policy::units::{ByteLength, PageCount, PageRange, Timestamp};

use super::page_set::PageSet;
use super::task::at;

/// As the library: a read that took longer than this, and a microsecond for each page, waited.
const WAIT_NS: u64 = 20_000;
const COPY_PAGE_NS: u64 = 1_000;

/// As the library: who has neither asked nor waited for so long is believed to be gone, and the
/// table of files is looked through at most so often.
const IDLE_NS: u64 = 5_000_000_000;
const SWEEP_EVERY_NS: u64 = 100_000_000;

/// What the library finds out about the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// The disk has an arm.
    pub(super) rotational: bool,
    /// Largest request of the queue, and read-ahead limit of the kernel, in pages.
    pub(super) request_pages_max: u64,
    pub(super) ra_pages: u64,
    /// Memory that readers may use.
    pub(super) memory_pages: u64,
}

/// What is known about a read while it goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    stream: Option<StreamId>,
    covered: bool,
    access: PageRange,
}

#[derive(Debug, Default)]
struct File {
    state: FileState,
    many: Option<Box<[Stream]>>,
    active_ns: u64,
}

impl File {
    fn parts(&mut self) -> (&mut FileState, Many<'_>) {
        (&mut self.state, self.many.as_deref_mut())
    }
}

/// The engine and its files in one process.
#[derive(Debug)]
pub(super) struct Adaptive {
    engine: Engine,
    device: Device,
    files: Vec<Option<Box<File>>>,
    may_prefetch: bool,
    swept_ns: u64,
}

impl Adaptive {
    pub(super) fn new(settings: &Settings, facts: &Facts, files: usize) -> Self {
        let engine = Engine {
            knobs: settings.knobs(),
            ..Engine::default()
        };
        let configured = ByteLength::new(u64::from(settings.budget_mib) << 20);
        engine.budget.set_limits(
            PageCount::new(facts.memory_pages),
            PageCount::holding(configured),
            settings.readahead_ratio,
        );
        let device = Device::default();
        let call_pages = facts.request_pages_max.max(facts.ra_pages).clamp(1, 1024);
        device.set_facts(&DeviceFacts {
            rotational: Some(facts.rotational),
            call_pages_max: u32::try_from(call_pages).unwrap_or(1024),
            access_ns: u64::from(settings.access_us) * 1000,
            bytes_per_second: u64::from(settings.bandwidth_mb) * 1_000_000,
            depth: settings.depth,
        });
        Self {
            engine,
            device,
            files: (0..files).map(|_| None).collect(),
            may_prefetch: settings.readahead_ratio >= 2,
            swept_ns: 0,
        }
    }

    /// Pages that one call may ask for.
    pub(super) fn call_pages_max(&self) -> u64 {
        self.device.call_pages_max()
    }

    /// The program is about to read `access`. The outcome is there when pages are to be asked for.
    pub(super) fn before_read(
        &mut self,
        file: u32,
        file_pages: u64,
        access: PageRange,
        now_ns: u64,
    ) -> (Token, Option<Outcome>) {
        let entry = self.files[at(file)].get_or_insert_default();
        let mut token = Token {
            stream: None,
            covered: false,
            access,
        };
        if entry.state.file_pages.get() == 0 {
            entry.state.file_pages = PageCount::new(file_pages);
        }
        let (state, many) = entry.parts();
        match state.on_quick_access(many, access) {
            Quick::Step(stream) => {
                (token.stream, token.covered) = (Some(stream), true);
                return (token, None);
            }
            Quick::Calm => return (token, None),
            Quick::No => {}
        }
        let (state, many) = entry.parts();
        let asker = u64::from(file);
        let now = Timestamp::new(now_ns);
        let outcome = state.on_access(many, access, now, &self.engine, &self.device, asker);
        (token.stream, token.covered) = (outcome.stream, outcome.covered);
        let asks = outcome.decision.prefetch.count > 0 && self.may_prefetch;
        (token, asks.then_some(outcome))
    }

    /// The pages of `outcome` were asked for.
    pub(super) fn on_asked(
        &mut self,
        file: u32,
        file_pages: u64,
        outcome: &Outcome,
        asked: Asked,
        now_ns: u64,
    ) {
        self.give_back_idle_windows(now_ns);
        let Some(entry) = &mut self.files[at(file)] else {
            return;
        };
        entry.active_ns = now_ns;
        entry.state.file_pages = PageCount::new(file_pages);
        let (state, many) = entry.parts();
        state.on_asked(many, outcome.stream, asked, &self.engine);
        entry.grow_if_wanted();
    }

    /// The read that `token` stands for is over, after `elapsed_ns`.
    pub(super) fn after_read(
        &mut self,
        file: u32,
        token: &Token,
        elapsed_ns: u64,
        evicted: &PageSet,
        now_ns: u64,
    ) {
        if elapsed_ns <= WAIT_NS + COPY_PAGE_NS * token.access.len().get() {
            return;
        }
        let Some(entry) = &mut self.files[at(file)] else {
            return;
        };
        entry.active_ns = now_ns;
        let wait = Wait {
            stream: token.stream,
            covered: token.covered,
            waited_ns: elapsed_ns,
        };
        let residency = Shadows { file, evicted };
        let (state, many) = entry.parts();
        state.on_wait(many, wait, token.access, &self.device, &residency);
        entry.grow_if_wanted();
    }

    /// Gives the windows of files that nobody reads any more back to the budget, when it is tight.
    fn give_back_idle_windows(&mut self, now_ns: u64) {
        let swept = now_ns.saturating_sub(self.swept_ns) < SWEEP_EVERY_NS;
        if swept || !self.engine.budget.is_tight() {
            return;
        }
        self.swept_ns = now_ns;
        for entry in self.files.iter_mut().flatten() {
            if now_ns.saturating_sub(entry.active_ns) >= IDLE_NS {
                let (state, many) = entry.parts();
                state.on_idle(many, &self.engine);
            }
        }
    }
}

impl File {
    /// The library has a thousand large tables for a process; a world lends one to every file in need.
    fn grow_if_wanted(&mut self) {
        if self.many.is_some() || !self.state.wants_many() {
            return;
        }
        let mut many = vec![Stream::default(); STREAMS_MANY].into_boxed_slice();
        self.state.move_to_many(&mut many);
        self.many = Some(many);
    }
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
