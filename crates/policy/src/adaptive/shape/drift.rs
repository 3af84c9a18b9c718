//! Strides whose elements are off by some bytes.
//!
//! Their grid moves with its reader: each element is where the next one is counted from, the period follows the steps, and elements
//! are asked for with [`SLACK_BYTES`] on both sides. It goes by bytes.

use super::grid::{Grid, SKIPPED_ELEMENTS_MAX, SLACK_BYTES};
use crate::adaptive::access::Access;
use crate::adaptive::window::Window;
use ahead_units::PAGE_BYTES;

/// How far an element may begin from where it was expected, either way: a page. What is off by more than a few hundred bytes is never
/// asked for, see [`Drift::steady`]; but as long as it belongs to its stride, no other one is seen in the same reads, to break a
/// dozen elements later. Less, and that costs an arm two accesses each time; more, and one that is over goes on.
pub(in crate::adaptive) const OFF_BYTES_MOST: u64 = PAGE_BYTES;

/// The same for a stride that begins, to be asked for as soon as it is one.
pub(in crate::adaptive) const OFF_BYTES_FEW: u64 = SLACK_BYTES / STEADY_FEWEST as u64;

/// Parts in which the period follows a step that is off. 1, and one that is off by chance moves all that is asked for; more, and
/// steps that grow are never caught up with.
const PARTS_FOLLOWED: u64 = 4;

/// Fewest elements that come within the slack of a stride that is asked for, and those of one of pages that turns out to drift: by how
/// much is not known, but by less than a page in as many.
const STEADY_FEWEST: u8 = 6;

/// Elements of a drifting stride that are asked for at once, one part in so many of those that come within the slack: two requests are
/// on their way at once, and what is off adds up.
const PARTS_BELIEVED: u64 = 4;

/// One that is read and one that follows.
const BELIEVED_FEWEST: u64 = 2;

/// Most elements of a drifting stride that are asked for at once, `steady` of which came within the slack.
pub(super) fn believed(steady: u64) -> u64 {
    let steady = steady.min(u64::from(u8::MAX));
    (steady / PARTS_BELIEVED).max(BELIEVED_FEWEST)
}

/// An element that is off, and what that makes of its stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Drift {
    /// The grid from now on.
    pub(super) grid: Grid,
    /// Where the element begins, and where it was expected.
    place: u64,
    expected: u64,
    /// The period that the window had.
    period_before: u64,
    /// Elements that the reader left out.
    skipped: u64,
    /// Elements that come one after the other within the slack, if each is off by as much as this one.
    pub(super) steady: u8,
}

/// How `access` is off, if it is an element in spite of that.
pub(super) fn drift(window: &Window, grid: &Grid, access: &Access) -> Option<Drift> {
    let moving = grid.drifting(access)?;
    let place = moving.place(access);
    if grid.is_of_pages() {
        // Off by one page, which pages that begin at the same place in it never are.
        let is_off = grid.place(access).abs_diff(window.next) == PAGE_BYTES;
        let is_aligned = access.bytes.start.get().is_multiple_of(PAGE_BYTES);
        return (is_off && !is_aligned).then_some(Drift {
            grid: moving,
            place,
            expected: window.next,
            period_before: grid.period,
            skipped: 0,
            steady: STEADY_FEWEST,
        });
    }
    let period = moving.period;
    let skipped = (place + OFF_BYTES_MOST).checked_sub(window.next)? / period;
    let expected = window.next.saturating_add(skipped.saturating_mul(period));
    let off = place.abs_diff(expected);
    if off == 0 || off > OFF_BYTES_MOST || skipped > SKIPPED_ELEMENTS_MAX.get() {
        return None;
    }
    let followed = (off / ((skipped + 1) * PARTS_FOLLOWED)).max(1);
    let period = if place > expected {
        period + followed
    } else {
        period - followed
    };
    Some(Drift {
        grid: Grid { period, ..moving }.drifting(access)?,
        place,
        expected,
        period_before: grid.period,
        skipped,
        steady: u8::try_from(SLACK_BYTES / off).unwrap_or(u8::MAX),
    })
}

