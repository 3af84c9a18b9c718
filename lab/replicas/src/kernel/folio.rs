//! Read-ahead with folios: Linux 6.12 and 6.18.
//!
//! The state of a file is its newest window, as in [`on_demand`](super::on_demand), and in 6.18 the
//! order of the folios it wants. What one routine decided is two now, a *sync* and an *async* call;
//! their rules are in `folio_calls`, those of faults in `folio_fault`, and how a window becomes
//! folios in `folio_window`.
//!
//! The walk is page by page; the kernel looks at up to 31 folios at once, stops at a marked one and
//! calls before it copies, which gives the same calls. Left out: congestion of a block control
//! group, write-back sharing the mark's bit, smallest folio orders above 0, `RWF_DONTCACHE`.
//!
//! Read in 6.12.117 and 6.18.2.

pub use super::folio_calls::{Folio, FolioRelease};
use super::hints::advised_limit;
use super::{Advice, Class, Fault, Host, PageState, Read, ReadAhead};
use crate::replica::{RA_KB, Replica};

/// The names of it.
pub const REPLICAS: &[Replica<Folio>] = &[
    Replica::new("linux-6.12", 2024, "folios", &[RA_KB], |values| {
        Folio::new(FolioRelease::Linux6_12, values.ra_pages())
    }),
    Replica::new("linux-6.18", 2025, "folios", &[RA_KB], |values| {
        Folio::new(FolioRelease::Linux6_18, values.ra_pages())
    }),
];

impl ReadAhead for Folio {
    fn on_page<H: Host>(&mut self, host: &mut H, read: &Read, page: u64) {
        if host.state(page) == PageState::Absent {
            self.sync(host, page, read.pages_from(page));
        }
        // Also after the sync call, whose window may carry its mark here.
        if host.is_marked(page) {
            let folio = host.folio(page);
            self.on_mark(host, folio.0, read.pages_from(folio.0), folio);
        }
    }

    fn on_read_done<H: Host>(&mut self, _host: &mut H, read: &Read, end: u64) {
        if end > read.start {
            self.prev_pos = end.cast_signed();
        }
    }

    fn on_fault<H: Host>(&mut self, host: &mut H, fault: &Fault) {
        match host.state(fault.page) {
            PageState::Absent => self.on_fault_absent(host, fault),
            state => self.on_fault_cached(host, fault, state == PageState::InFlight),
        }
    }

    fn on_neighbours_mapped(&mut self, pages: u64) {
        self.misses.on_hits(pages);
    }

    fn on_advice(&mut self, advice: Advice) {
        self.is_random = advice == Advice::Random;
        if !self.is_random {
            self.ra_pages = advised_limit(advice, self.device_pages);
        }
    }

    fn on_will_need<H: Host>(&mut self, host: &mut H, start: u64, pages: u64) {
        self.force(host, start, pages, Class::Advice);
    }
}
