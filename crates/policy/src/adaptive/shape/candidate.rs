//! A candidate: one access that nothing explained, kept in case the next one continues it.
//!
//! It has no direction yet, so its places are pages: [`Window::next`] is the end of the access,
//! [`Window::frontier`] its start. The access that continues it may touch either side.

use super::fit::{Fit, within};
use crate::adaptive::direction::Direction;
use crate::adaptive::window::Window;
use crate::steering::steering;
use ahead_units::PageRange;

steering! {
    /// Pages that a hole may have while a stream is still young. Larger, and random reads of a small
    /// file look like sparse streams; smaller, and a reader of one page in ten is never noticed.
    /// Evidence: docs/results/evidence/YOUNG_GAP_PAGES.csv
    pub(in crate::adaptive) YOUNG_GAP_PAGES: u64 = 32;
}

/// Whether `access` continues the candidate, on either side.
#[inline]
pub(in crate::adaptive) fn fit(window: &Window, access: PageRange) -> Fit {
    let (start, end) = (access.start.get(), access.end.get());
    let (low, high) = (window.frontier, window.next);
    let gap = YOUNG_GAP_PAGES.get();
    // Nearly all comparisons end here, so it is one: from a gap before the candidate to a gap
    // behind it.
    let from_low = start.wrapping_sub(low).wrapping_add(end - start + gap);
    if from_low > (high - low) + (end - start) + 2 * gap {
        return Fit::None;
    }
    if start == high || end == low {
        Fit::Exact
    } else if within(start, low, high + gap) || within(end, low.saturating_sub(gap), high) {
        Fit::Near
    } else {
        Fit::None
    }
}

/// Whether nothing lies between the candidate and `access`.
pub(in crate::adaptive) fn touches(window: &Window, access: PageRange) -> bool {
    access.start.get() <= window.next && access.end.get() >= window.frontier
}

/// Which way a stream goes that began with the candidate and continues with `access`; `None` when
/// these are the same pages again.
pub(in crate::adaptive) fn direction(window: &Window, access: PageRange) -> Option<Direction> {
    let (low, high) = (window.frontier, window.next);
    if access.start.get() >= low && access.end.get() <= high {
        None
    } else if access.end.get() > high {
        Some(Direction::Forward)
    } else {
        Some(Direction::Backward)
    }
}

/// The access that the candidate was made of.
pub(in crate::adaptive) fn access(window: &Window) -> PageRange {
    PageRange::new(window.frontier, window.next)
}
