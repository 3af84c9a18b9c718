//! What a policy hands out: which pages to bring in, and why. Values only; hosts apply them.

use crate::reason::{Pattern, Reason};
use ahead_units::{PageCount, PageIndex, PageRange};

/// Pages to bring in: `count` ranges of equal length whose starts are `period` pages apart.
///
/// Sequential and backward windows are one range; a strided window is a number of
/// strided ranges. Nothing is asked for when `count` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefetch {
    /// The first range.
    pub first: PageRange,
    /// Pages from one range's start to the next one's; negative towards the start of the file.
    pub period: i64,
    /// How many ranges.
    pub count: u32,
}

impl Prefetch {
    /// One contiguous range; nothing if it is empty.
    #[must_use]
    pub const fn range(range: PageRange) -> Self {
        Self {
            first: range,
            period: 0,
            count: if range.is_empty() { 0 } else { 1 },
        }
    }

    /// The part before the end of a file of `file_pages` pages. Of strided ranges the first of which reaches
    /// beyond only that one is left: the others were as long as the first.
    #[must_use]
    pub const fn before(self, file_pages: PageCount) -> Self {
        let limit = PageIndex::new(file_pages.get());
        if self.first.end.get() <= limit.get() {
            return self;
        }
        Self::range(self.first.before(limit))
    }

    /// Pages in all ranges together.
    #[must_use]
    pub const fn pages(&self) -> PageCount {
        PageCount::new(self.first.len().get().saturating_mul(self.count as u64))
    }

    /// The ranges one by one, in the order in which they will be read.
    pub fn ranges(&self) -> impl Iterator<Item = PageRange> + use<> {
        let Self {
            first,
            period,
            count,
        } = *self;
        (0..i64::from(count)).map_while(move |step| {
            let start = first
                .start
                .get()
                .checked_add_signed(period.checked_mul(step)?)?;
            Some(PageRange::new(start, start.checked_add(first.len().get())?))
        })
    }
}

/// What to do about one access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Pages to bring in.
    pub prefetch: Prefetch,
    /// How the stream's accesses follow each other.
    pub pattern: Pattern,
    /// Why.
    pub reason: Reason,
}

impl Decision {
    /// Nothing to bring in.
    #[must_use]
    pub const fn nothing(pattern: Pattern, reason: Reason) -> Self {
        Self {
            prefetch: Prefetch {
                first: PageRange::new(0, 0),
                period: 0,
                count: 0,
            },
            pattern,
            reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backward_strided_ranges_end_at_the_start_of_the_file() {
        let strided = Prefetch {
            first: PageRange::new(20, 24),
            period: -16,
            count: 5,
        };
        let ranges: [Option<PageRange>; 3] = {
            let mut it = strided.ranges();
            [it.next(), it.next(), it.next()]
        };
        assert_eq!(
            ranges,
            [
                Some(PageRange::new(20, 24)),
                Some(PageRange::new(4, 8)),
                None
            ]
        );
    }
}
