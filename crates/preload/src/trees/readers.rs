//! Several reads of names and inodes at a time: threads that look at what the helper is about to look at, so that it
//! finds that in memory. They decide nothing and keep nothing.
//!
//! A disk with one arm serves many small reads in the order of their places in a third of the time that it needs for one
//! after another, and flash in a fifth. So they are worth their making where the helper has waited for names or inodes
//! again and again; where that is so is not known before.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, Ordering::Relaxed};

use ahead_policy::file_order::limits::{BATCHES_WAITED_MIN, LISTED_AT_ONCE, READ_AT_ONCE};
use rustix::thread::futex;

use super::disk;
use super::look::Look;
use super::state::{State, state};
use super::threads;
use crate::guard::guarded;
use crate::{ticks, watch};

/// What a look reads, as far as the limit of a wait depends on it.
const LOOK_BYTES: usize = 4096;

/// What is looked at at once.
const LOOKS: usize = LISTED_AT_ONCE;

static WAITS: AtomicU32 = AtomicU32::new(0);
static ARE_MADE: AtomicBool = AtomicBool::new(false);
/// Readers that run.
static RUNNING: AtomicU32 = AtomicU32::new(0);
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// What can be taken: a [`Round`] as one word.
static ROUND: AtomicU64 = AtomicU64::new(0);
/// Looks of this round that are done.
static DONE: AtomicU32 = AtomicU32::new(0);
/// A look waited, of this round or of the one before.
static HAS_WAITED: AtomicBool = AtomicBool::new(false);
/// Grows with each round, and at the end.
static BELL: AtomicU32 = AtomicU32::new(0);

/// Looks that are to be taken, each by one thread.
#[derive(Clone, Copy)]
struct Round {
    /// Grows with each: what was seen of one before cannot be taken.
    number: u32,
    count: u16,
    /// The next look to be taken.
    next: u16,
}

impl Round {
    fn of(word: u64) -> Self {
        let [.., a, b, c, d] = word.to_be_bytes();
        Self {
            number: u32::try_from(word >> 32).unwrap_or(0),
            count: u16::from_be_bytes([a, b]),
            next: u16::from_be_bytes([c, d]),
        }
    }

    fn word(self) -> u64 {
        u64::from(self.number) << 32 | u64::from(self.count) << 16 | u64::from(self.next)
    }
}

struct Looks(UnsafeCell<[Look; LOOKS]>);

// SAFETY: the helper alone writes, while all looks of the round before are done and none of the next can be taken; a
// look is read only by who has taken its number.
unsafe impl Sync for Looks {}

static ALL: Looks = Looks(UnsafeCell::new([const { Look::NONE }; LOOKS]));

/// The helper has waited for names or inodes in one batch.
pub(super) fn count_wait() {
    WAITS.fetch_add(1, Relaxed);
}

/// Whether they are to be made.
#[inline]
pub(super) fn are_wanted() -> bool {
    WAITS.load(Relaxed) >= BATCHES_WAITED_MIN.get() && !ARE_MADE.load(Relaxed)
}

/// A helper begins. Those of the one before were joined.
pub(super) fn begin() {
    WAITS.store(0, Relaxed);
    HAS_WAITED.store(false, Relaxed);
    RUNNING.store(0, Relaxed);
    IS_OVER.store(false, Relaxed);
    ARE_MADE.store(false, Relaxed);
}

/// The child of a fork has none.
pub(super) fn after_fork_in_child() {
    begin();
    ROUND.store(0, Relaxed);
}

/// Makes them, once for a helper. In the program's own thread, while the helper is kept from being stopped.
pub(super) fn make() {
    if ARE_MADE.swap(true, Relaxed) {
        return;
    }
    for place in 1..READ_AT_ONCE {
        if threads::make(place, run).is_none() {
            return;
        }
    }
}

/// The helper ends: they end too.
pub(super) fn end() {
    IS_OVER.store(true, Ordering::SeqCst);
    ring();
}

fn ring() {
    BELL.fetch_add(1, Ordering::SeqCst);
    let _ = futex::wake(&BELL, futex::Flags::PRIVATE, u32::MAX >> 1);
}

/// Whether there are any.
pub(super) fn are_there() -> bool {
    RUNNING.load(Ordering::SeqCst) > 0
}

/// Looks at all of these, in no order, several at a time. Nothing is done where there are no readers. For the helper
/// only.
pub(super) fn look_at_all(looks: &mut dyn FnMut(&mut Look) -> bool) {
    if !are_there() {
        return;
    }
    loop {
        // SAFETY: all looks of this round are done, and none is left to be taken.
        let all = unsafe { &mut *ALL.0.get() };
        let none_left = all.iter_mut().position(|look| !looks(look));
        let count = none_left.unwrap_or(LOOKS);
        if count == 0 || state() != State::Running {
            return;
        }
        let count = u16::try_from(count).unwrap_or(0);
        let before = Round::of(ROUND.load(Relaxed));
        DONE.store(0, Ordering::SeqCst);
        let round = Round {
            number: before.number.wrapping_add(1),
            count,
            next: 0,
        };
        ROUND.store(round.word(), Ordering::SeqCst);
        // What is in memory is not worth a wake-up; after a round that waited, the next one hardly ever is.
        let mut is_rung = HAS_WAITED.swap(false, Relaxed);
        if is_rung {
            ring();
        }
        while take_look() {
            if !is_rung && HAS_WAITED.load(Relaxed) {
                is_rung = true;
                ring();
            }
        }
        loop {
            let done = DONE.load(Ordering::SeqCst);
            if done == u32::from(count) {
                break;
            }
            let _ = futex::wait(&DONE, futex::Flags::PRIVATE, done, None);
        }
    }
}

/// Takes the next look. False: there is none.
fn take_look() -> bool {
    loop {
        let word = ROUND.load(Ordering::SeqCst);
        let round = Round::of(word);
        if round.next >= round.count {
            return false;
        }
        let rest = Round {
            next: round.next + 1,
            ..round
        };
        let taken = ROUND.compare_exchange(word, rest.word(), Ordering::SeqCst, Relaxed);
        if taken.is_err() {
            continue;
        }
        // SAFETY: one of the array; taken by this thread alone, in this round; the helper writes the next ones when
        // all are done.
        let look = unsafe { &*ALL.0.get().cast::<Look>().add(usize::from(round.next)) };
        let begun = ticks::now();
        look.take();
        if ticks::now().saturating_sub(begun) > watch::wait_limit(LOOK_BYTES) {
            HAS_WAITED.store(true, Relaxed);
        }
        if DONE.fetch_add(1, Ordering::SeqCst) + 1 == u32::from(round.count) {
            let _ = futex::wake(&DONE, futex::Flags::PRIVATE, 1);
        }
        return true;
    }
}

extern "C" fn run(place: *mut c_void) -> *mut c_void {
    threads::note_number(place);
    guarded(|| {
        if !disk::leave_table_of_program() {
            return;
        }
        RUNNING.fetch_add(1, Ordering::SeqCst);
        loop {
            let bell = BELL.load(Ordering::SeqCst);
            if IS_OVER.load(Ordering::SeqCst) || state() != State::Running {
                break;
            }
            while take_look() {}
            let _ = futex::wait(&BELL, futex::Flags::PRIVATE, bell, None);
        }
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    });
    null_mut()
}
