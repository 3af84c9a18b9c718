//! The loop that every host runs: many files, many streams, one memory budget.
//!
//! A [`session::Session`] takes in what a program does, feeds it to the policy, hands back what to do
//! about it, and takes in what came of that. It is the same for every host; a host brings its table of
//! files ([`host`]) and its means ([`adviser`]): system calls, or a simulated page cache.
//!
//! * [`session`] — the loop
//! * [`host`], [`adviser`] — what a host brings
//! * [`mod@file`] — one file: its streams, its account, the steps of one access; how many of its reads wait at the
//!   same time (`waiting`)
//! * [`group`] — what files share: [`budget`], [`expectation`], [`closed_runs`], [`range_lists`], what is filled in (`filling`) and
//!   [`guard`];
//!   [`members`] — the processes of one
//! * [`devices`], [`device`], [`device_facts`] — what is believed about each, and of what: who else uses it (`contest`),
//!   what it delivers (`throughput`), and by larger requests (`trial`), how late this host asks (`lateness`), who reads scans
//!   ahead (`scans`); [`estimates`] — what processes share of it
//! * [`mapped_window`] — whether the kernel's window pays where a mapping is read
//! * [`settings`] — what can be set, and how it travels
//! * [`report`] — the account of a run
//! * [`evidence`] — the numbers that were chosen, here and in the policy
//! * [`recording`] — the ring through which a recorded run's accesses travel
#![forbid(unsafe_code)]

pub mod adviser;
pub mod budget;
pub mod closed_runs;
mod contest;
pub mod counted_reads;
pub mod device;
pub mod device_facts;
pub mod devices;
mod estimate_word;
pub mod estimates;
pub mod evidence;
pub mod expectation;
pub mod file;
mod filling;
pub mod group;
pub mod guard;
pub mod host;
mod lateness;
mod lent;
pub mod mapped_window;
mod mean;
pub mod members;
mod opening;
mod pending;
pub mod range_lists;
pub mod recording;
pub mod report;
mod scans;
pub mod session;
pub mod settings;
mod signed;
pub mod starved;
pub mod tally;
mod throughput;
pub mod tree_report;
mod trial;
mod waiting;
mod widening;
