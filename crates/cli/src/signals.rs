//! What the program does when it is told to end: long jobs stop in order, at their next moment.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, TERM_SIGNALS};
use signal_hook::flag;

/// A flag that is set when a signal asks this process to end.
///
/// # Errors
/// A signal cannot be handled.
pub(crate) fn stop_flag() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    stop_on_signals(&stop)?;
    Ok(stop)
}

/// [`stop_flag`], and the second signal ends this process at once with `status`.
///
/// # Errors
/// A signal cannot be handled.
pub(crate) fn impatient_stop_flag(status: u8) -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    // Before the flag is set by the same signal: handlers run in the order of their registration.
    for signal in TERM_SIGNALS {
        flag::register_conditional_shutdown(*signal, i32::from(status), Arc::clone(&stop))?;
    }
    stop_on_signals(&stop)?;
    Ok(stop)
}

/// A flag that is set when a signal asks this process to read its settings again.
///
/// # Errors
/// The signal cannot be handled.
pub(crate) fn hangup_flag() -> io::Result<Arc<AtomicBool>> {
    let again = Arc::new(AtomicBool::new(false));
    flag::register(SIGHUP, Arc::clone(&again))?;
    Ok(again)
}

fn stop_on_signals(stop: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in TERM_SIGNALS {
        flag::register(*signal, Arc::clone(stop))?;
    }
    Ok(())
}
