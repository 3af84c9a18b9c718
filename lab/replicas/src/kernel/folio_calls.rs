//! The two calls of read-ahead with folios, and the state of a file that they decide from.
//!
//! A **sync call**: the page at hand is absent. `request` = pages the read still wants from here.
//!
//! 1. Limit 0: one page. `fadvise` RANDOM: the request, *forced* (no mark, the state stays).
//! 2. Page 0, a request above the limit, or a page no more than one behind the position where the
//!    last read ended: a run begins. Its size is `window_sizes::initial`; behind the mark lies what
//!    the request leaves over, or half if it leaves nothing. The position is the one *after* the
//!    last byte, so that skipping one page still counts as sequential.
//! 3. Cached pages directly below, at most limit − 1 of them (counted by `folio_scan`), and more
//!    than the request is long: an interleaved or re-opened run. They (twice if they reach the start
//!    of the file) and the request make the window; its last page is marked.
//! 4. Otherwise the request as it is; the state stays.
//!
//! There is no rule for the expected page here: a reader that misses its mark, or whose pages were
//! evicted, begins again.
//!
//! An **async call**: the folio at hand is marked. The mark is cleared.
//!
//! 1. The call comes from the mark (rounded down to the folio): the window moves on and grows to
//!    `window_sizes::next`.
//! 2. Otherwise another reader's mark: the window goes to the first hole behind it, grown from the
//!    distance to the hole plus the request. No hole within the limit: nothing.
//! 3. 6.18: the order rises by two, and the window's end is cut down to a multiple of that many
//!    pages (never more than the largest power of two that divides the limit), if anything is left.
//! 4. All of the window lies behind the mark.

use super::folio_scan;
use super::folio_window::FolioWindow;
use super::miss_counter::MissCounter;
use super::window_sizes::{self, NEVER_READ};
use super::{Call, CallState, Class, Host};

/// The smallest window that 6.12 reads as large folios.
const LARGE_PAGES_MIN: u64 = 4;

/// How much the order of folios rises from window to window.
const ORDER_STEP: u8 = 2;

/// Whose rules. The methods are the switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolioRelease {
    /// 6.12.
    Linux6_12,
    /// 6.18.
    Linux6_18,
}

impl FolioRelease {
    /// The order is kept in the file state, and window ends are aligned to it; before, it came from
    /// the marked folio.
    const fn keeps_order(self) -> bool {
        matches!(self, Self::Linux6_18)
    }

    /// After a cached page in the way the whole size is asked for again.
    const fn repeats_size(self) -> bool {
        matches!(self, Self::Linux6_12)
    }

    /// Executable areas are read from the fault on, even under advice RANDOM.
    pub(super) const fn knows_executables(self) -> bool {
        matches!(self, Self::Linux6_18)
    }

    /// A locked folio lowers the miss counter too.
    pub(super) const fn counts_locked_hits(self) -> bool {
        matches!(self, Self::Linux6_12)
    }
}

/// The state of one open file.
#[derive(Clone, Copy, Debug)]
pub struct Folio {
    pub(super) release: FolioRelease,
    /// The device's limit, which advice goes back to.
    pub(super) device_pages: u64,
    /// The file's limit.
    pub(super) ra_pages: u64,
    /// `FMODE_RANDOM`.
    pub(super) is_random: bool,
    pub(super) start: u64,
    pub(super) size: u64,
    pub(super) async_size: u64,
    pub(super) order: u8,
    pub(super) misses: MissCounter,
    pub(super) prev_pos: i64,
}

impl Folio {
    /// A file just opened on a device whose limit is `ra_pages` pages.
    #[must_use]
    pub const fn new(release: FolioRelease, ra_pages: u64) -> Self {
        Self {
            release,
            device_pages: ra_pages,
            ra_pages,
            is_random: false,
            start: 0,
            size: 0,
            async_size: 0,
            order: 0,
            misses: MissCounter::new(),
            prev_pos: NEVER_READ,
        }
    }

    /// The device's limit is `ra_pages` pages from now on. An open file keeps its own until it is
    /// advised NORMAL or SEQUENTIAL.
    pub const fn set_device_pages(&mut self, ra_pages: u64) {
        self.device_pages = ra_pages;
    }

