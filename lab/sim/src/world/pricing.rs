//! What a disk asks for requests of different sizes, for the [oracle](super::oracle)'s decision
//! whether a hole is read through.

use ahead_disk_model::{Completion, Disk, DiskModel, Request, TimeScale};
use ahead_units::{ByteLength, ByteOffset, PAGE_BYTES, Timestamp};

/// What requests of different sizes cost this disk, when it has many of them to serve. Found by
/// trying.
pub(super) struct Pricing {
    /// For 1, 2, 4 … pages.
    ns: Vec<u64>,
}

impl Pricing {
    /// Largest size tried: 1 MiB. Beyond, each further page costs what it costs up to there.
    const DOUBLINGS: u32 = 8;

    pub(super) fn of(model: &DiskModel, capacity: ByteLength) -> Self {
        let ns = (0..=Self::DOUBLINGS).map(|doubling| price(model, capacity, 1 << doubling));
        Self { ns: ns.collect() }
    }

    /// The price of a request of `pages`, at least 1.
    fn request_ns(&self, pages: u64) -> u64 {
        let below = pages.max(1).ilog2().min(Self::DOUBLINGS - 1);
        let place = usize::try_from(below).unwrap_or(0);
        let (low, high) = (self.ns[place], self.ns[place + 1]);
        let beyond = pages - (1 << below);
        low + high.saturating_sub(low) * beyond / (1 << below)
    }

    /// The price of a page of a large request.
    pub(super) fn page_ns(&self) -> u64 {
        (self.ns.last().copied().unwrap_or(0) >> Self::DOUBLINGS).max(1)
    }

    /// Whether reading through a hole between a run of `pages` and one more page is no dearer than
    /// leaving it out.
    pub(super) fn is_worth_it(&self, pages: u64, hole: u64) -> bool {
        self.request_ns(pages + hole + 1) <= self.request_ns(pages) + self.request_ns(1)
    }
}

/// Mean time of a request of `pages`, 16 of which come at once, 64 pages from each other.
fn price(model: &DiskModel, capacity: ByteLength, pages: u64) -> u64 {
    const REQUESTS: u64 = 16;
    const GAP_PAGES: u64 = 64;
    let mut disk = Disk::new(model, capacity, TimeScale::REAL);
    for id in 0..REQUESTS {
        let request = Request {
            id,
            offset: ByteOffset::new(id * (pages + GAP_PAGES) * PAGE_BYTES),
            length: ByteLength::new(pages * PAGE_BYTES),
        };
        disk.submit(Timestamp::new(0), request);
    }
    let mut done: Vec<Completion> = Vec::new();
    while let Some(due) = disk.next_event() {
        disk.advance(due, &mut done);
    }
    let last = done.iter().map(|done| done.completed_at.get()).max();
    last.unwrap_or(0) / REQUESTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_reads_through_short_holes_and_flash_does_not() {
        let capacity = ByteLength::new(1 << 40);
        let arm = Pricing::of(&DiskModel::hdd(), capacity);
        assert!(arm.is_worth_it(16, 60), "{:?}", arm.ns);
        assert!(!arm.is_worth_it(16, 1000));
        let flash = Pricing::of(&DiskModel::ssd(), capacity);
        assert!(!flash.is_worth_it(16, 16), "{:?}", flash.ns);
    }
}
