//! What one thread of a replay does: its records, one after the other, at their time.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use ahead_trace::{Access, FileAdvice, FileRef, Operation};
use hdrhistogram::Histogram;

/// Bytes of one `pread`. Longer reads are several, as programs with a buffer do them.
const CALL_BYTES_MAX: usize = 8 << 20;
/// Files that one thread holds open; the one that was not used for the longest time is closed.
const OPEN_MAX: usize = 128;

/// When records are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// At once.
    Fast,
    /// At their recorded time.
    Recorded,
}

/// One record and the file that it is about.
pub(super) struct Job {
    pub(super) access: Access,
    pub(super) path: Arc<Path>,
}

/// What became of the records.
pub(super) struct Outcome {
    pub(super) threads: u64,
    pub(super) reads: u64,
    pub(super) bytes: u64,
    pub(super) short_reads: u64,
    pub(super) writes_left_out: u64,
    pub(super) mappings_left_out: u64,
    pub(super) failures: u64,
    pub(super) first_failure: Option<String>,
    /// How late the latest record began.
    pub(super) latest_ns: u64,
    /// Nanoseconds of each read.
    pub(super) latency: Histogram<u64>,
}

impl Default for Outcome {
    fn default() -> Self {
        Self {
            threads: 0,
            reads: 0,
            bytes: 0,
            short_reads: 0,
            writes_left_out: 0,
            mappings_left_out: 0,
            failures: 0,
            first_failure: None,
            latest_ns: 0,
            latency: Histogram::new(3).expect("3 digits are allowed"),
        }
    }
}

impl Outcome {
    /// Adds what another thread did.
    pub(super) fn add(&mut self, other: &Self) {
        self.reads += other.reads;
        self.bytes += other.bytes;
        self.short_reads += other.short_reads;
        self.failures += other.failures;
        self.latest_ns = self.latest_ns.max(other.latest_ns);
        if self.first_failure.is_none() {
            self.first_failure.clone_from(&other.first_failure);
        }
        // The histogram grows by itself.
        let _ = self.latency.add(&other.latency);
    }

    fn fail(&mut self, path: &Path, error: &io::Error) {
        self.failures += 1;
        if self.first_failure.is_none() {
            let reason = error.to_string();
            // Without the number behind the system's words.
            let reason = reason.split(" (os error").next().unwrap_or_default();
            self.first_failure = Some(format!("'{}': {reason}", path.display()));
        }
    }
}

/// A thread's state.
pub(super) struct Player {
    pace: Pace,
    started: Instant,
    drops_cache: bool,
    /// Open files, and when each was used.
    open: HashMap<FileRef, (File, u64)>,
    uses: u64,
    buffer: Vec<u8>,
    outcome: Outcome,
}

impl Player {
    pub(super) fn new(pace: Pace, started: Instant, drops_cache: bool) -> Self {
        Self {
            pace,
            started,
            drops_cache,
            open: HashMap::new(),
            uses: 0,
            buffer: Vec::new(),
            outcome: Outcome::default(),
        }
    }

    /// Does all records and says how it went.
    pub(super) fn play(mut self, jobs: &Receiver<Job>) -> Outcome {
        while let Ok(job) = jobs.recv() {
            if self.pace == Pace::Recorded {
                self.wait_until(job.access.at_ns);
            }
            if let Err(error) = self.perform(&job) {
                self.outcome.fail(&job.path, &error);
            }
        }
        self.outcome
    }

    fn wait_until(&mut self, at_ns: u64) {
        let due = Duration::from_nanos(at_ns);
        let now = self.started.elapsed();
        match due.checked_sub(now) {
            Some(rest) => std::thread::sleep(rest),
            None => {
                let late_ns = u64::try_from((now - due).as_nanos()).unwrap_or(u64::MAX);
                self.outcome.latest_ns = self.outcome.latest_ns.max(late_ns);
            }
        }
    }

    fn perform(&mut self, job: &Job) -> io::Result<()> {
        let access = &job.access;
        match access.operation {
            Operation::Open => {
                // A new open file: the kernel's read-ahead begins anew.
                self.open.remove(&access.file);
                self.file(job).map(drop)
            }
            Operation::Close => {
                self.open.remove(&access.file);
                Ok(())
            }
            Operation::Advise(advice) => {
                let file = self.file(job)?;
                let length = NonZeroU64::new(access.length);
                Ok(rustix::fs::fadvise(
                    file,
                    access.offset,
                    length,
                    of_kernel(advice),
                )?)
            }
            _ => self.read(job),
        }
    }

    fn read(&mut self, job: &Job) -> io::Result<()> {
        self.file(job)?;
        let access = &job.access;
        let Some((file, _)) = self.open.get(&access.file) else {
            return Ok(());
        };
        let begun = Instant::now();
        let mut left = access.length;
        let mut offset = access.offset;
        while left > 0 {
            let wanted =
                usize::try_from(left).map_or(CALL_BYTES_MAX, |left| left.min(CALL_BYTES_MAX));
            if self.buffer.len() < wanted {
                self.buffer.resize(wanted, 0);
            }
            let bytes = match file.read_at(&mut self.buffer[..wanted], offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other? as u64,
            };
            if bytes == 0 {
                self.outcome.short_reads += 1;
                break;
            }
            self.outcome.bytes += bytes;
            offset += bytes;
            left -= bytes;
        }
        let ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        // It resizes itself for any number.
        let _ = self.outcome.latency.record(ns);
        self.outcome.reads += 1;
        Ok(())
    }

    /// The open file of a record, opened if it is not.
    fn file(&mut self, job: &Job) -> io::Result<&File> {
        self.uses += 1;
        let file = job.access.file;
        if !self.open.contains_key(&file) {
            if self.open.len() >= OPEN_MAX {
                let oldest = self.open.iter().min_by_key(|(_, (_, used))| *used);
                if let Some(oldest) = oldest.map(|(file, _)| *file) {
                    self.open.remove(&oldest);
                }
            }
            let opened = File::open(&job.path)?;
            if self.drops_cache {
                rustix::fs::fadvise(&opened, 0, None, rustix::fs::Advice::DontNeed)?;
            }
            self.open.insert(file, (opened, 0));
        }
        match self.open.get_mut(&file) {
            Some((opened, used)) => {
                *used = self.uses;
                Ok(opened)
            }
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

const fn of_kernel(advice: FileAdvice) -> rustix::fs::Advice {
    match advice {
        FileAdvice::Normal => rustix::fs::Advice::Normal,
        FileAdvice::Sequential => rustix::fs::Advice::Sequential,
        FileAdvice::Random => rustix::fs::Advice::Random,
        FileAdvice::WillNeed => rustix::fs::Advice::WillNeed,
        FileAdvice::DontNeed => rustix::fs::Advice::DontNeed,
    }
}
