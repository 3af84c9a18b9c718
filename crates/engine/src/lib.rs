//! Many files, many streams, one memory budget.
//!
//! The engine feeds accesses to the policy, hands its decisions to an [`adviser::Adviser`] and
//! takes feedback back. It is the same for every host; a host brings the world: system calls, or
//! a simulated page cache.
//!
//! * [`expectation`] — whether small files are read whole
//! * [`mod@file`] — the steps of one access
//! * [`budget`] — memory shared by all windows
//! * [`device`] — what is believed about each device
//! * [`settings`] — what a person may set, and how it travels
//! * [`report`] — the account of a run
//! * [`recording`] — the ring through which a recorded run's accesses travel
#![forbid(unsafe_code)]

pub mod adviser;
pub mod budget;
pub mod device;
pub mod expectation;
pub mod file;
pub mod recording;
pub mod report;
pub mod settings;
