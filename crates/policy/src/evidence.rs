//! The steering constants of this crate, and with the feature `evidence` a way to set them.
//!
//! `cargo run -p xtask -- evidence NAME` sweeps one over the plans and draws the time over it.

use crate::steering::Constant;
use crate::{adaptive, device};

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
    adaptive::stream::asking::STEERING,
    adaptive::matching::STEERING,
    adaptive::hit_rate::STEERING,
    adaptive::file::STEERING,
    adaptive::file::feedback::STEERING,
];

/// All steering constants.
pub fn constants() -> impl Iterator<Item = &'static Constant> {
    FILES.iter().copied().flatten()
}

/// Sets the constant of this name for everything that is decided from now on. False: there is none.
#[cfg(feature = "evidence")]
pub fn set(name: &str, value: u64) -> bool {
    let found = constants().find(|constant| constant.name == name);
    if let Some(constant) = found {
        constant
            .cell
            .store(value, core::sync::atomic::Ordering::Relaxed);
    }
    found.is_some()
}
