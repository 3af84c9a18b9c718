//! Linux 2.6.9: windows that grow by two pages, and an average of run lengths.
//!
//! An open file has a current window, perhaps an *ahead* window behind it, and two guesses. The
//! routine runs for every page of a read, before the page is looked up.
//!
//! * `next_size` grows by 2 with each page touched in the current window or just behind it, and
//!   shrinks by 2 with each page elsewhere. At 0, read-ahead goes off.
//! * `average` follows the number of touches in a run (`window_hits`), half way at a time. The
//!   *guess* is the average, or what lies half way to the present run if that is longer already.
//!
//! The steps for a page, with `max` the limit:
//!
//! 1. The page touched last, again: nothing. Off: nothing.
//! 2. The first page ever: a window of `max / 2` from here.
//! 3. Hit or miss: the two numbers move; `next_size` is cut at `max`.
//! 4. Inside the current window, and no ahead window yet: if the guess is above `max`, the ahead
//!    window of `next_size` pages is read. Only a run longer than `max` gets one.
//! 5. Outside, on the first page of the ahead window: that becomes the current one. No I/O; the
//!    second page of it will bring the next ahead window.
//! 6. Outside, elsewhere: the guess, cut at `max`, is the new window from here.
//! 7. A window that brought no page at all takes back what `next_size` gained, and one page more;
//!    from 1 it goes off. (Not in step 2: a cached file may be read whole.)
//!
//! A page still missing afterwards was evicted: `next_size` shrinks by 3, to
//! [`PAGES_MIN`] at least. While off, missing pages in a row are counted (`size` is the counter);
//! one that is not in a row takes one off; `max` of them switch read-ahead on again, as if the
//! `max` pages before were the current window.
//!
//! While the device is congested for reads, a window brings nothing. Faults: areas advised
//! SEQUENTIAL take the steps above, all others read around (`read_around`). Advice for
//! the file: SEQUENTIAL doubles the limit, RANDOM makes it 0.
//!
//! Source: 2.6.9, mm/readahead.c; advice and faults as in 2.6.18. What 2.6.0 to 2.6.8 did
//! differently is known from patches only and is not here.

use super::hints::{advised_limit, read_within_memory};
use super::read_around::ReadAround;
use super::{Advice, Class, Fault, Host, PageState, Read, ReadAhead, Window};
use crate::replica::{RA_KB, Replica};

/// The name of it.
pub const REPLICAS: &[Replica<Linux2_6_9>] =
    &[
        Replica::new("linux-2.6.9", 2004, "Linux 2.6.9", &[RA_KB], |values| {
            Linux2_6_9::new(values.ra_pages())
        })
        .before_fault_around(),
    ];

/// What eviction leaves of `next_size` at least: 16 KiB.
pub const PAGES_MIN: u64 = 4;

/// The state of one open file.
#[derive(Clone, Copy, Debug)]
pub struct Linux2_6_9 {
    device_pages: u64,
    ra_pages: u64,
    state: Linux2_6_9State,
    read_around: ReadAround,
    /// Missing pages of faults outside SEQUENTIAL areas say nothing about windows.
    is_in_fault: bool,
}

/// The windows and guesses of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linux2_6_9State {
    /// First page of the current window.
    pub start: u64,
    /// Pages of the current window; while off, missing pages in a row.
    pub size: u64,
    /// Pages of the next window; 0 at open, `None` while off.
    pub next_size: Option<u64>,
    /// First page of the ahead window, 0 if there is none.
    pub ahead_start: u64,
    /// Pages of the ahead window.
    pub ahead_size: u64,
    /// The page touched last.
    pub prev_page: u64,
    /// Touches in the present run.
    pub window_hits: u64,
    /// What runs used to be.
    pub average: u64,
}

impl Linux2_6_9State {
    /// What the present run may become.
    fn guess(&self) -> u64 {
        if self.window_hits > self.average {
            (self.window_hits + self.average).div_ceil(2)
        } else {
            self.average
        }
    }

    /// Inside the current window; `behind` more pages count too. A window that was resumed near
    /// the start of a file wraps.
    const fn has(&self, page: u64, behind: u64) -> bool {
        self.start <= page && page < self.start.wrapping_add(self.size + behind)
    }

    fn switch_off(&mut self) {
        self.next_size = None;
        self.size = 0;
    }

    /// A window brought no page; `next_size` was `original` when the page was touched.
    fn on_nothing_added(&mut self, original: u64) {
        if original > 1 {
            self.next_size = Some(original - 1);
            if self.ahead_size > 0 {
                self.ahead_size = original - 1;
            }
        } else {
            self.switch_off();
        }
    }
}

