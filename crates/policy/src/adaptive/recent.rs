//! The newest accesses that no stream explained, and the stride that three of them make.

use super::access::Access;
use super::broken_strides::BrokenStrides;
use super::direction::Direction;
use super::rows::{NewRow, Rows};
use super::seen_stride::SeenStride;
use super::shape::drift::OFF_BYTES_MOST;
use super::shape::grid::{self, Grid, is_multiple};
use super::window::pages32;
use ahead_units::{ByteRange, PAGE_BYTES, PageCount};

/// Accesses that are remembered. Fewer, and two strided readers of one file hide each other's
/// elements; more, and chance finds three evenly spaced ones among random accesses. An array's
/// length, so it is not swept.
const REMEMBERED: usize = 8;

/// A read, remembered until it explains something or is overwritten.
#[derive(Clone, Copy, Debug, Default)]
struct Unexplained {
    /// Its first byte.
    start: u64,
    /// Bytes; longer reads count as 4 GiB.
    length: u32,
}

/// Where an access begins and how long it is, in bytes or in pages.
type Extent = (u64, u32);

/// The step to `newest` from one that begins at `second`, and where one as far before them begins. `None`: they overlap.
fn step(second: u64, newest: Extent) -> Option<(i64, u64)> {
    let step = newest.0.wrapping_sub(second).cast_signed();
    if step.unsigned_abs() <= u64::from(newest.1) {
        return None;
    }
    Some((step, second.checked_add_signed(-step)?))
}

/// Elements as long as `access`, which follow each other by `step` bytes. `None`: no stream can hold it.
fn grid_of(step: i64, access: &Access) -> Option<Grid> {
    let direction = if step > 0 {
        Direction::Forward
    } else {
        Direction::Backward
    };
    grid::packed(step.unsigned_abs())?;
    Some(Grid::of(direction, step.unsigned_abs(), access))
}

/// The newest unexplained accesses. All zero: none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recent {
    /// Where they begin and how long they are, side by side: together they would take a third more.
    starts: [u64; REMEMBERED],
    lengths: [u32; REMEMBERED],
    newest: u8,
    /// Strides that did not last. They are counted here because nothing else of a file has a byte to spare.
    pub(super) broken_strides: BrokenStrides,
    /// Rows that a stride is read in.
    pub(super) rows: Rows,
}

impl Unexplained {
    fn of(access: &Access) -> Self {
        Self {
            start: access.bytes.start.get(),
            length: u32::try_from(access.bytes.len().get()).unwrap_or(u32::MAX),
        }
    }

    /// Start and length in pages; no length where it is forgotten.
    fn in_pages(&self) -> (u64, u32) {
        if self.length == 0 {
            return (self.start / PAGE_BYTES, 0);
        }
        let end = self.start.saturating_add(self.length.into());
        let pages = end.div_ceil(PAGE_BYTES) - self.start / PAGE_BYTES;
        (self.start / PAGE_BYTES, pages32(PageCount::new(pages)))
    }

    /// Start and length in bytes.
    fn in_bytes(&self) -> (u64, u32) {
        (self.start, self.length)
    }
}

impl Recent {
    fn place(&self, back: usize) -> usize {
        (usize::from(self.newest) + REMEMBERED - back) % REMEMBERED
    }

    fn back(&self, count: usize) -> Unexplained {
        let place = self.place(count);
        Unexplained {
            start: self.starts[place],
            length: self.lengths[place],
        }
    }

    /// The stride whose third element is `access`, if two recent accesses are its first two. Steps shorter than the access itself are not
    /// strides.
    pub(super) fn stride(&self, access: &Access) -> Option<SeenStride> {
        self.exact(access).or_else(|| self.inexact(access))
    }

    /// Where the elements are of which a run reads one after the other, if `access` and two recent ones are evenly spaced to the byte, those by
    /// `step` bytes before others; and remembers it.
    #[inline(never)]
    pub(super) fn stride_of_run(&mut self, access: &Access, step: Option<i64>) -> Option<Grid> {
        let known = step.and_then(|step| self.of_step(access, step));
        let grid = known.or_else(|| self.exact(access).map(|stride| stride.grid));
        // What is read again is no other element.
        if self.back(0).start != access.bytes.start.get() {
            self.remember(access);
        }
        grid
    }

    /// The grid whose elements follow each other by `step` bytes, if two recent accesses are those before `access`.
    fn of_step(&self, access: &Access, step: i64) -> Option<Grid> {
        let grid = grid_of(step, access)?;
        let Unexplained { start, length } = Unexplained::of(access);
        let is_recent = |steps: i64| {
            let start = start.checked_add_signed(-steps * step);
            let mut recent = (0..REMEMBERED).map(|back| self.back(back));
            recent.any(|one| Some(one.start) == start && one.length == length)
        };
        (is_recent(1) && is_recent(2)).then_some(grid)
    }

    /// What was read since the element of `grid` before `access`, which is the newest one.
    pub(super) fn in_turn(&self, access: &Access, grid: &Grid) -> impl Iterator<Item = Access> {
        let step = grid.direction.signed(grid.period);
        let before = access.bytes.start.get().wrapping_add_signed(-step);
        let place = *grid;
        let others = (1..REMEMBERED).map(|back| self.back(back));
        let others = others.take_while(move |other| {
            other.length > 0 && place.place_of(other.start) != place.place_of(before)
        });
        others.map(|other| {
            Access::from(ByteRange::new(
                other.start,
                other.start + u64::from(other.length),
            ))
        })
    }

