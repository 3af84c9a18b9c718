//! Which files are filled in, and how much of memory they may have.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::MutexGuard;

use ahead_units::{PageCount, Timestamp};

use super::Filling;
use crate::lent::{Lent, Loan};

/// Files of a group that are filled in at the same time. More are memory, 18 KiB each.
const FILES: usize = 4;

/// Reads that nothing had asked for and that waited, from which a file is watched. Fewer, and files that begin with some lookups take
/// the places of others; more, and small files are read before it begins.
const WAITS_UNWATCHED: u8 = 16;

/// Files that are filled in may have one part in so many of what reclaim leaves to readers, together. 1, and what else is in memory goes for
/// it; 4, and files that would fit are read at random.
const MEMORY_PARTS: u64 = 2;

/// The files. All free is none.
#[derive(Debug, Default)]
pub struct Fillings {
    lent: Lent<Filling, FILES>,
    /// Pages of the file in each place, and those of them that were asked for and not read: for who asks about all files, some of which are busy.
    file_pages: [AtomicU64; FILES],
    unread: [AtomicU64; FILES],
}

/// What a file knows of it. All zero: it is not filled in.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FillingOf {
    loan: Loan,
    /// Waits before it was.
    waits: u8,
    /// Memory has been looked at for it.
    has_looked: bool,
}

/// Whether a file is filled in.
#[derive(Debug)]
pub(crate) enum Place<'a> {
    /// It is; this is what is known of it.
    Has(MutexGuard<'a, Filling>),
    /// It is not, not now, or another thread is there.
    None,
    /// It would be if there were more memory than is known, which was not looked at for it before.
    Look,
}

impl Fillings {
    /// All free.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            lent: Lent::new(),
            file_pages: [const { AtomicU64::new(0) }; FILES],
            unread: [const { AtomicU64::new(0) }; FILES],
        }
    }

    /// What is known of a file, if it is filled in and no other thread is there. What comes of it is to be [noted](Self::note).
    pub(crate) fn get(&self, of: FillingOf) -> Option<MutexGuard<'_, Filling>> {
        self.lent.get(of.loan)
    }

    /// The same of a file that is read at random. It begins to be filled in when some of its reads have waited, one of the places is free
    /// or was not used for a while, and it fits in the memory with the others. What comes of the read is to be [noted](Self::note).
    pub(crate) fn get_or_begin(
        &self,
        of: &mut FillingOf,
        file_pages: PageCount,
        memory: PageCount,
        now: Timestamp,
    ) -> Place<'_> {
        if of.waits < WAITS_UNWATCHED {
            return Place::None;
        }
        let has_place = self.lent.is_lent(of.loan);
        let others = (self.lent.in_use(now)).filter(|one| !has_place || *one != of.loan.place());
        let others: u64 = others.map(|one| self.file_pages[one].load(Relaxed)).sum();
        if others.saturating_add(file_pages.get()) > memory.get() / MEMORY_PARTS {
            let has_looked = core::mem::replace(&mut of.has_looked, true);
            return if has_looked { Place::None } else { Place::Look };
        }
        let filling = if has_place {
            self.lent.get_to_use(of.loan, now)
        } else {
            self.lent.claim(&mut of.loan, now)
        };
        let Some(mut filling) = filling else {
            return Place::None;
        };
        filling.set_file_pages(file_pages);
        self.file_pages[of.loan.place()].store(file_pages.get(), Relaxed);
        Place::Has(filling)
    }

    /// What has come of what is known of a file.
    pub(crate) fn note(&self, of: FillingOf, filling: &Filling) {
        self.unread[of.loan.place()].store(filling.unread().get(), Relaxed);
    }

    /// Pages asked for and not read, of all files that are read.
    pub(crate) fn unread(&self, now: Timestamp) -> PageCount {
        let unread = self
            .lent
            .in_use(now)
            .map(|one| self.unread[one].load(Relaxed));
        PageCount::new(unread.sum())
    }

    /// The same of one file.
    pub(crate) fn unread_of(&self, of: FillingOf) -> PageCount {
        let is_lent = self.lent.is_lent(of.loan);
        let unread = self.unread.get(of.loan.place()).filter(|_| is_lent);
        PageCount::new(unread.map_or(0, |unread| unread.load(Relaxed)))
    }

    /// This is the child of a fork: nothing was asked for by it, and nothing earned.
    pub(crate) fn on_fork_in_child(&self) {
        for mut filling in self.lent.all() {
            filling.on_fork_in_child();
        }
        for unread in &self.unread {
            unread.store(0, Relaxed);
        }
    }
}

impl FillingOf {
    /// A read that nothing had asked for has waited.
    pub(crate) fn on_wait(&mut self) {
        self.waits = self.waits.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: PageCount = PageCount::new(10_000);

    fn begins(fillings: &Fillings, of: &mut FillingOf, pages: u64, seconds: u64) -> &'static str {
        let now = Timestamp::new(seconds * 1_000_000_000);
        match fillings.get_or_begin(of, PageCount::new(pages), MEMORY, now) {
            Place::Has(_) => "has",
            Place::None => "none",
            Place::Look => "look",
        }
    }

    fn read_at_random() -> FillingOf {
        let mut of = FillingOf::default();
        (0..WAITS_UNWATCHED).for_each(|_| of.on_wait());
        of
    }

    #[test]
    fn a_file_is_filled_in_once_some_of_its_reads_have_waited_and_if_it_fits_beside_others() {
        let fillings = Fillings::new();
        let (mut new, mut long) = (FillingOf::default(), read_at_random());
        assert_eq!(begins(&fillings, &mut new, 100, 1), "none");
        assert_eq!(begins(&fillings, &mut long, 5001, 1), "look");
        assert_eq!(begins(&fillings, &mut long, 5001, 1), "none", "it was");
        let (mut one, mut other) = (read_at_random(), read_at_random());
        assert_eq!(begins(&fillings, &mut one, 3000, 1), "has");
        assert_eq!(begins(&fillings, &mut other, 3000, 2), "look");
        assert_eq!(begins(&fillings, &mut other, 2000, 2), "has");
        assert_eq!(
            begins(&fillings, &mut other, 3000, 9),
            "has",
            "the first one is not read any more"
        );
        assert_eq!(
            begins(&fillings, &mut one, 3000, 10),
            "look",
            "until the second one is not"
        );
        assert_eq!(
            begins(&fillings, &mut one, 3000, 20),
            "has",
            "it is the same one"
        );
    }

    #[test]
    fn who_finds_its_place_busy_takes_no_second_one() {
        let fillings = Fillings::new();
        let mut of = read_at_random();
        assert_eq!(begins(&fillings, &mut of, 100, 1), "has");
        let (busy, before) = (fillings.get(of), of.loan.place());
        assert!(busy.is_some());
        assert_eq!(begins(&fillings, &mut of, 100, 2), "none");
        drop(busy);
        assert_eq!(begins(&fillings, &mut of, 100, 2), "has");
        assert_eq!(of.loan.place(), before);
    }
}
