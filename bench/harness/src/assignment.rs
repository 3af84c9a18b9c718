//! What the bench tells a reader process, and what the reader answers: two small JSON files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ahead_workload::{FileSpec, Job, Workload};
use serde::{Deserialize, Serialize};

use crate::ceiling::Pricing;

/// One file to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// The number that its content was made from.
    pub id: u32,
    /// How many of its bytes take part.
    pub bytes: u64,
}

/// Which files a reader reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sources {
    /// These, in this order.
    Listed(Vec<Source>),
    /// All files of a folder, in the order in which the folder lists them. Their names are
    /// numbers; the content number is `first_id` plus the name.
    Folder {
        /// The folder.
        path: PathBuf,
        /// Content number of the file called 0.
        first_id: u32,
        /// Length of each file.
        bytes: u64,
    },
}

/// How a reader reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// As programs do, through the page cache.
    Plain,
    /// Past it, knowing the future.
    Ceiling(Pricing),
}

/// One run of one reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// What to do; its steps are made over the sources.
    pub workload: Workload,
    /// How.
    pub mode: Mode,
    /// On what.
    pub sources: Sources,
    /// Seed of everything that is left to chance.
    pub seed: u64,
    /// Stop after so many useful bytes.
    pub bytes_max: Option<u64>,
    /// Stop after so long.
    pub milliseconds_max: Option<u64>,
    /// Sleep where the workload computes: the processors of a guest take no time.
    pub sleeps: bool,
    /// Begin again at the end of a program, for what runs from memory.
    pub repeat: bool,
    /// A file into which to write our own process number first.
    pub members_file: Option<PathBuf>,
    /// Where the useful bytes so far are counted.
    pub counter: PathBuf,
    /// Where the answer goes.
    pub answer: PathBuf,
}

/// Read latencies in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Half of the reads took no longer.
    pub p50_ns: u64,
    /// 99 % of the reads took no longer.
    pub p99_ns: u64,
    /// 99.9 % of the reads took no longer.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// What a reader measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// Bytes that the pattern wanted and got.
    pub useful_bytes: u64,
    /// From the first read to the end of the last one.
    pub elapsed_ns: u64,
    /// How many reads.
    pub reads: u64,
    /// How long they took.
    pub latency: Latency,
    /// When the first read began, in nanoseconds of `CLOCK_MONOTONIC`.
    pub began_ns: u64,
    /// Whether a library named in `LD_PRELOAD` really was loaded.
    pub preloaded: bool,
}

/// The job of `workload` over the parts of `sources` that take part.
pub(crate) fn job_over(workload: &Workload, sources: &[Source], seed: u64) -> Job {
    let files = sources
        .iter()
        .map(|source| FileSpec::contiguous(source.bytes));
    workload.job_over(files.collect(), seed)
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReaderAnswer {
    /// All went well.
    Measured(Measured),
    /// It did not; the reason in one line.
    Failed(String),
}

pub(crate) fn write_json<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    fs::write(path, serde_json::to_vec(value)?)
}

pub(crate) fn read_json<T: for<'a> Deserialize<'a>>(path: &Path) -> io::Result<T> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}