    /// Whether something else was read among the last `elements` of `grid` before `access`, which is the newest one, and not with each of them:
    /// what was takes turns with it. More of an element than is asked for counts in any case.
    #[inline(never)]
    pub(super) fn is_among(&self, access: &Access, grid: &Grid, elements: u64) -> bool {
        let newest = grid.place(access);
        let far = grid.period.saturating_mul(elements);
        let length = |one: &Unexplained| {
            if grid.is_of_pages() {
                u64::from(one.in_pages().1) * PAGE_BYTES
            } else {
                u64::from(one.length)
            }
        };
        let all = (0..REMEMBERED).map(|back| self.back(back));
        all.clone().any(|one| {
            let place = grid.place_of(one.start);
            let way = newest.saturating_sub(place);
            let is_more = is_multiple(way, grid.period) && length(&one) > grid.length;
            let is_by_itself = |other: Unexplained| {
                let apart = grid.place_of(other.start).abs_diff(place);
                length(&other) != length(&one) || apart != grid.period
            };
            // What is as long as they are is an element that is off.
            length(&one) > 0
                && length(&one) != grid.length
                && (1..=far).contains(&way)
                && (is_more || all.clone().all(is_by_itself))
        })
    }

    /// One to the byte; to the page where accesses are of whole pages.
    fn exact(&self, access: &Access) -> Option<SeenStride> {
        let is_unaligned = access.is_unaligned();
        let unit = if is_unaligned { 1 } else { PAGE_BYTES };
        let extent = |one: &Unexplained| {
            if is_unaligned {
                one.in_bytes()
            } else {
                one.in_pages()
            }
        };
        let newest = extent(&Unexplained::of(access));
        // Random reads come here, each of them: how long the others are is seen where three are evenly spaced.
        let starts: [u64; REMEMBERED] =
            core::array::from_fn(|back| self.starts[self.place(back)] >> unit.trailing_zeros());
        let is_as_long = |back| extent(&self.back(back)).1 == newest.1;
        for (back, second) in starts.iter().enumerate() {
            let Some((step, expected)) = step(*second, newest) else {
                continue;
            };
            for (further, first) in starts.iter().enumerate().skip(back + 1) {
                if *first == expected && is_as_long(further) && is_as_long(back) {
                    let grid = grid_of(step.checked_mul(unit.cast_signed())?, access)?;
                    // Else less than a page lies between two of them: there is nothing to leave out.
                    let has_hole = grid.period > access.len().get() * PAGE_BYTES;
                    return has_hole.then_some(SeenStride {
                        grid,
                        is_by_pages_alone: false,
                    });
                }
            }
        }
        None
    }

    /// One of bytes that are off by some, or else by pages alone, whose steps are often equal where those of bytes say better. The other two
    /// are the newest: further back there are such by chance.
    fn inexact(&self, access: &Access) -> Option<SeenStride> {
        if !access.is_unaligned() {
            return None;
        }
        let (newest, second, first) = (Unexplained::of(access), self.back(0), self.back(1));
        let by_bytes = || {
            let (step, expected) = step(second.start, newest.in_bytes())?;
            let is_near = first.start.abs_diff(expected) <= OFF_BYTES_MOST;
            let is_alike = first.length == newest.length && second.length == newest.length;
            let grid = grid_of(step, access).filter(|_| is_near && is_alike)?;
            grid.drifting(access)
        };
        let by_pages = || {
            let (second, newest) = (second.in_pages(), newest.in_pages());
            let (step, expected) = step(second.0, newest)?;
            let is_even = first.in_pages() == (expected, newest.1) && second.1 == newest.1;
            grid_of(step.checked_mul(PAGE_BYTES.cast_signed())?, access).filter(|_| is_even)
        };
        let seen = |grid, is_by_pages_alone| SeenStride {
            grid,
            is_by_pages_alone,
        };
        by_bytes()
            .map(|grid| seen(grid, false))
            .or_else(|| by_pages().map(|grid| seen(grid, true)))
    }

    /// The first elements of `row` are no others of a stride, as with those of the next rows they would be.
    pub(super) fn forget_elements(&mut self, row: &NewRow) {
        let firsts = [row.first, row.first.saturating_add(row.grid.period)];
        for (start, length) in self.starts.iter().zip(&mut self.lengths) {
            if firsts.contains(&row.grid.place_of(*start)) {
                *length = 0;
            }
        }
    }

    /// Remembers an access that nothing explained.
    pub(super) fn remember(&mut self, access: &Access) {
        let place = (usize::from(self.newest) + 1) % REMEMBERED;
        self.newest = u8::try_from(place).unwrap_or(0);
        let access = Unexplained::of(access);
        (self.starts[place], self.lengths[place]) = (access.start, access.length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ahead_units::ByteRange;

    /// Periods of the strides that reads of 19 793 bytes at `starts` make.
    fn periods(starts: &[u64]) -> Vec<Option<u64>> {
        let mut recent = Recent::default();
        let stride = |start: &u64| {
            let access = Access::from(ByteRange::new(*start, start + 19_793));
            let stride = recent.stride(&access);
            recent.remember(&access);
            stride.map(|stride| stride.grid.period)
        };
        starts.iter().map(stride).collect()
    }

    /// Odd reads by seed 251: 198 798 bytes apart, off by up to 475. Every second one of some is evenly spaced by its pages, or nearly so
    /// by its bytes (1.8 times the kernel's time on a stripe of disks).
    #[test]
    fn strides_that_are_off_by_some_are_made_of_the_newest_reads() {
        let starts = [819_200, 1_018_473, 1_216_796, 1_415_819, 1_614_442];
        assert_eq!(periods(&starts), [None; 5]);
        let in_a_row = [819_200, 1_216_796, 1_614_442];
        assert_eq!(periods(&in_a_row), [None, None, Some(397_646)]);
    }
}
