//! One file as the engine sees it: its streams, its account, and the steps of one access.
//!
//! The host makes sure that one thread at a time is in here; nothing in this file waits.

use ahead_policy::adaptive::{FileStreams, Moment, Outcome, Quick, STREAMS_FEW, Stream, StreamId};
use ahead_policy::knobs::Knobs;
use ahead_policy::reason::{Pattern, Reason};
use ahead_policy::units::{PageCount, PageRange, Timestamp};

use crate::adviser::{Asked, Residency};
use crate::budget::{Budget, Published};
use crate::device::Device;
use crate::expectation::Expectation;

/// What the engine shares between files: the knobs and the budget.
#[derive(Debug, Default)]
pub struct Engine {
    /// The knobs of this run.
    pub knobs: Knobs,
    /// The memory budget of all files.
    pub budget: Budget,
    /// Whether small files are read whole.
    pub expectation: Expectation,
}

/// What happened to one file since the host took the account last. Additive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Reads.
    pub accesses: u64,
    /// Pages read.
    pub pages: u64,
    /// Pages asked for.
    pub prefetched: u64,
    /// Pages read inside a window.
    pub useful: u64,
    /// Pages read inside a window that had to be waited for.
    pub late: u64,
    /// Pages evicted before use.
    pub thrashed: u64,
    /// Reads that waited.
    pub waits: u64,
    /// Reads inside a window.
    pub covered: u64,
    /// Of those, reads that waited all the same.
    pub covered_waits: u64,
}

impl Tally {
    /// Reads inside a window that did not wait.
    #[must_use]
    pub fn waits_avoided(&self) -> u64 {
        self.covered.saturating_sub(self.covered_waits)
    }
}

/// A read that had to wait for the device.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// The stream it belonged to.
    pub stream: Option<StreamId>,
    /// It lay inside a window.
    pub covered: bool,
    /// How long it took.
    pub waited_ns: u64,
}

/// State of one file. The default is a file never read.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileState {
    streams: FileStreams,
    few: [Stream; STREAMS_FEW],
    /// Pages of the file as the host saw it last; nothing beyond is asked for.
    pub file_pages: PageCount,
    tally: Tally,
    published: Published,
    wasted_told: u64,
    /// Was read from its start, and not yet to its end.
    from_start: bool,
    /// Was brought whole because that was expected.
    expected: bool,
    /// Largest request so far, for the account.
    pub window: PageCount,
    /// The newest decision's pattern, for the account.
    pub pattern: Pattern,
    /// The newest decision's reason, for the account.
    pub reason: Reason,
}

/// A larger table of streams, lent by the host once [`FileState::wants_many`] says so.
pub type Many<'a> = Option<&'a mut [Stream]>;

impl FileState {
    /// The quick half of [`Self::on_access`]. [`Quick::No`] has changed nothing.
    #[inline]
    pub fn on_quick_access(&mut self, many: Many<'_>, access: PageRange) -> Quick {
        if access.end.get() >= self.file_pages.get() {
            // The end of a file says something about the next ones.
            return Quick::No;
        }
        let quick = self
            .streams
            .on_quick_access(table(&mut self.few, many), access);
        if quick != Quick::No {
            let pages = access.len().get();
            self.tally.accesses += 1;
            self.tally.pages += pages;
            if quick != Quick::Calm {
                self.tally.useful += pages;
                self.tally.covered += 1;
            }
        }
        quick
    }

