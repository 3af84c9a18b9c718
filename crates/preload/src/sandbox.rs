//! Whether the filters of system calls that this process runs under are known to let ours pass.
//!
//! A filter may answer any call that its author did not think of with the end of the process, and
//! a filter is inherited through exec. Every container has one, so having one says nothing.
//! `ahead run` tries all calls that the library makes in a process of its own, and when that
//! survives, hands over how many filters it ran under: `AHEAD_FILTERS`. As filters are only ever
//! added, the same number here means the same filters. With more of them, or with any when nothing
//! was handed over, the library makes no system call of its own.
//!
//! The number stands in /proc/self/status. To read it takes `openat`, `read`, `close`, `mmap` and
//! `munmap`, which the loader has used in this very process.

use crate::environment;
use ahead_sys::scratch::Scratch;
use rustix::fs::{CWD, Mode, OFlags};
use std::ffi::CStr;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;

/// Whether our own system calls are known to be safe in this process. Makes five system calls;
/// the answer holds until the process announces another sandbox. `None`: there was no memory to find out.
pub(crate) fn is_known() -> Option<bool> {
    is_known_by(c"AHEAD_FILTERS")
}

/// The same for the calls of the helper that goes ahead through trees, which are tried by themselves.
pub(crate) fn is_known_for_trees() -> Option<bool> {
    is_known_by(c"AHEAD_TREE_FILTERS")
}

fn is_known_by(variable: &CStr) -> Option<bool> {
    // Far enough for the lines about filters even where the list of groups before them is long.
    let mut memory = Scratch::new().ok()?;
    let Some(status) = read_status(&mut *memory) else {
        // Without /proc nothing can be known; and what keeps it away is a sandbox itself.
        return Some(false);
    };
    let vouched = environment::value(variable).and_then(|text| number(text.to_bytes()));
    Some(are_vouched_for(filters(status), vouched))
}

fn are_vouched_for(filters: Option<u64>, vouched: Option<u64>) -> bool {
    match filters {
        // A kernel without filters.
        None => true,
        Some(filters) => filters <= vouched.unwrap_or(0),
    }
}

fn read_status(buffer: &mut [u8]) -> Option<&[u8]> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(CWD, c"/proc/self/status", flags, Mode::empty()).ok()?;
    // Closed by the raw call below: the standard library would call our own hook.
    let file = ManuallyDrop::new(file);
    let mut length = 0;
    while let Some(rest) = buffer.get_mut(length..)
        && let Ok(read @ 1..) = rustix::io::read(&*file, rest)
    {
        length += read;
    }
    // SAFETY: ours, opened above, and not used again.
    unsafe { rustix::io::close(file.as_raw_fd()) };
    buffer.get(..length).filter(|text| !text.is_empty())
}

/// How many filters this text speaks of. Kernels before 5.9 only say that there are some: more than
/// anyone can vouch for.
fn filters(status: &[u8]) -> Option<u64> {
    let value = |name: &[u8]| {
        let mut lines = status.split(|byte| *byte == b'\n');
        number(lines.find_map(|line| line.strip_prefix(name))?)
    };
    let uncounted = |mode| if mode == 0 { 0 } else { u64::MAX };
    value(b"Seccomp_filters:").or_else(|| value(b"Seccomp:").map(uncounted))
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_counted_and_an_unknown_number_is_more_than_any() {
        let status = b"Name:\tcat\nSeccomp:\t2\nSeccomp_filters:\t3\nx:\t1\n";
        assert_eq!(filters(status), Some(3));
        assert_eq!(filters(b"Name:\tcat\nSeccomp:\t2\n"), Some(u64::MAX));
        assert_eq!(filters(b"Name:\tcat\nSeccomp:\t0\n"), Some(0));
        assert_eq!(filters(b"Name:\tcat\n"), None);
    }

    #[test]
    fn more_filters_than_were_tried_are_not_trusted() {
        assert!(are_vouched_for(None, None));
        assert!(are_vouched_for(Some(0), None));
        assert!(!are_vouched_for(Some(1), None));
        assert!(are_vouched_for(Some(1), Some(1)));
        assert!(!are_vouched_for(Some(2), Some(1)));
    }
}
