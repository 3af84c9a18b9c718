//! What the policy believes about a device: an estimate of three numbers, never a model of it.
//!
//! Where the numbers come from is the host's business: a kind of device to begin with, waits that
//! were observed, or settings. The policy only turns them into sizes.

use crate::steering::steering;
use ahead_units::{ByteLength, PAGE_BYTES, PageCount};

/// Access time, bandwidth and useful depth of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceEstimate {
    /// Time of one isolated small read, in nanoseconds.
    pub access_ns: u64,
    /// Bytes per second of one long read.
    pub bytes_per_second: u64,
    /// Requests that the device serves at the same time, at least 1.
    pub depth: u32,
}

steering! {
    /// Parts of its time that a device should spend transferring for each one that it positions:
    /// u/(1−u), nine parts of ten. Higher asks for requests that grow without bound and fill memory;
    /// lower leaves bandwidth unused whenever several streams share one arm.
    /// Evidence: docs/results/evidence/TRANSFER_PARTS.csv
    TRANSFER_PARTS: u64 = 9;

    /// Access times of transfer that a stream asks for at once where it has the device to itself:
    /// the reader is in one request while the next is under way. Lower, and a device that is a
    /// little slower than believed makes every request late; higher, and more is read in vain when
    /// the stream ends.
    /// Evidence: docs/results/evidence/PIPELINE_ACCESSES.csv
    PIPELINE_ACCESSES: u64 = 2;

    /// Smallest request of a learned stream: 256 KiB. Below, the fixed cost of a request (system
    /// call, queue, wake-up) is no longer small beside the transfer; above, small memory is full of
    /// few streams.
    /// Evidence: docs/results/evidence/REQUEST_PAGES_MIN.csv
    pub(crate) REQUEST_PAGES_MIN: u64 = 64;
}

/// An access that takes longer is one of an arm: 2 ms. Arms take 4 to 15, flash and network volumes
/// 0.02 to 1. Lower, and a network volume is filled with windows that others wait behind; higher, and
/// a fast arm is left to seek.
const SLOW_ACCESS_NS: u64 = 2_000_000;

/// What is learned to answer within 1 ms has no arm, whatever it says of itself: virtual disks say that they
/// rotate. Lower, and flash that is busy is read like an arm; higher, and so are arms that answer many
/// reads from their own memory.
pub const NO_ARM_NS: u64 = 1_000_000;

impl DeviceEstimate {
    /// A disk with one arm, as sold for twenty years: 8 ms, 120 MB/s, one request at a time.
    pub const ARM: Self = Self {
        access_ns: 8_000_000,
        bytes_per_second: 120_000_000,
        depth: 1,
    };

    /// Flash behind some bus: 120 µs, 1.5 GB/s, eight requests at a time.
    pub const FLASH: Self = Self {
        access_ns: 120_000,
        bytes_per_second: 1_500_000_000,
        depth: 8,
    };

    /// Whether an access takes so long that it is worth large requests to save some, whatever the
    /// device says of itself.
    #[must_use]
    pub fn is_slow_to_access(&self) -> bool {
        self.access_ns >= SLOW_ACCESS_NS
    }

    /// The device as it answers to who asks `late_ns` later than the reader got there: its access takes longer. It does not become
    /// one that is slow to access by that.
    #[must_use]
    pub fn asked_later(self, late_ns: u64) -> Self {
        let most = self.access_ns.max(SLOW_ACCESS_NS - 1);
        Self {
            access_ns: self.access_ns.saturating_add(late_ns).min(most),
            ..self
        }
    }

    /// Whether a request costs more than it takes to cover an access: the device positions for each, as an arm does,
    /// however fast it is.
    #[must_use]
    pub fn is_positioned_for(&self) -> bool {
        self.efficient_request() > self.pipeline_request()
    }

    /// Smallest request that keeps it at work, whether each has to be positioned for or not.
    #[must_use]
    pub fn busy_request(&self) -> PageCount {
        self.efficient_request().max(self.pipeline_request())
    }

    /// Whether it has one arm, which is sent from one request to the next: what is asked for early is read instead of something else.
    #[must_use]
    pub fn has_one_arm(&self) -> bool {
        self.depth <= 1 && self.is_slow_to_access() && self.is_positioned_for()
    }

    /// Time that one more request costs a device that is kept busy.
    #[must_use]
    pub const fn request_cost_ns(&self) -> u64 {
        self.access_ns / self.depth_at_least_one()
    }

    /// Pages that go by while one access is under way: the least distance to stay ahead.
    #[must_use]
    pub const fn pages_per_access(&self) -> PageCount {
        pages_in(self.access_ns, self.bytes_per_second)
    }

