//! The helper: a thread with a descriptor table of its own, made when something waits, gone when nothing does.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, Ordering::Relaxed};

use super::state::{State, change, ring, set, state};
use super::walk::Walk;
use super::work::Helper;
use super::{disk, events, state};
use crate::guard::guarded;
use crate::host;
use crate::memory::zeroed_array;
use crate::{sandbox, symbols, wake};

/// The stack, beside what the C library takes of it: the longest chain of calls needs 30 KiB.
const STACK_BYTES: usize = 256 << 10;
/// What the C library takes of a stack where it does not say: variables of the program's threads lie there.
const THREAD_BYTES: usize = 1 << 20;
/// How long the end of a helper is waited for. Longer takes only a file system that waits for this program.
const JOIN_S: libc::time_t = 5;
/// Turns that are given up for a helper that is being made, or is joined and not yet gone.
const TURNS: u32 = 10_000;

static WALK: AtomicPtr<Walk> = AtomicPtr::new(null_mut());
/// The thread, to be joined; 0: none.
static THREAD: AtomicU64 = AtomicU64::new(0);
static THREAD_ID: AtomicU32 = AtomicU32::new(0);
/// The process that made it. Others find it here that were made by a raw `clone`, and have no helper.
static MAKER: AtomicU32 = AtomicU32::new(0);
/// Threads that are making it.
static MAKERS: AtomicU32 = AtomicU32::new(0);

/// Makes the helper. What is in the way turns trees off in this process, silently.
pub(super) fn start() {
    MAKERS.fetch_add(1, Ordering::SeqCst);
    if is_own_thread() && change(State::Wanted, State::Running) {
        MAKER.store(crate::identity::process(), Relaxed);
        if not_cancelled(try_start).is_none() {
            set(State::Off);
        }
    }
    MAKERS.fetch_sub(1, Ordering::SeqCst);
}

/// Does what the C library might leave by cancelling the thread: nothing of ours may be left so.
fn not_cancelled<R>(work: impl FnOnce() -> R) -> R {
    let mut before = 0;
    // SAFETY: the only thing that is changed is put back, and the old value is a local.
    unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &raw mut before) };
    let result = work();
    // SAFETY: as above.
    unsafe { pthread_setcancelstate(before, null_mut()) };
    result
}

const PTHREAD_CANCEL_DISABLE: c_int = 1;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}

/// Bytes that the C library takes of every stack.
fn thread_bytes() -> usize {
    type Least = unsafe extern "C" fn(*const libc::pthread_attr_t) -> usize;
    let least = symbols::next(c"__pthread_get_minstack");
    if least.is_null() {
        return THREAD_BYTES;
    }
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: the function has had this type since it is there; the attributes are a local that the first call
    // fills.
    unsafe {
        let least = std::mem::transmute::<*mut c_void, Least>(least);
        libc::pthread_attr_init(attributes.as_mut_ptr());
        let bytes = least(attributes.as_ptr());
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        bytes
    }
}

/// Tries to make the helper where a signal handler may be running, until one succeeds: each costs a system call.
const TRIES: u32 = 32;
static TRIES_LEFT: AtomicU32 = AtomicU32::new(TRIES);

/// The same in a call that a signal handler may make, and which may have interrupted an allocator: only where
/// no signal is blocked, as the one whose handler runs would be.
#[cold]
pub(super) fn start_outside_of_handlers() {
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
        start();
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
    if !sandbox::is_known_for_trees() {
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
    join();
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: locals, each filled by the call before it is used. The C library leaves out of the set the
    // signals that it needs in every thread. The new thread inherits the mask.
    let failed = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_attr_init(attributes.as_mut_ptr());
        let stack_bytes = STACK_BYTES + thread_bytes().next_multiple_of(4096);
        libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), stack_bytes);
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        let failed =
            libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), run, null_mut());
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut());
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        failed
    };
    if failed != 0 {
        return None;
    }
    // SAFETY: filled by the call that succeeded.
    THREAD.store(unsafe { thread.assume_init() }, Relaxed);
    Some(())
}

/// Waits for the end of a helper that has ended, or is about to.
fn join() {
    let thread = THREAD.swap(0, Relaxed);
    if thread == 0 {
        return;
    }
    let mut until = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a local; and a thread that was made by us and not joined yet.
    unsafe {
        libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut until);
        until.tv_sec += JOIN_S;
        libc::pthread_timedjoin_np(thread, null_mut(), &raw const until);
    }
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
    not_cancelled(join);
    let thread = THREAD_ID.load(Relaxed);
    // Joined is a little earlier than gone. A number that is in use again ends this all the same.
    for _ in 0..TURNS {
        if thread == 0 || !disk::is_thread(thread) {
            break;
        }
        rustix::thread::sched_yield();
    }
    set(State::Off);
}

/// The child of a fork has no helper, and nothing that was said is about it.
pub(super) fn after_fork_in_child() {
    state::after_fork_in_child();
    THREAD.store(0, Relaxed);
    THREAD_ID.store(0, Relaxed);
    MAKER.store(0, Relaxed);
    MAKERS.store(0, Relaxed);
    events::forget_all();
}

extern "C" fn run(_: *mut c_void) -> *mut c_void {
    THREAD_ID.store(crate::identity::thread(), Relaxed);
    let done = guarded(|| {
        if !disk::leave_table_of_program() {
            return false;
        }
        let walk = WALK.load(Relaxed);
        // SAFETY: made before this thread, and only ever used by the one helper.
        match (unsafe { walk.as_mut() }, host::get()) {
            (Some(walk), Some(host)) => {
                let was_of_use = Helper::new(walk, host).work();
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
