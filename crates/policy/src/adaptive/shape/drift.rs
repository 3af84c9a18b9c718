//! Strides whose elements are off by some bytes.
//!
//! Their grid moves with its reader: each element is where the next one is counted from, the period follows the steps, and elements
//! are asked for with [`SLACK_BYTES`] on both sides. It goes by bytes.

use super::grid::{ELEMENTS_FEWEST, Grid, SLACK_BYTES};
use crate::adaptive::access::Access;
use crate::adaptive::window::Window;
use ahead_units::PAGE_BYTES;

/// How far an element may begin from where it was expected, either way: so far that six that are each off by as much come within the
/// slack. What is off by more would be asked for in vain.
pub(in crate::adaptive) const OFF_BYTES_MOST: u64 = SLACK_BYTES / 6;

/// The same for the next element of a stride of which only the pages of its steps are known.
const OFF_BYTES_NEWBORN: u64 = PAGE_BYTES;

/// Parts in which the period follows a step that is off. 1, and one that is off by chance moves all that is
/// asked for; more, and steps that grow are never caught up with.
const PARTS_FOLLOWED: u64 = 4;

/// Elements that a stride has seen which begins to drift: one more than one has of which only pages are known.
pub(in crate::adaptive) const SEEN: u8 = SEEN_BY_PAGES + 1;

/// The same of one of which only the pages of its steps are known.
pub(in crate::adaptive) const SEEN_BY_PAGES: u8 = 3;

/// Most elements that are believed to come within the slack: one that is off by some bytes is not one that never is.
const STEADY_MOST: u8 = 191;

/// Elements of a drifting stride that are asked for at once, one part in so many of those that come within the slack: two requests are
/// on their way at once, and what is off adds up.
const PARTS_BELIEVED: u64 = 4;

/// Most elements of a drifting stride that are asked for at once, `steady` of which came within the slack.
pub(super) fn believed(steady: u64) -> u64 {
    (steady / PARTS_BELIEVED).max(ELEMENTS_FEWEST)
}

/// An element that is off, and what that makes of its stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Drift {
    /// The grid from now on.
    pub(super) grid: Grid,
    /// Where the element begins.
    place: u64,
    /// Elements that come one after the other within the slack, if each is off by as much as this one.
    pub(super) steady: u8,
}

/// How `access` is off, if it is an element in spite of that; `seen` of them came.
pub(super) fn drift(window: &Window, grid: &Grid, access: &Access, seen: u8) -> Option<Drift> {
    let moving = grid.drifting(access)?;
    let place = moving.place(access);
    if grid.is_of_pages() {
        // Off by one page, which pages that begin at the same place in it never are.
        let is_off = grid.place(access).abs_diff(window.next) == PAGE_BYTES;
        let is_aligned = access.bytes.start.get().is_multiple_of(PAGE_BYTES);
        return (is_off && !is_aligned).then_some(Drift {
            grid: moving,
            place,
            steady: SEEN,
        });
    }
    let is_newborn = grid.drifts && seen == SEEN_BY_PAGES;
    let off_most = if is_newborn {
        OFF_BYTES_NEWBORN
    } else {
        OFF_BYTES_MOST
    };
    // One that was left out is not told from one that is off by a part of the period.
    let off = place.abs_diff(window.next);
    if off == 0 || off > off_most {
        return None;
    }
    let parts = if is_newborn { 1 } else { PARTS_FOLLOWED };
    let followed = (off / parts).max(1);
    let period = if !grid.drifts {
        // The first that is off may be a shift.
        grid.period
    } else if place > window.next {
        grid.period + followed
    } else {
        grid.period - followed
    };
    let steady = u8::try_from(SLACK_BYTES / off).unwrap_or(STEADY_MOST);
    Some(Drift {
        grid: Grid { period, ..moving }.drifting(access)?,
        place,
        steady: steady.clamp(SEEN, STEADY_MOST),
    })
}

impl Drift {
    /// Whether what was asked for of a stride that drifts, by `window`, is enough for it.
    pub(super) fn is_covered(&self, window: &Window) -> bool {
        self.place.abs_diff(window.next) <= SLACK_BYTES && window.next < window.frontier
    }

    /// The reader is at the element, and the window moves with it, as far as elements on their way are still believed to come within the
    /// slack, which those of a grid that drifted `before` were asked for with. False: some are asked for anew.
    pub(super) fn move_window(&self, window: &mut Window, before: &Grid) -> bool {
        let period = self.grid.period;
        let asked = window.frontier.saturating_sub(window.next);
        let ahead = asked.checked_div(before.period).unwrap_or(0);
        window.next = self.place.saturating_add(period);
        let rest = ahead.saturating_sub(1);
        let kept = if before.drifts {
            rest.min(2 * believed(u64::from(self.steady)))
        } else {
            0
        };
        if kept < rest {
            let tail = window.tail.min(u32::try_from(kept).unwrap_or(u32::MAX));
            (window.frontier, window.tail) = (window.next + kept * period, tail.max(1));
            return false;
        }
        window.frontier = self.place.saturating_add(ahead.saturating_mul(period));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adaptive::direction::Direction;
    use ahead_units::ByteRange;

    /// Reads of 1000 bytes at `starts`, the first three of which make the window of a stride whose `elements` next ones are on their way.
    fn moved(starts: &[u64], elements: u64) -> (Window, Grid, u8) {
        let access = |start: u64| Access::from(ByteRange::new(start, start + 1000));
        let period = starts[2] - starts[1];
        let grid = Grid::of(Direction::Forward, period, &access(starts[2]));
        let mut grid = Grid {
            drifts: true,
            ..grid
        };
        let mut steady = 0;
        let mut window = Window {
            next: starts[2] + period,
            frontier: starts[2] + period * (elements + 1),
            ..Window::default()
        };
        for start in &starts[3..] {
            let drift = drift(&window, &grid, &access(*start), 9).expect("an element");
            drift.move_window(&mut window, &grid);
            (grid, steady) = (drift.grid, drift.steady);
        }
        (window, grid, steady)
    }

    #[test]
    fn the_window_moves_with_an_element_that_is_off_and_keeps_those_that_are_on_their_way() {
        let (window, grid, steady) = moved(&[5, 50_010, 100_015, 150_060], 7);
        assert_eq!((grid.drifts, grid.period), (true, 50_005 + 10));
        assert_eq!(window.next, 150_060 + 50_015);
        assert_eq!(window.frontier, window.next + 6 * 50_015);
        assert_eq!(steady, 51, "off by 40");
    }

    #[test]
    fn what_is_too_far_ahead_for_a_drift_is_asked_for_anew() {
        let (window, grid, steady) = moved(&[5, 50_010, 100_015, 150_120], 63);
        assert_eq!((grid.period, steady), (50_005 + 25, 20), "off by 100");
        assert_eq!(window.frontier, window.next + 2 * 5 * grid.period);
    }

    #[test]
    fn what_is_off_by_more_than_may_add_up_is_no_element() {
        let access = |start: u64| Access::from(ByteRange::new(start, start + 1000));
        let grid = Grid::of(Direction::Forward, 50_005, &access(5));
        let window = Window {
            next: 50_010,
            ..Window::default()
        };
        let is_one = |start| drift(&window, &grid, &access(start), 9).is_some();
        assert!(is_one(50_010 + 341) && is_one(50_010 - 341));
        assert!(!is_one(50_010 + 342) && !is_one(50_010 - 342));
        let close = Grid::of(Direction::Forward, 13_001, &access(5));
        assert!(
            drift(&window, &close, &access(50_020), 9).is_none(),
            "no page is left out"
        );
    }
}
