//! Whether a device is at work on what was asked for when a read begins to wait.

use core::sync::atomic::Ordering::Relaxed;

use ahead_units::{PageCount, Timestamp};

use super::waits::SLOW_PAGE_NS;
use super::{Device, GUESSED, REFUTING_WAITS, SLOWER_FACTOR};

impl Device {
    /// `pages` are asked for by nobody's stream, for a file that is [filled in](crate::filling).
    pub(crate) fn on_filled_in(&self, pages: PageCount, now: Timestamp) {
        self.expect(pages, now);
    }

    /// Of a read that waited `waited_ns`, until `now`, the time in which no other read of the device did.
    pub(crate) fn waited_once(&self, waited_ns: u64, now: Timestamp) -> u64 {
        self.waited.on_wait(waited_ns, now)
    }

    /// The device is expected to be busy with `pages` more.
    pub(super) fn expect(&self, pages: PageCount, now: Timestamp) {
        let believed = self.estimate();
        let from = self.busy_until.load(Relaxed).max(now.get());
        // A guess may be ten times too fast, and who is behind a queue would seem to wait for one access.
        let transfer_ns = if self.bandwidth_is.load(Relaxed) == GUESSED {
            pages.get().saturating_mul(SLOW_PAGE_NS)
        } else {
            believed.transfer_ns(pages)
        };
        let taken_ns = transfer_ns.saturating_add(believed.access_ns);
        self.busy_until
            .store(from.saturating_add(taken_ns), Relaxed);
    }

    /// Some waits in a row that are shorter by [`SLOWER_FACTOR`] than one access is believed to take were
    /// behind nothing: what was asked for has arrived sooner than expected, as by a guess it often has.
    pub(super) fn try_busy(&self, waited_ns: u64, now: Timestamp) {
        let known = self.access_ns.load(Relaxed);
        if waited_ns.saturating_mul(SLOWER_FACTOR) >= known {
            self.idle_waits.store(0, Relaxed);
        } else if self.idle_waits.fetch_add(1, Relaxed) + 1 >= REFUTING_WAITS {
            self.idle_waits.store(0, Relaxed);
            self.busy_until.fetch_min(now.get(), Relaxed);
        }
    }

    /// Whether nothing that streams asked for was expected to be on its way when a wait of `waited_ns`, until `now`, began.
    #[must_use]
    pub fn was_idle(&self, waited_ns: u64, now: Timestamp) -> bool {
        now.get().saturating_sub(waited_ns) >= self.busy_until.load(Relaxed)
    }

    /// Whether a wait that ended `now` can be believed at once: it is no longer than an access is
    /// believed to take, or nothing that was asked for was still on its way when it began.
    pub(super) fn is_believable(&self, waited_ns: u64, now: Timestamp) -> bool {
        waited_ns <= self.access_ns.load(Relaxed) || self.was_idle(waited_ns, now)
    }
}
