//! Faults on file mappings since folios: 6.12 and 6.18.
//!
//! **A fault on an absent page**, first rule that fits:
//!
//! 1. An area advised to use huge pages: the huge page around the fault and the next one (RANDOM: only
//!    the first), in folios of that size, the second behind the mark; even if the limit is 0.
//! 2. Advice RANDOM (6.18: unless executable), or a limit of 0: nothing.
//! 3. Advice SEQUENTIAL: a sync call for as many pages as the limit.
//! 4. The [miss counter](super::miss_counter) rises; too many: nothing.
//! 5. 6.18, executable: from the page on, inside the area, no mark.
//! 6. The limit's number of pages around the fault, a quarter of it behind the mark.
//!
//! **A fault on a cached page** lowers the miss counter (6.18: not while the folio is locked), and
//! a mark is an async call, from the page of the fault: in the middle of a folio it looks like
//! another reader's mark. Faults never move the position of the file.
//!
//! Fault-around maps cached neighbours of a fault before any of this and lowers the miss counter by
//! their number; it never touches marked, locked or unread folios, which come here.

use super::folio_calls::Folio;
use super::miss_counter::MISSES_MAX;
use super::window_sizes;
use super::{Advice, Class, Fault, Host};

/// log2 of the pages of a huge page on x86-64: 2 MiB.
const HUGE_ORDER: u8 = 9;

/// Pages of a huge page.
const HUGE_PAGES: u64 = 1 << HUGE_ORDER;

impl Folio {
    pub(super) fn on_fault_absent<H: Host>(&mut self, host: &mut H, fault: &Fault) {
        let is_random = fault.advice == Advice::Random;
        let is_executable = fault.executable && self.release.knows_executables();
        if fault.huge {
            self.size = if is_random {
                HUGE_PAGES
            } else {
                2 * HUGE_PAGES
            };
            self.async_size = HUGE_PAGES;
            self.order = HUGE_ORDER;
            let start = fault.page - fault.page % HUGE_PAGES;
            self.submit_at(host, start, HUGE_ORDER, Class::Around);
            return;
        }
        if (is_random && !is_executable) || self.ra_pages == 0 {
            return;
        }
        if fault.advice == Advice::Sequential {
            self.sync(host, fault.page, self.ra_pages);
            return;
        }
        if !self.misses.on_miss(MISSES_MAX) {
            return;
        }
        if is_executable {
            // The preferred order of executable folios is 0 where the architecture names none.
            self.start = fault.page.max(fault.area_start);
            let end = self.start.saturating_add(self.ra_pages).min(fault.area_end);
            self.size = end.saturating_sub(self.start).max(1);
            self.async_size = 0;
        } else {
            self.start = window_sizes::around(fault.page, self.ra_pages);
            self.size = self.ra_pages;
            self.async_size = self.ra_pages / 4;
        }
        self.order = 0;
        self.submit(host, 0, Class::Around);
    }

    pub(super) fn on_fault_cached<H: Host>(
        &mut self,
        host: &mut H,
        fault: &Fault,
        is_locked: bool,
    ) {
        if fault.advice == Advice::Random || self.ra_pages == 0 {
            return;
        }
        if !is_locked || self.release.counts_locked_hits() {
            self.misses.on_hits(1);
        }
        if host.is_marked(fault.page) {
            let folio = host.folio(fault.page);
            self.on_mark(host, fault.page, self.ra_pages, folio);
        }
    }
}
