//! Whether a slow device delivers more by larger requests: found out by asking for larger ones.
//!
//! A device that brings 40 MB/s of requests of 128 KiB may be a network of 40 MB/s, or an arm that goes back and forth
//! between two files. Waits inside windows are the same for both. They differ in what requests of four times the size
//! do: a network delivers no more, an arm nearly three times as much. One [measurement](crate::throughput) with each size is two
//! equations for the two unknowns, the time of an access and the bandwidth:
//!
//! ```text
//! time of a request = access time + pages / bandwidth
//! ```
//!
//! What was tried and did not pay is tried again less and less often, or when less comes than did then: who read in order may
//! have begun to read backward.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use ahead_policy::device::{DeviceEstimate, NO_ARM_NS};
use ahead_units::PageCount;

use crate::throughput::Measured;

/// Requests are so many times larger. Less, and an access does not stand out from what waits differ by; more, and who reads
/// beside a slow network waits longer behind them.
const FACTOR: u64 = 4;

/// Requests that are not twice as large are no trial: streams grow step by step, and some not at all.
const LARGER: u64 = 2;

/// Requests after which it ends in any case: readers may have stopped waiting. Of 64 streams each has asked for one as it was
/// going to before the trial.
const REQUESTS: u32 = 128;

/// A fifth more in the same time, or it is noise: accesses are a quarter of the time of the smaller requests then.
const PAYS: (u64, u64) = (6, 5);

/// Bytes a second of the fastest arm that what was seen to be slow to answer may be: one of today's drives with two, or some in a row.
/// A network that is slow to answer, and gets that much, is no arm; it is tried in vain.
pub(crate) const SLOW_TO_ANSWER: u64 = 500_000_000;

/// Measurements until the next trial after the first in vain, and after many.
const REST_MIN: u32 = 8;
const REST_MAX: u32 = 1024;

/// One trial, or the time between two. All zero: none was made.
#[derive(Debug, Default)]
pub(crate) struct Trial {
    /// The smaller request, in pages; 0: none goes on.
    pages: AtomicU64,
    /// Bytes a second of it, or of the newest trial.
    bytes_per_second: AtomicU64,
    /// Requests that this trial may still take.
    left: AtomicU32,
    /// Measurements until the next.
    rest: AtomicU32,
    /// How long the next rest is.
    next_rest: AtomicU32,
}

impl Trial {
    /// None was made.
    pub(crate) const fn new() -> Self {
        Self {
            pages: AtomicU64::new(0),
            bytes_per_second: AtomicU64::new(0),
            left: AtomicU32::new(0),
            rest: AtomicU32::new(0),
            next_rest: AtomicU32::new(0),
        }
    }

    /// What streams are to believe while a trial goes on: the arm that is worth requests of that size.
    pub(crate) fn estimate(&self) -> Option<DeviceEstimate> {
        let pages = self.pages.load(Relaxed) * FACTOR;
        (pages > 0).then(|| DeviceEstimate::ARM.worth_requests_of(PageCount::new(pages)))
    }

    /// Streams ask once more.
    pub(crate) fn on_ask(&self) {
        let is_on = self.pages.load(Relaxed) > 0;
        if is_on && self.left.fetch_sub(1, Relaxed) <= 1 {
            self.end();
        }
    }

    /// It has ended, however it did.
    pub(crate) fn end(&self) {
        if self.pages.swap(0, Relaxed) > 0 {
            let rest = self.next_rest.load(Relaxed).max(REST_MIN);
            self.rest.store(rest, Relaxed);
            self.next_rest.store((rest * 2).min(REST_MAX), Relaxed);
        }
    }

    /// A measurement has ended. The arm that explains it and the one before, if larger requests paid; arms have `fastest` bytes a
    /// second at most.
    pub(crate) fn on_measured(&self, now: Measured, fastest: u64) -> Option<DeviceEstimate> {
        let pages = self.pages.load(Relaxed);
        let before = Measured {
            request: PageCount::new(pages),
            bytes_per_second: self.bytes_per_second.load(Relaxed),
        };
        if pages == 0 {
            self.begin(now, fastest);
            return None;
        }
        if now.request.get() < pages * LARGER {
            return None;
        }
        self.end();
        arm_behind(before, now, fastest)
    }

    /// Begins one, if it is time to and an arm could deliver so much more that it pays.
    fn begin(&self, now: Measured, fastest: u64) {
        let tried = self.bytes_per_second.load(Relaxed);
        let is_less = now.bytes_per_second < tried - tried / 4;
        let rest = self.rest.load(Relaxed);
        if rest > 0 && !is_less {
            self.rest.store(rest - 1, Relaxed);
        } else if pays(now.bytes_per_second, fastest) {
            self.bytes_per_second.store(now.bytes_per_second, Relaxed);
            self.left.store(REQUESTS, Relaxed);
            self.pages.store(now.request.get(), Relaxed);
        }
    }
}

/// Whether `more` bytes a second are so many more than `less` that it is no noise.
fn pays(less: u64, more: u64) -> bool {
    let (paid, needed) = PAYS;
    more.saturating_mul(needed) >= less.saturating_mul(paid)
}

