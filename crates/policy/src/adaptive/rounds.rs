//! Evenly spaced streams, read in turn, that were taken for one stride: a round over them looks like one.

use crate::steering::steering;

steering! {
    /// Accesses for which no wide stride is believed after one turned out to be a round over
    /// streams. Fewer, and every round of a merge begins a false one; more, and a file that was
    /// merged once is never seen to be read by columns.
    /// Evidence: docs/results/evidence/ROUNDS_REMEMBERED.csv
    ROUNDS_REMEMBERED: u32 = 1 << 16;
}

/// When they were last seen to be streams, by the accesses of their file; 0: never.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds(u32);

impl Rounds {
    /// They turned out to be streams at `tick`.
    pub(super) fn on_seen(&mut self, tick: u32) {
        self.0 = tick.max(1);
    }

    /// Whether wide strides are not believed at `tick`.
    pub(super) fn are_recent(self, tick: u32) -> bool {
        self.0 != 0 && tick.wrapping_sub(self.0) < ROUNDS_REMEMBERED.get()
    }
}
