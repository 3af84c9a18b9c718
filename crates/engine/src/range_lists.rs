//! The lists of ranges of the files that are read at random, and which file has which.
//!
//! A [list](ahead_policy::range_list) is twenty kilobytes, so there are few, for all files of a group together
//! (`lent`). A file gets one when some of its reads have belonged to no stream, and keeps it, also when it is closed,
//! until another file needs it and it was not used for a while.

use std::sync::MutexGuard;

use ahead_policy::adaptive::ListedRange;
use ahead_policy::range_list::RangeList;
use ahead_units::Timestamp;

use crate::lent::{Blank, Lent, Loan};

/// Lists of a group. More are memory, and files that are read at random by the dozen are not read twice in one order.
const LISTS: usize = 4;

/// Ranges of a file that are not written down: most files that begin with some lookups have no more.
const RANGES_UNLISTED: u8 = 8;

impl Blank for RangeList {
    const BLANK: Self = Self::new();
}

/// The lists. All free is none.
#[derive(Debug, Default)]
pub struct RangeLists(Lent<RangeList, LISTS>);

/// What a file knows of its list. All zero: it has none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ListOf {
    loan: Loan,
    /// Ranges that were not written down.
    unlisted: u8,
    /// The account's pages when the newest range began, wrapping.
    pub(crate) begun: u64,
    /// Pages asked for of ranges that have not begun.
    pub(crate) unread: u32,
    /// The range that is read now, if the list is followed.
    pub(crate) listed: ListedRange,
}

impl RangeLists {
    /// All free.
    #[must_use]
    pub const fn new() -> Self {
        Self(Lent::new())
    }

    /// The list of a file, if it has one that is not busy.
    pub(crate) fn get(&self, of: ListOf) -> Option<MutexGuard<'_, RangeList>> {
        self.0.get(of.loan)
    }

    /// This is the child of a fork: what its parent has asked for is not ours.
    pub(crate) fn forget_asked(&self) {
        for mut list in self.0.all() {
            list.forget_asked();
        }
    }

    /// The list of a file of which another range begins. It gets one if it has none, has had some ranges, and one is
    /// free or was not used for a while.
    pub(crate) fn get_or_claim(
        &self,
        of: &mut ListOf,
        now: Timestamp,
    ) -> Option<MutexGuard<'_, RangeList>> {
        if let Some(list) = self.0.get_to_use(of.loan, now) {
            return Some(list);
        }
        (of.unread, of.listed) = (0, ListedRange::default());
        of.unlisted = of.unlisted.saturating_add(1);
        if of.unlisted <= RANGES_UNLISTED {
            return None;
        }
        self.0.claim(&mut of.loan, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gets_its_list_with_its_ninth_range() {
        let lists = RangeLists::new();
        let mut of = ListOf::default();
        let mut next = || lists.get_or_claim(&mut of, Timestamp::new(1)).is_some();
        assert!((0..RANGES_UNLISTED).all(|_| !next()));
        assert!(next() && next());
    }
}
