//! Few large things for many files: each is lent to one file until another needs it.
//!
//! There is no waiting for one: who finds its own busy goes without.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

use ahead_units::Timestamp;

/// What was not used for so long may go to another file. Shorter, and many files take each other's; longer, and what a program did
/// before keeps a place.
const UNUSED_NS: u64 = 2_000_000_000;

/// What can be lent: it begins blank with each file.
pub(crate) trait Blank {
    /// A constant is copied from where it lies: made where it is needed it could lie on the stack first, which may be smaller.
    const BLANK: Self;
}

/// `COUNT` of them. All free at first.
#[derive(Debug)]
pub(crate) struct Lent<T, const COUNT: usize> {
    places: [Place<T>; COUNT],
    /// Files that got one, wrapping.
    owners: AtomicU32,
}

#[derive(Debug)]
struct Place<T> {
    /// Which file has it; 0: none.
    owner: AtomicU32,
    /// When it was used last, in nanoseconds.
    used_ns: AtomicU64,
    thing: Mutex<T>,
}

/// What a file knows of its own. All zero: it has none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Loan {
    owner: u32,
    place: u8,
}

impl Loan {
    /// Which of them it is, if it is one: its place among them.
    pub(crate) fn place(self) -> usize {
        usize::from(self.place)
    }
}

impl<T: Blank, const COUNT: usize> Default for Lent<T, COUNT> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Blank, const COUNT: usize> Lent<T, COUNT> {
    /// All free.
    pub(crate) const fn new() -> Self {
        Self {
            places: [const {
                Place {
                    owner: AtomicU32::new(0),
                    used_ns: AtomicU64::new(0),
                    thing: Mutex::new(T::BLANK),
                }
            }; COUNT],
            owners: AtomicU32::new(0),
        }
    }

    fn of(&self, loan: Loan) -> Option<&Place<T>> {
        let place = self.places.get(loan.place())?;
        place.is_of(loan).then_some(place)
    }

    /// Whether it is still that of the file.
    pub(crate) fn is_lent(&self, loan: Loan) -> bool {
        self.of(loan).is_some()
    }

    /// That of a file, if it has one that is not busy.
    pub(crate) fn get(&self, loan: Loan) -> Option<MutexGuard<'_, T>> {
        let place = self.of(loan)?;
        let thing = place.thing.try_lock().ok()?;
        // It may have gone to another file meanwhile.
        place.is_of(loan).then_some(thing)
    }

    /// The same, and it counts as being used.
    pub(crate) fn get_to_use(&self, loan: Loan, now: Timestamp) -> Option<MutexGuard<'_, T>> {
        let thing = self.get(loan)?;
        self.of(loan)?.used_ns.store(now.get(), Relaxed);
        Some(thing)
    }

    /// Lends a blank one to a file that has none, if one is free or was not used for a while. One that stays busy, as what was being changed
    /// when the process forked, is passed over.
    pub(crate) fn claim(&self, loan: &mut Loan, now: Timestamp) -> Option<MutexGuard<'_, T>> {
        let mut numbers: [usize; COUNT] = core::array::from_fn(|number| number);
        numbers.sort_unstable_by_key(|number| {
            let place = &self.places[*number];
            (!place.is_free(), place.used_ns.load(Relaxed))
        });
        for number in numbers {
            let place = &self.places[number];
            if !place.may_be_taken(now) {
                continue;
            }
            let Ok(mut thing) = place.thing.try_lock() else {
                continue;
            };
            *thing = T::BLANK;
            let owner = self.owners.fetch_add(1, Relaxed).wrapping_add(1).max(1);
            place.owner.store(owner, Relaxed);
            place.used_ns.store(now.get(), Relaxed);
            *loan = Loan {
                owner,
                place: u8::try_from(number).unwrap_or(u8::MAX),
            };
            return Some(thing);
        }
        None
    }

    /// All that are lent and not busy.
    pub(crate) fn all(&self) -> impl Iterator<Item = MutexGuard<'_, T>> {
        let lent = self.places.iter().filter(|place| !place.is_free());
        lent.filter_map(|place| place.thing.try_lock().ok())
    }

    /// The places of those that files need.
    pub(crate) fn in_use(&self, now: Timestamp) -> impl Iterator<Item = usize> {
        let places = self.places.iter().enumerate();
        places.filter_map(move |(number, place)| (!place.may_be_taken(now)).then_some(number))
    }
}

impl<T> Place<T> {
    fn is_of(&self, loan: Loan) -> bool {
        loan.owner != 0 && self.owner.load(Relaxed) == loan.owner
    }

    fn is_free(&self) -> bool {
        self.owner.load(Relaxed) == 0
    }

    fn may_be_taken(&self, now: Timestamp) -> bool {
        let unused_ns = now.get().saturating_sub(self.used_ns.load(Relaxed));
        self.is_free() || unused_ns >= UNUSED_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: usize = 4;

    impl Blank for u32 {
        const BLANK: Self = 0;
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::new(seconds * 1_000_000_000)
    }

    #[test]
    fn few_files_have_one_until_others_need_it_and_they_do_not() {
        let lent = Lent::<u32, COUNT>::new();
        let mut files = [Loan::default(); COUNT + 1];
        for loan in &mut files[..COUNT] {
            *lent.claim(loan, at(1)).expect("one is free") = 7;
        }
        assert!(lent.claim(&mut files[COUNT], at(2)).is_none(), "all in use");
        assert!(lent.get_to_use(files[1], at(9)).is_some());
        let blank = lent.claim(&mut files[COUNT], at(9)).map(|thing| *thing);
        assert_eq!(blank, Some(0), "of the file that had it nothing is left");
        let kept = files.map(|loan| lent.get(loan).is_some());
        assert_eq!(kept, [false, true, true, true, true]);
        assert_eq!((lent.all().count(), lent.in_use(at(9)).count()), (COUNT, 2));
    }

    #[test]
    fn one_that_stays_busy_is_passed_over() {
        let lent = Lent::<u32, COUNT>::new();
        let mut files = [Loan::default(); COUNT + 1];
        let stays = lent.claim(&mut files[0], at(1));
        for loan in &mut files[1..COUNT] {
            assert!(lent.claim(loan, at(2)).is_some());
        }
        assert!(lent.claim(&mut files[COUNT], at(9)).is_some());
        assert!(stays.is_some() && !lent.is_lent(files[1]) && lent.is_lent(files[0]));
    }

    #[test]
    fn who_finds_its_own_busy_goes_without() {
        let lent = Lent::<u32, COUNT>::new();
        let mut loan = Loan::default();
        let busy = lent.claim(&mut loan, at(1));
        assert!(busy.is_some());
        assert!(lent.get(loan).is_none());
        drop(busy);
        assert!(lent.get(loan).is_some());
    }
}
