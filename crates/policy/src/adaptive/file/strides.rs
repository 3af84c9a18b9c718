//! Strides that begin in a file.

use crate::adaptive::direction::Direction;
use crate::adaptive::recent::SeenStride;
use crate::adaptive::shape::drift;
use crate::adaptive::shape::grid::Grid;
use crate::adaptive::shape::regular::REGULAR_STEPS;
use crate::device::DeviceEstimate;
use crate::steering::steering;

steering! {
    /// Accesses for which no wide stride is believed after one turned out to be a round over
    /// streams. Fewer, and every round of a merge begins a false one; more, and a file that was
    /// merged once is never seen to be read by columns.
    /// Evidence: docs/results/evidence/ROUNDS_REMEMBERED.csv
    ROUNDS_REMEMBERED: u32 = 1 << 16;
}

/// Elements that count as seen of a stride that arms pass by, if only the pages of its steps are equal: five more have to come as
/// expected. Among eight accesses that are off by some kilobytes there are three such again and again, and what is asked for by them
/// sends the arms away. More than this, and two or three of those come as expected: 64 KiB of every 525 311 bytes, off by up to 8 KiB, take
/// a stripe of eight disks 2.6 times as long with 4 as with the kernel alone, 1.1 times with 1.
const SEEN_BY_PAGES_ALONE: u8 = 1;

/// A stride that begins on some device.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewStride {
    /// Where its elements are.
    pub(super) grid: Grid,
    /// Elements that count as come where they were expected.
    pub(super) regular: u8,
    /// Arms are sent to its elements, and away from others: an older one that it takes the place of has cost something.
    pub(super) is_of_arms: bool,
}

impl NewStride {
    /// `stride`, on `device`.
    pub(super) fn of(stride: &SeenStride, device: &DeviceEstimate) -> Self {
        let grid = stride.grid;
        // Arms that are not sent away are soon at what follows, be they one or several.
        let passes_by = device.is_slow_to_access() && grid.direction == Direction::Forward;
        let regular = if stride.is_by_pages_alone && passes_by {
            SEEN_BY_PAGES_ALONE
        } else if grid.drifts {
            // Off by something from the first on: that they are not off by more has to be seen.
            drift::SEEN
        } else {
            REGULAR_STEPS.get()
        };
        Self {
            grid,
            regular,
            is_of_arms: passes_by || device.is_positioned_for(),
        }
    }
}

/// When evenly spaced streams, read in turn, were last taken for one stride, by the accesses of their file; 0: never.
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
