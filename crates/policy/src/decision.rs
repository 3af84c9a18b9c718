//! What a policy hands out: which pages to bring in, and why. Values only; hosts apply them.

use core::fmt;

use crate::reason::{Pattern, Reason};
use ahead_units::{ByteOffset, ByteRange, PAGE_BYTES, PageCount, PageIndex, PageRange};

/// Pages to bring in: those of `count` ranges of equal length whose starts are `period` bytes apart.
///
/// Sequential and backward windows are one range of whole pages; a strided window is a number of
/// strided ranges, which need not begin or end with a page. Nothing is asked for when `count` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefetch {
    /// The first range.
    pub first: ByteRange,
    /// Bytes from one range's start to the next one's; negative towards the start of the file.
    pub period: i64,
    /// How many ranges.
    pub count: u32,
}

impl Prefetch {
    /// One contiguous range; nothing if it is empty.
    #[must_use]
    pub fn range(range: PageRange) -> Self {
        Self {
            first: range.into(),
            period: 0,
            count: u32::from(!range.is_empty()),
        }
    }

    /// The part before the end of a file of `file_pages` pages. Of strided ranges the first of which reaches
    /// beyond only that one is left: the others were as long as the first.
    #[must_use]
    pub fn before(self, file_pages: PageCount) -> Self {
        let limit = PageIndex::new(file_pages.get());
        let first = self.first.pages();
        if first.end <= limit {
            return self;
        }
        Self::range(first.before(limit))
    }

    /// The range, if it is one; empty if it is several or none.
    #[must_use]
    pub fn one_range(&self) -> PageRange {
        if self.count == 1 {
            self.first.pages()
        } else {
            PageRange::default()
        }
    }

    /// Pages in all ranges together.
    #[must_use]
    pub fn pages(&self) -> PageCount {
        self.ranges()
            .fold(PageCount::new(0), |sum, range| sum + range.len())
    }

    /// One range from the first of the ranges to the last, what lies between included.
    #[must_use]
    pub fn with_holes(self) -> Self {
        let way = self.period.saturating_mul(i64::from(self.count) - 1);
        let ByteRange { start, end } = self.first;
        let last = |place: ByteOffset| ByteOffset::new(place.get().saturating_add_signed(way));
        Self {
            first: ByteRange {
                start: start.min(last(start)),
                end: end.max(last(end)),
            },
            period: 0,
            count: self.count.min(1),
        }
    }

    /// The ranges one by one, in the order in which they will be read.
    pub fn ranges(&self) -> impl Iterator<Item = PageRange> + use<> {
        let Self {
            first,
            period,
            count,
        } = *self;
        (0..i64::from(count)).map_while(move |step| {
            let start = first.start.get();
            let start = start.checked_add_signed(period.checked_mul(step)?)?;
            Some(ByteRange::of(ByteOffset::new(start), first.len()).pages())
        })
    }
}

/// As a person reads it, in KiB.
impl fmt::Display for Prefetch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PAGE_KIB: u64 = PAGE_BYTES / 1024;
        let first = self.first.pages();
        let (start, length) = (first.start.get(), first.len().get());
        let (start, length) = (start * PAGE_KIB, length * PAGE_KIB);
        match self.count {
            0 => return write!(out, "nothing"),
            1 => return write!(out, "{length} KiB at {start} KiB"),
            count => write!(out, "{count} x {length} KiB from {start} KiB every ")?,
        }
        if self.period % 1024 == 0 {
            write!(out, "{} KiB", self.period / 1024)
        } else {
            write!(out, "{} bytes", self.period)
        }
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
    pub fn nothing(pattern: Pattern, reason: Reason) -> Self {
        Self {
            prefetch: Prefetch::default(),
            pattern,
            reason,
        }
    }
}

/// As `--explain` prints it.
impl fmt::Display for Decision {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pattern, reason) = (self.pattern.text(), self.reason.text());
        write!(out, "{} ({pattern}: {reason})", self.prefetch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ahead_units::ByteLength;

    #[test]
    fn backward_strided_ranges_end_at_the_start_of_the_file() {
        let strided = Prefetch {
            first: PageRange::new(20, 24).into(),
            period: -16 * 4096,
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

    #[test]
    fn with_their_holes_ranges_are_one_from_the_first_to_the_last_in_both_directions() {
        let whole = |start, end, period, count| {
            let strided = Prefetch {
                first: PageRange::new(start, end).into(),
                period,
                count,
            };
            strided.with_holes().ranges().collect::<Vec<_>>()
        };
        assert_eq!(whole(10, 12, 4 << 12, 3), [PageRange::new(10, 20)]);
        assert_eq!(whole(18, 20, -(4 << 12), 3), [PageRange::new(10, 20)]);
        assert_eq!(whole(10, 12, 4 << 12, 1), [PageRange::new(10, 12)]);
        assert_eq!(whole(10, 12, 4 << 12, 0), []);
    }

    /// 800 385 bytes every 9 604 620: columns of a Parquet file, as DuckDB reads them.
    #[test]
    fn ranges_that_are_no_pages_are_rounded_outwards_one_by_one() {
        let strided = Prefetch {
            first: ByteRange::of(ByteOffset::new(2_401_159), ByteLength::new(800_385)),
            period: 9_604_620,
            count: 3,
        };
        let ranges: Vec<_> = strided.ranges().collect();
        assert_eq!(
            ranges,
            [
                PageRange::new(586, 782),
                PageRange::new(2931, 3127),
                PageRange::new(5275, 5472)
            ]
        );
        assert_eq!(strided.pages().get(), 196 + 196 + 197);
    }
}
