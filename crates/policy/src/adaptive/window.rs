//! The window of a stream: where its reader is, and what has been asked for in front of it.
//!
//! All places are in reading order (see [`direction`](super::direction)).
//!
//! ```text
//!  run       already read #####|-----------|--- tail ---|  not asked for
//!                              ^next       ^marker      ^frontier
//!  strided   places are those of the first bytes of elements; the tail counts elements
//! ```
//!
//! How the window moves is the business of the [shapes](super::shape).

use ahead_units::PageCount;

/// A page count in 32 bits; 16 TiB and more count as that.
pub(super) fn pages32(pages: PageCount) -> u32 {
    u32::try_from(pages.get()).unwrap_or(u32::MAX)
}

/// A page count in 16 bits; 256 MiB and more count as that.
pub(super) fn pages16(pages: u64) -> u16 {
    u16::try_from(pages).unwrap_or(u16::MAX)
}

/// A place, wrapping: runs are shorter than 16 TiB.
#[expect(clippy::cast_possible_truncation, reason = "it wraps")]
pub(super) const fn place32(place: u64) -> u32 {
    place as u32
}

/// All zero is the window of a vacant place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    /// Where the next access is expected.
    pub(super) next: u64,
    /// The first place not asked for.
    pub(super) frontier: u64,
    /// What lies behind the marker: pages of a run, elements of a strided stream. 0: the marker
    /// is the frontier. Of a stride that has not asked, which has no window: [how many came in a row, and after how many
    /// others](super::shape::strided::count_in_row).
    pub(super) tail: u32,
    /// Pages from the start of one access to the start of the next one, as last seen, or the period of strides
    /// [in turn](super::shape::regular::in_turn); the [packed](super::shape::grid::packed) period of a strided stream. 0: not known.
    pub(super) step: u32,
}

impl Window {
    /// The window ends where the reader is: what was asked for is gone, or never came.
    pub(super) fn forget(&mut self) {
        (self.frontier, self.tail) = (self.next, 0);
    }
}
