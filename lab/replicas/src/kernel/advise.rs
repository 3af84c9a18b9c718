//! Advised read-ahead for mappings in Linux 2.2, as O'Connor and Tracy tried it.
//!
//! A program says how many pages `n` a mapping shall read ahead. `read()` stays what it is in 2.2.
//! Two mechanisms make something of the number:
//!
//! **Original.** `n` takes the place of the cluster of sixteen: a missing page brings its aligned
//! group of `n` pages with ordinary requests. Nothing happens on a hit, and when the queue is
//! full, the program sleeps inside the fault.
//!
//! **True.** The file is divided into groups of `n` pages. Every `P`-th touch of the mapping,
//! beginning with the second, and every touch of a missing page starts read-ahead:
//!
//! 1. With the reader in group `i`, the pages of group `i` and then of group `i` + 1 are tried in
//!    ascending order, those above the mark `H` that are not cached.
//! 2. Each try may be dropped by a full queue instead of waiting for a place. The first page
//!    dropped ends the attempt; it is tried again by the next one.
//! 3. `H` is the highest page that was started so far. It never goes down: pages evicted below it
//!    come back one at a time.
//! 4. The wanted page itself, if it is still not on its way, is read with an ordinary request.
//!
//! So the queue is filled up in steps of `P` pages, and the reader waits for data but never for a
//! place in the queue. More attempts than needed change nothing.
//!
//! Source: "Addressing Large Sequential Read Performance in Linux's Ext2 Filesystem" (O'Connor and
//! Tracy, about 2000). The patch itself was not found. The paper leaves open whether `P` counts
//! touches or page numbers (the same for a sequential reader; here touches), what becomes of a
//! dropped page once a later one was started (here: the attempt ends), and how a wanted page that
//! was dropped is read (here: rule 4).

use super::linux_2_2::{Linux2_2, OldSettings};
use super::{Class, Fault, Host, PageState, Read, ReadAhead, Window};
use crate::replica::{Key, Replica};
use ahead_units::PAGE_BYTES;

/// The names of it.
pub const REPLICAS: &[Replica<Advised>] = &[
    Replica::new(
        "advise-original",
        2000,
        "advice of 2000, stock: clusters of n pages on a miss",
        &[Key::number("n", 16)],
        |values| Advised::original(values.number("n")),
    )
    .before_fault_around(),
    Replica::new(
        "advise-true",
        2000,
        "advice of 2000, true read-ahead: groups of n pages, tried every period touches",
        &[Key::number("n", 16), Key::computed("period", "n")],
        |values| {
            let pages = values.number("n");
            match values.written_number("period") {
                None | Some(0) => Advised::true_read_ahead(pages),
                Some(period) => Advised::true_with_period(pages, period),
            }
        },
    )
    .before_fault_around(),
];

/// Touches between two attempts, at most: filling a queue of some hundred places needs no more.
pub const PERIOD_MAX: u64 = 16;

/// What the number of pages does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mechanism {
    Original,
    True { period: u64 },
}

/// The state of one mapped file.
#[derive(Clone, Copy, Debug)]
pub struct Advised {
    /// `read()`, and the faults of the original mechanism.
    linux_2_2: Linux2_2,
    mechanism: Mechanism,
    pages: u64,
    touches: u64,
    /// The first page above the mark `H`.
    above_mark: u64,
}

impl Advised {
    /// Clusters of `pages` pages, on a miss only. 16 is what an unadvised 2.2 does.
    #[must_use]
    pub const fn original(pages: u64) -> Self {
        Self::new(pages, Mechanism::Original)
    }

    /// Groups of `pages` pages; attempts every `pages` touches, every [`PERIOD_MAX`] at most.
    #[must_use]
    pub const fn true_read_ahead(pages: u64) -> Self {
        let period = if pages < PERIOD_MAX {
            pages
        } else {
            PERIOD_MAX
        };
        Self::true_with_period(pages, period)
    }

    /// Groups of `pages` pages; attempts every `period` touches.
    #[must_use]
    pub const fn true_with_period(pages: u64, period: u64) -> Self {
        Self::new(pages, Mechanism::True { period })
    }

    const fn new(pages: u64, mechanism: Mechanism) -> Self {
        Self {
            linux_2_2: Linux2_2::new(OldSettings {
                cluster: pages,
                ..OldSettings::LINUX_2_2
            }),
            mechanism,
            pages,
            touches: 0,
            above_mark: 0,
        }
    }

    /// The highest page started so far, `H`.
    #[must_use]
    pub const fn mark(&self) -> Option<u64> {
        self.above_mark.checked_sub(1)
    }

    fn touch<H: Host>(&mut self, host: &mut H, page: u64, period: u64) {
        let period = period.max(1);
        let is_missing = host.state(page) == PageState::Absent;
        let is_turn = self.touches % period == 1 % period;
        self.touches += 1;
        if is_missing || is_turn {
            self.attempt(host, page);
        }
        if matches!(host.state(page), PageState::Absent | PageState::Stale) {
            host.start(&Window {
                start: page,
                pages: 1,
                class: Class::Single,
                ..Window::default()
            });
            if page == self.above_mark {
                self.above_mark += 1;
            }
        }
    }

    /// Tries what is left of the group of `page` and of the one behind it.
    fn attempt<H: Host>(&mut self, host: &mut H, page: u64) {
        let group_pages = self.pages.max(1);
        let group_start = page - page % group_pages;
        let start = group_start.max(self.above_mark);
        let end = group_start
            .saturating_add(group_pages.saturating_mul(2))
            .min(host.file_bytes().div_ceil(PAGE_BYTES));
        if self.pages == 0 || start >= end {
            return;
        }
        let pages = end - start;
        let started = host.start(&Window {
            start,
            pages,
            class: Class::Subsequent,
            may_drop: true,
            ..Window::default()
        });
        self.above_mark = if started == pages {
            end
        } else {
            // Some were cached, or one was dropped: only the pages show which.
            (start..end)
                .find(|&tried| matches!(host.state(tried), PageState::Absent | PageState::Stale))
                .unwrap_or(end)
        };
    }
}

impl ReadAhead for Advised {
    fn on_read<H: Host>(&mut self, host: &mut H, read: &Read) {
        self.linux_2_2.on_read(host, read);
    }

    fn on_page<H: Host>(&mut self, host: &mut H, read: &Read, page: u64) {
        self.linux_2_2.on_page(host, read, page);
    }

    fn on_fault<H: Host>(&mut self, host: &mut H, fault: &Fault) {
        match self.mechanism {
            Mechanism::Original => self.linux_2_2.on_fault(host, fault),
            Mechanism::True { period } => self.touch(host, fault.page, period),
        }
    }

    /// There is no call for it in 2.2.
    fn on_will_need<H: Host>(&mut self, _host: &mut H, _start: u64, _pages: u64) {}
}
