//! The request queue of a block device, and the disk behind it.
//!
//! Runs of pages come in; at some moment later their pages are there. In between:
//!
//! 1. **Pieces.** A run is cut into units (what enters the queue whole) and never makes a request
//!    larger than the limit.
//! 2. **Merging.** A piece joins a waiting request that ends where it begins, or that begins where
//!    it ends, if both together stay within the limit; a request that has grown so joins the one
//!    behind it. A request that the disk already has takes no merges (in Linux 2.2 this is said of
//!    the head of an IDE queue, which is the one being served).
//! 3. **Slots.** What joins nothing needs a slot, and keeps it until the disk has finished. When
//!    none is free the run ends there: the caller drops the rest or sleeps and comes again.
//! 4. **Plug.** Held requests wait for the plug to be pulled: by a task that waits, by the end of
//!    the call, by their number, by time ([`Plugging`]).
//! 5. **Order.** Whenever the disk has fewer requests than it takes at once, the [`Scheduler`]
//!    chooses the next. Writes have slots and a line of their own, are not plugged and merge among
//!    themselves; whose turn it is, is the scheduler's choice too.
//! 6. **Completion.** All pages of a request complete together, when the disk has finished it. A run
//!    that needed several requests may have to wait for the last of them (`whole`).
//!
//! ```text
//!   submit ──► merge? ──► slot? ──► held ──unplug──► waiting ──scheduler──► disk ──► Done
//!                                     └── takes merges ──┘
//! ```
//!
//! Time is the caller's. Whatever happened up to the moment it tells is worked off at the moments
//! when it was due, so a late caller sees what a punctual one would have seen; moments never go
//! back. The cost of a request to a processor is the world's affair.
//!
//! Where this twin differs from the original: there is one plug for all tasks, so one task's wait
//! sends what another is still collecting; the disk takes as long for a write as for a read of the same
//! place; requests are not cut at segment limits of the hardware,
//! because pages have no place in memory here; merging looks at all waiting requests, where kernels
//! without a scheduler look at a few.

mod pool;
mod run;
mod scheduler;
mod settings;
#[cfg(test)]
mod tests;
mod whole;

use std::collections::BTreeMap;

use ahead_disk_model::{Completion, Disk, DiskModel, TimeScale};
use ahead_units::{ByteLength, ByteOffset, PageCount, Timestamp};

pub use run::{Done, IoDirection, PageRun};
pub use settings::{DeadlineRules, LOOP_DEPTH, Plugging, QueueSettings, Scheduler};

use pool::{Limits, Pool, Request};
use scheduler::{Sweep, Turns};
use whole::WholeRuns;

/// What a queue has done since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Requests that the disk has got.
    pub requests: u64,
    /// Pages in them.
    pub pages: u64,
    /// Requests that were saved by merging: pieces that joined a request, and requests that grew
    /// together. Pieces of one page count one each where pages enter one by one.
    pub merges: u64,
    /// Submissions that found the queue full.
    pub full: u64,
    /// Most requests that were in the queue and the disk at the same time.
    pub depth_max: u32,
    /// Nanoseconds that requests have spent between their arrival and their completion, summed over
    /// all completed. Divided by the elapsed time it is the mean depth.
    pub waited_ns: u64,
    /// Nanoseconds in which the disk was not idle, up to the latest moment told.
    pub busy_ns: u64,
    /// How often the arm had to seek.
    pub seeks: u64,
    /// Writes that the disk has got. All counts above but the last two are of reads.
    pub write_requests: u64,
    /// Pages in them.
    pub written_pages: u64,
}

/// A request queue with its disk.
#[derive(Clone, Debug)]
pub struct RequestQueue {
    settings: QueueSettings,
    limits: Limits,
    disk: Disk,
    sweep: Sweep,
    /// Behind the plug.
    held: Pool,
    held_since_ns: u64,
    /// Free to go when the disk takes them.
    waiting: Pool,
    /// The same, of writes.
    writes: Pool,
    writes_at_disk: usize,
    write_sweep: Sweep,
    turns: Turns,
    /// What the disk has, by sequence number.
    at_disk: BTreeMap<u64, Request>,
    queued_pages: u64,
    sequence: u64,
    is_congested: bool,
    /// Latest moment told.
    now_ns: u64,
    finished: Vec<Done>,
    completions: Vec<Completion>,
    /// Runs in several requests that complete as a whole.
    whole: WholeRuns,
    stats: QueueStats,
    log: Option<Vec<DiskRequest>>,
}

