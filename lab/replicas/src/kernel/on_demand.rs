//! On-demand read-ahead, Linux 2.6.23 to the time before folios.
//!
//! The state of a file is its newest window: `start`, `size`, and `async_size`, the pages behind
//! the mark. There is no second window and no off state. Two things wake it, per page of a read:
//!
//! * the page is absent: a *sync* call,
//! * the page is there and marked: the mark is cleared, and unless the device is congested for
//!   reads, an *async* call.
//!
//! The rules of the calls are in `on_demand_calls`, how a window moves is in `on_demand_window`, and
//! faults are in `on_demand_fault`. Left out: the congestion of a block control group (4.19), which
//! makes both calls do nothing, and write-back sharing the mark's bit.
//!
//! Read in 2.6.24 and 4.19; 2.6.31 and 3.12 from the patches.

use super::hints::advised_limit;
pub use super::on_demand_window::{OnDemand, OnDemandRelease};
use super::{Advice, Class, Fault, Host, PageState, Read, ReadAhead};
use crate::replica::{Key, RA_KB, Replica};
use ahead_units::PAGE_BYTES;

/// The names of it.
pub const REPLICAS: &[Replica<OnDemand>] = &[
    Replica::new(
        "linux-2.6.24",
        2008,
        "on-demand read-ahead",
        &[RA_KB],
        |values| OnDemand::new(OnDemandRelease::Linux2_6_24, values.ra_pages()),
    )
    .before_fault_around(),
    Replica::new("linux-2.6.31", 2009, "with context", &[RA_KB], |values| {
        OnDemand::new(OnDemandRelease::Linux2_6_31, values.ra_pages())
    })
    .before_fault_around(),
    Replica::new(
        "linux-3.12",
        2013,
        "with careful context",
        &[RA_KB],
        |values| OnDemand::new(OnDemandRelease::Linux3_12, values.ra_pages()),
    )
    .before_fault_around(),
    Replica::new(
        "linux-4.19",
        2018,
        "the last before folios",
        &[RA_KB],
        |values| OnDemand::new(OnDemandRelease::Linux4_19, values.ra_pages()),
    ),
    Replica::new(
        "thrash-safe-2010",
        2010,
        "the thrashing-safe patches of 2010",
        &[Key::number("ra_kb", 512)],
        |values| OnDemand::new(OnDemandRelease::ThrashSafe2010, values.ra_pages()),
    )
    .before_fault_around(),
];

impl ReadAhead for OnDemand {
    fn on_page<H: Host>(&mut self, host: &mut H, read: &Read, page: u64) {
        let request = read.pages_from(page);
        if host.state(page) == PageState::Absent {
            self.on_absent(host, page, request);
        }
        // Also after the sync call, whose window may carry its mark here.
        if host.is_marked(page) {
            self.on_marked(host, page, request);
        }
    }

    fn on_read_done<H: Host>(&mut self, _host: &mut H, read: &Read, end: u64) {
        if end > read.start {
            // The page visited last, and the place in it behind the copy: 0 behind its end.
            let last_page = (end - 1) / PAGE_BYTES;
            self.prev_pos = (last_page * PAGE_BYTES + end % PAGE_BYTES).cast_signed();
        }
    }

    fn on_fault<H: Host>(&mut self, host: &mut H, fault: &Fault) {
        self.take_fault(host, fault);
    }

    fn on_neighbours_mapped(&mut self, pages: u64) {
        if self.release.read_around_has_mark() {
            self.misses.on_hits(pages);
        }
    }

    fn on_advice(&mut self, advice: Advice) {
        self.is_random = advice == Advice::Random && self.release.has_random_mode();
        if !self.is_random {
            self.ra_pages = advised_limit(advice, self.device_pages);
        }
    }

    fn on_will_need<H: Host>(&mut self, host: &mut H, start: u64, pages: u64) {
        self.force(host, start, pages, Class::Advice);
    }
}
