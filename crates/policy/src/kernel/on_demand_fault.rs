//! Faults on file mappings under on-demand read-ahead, 2.6.23 to the time before folios.
//!
//! The *miss counter* of a file rises when a fault finds its page absent and falls when it finds it
//! cached. Above [`MISSES_MANY`] the mapping is read page by page: what lies around a fault is of no
//! use there. Up to it, as many pages as the limit are read *around* the fault. Advice RANDOM never
//! reads ahead.
//!
//! **2.6.24.** Only advice SEQUENTIAL uses windows: sync and async calls that ask for one page.
//! A read-around is no window and leaves no mark. The counter has no bounds; a page read alone ends
//! as a hit, which takes back the miss. Every fault moves the position of the file, so a fault and a
//! read next to it are one run.
//!
//! **2.6.31.** Advice SEQUENTIAL, or the page behind the last fault or read, is a sync call for as
//! many pages as the limit; a cached, marked page is an async call for as many. The read-around is
//! the new window, still without a mark. The counter stays at 0 or above.
//!
//! **3.0** (here [`Linux3_12`](super::on_demand::Release::Linux3_12) and later). A quarter of the
//! read-around lies behind a mark, which is how a sequential run goes on now; faults no longer move
//! the position, and only advice makes a sync call. The counter stops at [`MISSES_MAX`].
//!
//! Until 4.18 read-around takes half of the inactive and free pages at most.
//!
//! Read in 2.6.24 and 4.19; both sides of the step at 3.0 are in "readahead: trigger mmap
//! sequential readahead on PG_readahead" and its neighbours (Wu Fengguang, linux-mm, April 2011).

use super::on_demand::{OnDemand, Release};
use super::window_sizes::{self, MISSES_MANY, MISSES_MAX};
use super::{Advice, Class, Fault, Host, PageState, Window};
use crate::units::PAGE_BYTES;

impl OnDemand {
    pub(super) fn take_fault<H: Host>(&mut self, host: &mut H, fault: &Fault) {
        if self.release == Release::Linux2_6_24 {
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

    /// 2.6.24: only an area told SEQUENTIAL uses windows; a read alone ends as a hit.
    fn on_fault_2_6_24<H: Host>(&mut self, host: &mut H, fault: &Fault) {
        let page = fault.page;
        if fault.advice == Advice::Sequential {
            if host.state(page) == PageState::Absent {
                self.on_absent(host, page, 1);
            }
            if host.is_marked(page) {
                self.on_marked(host, page, 1);
            }
        }
        let mut is_read_around = false;
        if host.state(page) == PageState::Absent && fault.advice == Advice::Normal {
            self.mmap_miss += 1;
            if self.mmap_miss <= MISSES_MANY {
                let pages = self.ra_pages.min(host.reclaimable_pages() / 2);
                read_around(host, page, pages, 0);
                is_read_around = true;
            }
        }
        if !is_read_around {
            self.mmap_miss -= 1;
        }
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
            i64::from(i32::MAX)
        };
        self.mmap_miss = (self.mmap_miss + 1).min(misses_max);
        if self.mmap_miss > MISSES_MANY {
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
        read_around(host, page, pages, self.async_size);
    }

    fn on_fault_cached<H: Host>(&mut self, host: &mut H, fault: &Fault) {
        if fault.advice == Advice::Random {
            return;
        }
        self.mmap_miss = (self.mmap_miss - 1).max(0);
        if host.is_marked(fault.page) {
            self.on_marked(host, fault.page, self.ra_pages);
        }
    }
}

fn read_around<H: Host>(host: &mut H, page: u64, pages: u64, async_size: u64) {
    let start = window_sizes::around(page, pages);
    host.start(&Window {
        start,
        pages,
        mark: (async_size > 0).then(|| start + pages - async_size),
        class: Class::Around,
        ..Window::default()
    });
}
