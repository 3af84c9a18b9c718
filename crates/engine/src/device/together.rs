//! Whether a device serves several requests at once: what it keeps of what its files find out ([`crate::file`]).

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Elements that are left alone before some are asked for at once. Fewer, and an arm is sent away from what it passes by where it would have been
/// seen that it does; more, and what is far away is read one by one for longer.
const LEFT_ALONE: u32 = 16;

/// Each time that it shows nothing the next one is after so many times as many, in bits.
const FACTOR_BITS: u32 = 2;

/// But not more often than that: 16 384.
const TIMES_MAX: u32 = 5;

/// So many times in a row are no chance.
const SHOWN_TIMES: u32 = 2;

/// The newest wait counts for one part in so many.
const MEAN_PARTS: u64 = 4;

/// All zero: nothing was left alone.
#[derive(Debug, Default)]
pub(super) struct Together {
    /// Elements left alone since some were asked for.
    left_alone: AtomicU32,
    /// Times that these showed nothing, in a row.
    times: AtomicU32,
    /// Times that they were served together, in a row.
    shown: AtomicU32,
    /// What a read waits that nothing had asked for.
    alone_ns: AtomicU64,
}

impl Together {
    pub(super) const fn new() -> Self {
        Self {
            left_alone: AtomicU32::new(0),
            times: AtomicU32::new(0),
            shown: AtomicU32::new(0),
            alone_ns: AtomicU64::new(0),
        }
    }

    /// A read waited `waited_ns` that nothing had asked for.
    pub(super) fn on_alone(&self, waited_ns: u64) {
        let before = self.alone_ns.load(Relaxed);
        let mean = if before == 0 {
            waited_ns
        } else {
            before - before / MEAN_PARTS + waited_ns / MEAN_PARTS
        };
        self.alone_ns.store(mean, Relaxed);
    }

    /// What such a read waits in the mean; 0 before the first.
    pub(super) fn alone_ns(&self) -> u64 {
        self.alone_ns.load(Relaxed)
    }

    /// One more element is left alone that was waited for. Whether some are to be asked for at once.
    pub(super) fn on_left_alone(&self) -> bool {
        let times = self.times.load(Relaxed).min(TIMES_MAX);
        let left_alone = self.left_alone.fetch_add(1, Relaxed) + 1;
        let is_due = left_alone >= LEFT_ALONE << (times * FACTOR_BITS);
        if is_due {
            self.left_alone.store(0, Relaxed);
            self.times.store(times + 1, Relaxed);
        }
        is_due
    }

    /// They were served together, or not. Whether they were twice in a row.
    pub(super) fn on_shown(&self, are_together: bool) -> bool {
        if !are_together {
            self.shown.store(0, Relaxed);
            return false;
        }
        self.times.store(0, Relaxed);
        self.left_alone.store(LEFT_ALONE, Relaxed);
        self.shown.fetch_add(1, Relaxed) + 1 >= SHOWN_TIMES
    }
}
