//! What the page cache of this machine does for whom: accesses, misses and waits, seen from inside the kernel.
//!
//! Programs on tracepoints of the page cache (`bpf/observer.bpf.c`, whose head says which and why) tell of every file
//! that has to be fetched from a device, and of all accesses to files that are *watched*. Reads from memory are not
//! told. This crate loads and attaches them, decodes what they tell, and holds them to known reads before they are
//! believed. It decides nothing.
//!
//! * [`observation`] — what is told, decoded
//! * [`observer`] — the programs: loaded, attached, drained
//! * [`positions`] — what can be told without them, by where descriptors stand
//! * [`quiet`] — which of it wakes nobody
//! * [`self_test`] — whether they tell the truth on this kernel
#![forbid(unsafe_code)]

pub mod observation;
pub mod observer;
pub mod positions;
pub mod quiet;
pub mod self_test;
mod watched_files;
