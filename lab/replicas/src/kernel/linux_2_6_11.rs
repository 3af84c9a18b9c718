//! Linux 2.6.11 to 2.6.22: two windows, and nothing else. The "stock" logic of its time.
//!
//! An open file has a current window and perhaps an *ahead* window right behind it.
//!
//! ```text
//!           |<--- size --->|<----- ahead_size ----->|
//!  ---------#==============#========================|-------
//!           ^ start        ^ ahead_start
//!                            a read that gets here moves both on
//! ```
//!
//! The routine runs at the first page of a read with all the pages the read wants, and again when
//! the walk gets to the page it returned. With `max` the limit, and `n` the wanted pages up to it:
//!
//! 1. A read that begins in the page dealt with last begins behind it, if it wants more.
//! 2. Nothing wanted, or the file is known to be in the cache: nothing, one page at a time.
//! 3. Next to the page dealt with last, and no window: a run begins with the *first size* of `n`.
//!    A read of `max` pages or more gets the ahead window at once, congestion or not. A file opens
//!    as if page −1 had been read, so a read of page 0 begins a run.
//! 4. Not next to it: a random read. Windows are forgotten, `n` pages are read, no more.
//! 5. In a run: the ahead window is made if there is none. When the read reaches it, it becomes
//!    the current one, and the next one is made behind it.
//!
//! *First size*: the wanted pages rounded up to a power of two, four times that while small against
//! `max`, twice in the middle, else `max`. *Next size*: four times the current one while that is
//! below `max / 16`, else twice, up to `max`; two pages less than the current one if a page was
//! found missing since, but [`PAGES_MIN`] at least.
//!
//! A window that brings no page counts its length; [`CACHED_MANY`] in a row, and the file counts as
//! cached: no more attempts until a page is missing. An ahead window the reader is not in need of
//! yet is not made while the device is congested for reads; then there is none, and the next page
//! tries again.
//!
//! A page still missing afterwards was evicted: the next size shrinks, as above. Two interleaved
//! readers on one descriptor look random to all of this.
//!
//! Faults: areas advised SEQUENTIAL run the routine with one page, all others read around
//! (`read_around`). Advice for the file: SEQUENTIAL doubles the limit, RANDOM makes it 0.
//!
//! [`StockRelease`] names what 2.6.11 does differently. Which release between it and 2.6.18 changed that
//! is not known for certain.
//!
//! Source: 2.6.11, 2.6.18 and 2.6.22, mm/readahead.c.

use super::hints::{advised_limit, read_within_memory};
use super::linux_2_6_9::PAGES_MIN;
use super::read_around::ReadAround;
use super::window_sizes;
use super::{Advice, Class, Fault, Host, PageState, Read, ReadAhead, Window};
use crate::replica::{RA_KB, Replica};

/// The names of it.
pub const REPLICAS: &[Replica<Stock>] = &[
    Replica::new(
        "linux-2.6.11",
        2005,
        "Linux 2.6.11, two windows",
        &[RA_KB],
        |values| Stock::new(StockRelease::Linux2_6_11, values.ra_pages()),
    )
    .before_fault_around(),
    Replica::new(
        "linux-2.6.18",
        2006,
        "Linux 2.6.18, two windows",
        &[RA_KB],
        |values| Stock::new(StockRelease::Linux2_6_18, values.ra_pages()),
    )
    .before_fault_around(),
];

/// Pages in windows that brought nothing after which a file counts as cached (1 MiB).
pub const CACHED_MANY: u64 = 256;

/// "The page before page 0".
const NO_PAGE: u64 = u64::MAX;

/// Whose rules. The methods are the switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StockRelease {
    /// 2.6.11.
    Linux2_6_11,
    /// 2.6.18, and 2.6.22 too.
    Linux2_6_18,
}

impl StockRelease {
    fn initial(self, request: u64, max: u64) -> u64 {
        if self == Self::Linux2_6_18 {
            return window_sizes::initial(request, max);
        }
        match request.checked_next_power_of_two() {
            Some(size) if size <= max / 64 => size * size,
            Some(size) if size <= max / 4 => max / 4,
            _ => max,
        }
    }

