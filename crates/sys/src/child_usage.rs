//! `wait4` - how a child ended and what it used.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// How a child ended, and what it used with all its threads and reaped children.
#[derive(Clone, Copy, Debug)]
pub struct ChildEnd {
    /// Exit status, as from `std::process::Child::wait`.
    pub status: ExitStatus,
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel on the child's behalf.
    pub system: Duration,
    /// Most memory that the largest of them had resident at a time, in bytes.
    pub memory_bytes_max: u64,
}

/// Looks whether child `pid` has ended; `None` while it runs.
///
/// Reaps it: the `std::process::Child` it came from must not be waited for or killed afterwards.
pub fn try_wait(pid: u32) -> io::Result<Option<ChildEnd>> {
    wait(pid, libc::WNOHANG)
}

/// Waits until child `pid` has ended and reaps it. An interrupted wait is an error
/// (`Interrupted`), and may be repeated.
pub fn wait_blocking(pid: u32) -> io::Result<ChildEnd> {
    wait(pid, 0)?.ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn wait(pid: u32, flags: libc::c_int) -> io::Result<Option<ChildEnd>> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut status = 0;
    // SAFETY: rusage is a plain struct of integers, for which zeroes are a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live locals of the right type.
    let reaped = unsafe { libc::wait4(pid, &raw mut status, flags, &raw mut usage) };
    match reaped {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        _ => Ok(Some(ChildEnd {
            status: ExitStatus::from_raw(status),
            user: duration(usage.ru_utime),
            system: duration(usage.ru_stime),
            // The kernel counts in KiB here.
            memory_bytes_max: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
        })),
    }
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let micros = u64::try_from(time.tv_usec).unwrap_or(0);
    Duration::from_micros(seconds * 1_000_000 + micros)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    #[expect(clippy::zombie_processes, reason = "wait_blocking reaps it")]
    fn the_exit_code_of_a_child_comes_with_its_usage() {
        let child = Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
        let end = wait_blocking(child.id()).unwrap();
        assert_eq!(end.status.code(), Some(7));
    }
}
