//! One access on its way to the stream that it belongs to.

use crate::adaptive::access::Access;
use crate::adaptive::moment::Moment;
use ahead_units::Timestamp;
use core::cell::LazyCell;

/// One access, and what is known beside it.
pub(super) struct Arrival<'a, M, O> {
    pub(super) access: &'a Access,
    pub(super) now: Timestamp,
    pub(super) moment: &'a LazyCell<Moment, M>,
    pub(super) observer: &'a mut O,
    /// The run of its stream has ended, and the next one begins with it, or began with the strays before it.
    pub(super) begins_run: bool,
}

/// How an access came to its stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Came {
    /// It lies inside what was asked for earlier.
    pub(super) covered: bool,
    /// Others were read since the one before.
    pub(super) in_turn: bool,
    /// Pages that it leaves out before it, of a run.
    pub(super) hole: u64,
}
