//! Answers each read at the moment the model has finished it.
//!
//! The receiving thread puts a read into the model at the moment of its arrival; the timing thread
//! sleeps until the model's next completion and sends the bytes straight from the image. Sleeping
//! too long delays one answer and nothing else, because the model goes on from *its* moments.
//!
//! Nothing spins, except for the last microseconds before an answer. A receiver wakes the
//! timing thread only when its read will be done before the one that is slept for.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use ahead_disk_model::{Completion, Disk, Request};
use ahead_units::{ByteLength, ByteOffset, Timestamp};
use fuser::ReplyData;
use memmap2::MmapMut;

use super::counters::Counters;
use crate::record::Record;
use crate::stats::DiskStats;

/// A sleep ends this much early, and the rest is waited for awake. It covers what waking up takes
/// at best; more would burn a core that the programs under test need.
const AWAKE_NS: u64 = 4_000;

/// What receiving and timing share.
#[derive(Debug)]
pub(super) struct Shared {
    started: Instant,
    real_time: bool,
    queue: Mutex<Queue>,
    earlier: Condvar,
    image: RwLock<MmapMut>,
}

#[derive(Debug)]
struct Queue {
    disk: Disk,
    counters: Counters,
    /// Reads without an answer; the index is the id that the model knows.
    open_reads: Vec<Option<OpenRead>>,
    unused: Vec<usize>,
    /// What the timing thread sleeps for; 0 when it is awake anyway.
    sleeps_until_ns: u64,
    is_stopping: bool,
}

#[derive(Debug)]
struct OpenRead {
    reply: ReplyData,
    offset: usize,
    end: usize,
}

impl Shared {
    /// An idle disk whose bytes are `image`.
    pub(super) fn new(record: &Record, image: MmapMut, real_time: bool) -> Self {
        let capacity = ByteLength::new(record.size_bytes);
        Self {
            started: Instant::now(),
            real_time,
            queue: Mutex::new(Queue {
                disk: Disk::new(&record.model, capacity, record.time_scale),
                counters: Counters::new(record.size_bytes),
                open_reads: Vec::new(),
                unused: Vec::new(),
                sleeps_until_ns: 0,
                is_stopping: false,
            }),
            earlier: Condvar::new(),
            image: RwLock::new(image),
        }
    }

    /// Takes in a read of bytes `offset` to `end` (exclusive), which must lie inside the disk.
    pub(super) fn submit(&self, offset: usize, end: usize, reply: ReplyData) {
        let now = self.now();
        let mut queue = self.lock();
        let read = OpenRead { reply, offset, end };
        let index = if let Some(index) = queue.unused.pop() {
            queue.open_reads[index] = Some(read);
            index
        } else {
            queue.open_reads.push(Some(read));
            queue.open_reads.len() - 1
        };
        let (offset, length) = (offset as u64, (end - offset) as u64);
        queue.counters.on_read(offset, length);
        let request = Request {
            id: index as u64,
            offset: ByteOffset::new(offset),
            length: ByteLength::new(length),
        };
        queue.disk.submit(now, request);
        let is_earlier = queue
            .disk
            .next_event()
            .is_some_and(|due| due.get() < queue.sleeps_until_ns);
        drop(queue);
        if is_earlier {
            self.earlier.notify_one();
        }
    }

    /// Puts `data` into the image at `offset`. `None` when it does not fit inside the disk.
    pub(super) fn write(&self, offset: u64, data: &[u8]) -> Option<()> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(data.len())?;
        let mut image = self.image.write().unwrap_or_else(PoisonError::into_inner);
        let target = image.get_mut(start..end)?;
        // A page of zeros that was never written needs no memory, and mkfs writes many.
        if data.iter().any(|&byte| byte != 0) || target.iter().any(|&byte| byte != 0) {
            target.copy_from_slice(data);
        }
        drop(image);
        self.lock().counters.on_write(data.len() as u64);
        Some(())
    }

    /// The figures now.
    pub(super) fn stats(&self) -> DiskStats {
        let now = self.now();
        let queue = self.lock();
        let (busy_ns, seeks) = (queue.disk.busy_ns(now), queue.disk.seeks());
        queue
            .counters
            .snapshot(now.get(), busy_ns, seeks, self.real_time)
    }

    /// Sets the figures to zero.
    pub(super) fn reset_stats(&self) {
        let now = self.now();
        let mut queue = self.lock();
        let (busy_ns, seeks) = (queue.disk.busy_ns(now), queue.disk.seeks());
        queue.counters.reset(now.get(), busy_ns, seeks);
    }

    /// Ends the timing thread.
    pub(super) fn stop(&self) {
        self.lock().is_stopping = true;
        self.earlier.notify_one();
    }

    fn now(&self) -> Timestamp {
        // 584 years until this saturates.
        Timestamp::new(u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, read: OpenRead) {
        let image = self.image.read().unwrap_or_else(PoisonError::into_inner);
        read.reply.data(&image[read.offset..read.end]);
    }
}

/// Answers until [`Shared::stop`].
pub(super) fn run(shared: &Shared) {
    let mut done: Vec<Completion> = Vec::new();
    let mut answers: Vec<(OpenRead, u64)> = Vec::new();
    let mut queue = shared.lock();
    while !queue.is_stopping {
        queue.sleeps_until_ns = 0;
        let now = shared.now();
        queue.disk.advance(now, &mut done);
        if !done.is_empty() {
            queue.take_reads(&mut done, &mut answers);
            drop(queue);
            for (read, due_ns) in answers.drain(..) {
                shared.answer(read);
                let late_ns = shared.now().get().saturating_sub(due_ns);
                shared.lock().counters.on_answer(late_ns);
            }
            queue = shared.lock();
            continue;
        }
        queue = match queue.disk.next_event() {
            None => {
                queue.sleeps_until_ns = u64::MAX;
                shared
                    .earlier
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner)
            }
            Some(due) if due.since(now) > AWAKE_NS => {
                queue.sleeps_until_ns = due.get();
                let sleep = Duration::from_nanos(due.since(now) - AWAKE_NS);
                let woken = shared.earlier.wait_timeout(queue, sleep);
                woken.unwrap_or_else(PoisonError::into_inner).0
            }
            Some(due) => {
                drop(queue);
                while shared.now() < due {
                    std::hint::spin_loop();
                }
                shared.lock()
            }
        };
    }
}

impl Queue {
    /// Moves the reads that are `done` to `answers`, each with the moment it was due.
    fn take_reads(&mut self, done: &mut Vec<Completion>, answers: &mut Vec<(OpenRead, u64)>) {
        for completion in done.drain(..) {
            let Ok(index) = usize::try_from(completion.id) else {
                continue;
            };
            if let Some(read) = self.open_reads.get_mut(index).and_then(Option::take) {
                self.unused.push(index);
                answers.push((read, completion.completed_at.get()));
            }
        }
    }
}
