//! How well an access continues a stream.

/// The answer of every shape to "is this your next access?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::adaptive) enum Fit {
    /// Not this stream.
    None,
    /// Within the tolerance.
    Near,
    /// Exactly where the stream expected it.
    Exact,
}

/// Whether `low <= value <= high`.
pub(in crate::adaptive) fn within(value: u64, low: u64, high: u64) -> bool {
    low <= value && value <= high
}
