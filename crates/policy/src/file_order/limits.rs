//! How far every host of [`FileOrder`](super::FileOrder) goes: the library in a process, and the simulator.

use crate::steering::steering;

steering! {
    /// Waits after which a helper is worth its making. Fewer, and a program that is over after some waits pays for one that
    /// has just begun; more, and a small tree is half read.
    /// Evidence: docs/results/evidence/HELPER_WAITS_MIN.csv
    pub HELPER_WAITS_MIN: u32 = 6;

    /// Bytes that may be outstanding, where memory allows. Fewer, and large files leave batches short; more, and a
    /// program that stops has wasted them.
    /// Evidence: docs/results/evidence/OUTSTANDING_BYTES_MAX.csv
    pub OUTSTANDING_BYTES_MAX: u64 = 128 << 20;

    /// Files up to this length are requested with their batch, whole; longer ones are the stream's business alone. A part of
    /// a file would make an arm come back for the rest: twice the ways for a file of 2 MiB. Higher, and a batch of some
    /// files fills the budget; what is gained is one way of many by then.
    /// Evidence: docs/results/evidence/FILE_BYTES_MAX.csv
    pub FILE_BYTES_MAX: u64 = 4 << 20;

    /// Batches of which the helper waited for names or inodes before several are read at once. Fewer, and a tree of a few
    /// folders pays for threads; more, and a middling one is half read.
    /// Evidence: docs/results/evidence/BATCHES_WAITED_MIN.csv
    pub BATCHES_WAITED_MIN: u32 = 2;

    /// Folders that a plan goes over. A tree of empty folders would be walked to its end.
    /// Evidence: docs/results/evidence/FOLDERS_PASSED_MAX.csv
    pub FOLDERS_PASSED_MAX: u32 = 512;

    /// Visits in a row of files that were not requested, after which what was requested is given up: enough of it would
    /// keep the next batch from being requested. Fewer, and several workers over one order are misunderstood.
    /// Evidence: docs/results/evidence/MISSED_MAX.csv
    pub MISSED_MAX: u32 = 12;

    /// Two places where the program visits something within so many visits are trees gone through in step.
    /// Evidence: docs/results/evidence/IN_STEP_VISITS.csv
    pub IN_STEP_VISITS: u64 = 8;

    /// Visits after which it is looked for files that the program has left behind.
    /// Evidence: docs/results/evidence/SWEEP_VISITS.csv
    pub SWEEP_VISITS: u64 = 128;
}

/// Folders of one batch.
pub const PARTS: usize = 256;

/// Folders that are listed at once: each takes a descriptor meanwhile.
pub const LISTED_AT_ONCE: usize = 32;

/// Names and inodes that are read at once, each by a thread, the helper's among them. Fewer, and a disk with one arm has
/// less to put in order (eight at a time take 1.6 times as long as thirty-two, a single one 3.8 times); more, and they
/// are more than flash gains from.
pub const READ_AT_ONCE: usize = 16;
