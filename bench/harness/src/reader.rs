//! The reader: a process of its own that does the reads of one job and says how long they took.
//!
//! It is a separate process so that a library can be loaded into it, a memory limit put on it and
//! its CPU time counted. It reads through libc, as programs do. Every page read is
//! [checked](crate::content); a wrong byte ends the run.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ahead_sys::process_status;
use ahead_sys::shared_counter::SharedCounter;
use hdrhistogram::Histogram;

use crate::ceiling_reader;
use crate::content;
use crate::job::{Answer, Job, Latency, Measured, Mode, Source, Sources, read_json, write_json};
use crate::mapped_reader;
use crate::operations::{Layout, Operation, Operations};
use crate::pattern::{Opening, Pattern};

/// A run went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A call failed.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// What was tried, ending in a preposition.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Wrong bytes.
    #[error("{} holds wrong bytes at offset {offset}", path.display())]
    Mismatch {
        /// Which file.
        path: PathBuf,
        /// Position of the first wrong word looked at.
        offset: u64,
    },
    /// A reader that knows the future needs io_uring.
    #[error("cannot read with io_uring, which the ceiling needs: {0}")]
    Ring(io::Error),
    /// Nothing to read, or nothing that can be measured.
    #[error("the pattern had nothing to read")]
    Empty,
}

pub(crate) fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ReadError {
    move |source| ReadError::Io {
        what,
        path: path.to_owned(),
        source,
    }
}

/// Does the job whose file is the first argument. The answer, also that of a failure, goes into
/// the file that the job names; the exit code only repeats it.
#[must_use]
pub fn reader_main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(job) = arguments
        .next()
        .and_then(|path| read_json::<Job>(Path::new(&path)).ok())
    else {
        return ExitCode::from(2);
    };
    // A reader whose bench was killed must not go on.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let answer = match read(&job) {
        Ok(measured) => Answer::Measured(measured),
        Err(error) => Answer::Failed(error.to_string()),
    };
    let failed = matches!(answer, Answer::Failed(_)) || write_json(&job.answer, &answer).is_err();
    if failed {
        let _ = write_json(&job.answer, &answer);
    }
    ExitCode::from(u8::from(failed))
}

/// Does one job.
pub fn read(job: &Job) -> Result<Measured, ReadError> {
    if let Some(members) = &job.members_file {
        let own = std::process::id().to_string();
        fs::write(members, own).map_err(io_error("cannot join the group", members))?;
    }
    let sources = listed(&job.sources)?;
    let layout = Layout {
        file_bytes: sources.iter().map(|source| source.bytes).collect(),
    };
    let counter =
        SharedCounter::open(&job.counter).map_err(io_error("cannot open", &job.counter))?;
    let run = Run {
        job,
        sources: &sources,
        layout: &layout,
        counter: &counter,
    };
    let mut measured = match job.mode {
        Mode::Ceiling(pricing) => ceiling_reader::read(&run, &pricing)?,
        Mode::Plain if job.scenario.pattern.is_mapped() => mapped_reader::read(&run)?,
        Mode::Plain => run.plain()?,
    };
    measured.preloaded = library_is_loaded();
    if measured.useful_bytes == 0 || measured.elapsed_ns == 0 {
        return Err(ReadError::Empty);
    }
    Ok(measured)
}

/// Whether every library in `LD_PRELOAD` is mapped. The loader only warns when it skips one.
fn library_is_loaded() -> bool {
    let Ok(wanted) = std::env::var("LD_PRELOAD") else {
        return false;
    };
    let libraries: io::Result<Vec<PathBuf>> = wanted
        .split([':', ' '])
        .filter(|path| !path.is_empty())
        .map(fs::canonicalize)
        .collect();
    libraries
        .and_then(|libraries| process_status::mapped(Path::new("/proc"), &libraries))
        .is_ok_and(|mapped| mapped.into_iter().all(|is_mapped| is_mapped))
}

fn listed(sources: &Sources) -> Result<Vec<Source>, ReadError> {
    match sources {
        Sources::Listed(list) => Ok(list.clone()),
        Sources::Folder {
            path,
            first_id,
            bytes,
        } => {
            let mut list = Vec::new();
            for entry in fs::read_dir(path).map_err(io_error("cannot list", path))? {
                let entry = entry.map_err(io_error("cannot list", path))?;
                let number = entry
                    .file_name()
                    .to_str()
                    .and_then(|name| name.parse::<u32>().ok());
                if let Some(number) = number {
                    let id = first_id + number;
                    list.push(Source {
                        path: entry.path(),
                        id,
                        bytes: *bytes,
                    });
                }
            }
            Ok(list)
        }
    }
}