/// A request that the disk has got, for comparison with a real disk's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskRequest {
    /// When it reached the disk.
    pub arrived_ns: u64,
    /// First byte on the disk.
    pub offset: u64,
    /// How many bytes.
    pub bytes: u64,
}

impl RequestQueue {
    /// An empty queue in front of an idle disk of `capacity`, at moment 0. Zeroes among the limits
    /// count as 1.
    #[must_use]
    pub fn new(settings: &QueueSettings, disk: &DiskModel, capacity: ByteLength) -> Self {
        Self {
            limits: Limits {
                request_pages_max: settings.request_pages_max.max(1),
                unit_pages_max: settings.unit_pages_max.max(1),
            },
            sweep: Sweep::new(settings.scheduler),
            settings: settings.clone(),
            disk: Disk::new(disk, capacity, TimeScale::REAL),
            held: Pool::default(),
            held_since_ns: 0,
            waiting: Pool::default(),
            writes: Pool::default(),
            writes_at_disk: 0,
            write_sweep: Sweep::new(settings.scheduler.for_writes()),
            turns: Turns::default(),
            at_disk: BTreeMap::new(),
            queued_pages: 0,
            sequence: 0,
            is_congested: false,
            now_ns: 0,
            finished: Vec::new(),
            completions: Vec::new(),
            whole: WholeRuns::default(),
            stats: QueueStats::default(),
            log: None,
        }
    }

    /// Logs every request that the disk gets from now on.
    pub fn keep_log(&mut self) {
        self.log.get_or_insert_default();
    }

    /// The requests that the disk has got, in their order, if they were logged.
    #[must_use]
    pub fn log(&self) -> &[DiskRequest] {
        self.log.as_deref().unwrap_or_default()
    }

    /// Asks for a run of pages at `now`. Returns how many of them, from the first, have been taken;
    /// fewer than asked: the queue is full. `may_drop` says that the caller will drop the rest
    /// instead of waiting; some queues keep slots from such callers.
    pub fn submit(&mut self, now: Timestamp, run: PageRun, may_drop: bool) -> u64 {
        self.run_to(now);
        let now_ns = self.now_ns;
        let mut rest = run;
        while rest.pages > 0 {
            let space = self.page_space();
            let pages = if space == 0 {
                0
            } else {
                let asked = PageRun {
                    pages: rest.pages.min(space),
                    ..rest
                };
                self.place(asked, now_ns, may_drop)
            };
            if pages == 0 {
                self.stats.full += 1;
                break;
            }
            self.queued_pages += pages;
            rest = rest.skip(pages);
        }
        self.dispatch(now_ns);
        let taken = run.pages - rest.pages;
        let is_read = run.direction == IoDirection::Read;
        if is_read && self.settings.whole_runs && taken > self.limits.request_pages_max {
            self.whole.expect(run.file, run.start, taken);
        }
        taken
    }

    /// Pulls the plug: a task waits.
    pub fn unplug(&mut self, now: Timestamp) {
        self.run_to(now);
        self.release();
        self.dispatch(self.now_ns);
    }

    /// A system call has ended. That pulls a [plug of the call](Plugging::Call); a plug of the queue
    /// stays until a task waits.
    pub fn end_call(&mut self, now: Timestamp) {
        if matches!(self.settings.plugging, Plugging::Call { .. }) {
            self.unplug(now);
        }
    }

    /// When something happens next without anybody's doing; in the past when it waits to be taken
    /// with [`advance`](Self::advance). `None`: only a call can change something.
    #[must_use]
    pub fn next_event(&self) -> Option<Timestamp> {
        match self.finished.first() {
            Some(first) => Some(Timestamp::new(first.completed_ns)),
            None => self.next_change_ns().map(Timestamp::new),
        }
    }

    /// Appends to `done` all pages read by `now`, in order of completion.
    pub fn advance(&mut self, now: Timestamp, done: &mut Vec<Done>) {
        self.run_to(now);
        done.append(&mut self.finished);
    }

    /// Reads that still find a slot; `None` when there is no bound.
    #[must_use]
    pub fn free_slots(&self) -> Option<u32> {
        self.settings
            .slots
            .map(|slots| slots.saturating_sub(self.depth()))
    }

    /// Whether the queue is congested: from seven eighths of its slots on, until an eighth and a
    /// sixteenth of them and one more are free. Always no for queues that do not tell.
    #[must_use]
    pub const fn is_congested(&self) -> bool {
        self.is_congested
    }

    /// Pages that are held, waiting or at the disk.
    #[must_use]
    pub const fn queued_pages(&self) -> u64 {
        self.queued_pages
    }

