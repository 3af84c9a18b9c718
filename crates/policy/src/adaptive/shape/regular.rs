//! Regular steps: those that make a stride of a run. A step is the pages from the start of one access to that of the next one, with
//! [`DRIFTS`] where those before it were equal but for a page.

use super::candidate::YOUNG_GAP_PAGES;
use super::grid::{DRIFTS, Grid};
use crate::adaptive::access::Access;
use crate::adaptive::direction::Direction;
use crate::steering::steering;
use ahead_units::PAGE_BYTES;

steering! {
    /// Equal steps in a row that make a strided stream out of a run with holes. A reader that skips
    /// pages at random makes the same small step four times in a row every few hundred pages; six
    /// times it does not. More would only delay the first request.
    /// Evidence: docs/results/evidence/REGULAR_STEPS.csv
    pub(in crate::adaptive) REGULAR_STEPS: u8 = 6;
}

/// Set in the step of a run whose reads are elements of several strides in turn: the rest of it is the period in bytes.
const IN_TURN: u32 = 1 << 31;

/// Steps of more pages are taken for equal though they differ by one. Fewer, and those of a reader that leaves out pages at random
/// are; more, and every eighth record of a page is never noticed.
const NEARLY_EQUAL_PAGES: u64 = 7;

/// The step from `from` to `to`; 0 when it goes back, or too far to be that of a stride: 4 TiB.
pub(in crate::adaptive) fn step_between(from: u64, to: u64) -> u32 {
    let step = u32::try_from(to.saturating_sub(from)).unwrap_or(0);
    if step < DRIFTS { step } else { 0 }
}

/// The pages of a step; 0 of one [in turn](in_turn).
pub(in crate::adaptive) const fn pages_of(step: u32) -> u32 {
    if step & IN_TURN == 0 {
        step & !DRIFTS
    } else {
        0
    }
}

/// The step of a run whose reads are elements of strides of this period, one of each in turn. `None`: it does not fit.
pub(in crate::adaptive) fn in_turn(period: u64) -> Option<u32> {
    let bytes = u32::try_from(period).ok()?;
    (bytes < IN_TURN).then_some(bytes | IN_TURN)
}

/// The period of a step [in turn](in_turn).
pub(in crate::adaptive) fn period_in_turn(step: u32) -> Option<u64> {
    (step & IN_TURN != 0).then(|| u64::from(step & !IN_TURN))
}

/// Whether the kernel may read through the hole of such a step.
pub(in crate::adaptive) fn is_short(step: u32) -> bool {
    u64::from(step) <= NEARLY_EQUAL_PAGES
}

/// Whether a step of `pages` to `access` is as long as those before, `step`, but for a page, after a read of `length` pages: of a period of
/// no whole pages each of some steps is. Where less lies between two accesses than they read, that is read as well; wide strides are
/// seen by their bytes (what such a run takes for its own begins none).
pub(in crate::adaptive) fn is_nearly_equal(
    step: u32,
    pages: u32,
    length: u16,
    access: &Access,
) -> bool {
    let read = access.len().get();
    let expected = pages_of(step);
    access.is_unaligned()
        && u64::from(expected) > (2 * read).max(NEARLY_EQUAL_PAGES)
        && u64::from(expected) <= YOUNG_GAP_PAGES.get()
        && pages.abs_diff(expected) <= 1
        && read.abs_diff(u64::from(length)) <= 1
}

/// Where the elements are of a run whose steps were all `step`, and which is at `access`.
pub(in crate::adaptive) fn grid(step: u32, direction: Direction, access: &Access) -> Option<Grid> {
    let period = u64::from(pages_of(step)) * PAGE_BYTES;
    let grid = Grid::of(direction, period, access);
    if step & DRIFTS == 0 {
        Some(grid)
    } else {
        grid.drifting(access)
    }
}
