//! What a wait for a read says of an access.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use ahead_policy::device::DeviceEstimate;
use ahead_policy::stock::first_read;
use ahead_units::{PAGE_BYTES, PageRange, Timestamp};

/// Transfer of a page at 80 MB/s, the rate of old arms and of small network volumes: a wait of that
/// kind says nothing about an access.
pub(super) const SLOW_PAGE_NS: u64 = 50_000;

/// Megabytes a second of the fastest disks with one arm, at their outer zone.
pub(crate) const FASTEST_ARM_MB: u64 = 285;

/// Transfer of a page by those: an arm that goes the way of its reads is as soon at the next one as that passes by.
const FAST_PAGE_NS: u64 = PAGE_BYTES * 1000 / FASTEST_ARM_MB;

/// Whether a device moves an arm, or may as well.
pub(super) fn seeks(device: &DeviceEstimate) -> bool {
    device.depth <= 1 || device.is_slow_to_access()
}

/// What an access took of a wait for a read of `pages`: what the kernel reads with it has to be transferred too, by whatever
/// is slowest.
pub(super) fn access_in(waited_ns: u64, pages: u64) -> u64 {
    waited_ns.saturating_sub(first_read(pages).saturating_mul(SLOW_PAGE_NS))
}

/// Whether a read that waited `waited_ns`, until `now`, did so while another did, or behind it, the newest of which waited until `newest_ns`: that
/// is a queue. It is the newest now.
pub(super) fn is_in_queue(newest_ns: &AtomicU64, waited_ns: u64, now: Timestamp) -> bool {
    let before = newest_ns.swap(now.get(), Relaxed);
    now.get().saturating_sub(waited_ns) < before
}

/// So many waits in a row that were all longer than an access is believed to take, behind nothing, were of an access that takes as long as the
/// shortest of them.
const LONGER_WAITS: u32 = 4;

/// Waits in a row that were longer than an access is believed to take. All zero: none was.
#[derive(Debug, Default)]
pub(super) struct Longer {
    shortest_ns: AtomicU64,
    waits: AtomicU32,
    /// When the newest wait of any length ended.
    until_ns: AtomicU64,
}

impl Longer {
    pub(super) const fn new() -> Self {
        Self {
            shortest_ns: AtomicU64::new(0),
            waits: AtomicU32::new(0),
            until_ns: AtomicU64::new(0),
        }
    }

    /// Whether one that waited `waited_ns`, until `now`, is [in a queue](is_in_queue): then it begins anew.
    pub(super) fn is_among_others(&self, waited_ns: u64, now: Timestamp) -> bool {
        let is_queue = is_in_queue(&self.until_ns, waited_ns, now);
        if is_queue {
            self.waits.store(0, Relaxed);
        }
        is_queue
    }

    /// A read waited `waited_ns` behind nothing, of which `known_ns` are believed to be an access. What that takes, if enough say that it is more.
    pub(super) fn on_wait(&self, waited_ns: u64, known_ns: u64) -> Option<u64> {
        if waited_ns <= known_ns + known_ns / 4 {
            self.waits.store(0, Relaxed);
            return None;
        }
        let waits = self.waits.fetch_add(1, Relaxed) + 1;
        let before = if waits == 1 {
            u64::MAX
        } else {
            self.shortest_ns.load(Relaxed)
        };
        let shortest_ns = before.min(waited_ns);
        self.shortest_ns.store(shortest_ns, Relaxed);
        if waits < LONGER_WAITS {
            return None;
        }
        self.waits.store(0, Relaxed);
        Some(shortest_ns)
    }
}

/// The first wait is believed up to so many times what was guessed: it may be one behind others.
pub(super) const FIRST_WAIT_FACTOR: u64 = 8;

/// The estimate after a first wait of `waited_ns`, which replaces the `guess`: that is of a kind of device, a wait of this one. `None`: it may be that
/// of an arm, of which one access says little. What is slower to answer is farther away, and what lies between is no faster: what is under
/// way at once stays what it was guessed to be, if the rate `is_guess`.
pub(super) fn of_first_wait(
    guess: DeviceEstimate,
    waited_ns: u64,
    is_guess: bool,
) -> Option<DeviceEstimate> {
    let seen = DeviceEstimate {
        access_ns: waited_ns,
        ..guess
    };
    if seeks(&guess) || seeks(&seen) {
        return None;
    }
    let (least, most) = (guess.access_ns / 4, guess.access_ns * FIRST_WAIT_FACTOR);
    let access_ns = waited_ns.clamp(least, most);
    let mut bytes_per_second = guess.bytes_per_second;
    if is_guess && access_ns > guess.access_ns {
        let rate = u128::from(guess.bytes_per_second) * u128::from(guess.access_ns);
        bytes_per_second = u64::try_from(rate / u128::from(access_ns)).unwrap_or(u64::MAX);
    }
    Some(DeviceEstimate {
        access_ns,
        bytes_per_second,
        ..guess
    })
}

/// Where reads were that nothing had asked for, for an arm that passes by what is read next. All zero: there was none.
#[derive(Debug, Default)]
pub(super) struct Passing {
    /// The page behind the newest one, of whatever file.
    end: AtomicU64,
}

impl Passing {
    pub(super) const fn new() -> Self {
        Self {
            end: AtomicU64::new(0),
        }
    }

    /// Such a read of `access` waited `waited_ns`. Whether it lies so near ahead of the one before that an arm passes to it meanwhile: then it says
    /// nothing of an access.
    pub(super) fn on_read(&self, access: PageRange, waited_ns: u64) -> bool {
        let before = self.end.swap(access.end.get(), Relaxed);
        let passed = access.start.get().checked_sub(before);
        let passes = |pages: u64| waited_ns >= pages.saturating_mul(FAST_PAGE_NS);
        before > 0 && passed.is_some_and(passes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_passes_what_is_near_ahead_and_nothing_else() {
        let passing = Passing::default();
        let read = |start: u64, waited_us: u64| {
            let access = PageRange::new(start, start + 1);
            passing.on_read(access, waited_us * 1000)
        };
        assert!(!read(0, 100), "the first");
        assert!(read(4, 100), "three pages in 43 us");
        assert!(!read(38, 100), "33 pages in 474 us");
        assert!(!read(30, 100), "behind");
    }

    #[test]
    fn some_waits_in_a_row_are_of_an_access_that_takes_as_long_as_the_shortest() {
        let longer = Longer::default();
        let take = |waits: &[u64]| {
            let found = waits.iter().map(|waited| longer.on_wait(*waited, 1000));
            found.collect::<Vec<_>>()
        };
        assert_eq!(take(&[3000, 2500, 2700, 1250]), [None; 4], "one is as long");
        assert_eq!(take(&[3000, 2500, 2700]), [None; 3]);
        assert_eq!(take(&[2600, 3000]), [Some(2500), None], "and anew");
    }

    #[test]
    fn waits_that_overlap_are_a_queue_and_begin_anew() {
        let longer = Longer::default();
        let wait = |waited_ns: u64, until_ns: u64| {
            let is_queue = longer.is_among_others(waited_ns, Timestamp::new(until_ns));
            (is_queue, longer.on_wait(waited_ns, 1000))
        };
        assert_eq!(wait(3000, 10_000), (false, None));
        assert_eq!(wait(3000, 13_000), (false, None));
        assert_eq!(wait(3000, 15_000), (true, None), "began at 12 000");
        for until_ns in [18_000, 21_000] {
            assert_eq!(wait(3000, until_ns), (false, None));
        }
        assert_eq!(wait(3000, 24_000), (false, Some(3000)));
    }
}
