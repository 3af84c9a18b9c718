//! AMP: degree and trigger distance adapt, each stream for itself.
//!
//! A stream in steady state is served best when its prefetched pages are used just before they
//! would be evicted (any larger degree is wasted, any smaller one costs more positioning), and when
//! the next set is asked for just early enough that no read waits. Neither point is known; both are
//! felt for:
//!
//! * **degree p**: begins with the length of a request that goes on from the last one; plus the
//!   length of the request whenever the last page of a fetched set is hit; minus one when pages of a
//!   set were evicted before use.
//! * **trigger distance g**: plus one when a read has to wait for the first page of a set; minus one
//!   together with p, and always below p.
//! * Prefetching on hits begins once p exceeds [`ASYNCHRONOUS_FROM`], with a trigger distance of
//!   half of that.
//!
//! ```text
//!       |<---- set before ---->|<---- newest set ---->|
//!       |                      |           |<-- g --->|
//!  -----#======================#======================|------
//!                             ^ hit: p grows          ^ hit: p grows
//!                               ^ in flight: g grows
//!                                          ^ hit: the next p pages
//! ```
//!
//! The original keeps p and g beside the pages and hears of evictions from the cache. Here they are
//! the state of the open file, and an eviction is noticed when a page of the set is missing.
//!
//! Source: B. S. Gill and L. A. D. Bathen, "AMP: Adaptive multi-stream prefetching in a shared
//! cache", FAST 2007.

use crate::kernel::{Class, Host, PageState, Read, ReadAhead};

use super::{Run, ask, faults_are_reads, is_absent, start};
use crate::replica::{Key, Replica};

/// The name of it.
pub const REPLICAS: &[Replica<Amp>] = &[Replica::new(
    "amp",
    2007,
    "AMP, FAST 2007: n pages at most",
    &[Key::number("n", 256)],
    |values| Amp::new(values.number("n")),
)];

/// Smallest degree that is prefetched on hits too. Below it a request of its own costs more than
/// the wait it saves.
pub const ASYNCHRONOUS_FROM: u64 = 4;

/// One open file.
#[derive(Clone, Copy, Debug)]
pub struct Amp {
    pages_max: u64,
    run: Run,
    is_sequential: bool,
    degree: u64,
    trigger: u64,
    /// Where the set before the newest one ended; the reader may still be in it.
    earlier_end: u64,
    /// The newest set.
    set_start: u64,
    set_end: u64,
    /// Ends of sets up to here have made the degree grow.
    grown_until: u64,
}

impl Amp {
    /// A file that was not read yet; no set exceeds `pages_max`.
    #[must_use]
    pub const fn new(pages_max: u64) -> Self {
        Self {
            pages_max,
            run: Run { end: 0, steps: 0 },
            is_sequential: false,
            degree: 0,
            trigger: 0,
            earlier_end: 0,
            set_start: 0,
            set_end: 0,
            grown_until: 0,
        }
    }

    /// Pages of the next set.
    #[must_use]
    pub const fn degree(&self) -> u64 {
        self.degree
    }

    /// How many pages before the end of a set the next one is asked for.
    #[must_use]
    pub const fn trigger(&self) -> u64 {
        self.trigger
    }

    fn grow(&mut self, pages: u64) {
        let was_synchronous = self.degree <= ASYNCHRONOUS_FROM;
        self.degree = self.degree.saturating_add(pages).min(self.pages_max);
        if was_synchronous && self.degree > ASYNCHRONOUS_FROM {
            self.trigger = ASYNCHRONOUS_FROM / 2;
        }
    }

    fn on_evicted(&mut self) {
        self.degree = self.degree.saturating_sub(1);
        self.trigger = self.trigger.saturating_sub(1).min(self.degree_below());
    }

    const fn degree_below(&self) -> u64 {
        self.degree.saturating_sub(1)
    }

    fn prefetch<H: Host>(&mut self, host: &mut H) {
        let pages = self.degree.min(self.pages_max);
        start(host, self.set_end, pages, Class::Subsequent);
        self.earlier_end = self.set_end;
        self.set_start = self.set_end;
        self.set_end += pages;
    }
}

impl ReadAhead for Amp {
    fn on_read<H: Host>(&mut self, _host: &mut H, read: &Read) {
        self.is_sequential = self.run.goes_on(read);
        if !self.is_sequential {
            *self = Self {
                run: self.run,
                ..Self::new(self.pages_max)
            };
        }
    }

    fn on_page<H: Host>(&mut self, host: &mut H, read: &Read, page: u64) {
        let in_newest = self.set_start <= page && page < self.set_end;
        if is_absent(host, page) {
            if in_newest || page < self.earlier_end {
                self.on_evicted();
            } else if self.is_sequential && self.degree == 0 {
                self.grow(read.pages_from(read.first_page()));
            }
            let more = if self.is_sequential { self.degree } else { 0 };
            ask(host, read, page, more);
            self.earlier_end = 0;
            self.set_start = page;
            self.set_end = read.end_page().saturating_add(more);
            return;
        }
        if !self.is_sequential {
            return;
        }
        if in_newest && page == self.set_start && host.state(page) == PageState::InFlight {
            self.trigger = (self.trigger + 1).min(self.degree_below());
        }
        let behind = page + 1;
        let is_last = behind == self.set_end || behind == self.earlier_end;
        if is_last && behind > self.grown_until {
            self.grown_until = behind;
            self.grow(read.pages_from(read.first_page()));
        }
        let is_near = in_newest && behind + self.trigger >= self.set_end;
        if is_near && self.degree > ASYNCHRONOUS_FROM {
            self.prefetch(host);
        }
    }

    faults_are_reads!();
}
