//! The steering constants of this crate. The engine lists them beside its own.

use crate::steering::Constant;
use crate::{adaptive, device, file_order};

/// The files that have steering constants. A test compares them with the source.
const FILES: &[&[Constant]] = &[
    device::STEERING,
    adaptive::shape::candidate::STEERING,
    adaptive::shape::run::STEERING,
    adaptive::shape::shuffled::STEERING,
    adaptive::shape::sparse::STEERING,
    adaptive::shape::strided::STEERING,
    adaptive::pace::STEERING,
    adaptive::request::STEERING,
    adaptive::stream::STEERING,
    adaptive::shape::regular::STEERING,
    adaptive::stream::asking::STEERING,
    adaptive::matching::STEERING,
    adaptive::hit_rate::STEERING,
    adaptive::file::STEERING,
    adaptive::file::scan::STEERING,
    adaptive::rounds::STEERING,
    adaptive::file::feedback::STEERING,
    file_order::STEERING,
    file_order::limits::STEERING,
    file_order::scores::STEERING,
    file_order::steps::STEERING,
    file_order::trust::STEERING,
];

/// All steering constants.
pub fn constants() -> impl Iterator<Item = &'static Constant> {
    FILES.iter().copied().flatten()
}
