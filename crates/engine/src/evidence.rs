//! The steering constants of this crate and of the policy.
//!
//! `cargo run -p xtask -- evidence NAME` sweeps one over plans and generated workloads.

use ahead_policy::steering::Constant;

use crate::{expectation, session, throughput};

/// The files of this crate that have steering constants. A test compares them with the source.
const FILES: &[&[Constant]] = &[
    expectation::STEERING,
    session::STEERING,
    throughput::STEERING,
];

/// All steering constants.
pub fn constants() -> impl Iterator<Item = &'static Constant> {
    ahead_policy::evidence::constants().chain(FILES.iter().copied().flatten())
}
