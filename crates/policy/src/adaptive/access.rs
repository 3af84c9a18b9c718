//! One read: its pages, which most of the policy goes by, and its bytes, which strides go by.

use ahead_units::{ByteRange, PAGE_BYTES, PageCount, PageIndex, PageRange};

/// What one read wants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// Its first page.
    pub(super) start: PageIndex,
    /// The first page behind it.
    pub(super) end: PageIndex,
    /// Its bytes.
    pub(super) bytes: ByteRange,
}

impl Access {
    /// Its pages.
    #[inline]
    pub(super) const fn pages(&self) -> PageRange {
        PageRange {
            start: self.start,
            end: self.end,
        }
    }

    /// How many pages.
    #[inline]
    pub(super) const fn len(&self) -> PageCount {
        self.pages().len()
    }

    /// Whether it begins or ends inside of a page: else its bytes say no more than its pages.
    #[inline]
    pub(super) const fn is_unaligned(&self) -> bool {
        !self.bytes.start.get().is_multiple_of(PAGE_BYTES)
            || !self.bytes.len().get().is_multiple_of(PAGE_BYTES)
    }

    /// Of pages, for streams that do not go by bytes: these are left out.
    #[inline]
    pub(super) const fn by_pages(pages: PageRange) -> Self {
        let PageRange { start, end } = pages;
        let bytes = ByteRange::new(0, 0);
        Self { start, end, bytes }
    }
}

impl From<ByteRange> for Access {
    #[inline]
    fn from(bytes: ByteRange) -> Self {
        let PageRange { start, end } = bytes.pages();
        Self { start, end, bytes }
    }
}
