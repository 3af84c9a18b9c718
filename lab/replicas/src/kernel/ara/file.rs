//! What is remembered of an open file, and what all methods ask and report.

use super::chunks::{Chunks, Method};
use super::events::{AraEvent, AraObserver};
use super::release::{AraKnobs, AraRelease};
use crate::kernel::Host;
use crate::kernel::linux_2_6_11::{Stock, StockRelease};
use crate::kernel::rescue::rescue_pages;

/// One open file under adaptive read-ahead, and who hears of its [events](super::events).
#[derive(Clone, Debug)]
pub struct Ara<O = ()> {
    pub(super) release: AraRelease,
    pub(super) knobs: AraKnobs,
    observer: O,
    pub(super) stock: Stock,
    pub(super) chunks: Chunks,
    /// The aging clock when the newest chunk was submitted.
    pub(super) age: u64,
    /// The page visited last; −1 at open.
    pub(super) prev_page: u64,
    /// The file's limit in pages: the device's, twice that, or 0, by advice.
    pub(super) pages_max: u64,
    pub(super) has_met_end: bool,
    pub(super) is_disk_asleep: bool,
    pub(super) is_mapped: bool,
}

impl Ara {
    /// A fresh file with the release's defaults.
    #[must_use]
    pub const fn new(release: AraRelease) -> Self {
        Self::with_knobs(release, AraKnobs::of(release))
    }

    /// A fresh file.
    #[must_use]
    pub const fn with_knobs(release: AraRelease, knobs: AraKnobs) -> Self {
        Self::observed(release, knobs, ())
    }
}

impl<O> Ara<O> {
    /// A fresh file whose events `observer` hears.
    #[must_use]
    pub const fn observed(release: AraRelease, knobs: AraKnobs, observer: O) -> Self {
        Self {
            release,
            knobs,
            observer,
            stock: Stock::new(StockRelease::Linux2_6_18, knobs.pages_max),
            chunks: Chunks {
                la_index: 0,
                ra_index: 0,
                mark: 0,
                end: 0,
                method: Method::None,
                method_old: Method::None,
                hits: 0,
                hits_run: 0,
                hits_last: 0,
                hits_second_last: 0,
            },
            age: 0,
            prev_page: u64::MAX,
            pages_max: knobs.pages_max,
            has_met_end: false,
            is_disk_asleep: false,
            is_mapped: false,
        }
    }

    /// Who hears of the events.
    pub const fn observer(&self) -> &O {
        &self.observer
    }

    /// Laptop mode is on and the disk has been spun down, or is so no longer.
    pub const fn set_disk_asleep(&mut self, is_asleep: bool) {
        self.is_disk_asleep = is_asleep;
    }

    /// Whether the old logic reads.
    pub(super) const fn is_stock(&self) -> bool {
        self.knobs.ratio > 0 && self.knobs.ratio < self.release.ratio_min()
    }

    /// The accepted ratio of pages read ahead to pages used, at least 1.
    pub(super) fn hit_rate(&self) -> u64 {
        self.knobs.hit_rate.max(1)
    }

    /// Whether what the newest chunk's mark stands for was used enough.
    pub(super) fn is_hit_enough(&self) -> bool {
        let hits = u64::from(self.chunks.hits);
        !self.knobs.hit_feedback || hits.saturating_mul(self.hit_rate()) >= self.chunks.interval()
    }
}

impl<O: AraObserver> Ara<O> {
    /// Saves pages that wait for their reader, instead of reading more.
    pub(super) fn rescue<H: Host>(&mut self, host: &mut H, page: u64, pages: u64) {
        let saved = rescue_pages(host, page, pages);
        self.report(AraEvent::ReadAheadRescue, self.chunks.method, saved);
    }

    pub(super) fn report(&mut self, event: AraEvent, method: Method, pages: u64) {
        self.observer.on_event(event, method, pages);
    }
}
