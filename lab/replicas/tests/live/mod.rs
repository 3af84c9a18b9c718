//! The parts of the conformance test: a disk of our own, the record of what the kernel did on it,
//! the replica, patterns that both carry out, and the comparison.
#![allow(
    unreachable_pub,
    reason = "a test program has no outside; the modules are written as elsewhere"
)]
#![allow(dead_code, reason = "each test program uses a part")]

pub mod comparison;
pub mod event;
pub mod faults;
pub mod generated;
pub mod kernel_side;
pub mod machine;
pub mod pattern;
pub mod patterns;
pub mod recorder;
pub mod release;
pub mod replica_side;
