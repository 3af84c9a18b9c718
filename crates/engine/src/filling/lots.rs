//! Which files are filled in, and how much of memory they may have.

use std::sync::MutexGuard;

use ahead_units::{PageCount, Timestamp};

use super::Filling;
use crate::lent::{Blank, Lent, Loan};

/// Files of a group that are filled in at the same time. More are memory, 18 KiB each.
const FILES: usize = 4;

/// Reads that nothing had asked for and that waited, from which a file is watched. Fewer, and files that begin with some lookups take
/// the places of others; more, and small files are read before it begins.
const WAITS_UNWATCHED: u8 = 16;

/// Files that are filled in may have one part in so many of what reclaim leaves to readers, together.
const MEMORY_PARTS: u64 = 2;

/// The files. All free is none.
#[derive(Debug, Default)]
pub struct Fillings(Lent<Filling, FILES>);

/// What a file knows of it. All zero: it is not filled in.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FillingOf {
    loan: Loan,
    /// Waits before it was.
    waits: u8,
    /// The newest read is of those that count: nothing else asks for it.
    pub(crate) is_counted: bool,
    /// Pages asked for and not read.
    pub(crate) unread: PageCount,
}

impl Fillings {
    /// All free.
    #[must_use]
    pub const fn new() -> Self {
        Self(Lent::new())
    }

    /// What is known of a file, if it is filled in and nobody else is there.
    pub(crate) fn get(&self, of: FillingOf) -> Option<MutexGuard<'_, Filling>> {
        self.0.get(of.loan)
    }

    /// The same of a file that is read at random. It begins to be filled in when some of its reads have waited, one of the places is free
    /// or was not used for a while, and it fits in the memory with the others.
    pub(crate) fn get_or_begin(
        &self,
        of: &mut FillingOf,
        file_pages: PageCount,
        memory: PageCount,
        now: Timestamp,
    ) -> Option<MutexGuard<'_, Filling>> {
        let most = memory.get() / MEMORY_PARTS;
        if file_pages.get() > most {
            return None;
        }
        if let Some(mut filling) = self.0.get_to_use(of.loan, now) {
            if filling.file_pages() != file_pages {
                *filling = Filling::BLANK;
                filling.begin(file_pages);
            }
            return Some(filling);
        }
        if of.waits < WAITS_UNWATCHED {
            return None;
        }
        let others: u64 = self.0.in_use(now).map(|one| one.file_pages().get()).sum();
        if others.saturating_add(file_pages.get()) > most {
            return None;
        }
        of.unread = PageCount::new(0);
        let mut filling = self.0.claim(&mut of.loan, now)?;
        filling.begin(file_pages);
        Some(filling)
    }
}

impl FillingOf {
    /// A read that nothing had asked for has waited.
    pub(crate) fn on_wait(&mut self) {
        self.waits = self.waits.saturating_add(1);
    }
}
