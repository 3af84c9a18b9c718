//! Filling in: what is read at random, and comes to much of a file, is brought section by section.
//!
//! Random reads of a file that fits in memory read all of it in the end: shuffled records, lookups in a table, the objects of
//! a pack. Each waits for an access of the device, in which the device could have delivered many pages. Nobody knows whether
//! the reader stops before it needs them, so what is brought is an investment, and its [account] is kept:
//!
//! * one part in a hundred of the time that the file's reads have waited may be spent: that is what it costs where nothing of
//!   it is ever read;
//! * each first read of a page inside a section that was brought has saved what first reads outside of those wait in the
//!   mean, and that may be spent as well: so where reads come back to what was brought, each section pays for the next ones,
//!   and the whole file is there after a few times as long as it takes to read in one go;
//! * what the reads that a section is asked for with wait longer than others is its price, and a read that waits inside of a
//!   section all the same was no gain.
//!
//! Who moves through a file does not come back to what it leaves behind, so only [visits] to sections that were left for a
//! while count; but for who moves backward over holes, which nobody reads through for it. Time that reads wait together is one time, as
//! it is on the clock. Pages are known one by one up to 512 MiB ([`pages`]), in longer files some at a time.

mod account;
pub(crate) mod lots;
mod pages;
mod visits;

use core::ops::Range;

use ahead_policy::device::DeviceEstimate;
use ahead_units::{PageCount, PageRange};

use self::account::Account;
use self::pages::PageSet;
use self::visits::{Sections, Visits};
use crate::lent::Blank;

/// Smallest section: 256 KiB, as the smallest request of a stream.
const SECTION_PAGES_MIN: u64 = 64;

/// Sections of a file, at most: of a longer one they are larger.
const SECTIONS_MAX: u64 = 4096;

/// Reads that wait for less than one part in so many of an access come by the next one on their way.
const PASSING_PARTS: u64 = 2;

/// One file that is filled in.
#[derive(Debug)]
pub(crate) struct Filling {
    file_pages: u64,
    /// Sections that were asked for.
    asked: Sections,
    /// Sections that reads were in.
    visits: Visits,
    /// Pages that were read.
    read: PageSet,
    account: Account,
    /// What was asked for last: it may be on its way.
    newest: PageRange,
}

impl Blank for Filling {
    const BLANK: Self = Self {
        file_pages: 0,
        asked: Sections::NONE,
        visits: Visits::NONE,
        read: PageSet::EMPTY,
        account: Account::EMPTY,
        newest: PageRange::new(0, 0),
    };
}

/// What is to be known of a read of a file that is filled in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReadOf {
    /// All of it was asked for.
    pub(crate) is_inside: bool,
    /// Pages that were not read before, or what stands for as many.
    pub(crate) new_pages: PageCount,
}

/// What is to be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Whole sections, or what the file has of them.
    pub(crate) pages: PageRange,
    /// Of these, pages that are not known to be in memory.
    pub(crate) new_pages: PageCount,
}

impl Filling {
    /// Begins with a file of so many pages, of which nothing is known.
    pub(crate) fn begin(&mut self, file_pages: PageCount) {
        self.file_pages = file_pages.get();
        self.read.begin(file_pages);
        self.visits
            .begin(file_pages.get().div_ceil(self.section_pages()));
    }

    /// Pages of the file.
    pub(crate) fn file_pages(&self) -> PageCount {
        PageCount::new(self.file_pages)
    }

    /// Pages of a section.
    pub(crate) fn section(&self) -> PageCount {
        PageCount::new(self.section_pages())
    }

    fn section_pages(&self) -> u64 {
        let pages = self.file_pages.div_ceil(SECTIONS_MAX);
        pages.next_power_of_two().max(SECTION_PAGES_MIN)
    }

    /// The sections that `pages` are in.
    fn sections(&self, pages: PageRange) -> Range<u64> {
        let of = self.section_pages();
        pages.start.get() / of..pages.end.get().div_ceil(of)
    }

