//! Experiments in the simulator, and what they show: published figures held against the
//! simulator, policies held against each other.
//!
//! * [`chart`] — pictures, as SVG and PNG
//! * [`journal`] — finished cells, so that a sweep can go on
//! * [`parallel`] — independent work on all processors
//! * [`plan`] — what to run
//! * [`reproduce`] — published figures
//! * [`sweep`] — every cell of some plans
//! * [`verdict`] — published | simulated | ratio | verdict
#![forbid(unsafe_code)]

pub mod chart;
pub mod journal;
pub mod parallel;
pub mod plan;
pub mod reproduce;
pub mod sweep;
pub mod verdict;
