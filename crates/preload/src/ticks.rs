//! The cheapest clock that is right: the processor's counter where it keeps step with
//! `CLOCK_MONOTONIC`, else that clock itself.
//!
//! One look at the clock belongs to every read, so it must cost little: the counter takes 10 ns,
//! `clock_gettime` 22 ns. But nothing promises that the counter counts time: see
//! [`counter`](ahead_sys::counter). `ahead run` compares both before it starts a program; here they
//! are compared now and then, every ten milliseconds at most, and once they do not agree this process
//! uses the monotonic clock. How many ticks a microsecond has is found out on the way; until then a
//! common rate is assumed, which only shifts the threshold between "waited" and "did not wait".

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use ahead_sys::counter::{BothClocks, counter, is_same_rate};
use ahead_units::Timestamp;

pub(crate) use ahead_sys::counter::monotonic_ns;

/// Ticks per microsecond until the rate is known.
const ASSUMED_PER_US: u64 = 2500;

/// Ticks per microsecond of the monotonic clock.
const MONOTONIC_PER_US: u64 = 1000;

/// The clocks are compared when so many ticks have passed since they were last: ten milliseconds, or
/// a few more.
const COMPARED_EVERY: u64 = 1 << 25;

/// Comparing over a shorter time would make the rate inexact.
const COMPARED_OVER_NS: u64 = 5_000_000;

static USES_MONOTONIC: AtomicBool = AtomicBool::new(false);
/// When the clocks are to be compared next, in counts; 0 where the counter is not used any more, so
/// that every look at the clock takes the slow path: one comparison is all that a read pays.
static COMPARE_AT: AtomicU64 = AtomicU64::new(0);

/// Now, on the monotonic clock.
pub(crate) fn timestamp() -> Timestamp {
    Timestamp::new(monotonic_ns())
}

/// Ticks now.
#[inline(always)]
pub(crate) fn now() -> u64 {
    let now = counter();
    if now > COMPARE_AT.load(Relaxed) {
        return compare(now);
    }
    now
}

/// The same where a descriptor is read for the first time: notices also a counter that went back.
#[inline]
pub(crate) fn now_for_fresh() -> u64 {
    let now = now();
    let ahead = COMPARE_AT.load(Relaxed).saturating_sub(now);
    if ahead > COMPARED_EVERY {
        return compare(now);
    }
    now
}

/// The monotonic clock from now on.
pub(crate) fn use_monotonic() {
    USES_MONOTONIC.store(true, Relaxed);
    RATE.per_us.store(MONOTONIC_PER_US, Relaxed);
    COMPARE_AT.store(0, Relaxed);
}

#[cold]
#[inline(never)]
fn compare(now: u64) -> u64 {
    if !USES_MONOTONIC.load(Relaxed) {
        COMPARE_AT.store(now.saturating_add(COMPARED_EVERY), Relaxed);
        RATE.settle();
    }
    if USES_MONOTONIC.load(Relaxed) {
        return monotonic_ns();
    }
    now
}

/// Converts ticks to nanoseconds.
pub(crate) struct TickRate {
    start_counter: AtomicU64,
    start_ns: AtomicU64,
    per_us: AtomicU64,
}

/// The rate of this machine.
pub(crate) static RATE: TickRate = TickRate::new();

impl TickRate {
    const fn new() -> Self {
        Self {
            start_counter: AtomicU64::new(0),
            start_ns: AtomicU64::new(0),
            per_us: AtomicU64::new(0),
        }
    }

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

    /// Compares both clocks, if it is long enough since the time before. For slow paths.
    pub(crate) fn settle(&self) {
        if USES_MONOTONIC.load(Relaxed) {
            return;
        }
        if BothClocks::read().is_some_and(|now| !self.on_clocks(now)) {
            use_monotonic();
        }
    }

    /// False: the counter does not count time, or not at the pace that it had.
    fn on_clocks(&self, now: BothClocks) -> bool {
        let start = BothClocks::at(
            self.start_counter.load(Relaxed),
            self.start_ns.load(Relaxed),
        );
        let is_first = start.monotonic_ns == 0;
        let is_long = now.counter.saturating_sub(start.counter) > COMPARED_EVERY
            || now.monotonic_ns.saturating_sub(start.monotonic_ns) > COMPARED_OVER_NS;
        if !is_first && !is_long {
            return true;
        }
        self.start_counter.store(now.counter, Relaxed);
        self.start_ns.store(now.monotonic_ns, Relaxed);
        if is_first {
            return true;
        }
        let known = self.per_us.load(Relaxed);
        match now.per_us_since(start) {
            Some(per_us) if known == 0 => {
                self.per_us.store(per_us, Relaxed);
                true
            }
            Some(per_us) => is_same_rate(known, per_us),
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_counter_is_believed_and_its_rate_is_known() {
        let rate = TickRate::new();
        for millisecond in 1..100 {
            assert!(rate.on_clocks(BothClocks::at(
                millisecond * 3_000_000,
                millisecond * 1_000_000
            )));
        }
        assert_eq!(rate.per_us(), 3000);
    }

    #[test]
    fn a_counter_that_goes_on_while_virtual_time_stands_is_not_believed() {
        let rate = TickRate::new();
        assert!(rate.on_clocks(BothClocks::at(1_000_000, 8_000_000)));
        assert!(!rate.on_clocks(BothClocks::at(100_000_000, 8_000_040)));
    }

    #[test]
    fn a_wait_in_virtual_time_that_costs_no_real_time_is_noticed() {
        let rate = TickRate::new();
        assert!(rate.on_clocks(BothClocks::at(1_000_000, 1_000_000)));
        // 800 ms of waiting for a disk took 0.4 ms.
        assert!(!rate.on_clocks(BothClocks::at(2_200_000, 801_000_000)));
    }

    #[test]
    fn a_counter_that_changed_its_pace_with_the_host_is_not_believed_any_more() {
        let rate = TickRate::new();
        assert!(rate.on_clocks(BothClocks::at(1_000_000, 1_000_000)));
        assert!(rate.on_clocks(BothClocks::at(31_000_000, 11_000_000)));
        assert!(!rate.on_clocks(BothClocks::at(56_000_000, 21_000_000)));
    }
}
