//! Jobs by their names: what kind of reading, of how much, in which portions.
//!
//! A workload is data that a plan can hold; [`Workload::job`] makes the files and the programs of
//! it. Sizes say their unit. Every workload reads each of its files through descriptors that are
//! open when the clock starts, unless it is about opening. The same workload and seed make the
//! same steps.
//!
//! * `programs`: the steps of each kind
//! * [`trace`]: a job from a recorded trace

pub mod program;
mod programs;
pub mod random;
pub mod trace;

use ahead_units::Advice;
use serde::{Deserialize, Serialize};

pub use program::{Crew, FileSpec, Job, Layout, Listed, Process, Program, Step};

/// In which order pages of a mapping are touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// From the first to the last.
    #[default]
    Forward,
    /// From the last to the first.
    Backward,
    /// As many touches at random places as the file has pages.
    Random,
}

/// What a program says about what it reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hint {
    /// Nothing.
    #[default]
    Normal,
    /// In order.
    Sequential,
    /// In no order.
    Random,
}

impl From<Hint> for Advice {
    fn from(hint: Hint) -> Self {
        match hint {
            Hint::Normal => Self::Normal,
            Hint::Sequential => Self::Sequential,
            Hint::Random => Self::Random,
        }
    }
}

/// What is read, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Workload {
    /// One file from its start to its end, `passes` times.
    Sequential {
        /// File size.
        file_mib: u64,
        /// One read.
        read_kib: u64,
        /// How often; 1 if left out.
        #[serde(default = "one")]
        passes: u64,
    },
    /// One file from its end to its start.
    Backward {
        /// File size.
        file_mib: u64,
        /// One read.
        read_kib: u64,
    },
    /// The first `read_kib` of every `period_kib`.
    Strided {
        /// File size.
        file_mib: u64,
        /// One read.
        read_kib: u64,
        /// From one read to the next.
        period_kib: u64,
    },
    /// One task with one descriptor reads `streams` equal parts of a file in turn.
    Interleaved {
        /// File size.
        file_mib: u64,
        /// How many parts.
        streams: u64,
        /// One read.
        read_kib: u64,
    },
    /// One task reads `streams` files in turn, each through its own descriptor.
    Separate {
        /// Size of each file.
        file_mib: u64,
        /// How many files.
        streams: u64,
        /// One read.
        read_kib: u64,
    },
    /// `threads` tasks with one descriptor, each with its own part of one file.
    Threads {
        /// File size.
        file_mib: u64,
        /// How many.
        threads: u64,
        /// One read.
        read_kib: u64,
    },
    /// `readers` processes, each with its own file.
    Readers {
        /// Size of each file.
        file_mib: u64,
        /// How many.
        readers: u64,
        /// One read.
        read_kib: u64,
    },
    /// A file server: `daemons` workers share a sequential scan whose requests arrive shuffled
    /// within windows of `shuffle`; each request opens, reads, and closes.
    Server {
        /// File size.
        file_mib: u64,
        /// Workers.
        daemons: u32,
        /// One request.
        read_kib: u64,
        /// Requests of a window; 1: in order.
        #[serde(default = "one")]
        shuffle: u64,
    },
    /// Sequential, closed and opened again every `every_kib`.
    Reopen {
        /// File size.
        file_mib: u64,
        /// One read.
        read_kib: u64,
        /// Bytes between.
        every_kib: u64,
    },
    /// Reads at random places, aligned to their size.
    Random {
        /// File size.
        file_mib: u64,
        /// One read.
        read_kib: u64,
        /// How many.
        reads: u64,
    },
    /// At random places, `burst` reads in a row each.
    Bursts {
        /// File size.
        file_mib: u64,
        /// One read.
        read_kib: u64,
        /// Reads of a burst.
        burst: u64,
        /// How many bursts.
        bursts: u64,
    },
    /// Sequential, and after every `run` reads a random one of `random_kib`.
    Mixed {
        /// File size.
        file_mib: u64,
        /// One sequential read.
        read_kib: u64,
        /// Sequential reads between two random ones.
        run: u64,
        /// One random read.
        random_kib: u64,
    },
    /// Ascending single pages, each with a probability of `percent`.
    Sparse {
        /// File size.
        file_mib: u64,
        /// Probability.
        percent: u64,
    },
    /// Sequential, in reads of changing size: 4 KiB times 1 to `factor_max`.
    Sizes {
        /// File size.
        file_mib: u64,
        /// Largest read in pages.
        factor_max: u64,
    },
    /// Merges sorted runs: the next block comes from a run chosen at random.
    Merge {
        /// Size of each run.
        file_mib: u64,
        /// How many runs.
        runs: u64,
        /// One read.
        read_kib: u64,
    },
    /// `files` files in directory order, each opened, read to its end, and closed.
    SmallFiles {
        /// How many.
        files: u64,
        /// Size of each.
        file_kib: u64,
        /// One read.
        read_kib: u64,
    },
    /// Touches every page of a mapping.
    Mapped {
        /// File size.
        file_mib: u64,
        /// In which order.
        #[serde(default)]
        order: Order,
        /// What `madvise` said.
        #[serde(default)]
        advice: Hint,
    },
    /// Maps `files` libraries and touches clusters of pages in them, as a program that starts:
    /// `clusters` runs of 1 to `cluster_pages` pages at random places of random files.
    Libraries {
        /// How many files.
        files: u64,
        /// Size of each.
        file_mib: u64,
        /// How many runs.
        clusters: u64,
        /// Longest run in pages.
        cluster_pages: u64,
    },
    /// `streams` slow readers, each a process with its own file, `bytes_per_s` each, for
    /// `seconds`. Their reads are spread evenly over time.
    Streams {
        /// How many.
        streams: u64,
        /// Rate of each.
        bytes_per_s: u64,
        /// One read.
        read_kib: u64,
        /// How long.
        seconds: u64,
    },
    /// A follower of a growing file reads what was appended since the last look, `look_kib` each
    /// time, with `think_us` between.
    Tail {
        /// File size at the end.
        file_mib: u64,
        /// Bytes of one look.
        look_kib: u64,
        /// Time between two.
        think_us: u64,
    },
    /// A database: `backends` tasks look up `lookups` rows each (one random index page, one
    /// random heap page), and the last one scans the whole heap meanwhile.
    Database {
        /// Heap size.
        heap_mib: u64,
        /// Index size.
        index_mib: u64,
        /// Tasks, the scanning one included.
        backends: u64,
        /// Lookups of each.
        lookups: u64,
    },
    /// Another workload, with processor time and pauses around each of its reads.
    Paced {
        /// Which.
        work: Box<Workload>,
        /// The program's own work after each read.
        #[serde(default)]
        compute_us: u64,
        /// Its pause after each read.
        #[serde(default)]
        think_us: u64,
    },
    /// Several at the same time, each with its own files and processes.
    Together {
        /// Which.
        works: Vec<Workload>,
    },
}

const fn one() -> u64 {
    1
}

impl Workload {
    /// Files and programs. `seed` decides whatever is random.
    #[must_use]
    pub fn job(&self, seed: u64) -> Job {
        programs::job(self, seed)
    }
}
