//! Where the elements of a strided stream are.
//!
//! A period of whole pages goes by pages: where in its page an access begins and ends says nothing then.
//! Any other period goes by bytes, because counted in pages its steps would differ; so does one that [drifts](super::drift).

use super::candidate::YOUNG_GAP_PAGES;
use super::sparse::Density;
use crate::adaptive::access::Access;
use crate::adaptive::direction::Direction;
use crate::adaptive::window::Window;
use ahead_units::PAGE_BYTES;

/// One that is read and one that follows.
pub(super) const ELEMENTS_FEWEST: u64 = 2;

/// Bytes that are asked for on each side of an element where elements are off by something: half a page, so that it costs one page.
/// More, and each element costs several.
pub(super) const SLACK_BYTES: u64 = PAGE_BYTES / 2;

/// Least hole of a grid that drifts: what is asked for on both sides of it leaves a page out, wherever it begins.
const DRIFTING_HOLE_BYTES: u64 = 2 * SLACK_BYTES + 2 * PAGE_BYTES;

/// Set in a packed period of pages; without it, it is one of bytes.
const IN_PAGES: u32 = 1 << 31;
/// Set in a packed period that drifts, and in the step of a run whose steps are equal but for a page.
pub(in crate::adaptive) const DRIFTS: u32 = 1 << 30;

/// A period of so many bytes in 32 bits; `None` where it does not fit: 1 GiB and more that are no whole pages,
/// and 4 TiB.
pub(in crate::adaptive) fn packed(period: u64) -> Option<u32> {
    let exact = u32::try_from(period).ok().filter(|bytes| *bytes < DRIFTS);
    let in_pages = || {
        let pages = u32::try_from(period / PAGE_BYTES).ok();
        pages.filter(|pages| is_multiple(period, PAGE_BYTES) && *pages < DRIFTS)
    };
    exact.or_else(|| Some(in_pages()? | IN_PAGES))
}

/// The bytes of a packed period.
fn unpacked(period: u32) -> u64 {
    let value = u64::from(period & !(IN_PAGES | DRIFTS));
    if period & IN_PAGES == 0 {
        value
    } else {
        value * PAGE_BYTES
    }
}

/// Where elements are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::adaptive) struct Grid {
    /// Which way they follow each other.
    pub(in crate::adaptive) direction: Direction,
    /// Bytes from one to the next.
    pub(in crate::adaptive) period: u64,
    /// Bytes of each.
    pub(in crate::adaptive) length: u64,
    /// Elements are off by some bytes: each is where the next one is counted from.
    pub(in crate::adaptive) drifts: bool,
}

impl Grid {
    /// Elements that begin `period` bytes apart and are as long as `access`.
    pub(in crate::adaptive) fn of(direction: Direction, period: u64, access: &Access) -> Self {
        let grid = Self {
            direction,
            period,
            ..Self::default()
        };
        grid.as_long_as(access)
    }

    /// Elements as these, as long as `access`.
    pub(in crate::adaptive) fn as_long_as(self, access: &Access) -> Self {
        let length = if self.is_of_pages() {
            access.len().get().saturating_mul(PAGE_BYTES)
        } else {
            access.bytes.len().get()
        };
        Self { length, ..self }
    }

    /// Elements as these, as long as `access`, which drift. `None` where too little lies between them, or the period does not fit.
    pub(in crate::adaptive) fn drifting(self, access: &Access) -> Option<Self> {
        let grid = Self {
            drifts: true,
            ..self
        };
        let grid = grid.as_long_as(access);
        let Self { period, length, .. } = grid;
        let least = length.saturating_add(DRIFTING_HOLE_BYTES);
        // Where less lies between two narrow elements than they read, that is read as well.
        let is_apart = grid.is_wide() || period > 2 * length;
        (period < u64::from(DRIFTS) && period >= least && is_apart).then_some(grid)
    }

    /// These elements, which are not off any more, and the window of a reader who is at `access`.
    pub(super) fn at_rest(self, access: &Access, window: &mut Window) -> Self {
        let grid = Self {
            drifts: false,
            ..self
        };
        if self.drifts && grid.is_of_pages() {
            let inside = access.bytes.start.get() % PAGE_BYTES;
            for place in [&mut window.next, &mut window.frontier] {
                *place = match self.direction {
                    Direction::Forward => place.saturating_sub(inside),
                    Direction::Backward => place.saturating_add(inside),
                };
            }
        }
        grid.as_long_as(access)
    }

    /// The grid of a packed period.
    #[inline]
    pub(in crate::adaptive) fn unpacked(direction: Direction, period: u32, length: u64) -> Self {
        Self {
            direction,
            period: unpacked(period),
            length,
            drifts: period & DRIFTS != 0,
        }
    }

    /// The packed period; 0 where it does not fit.
    pub(in crate::adaptive) fn packed(&self) -> u32 {
        let drifts = if self.drifts { DRIFTS } else { 0 };
        packed(self.period).map_or(0, |period| period | drifts)
    }

    /// Bytes that are asked for on each side of an element, in case it is off.
    pub(super) fn slack(&self) -> u64 {
        if self.drifts { SLACK_BYTES } else { 0 }
    }

    /// Whether every element begins at the same place in its page.
    #[inline]
    pub(in crate::adaptive) fn is_of_pages(&self) -> bool {
        !self.drifts && is_multiple(self.period, PAGE_BYTES)
    }

    /// The place of `access`.
    #[inline]
    pub(in crate::adaptive) fn place(&self, access: &Access) -> u64 {
        let start = if self.is_of_pages() {
            access.start.get().saturating_mul(PAGE_BYTES)
        } else {
            access.bytes.start.get()
        };
        self.direction.byte_place(start)
    }

