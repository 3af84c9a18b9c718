//! Faults on file mappings under on-demand read-ahead, 2.6.23 to the time before folios.
//!
//! While misses and hits show that it is of use, as many pages as the limit are read *around* the
//! fault. Advice RANDOM never reads ahead.
//!
//! **2.6.24.** As in 2.6.18, [`read_around`](super::read_around), but that advice SEQUENTIAL uses
//! the windows of today: sync and async calls that ask for one page. A read-around is no window and
//! leaves no mark. Every fault moves the position of the file, so a fault and a read next to it are
//! one run.
//!
//! **2.6.31.** Advice SEQUENTIAL, or the page behind the last fault or read, is a sync call for as
//! many pages as the limit; a cached, marked page is an async call for as many. The read-around is
//! the new window, still without a mark. Misses and hits move one counter,
//! [`miss_counter`](super::miss_counter).
//!
//! **3.0** (here [`Linux3_12`](super::on_demand::OnDemandRelease::Linux3_12) and later). A quarter of the
//! read-around lies behind a mark, which is how a sequential run goes on now; faults no longer move
//! the position, and only advice makes a sync call. The counter stops earlier.
//!
//! Until 4.18 read-around takes half of the inactive and free pages at most.
//!
//! Read in 2.6.24 and 4.19; both sides of the step at 3.0 are in "readahead: trigger mmap
//! sequential readahead on PG_readahead" and its neighbours (Wu Fengguang, linux-mm, April 2011).

use super::miss_counter::{MISSES_MAX, MISSES_MAX_2_6_31};
use super::on_demand_window::{OnDemand, OnDemandRelease};
use super::window_sizes;
use super::{Advice, Class, Fault, Host, PageState};
use ahead_units::PAGE_BYTES;

impl OnDemand {
    pub(super) fn take_fault<H: Host>(&mut self, host: &mut H, fault: &Fault) {
        if self.release == OnDemandRelease::Linux2_6_24 {
            self.on_fault_2_6_24(host, fault);
        } else if host.state(fault.page) == PageState::Absent {
            self.on_fault_absent(host, fault);
        } else {
            self.on_fault_cached(host, fault);
        }
        if !self.release.read_around_has_mark() {
            self.prev_pos = fault.page.saturating_mul(PAGE_BYTES).cast_signed();
        }
    }

    /// Only an area advised SEQUENTIAL uses windows.
    fn on_fault_2_6_24<H: Host>(&mut self, host: &mut H, fault: &Fault) {
        if fault.advice != Advice::Sequential {
            self.read_around.on_fault(host, fault, self.ra_pages);
            return;
        }
        let page = fault.page;
        if host.state(page) == PageState::Absent {
            self.on_absent(host, page, 1);
        }
        if host.is_marked(page) {
            self.on_marked(host, page, 1);
        }
        self.read_around.on_served();
    }

    fn on_fault_absent<H: Host>(&mut self, host: &mut H, fault: &Fault) {
        let has_mark = self.release.read_around_has_mark();
        let page = fault.page;
        if fault.advice == Advice::Random || (has_mark && self.ra_pages == 0) {
            return;
        }
        let follows = !has_mark && page.wrapping_sub(1) == window_sizes::page_of(self.prev_pos);
        if fault.advice == Advice::Sequential || follows {
            self.on_absent(host, page, self.ra_pages);
            return;
        }
        let misses_max = if has_mark {
            MISSES_MAX
        } else {
            MISSES_MAX_2_6_31
        };
        if !self.misses.on_miss(misses_max) {
            return;
        }
        let pages = if self.release.knows_io_pages() {
            self.ra_pages
        } else {
            self.ra_pages.min(host.reclaimable_pages() / 2)
        };
        if pages == 0 {
            return;
        }
        self.start = window_sizes::around(page, pages);
        self.size = pages;
        self.async_size = if has_mark { pages / 4 } else { 0 };
        self.submit(host, Class::Around);
    }

    fn on_fault_cached<H: Host>(&mut self, host: &mut H, fault: &Fault) {
        if fault.advice == Advice::Random {
            return;
        }
        self.misses.on_hits(1);
        if host.is_marked(fault.page) {
            self.on_marked(host, fault.page, self.ra_pages);
        }
    }
}
