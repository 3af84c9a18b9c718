//! Faults on mappings in 2.6.0 to 2.6.30, in areas without advice or advised RANDOM.
//!
//! Two counters per open file say whether reading around a fault is of any use: `misses` rises
//! with every fault that finds its page absent, `hits` with every fault that needed no reading
//! around. More than [`MISSES_MANY`] misses above the hits, and pages come alone. A page that comes
//! alone is a miss and a hit, so a file never leaves that state by missing more.
//!
//! Around a fault is a window as large as the limit, or as half of the inactive and free pages,
//! with the page behind its middle; near the start of the file the window begins at page 0. It
//! is skipped while the device is congested for reads. In an area advised RANDOM pages come alone,
//! and every fault counts as a hit.
//!
//! Areas advised SEQUENTIAL belong to the algorithms, which use their windows for them.
//!
//! Source: 2.6.18 and 2.6.24, mm/filemap.c.

use super::window_sizes::{self, MISSES_MANY};
use super::{Advice, Class, Fault, Host, PageState, Window};

/// What one open file knows about its faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadAround {
    misses: u64,
    hits: u64,
}

impl ReadAround {
    /// A file just opened.
    pub(super) const fn new() -> Self {
        Self { misses: 0, hits: 0 }
    }

    /// A fault in an area that is not advised SEQUENTIAL.
    pub(super) fn on_fault<H: Host>(&mut self, host: &mut H, fault: &Fault, ra_pages: u64) {
        let is_absent = host.state(fault.page) == PageState::Absent;
        if is_absent && fault.advice == Advice::Normal {
            self.misses += 1;
            if self.misses <= self.hits + MISSES_MANY {
                read_around(host, fault.page, ra_pages);
                return;
            }
        }
        self.on_served();
    }

    /// A fault needed no reading around.
    pub(super) fn on_served(&mut self) {
        self.hits += 1;
    }
}

fn read_around<H: Host>(host: &mut H, page: u64, ra_pages: u64) {
    let pages = ra_pages.min(host.reclaimable_pages() / 2);
    if pages > 0 && !host.is_congested() {
        host.start(&Window {
            start: window_sizes::around(page, pages),
            pages,
            class: Class::Around,
            ..Window::default()
        });
    }
}
