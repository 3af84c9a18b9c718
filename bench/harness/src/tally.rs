//! What all readers of one assignment share, and what each of them counts.

use std::time::{Duration, Instant};

use ahead_sys::counter::monotonic_ns;
use ahead_sys::shared_counter::SharedCounter;
use hdrhistogram::Histogram;

use crate::assignment::{Assignment, Latency, Measured, Source};
use crate::read_error::ReadError;

/// Everything that the readers of one assignment share.
pub(crate) struct Run<'a> {
    pub(crate) assignment: &'a Assignment,
    pub(crate) sources: &'a [Source],
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
        self.latency.saturating_record(nanoseconds(took));
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.useful_bytes += other.useful_bytes;
        self.reads += other.reads;
        let _ = self.latency.add(&other.latency);
    }

    /// How often a read took how long, in nanoseconds.
    pub(crate) fn latencies(&self) -> impl Iterator<Item = (u64, u64)> {
        let recorded = self.latency.iter_recorded();
        recorded.map(|one| (one.value_iterated_to(), one.count_since_last_iteration()))
    }

    /// What another process counted.
    pub(crate) fn add_part(&mut self, useful_bytes: u64, reads: u64, latencies: Vec<(u64, u64)>) {
        self.useful_bytes += useful_bytes;
        self.reads += reads;
        for (ns, count) in latencies {
            self.latency.saturating_record_n(ns, count);
        }
    }
}

/// What was measured, and when.
pub(crate) struct Timed {
    pub(crate) tally: Tally,
    /// When the first read began, in nanoseconds of `CLOCK_MONOTONIC`.
    pub(crate) began_ns: u64,
    /// Until the end of the last one.
    pub(crate) elapsed_ns: u64,
}

impl Timed {
    /// From `start` to `end`, which have passed.
    pub(crate) fn new(tally: Tally, start: Instant, end: Instant) -> Self {
        Self {
            tally,
            began_ns: monotonic_ns().saturating_sub(nanoseconds(start.elapsed())),
            elapsed_ns: nanoseconds(end - start),
        }
    }

    /// When the last read ended, by the same clock.
    pub(crate) fn ended_ns(&self) -> u64 {
        self.began_ns.saturating_add(self.elapsed_ns)
    }

    /// The answer, but for whether a library was loaded.
    pub(crate) fn measured(&self) -> Measured {
        let latency = &self.tally.latency;
        let at = |quantile| latency.value_at_quantile(quantile);
        Measured {
            useful_bytes: self.tally.useful_bytes,
            elapsed_ns: self.elapsed_ns,
            reads: self.tally.reads,
            began_ns: self.began_ns,
            latency: Latency {
                p50_ns: at(0.5),
                p99_ns: at(0.99),
                p999_ns: at(0.999),
                max_ns: latency.max(),
            },
            preloaded: false,
        }
    }
}

impl Run<'_> {
    /// Called for every read: an error is made only when there is one.
    pub(crate) fn source(&self, file: u32) -> Result<&Source, ReadError> {
        let at = usize::try_from(file).unwrap_or(usize::MAX);
        match self.sources.get(at) {
            Some(source) => Ok(source),
            None => Err(ReadError::Unknown {
                what: "file",
                number: file,
            }),
        }
    }

    pub(crate) fn deadline(&self, start: Instant) -> Option<Instant> {
        self.assignment
            .milliseconds_max
            .map(|limit| start + Duration::from_millis(limit))
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