impl Drift {
    /// Whether it is the next element, and what was asked for of a stride that drifts is enough for it.
    pub(super) fn is_expected(&self) -> bool {
        self.skipped == 0 && self.place.abs_diff(self.expected) <= SLACK_BYTES
    }

    /// Whether what was asked for of a stride that drifts, by `window`, is enough for it.
    pub(super) fn is_covered(&self, window: &Window) -> bool {
        self.place.abs_diff(self.expected) <= SLACK_BYTES && self.expected < window.frontier
    }

    /// The reader is at the element, and the window moves with it, as far as elements on their way are still believed to come within the
    /// slack; `has_slack`: they were asked for with it. False: some are asked for anew.
    pub(super) fn move_window(&self, window: &mut Window, has_slack: bool) -> bool {
        let period = self.grid.period;
        let asked = window.frontier.saturating_sub(window.next);
        let ahead = asked.checked_div(self.period_before).unwrap_or(0);
        window.next = self.place.saturating_add(period);
        let rest = ahead.saturating_sub(self.skipped + 1);
        let kept = if has_slack {
            rest.min(2 * believed(u64::from(self.steady)))
        } else {
            0
        };
        if kept < rest {
            let tail = window.tail.min(u32::try_from(kept).unwrap_or(u32::MAX));
            (window.frontier, window.tail) = (window.next + kept * period, tail.max(1));
            return false;
        }
        let frontier = self.place.saturating_add(ahead.saturating_mul(period));
        window.frontier = frontier.saturating_sub(self.skipped.saturating_mul(period));
        true
    }

    /// Whether enough of them come within the slack, if each is off by as much, for a stride to be asked for.
    pub(super) fn is_steady(&self) -> bool {
        self.steady >= STEADY_FEWEST
    }

    /// The reader is at the element, and the next one is expected where it was.
    pub(super) fn pass(&self, window: &mut Window) {
        window.next = self.expected.saturating_add(self.period_before);
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
        let mut grid = Grid::of(Direction::Forward, period, &access(starts[2]));
        let mut steady = 0;
        let mut window = Window {
            next: starts[2] + period,
            frontier: starts[2] + period * (elements + 1),
            ..Window::default()
        };
        for start in &starts[3..] {
            let drift = drift(&window, &grid, &access(*start)).expect("an element");
            drift.move_window(&mut window, true);
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
    fn an_element_that_is_off_may_lie_behind_some_that_were_left_out() {
        let (window, grid, steady) = moved(&[5, 50_010, 100_015, 250_430], 7);
        assert_eq!((grid.drifts, grid.period), (true, 50_005 + 400 / 12));
        assert_eq!(window.next, 250_430 + grid.period);
        assert_eq!(window.frontier, window.next + 4 * grid.period);
        assert_eq!(steady, 5, "off by 400");
    }

    #[test]
    fn what_is_too_far_ahead_for_a_drift_is_asked_for_anew() {
        let (window, grid, steady) = moved(&[5, 50_010, 100_015, 150_120], 63);
        assert_eq!((grid.period, steady), (50_005 + 25, 20), "off by 100");
        assert_eq!(window.frontier, window.next + 2 * 5 * grid.period);
    }

    #[test]
    fn what_is_off_by_more_than_a_page_is_no_element() {
        let access = |start: u64| Access::from(ByteRange::new(start, start + 1000));
        let grid = Grid::of(Direction::Forward, 50_005, &access(5));
        let window = Window {
            next: 50_010,
            ..Window::default()
        };
        let is_one = |start| drift(&window, &grid, &access(start)).is_some();
        assert!(is_one(50_010 + 4096) && is_one(50_010 - 4096));
        assert!(!is_one(50_010 + 4097) && !is_one(50_010 - 4097));
        assert!(is_one(50_010 + 4 * 50_005 + 1) && !is_one(50_010 + 5 * 50_005 + 1));
        let close = Grid::of(Direction::Forward, 13_001, &access(5));
        assert!(
            drift(&window, &close, &access(50_020)).is_none(),
            "no page is left out"
        );
    }
}
