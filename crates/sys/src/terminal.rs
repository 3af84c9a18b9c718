//! `tcsetpgrp` and `tcsetattr` - who reads from the terminal, and how it is set.
//!
//! A process group that is not in the foreground is stopped when it reads from its terminal, or changes it.

use std::mem::MaybeUninit;

use libc::{STDIN_FILENO, c_int, pid_t, sigset_t, termios};

/// The terminal of standard input, lent to another process group; it is taken back as it was when this
/// value is dropped.
#[derive(Debug)]
pub struct Lent {
    group: pid_t,
    settings: termios,
}

/// Makes `group` the foreground of the terminal that standard input is. `None` where it is none, or not
/// ours to lend.
#[must_use]
pub fn lend(group: c_int) -> Option<Lent> {
    // SAFETY: plain numbers.
    let own = unsafe { libc::tcgetpgrp(STDIN_FILENO) };
    // SAFETY: no arguments.
    if own < 0 || own != unsafe { libc::getpgrp() } {
        return None;
    }
    let mut settings = MaybeUninit::<termios>::uninit();
    // SAFETY: filled by the call when it succeeds.
    let settings = unsafe {
        if libc::tcgetattr(STDIN_FILENO, settings.as_mut_ptr()) != 0 {
            return None;
        }
        settings.assume_init()
    };
    // SAFETY: plain numbers; we are the foreground.
    let is_lent = unsafe { libc::tcsetpgrp(STDIN_FILENO, group) } == 0;
    is_lent.then_some(Lent {
        group: own,
        settings,
    })
}

impl Drop for Lent {
    fn drop(&mut self) {
        // In the background now: without this the calls below would stop us.
        let mut stops = MaybeUninit::<sigset_t>::uninit();
        let mut before = MaybeUninit::<sigset_t>::uninit();
        // SAFETY: both sets are filled before they are read; descriptor and group are plain numbers, and
        // the settings were read from this terminal. Whatever fails leaves the terminal as it is.
        unsafe {
            libc::sigemptyset(stops.as_mut_ptr());
            libc::sigaddset(stops.as_mut_ptr(), libc::SIGTTOU);
            if libc::pthread_sigmask(libc::SIG_BLOCK, stops.as_ptr(), before.as_mut_ptr()) != 0 {
                return;
            }
            libc::tcsetpgrp(STDIN_FILENO, self.group);
            libc::tcsetattr(STDIN_FILENO, libc::TCSADRAIN, &raw const self.settings);
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
        }
    }
}
