//! Amounts of which others are taken away.

/// The amount; what is too large for it is the largest.
pub(crate) fn signed(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}