impl Linux2_6_9 {
    /// A file just opened on a device whose limit is `ra_pages` pages.
    #[must_use]
    pub const fn new(ra_pages: u64) -> Self {
        Self {
            device_pages: ra_pages,
            ra_pages,
            state: Linux2_6_9State {
                start: 0,
                size: 0,
                next_size: Some(0),
                ahead_start: 0,
                ahead_size: 0,
                prev_page: 0,
                window_hits: 0,
                average: ra_pages / 2,
            },
            read_around: ReadAround::new(),
            is_in_fault: false,
        }
    }

    /// Where the file stands.
    #[must_use]
    pub const fn state(&self) -> &Linux2_6_9State {
        &self.state
    }

    /// The routine of the head comment.
    fn touch<H: Host>(&mut self, host: &mut H, page: u64) {
        let max = self.ra_pages;
        let state = &mut self.state;
        let Some(original) = state.next_size else {
            return;
        };
        if max == 0 || (page == state.prev_page && original != 0) {
            return;
        }
        state.prev_page = page;
        if original == 0 {
            state.window_hits += 1;
            self.read_window(host, page, max / 2, Class::Initial);
            return;
        }
        let Some(next_size) = self.follow(page, original) else {
            self.state.switch_off();
            return;
        };
        let state = &mut self.state;
        state.next_size = Some(next_size);
        let guess = state.guess();
        let added = if state.has(page, 0) {
            if state.ahead_start != 0 || guess <= max {
                return;
            }
            state.ahead_start = state.start + state.size;
            state.ahead_size = next_size;
            let (start, pages) = (state.ahead_start, state.ahead_size);
            start_window(host, start, pages, Class::Subsequent)
        } else if page == state.ahead_start {
            state.start = state.ahead_start;
            state.size = state.ahead_size;
            state.ahead_start = 0;
            state.ahead_size = 0;
            return;
        } else {
            self.read_window(host, page, guess.min(max), Class::Random)
        };
        if added == 0 {
            self.state.on_nothing_added(original);
        }
    }

    /// Hit or miss. The next size, or `None` if that switches read-ahead off.
    fn follow(&mut self, page: u64, next_size: u64) -> Option<u64> {
        let max = self.ra_pages;
        let state = &mut self.state;
        let next_size = if state.has(page, 1) {
            if state.window_hits <= max * 2 {
                state.window_hits += 1;
            }
            next_size + 2
        } else {
            // One more against rounding down, so that the average reaches a steady run length.
            let average = state.average + u64::from(state.average < state.window_hits);
            state.average = (average + state.window_hits) / 2;
            state.window_hits = 1;
            next_size.saturating_sub(2)
        };
        Some(next_size.min(max)).filter(|&size| size > 0)
    }

    /// The current window begins at `page`. Returns how many pages that brought.
    fn read_window<H: Host>(&mut self, host: &mut H, page: u64, size: u64, class: Class) -> u64 {
        let state = &mut self.state;
        state.next_size = Some(size);
        state.start = page;
        state.size = size;
        state.ahead_start = 0;
        state.ahead_size = 0;
        start_window(host, page, size, class)
    }

    /// A page is missing although the routine ran for it.
    fn on_missing_page(&mut self, page: u64) {
        let max = self.ra_pages;
        let state = &mut self.state;
        if let Some(next_size) = state.next_size {
            state.next_size = Some(next_size.saturating_sub(3).max(PAGES_MIN));
            return;
        }
        if page == state.prev_page.wrapping_add(1) {
            state.size += 1;
            if state.size >= max {
                state.start = page.wrapping_sub(max);
                state.next_size = Some(max);
                state.size = max;
                state.ahead_start = 0;
                state.ahead_size = 0;
                state.average = max / 2;
            }
        } else {
            state.size = state.size.saturating_sub(1);
        }
        state.prev_page = page;
    }
}

/// Reads a window unless the device is congested; returns how many pages that brought.
fn start_window<H: Host>(host: &mut H, start: u64, pages: u64, class: Class) -> u64 {
    if host.is_congested() {
        return 0;
    }
    host.start(&Window {
        start,
        pages,
        class,
        ..Window::default()
    })
}

impl ReadAhead for Linux2_6_9 {
    fn on_page<H: Host>(&mut self, host: &mut H, _read: &Read, page: u64) {
        self.is_in_fault = false;
        self.touch(host, page);
    }

    fn on_missing<H: Host>(&mut self, _host: &mut H, page: u64) {
        if !self.is_in_fault {
            self.on_missing_page(page);
        }
    }

    fn on_fault<H: Host>(&mut self, host: &mut H, fault: &Fault) {
        self.is_in_fault = true;
        if fault.advice != Advice::Sequential {
            self.read_around.on_fault(host, fault, self.ra_pages);
            return;
        }
        self.touch(host, fault.page);
        if host.state(fault.page) == PageState::Absent {
            self.on_missing_page(fault.page);
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
