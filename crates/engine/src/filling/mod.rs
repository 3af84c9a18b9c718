//! Filling in: what is read at random, and comes to much of a file, is brought section by section.
//!
//! Random reads of a file that fits in memory read all of it in the end: shuffled records, lookups in a table, the objects of
//! a pack. Each waits for an access of the device, in which the device could have delivered many pages. Whether the reader
//! stops before it needs them is not known, so what is brought is an investment, and its [account] is kept:
//!
//! * one part in a hundred of the time that the file's reads have waited may be spent: that is what it costs where nothing of
//!   it is ever read;
//! * each first read of a page inside a section that was brought has saved what first reads outside of those wait in the
//!   mean (those that a stream asks for as others of their kind), and that may be spent as well: so where reads come back to what was
//!   brought, each section pays for the next ones,
//!   and the whole file is there after a few times as long as it takes to read in one go;
//! * where a stream ends, of which the kernel would have brought a window more by itself, a part of that may be spent;
//! * what the reads that a section is asked for with wait longer than others is its price, and a read that waits inside of a
//!   section all the same was no gain.
//!
//! Who moves through a file does not come back to what it leaves behind, so only [visits] to sections that were left for a
//! while count; but for who moves backward over holes, which the kernel does not read through. Who reads a file in pieces, in any order, comes
//! to most of them for the first time, and to some beside one that was read: where that is seen at times, each piece counts. Time that reads wait together is one time, as
//! it is on the clock. Pages are known one by one up to 512 MiB ([`pages`]), in longer files some at a time.

mod account;
pub(crate) mod fillings;
mod pages;
mod sections;
mod visits;

use core::ops::Range;

use ahead_policy::device::DeviceEstimate;
use ahead_units::{PageCount, PageRange, Timestamp};

use self::account::Account;
use self::pages::PageSet;
use self::sections::{Cut, Sections};
use self::visits::Visits;
use crate::lent::Blank;

/// Reads that wait for less than one part in so many of an access come by the next one on their way. 1, and random reads that are answered by
/// chance are such; 4, and an arm that passes by some places in turn is sent away from them.
const PASSING_PARTS: u64 = 2;

/// Reads inside of sections that wait, in a row, from which their pages are believed to be gone where several reads wait together. Fewer, and what
/// is late is asked for again; more, and what was evicted is waited for.
const VAIN_WAITS: u8 = 8;

/// Sections are on their way for so many times what is thought, at most. Fewer, and who waits for what is late takes it for gone; more, and what
/// was evicted is waited for.
const LATE_TIMES: u64 = 4;

/// One file that is filled in.
#[derive(Debug)]
pub(crate) struct Filling {
    cut: Cut,
    /// Sections that were asked for.
    asked: Sections,
    /// Sections that reads were in.
    visits: Visits,
    /// Pages that were read.
    read: PageSet,
    account: Account,
    newest: Newest,
    /// Pages asked for that were not read.
    unread: u64,
    /// Reads inside of sections that waited for what was to be there, in a row.
    vain_waits: u8,
}

/// What was asked for last.
#[derive(Clone, Copy, Debug)]
struct Newest {
    pages: PageRange,
    new_pages: PageCount,
    asked: Timestamp,
    /// It has arrived by then, and what was asked for before, unless it has to be waited for much longer than was thought.
    arrived: Timestamp,
}

impl Newest {
    /// Nothing was.
    const NOTHING: Self = Self {
        pages: PageRange::new(0, 0),
        new_pages: PageCount::new(0),
        asked: Timestamp::new(0),
        arrived: Timestamp::new(0),
    };
}

impl Blank for Filling {
    const BLANK: Self = Self {
        cut: Cut::NONE,
        asked: Sections::NONE,
        visits: Visits::NONE,
        read: PageSet::EMPTY,
        account: Account::EMPTY,
        newest: Newest::NOTHING,
        unread: 0,
        vain_waits: 0,
    };
}

