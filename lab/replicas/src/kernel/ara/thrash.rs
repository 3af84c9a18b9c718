//! The next page of a run is gone: its chunk was evicted before it was read.
//!
//! A page of the old chunk: what is left of that chunk is read again, before the newest one is met.
//! A page of the newest chunk: the threshold is now known, it is what was read since the chunk was
//! submitted, and three quarters of it are asked for, to be on the safe side.

use super::bounds::{LOOK_AHEAD_RATIO, learn_thrash_bytes};
use super::chunks::Method;
use super::events::{AraEvent, AraObserver};
use super::file::Ara;
use super::release::AraRelease;
use super::visit::Visit;
use crate::kernel::{Host, PageState};

impl<O: AraObserver> Ara<O> {
    /// Final: nothing else is tried afterwards.
    pub(super) fn recover<H: Host>(&mut self, host: &mut H, visit: &Visit) {
        let page = visit.page;
        let lost = self.chunks.end - page;
        self.report(AraEvent::ReadAheadThrash, self.chunks.method_of(page), lost);
        if host.state(page - 1) != PageState::Absent {
            self.report(AraEvent::ReadAheadMutilt, self.chunks.method_of(page), lost);
        }
        let size = if page < self.chunks.ra_index {
            self.chunks.ra_index - page
        } else {
            let survived = match self.release {
                AraRelease::V15 => u64::from(self.chunks.hits),
                AraRelease::June | AraRelease::V16 => page - self.chunks.ra_index,
            };
            let learned = host.learned();
            learned.thrash_bytes = learn_thrash_bytes(self.release, learned.thrash_bytes, survived);
            survived * 3 / 4
        };
        let size = size.min(visit.bounds.max);
        self.chunks.begin(Method::Thrash);
        self.chunks.place(page, page, size, size / LOOK_AHEAD_RATIO);
        self.submit(host);
    }
}
