//! Page 0: the start of a file.
//!
//! As much as files of this device usually get read, at least the request, at most what would
//! surely not be evicted before use. An eighth lies behind the mark. The device's limit does not
//! bound this window. Also taken when page 0 was evicted and is read again.

use super::bounds::LOOK_AHEAD_RATIO;
use super::chunks::Method;
use super::events::AraObserver;
use super::file::Ara;
use super::release::AraRelease;
use super::visit::Visit;
use crate::kernel::Host;
use ahead_units::PAGE_BYTES;

impl<O: AraObserver> Ara<O> {
    /// V16's own rule is not known beyond its figures: `pages_first` is a minimum, the thrashing
    /// threshold a cap, and the release's largest chunk bounds it as it does all others.
    pub(super) fn initial<H: Host>(&mut self, host: &mut H, visit: &Visit) {
        let learned = *host.learned();
        let (least, most) = match self.release {
            AraRelease::V15 | AraRelease::June => (learned.expect_bytes / PAGE_BYTES, u64::MAX),
            AraRelease::V16 => (self.knobs.pages_first, visit.bounds.max),
        };
        let size = visit
            .request()
            .max(least)
            .min(learned.thrash_bytes / PAGE_BYTES)
            .min(most);
        self.chunks.begin(Method::Initial);
        self.chunks.place(0, 0, size, size / LOOK_AHEAD_RATIO);
        self.submit(host);
    }
}
