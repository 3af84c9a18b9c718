//! A reader that goes backwards: the window ends where the last one began.
//!
//! ```text
//!   begin          top: the last read, or the last backward window
//!     |<- request ->|
//!  ---#=============#------
//!  |<---- window -->|
//! ```
//!
//! Nothing lies behind a mark: the pages below the window are asked for when one is missed. Each
//! window is longer by twice what was used of the last one (V15), or by twice the last one (June,
//! V16). June asks nothing unless enough was used; V16 also takes a read that leaves a gap of less
//! than a request.

use super::chunks::Method;
use super::events::AraObserver;
use super::file::Ara;
use super::release::AraRelease;
use super::visit::Visit;
use crate::kernel::Host;

impl<O: AraObserver> Ara<O> {
    /// Whether the test passed, and a window was submitted.
    pub(super) fn backward<H: Host>(&mut self, host: &mut H, visit: &Visit) -> bool {
        let window = match self.release {
            AraRelease::V15 | AraRelease::June => self.backward_window(visit),
            AraRelease::V16 => self.backward_window_v16(visit),
        };
        let Some((start, pages)) = window else {
            return false;
        };
        self.chunks.begin(Method::Backward);
        self.chunks.place(start, start, pages, 0);
        self.submit(host);
        true
    }

    /// Whether the last window was one of these, and the reader is still in it.
    fn goes_on_backward(&self) -> bool {
        self.chunks.method == Method::Backward && self.chunks.has(self.prev_page)
    }

    /// First page and length. V15 does not stop at page 0: the start wraps, lies behind the end of
    /// the file, and the submission drops it, so that the page is read alone.
    fn backward_window(&self, visit: &Visit) -> Option<(u64, u64)> {
        if visit.begin > self.prev_page {
            return None;
        }
        let is_june = self.release == AraRelease::June;
        if is_june && !self.is_hit_enough() {
            return None;
        }
        let request = visit.request();
        let last = self.chunks.size();
        let (pages, top) = match (self.goes_on_backward(), is_june) {
            (true, false) => {
                let hits = u64::from(self.chunks.hits);
                (request.saturating_add(2 * hits), self.chunks.la_index)
            }
            (true, true) => {
                let pages = request
                    .saturating_add(visit.bounds.min)
                    .saturating_add(last.saturating_mul(2));
                (pages, self.chunks.la_index)
            }
            (false, false) => {
                let extra = request.saturating_mul(self.hit_rate() - 1) / 2;
                let pages = request.saturating_mul(2).saturating_add(extra);
                (pages, self.prev_page)
            }
            (false, true) => {
                let pages = request.saturating_mul(1 + self.hit_rate());
                (pages, self.prev_page)
            }
        };
        let pages = pages.min(visit.bounds.max);
        if top > visit.begin.saturating_add(pages) {
            return None;
        }
        if is_june {
            let pages = pages.min(top);
            return Some((top - pages, pages));
        }
        Some((top.wrapping_sub(pages), pages))
    }

    fn backward_window_v16(&self, visit: &Visit) -> Option<(u64, u64)> {
        if visit.page >= self.prev_page {
            return None;
        }
        let request = visit.request().saturating_add(self.knobs.hit_rate);
        let twice = request.saturating_mul(2);
        if visit.page.saturating_add(twice) <= self.prev_page {
            return None;
        }
        let (pages, top) = if self.goes_on_backward() {
            let last = self.chunks.size().saturating_mul(2);
            (request.saturating_add(last), self.chunks.la_index)
        } else {
            (twice, self.prev_page)
        };
        let pages = pages.min(visit.bounds.max).min(top);
        (visit.page >= top - pages).then_some((top - pages, pages))
    }
}