/// The arm that delivers `less` and `more` by requests of these sizes; `None` where those of `more`, which are larger, did not pay.
fn arm_behind(less: Measured, more: Measured, fastest: u64) -> Option<DeviceEstimate> {
    if !pays(less.bytes_per_second, more.bytes_per_second) {
        return None;
    }
    let pages = more.request.get() - less.request.get();
    let time_ns = more.request_ns().saturating_sub(less.request_ns());
    let slope = Measured::of(PageCount::new(pages), pages, time_ns);
    // What came is the least that it can do. What is more than arms do has other reasons: ways to what others read, answers
    // of the disk's own memory.
    let most = DeviceEstimate::ARM;
    let bytes_per_second = slope
        .map_or(u64::MAX, |slope| slope.bytes_per_second)
        .min(fastest)
        .max(more.bytes_per_second);
    let arm = DeviceEstimate {
        bytes_per_second,
        ..most
    };
    let access_ns = less
        .request_ns()
        .saturating_sub(arm.transfer_ns(less.request))
        .min(most.access_ns);
    (access_ns >= NO_ARM_NS).then_some(DeviceEstimate { access_ns, ..arm })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FASTEST: u64 = DeviceEstimate::ARM.bytes_per_second;

    /// What `device` delivers, of which one request is served after the other, each after an access.
    fn delivered(device: &DeviceEstimate, pages: u64) -> Measured {
        let request = PageCount::new(pages);
        let time_ns = device.access_ns + device.transfer_ns(request);
        Measured::of(request, pages, time_ns).expect("time passes")
    }

    /// A device read by requests of 64 pages, and by those that a trial makes of them.
    fn tried(device: &DeviceEstimate) -> Option<DeviceEstimate> {
        let trial = Trial::new();
        assert_eq!(trial.on_measured(delivered(device, 64), FASTEST), None);
        let asked = trial
            .estimate()
            .map_or(64, |arm| arm.efficient_request().get());
        trial.on_measured(delivered(device, asked), FASTEST)
    }

    #[test]
    fn an_arm_is_known_by_two_sizes() {
        for access_us in [2_000, 4_000, 8_000] {
            for bytes_per_second in [40_000_000, 80_000_000, 120_000_000] {
                let arm = DeviceEstimate {
                    access_ns: access_us * 1000,
                    bytes_per_second,
                    depth: 1,
                };
                let found = tried(&arm).expect("larger requests pay");
                let near = |found: u64, is: u64| found.abs_diff(is) < is / 16;
                assert!(near(found.access_ns, arm.access_ns), "{arm:?} {found:?}");
                assert!(
                    near(found.bytes_per_second, bytes_per_second),
                    "{arm:?} {found:?}"
                );
            }
        }
    }

    /// Memory cards, USB sticks, a network of 1 Gbit/s.
    #[test]
    fn what_is_slow_to_transfer_is_no_arm() {
        for (access_us, bytes_per_second) in
            [(300, 20_000_000), (1000, 40_000_000), (200, 110_000_000)]
        {
            let slow = DeviceEstimate {
                access_ns: access_us * 1000,
                bytes_per_second,
                depth: 1,
            };
            assert_eq!(tried(&slow), None, "{slow:?}");
        }
    }

    /// Flash, and a network volume of 125 MB/s of which 64 streams, each with 128 KiB, got 119 measured: four times as much for
    /// each was 32 MiB on their way, and the volume 0.97 of what it is for the kernel.
    #[test]
    fn who_delivers_about_as_much_as_an_arm_is_not_tried() {
        let trial = Trial::new();
        trial.on_measured(delivered(&DeviceEstimate::FLASH, 64), FASTEST);
        assert_eq!(trial.estimate(), None);
        for (bytes_per_second, is_tried) in [(119_000_000, false), (99_000_000, true)] {
            let request = PageCount::new(32);
            let trial = Trial::new();
            trial.on_measured(
                Measured {
                    request,
                    bytes_per_second,
                },
                FASTEST,
            );
            assert_eq!(trial.estimate().is_some(), is_tried, "{bytes_per_second}");
        }
    }

    /// A scan whose requests its run limits: nothing is learned, and it ends.
    #[test]
    fn requests_that_do_not_become_larger_are_no_trial() {
        let trial = Trial::new();
        let arm = delivered(&DeviceEstimate::ARM, 64);
        assert_eq!(trial.on_measured(arm, FASTEST), None);
        for request in 1..=REQUESTS {
            assert!(trial.estimate().is_some(), "{request}");
            if request % 8 == 0 {
                assert_eq!(trial.on_measured(arm, FASTEST), None);
            }
            trial.on_ask();
        }
        assert_eq!(trial.estimate(), None);
    }

    #[test]
    fn what_was_in_vain_is_tried_less_and_less_and_at_once_when_less_comes() {
        let slow = DeviceEstimate {
            access_ns: 0,
            bytes_per_second: 40_000_000,
            depth: 1,
        };
        let trial = Trial::new();
        let mut measure = |bytes_per_second| {
            let asked = trial
                .estimate()
                .map_or(64, |arm| arm.efficient_request().get());
            let device = DeviceEstimate {
                bytes_per_second,
                ..slow
            };
            assert_eq!(trial.on_measured(delivered(&device, asked), FASTEST), None);
            trial.estimate().is_some()
        };
        let trials = |from: u32, to: u32, measure: &mut dyn FnMut(u64) -> bool| {
            (from..to).filter(|_| measure(40_000_000)).count()
        };
        assert_eq!(trials(0, 100, &mut measure), 4, "at 0, 10, 28, 62");
        assert!(measure(25_000_000), "it reads in another way");
    }
}
