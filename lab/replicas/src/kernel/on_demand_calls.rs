//! The two calls of on-demand read-ahead: at an absent page, and at a marked one.
//!
//! **2.6.24** asks, in this order (`request` = pages the read still wants, from this page on):
//!
//! 1. The page, not 0, is the mark or the end of the window: the window moves on and
//!    grows by `window_sizes::next`.
//! 2. Absent page, and neither next to the page read last nor a request above the limit: the
//!    request is read as it is, without a mark; the state stays.
//! 3. Marked page: another reader's mark. The window goes to the first hole behind it, grown
//!    from the distance to the hole. No hole within the limit: nothing.
//! 4. Otherwise a run begins: a window of `window_sizes::initial`, marked behind the request.
//!
//! **2.6.31** asks: page 0 begins a run; the expected page moves on; a foreign mark (the distance
//! counts plus the request); too large a request, or a page next to the last, begins a run; cached
//! pages directly below show a run (*context*: their number, twice if they reach the start of
//! the file, plus the request make the first window, all of it behind the mark); else as is. A
//! window whose mark would be the page at hand is merged with the one behind it.
//!
//! **3.12** wants more history than the request is long, takes exactly history plus request, and
//! marks the last page: one accidental neighbour no longer costs a whole window.
//! **4.19** lets a request above the limit use the device's largest request, and never merges
//! above the limit.

use super::on_demand_window::{OnDemand, OnDemandRelease, Trigger};
use super::{Class, Host, Window, window_sizes};
use ahead_units::PAGE_BYTES;

impl OnDemand {
    pub(super) fn on_absent<H: Host>(&mut self, host: &mut H, page: u64, request: u64) {
        if self.ra_pages == 0 {
            return;
        }
        if self.is_random {
            self.force(host, page, request, Class::Random);
            return;
        }
        self.decide(host, Trigger::Absent, page, request);
    }

    pub(super) fn on_marked<H: Host>(&mut self, host: &mut H, page: u64, request: u64) {
        if self.ra_pages == 0 {
            return;
        }
        host.clear_mark(page);
        if !host.is_congested() {
            self.decide(host, Trigger::Marked, page, request);
        }
    }

    fn decide<H: Host>(&mut self, host: &mut H, trigger: Trigger, page: u64, request: u64) {
        let max = self.limit(host, request);
        let class = match self.release {
            OnDemandRelease::Linux2_6_24 => {
                self.decide_without_context(host, trigger, page, request, max)
            }
            OnDemandRelease::ThrashSafe2010 => {
                self.decide_thrash_safe(host, trigger, page, request, max)
            }
            OnDemandRelease::Linux2_6_31
            | OnDemandRelease::Linux3_12
            | OnDemandRelease::Linux4_19 => {
                self.decide_with_context(host, trigger, page, request, max)
            }
        };
        let Some(class) = class else {
            return;
        };
        if self.release.has_context() && page == self.start && self.size == self.async_size {
            self.merge_with_next(max);
        }
        self.submit(host, class);
    }

    /// The rules of 2.6.24. Sets the window and says why; `None`: the state is untouched, and what
    /// there was to read is started.
    fn decide_without_context<H: Host>(
        &mut self,
        host: &mut H,
        trigger: Trigger,
        page: u64,
        request: u64,
        max: u64,
    ) -> Option<Class> {
        if self.is_expected(page) {
            return Some(self.move_on(max));
        }
        // Signed on purpose: the page before a file that was never read is −1, next to page 0.
        let prev_page = (self.prev_pos >> PAGE_BYTES.trailing_zeros()).cast_unsigned();
        let is_sequential = page.wrapping_sub(prev_page) <= 1 || request > max;
        if trigger == Trigger::Absent && !is_sequential {
            return read_as_is(host, page, request);
        }
        if trigger == Trigger::Marked {
            // The scan begins at the page itself, which is cached.
            let hole = host.first_absent(page, max.saturating_add(1))?;
            self.set_behind_hole(hole, hole - page, max);
            return Some(Class::Context);
        }
        Some(self.begin(page, request, max))
    }

    /// The rules from 2.6.31 on; the result is that of [`Self::decide_without_context`].
    fn decide_with_context<H: Host>(
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
        if self.is_expected(page) {
            return Some(self.move_on(max));
        }
        if trigger == Trigger::Marked {
            let hole = host.first_absent(page.saturating_add(1), max)?;
            self.set_behind_hole(hole, (hole - page).saturating_add(request), max);
            return Some(Class::Context);
        }
        let prev_page = window_sizes::page_of(self.prev_pos);
        if request > max || page.wrapping_sub(prev_page) <= 1 {
            return Some(self.begin(page, request, max));
        }
        let history = window_sizes::history(host, page, max);
        let needed = if self.release.has_conservative_context() {
            request
        } else {
            0
        };
        if history <= needed {
            return read_as_is(host, page, request);
        }
        let reaches_start = history >= page;
        let run = history * (1 + u64::from(reaches_start)) + request;
        self.start = page;
        if self.release.has_conservative_context() {
            self.size = run.min(max);
            self.async_size = 1;
        } else {
            self.size = window_sizes::initial(run, max);
            self.async_size = self.size;
        }
        Some(Class::Context)
    }
}

/// A small read somewhere: what it wants, no mark, no memory of it.
fn read_as_is<H: Host>(host: &mut H, start: u64, pages: u64) -> Option<Class> {
    host.start(&Window {
        start,
        pages,
        class: Class::Random,
        ..Window::default()
    });
    None
}