    /// The program reads `access` at `now`. `asker` is any number that no other file has.
    pub fn on_access(
        &mut self,
        many: Many<'_>,
        access: PageRange,
        now: Timestamp,
        engine: &Engine,
        device: &Device,
        asker: u64,
    ) -> Outcome {
        let file_pages = self.file_pages;
        if access.start.get() == 0 && !self.from_start {
            self.from_start = true;
            engine.expectation.on_begun();
        }
        let moment = || Moment {
            knobs: engine.knobs,
            device: device.estimate(),
            file_pages,
            expected: engine.expectation.pages(),
            threshold: engine.budget.threshold(),
            available: engine.budget.available(),
            contested: device.is_contested(),
        };
        let streams = table(&mut self.few, many);
        let outcome = self.streams.on_access(streams, access, now, moment);
        self.tally.accesses += 1;
        self.tally.pages += access.len().get();
        if outcome.covered {
            self.tally.useful += access.len().get();
            self.tally.covered += 1;
        }
        if outcome.decision.reason != Reason::MarkerNotReached {
            self.pattern = outcome.decision.pattern;
            self.reason = outcome.decision.reason;
        }
        if outcome.decision.prefetch.count > 0 {
            let pages = outcome.decision.prefetch.pages();
            self.tally.prefetched += pages.get();
            self.window = self.window.max(pages);
            let place = outcome.stream.map_or(0, |stream| stream.place);
            device.on_ask(asker << 8 | u64::from(place));
            let (unread, windows) = self.streams.unread(streams);
            engine.budget.publish(&mut self.published, unread, windows);
            if outcome.decision.reason == Reason::ExpectedWhole {
                self.expected = true;
                engine.expectation.on_asked();
            }
        }
        if self.from_start && access.end.get() >= file_pages.get() {
            engine.expectation.on_whole(file_pages, self.expected);
            (self.from_start, self.expected) = (false, false);
        }
        outcome
    }

    /// What asking for the newest window of `stream` showed.
    pub fn on_asked(
        &mut self,
        many: Many<'_>,
        stream: Option<StreamId>,
        asked: Asked,
        engine: &Engine,
    ) {
        if self.expected && self.reason == Reason::ExpectedWhole {
            engine.expectation.on_found(asked == Asked::WasCached);
        }
        let streams = table(&mut self.few, many);
        match asked {
            Asked::WasCached => self.streams.on_cached(streams, stream),
            Asked::OnItsWay | Asked::Unknown => self.streams.on_not_cached(streams, stream),
            Asked::Refused => self.streams.on_refused(streams, stream),
        }
    }

    /// The read of `access` had to wait. Evicted pages are looked for with `residency`.
    pub fn on_wait(
        &mut self,
        many: Many<'_>,
        wait: Wait,
        access: PageRange,
        device: &Device,
        residency: &impl Residency,
    ) {
        let Wait {
            stream,
            covered,
            waited_ns,
        } = wait;
        self.tally.waits += 1;
        let streams = table(&mut self.few, many);
        self.streams.on_wait(streams, stream, access, covered);
        if !covered {
            if stream.is_none() {
                device.on_lone_wait(waited_ns, access.len().get());
            }
            return;
        }
        self.tally.late += access.len().get();
        self.tally.covered_waits += 1;
        // Late, or evicted before use? The pages that come next can tell.
        let ahead = self.streams.ahead(streams, stream);
        if ahead.is_empty() {
            return;
        }
        if let Some(evicted) = residency.evicted(ahead).filter(|pages| pages.get() > 0) {
            self.tally.thrashed += evicted.get();
            self.streams.on_thrashed(streams, stream, evicted);
        }
    }

    /// Nobody reads the file any more: give its windows back to the budget.
    pub fn on_idle(&mut self, many: Many<'_>, engine: &Engine) {
        self.streams.on_idle(table(&mut self.few, many));
        engine
            .budget
            .publish(&mut self.published, PageCount::new(0), 0);
    }

    /// Whether the file has more streams than its small table holds. The host then copies the
    /// small table with [`Self::move_to_many`] and lends the larger one with every call.
    #[must_use]
    pub fn wants_many(&self) -> bool {
        self.streams.is_crowded()
    }

    /// Copies the small table to the front of `many`.
    pub fn move_to_many(&mut self, many: &mut [Stream]) {
        for (place, stream) in many.iter_mut().zip(self.few) {
            *place = stream;
        }
    }

    /// The account since the last call, and the pages given up unread in that time.
    pub fn take_tally(&mut self) -> (Tally, u64) {
        let wasted = self.streams.wasted().get();
        let since = wasted - core::mem::replace(&mut self.wasted_told, wasted);
        (core::mem::take(&mut self.tally), since)
    }

    /// Reads since the account was taken last.
    #[must_use]
    pub fn untold_accesses(&self) -> u64 {
        self.tally.accesses
    }
}

fn table<'a>(few: &'a mut [Stream; STREAMS_FEW], many: Many<'a>) -> &'a mut [Stream] {
    match many {
        Some(many) => many,
        None => few,
    }
}
