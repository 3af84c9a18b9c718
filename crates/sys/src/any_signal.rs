//! `kill` with a number: real-time signals and SIGPWR have no name in rustix.

use std::io;

use rustix::process::Pid;

/// Sends `signal` to one process. See `man 2 kill`.
pub fn send(process: Pid, signal: i32) -> io::Result<()> {
    // SAFETY: two numbers.
    match unsafe { libc::kill(process.as_raw_nonzero().get(), signal) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
