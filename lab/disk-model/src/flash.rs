//! Flash: several channels, each reading one flash page at a time; no arm, no order to choose.
//!
//! A request is cut at flash-page borders, and each piece takes one page time on the channel that is
//! free first. That is one queue with several servers. A real disk fixes the channel when the page
//! is *written*; with that, results would depend on where a file happens to lie, and the purpose
//! here is a disk that is exactly known. A page read in part costs a whole page. What a request spends
//! on the way to the channels and back comes on top and is pipelined.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ahead_units::Timestamp;
use serde::{Deserialize, Serialize};

use crate::limits::{ModelError, within, within_us};
use crate::mechanism::{Busy, Completion, Mechanism, Request};
use crate::time_scale::TimeScale;

/// Flash with parallel channels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FlashModel {
    /// How many flash pages are read at the same time.
    pub channels: u32,
    /// Microseconds that one flash page takes on its channel; a read of less costs the same.
    pub page_us: u64,
    /// Bytes in a flash page.
    pub page_bytes: u64,
    /// Microseconds that every request spends on the way; any number may be on the way at once.
    #[serde(default)]
    pub latency_us: u64,
}

impl FlashModel {
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        within("channels", self.channels.into(), 1, 4_096, "from 1 to 4096")?;
        within("page_us", self.page_us, 1, 60_000_000, "from 1 to a minute")?;
        within(
            "page_bytes",
            self.page_bytes,
            512,
            1 << 30,
            "from 512 to 2^30",
        )?;
        within_us("latency_us", self.latency_us)
    }
}

/// The state of the mechanism. Moments are nanoseconds on the caller's clock.
#[derive(Clone, Debug)]
pub struct Flash {
    page_ns: u64,
    page_bytes: u64,
    latency_ns: u64,
    /// When each channel is free again.
    channels_free_ns: BinaryHeap<Reverse<u64>>,
    /// Ordered by end, then by arrival: (end, sequence, id, arrival).
    in_service: BinaryHeap<Reverse<(u64, u64, u64, u64)>>,
    sequence: u64,
    busy: Busy,
}

impl Flash {
    /// Idle channels.
    pub(crate) fn new(model: &FlashModel, scale: TimeScale) -> Self {
        Self {
            page_ns: scale.apply(model.page_us.saturating_mul(1_000)),
            page_bytes: model.page_bytes.max(1),
            latency_ns: scale.apply(model.latency_us.saturating_mul(1_000)),
            channels_free_ns: (0..model.channels.max(1)).map(|_| Reverse(0)).collect(),
            in_service: BinaryHeap::new(),
            sequence: 0,
            busy: Busy::default(),
        }
    }
}

impl Mechanism for Flash {
    fn submit(&mut self, now_ns: u64, request: Request) {
        let start = request.offset.get();
        let end = start.saturating_add(request.length.get().max(1));
        let pieces = (end.div_ceil(self.page_bytes) - start / self.page_bytes).max(1);
        let mut done_ns = now_ns;
        for _ in 0..pieces {
            // The heap keeps its size: the channel that is taken goes back with its new time.
            if let Some(mut earliest) = self.channels_free_ns.peek_mut() {
                let piece_done_ns = earliest.0.max(now_ns).saturating_add(self.page_ns);
                earliest.0 = piece_done_ns;
                done_ns = done_ns.max(piece_done_ns);
            }
        }
        self.busy.cover(now_ns, done_ns);
        let done_ns = done_ns.saturating_add(self.latency_ns);
        self.in_service
            .push(Reverse((done_ns, self.sequence, request.id, now_ns)));
        self.sequence += 1;
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.in_service.peek().map(|Reverse((end_ns, ..))| *end_ns)
    }

    /// Finishes the request that ends first.
    fn finish_one(&mut self) -> Option<Completion> {
        let Reverse((end_ns, _, id, arrived_ns)) = self.in_service.pop()?;
        Some(Completion {
            id,
            arrived_at: Timestamp::new(arrived_ns),
            completed_at: Timestamp::new(end_ns),
        })
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

    fn ssd() -> Flash {
        let DiskModel::Flash(model) = DiskModel::ssd() else {
            unreachable!("the ssd preset is flash")
        };
        Flash::new(&model, TimeScale::REAL)
    }

    fn read(offset: u64, length: u64) -> Request {
        Request {
            id: 0,
            offset: ByteOffset::new(offset),
            length: ByteLength::new(length),
        }
    }

    #[test]
    fn a_small_read_costs_a_whole_flash_page() {
        let mut flash = ssd();
        flash.submit(0, read(0, 4096));
        assert_eq!(flash.next_event_ns(), Some(80_000));
    }

    #[test]
    fn eight_pages_are_read_at_once_and_the_ninth_waits() {
        let mut flash = ssd();
        flash.submit(0, read(0, 128 << 10));
        assert_eq!(flash.next_event_ns(), Some(80_000));
        flash.submit(0, read(1 << 20, 4096));
        flash.finish_one();
        assert_eq!(flash.next_event_ns(), Some(160_000));
    }

    #[test]
    fn what_a_request_spends_on_the_way_holds_up_no_other() {
        let DiskModel::Flash(model) = DiskModel::ssd() else {
            unreachable!("the ssd preset is flash")
        };
        let far = FlashModel {
            latency_us: 20,
            ..model
        };
        let mut flash = Flash::new(&far, TimeScale::REAL);
        for _ in 0..2 {
            flash.submit(0, read(0, 128 << 10));
        }
        let ends = std::iter::from_fn(|| flash.finish_one()).map(|done| done.completed_at);
        assert_eq!(
            ends.collect::<Vec<_>>(),
            [Timestamp::new(100_000), Timestamp::new(180_000)]
        );
    }

    #[test]
    fn a_read_across_a_page_border_costs_two_pages_in_parallel() {
        let mut flash = ssd();
        flash.submit(0, read(16_384 - 512, 1024));
        assert_eq!(flash.next_event_ns(), Some(80_000));
        for _ in 0..7 {
            flash.submit(0, read(1 << 20, 4096));
        }
        let last = std::iter::from_fn(|| flash.finish_one())
            .last()
            .expect("eight were sent");
        assert_eq!(last.completed_at, Timestamp::new(160_000));
    }
}
