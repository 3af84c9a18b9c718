//! Reads from memory, timed: for benches of what observing costs them.
//!
//! The best mean of 5000 reads in a row counts, so that waiting for a processor is not in it.

#![allow(dead_code, reason = "each bench uses a part of it")]

use std::fs::File;
use std::hint::black_box;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

pub(crate) const PAGE: usize = 4096;
pub(crate) const FILE_BYTES: usize = 16 << 20;

/// Reads of which a mean is taken.
const BATCH: u32 = 5000;

/// What a turn of the loop was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CachedReads {
    /// Nanoseconds of a read, in the best batch.
    pub(crate) best_ns: f64,
    pub(crate) per_second: f64,
}

/// A file in `folder` that is in memory, on the disk, and has no name.
pub(crate) fn file(folder: &Path) -> File {
    let mut file = tempfile::tempfile_in(folder).expect("a folder");
    file.write_all(&vec![7; FILE_BYTES]).expect("space");
    file.sync_all().expect("written");
    file
}

/// Reads page after page of `file` for the time of a `turn`.
pub(crate) fn read_for(turn: Duration, file: &File) -> CachedReads {
    let mut buffer = [0; PAGE];
    let (mut offset, mut batches) = (0, 0);
    let mut best_ns = f64::INFINITY;
    let began = Instant::now();
    while began.elapsed() < turn {
        let batch = Instant::now();
        for _ in 0..BATCH {
            file.read_exact_at(black_box(&mut buffer), offset)
                .expect("inside");
            offset = (offset + PAGE as u64) % FILE_BYTES as u64;
        }
        best_ns = best_ns.min(batch.elapsed().as_secs_f64() * 1e9 / f64::from(BATCH));
        batches += 1;
    }
    let per_second = f64::from(batches) * f64::from(BATCH) / began.elapsed().as_secs_f64();
    CachedReads {
        best_ns,
        per_second,
    }
}

pub(crate) fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
