//! Whether a device is slow, from what one stream alone asks for, window behind window.
//!
//! An arm does not move for that, and windows lie in front of the reader, so none of them waits for an access: what a long
//! wait for the next one is spent with is the transfer. It is known after three windows, where a
//! [measurement](crate::throughput) over whatever was asked for takes eight; and it holds for an arm, of which such a measurement
//! is not believed when it says less.
//!
//! It matters where devices are slow. Pages between the ones that are read cost next to nothing by a guess, and as much as
//! they hold by a volume of 25 MB/s: a reader of half of its file took twice the time there.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::ask::Ask;
use crate::throughput::Measured;

/// From one request to the next: twice as long as volumes far away take to answer. Shorter, and the first windows of a stream there, each of
/// which is waited for until it has come all the way, are a slow transfer.
const LONG_NS: u64 = 16_000_000;

/// Pages that a reader comes on between two requests, at least: fewer may have come with those before.
const PAGES_MIN: u64 = 32;

/// One stream that reads on. All zero: none does.
#[derive(Debug, Default)]
pub(super) struct InTurn {
    asker: AtomicU64,
    /// The page behind what it has asked for.
    end: AtomicU64,
    /// When it asked last, in nanoseconds, and where its reader was.
    asked_ns: AtomicU64,
    at: AtomicU64,
    /// Until when the device was expected to be at work when it began.
    others_ns: AtomicU64,
    /// How long its reader has waited since it asked last.
    waited_ns: AtomicU64,
    /// The step between the two requests before.
    before_pages: AtomicU64,
    before_ns: AtomicU64,
    before_was_long: AtomicBool,
    /// The device had something else to do.
    is_over: AtomicBool,
}

/// How fast a reader came on between three requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    pub(super) measured: Measured,
    /// Both steps took long, and nearly all of that was waiting.
    pub(super) is_long: bool,
}

impl InTurn {
    /// No stream reads on.
    pub(super) const fn new() -> Self {
        Self {
            asker: AtomicU64::new(0),
            end: AtomicU64::new(0),
            asked_ns: AtomicU64::new(0),
            at: AtomicU64::new(0),
            others_ns: AtomicU64::new(0),
            waited_ns: AtomicU64::new(0),
            before_pages: AtomicU64::new(0),
            before_ns: AtomicU64::new(0),
            before_was_long: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        }
    }

    /// The device had something else to do.
    pub(super) fn on_other(&self) {
        self.is_over.store(true, Relaxed);
    }

    /// Readers waited `waited_ns` inside their windows, those who waited together counted once.
    pub(super) fn on_wait(&self, waited_ns: u64) {
        self.waited_ns.fetch_add(waited_ns, Relaxed);
    }

    /// Whether `ask` goes on where the stream that asked last has stopped; a hole of a quarter of it is passed by.
    fn goes_on(&self, ask: &Ask) -> bool {
        let is_same = self.asker.swap(ask.asker, Relaxed) == ask.asker;
        let end = self.end.swap(ask.place.end.get(), Relaxed);
        let is_alone = !self.is_over.swap(false, Relaxed) && !ask.is_shared;
        let hole = ask.place.start.get().checked_sub(end);
        let is_next = hole.is_some_and(|hole| hole <= ask.place.len().get() / 4);
        is_same && is_alone && is_next && !ask.place.is_empty()
    }

    /// A stream asks, and the device was expected to be at work until `busy_ns` before. The pace of its reader over the newest two steps.
    pub(super) fn on_ask(&self, ask: &Ask, busy_ns: u64) -> Option<Pace> {
        let goes_on = self.goes_on(ask);
        let (now_ns, at) = (ask.now.get(), ask.at.get());
        let asked_ns = self.asked_ns.swap(now_ns, Relaxed);
        let at_before = self.at.swap(at, Relaxed);
        let waited_ns = self.waited_ns.swap(0, Relaxed);
        if !goes_on {
            self.others_ns.store(busy_ns, Relaxed);
            self.before_pages.store(0, Relaxed);
            return None;
        }
        let step_ns = now_ns.saturating_sub(asked_ns);
        let is_own = asked_ns >= self.others_ns.load(Relaxed);
        let pages = at.saturating_sub(at_before);
        let has_waited = waited_ns >= step_ns - step_ns / 8;
        let is_long = is_own && step_ns >= LONG_NS && has_waited;
        let before_pages = self.before_pages.swap(pages, Relaxed);
        let before_ns = self.before_ns.swap(step_ns, Relaxed);
        let before_was_long = self.before_was_long.swap(is_long, Relaxed);
        if pages.min(before_pages) < PAGES_MIN {
            return None;
        }
        let measured = Measured::of(ask.pages, pages + before_pages, step_ns + before_ns)?;
        Some(Pace {
            measured,
            is_long: is_long && before_was_long,
        })
    }
}
