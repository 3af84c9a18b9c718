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

use ahead_units::{PAGE_BYTES, Timestamp};

use super::waits::SLOW_PAGE_NS;
use super::{Ask, Device, GUESSED, SEEN_SLOW};
use crate::throughput::Measured;
use crate::waiting::WaitedOnce;

/// Bytes a second of what is slow: no guess is so low.
const SLOW: u64 = PAGE_BYTES * 1_000_000_000 / SLOW_PAGE_NS;

/// From one request to the next: twice as long as volumes far away take to answer. Shorter, and the first windows of a stream there, each of
/// which is waited for until it has come all the way, are a slow transfer.
const LONG_NS: u64 = 16_000_000;

/// Access times for which what was asked for has to keep the device busy.
const ACCESSES_BUSY: u64 = 4;

/// One stream that reads on. All zero: none does.
#[derive(Debug, Default)]
pub(super) struct InTurn {
    asker: AtomicU64,
    /// The page behind what it has asked for.
    end: AtomicU64,
    /// Pages that it has asked for since it reads on, and that lay in front of its reader then.
    asked: AtomicU64,
    /// When it asked last, in nanoseconds, and how many of these pages its reader had come to.
    asked_ns: AtomicU64,
    reached: AtomicU64,
    /// How long its reader has waited since then.
    waited_ns: AtomicU64,
    waited: WaitedOnce,
    /// Pages that its reader came on between the two requests before, and how long that took; 0: not long, or not by waiting.
    before_pages: AtomicU64,
    before_ns: AtomicU64,
    /// The device had something else to do.
    is_over: AtomicBool,
}

impl InTurn {
    /// No stream reads on.
    pub(super) const fn new() -> Self {
        Self {
            asker: AtomicU64::new(0),
            end: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            asked_ns: AtomicU64::new(0),
            reached: AtomicU64::new(0),
            waited_ns: AtomicU64::new(0),
            waited: WaitedOnce::new(),
            before_pages: AtomicU64::new(0),
            before_ns: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        }
    }

    /// The device had something else to do.
    pub(super) fn on_other(&self) {
        self.is_over.store(true, Relaxed);
    }

    /// A reader waited `waited_ns` inside its window, until `now`.
    pub(super) fn on_wait(&self, waited_ns: u64, now: Timestamp) {
        let waited_ns = self.waited.on_wait(waited_ns, now);
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

    /// A stream asks. How fast its reader came on while it waited, if that took long twice in a row.
    fn on_ask(&self, ask: &Ask) -> Option<Measured> {
        let goes_on = self.goes_on(ask);
        let now_ns = ask.now.get();
        let asked_ns = self.asked_ns.swap(now_ns, Relaxed);
        let waited_ns = self.waited_ns.swap(0, Relaxed);
        if !goes_on {
            // What lies in front of its reader from before belongs to it as well.
            self.asked.store((ask.unread + ask.pages).get(), Relaxed);
            self.reached.store(0, Relaxed);
            self.before_ns.store(0, Relaxed);
            return None;
        }
        let asked = self.asked.fetch_add(ask.pages.get(), Relaxed);
        let reached = asked.saturating_sub(ask.unread.get());
        let read = reached.saturating_sub(self.reached.swap(reached, Relaxed));
        let elapsed_ns = now_ns.saturating_sub(asked_ns);
        let has_waited = waited_ns >= elapsed_ns - elapsed_ns / 8;
        let is_long = has_waited && elapsed_ns >= LONG_NS;
        let before_pages = self.before_pages.swap(read, Relaxed);
        let before_ns = self
            .before_ns
            .swap(if is_long { elapsed_ns } else { 0 }, Relaxed);
        if !is_long || before_ns == 0 {
            return None;
        }
        Measured::of(ask.pages, read + before_pages, elapsed_ns + before_ns)
    }
}

impl Device {
    /// Learns that it is slow before a measurement has ended.
    pub(super) fn measure_in_turn(&self, ask: &Ask) {
        let Some(seen) = self.in_turn.on_ask(ask) else {
            return;
        };
        let known = self.estimate();
        let is_news = match self.bandwidth_is.load(Relaxed) {
            GUESSED => seen.bytes_per_second < known.bytes_per_second,
            how => how == SEEN_SLOW,
        };
        // What took longer than was believed may have been an access.
        let access_ns = known.access_ns.max(self.slower_ns.load(Relaxed));
        let is_transfer = seen.time_ns(ask.unread) >= access_ns.saturating_mul(ACCESSES_BUSY);
        if is_news && is_transfer && seen.bytes_per_second < SLOW {
            self.bytes_per_second.store(seen.bytes_per_second, Relaxed);
            self.bandwidth_is.store(SEEN_SLOW, Relaxed);
        }
    }
}
