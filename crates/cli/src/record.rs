//! `ahead record --system`: the reads of every process of this machine, kept as a trace.
//!
//! The observer of the daemon, without the daemon: what it tells of files that had to be fetched from a device is
//! written, and nothing is decided. A file is in the trace from its first miss on, with all its reads then, also those
//! from memory, up to [`WATCHED_MAX`] files at a time. `held` puts them in their order, `recorded_files` names the files.

mod held;
mod recorded_files;

use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ahead_daemon::machine_facts::now;
use ahead_daemon::reach::{Reach, Reacher};
use ahead_observer::observation::{FactKind, FileKey, Observation};
use ahead_observer::observer::{KernelObserver, ObserverError, WATCHED_MAX};
use ahead_observer::self_test::{self, SelfTestError};
use ahead_trace::{FileRef, Format, Objects, RecordingNameError, WriteError, Writer, create};
use lru::LruCache;

use crate::daemon::state_folder;
use crate::{arguments, output, signals};
use held::Held;
use recorded_files::RecordedFiles;

/// Longest that a signal waits to be noticed.
const STEP: Duration = Duration::from_millis(100);

/// What was written is in the file after this time.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// Why there is no trace, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum RecordCommandError {
    /// Nothing can be observed.
    #[error(transparent)]
    Observer(#[from] ObserverError),
    /// What is observed is not believed.
    #[error(transparent)]
    SelfTest(#[from] SelfTestError),
    /// What is told cannot be read any more.
    #[error("cannot read what the kernel tells: {0}")]
    Ring(String),
    /// The trace's name.
    #[error(transparent)]
    Name(#[from] RecordingNameError),
    /// The trace cannot be written.
    #[error("cannot record to {0}; name a writable file")]
    Write(#[from] WriteError),
    /// The folder for known reads, or signals.
    #[error("cannot begin to record: {0}; this needs root")]
    Begin(#[from] io::Error),
}

/// Records until a signal, or for the time that was typed, and says what.
///
/// # Errors
/// [`RecordCommandError`]. What was written until then is a trace.
pub fn record(arguments: &arguments::Record) -> Result<(), RecordCommandError> {
    let format = Format::of_recording(&arguments.trace_file)?;
    let stop = signals::stop_flag()?;
    let scratch = state_folder()?;
    let mut observer = KernelObserver::start()?;
    self_test::run(&mut observer, scratch)?;
    observer
        .leave_out(std::process::id())
        .map_err(ObserverError::Refused)?;
    let writer = create(&arguments.trace_file, format, Objects::default())?;
    let mut recorder = Recorder::new(observer, writer);
    for lost in recorder.observer.lost() {
        output::to_stderr(&format!("ahead: this kernel does not tell: {lost}\n"));
    }
    output::to_stderr("ahead: recording\n");
    let until = arguments
        .duration_ns
        .map(|ns| Instant::now() + Duration::from_nanos(ns));
    let mut flushed = Instant::now();
    while !stop.load(Ordering::Relaxed) && until.is_none_or(|until| Instant::now() < until) {
        recorder.step(STEP)?;
        if flushed.elapsed() >= FLUSH_INTERVAL {
            recorder.writer.flush()?;
            flushed = Instant::now();
        }
    }
    output::to_stderr(&recorder.finish()?);
    Ok(())
}

struct Recorder {
    observer: KernelObserver,
    reacher: Reacher,
    writer: Box<dyn Writer>,
    held: Held,
    files: RecordedFiles,
    watched: LruCache<FileKey, ()>,
    facts: Vec<Observation>,
    records: u64,
}

impl Recorder {
    fn new(observer: KernelObserver, writer: Box<dyn Writer>) -> Self {
        let watched = NonZeroUsize::new(WATCHED_MAX / 2).unwrap_or(NonZeroUsize::MIN);
        Self {
            observer,
            reacher: Reacher::new(),
            writer,
            held: Held::new(now()),
            files: RecordedFiles::new(),
            watched: LruCache::new(watched),
            facts: Vec::new(),
            records: 0,
        }
    }

    /// Takes in what is told within `timeout`, and writes what cannot change any more.
    fn step(&mut self, timeout: Duration) -> Result<(), RecordCommandError> {
        let mut facts = std::mem::take(&mut self.facts);
        let waited = self.observer.wait(timeout, &mut facts);
        waited.map_err(|error| RecordCommandError::Ring(error.to_string()))?;
        for fact in facts.drain(..) {
            let Some(file) = self.file(&fact) else {
                // Only its misses are told, and are counted.
                continue;
            };
            if fact.kind == FactKind::Miss {
                self.watch(fact.file);
            } else {
                self.watched.promote(&fact.file);
            }
            self.held.on_fact(&fact, file);
        }
        self.facts = facts;
        let now = now();
        while let Some(access) = self.held.next(now) {
            self.writer.write(&access, self.files.names())?;
            self.records += 1;
        }
        Ok(())
    }

    fn watch(&mut self, file: FileKey) {
        if self.watched.contains(&file) || self.observer.watch(file).is_err() {
            return;
        }
        if let Some((other, ())) = self.watched.push(file, ())
            && other != file
        {
            self.observer.forget(other);
        }
    }

    /// The file of a fact in the trace, if it is not left out.
    fn file(&mut self, fact: &Observation) -> Option<FileRef> {
        let hint = fact
            .descriptor
            .map_or(Reach::Unknown, |number| Reach::Descriptor {
                process: fact.process,
                number,
            });
        let reacher = &self.reacher;
        let path = || reacher.path(fact.file, fact.process, hint);
        self.files.on_fact(fact, path)
    }

    /// Writes the rest; what was recorded, in words.
    fn finish(mut self) -> Result<String, RecordCommandError> {
        self.step(Duration::ZERO)?;
        while let Some(access) = self.held.last() {
            self.writer.write(&access, self.files.names())?;
            self.records += 1;
        }
        self.writer.finish(self.files.names())?;
        let (records, files) = (self.records, self.files.names().len());
        let left_out = self.files.left_out();
        let lost = match self.observer.overruns() {
            0 => String::new(),
            lost => format!("; {lost} records lost, as they came too fast"),
        };
        Ok(format!(
            "ahead: {records} reads of {files} files{left_out}{lost}\n"
        ))
    }
}
