//! Whether a device is at work on what was asked for when a read begins to wait.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use ahead_units::Timestamp;

/// So many waits in a row that are much shorter than an access is believed to take refute that the device is busy, and what was kept of it: it
/// may be another one by now, and from an arm to flash is a long way in steps of an eighth. One could be an answer of the disk's own memory.
pub(super) const REFUTING_WAITS: u32 = 2;

/// What is believed of it. All zero: it has nothing to do.
#[derive(Debug, Default)]
pub(super) struct Busy {
    /// When all that was asked for is expected to have arrived.
    until: AtomicU64,
    /// Waits in a row that were too short for a device that is busy until then.
    idle_waits: AtomicU32,
}

impl Busy {
    /// It has nothing to do.
    pub(super) const fn new() -> Self {
        Self {
            until: AtomicU64::new(0),
            idle_waits: AtomicU32::new(0),
        }
    }

    /// Something is asked for that takes so long.
    pub(super) fn on_ask(&self, taken_ns: u64, now: Timestamp) {
        let from = self.until.load(Relaxed).max(now.get());
        self.until.store(from.saturating_add(taken_ns), Relaxed);
    }

    /// Until when it is expected to be at work, in nanoseconds.
    pub(super) fn until_ns(&self) -> u64 {
        self.until.load(Relaxed)
    }

    /// A read waited, until `now`. Some in a row that were too short (`is_short`) were behind nothing: what was asked for has arrived sooner than
    /// expected, as by a guess it often has.
    pub(super) fn on_wait(&self, is_short: bool, now: Timestamp) {
        if !is_short {
            self.idle_waits.store(0, Relaxed);
        } else if self.idle_waits.fetch_add(1, Relaxed) + 1 >= REFUTING_WAITS {
            self.idle_waits.store(0, Relaxed);
            self.until.fetch_min(now.get(), Relaxed);
        }
    }

    /// Whether nothing was expected to be on its way when a wait of `waited_ns`, until `now`, began.
    pub(super) fn was_idle(&self, waited_ns: u64, now: Timestamp) -> bool {
        now.get().saturating_sub(waited_ns) >= self.until.load(Relaxed)
    }
}
