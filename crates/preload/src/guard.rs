//! Everything of ours that could fail runs in here, so that the program cannot notice it.
//!
//! `errno` is put back: what the program finds there is what the real call left. A broken
//! invariant ends as a panic, which stops at this line: from then on nothing is decided any more in
//! this process, and every hook is a plain call.
//!
//! What runs in here is never on the stack while a real call is made. A thread that is cancelled
//! inside a real call is unwound by the program's own unwinder, ours is linked in, and the two
//! should not have to agree on anything: frames without clean-up are the same for all of them.

use crate::aside;
use crate::real::Errno;
use ahead_engine::report::Aside;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Set when an invariant was found broken.
static STEPPED_ASIDE: AtomicBool = AtomicBool::new(false);

/// Whether a broken invariant ends the process: for tests, which would not notice otherwise.
static IS_STRICT: AtomicBool = AtomicBool::new(false);

/// Runs `work` with this thread's `errno` kept. `None`: it panicked now or something did before, or this thread has
/// no `errno`.
#[inline(never)]
pub(crate) fn guarded<R>(work: impl FnOnce() -> R) -> Option<R> {
    if STEPPED_ASIDE.load(Ordering::Relaxed) {
        return None;
    }
    let errno = Errno::keep()?;
    let result = catch_unwind(AssertUnwindSafe(work));
    errno.put_back();
    match result {
        Ok(result) => Some(result),
        Err(payload) => {
            // Not freed: that could panic again, and it happens once.
            std::mem::forget(payload);
            STEPPED_ASIDE.store(true, Ordering::Relaxed);
            aside::count(Aside::BrokenInvariant);
            if IS_STRICT.load(Ordering::Relaxed) {
                std::process::abort();
            }
            None
        }
    }
}

/// Chooses what becomes of a broken invariant: tests want the end of the process and the message,
/// everything else silence. The hook is that of our own copy of the standard library, so programs
/// that are written in Rust keep their own messages. Comes before the first work that can panic.
pub(crate) fn prepare(is_strict: bool) {
    if is_strict {
        IS_STRICT.store(true, Ordering::Relaxed);
    } else {
        std::panic::set_hook(Box::new(|_| {}));
    }
}
