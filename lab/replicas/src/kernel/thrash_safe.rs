//! Context read-ahead that survives thrashing: posted in 2010 on top of 2.6.33, never merged.
//!
//! The pages that a reader left in the cache are a low estimate of how far it can read before its
//! own pages are evicted. When a window is evicted before its reader arrives, the next window is
//! taken from that history instead of starting over, and it grows again to between half and all of
//! what memory can hold. Of a window, an eighth of the history lies behind the mark, not all of it.
//!
//! On an absent or marked page, in this order:
//!
//! 1. Page 0: a run begins, as in 2.6.31.
//! 2. A window of this file was once thrashed: context, below.
//! 3. The page is the mark or the end of the window: the window moves on and grows. Since random
//!    reads are windows too (without a mark), the second read of a run in mid-file comes here.
//! 4. The request exceeds the limit and the page is absent: a window of the limit from here, all of
//!    it behind the mark.
//! 5. Context:
//!    * The window starts at the page, or behind a mark at the first hole within the limit (none:
//!      nothing happens).
//!    * `t` = cached pages directly below the page, counted up to eight limits.
//!    * `t` = 0 and the page is absent: was it in the old window, or as far before it as it is long?
//!      If not, it is a random read: the request up to the limit, no mark. If so, the window was
//!      evicted before use: what is left of it is rescued (at most two limits), half the window, at
//!      least [`PAGES_MIN`], is read without a mark, and the file counts as thrashed.
//!    * `t` reaches the start of the file: it counts twice.
//!    * `t` is not above the distance from the page to the window's start: nothing happens.
//!    * The size is `t` less that distance, between [`PAGES_MIN`] and the limit; one page and an
//!      eighth of the size so far lie behind the mark.
//!
//! A window whose mark would be the page at hand is merged with the next, as in 2.6.31. Faults and
//! hints are those of 2.6.31. The same series made the limit depend on the size of the device,
//! [`pages_for_device`].
//!
//! Source: Wu Fengguang, "readahead: thrashing safe context readahead" and "readahead: limit
//! readahead size for small devices", linux-mm, 2 February 2010.

use super::on_demand_window::{OnDemand, Trigger};
use super::{Class, Host, window_sizes};

/// How much of the history is asked for ahead: one page in this many. More wakes the reader's
/// pages later and lets them be evicted; fewer leaves the disk too little time.
const ASYNC_RATIO: u64 = 8;

/// No window after thrashing is smaller than 32 KiB: the seek would not pay.
pub const PAGES_MIN: u64 = 8;

/// Sizes of devices count in steps of 2 MiB, which is where the smallest window, a page, begins.
const DEVICE_STEP_BYTES: u64 = 2 << 20;

/// The limit for a device of `bytes` bytes: a page for 2 MiB, twice as much for every factor of
/// four, never above `ra_pages`. A device that does not say its size (0) keeps `ra_pages`.
#[must_use]
pub fn pages_for_device(bytes: u64, ra_pages: u64) -> u64 {
    if bytes == 0 {
        return ra_pages;
    }
    let steps = (bytes / DEVICE_STEP_BYTES).max(1);
    ra_pages.min(1 << (steps.ilog2() / 2))
}

impl OnDemand {
    /// The rules above. Sets the window and says why; `None`: nothing to read.
    pub(super) fn decide_thrash_safe<H: Host>(
        &mut self,
        host: &mut H,
        trigger: Trigger,
        page: u64,
        request: u64,
        max: u64,
    ) -> Option<Class> {
        if page == 0 {
            return Some(self.begin(page, request, max));
        }
        if !self.was_thrashed {
            if self.is_expected(page) {
                return Some(self.move_on(max));
            }
            if request > max && trigger == Trigger::Absent {
                self.start = page;
                self.size = max;
                self.async_size = max;
                return Some(Class::Initial);
            }
        }
        self.decide_by_history(host, trigger, page, request, max)
    }

    fn decide_by_history<H: Host>(
        &mut self,
        host: &mut H,
        trigger: Trigger,
        page: u64,
        request: u64,
        max: u64,
    ) -> Option<Class> {
        let start = match trigger {
            Trigger::Marked => host.first_absent(page.saturating_add(1), max)?,
            Trigger::Absent => page,
        };
        let history = window_sizes::history(host, page, max.saturating_mul(ASYNC_RATIO));
        if history == 0 && trigger == Trigger::Absent {
            return Some(self.restart_or_recover(host, page, request, max));
        }
        let reaches_start = history >= page;
        let history = history * (1 + u64::from(reaches_start));
        let ahead = start - page;
        if history <= ahead {
            return None;
        }
        let size = history - ahead;
        self.start = start;
        self.size = size.max(PAGES_MIN).min(max);
        self.async_size = self.size.min(1 + size / ASYNC_RATIO);
        Some(Class::Context)
    }

    /// A page without a past: somewhere else, or evicted before it was read.
    fn restart_or_recover<H: Host>(
        &mut self,
        host: &mut H,
        page: u64,
        request: u64,
        max: u64,
    ) -> Class {
        let end = self.start + self.size;
        // A window larger than its start wraps here and never counts as thrashed, as in the patch.
        let was_evicted = page >= self.start.wrapping_sub(self.size) && page < end;
        let class = if was_evicted {
            let kept = (end - page).min(max.saturating_mul(2));
            for page in page..page + kept {
                host.rescue(page);
            }
            self.size = (self.size / 2).max(PAGES_MIN);
            self.was_thrashed = true;
            Class::Thrash
        } else {
            self.size = request.min(max);
            Class::Random
        };
        self.start = page;
        self.async_size = 0;
        class
    }
}

#[cfg(test)]
mod tests {
    use super::pages_for_device;

    #[test]
    fn a_small_device_gets_a_small_window() {
        let limits = [2, 8, 32, 128, 512, 2 << 10, 8 << 10, 32 << 10, 128 << 10]
            .map(|megabytes: u64| pages_for_device(megabytes << 20, 256) * 4);
        assert_eq!(limits, [4, 8, 16, 32, 64, 128, 256, 512, 1024]);
    }

    #[test]
    fn the_smallest_device_gets_a_page_and_an_unknown_one_all() {
        assert_eq!(pages_for_device(505 << 10, 32), 1);
        assert_eq!(pages_for_device(0, 32), 32);
    }
}
