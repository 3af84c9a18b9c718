//! When a descriptor is looked at: not before something waits.
//!
//! Most reads find their pages in memory. For those nothing is known of the descriptor, nothing is
//! asked of the kernel, and a read costs one look at the clock. A read that took too long for memory
//! has waited; if the process has really had to wait for something, its descriptor is looked at, and
//! watched from then on. As a process that waits for one file mostly waits for the next ones too,
//! those are then looked at before their first read: their first pages can be brought in one request,
//! and a file that comes back is recognised.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use ahead_engine::settings::COPY_PAGE_NS;
use ahead_sys::own_usage::own_usage;
use ahead_units::PAGE_BYTES;

use crate::fd_table::Line;
use crate::ticks;

/// Fresh descriptors that are looked at before their first read, after something waited. Fewer, and
/// a program that goes through many files loses sight of them wherever the disk's own cache answers
/// for a while; more, and a program whose files come into memory goes on paying for long.
const FRESH_LOOKED_AT: u32 = 64;

/// Reads that are timed from their beginning after one that may have waited: windows of a scan in
/// small reads end every few hundred.
const READS_TIMED: u32 = 1024;

static FRESH_LEFT: AtomicU32 = AtomicU32::new(0);

/// Something waited, was fetched from a device, or was there because it had been: fresh descriptors are of interest.
pub(crate) fn stay_alert() {
    if FRESH_LEFT.load(Relaxed) != FRESH_LOOKED_AT {
        FRESH_LEFT.store(FRESH_LOOKED_AT, Relaxed);
    }
}

/// Whether something has waited lately.
#[inline]
pub(crate) fn is_alert() -> bool {
    FRESH_LEFT.load(Relaxed) > 0
}

/// Whether a descriptor is to be looked at before it is read for the first time.
#[inline]
pub(crate) fn is_of_interest(line: &Line) -> bool {
    is_alert() && takes_fresh(line)
}

#[cold]
fn takes_fresh(line: &Line) -> bool {
    if line.read_ended.load(Relaxed) != 0 {
        return false;
    }
    let left = FRESH_LEFT.load(Relaxed);
    FRESH_LEFT.store(left.saturating_sub(1), Relaxed);
    true
}

/// A read that is being timed.
///
/// To look at the clock twice costs as much as everything else here together. So the end of one read
/// serves as the beginning of the next: if even that time is too short for a wait, there was none.
/// Only where it is not (the program did something in between, or did wait) are the next reads timed
/// from their beginnings.
#[derive(Clone, Copy)]
pub(crate) struct Timer {
    line: &'static Line,
    /// In ticks; 0: since the read before.
    began: u64,
    thread: u64,
}

impl Timer {
    /// A read through this number begins now.
    #[inline(always)]
    pub(crate) fn start(line: &'static Line) -> Self {
        let timed = line.timed_reads.load(Relaxed);
        let ended = line.read_ended.load(Relaxed);
        let thread = this_thread();
        // Another thread's reads say nothing about this one's.
        if timed == 0 && ended != 0 && line.reader.load(Relaxed) == thread {
            return Self {
                line,
                began: 0,
                thread,
            };
        }
        if timed != 0 {
            line.timed_reads.store(timed - 1, Relaxed);
        }
        Self::start_exactly(line)
    }

    /// The same, with a look at the clock.
    #[inline]
    pub(crate) fn start_exactly(line: &'static Line) -> Self {
        let (began, thread) = (ticks::now_for_fresh(), this_thread());
        Self {
            line,
            began,
            thread,
        }
    }

    /// When the read began, in ticks, as well as known.
    pub(crate) fn began(&self) -> u64 {
        if self.began == 0 {
            ticks::now()
        } else {
            self.began
        }
    }

    /// The same for a read that began `elapsed` ticks before now.
    pub(crate) fn began_earlier(self, elapsed: u64) -> Self {
        Self {
            began: ticks::now().saturating_sub(elapsed).max(1),
            ..self
        }
    }

    /// The read is over. How long it took, in ticks; 0 where it seems to have waited and it
    /// is not known since when.
    #[inline(always)]
    pub(crate) fn stop(&self, limit: u64) -> u64 {
        let now = ticks::now();
        let began = if self.began == 0 {
            self.line.read_ended.load(Relaxed)
        } else {
            self.began
        };
        self.line.read_ended.store(now, Relaxed);
        if self.line.reader.load(Relaxed) != self.thread {
            self.line.reader.store(self.thread, Relaxed);
        }
        let elapsed = now.saturating_sub(began);
        if elapsed > limit && self.began == 0 {
            self.line.timed_reads.store(READS_TIMED, Relaxed);
            return 0;
        }
        elapsed
    }
}

/// A number that tells the running thread from others: where its `errno` lies.
#[inline(always)]
fn this_thread() -> u64 {
    // SAFETY: returns an address; it is not looked at.
    unsafe { libc::__errno_location() }.addr() as u64
}

/// The setting `wait_us`. The one setting that reads need before anything waits.
static WAIT_US: AtomicU64 = AtomicU64::new(20);

/// Takes the setting as it was handed over; what cannot be read changes nothing.
pub(crate) fn set_wait_us(text: &[u8]) {
    let number = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse::<u32>().ok());
    if let Some(us) = number {
        WAIT_US.store(u64::from(us), Relaxed);
    }
}

/// The longest that a read of `bytes` takes without waiting for a device, in ticks: as
/// [`wait_limit_ns`](ahead_engine::settings::Settings::wait_limit_ns).
#[inline(always)]
pub(crate) fn wait_limit(bytes: usize) -> u64 {
    // Microseconds in whole pages, begun ones included: no division on the way of every read.
    let us = WAIT_US.load(Relaxed) + (bytes as u64 / PAGE_BYTES + 1) * COPY_PAGE_NS / 1000;
    us.wrapping_mul(ticks::RATE.per_us())
}

/// Whether a refill of unknown duration is looked at more closely: one in 32, as that costs a system
/// call.
pub(crate) fn is_sample() -> bool {
    static REFILLS: AtomicU32 = AtomicU32::new(0);
    REFILLS.fetch_add(1, Relaxed) % 32 == 31
}

/// Whether this process has waited for a device since this was asked last: a read that only lost its
/// processor for a while has not. `counts_sectors`: the file lies on a block device, where sectors
/// that were read tell; elsewhere that the process gave up its processor for something must do.
#[cold]
pub(crate) fn has_really_waited(counts_sectors: bool) -> bool {
    static WAITS: AtomicU64 = AtomicU64::new(0);
    static SECTORS: AtomicU64 = AtomicU64::new(0);
    let usage = own_usage();
    let waits = WAITS.swap(usage.waits, Relaxed);
    let sectors = SECTORS.swap(usage.sectors_read, Relaxed);
    if counts_sectors {
        usage.sectors_read > sectors
    } else {
        usage.waits > waits
    }
}
