//! Experiments in the simulator, and what they show: policies held against each other.
//!
//! * [`chart`] — pictures, as SVG and PNG
//! * [`circumstances`] — what a plan may say of the simulated machine
//! * [`distribution`] — times over many places, and the worst of them
//! * [`journal`] — finished cells, so that a sweep can go on
//! * [`limits`] — which numbers a workload may hold
//! * [`output`] — results as a table for other programs, and as a picture
//! * [`parallel`] — independent work on all processors
//! * [`plan`] — what to run
//! * [`results`] — who was how fast, beside whom
//! * [`sweep`] — every cell of some plans
//! * [`typed`] — a plan from the words of a command line
//! * [`verdict`] — published | simulated | ratio | verdict
#![forbid(unsafe_code)]

pub mod chart;
pub mod circumstances;
pub mod distribution;
pub mod journal;
pub mod limits;
pub mod output;
pub mod parallel;
pub mod plan;
pub mod results;
pub mod sweep;
pub mod table;
pub mod typed;
pub mod verdict;
