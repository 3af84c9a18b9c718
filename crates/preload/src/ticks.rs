//! The cheapest clock there is: processor ticks, and what they are worth in nanoseconds.
//!
//! Two clock readings belong to every read, so the clock itself must cost little: `rdtsc` takes
//! 10 ns here, `clock_gettime` 22 ns. The rate is found out on the way, by comparing the two
//! clocks once some milliseconds have passed; until then a common rate is assumed, which only
//! shifts the threshold between "waited" and "did not wait".

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Ticks per microsecond until the rate is known.
const ASSUMED_PER_US: u64 = 2500;

/// Comparing earlier than this would make the rate inexact.
const COMPARE_AFTER_NS: u64 = 5_000_000;

/// Converts ticks to nanoseconds.
pub(crate) struct TickRate {
    start_ticks: AtomicU64,
    start_ns: AtomicU64,
    per_us: AtomicU64,
}

/// The rate of this machine.
pub(crate) static RATE: TickRate = TickRate {
    start_ticks: AtomicU64::new(0),
    start_ns: AtomicU64::new(0),
    per_us: AtomicU64::new(0),
};

impl TickRate {
    /// Ticks per microsecond, as well as known.
    #[inline]
    pub(crate) fn per_us(&self) -> u64 {
        match self.per_us.load(Relaxed) {
            0 => ASSUMED_PER_US,
            known => known,
        }
    }

    /// Nanoseconds in `ticks`.
    pub(crate) fn ns(&self, ticks: u64) -> u64 {
        ticks.saturating_mul(1000) / self.per_us().max(1)
    }

    /// Takes the rate from both clocks, once enough time has passed since this was called first. For
    /// slow paths.
    pub(crate) fn settle(&self) {
        if self.per_us.load(Relaxed) != 0 {
            return;
        }
        let start_ns = self.start_ns.load(Relaxed);
        if start_ns == 0 {
            self.start_ticks.store(now(), Relaxed);
            self.start_ns.store(monotonic_ns(), Relaxed);
            return;
        }
        let elapsed_ns = monotonic_ns().saturating_sub(start_ns);
        if elapsed_ns >= COMPARE_AFTER_NS {
            let ticks = now().saturating_sub(self.start_ticks.load(Relaxed));
            let rate = ticks.saturating_mul(1000) / elapsed_ns;
            self.per_us.store(rate.max(1), Relaxed);
        }
    }
}

/// Ticks now.
#[inline]
pub(crate) fn now() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction; the kernel leaves it open to us unless
    // a program asks for SIGSEGV on it (PR_SET_TSC), which none that reads files does.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    monotonic_ns()
}

/// Nanoseconds on the monotonic clock.
pub(crate) fn monotonic_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the buffer is ours; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
        + u64::try_from(time.tv_nsec).unwrap_or(0)
}
