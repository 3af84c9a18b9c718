//! How much later than the access its requests are made, where a host hears of accesses from outside: some 0.1 ms for a
//! thread that is woken and reaches into another process, and more where the machine is busy.
//!
//! A reader at the end of its window waits for that as it does for the device: windows have to cover both. Beside an arm it is
//! nothing; flash answers in less, and 512 KiB that cover its access are read before the next ones are asked for.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ahead_policy::device::DeviceEstimate;

/// Requests that the mean is over. Fewer, and one turn of another program makes windows large; more, and a machine that
/// became busy is noticed late.
const NEWEST: u64 = 8;

/// Counts at most: 2 ms, so that a thread that has lost its processor once is not taken for one that is always late.
const LATE_NS_MAX: u64 = 2_000_000;

/// The mean. All zero: requests are made by the reader itself.
#[derive(Debug, Default)]
pub(crate) struct Lateness {
    late_ns: AtomicU64,
}

impl Lateness {
    /// Nothing was late.
    pub(crate) const fn new() -> Self {
        Self {
            late_ns: AtomicU64::new(0),
        }
    }

    /// A request was made so much later than its access; returns how much of that counts. Threads that tell it at the same time may
    /// lose one of both.
    pub(crate) fn on_request(&self, late_ns: u64) -> u64 {
        let late_ns = late_ns.min(LATE_NS_MAX);
        let mean = self.late_ns.load(Relaxed);
        let sum = mean * (NEWEST - 1) + late_ns;
        self.late_ns.store(sum / NEWEST, Relaxed);
        late_ns
    }

    /// The device as it answers to who is as late.
    pub(crate) fn seen(&self, device: DeviceEstimate) -> DeviceEstimate {
        device.asked_later(self.late_ns.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(requests: u64, late_ns: u64) -> Lateness {
        let lateness = Lateness::new();
        for _ in 0..requests {
            lateness.on_request(late_ns);
        }
        lateness
    }

    #[test]
    fn a_window_of_flash_covers_the_time_until_it_is_asked_for() {
        let pages = |lateness: &Lateness| {
            let seen = lateness.seen(DeviceEstimate::FLASH);
            seen.pipeline_request().get()
        };
        assert_eq!(pages(&late(100, 0)), 128);
        assert_eq!(pages(&late(100, 150_000)), 256);
        assert_eq!(
            pages(&late(100, u64::MAX)),
            2048,
            "what flash gives in 2 ms, twice"
        );
        assert_eq!(pages(&late(1, 150_000)), 128, "one is an accident");
    }

    #[test]
    fn nothing_becomes_an_arm_by_it_and_an_arm_stays_as_it_is() {
        let lateness = late(100, u64::MAX);
        assert_eq!(lateness.seen(DeviceEstimate::ARM), DeviceEstimate::ARM);
        let seen = lateness.seen(DeviceEstimate::FLASH);
        assert!(!seen.is_slow_to_access(), "{seen:?}");
    }
}
