//! Units as types: pages, bytes, moments.
//!
//! Every range is half-open: `start` is the first page inside, `end` the first page behind it.
//! Arithmetic that could leave the file saturates: a prefetch cut short is harmless, one that
//! wraps around is not.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

use core::ops::{Add, Sub};

/// Bytes in one page. The kernel's page cache works in these on every platform we support.
pub const PAGE_BYTES: u64 = 4096;

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(u64);

        impl $name {
            /// Wraps a bare number.
            #[inline]
            #[must_use]
            pub const fn new(value: u64) -> Self {
                Self(value)
            }

            /// The bare number.
            #[inline]
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }
        }
    };
}

quantity! {
    /// The number of a page in its file, from 0.
    PageIndex
}
quantity! {
    /// How many pages.
    PageCount
}
quantity! {
    /// A byte position in a file, from 0.
    ByteOffset
}
quantity! {
    /// How many bytes.
    ByteLength
}
quantity! {
    /// Nanoseconds since a moment that the host chose; only differences mean something.
    Timestamp
}

impl PageCount {
    /// Pages needed to hold `bytes`.
    #[inline]
    #[must_use]
    pub const fn holding(bytes: ByteLength) -> Self {
        Self(bytes.0.div_ceil(PAGE_BYTES))
    }

    /// The same amount in bytes.
    #[inline]
    #[must_use]
    pub const fn bytes(self) -> ByteLength {
        ByteLength(self.0.saturating_mul(PAGE_BYTES))
    }
}

impl Add for PageCount {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for PageCount {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Timestamp {
    /// Nanoseconds from `earlier` to this moment; 0 when `earlier` is later (clocks of two CPUs).
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// What a program says about how it is going to read an open file or a mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Advice {
    /// Nothing, or NORMAL.
    #[default]
    Normal,
    /// SEQUENTIAL.
    Sequential,
    /// RANDOM.
    Random,
}

/// Pages `start` (inclusive) to `end` (exclusive) of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PageRange {
    /// First page inside.
    pub start: PageIndex,
    /// First page behind the range.
    pub end: PageIndex,
}

impl PageRange {
    /// A range from its ends; empty when `end` is not behind `start`.
    #[inline]
    #[must_use]
    pub const fn new(start: u64, end: u64) -> Self {
        Self {
            start: PageIndex(start),
            end: PageIndex(if end > start { end } else { start }),
        }
    }

    /// The pages that hold `length` bytes from `offset`; partly covered pages count.
    #[inline]
    #[must_use]
    pub const fn of_bytes(offset: ByteOffset, length: ByteLength) -> Self {
        let start = offset.0 / PAGE_BYTES;
        if length.0 == 0 {
            return Self::new(start, start);
        }
        Self::new(
            start,
            offset.0.saturating_add(length.0).div_ceil(PAGE_BYTES),
        )
    }

    /// How many pages are inside.
    #[inline]
    #[must_use]
    pub const fn len(self) -> PageCount {
        PageCount(self.end.0 - self.start.0)
    }

    /// Whether nothing is inside.
    #[inline]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.end.0 == self.start.0
    }

    /// How many pages are inside of `other` too.
    #[inline]
    #[must_use]
    pub fn shared(self, other: Self) -> PageCount {
        let start = self.start.max(other.start).0;
        PageCount(self.end.min(other.end).0.saturating_sub(start))
    }

    /// The part before page `limit` (exclusive).
    #[inline]
    #[must_use]
    pub const fn before(self, limit: PageIndex) -> Self {
        let end = if self.end.0 < limit.0 {
            self.end.0
        } else {
            limit.0
        };
        Self::new(
            if self.start.0 < end {
                self.start.0
            } else {
                end
            },
            end,
        )
    }
}

/// Bytes `start` (inclusive) to `end` (exclusive) of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ByteRange {
    /// First byte inside.
    pub start: ByteOffset,
    /// First byte behind the range.
    pub end: ByteOffset,
}

impl ByteRange {
    /// A range from its ends; empty when `end` is not behind `start`.
    #[inline]
    #[must_use]
    pub const fn new(start: u64, end: u64) -> Self {
        Self {
            start: ByteOffset(start),
            end: ByteOffset(if end > start { end } else { start }),
        }
    }

    /// `length` bytes from `offset`; cut at the end of the offset space.
    #[inline]
    #[must_use]
    pub const fn of(offset: ByteOffset, length: ByteLength) -> Self {
        Self::new(offset.0, offset.0.saturating_add(length.0))
    }

    /// How many bytes are inside.
    #[inline]
    #[must_use]
    pub const fn len(self) -> ByteLength {
        ByteLength(self.end.0 - self.start.0)
    }

    /// Whether nothing is inside.
    #[inline]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.end.0 == self.start.0
    }

    /// The pages that hold these bytes; partly covered pages count.
    #[inline]
    #[must_use]
    pub const fn pages(self) -> PageRange {
        PageRange::of_bytes(self.start, self.len())
    }
}

impl From<PageRange> for ByteRange {
    /// All bytes of these pages.
    #[inline]
    fn from(pages: PageRange) -> Self {
        Self::new(
            pages.start.0.saturating_mul(PAGE_BYTES),
            pages.end.0.saturating_mul(PAGE_BYTES),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_that_touches_part_of_a_page_counts_it() {
        let range = PageRange::of_bytes(ByteOffset::new(4095), ByteLength::new(2));
        assert_eq!(range, PageRange::new(0, 2));
    }

    #[test]
    fn a_read_at_the_end_of_the_offset_space_does_not_wrap() {
        let range = PageRange::of_bytes(ByteOffset::new(u64::MAX), ByteLength::new(u64::MAX));
        assert!(range.end >= range.start);
    }

    #[test]
    fn bytes_of_pages_are_in_these_pages() {
        let pages = PageRange::new(3, 7);
        assert_eq!(ByteRange::from(pages).pages(), pages);
        let part = ByteRange::of(ByteOffset::new(4095), ByteLength::new(2));
        assert_eq!((part.pages(), part.len().get()), (PageRange::new(0, 2), 2));
        let nothing = ByteRange::of(ByteOffset::new(5000), ByteLength::new(0));
        assert!(nothing.is_empty() && nothing.pages().is_empty());
    }

    #[test]
    fn cutting_a_range_before_its_start_leaves_nothing() {
        assert!(PageRange::new(10, 20).before(PageIndex::new(5)).is_empty());
    }
}