/// Everything that the readers of one job share.
pub(crate) struct Run<'a> {
    pub(crate) job: &'a Job,
    pub(crate) sources: &'a [Source],
    pub(crate) layout: &'a Layout,
    pub(crate) counter: &'a SharedCounter,
}

/// What one thread measured.
pub(crate) struct Tally {
    pub(crate) useful_bytes: u64,
    pub(crate) reads: u64,
    pub(crate) latency: Histogram<u64>,
}

impl Tally {
    pub(crate) fn new() -> Self {
        let latency = Histogram::new_with_bounds(1, 1_000_000_000_000, 3)
            .expect("the bounds are constant and valid");
        Self {
            useful_bytes: 0,
            reads: 0,
            latency,
        }
    }

    pub(crate) fn count(&mut self, bytes: u64, took: Duration) {
        self.useful_bytes += bytes;
        self.reads += 1;
        self.latency
            .saturating_record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(crate) fn measured(&self, elapsed: Duration) -> Measured {
        let at = |quantile| self.latency.value_at_quantile(quantile);
        Measured {
            useful_bytes: self.useful_bytes,
            elapsed_ns: u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
            reads: self.reads,
            latency: Latency {
                p50_ns: at(0.5),
                p99_ns: at(0.99),
                p999_ns: at(0.999),
                max_ns: self.latency.max(),
            },
            preloaded: false,
        }
    }
}

impl Run<'_> {
    pub(crate) fn source(&self, operation: Operation) -> Result<&Source, ReadError> {
        usize::try_from(operation.file)
            .ok()
            .and_then(|at| self.sources.get(at))
            .ok_or(ReadError::Empty)
    }

    pub(crate) fn deadline(&self, start: Instant) -> Option<Instant> {
        self.job
            .milliseconds_max
            .map(|limit| start + Duration::from_millis(limit))
    }

    pub(crate) fn operations(&self, thread: u32) -> Operations<'_> {
        Operations::new(
            self.job.scenario.pattern,
            self.layout,
            self.job.seed,
            thread,
        )
    }

    fn plain(&self) -> Result<Measured, ReadError> {
        let threads = self.job.scenario.pattern.threads();
        let barrier = Barrier::new(usize::try_from(threads).unwrap_or(1));
        let shared = Shared {
            next: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|thread| {
                    let (barrier, shared) = (&barrier, &shared);
                    scope.spawn(move || Worker::new(self, thread, shared).run(barrier))
                })
                .collect();
            let mut total = Tally::new();
            // From the first start to the last end, by the clocks of those who read: this thread
            // may be woken late.
            let mut span: Option<(Instant, Instant)> = None;
            let mut failure = None;
            for worker in workers {
                match worker.join() {
                    Ok(Ok((tally, (start, end)))) => {
                        total.useful_bytes += tally.useful_bytes;
                        total.reads += tally.reads;
                        let _ = total.latency.add(&tally.latency);
                        span = Some(span.map_or((start, end), |(first, last)| {
                            (first.min(start), last.max(end))
                        }));
                    }
                    Ok(Err(error)) => failure = Some(error),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            if let Some(error) = failure {
                return Err(error);
            }
            let (start, end) = span.ok_or(ReadError::Empty)?;
            Ok(total.measured(end - start))
        })
    }
}

/// What the threads of one run share: the place in a common list, and that one has failed.
struct Shared {
    next: AtomicU64,
    stop: AtomicBool,
}

struct Worker<'a> {
    run: &'a Run<'a>,
    thread: u32,
    shared: &'a Shared,
    opening: Opening,
    before: Vec<File>,
    current: Option<(u32, File)>,
    since_open: u64,
}

impl<'a> Worker<'a> {
    fn new(run: &'a Run<'a>, thread: u32, shared: &'a Shared) -> Self {
        let opening = run.job.scenario.pattern.opening();
        Self {
            run,
            thread,
            shared,
            opening,
            before: Vec::new(),
            current: None,
            since_open: 0,
        }
    }

    fn run(mut self, barrier: &Barrier) -> Result<(Tally, (Instant, Instant)), ReadError> {
        let prepared = self.open_before();
        barrier.wait();
        prepared?;
        let result = self.read_all();
        if result.is_err() {
            self.shared.stop.store(true, Ordering::Relaxed);
        }
        result
    }

