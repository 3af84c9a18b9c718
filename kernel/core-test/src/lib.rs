//! The kernel's C core beside `policy`: the same accesses into both, and their decisions held against each other.
//!
//! The core (`kernel/core`) decides in the kernel what `policy` decides everywhere else. It is compiled here into a
//! program ([`driver`]), so that nothing of it runs in a test's own process; [`pair`] gives each access to both, and
//! [`difference`] names where they may differ.
#![forbid(unsafe_code)]

pub mod difference;
pub mod driver;
pub mod pair;
pub mod series;