    /// The part of the file in these sections.
    fn pages_of(&self, sections: Range<u64>) -> PageRange {
        let of = self.section_pages();
        let end = (sections.end * of).min(self.file_pages);
        PageRange::new((sections.start * of).min(end), end)
    }

    /// Whether all of `pages` was asked for.
    pub(crate) fn is_inside(&self, pages: PageRange) -> bool {
        self.sections(pages).all(|section| self.asked.has(section))
    }

    /// `pages` are read, which nothing else asked for.
    pub(crate) fn on_read(&mut self, pages: PageRange, device: &DeviceEstimate) -> ReadOf {
        let is_inside = self.is_inside(pages);
        let new_pages = self.read.insert(pages);
        self.visits.on_read(self.sections(pages).start);
        // Who finds its pages there has not waited behind more than one other.
        let own_ns = device.transfer_ns(pages.len());
        let saved_ns_max = own_ns.saturating_add(device.access_ns.saturating_mul(2));
        let is_first = new_pages.get() > 0;
        self.account.on_read(is_inside, is_first, saved_ns_max);
        ReadOf {
            is_inside,
            new_pages,
        }
    }

    /// A read of `pages`, which nothing else had asked for, waited `waited_ns` in which no other did.
    pub(crate) fn on_wait(&mut self, pages: PageRange, waited_ns: u64) {
        let was_to_be_there = self.account.on_wait(self.is_inside(pages), waited_ns);
        // What is not on its way is not there any more.
        if was_to_be_there && self.newest.shared(pages).get() == 0 {
            for section in self.sections(pages) {
                self.asked.remove(section);
            }
        }
    }

    /// The calls for the newest sections have held up the reader for so long.
    pub(crate) fn on_held(&mut self, held_ns: u64) {
        self.account.spend(held_ns);
    }

    /// What is asked for with the newest read, of `access`: the section that it is in and its neighbours, behind it or, where reads move
    /// `backward`, in front, as far as they were not asked for, cost no more than may be spent, and are no more than `pages_max`. Nothing
    /// if that is no whole section, or if nothing says that reads come back.
    pub(crate) fn ask(
        &mut self,
        access: PageRange,
        backward: bool,
        device: &DeviceEstimate,
        pages_max: PageCount,
    ) -> Option<Piece> {
        if !backward && !self.visits.come_back() {
            return None;
        }
        let first = (self.sections(access)).find(|section| !self.asked.has(*section))?;
        let end = self.file_pages.div_ceil(self.section_pages());
        let most = if backward {
            first + 1
        } else {
            end.saturating_sub(first)
        };
        let sections = |count: u64| match backward {
            true => first + 1 - count..first + 1,
            false => first..first + count,
        };
        let pieces =
            (1..=most).map_while(|count| self.affordable(sections(count), device, pages_max));
        let (piece, cost_ns) = pieces.last()?;
        self.account.on_ask(cost_ns);
        for section in self.sections(piece.pages) {
            self.asked.insert(section);
        }
        self.newest = piece.pages;
        Some(piece)
    }

    /// These sections and what they cost, if none of them was asked for, they may be asked for at once, and that may be spent.
    fn affordable(
        &self,
        sections: Range<u64>,
        device: &DeviceEstimate,
        pages_max: PageCount,
    ) -> Option<(Piece, u64)> {
        let pages = self.pages_of(sections.clone());
        if pages.is_empty()
            || pages.len() > pages_max
            || sections.into_iter().any(|section| self.asked.has(section))
        {
            return None;
        }
        // What is read by itself costs nothing more.
        let new_pages = self.read.count_missing(pages);
        // Where reads wait for less, an arm passes from one to the next, and a section makes it miss its turn.
        let passes_by = device.is_slow_to_access()
            && self.account.mean_wait_ns() < device.access_ns / PASSING_PARTS;
        let position_ns = if passes_by { device.access_ns } else { 0 };
        let cost_ns = device.transfer_ns(new_pages) + position_ns;
        self.account
            .has(cost_ns)
            .then_some((Piece { pages, new_pages }, cost_ns))
    }
}

#[cfg(test)]
mod tests;
