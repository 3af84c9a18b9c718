//! The name of a stream: its place in the table of its file, and which stream of that place.

/// Names one stream of one file, also after its place was given to another. Feedback for a stream
/// that is no longer there changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamId {
    /// Place in the table.
    pub place: u8,
    /// Counts the streams that this place has held, wrapping.
    pub generation: u8,
}

impl StreamId {
    /// None of a table's: who answers for what was asked for of runs that have not begun.
    pub(super) const FORESEEN: Self = Self {
        place: u8::MAX,
        generation: 0,
    };

    /// None of a table's: who answers for what was asked for of a [list](crate::range_list).
    pub const LISTED: Self = Self {
        place: u8::MAX,
        generation: 1,
    };

    /// None of a table's: who answers for what was asked for to fill a file in.
    pub const FILLED_IN: Self = Self {
        place: u8::MAX,
        generation: 2,
    };

    /// None of a table's: who answers for what was asked for of a read itself.
    pub const OWN_READ: Self = Self {
        place: u8::MAX,
        generation: 3,
    };

    /// Both in one number.
    #[must_use]
    pub const fn to_bits(self) -> u16 {
        u16::from_be_bytes([self.generation, self.place])
    }

    /// Back from one number.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        let [generation, place] = bits.to_be_bytes();
        Self { place, generation }
    }
}

/// A place in a table as a byte: a table has at most [`STREAMS_MANY`](super::STREAMS_MANY).
pub(super) fn place8(place: usize) -> u8 {
    u8::try_from(place).unwrap_or(0)
}
