//! The first adaptive read-ahead, as posted in September 2005 for 2.6.13.
//!
//! It remembers nothing and never looks ahead: on every absent page of a read it looks at the cache
//! and decides anew, so that every window is waited for. `mem` is the inactive and free memory in
//! MiB; the limit is 64 KiB and 8 KiB per MiB, 2 MiB and the device's at most, and no window of a
//! reader is smaller than 32 KiB and a quarter KiB per MiB, 128 KiB at most.
//!
//! 1. The request is cut at the end of the file. No limit: it is read as it is, within the memory
//!    there is. Ratio 0: random.
//! 2. Page 0: the smallest window.
//! 3. The page before gives the *type* of reader by what reclaim thinks of it: absent, inactive or
//!    active, referenced or not. A request above the limit takes any type.
//! 4. The page before was read: look back as far as the limit is a share of, [`AraV1::ratio`]
//!    percent. Three probes in a row of the same type, a quarter of the distance apart, end the
//!    look back: the history is four such steps. Its share, between smallest and limit, is read. Less
//!    than the smallest counts only if the page before was read once; otherwise random.
//! 5. The page before is absent, the read begins here and is short, and the page behind it was read
//!    once: backward, from [`BACKWARD_PAGES`] below to the end of the request.
//! 6. Random: the request up to the limit.
//!
//! A read that found some of its pages cached, and is shorter than the limit, saves them from
//! reclaim: they are waiting for their reader.
//!
//! The ratio selects the scheme from [`RATIO_MIN`] on; from 1 to there the old logic reads,
//! [`super::linux_2_6_11`]. What the patch does with faults is not known; here areas advised SEQUENTIAL
//! are taken as reads of one page, and all other faults are the old logic's.
//!
//! Source: Wu Fengguang, "Adaptive read-ahead based on page cache context", linux-kernel,
//! 15 September 2005. What counts as a probe of "the same type" is our reading: one of its bits.

use super::hints::advised_limit;
use super::linux_2_6_11::{Stock, StockRelease};
use super::rescue::rescue_pages;
use super::{Advice, Class, Fault, Host, PageState, Read, ReadAhead, Window};
use crate::replica::{Key, RA_KB, Replica};
use ahead_units::PAGE_BYTES;

/// The name of it.
pub const REPLICAS: &[Replica<AraV1>] = &[Replica::new(
    "ara-v1",
    2005,
    "adaptive read-ahead, first version",
    &[RA_KB, Key::number("ratio", 50)],
    |values| AraV1::new(values.number("ratio"), values.ra_pages()),
)
.before_fault_around()];

/// The lowest ratio that selects this scheme.
pub const RATIO_MIN: u64 = 10;

/// A backward reader gets so many pages below its request.
pub const BACKWARD_PAGES: u64 = 8;

/// So many probes of the same type in a row are enough of a history, so many steps apart.
const PROBES: u64 = 3;
const STEPS: u64 = 4;

/// Who uses a page, as one bit; no bit: it is absent.
const ABSENT: u8 = 0;
const READ_AHEAD: u8 = 1;
const READ_ONCE: u8 = 2;
const ACTIVE: u8 = 4;
const ACTIVE_REFERENCED: u8 = 8;
const ANY: u8 = 15;

/// One open file.
#[derive(Clone, Copy, Debug)]
pub struct AraV1 {
    ratio: u64,
    device_pages: u64,
    ra_pages: u64,
    stock: Stock,
}

/// An absent page, and what the read wants from it on.
struct Miss {
    begin: u64,
    page: u64,
    request: u64,
    pages_min: u64,
    pages_max: u64,
}

impl AraV1 {
    /// A fresh file on a device whose limit is `ra_pages`; `ratio` in percent.
    #[must_use]
    pub const fn new(ratio: u64, ra_pages: u64) -> Self {
        Self {
            ratio,
            device_pages: ra_pages,
            ra_pages,
            stock: Stock::new(StockRelease::Linux2_6_11, ra_pages),
        }
    }

    /// Percent of a history that is asked for.
    #[must_use]
    pub const fn ratio(&self) -> u64 {
        self.ratio
    }

    const fn is_stock(&self) -> bool {
        self.ratio > 0 && self.ratio < RATIO_MIN
    }

    fn on_absent<H: Host>(&self, host: &mut H, begin: u64, page: u64, end: u64) {
        let reclaimable = host.reclaimable_pages();
        let (pages_min, pages_max) = bounds(reclaimable, self.ra_pages);
        let end_of_file = host.file_bytes().div_ceil(PAGE_BYTES);
        let miss = Miss {
            begin,
            page,
            request: end.min(end_of_file).saturating_sub(page),
            pages_min,
            pages_max,
        };
        if pages_max == 0 {
            submit(
                host,
                &miss,
                page,
                miss.request.min(reclaimable),
                Class::Random,
            );
            return;
        }
        let (start, pages, class) = self.decide(host, &miss);
        submit(host, &miss, start, pages, class);
    }

