//! A network volume: a gate that lets requests and bytes pass at a contracted rate, then a way that
//! takes the same time for every request.
//!
//! A request occupies the gate for the longer of its two shares (one request of so many per second,
//! its bytes of so many per second), in order of arrival; the latency comes on top and is pipelined.
//! Shares are taken evenly from the first request on: a volume that lets a burst through first
//! makes short measurements wrong.

use std::collections::VecDeque;

use ahead_units::Timestamp;
use serde::{Deserialize, Serialize};

use crate::limits::{ModelError, within, within_rate, within_us};
use crate::mechanism::{Busy, Completion, Mechanism, Request};
use crate::time_scale::TimeScale;

/// A network volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct VolumeModel {
    /// Microseconds that every request spends on the way; any number may be on the way at once.
    pub latency_us: u64,
    /// Requests per second that pass the gate, evenly spaced: there is no burst to use up first.
    pub requests_per_s: u64,
    /// Bytes per second that pass the gate.
    pub bytes_per_s: u64,
}

impl VolumeModel {
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        within_us("latency_us", self.latency_us)?;
        within(
            "requests_per_s",
            self.requests_per_s,
            1,
            1 << 30,
            "from 1 to 2^30",
        )?;
        within_rate("bytes_per_s", self.bytes_per_s)
    }
}

/// The state of the mechanism. Moments are nanoseconds on the caller's clock.
#[derive(Clone, Debug)]
pub struct Volume {
    scale: TimeScale,
    latency_ns: u64,
    request_ns: u64,
    bytes_per_s: u64,
    gate_free_ns: u64,
    /// Ends ascend, because the gate keeps the order and the latency is the same for all.
    on_the_way: VecDeque<Completion>,
    busy: Busy,
}

impl Volume {
    /// An idle volume.
    pub(crate) fn new(model: &VolumeModel, scale: TimeScale) -> Self {
        Self {
            scale,
            latency_ns: scale.apply(model.latency_us.saturating_mul(1_000)),
            request_ns: scale.time_for(1, model.requests_per_s),
            bytes_per_s: model.bytes_per_s,
            gate_free_ns: 0,
            on_the_way: VecDeque::new(),
            busy: Busy::default(),
        }
    }
}

impl Mechanism for Volume {
    fn submit(&mut self, now_ns: u64, request: Request) {
        let bytes_ns = self.scale.time_for(request.length.get(), self.bytes_per_s);
        let enters_ns = self.gate_free_ns.max(now_ns);
        self.gate_free_ns = enters_ns.saturating_add(self.request_ns.max(bytes_ns));
        self.busy.cover(enters_ns, self.gate_free_ns);
        self.on_the_way.push_back(Completion {
            id: request.id,
            arrived_at: Timestamp::new(now_ns),
            completed_at: Timestamp::new(self.gate_free_ns.saturating_add(self.latency_ns)),
        });
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.on_the_way
            .front()
            .map(|first| first.completed_at.get())
    }

    /// Finishes the request that ends first.
    fn finish_one(&mut self) -> Option<Completion> {
        self.on_the_way.pop_front()
    }

    fn busy_ns(&self, now_ns: u64) -> u64 {
        self.busy.until(now_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DiskModel;
    use ahead_units::{ByteLength, ByteOffset};

    fn ends(lengths: &[u64]) -> Vec<u64> {
        let DiskModel::Volume(model) = DiskModel::cloud() else {
            unreachable!("the cloud preset is a volume")
        };
        let mut volume = Volume::new(&model, TimeScale::REAL);
        for &length in lengths {
            let length = ByteLength::new(length);
            volume.submit(
                0,
                Request {
                    id: 0,
                    offset: ByteOffset::new(0),
                    length,
                },
            );
        }
        std::iter::from_fn(|| volume.finish_one())
            .map(|done| done.completed_at.get())
            .collect()
    }

    #[test]
    fn small_requests_pass_the_gate_evenly_and_share_the_latency() {
        assert_eq!(ends(&[4096, 4096, 4096]), [833_334, 1_166_668, 1_500_002]);
    }

    #[test]
    fn a_large_request_is_limited_by_its_bytes() {
        assert_eq!(ends(&[1 << 20]), [8_388_608 + 500_000]);
    }
}
