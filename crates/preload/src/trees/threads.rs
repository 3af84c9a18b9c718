//! The threads that trees need: made and joined in the program's own thread, as both may allocate there.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use ahead_policy::file_order::limits::READ_AT_ONCE;

use super::disk;
use crate::symbols;

/// The helper's place; those behind it are the readers'.
pub(super) const HELPER: usize = 0;

/// The stack, beside what the C library takes of it: the longest chain of calls needs 30 KiB.
const STACK_BYTES: usize = 256 << 10;
/// What the C library takes of a stack where it does not say: variables of the program's threads lie there.
const THREAD_BYTES: usize = 1 << 20;
/// How long the end of the threads is waited for. Longer takes only a file system that waits for this program.
const JOIN_S: libc::time_t = 5;
/// Turns that are given up for a thread that is being made, or is joined and not yet gone.
pub(super) const TURNS: u32 = 10_000;

struct Place {
    /// To be joined; 0: none.
    thread: AtomicU64,
    /// The kernel's number.
    number: AtomicU32,
}

static PLACES: [Place; READ_AT_ONCE] = [const {
    Place {
        thread: AtomicU64::new(0),
        number: AtomicU32::new(0),
    }
}; READ_AT_ONCE];

pub(super) type Entry = extern "C" fn(*mut c_void) -> *mut c_void;

/// Makes the thread of a place, that runs `entry` with all signals blocked. What was there has to be joined.
pub(super) fn make(place: usize, entry: Entry) -> Option<()> {
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let number = std::ptr::without_provenance_mut(place);
    // SAFETY: locals, each filled by the call before it is used. The C library leaves out of the set the
    // signals that it needs in every thread. The new thread inherits the mask.
    let failed = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_attr_init(attributes.as_mut_ptr());
        let stack_bytes = STACK_BYTES + thread_bytes().next_multiple_of(4096);
        libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), stack_bytes);
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        let failed = libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), entry, number);
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut());
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        failed
    };
    if failed != 0 {
        return None;
    }
    // SAFETY: filled by the call that succeeded.
    PLACES[place]
        .thread
        .store(unsafe { thread.assume_init() }, Relaxed);
    Some(())
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

/// The running thread is that of this place: what [`make`] gave to its entry.
pub(super) fn note_number(place: *mut c_void) {
    PLACES[place.addr()]
        .number
        .store(crate::identity::thread(), Relaxed);
}

/// Waits for the end of threads that have ended, or are about to.
pub(super) fn join() {
    let mut until = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    for place in &PLACES {
        let thread = place.thread.swap(0, Relaxed);
        if thread == 0 {
            continue;
        }
        // SAFETY: a local; and a thread that was made by us and not joined yet.
        unsafe {
            if until.tv_sec == 0 {
                libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut until);
                until.tv_sec += JOIN_S;
            }
            libc::pthread_timedjoin_np(thread, null_mut(), &raw const until);
        }
    }
}

/// Waits until the kernel does not count them any more: joined is a little earlier than gone. A number that is in use
/// again ends this all the same.
pub(super) fn wait_until_gone() {
    for place in &PLACES {
        let number = place.number.load(Relaxed);
        for _ in 0..TURNS {
            if number == 0 || !disk::is_thread(number) {
                break;
            }
            rustix::thread::sched_yield();
        }
    }
}

/// The child of a fork has none of them.
pub(super) fn after_fork_in_child() {
    for place in &PLACES {
        place.thread.store(0, Relaxed);
        place.number.store(0, Relaxed);
    }
}

/// Does what the C library might leave by cancelling the thread: nothing of ours may be left so.
pub(super) fn not_cancelled<R>(work: impl FnOnce() -> R) -> R {
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
