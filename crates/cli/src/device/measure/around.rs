//! What is around a measurement: counters of the disk, pauses, the order to stop, progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ahead_device::measurement::plan::MeasureStep;
use ahead_device::measurement::session::Surroundings;
use ahead_device::measurement::traffic::TrafficCounters;
use ahead_sys::block_queue::BlockQueue;
use indicatif::ProgressBar;

use crate::progress::{self, Shows};

/// How soon a pause ends when it is to stop.
const SLICE: Duration = Duration::from_millis(20);

/// Longest wait for what was read ahead for nothing.
const SETTLE: Duration = Duration::from_secs(10);

/// Waits until the disk has nothing to do: as long as others use it, not longer than [`SETTLE`].
pub(super) fn settle(queue: Option<&BlockQueue>, stop: &AtomicBool) {
    let until = Instant::now() + SETTLE;
    let is_busy = || {
        let stat = queue.and_then(|queue| queue.stat().ok());
        stat.is_some_and(|stat| stat.in_flight > 0)
    };
    while is_busy() && !stop.load(Ordering::Relaxed) && Instant::now() < until {
        std::thread::sleep(SLICE);
    }
}

/// The real machine.
pub(super) struct Around {
    queue: Option<BlockQueue>,
    stop: Arc<AtomicBool>,
    bar: ProgressBar,
    begun: u64,
}

impl Around {
    /// For so many steps and rungs.
    pub(super) fn new(queue: Option<BlockQueue>, stop: Arc<AtomicBool>, parts: u64) -> Self {
        Self {
            queue,
            stop,
            bar: progress::bar(Shows::Parts, parts),
            begun: 0,
        }
    }

    /// A rung of the ladder begins.
    pub(super) fn on_rung(&mut self, window_kib: u64) {
        self.show(format!("window {window_kib} KiB"));
    }

    /// Nothing more is shown.
    pub(super) fn done(&self) {
        self.bar.finish_and_clear();
    }

    fn show(&mut self, what: String) {
        // What is repeated was not counted.
        let parts = self.bar.length().unwrap_or(u64::MAX);
        self.bar.set_position(self.begun.min(parts));
        self.bar.set_message(what);
        self.begun += 1;
    }
}

impl Surroundings for Around {
    fn counters(&mut self) -> Option<TrafficCounters> {
        let stat = self.queue.as_ref()?.stat().ok()?;
        Some(TrafficCounters {
            read_bytes: stat.read_bytes,
            written_bytes: stat.written_bytes,
            writes: stat.writes,
        })
    }

    fn pause(&mut self, ns: u64) {
        let until = Instant::now() + Duration::from_nanos(ns);
        while !self.is_stopped() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(SLICE));
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn on_step(&mut self, step: &MeasureStep, _number: usize, _total: usize) {
        self.show(step.name());
    }

    fn on_wait(&mut self) {
        self.bar.set_message("others use the device: waiting");
    }
}
