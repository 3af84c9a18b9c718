//! What there is of the helper, and how it is woken.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, Ordering::Relaxed};

use ahead_policy::file_order::limits::HELPER_WAITS_MIN;
use rustix::thread::futex;

use super::events;
use crate::ticks;

/// How long a helper waits for something to do. Longer, and a process whose first thread has ended lives so much
/// longer; shorter, and a program that thinks for a while pays for a thread again.
const IDLE_NS: i64 = 500_000_000;

/// Looks in a row that led to nothing, after which nothing is expected of the next visits. Fewer, and a program that
/// begins its walk late is followed later; more, and one that opens files in no order pays for each of them for longer.
const UNEXPECTED: u32 = 32;
/// The helper is woken for visits of which nothing is expected once in this time at most, in microseconds. Waking takes 16 us
/// of the program's, and flash has opened and read a small file in 200.
const UNEXPECTED_US: u64 = 2000;

/// What there is of the helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum State {
    /// There will be none.
    Off = 0,
    /// Nothing has waited.
    Idle = 1,
    /// It is to be made.
    Wanted = 2,
    Running = 3,
    /// It is to end, and there will be none.
    Stopping = 4,
}

/// Times as many waits after which a helper is wanted where the last ones were of no use, at most. Fewer, and a database that opens its tables by name has one again
/// and again; more, and what it does after that is hardly ever helped.
const TIMES_MAX: u32 = 1 << 10;
static WAITS: AtomicU32 = AtomicU32::new(0);
/// Waits that count once a read has waited too.
static WAITS_AT_HAND: AtomicU32 = AtomicU32::new(0);
/// Waits after which a helper is wanted, in [`HELPER_WAITS_MIN`].
static TIMES_NEEDED: AtomicU32 = AtomicU32::new(1);

static STATE: AtomicU32 = AtomicU32::new(State::Off as u32);
/// Grows with each reason to look.
static BELL: AtomicU32 = AtomicU32::new(0);
static IS_ASLEEP: AtomicBool = AtomicBool::new(false);
/// Looks in a row that led to nothing.
static FRUITLESS: AtomicU32 = AtomicU32::new(0);
/// When it was woken last for a visit of which nothing was expected, in ticks.
static WOKEN: AtomicU64 = AtomicU64::new(0);

#[inline]
pub(super) fn state() -> State {
    match STATE.load(Relaxed) {
        1 => State::Idle,
        2 => State::Wanted,
        3 => State::Running,
        4 => State::Stopping,
        _ => State::Off,
    }
}

pub(super) fn set(state: State) {
    STATE.store(state as u32, Ordering::SeqCst);
}

pub(super) fn change(from: State, to: State) -> bool {
    STATE
        .compare_exchange(from as u32, to as u32, Ordering::SeqCst, Relaxed)
        .is_ok()
}

/// A helper is wanted.
pub(super) fn want() {
    change(State::Idle, State::Wanted);
}

/// Something waited while there was no helper.
pub(super) fn count_wait() {
    WAITS.fetch_add(1, Relaxed);
}

/// A program that only asks so far waited for what the disk had at hand.
pub(super) fn count_wait_at_hand() {
    WAITS_AT_HAND.fetch_add(1, Relaxed);
}

/// It does not only ask: these waits count.
pub(super) fn count_waits_at_hand() {
    WAITS.fetch_add(WAITS_AT_HAND.swap(0, Relaxed), Relaxed);
}

/// Whether enough waits were counted for a helper to be worth its making.
pub(super) fn has_waited_enough() -> bool {
    WAITS.load(Relaxed) >= HELPER_WAITS_MIN.get() * TIMES_NEEDED.load(Relaxed)
}

/// A helper ends: what the program wants next it has to wait for again, much longer where the helper was of no use.
pub(super) fn on_end(was_of_use: bool) {
    let needed = if was_of_use {
        1
    } else {
        (TIMES_NEEDED.load(Relaxed) * 4).min(TIMES_MAX)
    };
    TIMES_NEEDED.store(needed, Relaxed);
    WAITS.store(0, Relaxed);
}

/// The child of a fork has no helper.
pub(super) fn after_fork_in_child() {
    if matches!(state(), State::Running | State::Wanted) {
        set(State::Idle);
    }
    IS_ASLEEP.store(false, Relaxed);
}

/// The helper has looked at what there was, and `is_fruitful`: found something to fetch, or that what it had fetched is used.
pub(super) fn on_look(is_fruitful: bool) {
    let fruitless = if is_fruitful {
        0
    } else {
        FRUITLESS.load(Relaxed).saturating_add(1)
    };
    FRUITLESS.store(fruitless, Relaxed);
}

/// There is something to look at: a visit, which may lead to nothing as those before did.
#[inline]
pub(super) fn wake_for_visit() {
    if is_asleep() && is_due() {
        ring();
    }
}

/// Whether visits are expected to lead to something, or none was looked at for long.
fn is_due() -> bool {
    if FRUITLESS.load(Relaxed) < UNEXPECTED {
        return true;
    }
    let now = ticks::now();
    let passed = now.wrapping_sub(WOKEN.load(Relaxed));
    let is_due = passed >= UNEXPECTED_US * ticks::RATE.per_us();
    if is_due {
        WOKEN.store(now, Relaxed);
    }
    is_due
}

/// There is something to look at.
#[inline]
pub(super) fn wake() {
    if is_asleep() {
        ring();
    }
}

/// Whether the helper sleeps, or is about to and does not see what was said before.
#[inline]
fn is_asleep() -> bool {
    std::sync::atomic::fence(Ordering::SeqCst);
    IS_ASLEEP.load(Ordering::SeqCst)
}

#[cold]
pub(super) fn ring() {
    IS_ASLEEP.store(false, Ordering::SeqCst);
    BELL.fetch_add(1, Ordering::SeqCst);
    let _ = futex::wake(&BELL, futex::Flags::PRIVATE, 1);
}

/// Waits until there is something to look at. False: there was nothing for long.
pub(super) fn sleep() -> bool {
    let bell = BELL.load(Ordering::SeqCst);
    IS_ASLEEP.store(true, Ordering::SeqCst);
    std::sync::atomic::fence(Ordering::SeqCst);
    let mut goes_on = true;
    if events::is_empty() && state() == State::Running {
        let limit = rustix::time::Timespec {
            tv_sec: 0,
            tv_nsec: IDLE_NS,
        };
        let waited = futex::wait(&BELL, futex::Flags::PRIVATE, bell, Some(&limit));
        // Visits of which nothing was expected may have come since.
        goes_on = waited != Err(rustix::io::Errno::TIMEDOUT) || !events::is_empty();
    }
    IS_ASLEEP.store(false, Ordering::SeqCst);
    goes_on
}