    /// Rules 1 to 6: first page, length, reason.
    fn decide<H: Host>(&self, host: &H, miss: &Miss) -> (u64, u64, Class) {
        let page = miss.page;
        let random = (page, miss.request.min(miss.pages_max), Class::Random);
        if self.ratio == 0 {
            return random;
        }
        if page == 0 {
            return (0, miss.pages_min, Class::Initial);
        }
        let kind = if miss.request > miss.pages_max {
            ANY
        } else {
            kind_of(host, page - 1)
        };
        if kind > READ_AHEAD {
            let history = self.history(host, miss, kind);
            let share = history.saturating_mul(self.ratio) / 100;
            if share >= miss.pages_min || kind == READ_ONCE {
                let pages = share.max(miss.pages_min).min(miss.pages_max);
                return (page, pages, Class::Context);
            }
            return random;
        }
        let end = page + miss.request;
        let is_short = page == miss.begin && miss.request < miss.pages_min;
        if kind == ABSENT && is_short && kind_of(host, end) == READ_ONCE {
            let start = page.saturating_sub(BACKWARD_PAGES);
            return (start, end - start, Class::Backward);
        }
        random
    }

    /// Rule 4: how many pages below the page were used alike; 0 if no three probes were.
    fn history<H: Host>(&self, host: &H, miss: &Miss, kind: u8) -> u64 {
        let page = miss.page;
        let reach = miss.pages_max.saturating_mul(100) / self.ratio;
        let mut probe = page.saturating_sub(reach);
        let mut step = (page - probe).div_ceil(STEPS);
        let mut alike = 0;
        while probe < page {
            if kind_of(host, probe) & kind != 0 {
                alike += 1;
                if alike == PROBES {
                    return STEPS * step;
                }
            } else {
                alike = 0;
                step = (page - probe).div_ceil(STEPS);
            }
            probe += step;
        }
        0
    }
}

/// Smallest and largest window, in pages.
fn bounds(reclaimable: u64, ra_pages: u64) -> (u64, u64) {
    const KIB_PER_PAGE: u64 = PAGE_BYTES >> 10;
    let memory_mib = reclaimable / (1024 / KIB_PER_PAGE);
    let largest_kib = (64 + memory_mib.saturating_mul(8)).min(2048);
    let largest = (largest_kib / KIB_PER_PAGE).min(ra_pages);
    let smallest_kib = (32 + memory_mib / 4).min(128);
    ((smallest_kib / KIB_PER_PAGE).min(largest), largest)
}

fn kind_of<H: Host>(host: &H, page: u64) -> u8 {
    if host.state(page) == PageState::Absent {
        return ABSENT;
    }
    match (host.is_active(page), host.is_referenced(page)) {
        (false, false) => READ_AHEAD,
        (false, true) => READ_ONCE,
        (true, false) => ACTIVE,
        (true, true) => ACTIVE_REFERENCED,
    }
}

fn submit<H: Host>(host: &mut H, miss: &Miss, start: u64, pages: u64, class: Class) {
    let end_of_file = host.file_bytes().div_ceil(PAGE_BYTES);
    let pages = pages.min(end_of_file.saturating_sub(start));
    if pages == 0 {
        return;
    }
    let started = host.start(&Window {
        start,
        pages,
        class,
        ..Window::default()
    });
    if started < pages && pages < miss.pages_max {
        rescue_pages(host, start, pages);
    }
}

impl ReadAhead for AraV1 {
    fn on_read<H: Host>(&mut self, host: &mut H, read: &Read) {
        if self.is_stock() {
            self.stock.on_read(host, read);
        }
    }

    fn on_page<H: Host>(&mut self, host: &mut H, read: &Read, page: u64) {
        if self.is_stock() {
            return self.stock.on_page(host, read, page);
        }
        if host.state(page) == PageState::Absent {
            self.on_absent(host, read.first_page(), page, read.end_page());
        }
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
        if host.state(fault.page) == PageState::Absent {
            self.on_absent(host, fault.page, fault.page, fault.page.saturating_add(1));
        }
    }

    fn on_advice(&mut self, advice: Advice) {
        self.ra_pages = advised_limit(advice, self.device_pages);
        self.stock.on_advice(advice);
    }

    fn on_will_need<H: Host>(&mut self, host: &mut H, start: u64, pages: u64) {
        self.stock.on_will_need(host, start, pages);
    }
}
