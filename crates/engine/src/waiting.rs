//! How many reads of a file wait for the device at the same time, in the mean of the last while.
//!
//! One thread that reads a file has at most one read that waits. More is a program that asks ahead by itself, with
//! threads or with calls that it does not wait for: it keeps the device busy, and knows what it wants next.
//!
//! The mean is what reads waited, all together, in the time in which they did. A read that waits still is not in
//! it, so the mean follows what happens and is never ahead of it.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ahead_units::Timestamp;

/// Access times that the mean is taken over, at least: an eighth of a second of an arm. Shorter, and two reads that meet
/// by chance are a habit; longer, and a program that has changed its ways is not followed.
const ACCESSES_COUNTED: u64 = 16;

/// What was waited in which time. All zero: nothing did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waiting {
    from: Timestamp,
    waited_ns: u64,
}

impl Waiting {
    /// A read waited `waited_ns`, until `now`, for a device that takes `access_ns`.
    pub(crate) fn on_wait(&mut self, waited_ns: u64, now: Timestamp, access_ns: u64) {
        if self.waited_ns == 0 {
            self.from = Timestamp::new(now.get().saturating_sub(waited_ns));
        }
        self.waited_ns = self.waited_ns.saturating_add(waited_ns);
        let elapsed_ns = now.since(self.from);
        let counted_ns = access_ns.saturating_mul(ACCESSES_COUNTED);
        if elapsed_ns > counted_ns.saturating_mul(2) {
            // What was before counts for half of it.
            let waited_ns =
                u128::from(self.waited_ns) * u128::from(counted_ns) / u128::from(elapsed_ns);
            self.waited_ns = u64::try_from(waited_ns).unwrap_or(u64::MAX);
            self.from = Timestamp::new(now.get().saturating_sub(counted_ns));
        }
    }

    /// Whether hardly ever more than one read waits at the same time.
    pub(crate) fn is_alone(&self, now: Timestamp) -> bool {
        self.waited_ns.saturating_mul(2) <= now.since(self.from).saturating_mul(3)
    }

    /// Reads that wait at the same time; 0 where the clock stands still.
    pub(crate) fn reads(&self, now: Timestamp) -> u32 {
        let reads = self.waited_ns.checked_div(now.since(self.from));
        u32::try_from(reads.unwrap_or(0)).unwrap_or(u32::MAX)
    }
}

/// Time that reads wait together, counted once. All zero: nothing waited.
#[derive(Debug, Default)]
pub(crate) struct WaitedOnce {
    /// When the newest wait ended, in nanoseconds.
    until: AtomicU64,
}

impl WaitedOnce {
    /// Nothing waited.
    pub(crate) const fn new() -> Self {
        Self {
            until: AtomicU64::new(0),
        }
    }

    /// A read waited `waited_ns`, until `now`. The part of that in which none did that was told of before.
    pub(crate) fn on_wait(&self, waited_ns: u64, now: Timestamp) -> u64 {
        let began = now.get().saturating_sub(waited_ns);
        let since = self.until.fetch_max(now.get(), Relaxed).max(began);
        now.get().saturating_sub(since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_together_is_one_time() {
        let waited = WaitedOnce::new();
        let on_wait = |from: u64, until: u64| waited.on_wait(until - from, Timestamp::new(until));
        assert_eq!(on_wait(100, 200), 100);
        assert_eq!(on_wait(150, 250), 50);
        assert_eq!(on_wait(210, 250), 0);
        assert_eq!(on_wait(300, 310), 10);
        assert_eq!(on_wait(240, 260), 0, "told of late");
        assert_eq!(on_wait(305, 320), 10);
    }

    const ACCESS_NS: u64 = 8_000_000;

    /// Waits of `threads` threads, one of which ends each access time. What is believed at the end.
    fn after(threads: u64, waits: u64) -> (u32, Timestamp) {
        let (mut waiting, mut now) = (Waiting::default(), 0);
        for ended in 1..=waits {
            now += ACCESS_NS;
            waiting.on_wait(
                ended.min(threads) * ACCESS_NS,
                Timestamp::new(now),
                ACCESS_NS,
            );
        }
        (waiting.reads(Timestamp::new(now)), Timestamp::new(now))
    }

    #[test]
    fn who_reads_alone_has_one_read_that_waits_however_long_it_goes_on() {
        for waits in [1, 2, 10, 100, 10_000] {
            assert_eq!(after(1, waits).0, 1, "{waits}");
        }
    }

    #[test]
    fn one_of_two_threads_that_wait_all_the_time_is_not_alone() {
        let is_alone = |threads: u64| {
            let (mut waiting, mut now) = (Waiting::default(), 0);
            for _ in 0..100 {
                now += ACCESS_NS / threads;
                waiting.on_wait(ACCESS_NS, Timestamp::new(now), ACCESS_NS);
            }
            waiting.is_alone(Timestamp::new(now))
        };
        assert_eq!([1, 2, 3, 16].map(is_alone), [true, false, false, false]);
    }

    #[test]
    fn threads_that_wait_together_are_counted_after_some_waits() {
        assert_eq!(after(8, 1).0, 1, "the others have not said anything");
        assert!(after(8, 6).0 >= 3);
        assert!((7..=8).contains(&after(8, 100).0));
    }

    #[test]
    fn a_file_that_is_not_waited_for_any_more_is_forgotten() {
        let mut waiting = Waiting::default();
        for ended in 1..100 {
            waiting.on_wait(8 * ACCESS_NS, Timestamp::new(ended * ACCESS_NS), ACCESS_NS);
        }
        assert!(waiting.reads(Timestamp::new(100 * ACCESS_NS)) >= 7);
        assert_eq!(waiting.reads(Timestamp::new(1000 * ACCESS_NS)), 0);
    }

    #[test]
    fn without_a_clock_nothing_is_concluded() {
        let mut waiting = Waiting::default();
        assert_eq!(waiting.reads(Timestamp::new(0)), 0);
        for _ in 0..10 {
            waiting.on_wait(ACCESS_NS, Timestamp::new(0), ACCESS_NS);
        }
        assert_eq!(waiting.reads(Timestamp::new(0)), 0);
    }
}
