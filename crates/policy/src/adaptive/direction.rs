//! Reading order: a mirror for page numbers, so that a stream towards the start of a file is a
//! stream towards its end.
//!
//! ```text
//!  page          0 … 100  101  102 …            first page of the file … last page of any file
//!  forward       0 … 100  101  102 …            a place in reading order is the page itself
//!  backward    end … end-100    …               the same pages, counted from the far end
//! ```
//!
//! Nothing outside this file knows which way a stream runs when it compares two places.

use ahead_units::{PAGE_BYTES, PageRange};

/// Pages of the longest possible file: offsets have 63 bits. A multiple of every alignment that
/// requests have. Accesses beyond belong to no stream, so that page arithmetic has space on both
/// sides.
pub(super) const PAGES_MAX: u64 = 1 << 51;

/// Which way a stream goes through its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Towards the end of the file.
    #[default]
    Forward,
    /// Towards the start of the file.
    Backward,
}

/// Places `start` to `end` (exclusive) in reading order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Direction {
    /// The place of a border between pages; applied twice, the border again. What lies beyond
    /// [`PAGES_MAX`] becomes a place that no stream has.
    #[inline]
    pub(super) fn place(self, border: u64) -> u64 {
        match self {
            Self::Forward => border,
            Self::Backward => PAGES_MAX.wrapping_sub(border),
        }
    }

    /// The same of a border between bytes.
    #[inline]
    pub(super) fn byte_place(self, border: u64) -> u64 {
        match self {
            Self::Forward => border,
            Self::Backward => (PAGES_MAX * PAGE_BYTES).wrapping_sub(border),
        }
    }

    /// The places of an access.
    #[inline]
    pub(super) fn span(self, pages: PageRange) -> Span {
        let (start, end) = (pages.start.get(), pages.end.get());
        match self {
            Self::Forward => Span { start, end },
            Self::Backward => Span {
                start: self.place(end),
                end: self.place(start),
            },
        }
    }

    /// The pages of a span.
    pub(super) fn pages(self, span: Span) -> PageRange {
        match self {
            Self::Forward => PageRange::new(span.start, span.end),
            Self::Backward => PageRange::new(self.place(span.end), self.place(span.start)),
        }
    }

    /// The first place behind the last page that is reached in this direction.
    pub(super) fn end_of_file(self, file_pages: u64) -> u64 {
        match self {
            Self::Forward => file_pages,
            Self::Backward => PAGES_MAX,
        }
    }

    /// The last place where an element of `length` bytes can begin, counted from its first byte, in front of which `slack` bytes are.
    pub(super) fn last_element(self, file_bytes: u64, length: u64, slack: u64) -> Option<u64> {
        match self {
            Self::Forward => file_bytes.checked_sub(length),
            Self::Backward => Some(PAGES_MAX * PAGE_BYTES - slack),
        }
    }

    /// A distance in reading order as a distance in bytes.
    pub(super) fn signed(self, distance: u64) -> i64 {
        let distance = i64::try_from(distance).unwrap_or(i64::MAX);
        match self {
            Self::Forward => distance,
            Self::Backward => -distance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_of_the_mirror_is_the_page() {
        for direction in [Direction::Forward, Direction::Backward] {
            for border in [0, 1, 63, 64, 1 << 40, PAGES_MAX] {
                assert_eq!(direction.place(direction.place(border)), border);
            }
            let pages = PageRange::new(100, 116);
            assert_eq!(direction.pages(direction.span(pages)), pages);
        }
    }

    #[test]
    fn backward_the_next_access_begins_where_the_last_one_ended() {
        let first = Direction::Backward.span(PageRange::new(116, 132));
        let second = Direction::Backward.span(PageRange::new(100, 116));
        assert_eq!(first.end, second.start);
    }
}
