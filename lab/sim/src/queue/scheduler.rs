//! Which waiting request goes to the disk next: noop, C-LOOK, deadline, slices.
//!
//! The deadline scheduler runs in batches. Inside a batch it takes what begins at or behind the end
//! of the last request. When the batch is full, or nothing lies ahead, it looks at the oldest: if
//! that has expired, it goes next; if not, the sweep goes on, and a sweep with nothing ahead starts
//! again where the [rules](DeadlineRules) say. The kernel looks at expiry between two batches only,
//! so a request may wait for a batch longer than its time; so it does here.

use super::pool::{Pool, Request};
use super::run::IoDirection;
use super::settings::{DeadlineRules, Scheduler};
use ahead_replicas::page_cache::FileId;

/// How often reads go first while writes wait: `writes_starved` of the deadline scheduler.
const WRITES_PASSED_OVER: u32 = 2;

/// Requests of one direction in a row while the other waits: `fifo_batch` of the deadline scheduler.
const TURN_REQUESTS: u32 = 16;

/// Whether a read or a write goes next.
///
/// Deadline serves batches of one direction; reads come first, but after two batches of them those that
/// write have one. Noop and the disk order of Linux 2.2 have one line for both, so that the older
/// goes first. CFQ's slice for all writes together is left out: time slices take turns as deadline does.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    direction: IoDirection,
    /// Requests left of the present batch.
    left: u32,
    /// Batches of reads since writes began to wait.
    passed_over: u32,
}

impl Turns {
    /// The direction of the next request; of those that wait, if any does.
    pub(super) fn next(
        &mut self,
        scheduler: Scheduler,
        reads: &Pool,
        writes: &Pool,
    ) -> IoDirection {
        if writes.is_empty() {
            return IoDirection::Read;
        }
        if matches!(scheduler, Scheduler::Noop | Scheduler::CLook) {
            let age = |pool: &Pool| pool.oldest().map_or(u64::MAX, |oldest| oldest.sequence);
            return if age(reads) < age(writes) {
                IoDirection::Read
            } else {
                IoDirection::Write
            };
        }
        let goes_on = match self.direction {
            IoDirection::Read => !reads.is_empty(),
            IoDirection::Write => true,
        };
        if self.left == 0 || !goes_on {
            let is_read = !reads.is_empty() && self.passed_over < WRITES_PASSED_OVER;
            if is_read {
                self.direction = IoDirection::Read;
                self.passed_over += 1;
            } else {
                self.direction = IoDirection::Write;
                self.passed_over = 0;
            }
            self.left = TURN_REQUESTS;
        }
        self.left -= 1;
        self.direction
    }
}

/// The state of a scheduler.
#[derive(Clone, Debug)]
pub(super) struct Sweep {
    scheduler: Scheduler,
    /// Where the last request ended.
    position: u64,
    /// Requests taken in this batch.
    batched: u32,
    /// The file that has the slice, and when it ends.
    slice: Option<(FileId, u64)>,
}

impl Sweep {
    pub(super) const fn new(scheduler: Scheduler) -> Self {
        Self {
            scheduler,
            position: 0,
            // No batch is running.
            batched: u32::MAX,
            slice: None,
        }
    }

    /// Takes the next request out of the pool; `None` when it is empty.
    pub(super) fn take(&mut self, pool: &mut Pool, now_ns: u64) -> Option<Request> {
        let oldest = pool.oldest()?;
        let chosen = match self.scheduler {
            Scheduler::Noop => Some(oldest),
            Scheduler::Slices { slice_ns } => {
                let running = self.slice.filter(|&(_, end_ns)| now_ns < end_ns);
                let own = running.and_then(|(file, _)| pool.oldest_of(file));
                if own.is_none() {
                    let first = oldest.segments.front();
                    self.slice = first.map(|first| (first.file, now_ns.saturating_add(slice_ns)));
                }
                own.or(Some(oldest))
            }
            Scheduler::CLook => pool.first_from(self.position).or_else(|| pool.lowest()),
            Scheduler::Deadline {
                expire_ns,
                batch,
                rules,
            } => {
                let ahead = pool.first_from(self.position);
                let continues = ahead.filter(|next| match rules {
                    DeadlineRules::Early => next.offset == self.position,
                    DeadlineRules::Late => true,
                });
                if self.batched < batch && continues.is_some() {
                    self.batched += 1;
                    continues
                } else {
                    self.batched = 1;
                    let has_expired = now_ns.saturating_sub(oldest.arrived_ns) >= expire_ns;
                    match (ahead, rules) {
                        _ if has_expired => Some(oldest),
                        (Some(_), _) => ahead,
                        (None, DeadlineRules::Early) => pool.lowest(),
                        (None, DeadlineRules::Late) => Some(oldest),
                    }
                }
            }
        }?;
        let (offset, sequence, end) = (chosen.offset, chosen.sequence, chosen.end());
        self.position = end;
        pool.remove(offset, sequence)
    }
}
