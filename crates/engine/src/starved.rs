//! Whether page faults that nothing can foresee starve behind what is prefetched: for hosts that see page faults.
//!
//! A fault waits for one access of the device, and for what is in front of it. Where streams keep requests of many
//! megabytes there, that is a second for a page. It is seen in the waits: some of many times an access, soon after each
//! other. From then on it holds for as long as lone faults go on, as they wait less because of it.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ahead_units::Timestamp;

/// A wait of so many accesses is a long one. Fewer, and one request of another is; more, and a reader of pages beside one scan
/// is not helped.
const LONG_ACCESSES: u64 = 4;

/// Accesses without a fault after which nobody starves any more, and between two long waits that say so: a second of an
/// arm. Fewer, and who waits for half a second each time is forgotten in between; more, and scans are held back for
/// nobody.
const HELD_ACCESSES: u64 = 128;

/// Long waits of lone faults. All zero: there was none.
#[derive(Debug, Default)]
pub struct Starved {
    /// When the newest one ended.
    long_ns: AtomicU64,
    /// Until when it holds.
    until_ns: AtomicU64,
}

impl Starved {
    /// Nobody was seen to wait long.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            long_ns: AtomicU64::new(0),
            until_ns: AtomicU64::new(0),
        }
    }

    /// A fault that no stream explains waited `waited_ns`, until `now`, for a device that takes `access_ns`. `is_behind`: what
    /// streams asked for was in front of it.
    pub fn on_lone_fault(&self, waited_ns: u64, is_behind: bool, access_ns: u64, now: Timestamp) {
        let held_ns = access_ns.saturating_mul(HELD_ACCESSES);
        let mut goes_on = self.is_on(now);
        if is_behind && waited_ns >= access_ns.saturating_mul(LONG_ACCESSES) {
            let before = self.long_ns.swap(now.get(), Relaxed);
            let began_ns = now.get().saturating_sub(waited_ns);
            goes_on |= before > 0 && began_ns < before.saturating_add(held_ns);
        }
        if goes_on {
            let until_ns = now.get().saturating_add(held_ns);
            self.until_ns.store(until_ns, Relaxed);
        }
    }

    /// Whether faults starve, as far as is known.
    #[must_use]
    pub fn is_on(&self, now: Timestamp) -> bool {
        now.get() < self.until_ns.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCESS_NS: u64 = 8_000_000;
    const MS: u64 = 1_000_000;

    /// Waits as (end, length) in milliseconds, all behind streams; whether faults starve after each.
    fn after(waits: &[(u64, u64)]) -> Vec<bool> {
        let starved = Starved::new();
        let said = waits.iter().map(|&(end, length)| {
            let now = Timestamp::new(end * MS);
            starved.on_lone_fault(length * MS, true, ACCESS_NS, now);
            starved.is_on(now)
        });
        said.collect()
    }

    #[test]
    fn two_long_waits_soon_after_each_other_are_starving_and_shorter_ones_keep_it_up() {
        let waits = [(1000, 450), (1450, 450), (1500, 25), (1525, 25)];
        assert_eq!(after(&waits), [false, true, true, true]);
    }

    #[test]
    fn one_long_wait_is_an_accident_and_so_are_two_far_from_each_other() {
        let waits = [(1000, 450), (1010, 9), (5000, 450), (9000, 450)];
        assert_eq!(after(&waits), [false; 4]);
    }

    #[test]
    fn without_faults_nobody_starves_any_more() {
        let starved = Starved::new();
        for end in [1000, 1450] {
            starved.on_lone_fault(450 * MS, true, ACCESS_NS, Timestamp::new(end * MS));
        }
        assert!(starved.is_on(Timestamp::new(2400 * MS)));
        assert!(!starved.is_on(Timestamp::new(2500 * MS)));
    }

    /// A machine that is busy with other things.
    #[test]
    fn long_waits_behind_nothing_of_ours_are_not_starving() {
        let starved = Starved::new();
        for end in [1000, 1450, 1900] {
            let now = Timestamp::new(end * MS);
            starved.on_lone_fault(450 * MS, false, ACCESS_NS, now);
            assert!(!starved.is_on(now));
        }
    }
}
