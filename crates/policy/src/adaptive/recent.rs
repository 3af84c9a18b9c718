//! The newest accesses that no stream explained, and the stride that three of them make.

use super::access::Access;
use super::broken_strides::BrokenStrides;
use super::direction::Direction;
use super::seen_stride::SeenStride;
use super::shape::drift::OFF_BYTES_MOST;
use super::shape::grid::{self, Grid};
use super::window::pages32;
use ahead_units::PAGE_BYTES;

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
    /// Pages that they are in.
    pages: u32,
}

/// The newest unexplained accesses. All zero: none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recent {
    accesses: [Unexplained; REMEMBERED],
    newest: u8,
    /// Strides that did not last. They are counted here because nothing else of a file has a byte to spare.
    pub(super) broken_strides: BrokenStrides,
}

impl Unexplained {
    fn of(access: &Access) -> Self {
        Self {
            start: access.bytes.start.get(),
            length: u32::try_from(access.bytes.len().get()).unwrap_or(u32::MAX),
            pages: pages32(access.len()),
        }
    }

    /// Start and length in pages.
    fn in_pages(&self) -> (u64, u32) {
        (self.start / PAGE_BYTES, self.pages)
    }

    /// Start and length in bytes.
    fn in_bytes(&self) -> (u64, u32) {
        (self.start, self.length)
    }
}

impl Recent {
    fn back(&self, count: usize) -> &Unexplained {
        &self.accesses[(usize::from(self.newest) + REMEMBERED - count) % REMEMBERED]
    }

    /// The stride whose third element is `access`, if two recent accesses are its first two: by their bytes, to the byte
    /// or off by some, else by their pages, whose steps are often equal where those of bytes say better. Steps shorter than the access itself are not strides.
    pub(super) fn stride(&self, access: &Access) -> Option<SeenStride> {
        let seen = |grid, is_by_pages_alone| SeenStride {
            grid,
            is_by_pages_alone,
        };
        let newest = Unexplained::of(access);
        let of = |step: i64, unit: u64| {
            let direction = if step > 0 {
                Direction::Forward
            } else {
                Direction::Backward
            };
            let period = step.unsigned_abs().checked_mul(unit)?;
            // What a stream can hold.
            grid::packed(period)?;
            Some(Grid::of(direction, period, access))
        };
        let by_pages = || of(self.step(&newest, Unexplained::in_pages, 0)?, PAGE_BYTES);
        if !access.is_unaligned() {
            return by_pages().map(|grid| seen(grid, false));
        }
        let by_bytes = |off| of(self.step(&newest, Unexplained::in_bytes, off)?, 1);
        // Else less than a page lies between two of them: there is nothing to leave out.
        let has_hole = |grid: &Grid| grid.period > access.len().get() * PAGE_BYTES;
        by_bytes(0)
            .filter(has_hole)
            .or_else(|| by_bytes(OFF_BYTES_MOST)?.drifting(access))
            .map(|grid| seen(grid, false))
            .or_else(|| by_pages().map(|grid| seen(grid, true)))
    }

    /// The step between the newest and the last of two others that are as long, as `view` shows them, and as far apart, but for `off`.
    #[inline]
    fn step(
        &self,
        newest: &Unexplained,
        view: impl Fn(&Unexplained) -> (u64, u32),
        off: u64,
    ) -> Option<i64> {
        let (start, length) = view(newest);
        for back in 0..REMEMBERED {
            let (second, second_length) = view(self.back(back));
            let step = start.wrapping_sub(second).cast_signed();
            if second_length != length || step.unsigned_abs() <= u64::from(length) {
                continue;
            }
            let Some(expected) = second.checked_add_signed(-step) else {
                continue;
            };
            for further in back + 1..REMEMBERED {
                let (first, first_length) = view(self.back(further));
                if first.abs_diff(expected) <= off && first_length == length {
                    return Some(step);
                }
            }
        }
        None
    }

    /// Remembers an access that nothing explained.
    pub(super) fn remember(&mut self, access: &Access) {
        let place = (usize::from(self.newest) + 1) % REMEMBERED;
        self.newest = u8::try_from(place).unwrap_or(0);
        self.accesses[place] = Unexplained::of(access);
    }
}
