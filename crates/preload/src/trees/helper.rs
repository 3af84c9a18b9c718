//! The helper: a thread with a descriptor table of its own, made when something waits, gone when nothing does.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering, Ordering::Relaxed};

use super::state::{State, change, ring, set, state};
use super::threads::{HELPER, TURNS, not_cancelled};
use super::walk::Walk;
use super::work::Helper;
use super::{disk, events, readers, state, threads};
use crate::guard::guarded;
use crate::host;
use crate::memory::zeroed_array;
use crate::{sandbox, wake};

static WALK: AtomicPtr<Walk> = AtomicPtr::new(null_mut());
/// The process that made it. Others find it here that were made by a raw `clone`, and have no helper.
static MAKER: AtomicU32 = AtomicU32::new(0);
/// Threads that are making it, or would: one at a time does.
static MAKERS: AtomicU32 = AtomicU32::new(0);

/// Makes the helper. What is in the way turns trees off in this process, silently.
pub(super) fn start() {
    let is_only_maker = MAKERS.fetch_add(1, Ordering::SeqCst) == 0;
    if is_only_maker && is_own_thread() && change(State::Wanted, State::Running) {
        MAKER.store(crate::identity::process(), Relaxed);
        if not_cancelled(try_start).is_none() {
            set(State::Off);
        }
    }
    MAKERS.fetch_sub(1, Ordering::SeqCst);
}

/// Makes the readers, if there is a helper that they can read for. Those that cannot be made are done without.
pub(super) fn start_readers() {
    let is_only_maker = MAKERS.fetch_add(1, Ordering::SeqCst) == 0;
    if is_only_maker
        && is_own_thread()
        && state() == State::Running
        && MAKER.load(Relaxed) == crate::identity::process()
    {
        not_cancelled(readers::make);
    }
    MAKERS.fetch_sub(1, Ordering::SeqCst);
}

/// Tries to make threads where a signal handler may be running, until that succeeds: each costs a system call.
const TRIES: u32 = 32;
static TRIES_LEFT: AtomicU32 = AtomicU32::new(TRIES);

/// The same in a call that a signal handler may make, and which may have interrupted an allocator: only where
/// no signal is blocked, as the one whose handler runs would be.
#[cold]
pub(super) fn outside_of_handlers(make: fn()) {
    let left = TRIES_LEFT.load(Relaxed);
    if left == 0 {
        return;
    }
    TRIES_LEFT.store(left - 1, Relaxed);
    let mut mask = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: asks only; the set is a local.
    let failed = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, null_mut(), mask.as_mut_ptr()) };
    // SAFETY: filled by the call, or all zeroes, which is a set too.
    let mask = unsafe { mask.assume_init() };
    // SAFETY: a valid set, and numbers of signals.
    let is_blocked = |signal| unsafe { libc::sigismember(&raw const mask, signal) } != 0;
    if failed == 0 && !(1..=31).chain(34..=64).any(is_blocked) {
        make();
        TRIES_LEFT.store(TRIES, Relaxed);
    }
}

/// False in the child of a `vfork`, which borrows the thread of its parent.
fn is_own_thread() -> bool {
    let mut clock = 0;
    // SAFETY: a local to write to. The clock of a thread is made of the number that the C library knows.
    let failed = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
    failed == 0 && u32::try_from(!(clock >> 3)) == Ok(crate::identity::thread())
}

fn try_start() -> Option<()> {
    let host = wake::host()?;
    if sandbox::is_known_for_trees() != Some(true) {
        return None;
    }
    let mut walk = WALK.load(Relaxed);
    if walk.is_null() {
        // SAFETY: all-zero bytes are a valid walk, of plain numbers and enums with a variant 0.
        walk = unsafe { zeroed_array::<MaybeUninit<Walk>>(1)? }
            .as_ptr()
            .cast_mut()
            .cast();
        WALK.store(walk, Relaxed);
    }
    host.learn_memory();
    threads::join();
    readers::begin();
    threads::make(HELPER, run)
}

/// Ends the helper, and waits until the kernel does not count it any more.
pub(super) fn stop() {
    if state() == State::Off {
        return;
    }
    let maker = MAKER.load(Relaxed);
    if maker != 0 && maker != crate::identity::process() {
        // Here is none. If this is the child of a `vfork`, that of its parent ends by itself.
        set(State::Off);
        return;
    }
    // Also where it has just ended by itself, or another thread stops it: it may not be gone yet.
    set(State::Stopping);
    for _ in 0..TURNS {
        if MAKERS.load(Ordering::SeqCst) == 0 {
            break;
        }
        rustix::thread::sched_yield();
    }
    ring();
    not_cancelled(threads::join);
    threads::wait_until_gone();
    set(State::Off);
}

/// The child of a fork has no helper, and nothing that was said is about it.
pub(super) fn after_fork_in_child() {
    state::after_fork_in_child();
    threads::after_fork_in_child();
    readers::after_fork_in_child();
    MAKER.store(0, Relaxed);
    MAKERS.store(0, Relaxed);
    events::forget_all();
}

extern "C" fn run(place: *mut c_void) -> *mut c_void {
    threads::note_number(place);
    let done = guarded(|| {
        if !disk::leave_table_of_program() {
            return false;
        }
        let walk = WALK.load(Relaxed);
        // SAFETY: made before this thread, and only ever used by the one helper.
        match (unsafe { walk.as_mut() }, host::get()) {
            (Some(walk), Some(host)) => {
                let was_of_use = Helper::new(walk, host).work();
                readers::end();
                state::on_end(was_of_use);
                true
            }
            _ => false,
        }
    });
    if done == Some(true) {
        // What the program wants next it has to wait for again.
        change(State::Running, State::Idle);
    } else {
        change(State::Running, State::Off);
    }
    null_mut()
}
