//! Flash whose first pages are slow: a run of contiguous pages starts on few channels and later has
//! them all.
//!
//! A window costs a fixed time, then so much for each of its first pages, and less for each page
//! behind those. Requests that begin where the last one ended and came at the same moment are
//! pieces of one window: cutting a window changes nothing. One window at a time, in order of
//! arrival. It is a fit to measurements of sequential reading, which say nothing about requests in
//! parallel; see [`flash`](crate::flash) for channels.

use std::collections::VecDeque;

use ahead_units::{PAGE_BYTES, Timestamp};
use serde::{Deserialize, Serialize};

use crate::limits::{ModelError, within};
use crate::mechanism::{Busy, Completion, Mechanism, Request};

/// Flash whose first pages are slow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RampModel {
    /// Nanoseconds of every window.
    pub window_ns: u64,
    /// How many pages of 4 KiB are slow.
    pub slow_pages: u64,
    /// Nanoseconds of each of them; a part of a page costs the same.
    pub slow_page_ns: u64,
    /// Nanoseconds of every page behind them.
    pub fast_page_ns: u64,
}

impl RampModel {
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        const PAGE_NS: (u64, u64, &str) = (1, 1_000_000_000, "from 1 to a second");
        within(
            "window_ns",
            self.window_ns,
            0,
            PAGE_NS.1,
            "at most a second",
        )?;
        within("slow_pages", self.slow_pages, 0, 1 << 20, "at most 2^20")?;
        within(
            "slow_page_ns",
            self.slow_page_ns,
            PAGE_NS.0,
            PAGE_NS.1,
            PAGE_NS.2,
        )?;
        within(
            "fast_page_ns",
            self.fast_page_ns,
            PAGE_NS.0,
            PAGE_NS.1,
            PAGE_NS.2,
        )
    }

    /// Nanoseconds for the first `pages` of a window.
    fn window_of(&self, pages: u64) -> u64 {
        let slow = pages.min(self.slow_pages);
        self.window_ns
            .saturating_add(slow.saturating_mul(self.slow_page_ns))
            .saturating_add((pages - slow).saturating_mul(self.fast_page_ns))
    }
}

/// The state of the mechanism, in model time.
#[derive(Clone, Debug)]
pub struct Ramp {
    model: RampModel,
    /// Where the last request ended, when it came, and how many pages its window had by then.
    window: Option<(u64, u64, u64)>,
    free_ns: u64,
    on_the_way: VecDeque<Completion>,
    busy: Busy,
}

impl Ramp {
    /// An idle disk.
    pub(crate) fn new(model: RampModel) -> Self {
        Self {
            model,
            window: None,
            free_ns: 0,
            on_the_way: VecDeque::new(),
            busy: Busy::default(),
        }
    }
}

impl Mechanism for Ramp {
    fn submit(&mut self, now_ns: u64, request: Request) {
        let offset = request.offset.get();
        let end = offset.saturating_add(request.length.get());
        let pages = (end.div_ceil(PAGE_BYTES) - offset / PAGE_BYTES).max(1);
        let before = match self.window {
            Some((at, arrived_ns, before)) if at == offset && arrived_ns == now_ns => before,
            _ => 0,
        };
        let window = before.saturating_add(pages);
        let paid_ns = if before == 0 {
            0
        } else {
            self.model.window_of(before)
        };
        self.window = Some((end, now_ns, window));
        let starts_ns = self.free_ns.max(now_ns);
        self.free_ns = starts_ns.saturating_add(self.model.window_of(window) - paid_ns);
        self.busy.cover(starts_ns, self.free_ns);
        self.on_the_way.push_back(Completion {
            id: request.id,
            arrived_at: Timestamp::new(now_ns),
            completed_at: Timestamp::new(self.free_ns),
        });
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.on_the_way
            .front()
            .map(|first| first.completed_at.get())
    }

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

    fn x25m() -> Ramp {
        let DiskModel::Ramp(model) = DiskModel::x25m() else {
            unreachable!("the X25-M preset is a ramp")
        };
        Ramp::new(model)
    }

    fn read(offset: u64, length: u64) -> Request {
        Request {
            id: 0,
            offset: ByteOffset::new(offset),
            length: ByteLength::new(length),
        }
    }

    /// The sequential rates that the mail "512KB default readahead size" (2010) gives for an Intel
    /// X25-M, first of two runs, in MB/s by KiB of read-ahead.
    #[test]
    fn the_eleven_rates_of_the_x25m_come_out_within_three_percent() {
        let measured = [
            (4, 123),
            (16, 153),
            (32, 161),
            (64, 167),
            (128, 197),
            (256, 217),
            (512, 238),
            (1024, 251),
            (2048, 259),
            (4096, 269),
            (8192, 266),
        ];
        for (kib, mb_per_s) in measured {
            let mut disk = x25m();
            disk.submit(0, read(0, kib << 10));
            let ns = disk.next_event_ns().expect("one request");
            let kb_per_s = (kib << 10) * 1_000_000 / ns;
            let difference = kb_per_s.abs_diff(mb_per_s * 1_000);
            assert!(
                difference * 100 <= mb_per_s * 1_000 * 3,
                "{kib} KiB: {kb_per_s} kB/s for {mb_per_s} MB/s"
            );
        }
    }

    #[test]
    fn a_window_in_pieces_takes_as_long_as_in_one() {
        let mut whole = x25m();
        whole.submit(0, read(0, 1 << 20));
        let mut cut = x25m();
        for piece in 0..8 {
            cut.submit(0, read(piece << 17, 1 << 17));
        }
        let end = std::iter::from_fn(|| cut.finish_one()).last();
        let end_ns = end.map(|done| done.completed_at.get());
        assert_eq!(end_ns, whole.next_event_ns());
    }

    #[test]
    fn the_next_window_starts_slowly_again() {
        let mut disk = x25m();
        disk.submit(0, read(0, 4096));
        disk.submit(1, read(4096, 4096));
        let ends: Vec<u64> = std::iter::from_fn(|| disk.finish_one())
            .map(|done| done.completed_at.get())
            .collect();
        assert_eq!(ends, [33_000, 66_000]);
    }
}
