//! Whether a device serves several requests at once: what it keeps of what its files find out ([`crate::file`]).

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Elements that are left alone before some are asked for at once. Fewer, and an arm is sent away from what it passes by where it would have been
/// seen that it does; more, and what is far away is read one by one for longer.
const LEFT_ALONE: u32 = 16;

/// Each time that it shows nothing the next one is after so many times as many, in bits.
const FACTOR_BITS: u32 = 2;

/// But not more rarely than after 16 384.
const TIMES_MAX: u32 = 5;

/// So many times in a row are no chance.
const SHOWN_TIMES: u32 = 2;

/// All zero: nothing was left alone.
#[derive(Debug, Default)]
pub(super) struct Together {
    /// Elements left alone since some were asked for.
    left_alone: AtomicU32,
    /// Times that these showed nothing, in a row.
    times: AtomicU32,
    /// Times that they were served together, in a row.
    shown: AtomicU32,
}

impl Together {
    pub(super) const fn new() -> Self {
        Self {
            left_alone: AtomicU32::new(0),
            times: AtomicU32::new(0),
            shown: AtomicU32::new(0),
        }
    }

    /// One more element is left alone that was waited for. Whether some are to be asked for at once.
    pub(super) fn on_left_alone(&self) -> bool {
        let due = self.due();
        let is_due = self.left_alone.fetch_add(1, Relaxed) + 1 >= due;
        if is_due {
            self.left_alone.store(0, Relaxed);
            self.times.fetch_add(1, Relaxed);
        }
        is_due
    }

    /// After how many that is.
    fn due(&self) -> u32 {
        let times = self.times.load(Relaxed).min(TIMES_MAX);
        LEFT_ALONE << (times * FACTOR_BITS)
    }

    /// None were, after all.
    pub(super) fn on_not_asked(&self) {
        let less = |times: u32| Some(times.saturating_sub(1));
        let _ = self.times.fetch_update(Relaxed, Relaxed, less);
    }

    /// They came together, or one by one. Whether they came together so often that it is no chance.
    pub(super) fn on_shown(&self, are_together: bool) -> bool {
        if !are_together {
            self.shown.store(0, Relaxed);
            return false;
        }
        let is_sure = self.shown.fetch_add(1, Relaxed) + 1 >= SHOWN_TIMES;
        if is_sure {
            self.shown.store(0, Relaxed);
            self.times.store(0, Relaxed);
        }
        // Again with the next one that is left alone.
        self.left_alone.store(self.due(), Relaxed);
        is_sure
    }
}
