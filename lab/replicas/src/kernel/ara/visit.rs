//! One call of the scheme: why it was made, and what *context* came to.

use super::bounds::Bounds;

/// Why the scheme was called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit {
    /// First page of the `read()`.
    pub(super) begin: u64,
    /// The page at hand.
    pub(super) page: u64,
    /// First page behind the `read()`.
    pub(super) end: u64,
    /// The page is there and marked; otherwise it is absent.
    pub(super) is_marked: bool,
    pub(super) bounds: Bounds,
}

impl Visit {
    /// Pages that the read still wants.
    pub(super) const fn request(&self) -> u64 {
        self.end.saturating_sub(self.page)
    }
}

/// What the method came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A reader, and a chunk was submitted for it.
    Submitted,
    /// A reader that needs nothing now.
    Enough,
    /// No reader.
    Nothing,
}