    /// Smallest request worth making where each one has to be positioned for:
    /// a·b·u/(1−u) with the access time shared by what the device serves at once.
    #[must_use]
    pub fn efficient_request(&self) -> PageCount {
        let pages = pages_in(self.request_cost_ns(), self.bytes_per_second).get();
        let wanted = pages.saturating_mul(TRANSFER_PARTS.get());
        PageCount::new(power_of_two_at_least(wanted.max(REQUEST_PAGES_MIN.get())))
    }

    /// The same with the access time for which `pages` are the [efficient request](Self::efficient_request), in powers of two.
    #[must_use]
    pub fn worth_requests_of(self, pages: PageCount) -> Self {
        // One part more than needed, as pages are rounded up.
        let request_cost_ns = self.transfer_ns(pages) / (TRANSFER_PARTS.get() + 1);
        Self {
            access_ns: request_cost_ns * self.depth_at_least_one(),
            ..self
        }
    }

    /// Time that the device spends transferring `pages`, in nanoseconds.
    #[must_use]
    pub const fn transfer_ns(&self, pages: PageCount) -> u64 {
        let bytes = pages.get().saturating_mul(PAGE_BYTES);
        let bytes_per_ms = self.bytes_per_second / 1000;
        bytes.saturating_mul(1_000_000) / if bytes_per_ms == 0 { 1 } else { bytes_per_ms }
    }

    /// Request of a stream that has the device to itself and costs no positioning: enough to
    /// cover one access while the next is asked for.
    #[must_use]
    pub fn pipeline_request(&self) -> PageCount {
        let accesses = PIPELINE_ACCESSES.get();
        let pages = self.pages_per_access().get().saturating_mul(accesses);
        PageCount::new(power_of_two_at_least(pages.max(REQUEST_PAGES_MIN.get())))
    }

    /// Requests that keep it at work: as many as it serves at the same time, and as many again.
    #[must_use]
    pub fn served_at_once(&self) -> u64 {
        u64::from(self.depth) * 2
    }

    /// Largest hole that is cheaper to read through than to skip with a request of its own.
    #[must_use]
    pub const fn hole_worth_reading(&self) -> PageCount {
        pages_in(self.request_cost_ns(), self.bytes_per_second)
    }

    const fn depth_at_least_one(&self) -> u64 {
        if self.depth == 0 {
            1
        } else {
            self.depth as u64
        }
    }
}

/// Whole pages transferred in `time_ns` at `bytes_per_second`.
const fn pages_in(time_ns: u64, bytes_per_second: u64) -> PageCount {
    // Kilobytes and microseconds keep the product inside 64 bits for any real device.
    let bytes = (time_ns / 1000).saturating_mul(bytes_per_second / 1000) / 1000;
    PageCount::holding(ByteLength::new(bytes))
}

/// Requests are powers of two so that their ends fall on boundaries that large folios like. Beyond
/// 2^20 pages nothing is rounded.
const fn power_of_two_at_least(pages: u64) -> u64 {
    if pages > 1 << 20 {
        pages
    } else {
        pages.next_power_of_two()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_needs_eight_mebibytes_to_spend_nine_tenths_of_its_time_transferring() {
        let arm = DeviceEstimate {
            access_ns: 8_000_000,
            bytes_per_second: 100_000_000,
            depth: 1,
        };
        assert_eq!(arm.efficient_request(), PageCount::new(2048));
    }

    #[test]
    fn a_device_is_worth_the_requests_that_it_was_asked_to_be_worth() {
        for pages in [64, 128, 256, 1024, 4096] {
            let arm = DeviceEstimate::ARM.worth_requests_of(PageCount::new(pages));
            assert_eq!(arm.efficient_request(), PageCount::new(pages));
        }
    }

    #[test]
    fn a_disk_four_times_faster_in_every_way_needs_the_same_request() {
        let fast = DeviceEstimate {
            access_ns: 2_000_000,
            bytes_per_second: 400_000_000,
            depth: 1,
        };
        assert_eq!(fast.efficient_request(), PageCount::new(2048));
    }

    #[test]
    fn flash_needs_enough_to_cover_its_latency_and_no_more() {
        assert_eq!(
            DeviceEstimate::FLASH.pipeline_request(),
            PageCount::new(128)
        );
        assert_eq!(
            DeviceEstimate::FLASH.efficient_request(),
            PageCount::new(64)
        );
    }

    #[test]
    fn a_device_without_numbers_still_gets_the_smallest_request() {
        let unknown = DeviceEstimate {
            access_ns: 0,
            bytes_per_second: 0,
            depth: 0,
        };
        assert_eq!(unknown.pipeline_request(), PageCount::new(64));
        assert_eq!(unknown.efficient_request(), PageCount::new(64));
    }
}
