//! Adaptive read-ahead: posted from 2005 to 2007, for a while in -mm, never merged.
//!
//! The memory that a reader may fill ahead of itself is what it can keep: the *thrashing threshold*,
//! the number of pages it can read before the first of them is evicted. This scheme measures the
//! threshold, by the age of what it reads (*state*) or by what the cache still holds of it
//! (*context*), and asks for a share of it, [`AraKnobs::ratio`] percent. An eighth of each chunk is
//! look-ahead, behind a mark; reaching the mark is what asks for the next chunk.
//!
//! A file remembers two adjacent *chunks*. It is asked at a page that is **absent** or **marked**,
//! with the first page of the `read()` (begin), the page, and the first page behind the `read()`;
//! `request` is the pages from the page on. In this order, a word in italics being a file here:
//!
//! 1. Marked: the mark is taken away. Device congested: nothing more. Disk spun down for a laptop:
//!    the mark moves on by 16 pages if it can, and nothing more.
//! 2. The limit or the ratio is 0: the request is read as it is, within the memory there is.
//! 3. Page 0: *initial*.
//! 4. The page is the mark of the newest chunk, and enough of what was read was used: *state*. It
//!    is also taken for an absent page when the chunk has no mark: its end is its mark.
//! 5. Absent, next to the page before, and in one of the two chunks: *thrash*.
//! 6. Absent and the first page of the read: *backward*, if its test passes.
//! 7. *context*, if the cache shows a reader.
//! 8. Marked: another reader's mark, ignored.
//! 9. *seek*, if its test passes.
//! 10. Random: the request up to the limit, without a mark; the state stays.
//!
//! What a method decides is *submitted*: stretched to the end of the file when that is near, dated
//! with the aging clock, read. A page's first use is a *hit*, credited to the chunk that brought
//! it. *Closing* learns from hits how much of a fresh file gets read. [events] are reported.
//!
//! Mapped files come here only under `MADV_SEQUENTIAL`, one page a request; all other faults read
//! around as before, [`linux_2_6_11`](super::linux_2_6_11), which a low ratio selects for reads as well.
//!
//! Releases, see [`AraRelease`]: V15 is the combined patch of 6 June 2006 (2.6.17-rc5), read in full.
//! The June updates (25 June 2006, 2.6.17-mm3 on) are those of the article of November 2006. V16
//! (15 November 2006, 2.6.19-rc5-mm2) drops hits, *seek* and the learning at close. Its patch 19,
//! the method for page 0, was not found: V15's is used, with V16's figures.
//!
//! Which clock ticks is the host's switch: V15 by default ages smoothly (a tick per first reference
//! and per unreferenced page that reclaim looks at), the June updates and V16 count pages scanned.
//! The size of memory that the share is taken from is [`Host::reclaimable_pages`]; the low
//! watermark, which the patch subtracts, is taken to be nothing.
//!
//! nfsd opens a file per request, so that nothing is remembered but the cache; that is for the
//! host. V16 has its own order for it, see [`AraKnobs::nfsd`]. A loop device turns off
//! [`AraKnobs::look_ahead`], because the file above it looks ahead already.

mod backward;
mod bounds;
mod chunks;
mod closing;
mod context;
pub mod events;
mod file;
mod initial;
mod release;
mod seek;
mod state;
mod submit;
mod thrash;
mod visit;

use self::bounds::Bounds;
pub use self::chunks::Method;
use self::events::{AraEvent, AraObserver};
pub use self::file::Ara;
pub use self::release::{AraKnobs, AraRelease};
use self::visit::{Found, Visit};
use super::hints::advised_limit;
use super::{Advice, Class, Fault, Host, PageState, Read, ReadAhead, Window};
use crate::replica::{Key, Replica};

const RA_KB: Key = Key::number("ra_kb", 1024);
const RATIO: Key = Key::number("ratio", 50);
const HIT_RATE: Key = Key::number("hit_rate", 1);