    pub(super) fn sync<H: Host>(&mut self, host: &mut H, page: u64, request: u64) {
        host.on_call(Call::Sync(self.call_state(page, request)));
        if self.ra_pages == 0 {
            self.force(host, page, 1, Class::Single);
            return;
        }
        if self.is_random {
            self.force(host, page, request, Class::Random);
            return;
        }
        let max = window_sizes::limit(self.ra_pages, host.io_pages(), request);
        let behind_last = page.wrapping_sub(window_sizes::page_of(self.prev_pos));
        if page == 0 || request > max || behind_last <= 1 {
            self.start = page;
            self.size = window_sizes::initial(request, max);
            self.async_size = window_sizes::behind_request(self.size, request, self.size / 2);
            self.order = 0;
            self.submit(host, 0, Class::Initial);
            return;
        }
        let history = folio_scan::history(host, page, max);
        if history.pages <= request {
            FolioWindow {
                start: page,
                size: request,
                async_size: 0,
                class: Class::Random,
            }
            .start_small(host);
            return;
        }
        let factor = if history.reaches_start { 2 } else { 1 };
        self.start = page;
        self.size = (history.pages * factor + request).min(max);
        self.async_size = 1;
        self.order = 0;
        self.submit(host, 0, Class::Context);
    }

    /// `page`: the page of the call, in the folio `[folio_start, folio_end)` that is marked.
    pub(super) fn on_mark<H: Host>(
        &mut self,
        host: &mut H,
        page: u64,
        request: u64,
        (folio_start, folio_end): (u64, u64),
    ) {
        if self.ra_pages == 0 {
            return;
        }
        host.on_call(Call::Async(self.call_state(page, request)));
        host.clear_mark(page);
        let max = window_sizes::limit(self.ra_pages, host.io_pages(), request);
        let folio_pages = folio_end - folio_start;
        let mark = self.start + self.size - self.async_size;
        let class = if page == mark - mark % folio_pages {
            self.start += self.size;
            // A huge page may have made the window larger than the limit.
            self.size = self.size.max(window_sizes::next(self.size, max));
            Class::Subsequent
        } else {
            let Some(hole) = folio_scan::next_hole(host, page.saturating_add(1), max) else {
                return;
            };
            self.start = hole;
            self.size = window_sizes::next((hole - page).saturating_add(request), max);
            Class::Context
        };
        if self.release.keeps_order() {
            self.order += ORDER_STEP;
            self.align_end(max);
        }
        self.async_size = self.size;
        let marked_order = u8::try_from(folio_pages.ilog2()).unwrap_or(u8::MAX);
        self.submit(host, marked_order, class);
    }

    /// Cuts the end of the window down to a multiple of its folios, if something is left.
    fn align_end(&mut self, max: u64) {
        let step = 1 << u32::from(self.order).min(max.trailing_zeros());
        let end = self.start + self.size;
        let aligned_end = end - end % step;
        if aligned_end > self.start {
            self.size = aligned_end - self.start;
        }
    }

    /// Reads the window from its start; `hint` is the order that 6.12 is called with.
    pub(super) fn submit<H: Host>(&mut self, host: &mut H, hint: u8, class: Class) {
        self.submit_at(host, self.start, hint, class);
    }

    pub(super) fn submit_at<H: Host>(&mut self, host: &mut H, start: u64, hint: u8, class: Class) {
        let window = FolioWindow {
            start,
            size: self.size,
            async_size: self.async_size,
            class,
        };
        let order_max = host.folio_order_max();
        let wanted = if self.release.keeps_order() {
            self.order
        } else {
            hint
        };
        host.on_call(Call::Order {
            index: start,
            order: wanted,
            size: self.size,
            async_size: self.async_size,
        });
        // A window of no pages: a new descriptor that meets a mark on page 0 takes it for its own.
        if order_max == 0 {
            self.order = 0;
            if self.size > 0 {
                window.start_small(host);
            }
            return;
        }
        let Some(order_of_size) = self.size.checked_ilog2() else {
            self.order = wanted.min(order_max);
            return;
        };
        let order_of_size = u8::try_from(order_of_size).unwrap_or(u8::MAX);
        if self.release.keeps_order() {
            self.order = wanted.min(order_max).min(order_of_size);
            window.start_large(host, self.order, self.release.repeats_size());
        } else if self.size < LARGE_PAGES_MIN {
            window.start_small(host);
        } else {
            let order = (wanted + ORDER_STEP).min(order_max).min(order_of_size);
            window.start_large(host, order, self.release.repeats_size());
        }
    }

    /// Reads what was named, as single pages without a mark, up to what one call may.
    pub(super) fn force<H: Host>(&self, host: &mut H, start: u64, pages: u64, class: Class) {
        let pages = pages.min(host.io_pages().max(self.ra_pages));
        for (start, size) in window_sizes::forced_pieces(start, pages) {
            FolioWindow {
                start,
                size,
                async_size: 0,
                class,
            }
            .start_small(host);
        }
    }

    /// What the tracepoints of the two calls print, taken before the decision.
    fn call_state(&self, index: u64, request: u64) -> CallState {
        CallState {
            index,
            request,
            order: self.order,
            size: self.size,
            async_size: self.async_size,
            ra_pages: self.ra_pages,
            mmap_miss: self.misses.get(),
            prev_pos: self.prev_pos,
        }
    }
}