    /// A file that was never read is a third state beside "window" and "no window": it begins a run
    /// at page 0 only, and a window of a random read is not forgotten but off.
    fn tells_fresh_from_off(self) -> bool {
        self == Self::Linux2_6_11
    }

    /// A read that begins in the page dealt with last wants one page less. In 2.6.11 it is ignored
    /// if it wants that page only, and random otherwise.
    fn skips_page_read_last(self) -> bool {
        self == Self::Linux2_6_18
    }

    /// The routine deals with pages up to the end of the ahead window, so that it is called again
    /// there. 2.6.11 deals with all that is wanted.
    fn stops_at_ahead_window(self) -> bool {
        self == Self::Linux2_6_18
    }
}

/// The windows of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StockState {
    /// First page of the current window.
    pub start: u64,
    /// Pages of the current window, 0 if there is none.
    pub size: u64,
    /// First page of the ahead window, 0 if there is none.
    pub ahead_start: u64,
    /// Pages of the ahead window; the end of the last one if there is none.
    pub ahead_size: u64,
    /// The last page dealt with.
    pub prev_page: u64,
    /// Pages of windows that brought nothing, in a row.
    pub cache_hits: u64,
    /// The file counts as cached.
    pub is_in_cache: bool,
    /// A page was missing since the last ahead window.
    pub was_missing: bool,
}

/// The state of one open file.
#[derive(Clone, Copy, Debug)]
pub struct Stock {
    release: StockRelease,
    device_pages: u64,
    ra_pages: u64,
    state: StockState,
    /// No window was ever made.
    is_fresh: bool,
    /// Where the walk calls again.
    next_call: u64,
    read_around: ReadAround,
    /// Missing pages of faults outside SEQUENTIAL areas say nothing about windows.
    is_in_fault: bool,
}

impl Stock {
    /// A file just opened on a device whose limit is `ra_pages` pages.
    #[must_use]
    pub const fn new(release: StockRelease, ra_pages: u64) -> Self {
        Self {
            release,
            device_pages: ra_pages,
            ra_pages,
            state: StockState {
                start: 0,
                size: 0,
                ahead_start: 0,
                ahead_size: 0,
                prev_page: NO_PAGE,
                cache_hits: 0,
                is_in_cache: false,
                was_missing: false,
            },
            is_fresh: true,
            next_call: 0,
            read_around: ReadAround::new(),
            is_in_fault: false,
        }
    }

    /// Where the file stands.
    #[must_use]
    pub const fn state(&self) -> &StockState {
        &self.state
    }

    /// The routine of the head comment; returns the page at which it wants to be called again.
    fn call<H: Host>(&mut self, host: &mut H, page: u64, request: u64) -> u64 {
        let (mut page, mut request) = (page, request);
        let max = self.ra_pages;
        if page == self.state.prev_page {
            if self.release.skips_page_read_last() {
                request = request.saturating_sub(1);
                page += u64::from(request > 0);
            } else if request == 1 && !self.is_fresh {
                return page + 1;
            }
        }
        let is_next = page == self.state.prev_page.wrapping_add(1);
        let wanted = request.min(max);
        self.state.prev_page = page;
        if wanted == 0 || self.state.is_in_cache {
            return page + 1;
        }
        self.state.prev_page = page + wanted - 1;
        if self.begins_run(page, is_next) {
            self.is_fresh = false;
            self.state.size = self.release.initial(wanted, max);
            self.state.start = page;
            let (start, size) = (self.state.start, self.state.size);
            if self.issue(host, start, size, true, Class::Initial) && request >= max {
                self.make_ahead(host, true);
            }
        } else if !is_next || self.is_unread(page) {
            self.is_fresh = false;
            self.switch_off();
            self.issue(host, page, wanted, true, Class::Random);
        } else {
            self.go_on(host);
        }
        self.state.prev_page.wrapping_add(1)
    }

    fn begins_run(&self, page: u64, is_next: bool) -> bool {
        if self.release.tells_fresh_from_off() && self.is_fresh {
            page == 0
        } else {
            is_next && self.state.size == 0
        }
    }

    /// 2.6.11 does not begin a run with a file's first read elsewhere than at page 0, however it
    /// follows on what was read before.
    fn is_unread(&self, page: u64) -> bool {
        self.release.tells_fresh_from_off() && self.is_fresh && page != 0
    }

