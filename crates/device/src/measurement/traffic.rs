//! What others do with the device: read from its counters, judged without them.

use serde::{Deserialize, Serialize};

/// Counters of a whole disk. They only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficCounters {
    /// Bytes of completed reads.
    pub read_bytes: u64,
    /// Bytes of completed writes.
    pub written_bytes: u64,
    /// Completed writes.
    pub writes: u64,
}

/// What others did during a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherTraffic {
    /// Bytes that others read.
    pub read_bytes: u64,
    /// Bytes that others wrote: nothing that is written is ours.
    pub written_bytes: u64,
    /// Requests of others, about: writes as counted, reads as if of 128 KiB each.
    pub requests: u64,
}

/// Reads of others as if of this size: the largest that the kernel's own read-ahead makes by default.
const OTHERS_READ_BYTES: u64 = 128 << 10;
/// A step of which fewer than one request in fifty was of others is as good as alone.
const DISTURBED_PARTS: u64 = 50;
/// One in five: the step measured a shared device.
const LOADED_PARTS: u64 = 5;
/// Single requests, such as a journal's, do not matter.
const REQUESTS_IGNORED: u64 = 2;
/// Requests per second of others at which a device is in use: what one program does that reads at random
/// from an arm.
const BUSY_REQUESTS_PER_SECOND: u64 = 50;

/// How much others were in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// Hardly.
    None,
    /// The step counts, and it is said.
    Some,
    /// The step is to be repeated when it is calm.
    Heavy,
}

impl OtherTraffic {
    /// Between two looks at the counters, of which we read `own_bytes`.
    #[must_use]
    pub const fn between(before: TrafficCounters, after: TrafficCounters, own_bytes: u64) -> Self {
        let read_bytes = after.read_bytes.saturating_sub(before.read_bytes);
        let read_bytes = read_bytes.saturating_sub(own_bytes);
        let writes = after.writes.saturating_sub(before.writes);
        Self {
            read_bytes,
            written_bytes: after.written_bytes.saturating_sub(before.written_bytes),
            requests: writes + read_bytes.div_ceil(OTHERS_READ_BYTES),
        }
    }

    /// Beside so many requests of ours.
    #[must_use]
    pub const fn disturbance(&self, own_requests: u64) -> Disturbance {
        let others = self.requests.saturating_sub(REQUESTS_IGNORED);
        if others.saturating_mul(LOADED_PARTS) > own_requests {
            Disturbance::Heavy
        } else if others.saturating_mul(DISTURBED_PARTS) > own_requests {
            Disturbance::Some
        } else {
            Disturbance::None
        }
    }

    /// Whether the device is in use, by what others did in `elapsed_ns` without us.
    #[must_use]
    pub const fn is_busy(&self, elapsed_ns: u64) -> bool {
        let others = self.requests.saturating_sub(REQUESTS_IGNORED);
        others.saturating_mul(1_000_000_000) > elapsed_ns.saturating_mul(BUSY_REQUESTS_PER_SECOND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(read_bytes: u64, writes: u64) -> TrafficCounters {
        TrafficCounters {
            read_bytes,
            writes,
            written_bytes: writes * 4096,
        }
    }

    #[test]
    fn what_is_not_ours_is_of_others() {
        let none = TrafficCounters::default();
        let alone = OtherTraffic::between(none, after(1 << 20, 0), 1 << 20);
        assert_eq!(alone, OtherTraffic::default());
        let read = OtherTraffic::between(none, after(3 << 20, 2), 1 << 20);
        assert_eq!((read.read_bytes, read.requests), (2 << 20, 18));
        assert_eq!(read.written_bytes, 8192);
        // Requests that are on their way are counted later: never less than nothing.
        assert_eq!(OtherTraffic::between(none, none, 4096).read_bytes, 0);
    }

    #[test]
    fn a_disturbance_is_measured_by_our_own_requests() {
        let others = |requests| OtherTraffic {
            requests,
            ..OtherTraffic::default()
        };
        assert_eq!(others(2).disturbance(10), Disturbance::None);
        assert_eq!(others(4).disturbance(1000), Disturbance::None);
        assert_eq!(others(50).disturbance(1000), Disturbance::Some);
        assert_eq!(others(400).disturbance(1000), Disturbance::Heavy);
        assert!(!others(2).is_busy(1_000_000));
        assert!(!others(7).is_busy(100_000_000));
        assert!(others(20).is_busy(100_000_000));
    }
}
