//! Experiments in the simulator, and what they show: published figures held against the
//! simulator, policies held against each other.
//!
//! * [`chart`] — pictures, as SVG and PNG
//! * [`verdict`] — published | simulated | ratio | verdict
#![forbid(unsafe_code)]

pub mod chart;
pub mod verdict;
