//! A stride of which three elements were seen, and what that says on some device.

use super::direction::Direction;
use super::shape::drift;
use super::shape::grid::Grid;
use super::shape::regular::REGULAR_STEPS;
use crate::device::DeviceEstimate;

/// Elements that count as come where they were expected of a stride that arms pass by, if only the pages of its steps are equal: five more
/// have to come so. Among eight accesses that are off by some kilobytes there are three such again and again, and what is asked for
/// by them sends the arms away. More than this, and two or three of those come as expected: 64 KiB of every 525 311 bytes, off by up to
/// 8 KiB, take a stripe of eight disks 2.6 times as long with 4 as with the kernel alone, 1.1 times with 1.
const REGULAR_BY_PAGES_ALONE: u8 = 1;

/// A stride of which three elements were seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenStride {
    /// Where its elements are.
    pub(super) grid: Grid,
    /// Only the pages of its steps are equal, their bytes are not: where the next element is follows from them less surely.
    pub(super) is_by_pages_alone: bool,
}

impl SeenStride {
    /// Elements that count on `device` as come where they were expected.
    pub(super) fn regular_on(&self, device: &DeviceEstimate) -> u8 {
        if self.is_by_pages_alone && self.is_passed_by(device) {
            REGULAR_BY_PAGES_ALONE
        } else if self.grid.drifts {
            // Off by something from the first on: that they are not off by more has to be seen.
            drift::SEEN
        } else {
            REGULAR_STEPS.get()
        }
    }

    /// Whether arms of `device` are sent to its elements, and away from others: an older stride whose place it takes has cost something.
    pub(super) fn is_of_arms_of(&self, device: &DeviceEstimate) -> bool {
        device.is_positioned_for() || self.is_passed_by(device)
    }

    /// Whether arms, be they one or several, are soon at its elements by themselves, unless they are sent away.
    fn is_passed_by(&self, device: &DeviceEstimate) -> bool {
        device.is_slow_to_access() && self.grid.direction == Direction::Forward
    }
}