/// The names of it.
pub const REPLICAS: &[Replica<Ara>] = &[
    Replica::new(
        "ara-v15",
        2006,
        "adaptive read-ahead V15",
        &[RA_KB, RATIO, HIT_RATE],
        |values| Ara::with_knobs(AraRelease::V15, AraKnobs::of(AraRelease::V15).with(values)),
    )
    .before_fault_around(),
    Replica::new(
        "ara-june",
        2006,
        "adaptive read-ahead, June 2006",
        &[RA_KB, RATIO, HIT_RATE],
        |values| {
            Ara::with_knobs(
                AraRelease::June,
                AraKnobs::of(AraRelease::June).with(values),
            )
        },
    )
    .before_fault_around(),
    Replica::new(
        "ara-v16",
        2006,
        "adaptive read-ahead V16",
        &[RA_KB, RATIO, HIT_RATE, Key::number("nfsd", 0)],
        |values| {
            let knobs = AraKnobs {
                nfsd: values.number("nfsd") > 0,
                ..AraKnobs::of(AraRelease::V16).with(values)
            };
            Ara::with_knobs(AraRelease::V16, knobs)
        },
    )
    .before_fault_around()
    .with_learned(AraRelease::V16.learned()),
];

/// Where a mark goes when the disk sleeps: far enough that it is not moved at every page, near
/// enough that little is lost when the disk wakes up (`LAPTOP_POLL_INTERVAL`).
const LAPTOP_POLL_PAGES: u64 = 16;

impl<O: AraObserver> Ara<O> {
    /// The page at hand is absent or marked: rules 1 to 10.
    fn visit<H: Host>(&mut self, host: &mut H, begin: u64, page: u64, end: u64) {
        let is_marked = host.state(page) != PageState::Absent;
        let request = end.saturating_sub(page);
        if is_marked {
            host.clear_mark(page);
            if host.is_congested() {
                self.report(AraEvent::IoCongestion, Method::None, request);
                return;
            }
            if self.is_disk_asleep && self.postpone(host, page) {
                return;
            }
        } else if page > 0 {
            self.report(AraEvent::CacheMiss, Method::None, request);
        }
        let reclaimable = host.reclaimable_pages();
        let visit = Visit {
            begin,
            page,
            end,
            is_marked,
            bounds: Bounds::new(self.release, reclaimable, self.pages_max),
        };
        if visit.bounds.max == 0 || self.knobs.ratio == 0 {
            start_as_is(host, page, request.min(reclaimable));
            return;
        }
        self.decide(host, &visit);
    }

    fn decide<H: Host>(&mut self, host: &mut H, visit: &Visit) {
        if visit.page == 0 {
            return self.initial(host, visit);
        }
        if self.is_at_mark(visit) {
            return self.state(host, visit);
        }
        if self.is_for_nfsd(visit) {
            return self.after_miss_of_nfsd(host, visit);
        }
        let is_next = visit.page == self.prev_page.wrapping_add(1);
        if !visit.is_marked && is_next && self.chunks.has(visit.page) {
            return self.recover(host, visit);
        }
        if !visit.is_marked && visit.page == visit.begin && self.backward(host, visit) {
            return;
        }
        match self.context(host, visit) {
            Found::Submitted | Found::Enough => return,
            Found::Nothing => {}
        }
        if visit.is_marked {
            return self.report(AraEvent::LookAheadIgnore, Method::None, visit.request());
        }
        if self.release != AraRelease::V16 && self.seek(host, visit) {
            return;
        }
        self.random(host, visit);
    }

    /// Whether the newest chunk's mark was reached, by its own reader.
    fn is_at_mark(&self, visit: &Visit) -> bool {
        let is_mark = visit.page == self.chunks.mark;
        match self.release {
            AraRelease::V15 | AraRelease::June => is_mark && self.is_hit_enough(),
            AraRelease::V16 => is_mark && visit.page == self.prev_page.wrapping_add(1),
        }
    }

    /// Rule 10.
    fn random<H: Host>(&mut self, host: &mut H, visit: &Visit) {
        let pages = visit.request().min(visit.bounds.max);
        start_as_is(host, visit.page, pages);
        self.report(AraEvent::RandomRead, Method::None, pages);
    }

    const fn is_for_nfsd(&self, visit: &Visit) -> bool {
        self.knobs.nfsd && matches!(self.release, AraRelease::V16) && !visit.is_marked
    }

