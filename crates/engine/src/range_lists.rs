//! The lists of ranges of the files that are read at random, and which file has which.
//!
//! A [list](ahead_policy::range_list) is twenty kilobytes, so there are few, for all files of a group together. A file
//! gets one when some of its reads have belonged to no stream, and keeps it, also when it is closed, until another
//! file needs it and it was not used for a while.
//!
//! Nobody waits for a list: what finds it busy goes without.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

use ahead_policy::adaptive::ListedRange;
use ahead_policy::range_list::RangeList;
use ahead_units::Timestamp;

/// Lists of a group. More are memory, and files that are read at random by the dozen are not read twice in one order.
const LISTS: usize = 4;

/// Ranges of a file that are not written down: most files that begin with some lookups have no more.
const RANGES_UNLISTED: u8 = 8;

/// A list that was not used for so long may go to another file. Shorter, and many files take each other's; longer,
/// and what a program did before keeps a place.
const UNUSED_NS: u64 = 2_000_000_000;

/// The lists. All free is none.
#[derive(Debug, Default)]
pub struct RangeLists {
    places: [Place; LISTS],
    /// Files that got one, wrapping.
    owners: AtomicU32,
}

#[derive(Debug, Default)]
struct Place {
    /// Which file has it; 0: none.
    owner: AtomicU32,
    /// When it was used last, in nanoseconds.
    used_ns: AtomicU64,
    list: Mutex<RangeList>,
}

/// What a file knows of its list. All zero: it has none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ListOf {
    owner: u32,
    place: u8,
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
        Self {
            places: [const { Place::new() }; LISTS],
            owners: AtomicU32::new(0),
        }
    }

    /// The list of a file, if it has one that is not busy.
    pub(crate) fn get(&self, of: ListOf) -> Option<MutexGuard<'_, RangeList>> {
        let place = self.places.get(usize::from(of.place))?;
        let is_own = of.owner != 0 && place.owner.load(Relaxed) == of.owner;
        is_own.then(|| place.list.try_lock().ok())?
    }

    /// This is the child of a fork: what its parent has asked for is not ours.
    pub(crate) fn forget_asked(&self) {
        for place in &self.places {
            if place.owner.load(Relaxed) != 0
                && let Ok(mut list) = place.list.try_lock()
            {
                list.forget_asked();
            }
        }
    }

    /// The list of a file of which another range begins. It gets one if it has none, has had some ranges, and one is
    /// free or was not used for a while.
    pub(crate) fn get_or_claim(
        &self,
        of: &mut ListOf,
        now: Timestamp,
    ) -> Option<MutexGuard<'_, RangeList>> {
        if let Some(list) = self.get(*of) {
            self.places[usize::from(of.place)]
                .used_ns
                .store(now.get(), Relaxed);
            return Some(list);
        }
        (of.unread, of.listed) = (0, ListedRange::default());
        of.unlisted = of.unlisted.saturating_add(1);
        if of.unlisted <= RANGES_UNLISTED {
            return None;
        }
        let used = |place: &&Place| place.used_ns.load(Relaxed);
        let is_free = |place: &Place| place.owner.load(Relaxed) == 0;
        let places = self.places.iter().enumerate();
        let (number, place) = places.min_by_key(|(_, place)| (!is_free(place), used(place)))?;
        let unused_ns = now.get().saturating_sub(place.used_ns.load(Relaxed));
        if !is_free(place) && unused_ns < UNUSED_NS {
            return None;
        }
        let mut list = place.list.try_lock().ok()?;
        *list = EMPTY;
        let owner = self.owners.fetch_add(1, Relaxed).wrapping_add(1).max(1);
        place.owner.store(owner, Relaxed);
        place.used_ns.store(now.get(), Relaxed);
        *of = ListOf {
            owner,
            place: u8::try_from(number).unwrap_or(u8::MAX),
            ..*of
        };
        Some(list)
    }
}

/// A constant is copied from where it lies: made here it could lie on the stack first, which may be smaller.
const EMPTY: RangeList = RangeList::new();

impl Place {
    const fn new() -> Self {
        Self {
            owner: AtomicU32::new(0),
            used_ns: AtomicU64::new(0),
            list: Mutex::new(EMPTY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::new(seconds * 1_000_000_000)
    }

    fn claim(lists: &RangeLists, of: &mut ListOf, now: Timestamp) -> bool {
        (0..=RANGES_UNLISTED).any(|_| lists.get_or_claim(of, now).is_some())
    }

    #[test]
    fn few_files_have_a_list_until_others_need_it_and_they_do_not() {
        let lists = RangeLists::new();
        let mut files = [ListOf::default(); LISTS + 1];
        for of in &mut files[..LISTS] {
            assert!(lists.get_or_claim(of, at(1)).is_none(), "not at once");
            assert!(claim(&lists, of, at(1)));
        }
        assert!(!claim(&lists, &mut files[LISTS], at(2)), "all are in use");
        assert!(claim(&lists, &mut files[1], at(9)));
        assert!(claim(&lists, &mut files[LISTS], at(9)));
        let kept = files.map(|of| lists.get(of).is_some());
        assert_eq!(kept, [false, true, true, true, true]);
    }

    #[test]
    fn who_finds_its_list_busy_goes_without() {
        let lists = RangeLists::new();
        let mut of = ListOf::default();
        assert!(claim(&lists, &mut of, at(1)));
        let busy = lists.get(of);
        assert!(busy.is_some());
        assert!(lists.get(of).is_none());
        drop(busy);
        assert!(lists.get(of).is_some());
    }
}
