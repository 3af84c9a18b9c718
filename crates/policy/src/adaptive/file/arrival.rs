//! What comes to a file.

use crate::adaptive::access::Access;
use ahead_units::Timestamp;

/// One access, and what is known beside it.
pub(super) struct Arrival<'a, M, O> {
    pub(super) access: &'a Access,
    pub(super) now: Timestamp,
    pub(super) moment: M,
    pub(super) observer: &'a mut O,
}