    /// Parallel daemons issue the requests of one client out of order, so the cache before a
    /// request says little; behind it, a chunk is asked for only if none was.
    fn after_miss_of_nfsd<H: Host>(&mut self, host: &mut H, visit: &Visit) {
        self.random(host, visit);
        let was_before = host.state(visit.page - 1) != PageState::Absent;
        if was_before && host.state(visit.end) == PageState::Absent {
            let behind = Visit {
                begin: visit.end,
                page: visit.end,
                ..*visit
            };
            self.context(host, &behind);
        }
    }

    /// Moves the mark on instead of waking the disk. Whether that was possible.
    fn postpone<H: Host>(&mut self, host: &mut H, page: u64) -> bool {
        let later = page.saturating_add(LAPTOP_POLL_PAGES);
        let is_ours = page == self.chunks.mark;
        if (is_ours && later >= self.chunks.end) || host.state(later) == PageState::Absent {
            return false;
        }
        host.set_mark(later);
        if is_ours {
            self.chunks.mark = later;
        }
        true
    }

    /// `page` is in the cache, in `state`, and about to be used.
    fn on_present<H: Host>(&mut self, host: &H, page: u64, state: PageState) {
        let is_ours = self.chunks.has(page);
        let is_wanted = self.knobs.hit_feedback && is_ours;
        if !(is_wanted || O::LISTENS) || host.is_active(page) || host.is_referenced(page) {
            return;
        }
        let method = if is_ours {
            self.chunks.method_of(page)
        } else {
            Method::None
        };
        if state != PageState::Valid {
            self.report(AraEvent::IoBlock, method, 1);
        }
        if is_ours {
            self.chunks.on_hit();
            self.report(AraEvent::ReadAheadHit, method, 1);
        }
    }

    /// One page of a read, or a fault as a read of one page.
    fn walk<H: Host>(&mut self, host: &mut H, begin: u64, page: u64, end: u64) {
        let mut state = host.state(page);
        if state == PageState::Absent || host.is_marked(page) {
            self.visit(host, begin, page, end);
            state = host.state(page);
        }
        // A page read alone afterwards is not a hit: it was not read ahead.
        if state != PageState::Absent {
            self.on_present(host, page, state);
        }
        self.prev_page = page;
    }
}

/// Reads exactly what was asked for, without a mark.
fn start_as_is<H: Host>(host: &mut H, start: u64, pages: u64) {
    if pages > 0 {
        host.start(&Window {
            start,
            pages,
            class: Class::Random,
            ..Window::default()
        });
    }
}

impl<O: AraObserver> ReadAhead for Ara<O> {
    fn on_read<H: Host>(&mut self, host: &mut H, read: &Read) {
        if self.is_stock() {
            self.stock.on_read(host, read);
        }
    }

    fn on_page<H: Host>(&mut self, host: &mut H, read: &Read, page: u64) {
        if self.is_stock() {
            return self.stock.on_page(host, read, page);
        }
        self.is_mapped = false;
        self.walk(host, read.first_page(), page, read.end_page());
    }

    fn on_missing<H: Host>(&mut self, host: &mut H, page: u64) {
        if self.is_stock() {
            self.stock.on_missing(host, page);
        }
    }

    fn on_read_done<H: Host>(&mut self, host: &mut H, read: &Read, end: u64) {
        if self.is_stock() {
            self.stock.on_read_done(host, read, end);
        }
    }

    fn on_fault<H: Host>(&mut self, host: &mut H, fault: &Fault) {
        if self.is_stock() || fault.advice != Advice::Sequential {
            return self.stock.on_fault(host, fault);
        }
        self.is_mapped = true;
        self.walk(host, fault.page, fault.page, fault.page.saturating_add(1));
    }

    fn on_advice(&mut self, advice: Advice) {
        self.pages_max = advised_limit(advice, self.knobs.pages_max);
        self.stock.on_advice(advice);
    }

    fn on_will_need<H: Host>(&mut self, host: &mut H, start: u64, pages: u64) {
        self.stock.on_will_need(host, start, pages);
    }

    fn on_close<H: Host>(&mut self, host: &mut H, position: u64) {
        self.learn_at_close(host, position);
    }
}