    /// Whether elements of `other` follow each other in the same way and are as long. Of pages each of a row may touch one more than those of another;
    /// and those of a column may be narrower, if it `may_be_last` of its band.
    pub(in crate::adaptive) fn is_as(&self, other: &Self, may_be_last: bool) -> bool {
        let straddles = self.is_of_pages() && self.length.abs_diff(other.length) == PAGE_BYTES;
        let is_narrower = may_be_last && self.length < other.length;
        let length = if straddles || is_narrower {
            other.length
        } else {
            self.length
        };
        Self { length, ..*self } == *other
    }

    /// Bytes that elements on this grid are longer by, `inside` bytes from their places, if they are as long as `columns` of `shift` bytes side by side.
    pub(in crate::adaptive) fn wider(&self, columns: u8, shift: u64, inside: i64) -> u64 {
        let behind = shift.saturating_mul(u64::from(columns).saturating_sub(1));
        match self.direction {
            _ if !self.is_of_pages() || inside == 0 => behind,
            Direction::Forward => {
                let end = behind.saturating_add(shift).saturating_add_signed(inside);
                end.next_multiple_of(PAGE_BYTES).saturating_sub(self.length)
            }
            Direction::Backward => behind.next_multiple_of(PAGE_BYTES),
        }
    }

    /// Bytes in reading order from the place of `access` to its first byte: of a grid of pages the place is that of a page.
    pub(in crate::adaptive) fn inside(&self, access: &Access) -> i64 {
        let place = self.direction.byte_place(access.bytes.start.get());
        place.wrapping_sub(self.place(access)).cast_signed()
    }

    /// A way of so many bytes from a place: to the next place, and from there.
    pub(in crate::adaptive) fn split(&self, bytes: i64) -> (i64, i64) {
        if !self.is_of_pages() {
            return (bytes, 0);
        }
        let page = PAGE_BYTES.cast_signed();
        let to_place = match self.direction {
            Direction::Forward => bytes.div_euclid(page) * page,
            Direction::Backward => -((-bytes).div_euclid(page) * page),
        };
        (to_place, bytes - to_place)
    }

    /// The place of an access whose first byte is at `start`.
    pub(in crate::adaptive) fn place_of(&self, start: u64) -> u64 {
        let inside = if self.is_of_pages() {
            start % PAGE_BYTES
        } else {
            0
        };
        self.direction.byte_place(start - inside)
    }

    /// Pages that every element touches.
    pub(in crate::adaptive) fn pages_min(&self) -> u64 {
        self.length.div_ceil(PAGE_BYTES).max(1)
    }

    /// How much of all that its elements span they are.
    pub(in crate::adaptive) fn density(&self) -> Density {
        let mut density = Density::default();
        density.count(self.pages_min(), self.period.div_ceil(PAGE_BYTES));
        density
    }

    /// Pages that are asked for with every element.
    pub(super) fn pages_asked(&self) -> u64 {
        let bytes = self.length + 2 * self.slack();
        bytes.div_ceil(PAGE_BYTES).max(1)
    }

    /// The same at most: its first byte may be the last one of its page.
    pub(super) fn pages_max(&self) -> u64 {
        let can_straddle = !self.is_of_pages() && self.length > 1;
        self.pages_asked() + u64::from(can_straddle)
    }

    /// Whether the period is so large that this may be several evenly spaced streams read in turn.
    pub(in crate::adaptive) fn is_wide(&self) -> bool {
        self.period > YOUNG_GAP_PAGES.get() * PAGE_BYTES
    }

    /// Whether an element begins in the page at `start`, behind the reader or ahead.
    pub(in crate::adaptive) fn has_element_in(&self, window: &Window, start: u64) -> bool {
        let border = i128::from(self.direction.byte_place(start.saturating_mul(PAGE_BYTES)));
        // In reading order the first byte of a page is its last one where the stream goes backward.
        let before = match self.direction {
            Direction::Forward => border - 1,
            Direction::Backward => border - i128::from(PAGE_BYTES),
        };
        let elements_up_to = |place: i128| {
            let distance = place - i128::from(window.next);
            distance.div_euclid(i128::from(self.period.max(1)))
        };
        elements_up_to(before) != elements_up_to(before + i128::from(PAGE_BYTES))
    }
}

pub(in crate::adaptive) fn is_multiple(distance: u64, period: u64) -> bool {
    distance.checked_rem(period) == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_exact_or_do_not_fit() {
        for period in [1, 4095, 9_604_620, (1 << 30) - 1, 1 << 30, 3 << 40] {
            assert_eq!(packed(period).map(unpacked), Some(period));
        }
        assert_eq!(packed((1 << 30) + 1), None);
        assert_eq!(packed(4 << 40), None);
    }

    #[test]
    fn the_pages_in_which_elements_begin_are_found_on_both_sides_of_the_reader() {
        for direction in [Direction::Forward, Direction::Backward] {
            let grid = Grid {
                direction,
                period: 9_604_620,
                length: 800_385,
                drifts: false,
            };
            let at = |element: u64| 2_401_159 + element * 9_604_620;
            let window = Window {
                next: direction.byte_place(at(7)),
                ..Window::default()
            };
            let begun: Vec<u64> = (0..14_000)
                .filter(|page| grid.has_element_in(&window, *page))
                .collect();
            let expected: Vec<u64> = (0..6).map(|element| at(element) / PAGE_BYTES).collect();
            assert_eq!(begun, expected, "{direction:?}");
        }
    }
}
