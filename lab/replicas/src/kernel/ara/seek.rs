//! Bursts at random places: each burst is read at once, as long as the ones before were.
//!
//! Three runs in a row must be about equally long, each more than half of the one before it, around
//! the circle; and the request must be shorter than the run so far. In V15 only, and in the June
//! updates when hits are counted: without hits no run has a length.

use super::chunks::Method;
use super::events::AraObserver;
use super::file::Ara;
use super::visit::Visit;
use crate::kernel::Host;

impl<O: AraObserver> Ara<O> {
    /// Whether the test passed, and a window was submitted.
    pub(super) fn seek<H: Host>(&mut self, host: &mut H, visit: &Visit) -> bool {
        let chunks = &self.chunks;
        let run = u64::from(chunks.hits_run) + u64::from(chunks.hits);
        let last = u64::from(chunks.hits_last);
        let second_last = u64::from(chunks.hits_second_last);
        let request = visit.request();
        let are_alike = run > last / 2 && last > second_last / 2 && second_last > run / 2;
        if !chunks.has(self.prev_page) || request >= run || !are_alike {
            return false;
        }
        let length = run.max(last);
        let pages = length.min(visit.bounds.max);
        let start = if chunks.method == Method::Backward {
            (visit.page + request).saturating_sub(length)
        } else {
            visit.page
        };
        self.chunks.begin(Method::Seek);
        self.chunks.place(start, start, pages, 0);
        self.submit(host);
        true
    }
}
