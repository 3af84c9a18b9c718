//! The processor's counter of time, and whether it can be believed.
//!
//! It is the cheapest clock there is, and no promise comes with it: it stands still or jumps when a
//! virtual machine moves to another host, some processors slow it down with themselves, and in a
//! machine with virtual time it goes on in real time. So it is believed only as long as it keeps
//! step with `CLOCK_MONOTONIC`.

/// The variable that tells the library to use `CLOCK_MONOTONIC` from the beginning: `monotonic`.
pub const CLOCK_VARIABLE: &str = "AHEAD_CLOCK";

/// Counts of a microsecond that a counter of time can have: a processor of 100 MHz to one of 20 GHz.
const PER_US: std::ops::RangeInclusive<u64> = 100..=20_000;

/// How far two rates of one counter may lie apart, in per cent.
const DRIFT_PERCENT: u64 = 3;

/// Counts for which [`keeps_step_now`] watches both clocks: 30 to 100 µs.
const WATCHED_COUNTS: u64 = 100_000;

/// Counts between which a look at both clocks must be over, or the thread was interrupted.
const LOOK_COUNTS: u64 = 20_000;

/// The counter.
#[inline]
#[must_use]
pub fn counter() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction; the kernel leaves it open to us unless
    // a program asks for SIGSEGV on it (PR_SET_TSC): whoever reads the counter in a program's name stops when it does.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    monotonic_ns()
}

/// Nanoseconds on the monotonic clock.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let time = clock(libc::CLOCK_MONOTONIC);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
        + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Seconds since 1970.
#[must_use]
pub fn realtime_s() -> u64 {
    u64::try_from(clock(libc::CLOCK_REALTIME).tv_sec).unwrap_or(0)
}

/// What `clock` says. The C library is asked, which knows where the program's clocks are; `rustix` looks for
/// them by itself, and where the kernel says, under valgrind, they are not.
fn clock(clock: libc::clockid_t) -> libc::timespec {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the buffer is ours; both clocks always exist.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time
}

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BothClocks {
    /// The counter.
    pub counter: u64,
    /// `CLOCK_MONOTONIC`.
    pub monotonic_ns: u64,
}

impl BothClocks {
    /// What the two clocks say at one moment.
    #[must_use]
    pub const fn at(counter: u64, monotonic_ns: u64) -> Self {
        Self {
            counter,
            monotonic_ns,
        }
    }

    /// Now; `None` when the thread was interrupted in between.
    #[must_use]
    pub fn read() -> Option<Self> {
        let before = counter();
        let monotonic_ns = monotonic_ns();
        let after = counter();
        (after.wrapping_sub(before) < LOOK_COUNTS).then_some(Self::at(after, monotonic_ns))
    }

    /// Counts in a microsecond between an earlier moment and this one. `None`: such a counter does
    /// not count time.
    #[must_use]
    pub fn per_us_since(self, earlier: Self) -> Option<u64> {
        let counts = self.counter.checked_sub(earlier.counter)?;
        let elapsed_ns = self.monotonic_ns.checked_sub(earlier.monotonic_ns)?;
        let per_us = counts.saturating_mul(1000).checked_div(elapsed_ns)?;
        PER_US.contains(&per_us).then_some(per_us)
    }
}

/// Whether two rates (counts in a microsecond) can be those of one counter of time.
#[must_use]
pub const fn is_same_rate(one: u64, other: u64) -> bool {
    one.abs_diff(other) * 100 <= one * DRIFT_PERCENT
}

/// Whether the counter keeps step with the clock just now; takes some 50 µs.
#[must_use]
pub fn keeps_step_now() -> bool {
    // Being interrupted takes equally long on both clocks, but not in the middle of a look.
    let look = || (0..10).find_map(|_| BothClocks::read());
    let Some(start) = look() else {
        return false;
    };
    while counter().wrapping_sub(start.counter) < WATCHED_COUNTS {
        std::hint::spin_loop();
    }
    look().is_some_and(|end| end.per_us_since(start).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_keeps_step_has_a_rate() {
        assert_eq!(
            BothClocks::at(2_600_000, 1_000_000).per_us_since(BothClocks::at(100_000, 0)),
            Some(2500)
        );
    }

    #[test]
    fn a_counter_that_goes_on_while_the_clock_stands_is_not_believed() {
        assert_eq!(
            BothClocks::at(100_000, 7).per_us_since(BothClocks::at(0, 7)),
            None
        );
        assert_eq!(
            BothClocks::at(100_000, 8).per_us_since(BothClocks::at(0, 7)),
            None
        );
    }

    #[test]
    fn a_counter_that_stands_while_the_clock_goes_on_is_not_believed() {
        assert_eq!(
            BothClocks::at(3000, 58_000_000).per_us_since(BothClocks::at(0, 0)),
            None
        );
    }

    #[test]
    fn a_counter_that_went_back_is_not_believed() {
        assert_eq!(
            BothClocks::at(1, 2_000_000).per_us_since(BothClocks::at(5_000_000, 0)),
            None
        );
    }

    #[test]
    fn rates_of_one_counter_differ_by_errors_of_measuring_only() {
        assert!(is_same_rate(2500, 2560) && is_same_rate(2500, 2440));
        assert!(!is_same_rate(2500, 3000) && !is_same_rate(2500, 2000));
    }
}
