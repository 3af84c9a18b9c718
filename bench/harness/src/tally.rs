//! What all readers of one assignment share, and what each of them counts.

use std::time::{Duration, Instant};

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
        self.latency
            .saturating_record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.useful_bytes += other.useful_bytes;
        self.reads += other.reads;
        let _ = self.latency.add(&other.latency);
    }

    pub(crate) fn measured(&self, elapsed: Duration) -> Measured {
        let at = |quantile| self.latency.value_at_quantile(quantile);
        Measured {
            useful_bytes: self.useful_bytes,
            elapsed_ns: u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
            reads: self.reads,
            began_ns: 0,
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