    /// Whether nothing is held, waiting or at the disk.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.depth() == 0 && self.write_depth() == 0
    }

    /// What the queue has done, up to the latest moment told.
    #[must_use]
    pub fn stats(&self) -> QueueStats {
        QueueStats {
            busy_ns: self.disk.busy_ns(Timestamp::new(self.now_ns)),
            seeks: self.disk.seeks(),
            ..self.stats
        }
    }

    /// Finds a place for the beginning of `run`. Returns the pages taken; 0: no slot is free.
    fn place(&mut self, run: PageRun, now_ns: u64, may_drop: bool) -> u64 {
        if run.direction == IoDirection::Write {
            return self.place_write(run, now_ns);
        }
        if self.settings.merging {
            let mut merged = self.held.merge(&run, now_ns, self.limits);
            if merged.pages == 0 {
                merged = self
                    .waiting
                    .merge(&self.as_far_as_held(run), now_ns, self.limits);
            }
            if merged.pages > 0 {
                let units = merged.pages.div_ceil(self.limits.unit_pages_max);
                self.stats.merges += units + merged.requests;
                if merged.requests > 0 {
                    self.update_congestion();
                }
                return merged.pages;
            }
        }
        if !self.has_slot(may_drop) {
            return 0;
        }
        // One unit: it may be on its way to the disk before the next one comes.
        let pages = run.pages.min(self.limits.unit());
        let request = Request {
            offset: run.disk_offset,
            pages,
            arrived_ns: now_ns,
            sequence: self.sequence,
            segments: [run.segment(pages, now_ns)].into(),
            direction: IoDirection::Read,
        };
        self.sequence += 1;
        self.enter(request, now_ns);
        pages
    }

    /// The same for a write.
    fn place_write(&mut self, run: PageRun, now_ns: u64) -> u64 {
        if self.settings.merging {
            let merged = self.writes.merge(&run, now_ns, self.limits);
            if merged.pages > 0 {
                return merged.pages;
            }
        }
        let slots = self.settings.slots;
        if slots.is_some_and(|slots| self.write_depth() >= slots) {
            return 0;
        }
        let pages = run.pages.min(self.limits.unit());
        self.writes.insert(Request {
            offset: run.disk_offset,
            pages,
            arrived_ns: now_ns,
            sequence: self.sequence,
            segments: [run.segment(pages, now_ns)].into(),
            direction: IoDirection::Write,
        });
        self.sequence += 1;
        pages
    }

    /// The run, or its first unit when a held request begins in the rest: each unit looks at what is
    /// held before it joins what waits, so the next one may go to the front of that request.
    fn as_far_as_held(&self, run: PageRun) -> PageRun {
        let unit = self.limits.unit();
        let second = run.skip(unit.min(run.pages)).disk_offset;
        let follower = self.held.first_from(second);
        if follower.is_some_and(|follower| follower.offset <= run.skip(run.pages).disk_offset) {
            PageRun {
                pages: run.pages.min(unit),
                ..run
            }
        } else {
            run
        }
    }

    /// Puts a new request behind the plug or among the waiting.
    fn enter(&mut self, request: Request, now_ns: u64) {
        let is_held = match self.settings.plugging {
            Plugging::None => false,
            Plugging::Queue { .. } => !self.held.is_empty() || self.is_idle(),
            Plugging::Call {
                requests_max,
                flush_pages,
            } => {
                let last_is_long = self
                    .held
                    .youngest()
                    .is_some_and(|last| last.pages >= flush_pages);
                if last_is_long || count(self.held.len()) >= requests_max {
                    self.release();
                }
                true
            }
        };
        if is_held && self.held.is_empty() {
            self.held_since_ns = now_ns;
        }
        if is_held {
            self.held.insert(request);
        } else {
            self.waiting.insert(request);
        }
        self.stats.depth_max = self.stats.depth_max.max(self.depth());
        self.update_congestion();
        if let Plugging::Queue {
            requests_max: Some(requests_max),
            ..
        } = self.settings.plugging
            && count(self.held.len()) >= requests_max
        {
            self.release();
        }
        self.dispatch(now_ns);
    }

    /// Moves what is held among the waiting, oldest first.
    fn release(&mut self) {
        while let Some(request) = self.held.remove_oldest() {
            if self.settings.merging {
                self.stats.merges += self.waiting.insert_joined(request, self.limits);
            } else {
                self.waiting.insert(request);
            }
        }
        self.update_congestion();
    }

    /// Hands requests to the disk as long as it takes them.
    fn dispatch(&mut self, now_ns: u64) {
        while count(self.at_disk.len()) < self.settings.device_depth.max(1) {
            let scheduler = self.settings.scheduler;
            let taken = match self.turns.next(scheduler, &self.waiting, &self.writes) {
                IoDirection::Read => self.sweep.take(&mut self.waiting, now_ns),
                IoDirection::Write => self.write_sweep.take(&mut self.writes, now_ns),
            };
            let Some(request) = taken else {
                return;
            };
            match request.direction {
                IoDirection::Read => {
                    self.stats.requests += 1;
                    self.stats.pages += request.pages;
                }
                IoDirection::Write => {
                    self.writes_at_disk += 1;
                    self.stats.write_requests += 1;
                    self.stats.written_pages += request.pages;
                }
            }
            let order = ahead_disk_model::Request {
                id: request.sequence,
                offset: ByteOffset::new(request.offset),
                length: PageCount::new(request.pages).bytes(),
            };
            if let Some(log) = &mut self.log {
                log.push(DiskRequest {
                    arrived_ns: now_ns,
                    offset: order.offset.get(),
                    bytes: order.length.get(),
                });
            }
            self.at_disk.insert(request.sequence, request);
            self.disk.submit(Timestamp::new(now_ns), order);
        }
    }

    /// Lets everything happen that is due by `now`, each at its own moment.
    fn run_to(&mut self, now: Timestamp) {
        while let Some(due_ns) = self.next_change_ns().filter(|&due_ns| due_ns <= now.get()) {
            self.now_ns = self.now_ns.max(due_ns);
            if self.plug_due_ns().is_some_and(|plug_ns| plug_ns <= due_ns) {
                self.release();
            }
            self.disk
                .advance(Timestamp::new(due_ns), &mut self.completions);
            let mut completions = std::mem::take(&mut self.completions);
            for completion in completions.drain(..) {
                self.complete(&completion);
            }
            self.completions = completions;
            self.dispatch(due_ns);
        }
        self.now_ns = self.now_ns.max(now.get());
    }

    fn complete(&mut self, completion: &Completion) {
        let Some(request) = self.at_disk.remove(&completion.id) else {
            return;
        };
        let completed_ns = completion.completed_at.get();
        self.queued_pages -= request.pages;
        let direction = request.direction;
        match direction {
            IoDirection::Read => {
                self.stats.waited_ns += completed_ns.saturating_sub(request.arrived_ns);
            }
            IoDirection::Write => self.writes_at_disk -= 1,
        }
        for segment in &request.segments {
            let done = Done {
                file: segment.file,
                start: segment.start,
                pages: segment.pages,
                submitted_ns: segment.submitted_ns,
                completed_ns,
                direction,
            };
            match direction {
                IoDirection::Read => self.whole.pass(done, &mut self.finished),
                IoDirection::Write => self.finished.push(done),
            }
        }
        self.update_congestion();
    }

    fn next_change_ns(&self) -> Option<u64> {
        let disk_ns = self.disk.next_event().map(Timestamp::get);
        match (disk_ns, self.plug_due_ns()) {
            (Some(disk_ns), Some(plug_ns)) => Some(disk_ns.min(plug_ns)),
            (one, other) => one.or(other),
        }
    }

    /// When the plug pulls itself.
    fn plug_due_ns(&self) -> Option<u64> {
        match self.settings.plugging {
            Plugging::Queue {
                wait_ns: Some(wait_ns),
                ..
            } if !self.held.is_empty() => Some(self.held_since_ns.saturating_add(wait_ns)),
            _ => None,
        }
    }

    /// Reads in the queue and the disk.
    fn depth(&self) -> u32 {
        let at_disk = self.at_disk.len() - self.writes_at_disk;
        count(self.held.len() + self.waiting.len() + at_disk)
    }

    fn write_depth(&self) -> u32 {
        count(self.writes.len() + self.writes_at_disk)
    }

    fn has_slot(&self, may_drop: bool) -> bool {
        let kept = if may_drop {
            self.settings.slots_kept
        } else {
            0
        };
        self.free_slots().is_none_or(|free| free > kept)
    }

    fn page_space(&self) -> u64 {
        self.settings
            .queued_pages_max
            .map_or(u64::MAX, |most| most.saturating_sub(self.queued_pages))
    }

    fn update_congestion(&mut self) {
        let Some(slots) = self.settings.slots.filter(|_| self.settings.congestion) else {
            return;
        };
        let on_from = slots - slots / 8 + 1;
        let off_below = (slots - slots / 8).saturating_sub(slots / 16 + 1);
        if self.depth() >= on_from {
            self.is_congested = true;
        } else if self.depth() < off_below {
            self.is_congested = false;
        }
    }
}

/// A length as a number of requests; there are never 2³² of them.
fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
