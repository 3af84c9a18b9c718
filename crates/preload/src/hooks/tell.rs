//! Every word to the decisions goes through here, so that the program cannot notice it.
//!
//! `errno` is put back: what the program finds there is what the real call left. A broken
//! invariant ends as a panic, which stops at this line: nothing is told any more in this process,
//! and every hook is a plain call.

use libc::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Set when an invariant was found broken.
static STEPPED_ASIDE: AtomicBool = AtomicBool::new(false);

/// Whether a broken invariant ends the process: for tests, which would not notice otherwise.
static IS_STRICT: AtomicBool = AtomicBool::new(false);

/// This thread's `errno` as it was.
pub(super) struct Errno {
    location: *mut c_int,
    value: c_int,
}

impl Errno {
    /// Takes note of it.
    #[inline]
    pub(super) fn keep() -> Self {
        // SAFETY: the location is this thread's own and lives as long as the thread.
        let location = unsafe { libc::__errno_location() };
        // SAFETY: as above; nobody else writes it while this thread is here.
        let value = unsafe { location.read() };
        Self { location, value }
    }

    /// Makes it so again.
    #[inline]
    pub(super) fn put_back(self) {
        // SAFETY: still this thread's own: the value holds a pointer, so it cannot be sent.
        unsafe { self.location.write(self.value) };
    }
}

/// Runs `work` with this thread's `errno` kept. `None`: it panicked now or something did before.
#[inline]
pub(super) fn tell<R>(work: impl FnOnce() -> R) -> Option<R> {
    if STEPPED_ASIDE.load(Ordering::Relaxed) {
        return None;
    }
    let errno = Errno::keep();
    let result = catch_unwind(AssertUnwindSafe(work));
    errno.put_back();
    match result {
        Ok(result) => Some(result),
        Err(payload) => {
            // Not freed: that could panic again, and it happens once.
            std::mem::forget(payload);
            STEPPED_ASIDE.store(true, Ordering::Relaxed);
            if IS_STRICT.load(Ordering::Relaxed) {
                std::process::abort();
            }
            None
        }
    }
}

/// Chooses what becomes of a broken invariant: tests ask for the end of the process and the
/// message, everybody else gets silence. The hook is that of our own copy of the standard
/// library, so programs that are written in Rust keep their own messages.
pub(super) fn prepare() {
    // SAFETY: constructors run before the program's threads, so nobody changes the environment.
    if unsafe { libc::getenv(c"AHEAD_STRICT".as_ptr()) }.is_null() {
        std::panic::set_hook(Box::new(|_| {}));
    } else {
        IS_STRICT.store(true, Ordering::Relaxed);
    }
}