    /// A run with a current window.
    fn go_on<H: Host>(&mut self, host: &mut H) {
        let has_ahead = self.state.ahead_start != 0 || self.make_ahead(host, false);
        if has_ahead {
            if self.state.prev_page < self.state.ahead_start {
                return;
            }
            self.state.start = self.state.ahead_start;
            self.state.size = self.state.ahead_size;
            self.make_ahead(host, false);
        }
        if self.release.stops_at_ahead_window() {
            let ahead_end = self.state.ahead_start.wrapping_add(self.state.ahead_size);
            self.state.prev_page = self.state.prev_page.min(ahead_end.wrapping_sub(1));
        }
    }

    /// Makes the window behind the current one; false if there is none then.
    fn make_ahead<H: Host>(&mut self, host: &mut H, is_forced: bool) -> bool {
        let size = self.next_size();
        let start = self.state.start + self.state.size;
        self.state.ahead_size = size;
        self.state.ahead_start = start;
        let must = is_forced || self.state.prev_page >= start;
        let is_made = self.issue(host, start, size, must, Class::Subsequent);
        if !is_made && !is_forced {
            self.forget_ahead();
        }
        is_made
    }

    /// Reads a window, one that `must` be read even from a congested device. False if it was not
    /// read, or was the last of so many cached ones that the file counts as cached.
    fn issue<H: Host>(
        &mut self,
        host: &mut H,
        start: u64,
        pages: u64,
        must: bool,
        class: Class,
    ) -> bool {
        if !must && host.is_congested() {
            return false;
        }
        let added = host.start(&Window {
            start,
            pages,
            class,
            ..Window::default()
        });
        if added > 0 {
            self.state.cache_hits = 0;
            return true;
        }
        self.state.cache_hits += pages;
        if self.state.cache_hits < CACHED_MANY {
            return true;
        }
        self.switch_off();
        self.state.is_in_cache = true;
        false
    }

    fn switch_off(&mut self) {
        self.state.start = 0;
        self.state.size = 0;
        self.state.is_in_cache = false;
        self.state.was_missing = false;
        self.forget_ahead();
    }

    /// Where the ahead window ended is remembered: the routine deals with pages up to there.
    fn forget_ahead(&mut self) {
        self.state.ahead_size = self.state.ahead_size.wrapping_add(self.state.ahead_start);
        self.state.ahead_start = 0;
    }

    fn next_size(&mut self) -> u64 {
        let (size, max) = (self.state.size, self.ra_pages);
        if self.state.was_missing {
            self.state.was_missing = false;
            // Wraps below two pages, which gives the limit; only a tiny limit makes such windows.
            size.wrapping_sub(2).max(PAGES_MIN).min(max)
        } else {
            window_sizes::next(size, max)
        }
    }

    /// A page is missing although the routine ran for it.
    const fn on_missing_page(&mut self) {
        self.state.was_missing = true;
        self.state.is_in_cache = false;
        self.state.cache_hits = 0;
    }
}

impl ReadAhead for Stock {
    fn on_read<H: Host>(&mut self, _host: &mut H, read: &Read) {
        self.is_in_fault = false;
        self.next_call = read.first_page();
    }

    fn on_page<H: Host>(&mut self, host: &mut H, read: &Read, page: u64) {
        if page == self.next_call {
            self.next_call = self.call(host, page, read.pages_from(page));
        }
    }

    fn on_missing<H: Host>(&mut self, _host: &mut H, _page: u64) {
        if !self.is_in_fault {
            self.on_missing_page();
        }
    }

    fn on_fault<H: Host>(&mut self, host: &mut H, fault: &Fault) {
        self.is_in_fault = true;
        if fault.advice != Advice::Sequential {
            self.read_around.on_fault(host, fault, self.ra_pages);
            return;
        }
        self.call(host, fault.page, 1);
        if host.state(fault.page) == PageState::Absent {
            self.on_missing_page();
        }
        self.read_around.on_served();
    }

    fn on_advice(&mut self, advice: Advice) {
        self.ra_pages = advised_limit(advice, self.device_pages);
    }

    fn on_will_need<H: Host>(&mut self, host: &mut H, start: u64, pages: u64) {
        read_within_memory(host, start, pages);
    }
}