/// What a read is to a file that may be filled in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilledRead {
    /// All of it was asked for to fill the file in.
    is_inside: bool,
    /// Something is asked for with it.
    asks: bool,
    /// It is a first one that says what reads outside wait.
    is_sample: bool,
    /// Of some pages that were not read before.
    is_first: bool,
    /// A stream or the kernel asks for it.
    is_asked_for: bool,
    /// All of them were read before, or asked for: they were to be in memory.
    was_there: bool,
}

impl FilledRead {
    /// Whether all of it was asked for to fill the file in, and for nothing else.
    pub(crate) fn is_filled_in(&self) -> bool {
        self.is_inside && !self.is_asked_for
    }

    /// Whether it is the first one of pages that were asked for to fill the file in.
    pub(crate) fn is_found(&self) -> bool {
        self.is_inside && self.is_first
    }
}

/// What may be asked for with a read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    /// Reads move towards the begin of the file, over holes.
    pub(crate) backward: bool,
    /// The read before was one that a stream had asked for, and this one is elsewhere: that may have ended. What the kernel asks for at once.
    pub(crate) ended: Option<PageCount>,
    /// Pages, at most.
    pub(crate) pages_max: PageCount,
}

/// How a read waited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waited {
    /// In which no other did.
    pub(crate) once_ns: u64,
    /// It is as long as one for the device: what loses its processor waits as well.
    pub(crate) is_long: bool,
    /// When it began.
    pub(crate) began: Timestamp,
    /// No other read of the file waits at the same time, as far as is known.
    pub(crate) is_alone: bool,
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
    /// Begins with a file of so many pages, of which nothing is known; what is owed is kept.
    fn begin(&mut self, file_pages: PageCount) {
        // Field by field: the whole is too large for the stack of a small thread.
        self.cut = Cut::of(file_pages);
        self.asked.clear();
        self.visits.begin(self.cut.count());
        self.read.clear();
        self.read.begin(file_pages);
        self.account.forget();
        self.newest = Newest::NOTHING;
        (self.unread, self.vain_waits) = (0, 0);
    }

    /// The file has so many pages now.
    fn set_file_pages(&mut self, file_pages: PageCount) {
        let (cut, before) = (Cut::of(file_pages), self.cut);
        if cut == before {
            return;
        }
        let has_grown = file_pages > before.file_pages();
        if has_grown && cut.section() == before.section() && self.read.fits(file_pages) {
            // The section in which it ended is longer now.
            self.take_back(before.count().saturating_sub(1));
            self.cut = cut;
        } else {
            self.begin(file_pages);
        }
    }

    /// A section is not asked for any more.
    fn take_back(&mut self, section: u64) {
        if self.asked.has(section) {
            self.asked.remove(section);
            let missing = self
                .read
                .count_missing(self.cut.pages(&(section..section + 1)));
            self.unread = self.unread.saturating_sub(missing.get());
        }
    }

    /// Pages of a section.
    pub(crate) fn section(&self) -> PageCount {
        self.cut.section()
    }

    /// Pages asked for that were not read.
    pub(crate) fn unread(&self) -> PageCount {
        PageCount::new(self.unread)
    }

    fn is_inside(&self, pages: PageRange) -> bool {
        let mut sections = self.cut.sections(pages);
        !pages.is_empty() && sections.all(|section| self.asked.has(section))
    }

    /// `pages` are in memory now. Whether they were asked for to fill the file in, and those that were not read before, or what stands for as many.
    fn take_in(&mut self, pages: PageRange) -> (bool, PageCount) {
        let is_inside = self.is_inside(pages);
        let new_pages = self.read.insert(pages);
        if is_inside {
            self.unread = self.unread.saturating_sub(new_pages.get());
        }
        (is_inside, new_pages)
    }

    /// `pages` are read, none of them behind the end of the file, which nothing else asks for; what is asked for with them, if anything may be.
    pub(crate) fn on_read(
        &mut self,
        pages: PageRange,
        device: &DeviceEstimate,
        want: Option<Want>,
        now: Timestamp,
    ) -> (FilledRead, Option<Piece>) {
        self.visits.on_read(self.cut.sections(pages).start);
        let mut read = self.take_in_read(pages, device, false);
        if !read.is_first || read.is_inside {
            return (read, None);
        }
        let piece = want.and_then(|want| self.ask(pages, want, device, now));
        read.asks = piece.is_some();
        read.is_sample = !read.asks && self.account.on_first_read(false);
        (read, piece)
    }

    /// `pages` are read, which a stream or the kernel asks for: nothing is asked for with them.
    pub(crate) fn on_read_asked_for(
        &mut self,
        pages: PageRange,
        device: &DeviceEstimate,
    ) -> FilledRead {
        let mut read = self.take_in_read(pages, device, true);
        if read.is_first && !read.is_inside {
            read.is_sample = self.account.on_first_read(true);
        }
        read
    }

    /// `pages` were read, and no wait for them is told of.
    pub(crate) fn on_late_read(&mut self, pages: PageRange) {
        self.take_in(pages);
    }

    fn take_in_read(
        &mut self,
        pages: PageRange,
        device: &DeviceEstimate,
        is_asked_for: bool,
    ) -> FilledRead {
        let (is_inside, new_pages) = self.take_in(pages);
        let is_first = new_pages.get() > 0;
        if is_inside && is_first {
            // Who finds its pages there has not waited behind more than one other.
            let own_ns = device.transfer_ns(pages.len());
            let saved_ns_max = own_ns.saturating_add(device.access_ns.saturating_mul(2));
            self.account.on_found(is_asked_for, saved_ns_max);
            self.vain_waits = self.vain_waits.saturating_sub(1);
        }
        FilledRead {
            is_inside,
            is_first,
            is_asked_for,
            was_there: is_inside || !is_first && self.read.is_of_pages(),
            ..FilledRead::default()
        }
    }

    /// A read of `pages` waited, of which [`Self::on_read`] or [`Self::on_read_asked_for`] said what it is.
    pub(crate) fn on_wait(&mut self, pages: PageRange, filled_read: FilledRead, waited: Waited) {
        let ns = waited.once_ns;
        let after_newest = waited.began >= self.newest.asked;
        if filled_read.is_inside {
            self.account.on_vain_wait(ns);
        } else if filled_read.is_asked_for {
            (self.account).on_wait_asked_for(ns, filled_read.is_sample);
        } else if filled_read.asks && after_newest {
            self.account.on_asking_wait(ns, waited.is_alone);
        } else if after_newest {
            self.account
                .on_wait(ns, filled_read.is_sample, waited.is_alone);
        }
        let is_on_its_way = waited.began < self.newest.arrived;
        if !filled_read.was_there || is_on_its_way || !waited.is_long {
            return;
        }
        // One of two, as a read that finds its pages takes one back.
        self.vain_waits = self.vain_waits.saturating_add(2);
        if waited.is_alone || self.vain_waits >= VAIN_WAITS {
            self.vain_waits = 0;
            self.on_gone(pages);
        }
    }

    /// What was in memory of the sections of `pages` is there no more, but for these, which were read just now.
    fn on_gone(&mut self, pages: PageRange) {
        let sections = self.cut.sections(pages);
        for section in sections.clone() {
            self.take_back(section);
        }
        self.read.remove(self.cut.pages(&sections));
        self.read.insert(pages);
    }

    /// The calls for the newest sections have held up the reader for so long.
    pub(crate) fn on_held(&mut self, held_ns: u64) {
        self.account.spend(held_ns);
    }

    /// `pages`, if they are the newest sections, could not be asked for, or `are_there` anyway.
    pub(crate) fn on_not_asked(&mut self, pages: PageRange, are_there: bool) {
        if self.newest.pages != pages {
            return;
        }
        let newest = core::mem::replace(&mut self.newest, Newest::NOTHING);
        self.account.on_not_asked();
        self.unread = self.unread.saturating_sub(newest.new_pages.get());
        if are_there {
            self.read.insert(pages);
            return;
        }
        for section in self.cut.sections(pages) {
            self.asked.remove(section);
        }
    }

    /// This is the child of a fork: its parent has asked for what was asked for, and may spend what was earned.
    pub(crate) fn on_fork_in_child(&mut self) {
        self.account.forget();
        self.unread = 0;
    }

    /// Who reads the file is believed to be gone. Pages that were asked for in vain.
    pub(crate) fn give_up(&mut self) -> PageCount {
        PageCount::new(core::mem::take(&mut self.unread))
    }

    /// The section that the newest read, of `access`, is in and its neighbours, behind it or, where reads move backward, in front, as far as they
    /// were not asked for, cost no more than may be spent, and may be asked for at once. Nothing if that is no whole section, or if nothing
    /// says that reads come back.
    fn ask(
        &mut self,
        access: PageRange,
        want: Want,
        device: &DeviceEstimate,
        now: Timestamp,
    ) -> Option<Piece> {
        if let Some(window) = want.ended {
            let most_ns = device.transfer_ns(want.pages_max);
            self.account.on_ended(device.transfer_ns(window), most_ns);
        }
        let come_back =
            self.visits.come_back() || want.ended.is_some() && self.visits.come_back_at_times();
        if !want.backward && !come_back {
            return None;
        }
        let mut of_access = self.cut.sections(access);
        let first = of_access.find(|section| !self.asked.has(*section))?;
        let most = match want.backward {
            true => first + 1,
            false => self.cut.count().saturating_sub(first),
        };
        let sections = |count: u64| match want.backward {
            true => first + 1 - count..first + 1,
            false => first..first + count,
        };
        let pieces =
            (1..=most).map_while(|count| self.affordable(&sections(count), device, want.pages_max));
        let (piece, cost_ns) = pieces.last()?;
        if piece.new_pages.get() == 0 {
            return None;
        }
        self.account.on_ask(cost_ns);
        for section in self.cut.sections(piece.pages) {
            self.asked.insert(section);
        }
        self.unread = self.unread.saturating_add(piece.new_pages.get());
        let thought_ns = cost_ns.saturating_add(device.access_ns);
        let late_ns = thought_ns.saturating_mul(LATE_TIMES);
        self.newest = Newest {
            pages: piece.pages,
            new_pages: piece.new_pages,
            asked: now,
            arrived: Timestamp::new(now.get().saturating_add(late_ns)).max(self.newest.arrived),
        };
        Some(piece)
    }

    /// These sections and what they cost, if none of them was asked for, they may be asked for at once, and that may be spent.
    fn affordable(
        &self,
        sections: &Range<u64>,
        device: &DeviceEstimate,
        pages_max: PageCount,
    ) -> Option<(Piece, u64)> {
        let pages = self.cut.pages(sections);
        let was_asked = sections.clone().any(|section| self.asked.has(section));
        if pages.is_empty() || pages.len() > pages_max || was_asked {
            return None;
        }
        // What was read costs nothing more, but cuts the rest.
        let missing = self.read.missing(pages);
        let requests_ns = if device.is_slow_to_access() {
            // Where reads wait for less, an arm passes from one to the next, and a section makes it miss its turn.
            let passes_by = self.account.mean_wait_ns() < device.access_ns / PASSING_PARTS;
            if passes_by { device.access_ns } else { 0 }
        } else {
            missing.runs.saturating_mul(device.request_cost_ns())
        };
        let new_pages = missing.pages;
        let cost_ns = device.transfer_ns(new_pages).saturating_add(requests_ns);
        let piece = Piece { pages, new_pages };
        self.account.has(cost_ns).then_some((piece, cost_ns))
    }
}

#[cfg(test)]
mod tests;
