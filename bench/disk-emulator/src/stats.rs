//! The figures of a disk: what was read from it since the last reset, and how well time was kept.
//!
//! They come from the server through a file next to the image; counting is in `server::counters`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::info::StateError;
use crate::state;

/// What happened since the last reset, or since the disk was made. Reads and writes are those that
/// reached the disk, behind the page cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskStats {
    /// Time since the reset, in nanoseconds.
    pub elapsed_ns: u64,
    /// Part of it in which the modelled disk was not idle.
    pub busy_ns: u64,
    /// Read requests.
    pub reads: u64,
    /// Bytes of them.
    pub read_bytes: u64,
    /// Part of these that had been read before, noticed per block of 4 KiB.
    pub reread_bytes: u64,
    /// Write requests.
    pub writes: u64,
    /// Bytes of them.
    pub written_bytes: u64,
    /// How often the arm had to seek.
    pub seeks: u64,
    /// Reads that wait for their answer now.
    pub in_flight: u64,
    /// Most reads that waited at the same time.
    pub in_flight_max: u64,
    /// Read requests by size, smallest first, without empty classes.
    pub sizes: Vec<SizeClass>,
    /// How much later than the model answers were sent.
    pub lateness: Lateness,
    /// Whether the server has real-time priority; without, answers are later.
    pub real_time: bool,
}

/// Read requests of `bytes_min` to twice as much (exclusive).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeClass {
    /// Smallest size in the class; a power of two.
    pub bytes_min: u64,
    /// How many.
    pub requests: u64,
}

/// Difference between the moment of the model and that of the answer, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// Answers measured.
    pub answers: u64,
    /// Mean.
    pub mean_ns: u64,
    /// 99 of 100 answers were no later.
    pub p99_ns: u64,
    /// The latest.
    pub max_ns: u64,
}

/// Why the figures could not be read or reset.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StatsError {
    /// No such disk, or no access to its state.
    #[error(transparent)]
    State(#[from] StateError),
    /// The server does not answer.
    #[error("disk {name:?} does not answer: {source}; `list` cleans up if its server has died")]
    Server {
        /// Name of the disk.
        name: String,
        /// What went wrong.
        source: io::Error,
    },
}

/// The figures of disk `name`.
///
/// # Errors
/// [`StatsError`].
pub fn stats(name: &str) -> Result<DiskStats, StatsError> {
    let record = state::read_record(name)?;
    let read = || {
        let text = fs::read(record.stats_file())?;
        serde_json::from_slice(&text).map_err(io::Error::from)
    };
    read().map_err(|source| StatsError::Server {
        name: name.to_owned(),
        source,
    })
}

/// Sets the figures of disk `name` to zero.
///
/// # Errors
/// [`StatsError`].
pub fn reset_stats(name: &str) -> Result<(), StatsError> {
    let record = state::read_record(name)?;
    let reset = || {
        OpenOptions::new()
            .write(true)
            .open(record.stats_file())?
            .write_all(b"reset\n")
    };
    reset().map_err(|source| StatsError::Server {
        name: name.to_owned(),
        source,
    })
}
