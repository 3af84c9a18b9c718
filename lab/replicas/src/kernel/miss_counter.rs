//! Whether reading around faults is of any use for a mapping, 2.6.31 to now.
//!
//! One counter per open file: a fault on an absent page adds one, a page found cached takes one
//! away. Above [`MISSES_MANY`] faults bring their page alone,
//! until enough of them hit. It never goes below 0; where it stops above changed.

use super::window_sizes::MISSES_MANY;

/// Where the counter stops since 3.0: far enough above [`MISSES_MANY`] that a few hits do not bring
/// read-around back, near enough that a thousand do.
pub(super) const MISSES_MAX: u64 = 10 * MISSES_MANY;

/// Where it stopped before.
pub(super) const MISSES_MAX_2_6_31: u64 = (1 << 31) - 1;

/// Misses not yet made up for by hits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MissCounter(u64);

impl MissCounter {
    /// A file just opened.
    pub(super) const fn new() -> Self {
        Self(0)
    }

    /// What tracepoints print.
    pub(super) const fn get(self) -> u64 {
        self.0
    }

    /// A fault found its page absent. Whether reading around it may still be of use.
    pub(super) fn on_miss(&mut self, misses_max: u64) -> bool {
        self.0 = (self.0 + 1).min(misses_max);
        self.0 <= MISSES_MANY
    }

    /// So many pages were found cached.
    pub(super) const fn on_hits(&mut self, pages: u64) {
        self.0 = self.0.saturating_sub(pages);
    }
}
