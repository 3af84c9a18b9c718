//! What the program that started us left us with, as it was before Rust's runtime began.
//!
//! That opens /dev/null for each of the descriptors 0 to 2 that is closed, and ignores SIGPIPE; a program that we start would have the former,
//! and SIGPIPE at its default. Services of systemd begin with SIGPIPE ignored, and `command >&-` is meant to see an error.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// Bit n is set when descriptor n was closed.
static CLOSED: AtomicU32 = AtomicU32::new(0);
static IGNORES_PIPE: AtomicBool = AtomicBool::new(false);

const STANDARD: std::ops::Range<i32> = 0..3;

/// Has [`note`] called before the runtime begins. For the root of a program: a library that others load has no business there.
#[macro_export]
macro_rules! note_inherited {
    () => {
        #[used]
        #[unsafe(link_section = ".init_array")]
        static NOTE_INHERITED: extern "C" fn() = $crate::inherited::note;
    };
}

/// Takes down how things are.
pub extern "C" fn note() {
    let closed = STANDARD
        // SAFETY: the call looks at a number, whether or not it is open.
        .filter(|&number| unsafe { libc::fcntl(number, libc::F_GETFD) } < 0)
        .fold(0, |closed, number| closed | 1 << number);
    CLOSED.store(closed, Relaxed);
    // SAFETY: all zero is an action.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: nothing is set, and `action` is ours.
    let answer = unsafe { libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut action) };
    let ignores = answer == 0 && action.sa_sigaction == libc::SIG_IGN;
    IGNORES_PIPE.store(ignores, Relaxed);
}

/// Whether descriptor `number`, one of 0 to 2, was closed: what is written there is not an error, and goes nowhere.
#[must_use]
pub fn was_closed(number: i32) -> bool {
    STANDARD.contains(&number) && CLOSED.load(Relaxed) & 1 << number != 0
}

/// The program that `command` starts, also in our place, inherits what was taken down.
pub fn hand_on(command: &mut Command) {
    // A child that has nothing to do before it runs is started with less.
    let (closed, ignores_pipe) = (CLOSED.load(Relaxed), IGNORES_PIPE.load(Relaxed));
    if closed == 0 && !ignores_pipe {
        return;
    }
    let restore = move || {
        for number in STANDARD.filter(|number| closed & 1 << number != 0) {
            // SAFETY: it stands for the /dev/null of the runtime, which nothing uses in a child that is about to run another program.
            unsafe { libc::close(number) };
        }
        if ignores_pipe {
            // SAFETY: to ignore a signal has no handler that could be called.
            unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
        }
        Ok(())
    };
    // SAFETY: two kinds of calls that may be made between fork and exec; nothing is allocated.
    unsafe { command.pre_exec(restore) };
}
