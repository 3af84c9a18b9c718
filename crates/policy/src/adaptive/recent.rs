//! The newest accesses that no stream explained, and the stride that three of them make.

use super::direction::Direction;
use super::window::pages32;
use ahead_units::PageRange;

/// Accesses that are remembered. Fewer, and two strided readers of one file hide each other's
/// elements; more, and chance finds three evenly spaced ones among random accesses. An array's
/// length, so it is not swept.
const REMEMBERED: usize = 8;

/// A start and a length, remembered until it explains something or is overwritten.
#[derive(Clone, Copy, Debug, Default)]
struct Unexplained {
    start: u64,
    length: u32,
}

/// The newest unexplained accesses. All zero: none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recent {
    accesses: [Unexplained; REMEMBERED],
    newest: u8,
}

/// The period of a strided stream that is about to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stride {
    pub(super) direction: Direction,
    pub(super) period: u32,
}

impl Recent {
    fn back(&self, count: usize) -> Unexplained {
        self.accesses[(usize::from(self.newest) + REMEMBERED - count) % REMEMBERED]
    }

    /// The stride whose third element is `access`, if two recent accesses are its first two.
    /// Steps shorter than the access itself are not strides.
    pub(super) fn stride(&self, access: PageRange) -> Option<Stride> {
        let start = access.start.get();
        let length = pages32(access.len());
        for back in 0..REMEMBERED {
            let second = self.back(back);
            let step = start.wrapping_sub(second.start).cast_signed();
            if second.length != length || step.unsigned_abs() <= u64::from(length) {
                continue;
            }
            let first_start = second.start.checked_add_signed(-step);
            for further in back + 1..REMEMBERED {
                let first = self.back(further);
                if first.length == length && Some(first.start) == first_start {
                    return Stride::of(step);
                }
            }
        }
        None
    }

    /// Remembers an access that nothing explained.
    pub(super) fn remember(&mut self, access: PageRange) {
        let place = (usize::from(self.newest) + 1) % REMEMBERED;
        self.newest = u8::try_from(place).unwrap_or(0);
        self.accesses[place] = Unexplained {
            start: access.start.get(),
            length: pages32(access.len()),
        };
    }
}

impl Stride {
    /// `None` for steps of 16 TiB and more.
    fn of(step: i64) -> Option<Self> {
        let direction = if step > 0 {
            Direction::Forward
        } else {
            Direction::Backward
        };
        let period = u32::try_from(step.unsigned_abs()).ok()?;
        Some(Self { direction, period })
    }
}