    fn open_before(&mut self) -> Result<(), ReadError> {
        if self.opening == Opening::Before {
            for source in self.run.sources {
                self.before.push(open(source)?);
            }
        }
        Ok(())
    }

    fn read_all(&mut self) -> Result<(Tally, (Instant, Instant)), ReadError> {
        let job = self.run.job;
        let mut tally = Tally::new();
        let mut list = self.run.operations(self.thread);
        let mut buffer = vec![0u8; 2 << 20];
        let threads = u64::from(job.scenario.pattern.threads());
        let bytes_max = job.bytes_max.map_or(u64::MAX, |bytes| bytes / threads);
        let start = Instant::now();
        let deadline = self.run.deadline(start);
        let mut now = start;
        loop {
            let next = if job.scenario.pattern == Pattern::Server {
                list.at(self.shared.next.fetch_add(1, Ordering::Relaxed))
            } else {
                list.next()
            };
            let Some(operation) = next else {
                if !job.repeat || tally.reads == 0 {
                    break;
                }
                self.shared.next.store(0, Ordering::Relaxed);
                list = self.run.operations(self.thread);
                continue;
            };
            let length = usize::try_from(operation.length).map_err(|_| ReadError::Empty)?;
            let Some(bytes) = buffer.get_mut(..length) else {
                return Err(ReadError::Empty);
            };
            let before = Instant::now();
            self.read_one(operation, bytes)?;
            now = Instant::now();
            let source = self.run.source(operation)?;
            if let Some(offset) = content::first_mismatch(bytes, source.id, operation.offset) {
                return Err(ReadError::Mismatch {
                    path: source.path.clone(),
                    offset,
                });
            }
            tally.count(operation.length, now - before);
            self.run.counter.add(operation.length);
            if tally.useful_bytes >= bytes_max
                || deadline.is_some_and(|deadline| now >= deadline)
                || self.shared.stop.load(Ordering::Relaxed)
            {
                break;
            }
        }
        if self.opening == Opening::PerFile {
            self.finish_file()?;
            now = Instant::now();
        }
        Ok((tally, (start, now)))
    }

    fn read_one(&mut self, operation: Operation, bytes: &mut [u8]) -> Result<(), ReadError> {
        let source = self.run.source(operation)?;
        let failed = io_error("cannot read", &source.path);
        match self.opening {
            Opening::Before => {
                let at = usize::try_from(operation.file).map_err(|_| ReadError::Empty)?;
                let file = self.before.get(at).ok_or(ReadError::Empty)?;
                file.read_exact_at(bytes, operation.offset).map_err(failed)
            }
            Opening::PerRead => {
                let file = open(source)?;
                file.read_exact_at(bytes, operation.offset).map_err(failed)
            }
            Opening::Every(limit) => {
                if self.since_open >= limit {
                    self.current = None;
                }
                self.since_open = if self.current.is_some() {
                    self.since_open
                } else {
                    0
                };
                self.since_open += operation.length;
                let file = self.current(operation, source)?;
                file.read_exact_at(bytes, operation.offset).map_err(failed)
            }
            Opening::PerFile => {
                if self
                    .current
                    .as_ref()
                    .is_some_and(|(file, _)| *file != operation.file)
                {
                    self.finish_file()?;
                }
                let file = self.current(operation, source)?;
                file.read_exact_at(bytes, operation.offset).map_err(failed)
            }
        }
    }

    fn current(&mut self, operation: Operation, source: &Source) -> Result<&File, ReadError> {
        if self.current.is_none() {
            self.current = Some((operation.file, open(source)?));
        }
        self.current
            .as_ref()
            .map(|(_, file)| file)
            .ok_or(ReadError::Empty)
    }

    /// Reads once more at the end, as every program that reads a whole file does, and closes.
    fn finish_file(&mut self) -> Result<(), ReadError> {
        if let Some((number, file)) = self.current.take() {
            let at = usize::try_from(number).map_err(|_| ReadError::Empty)?;
            let source = self.run.sources.get(at).ok_or(ReadError::Empty)?;
            let mut byte = [0];
            file.read_at(&mut byte, source.bytes)
                .map_err(io_error("cannot read", &source.path))?;
        }
        Ok(())
    }
}

fn open(source: &Source) -> Result<File, ReadError> {
    File::open(&source.path).map_err(io_error("cannot open", &source.path))
}
