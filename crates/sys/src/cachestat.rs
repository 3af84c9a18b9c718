//! `cachestat` - how many pages of a file are in the page cache, and in which state.
//!
//! Since Linux 6.5. The libc crate does not have it. See `mm/filemap.c`; there is no manual page yet.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The same number on every architecture that has the generic table, x86 included.
const SYS_CACHESTAT: libc::c_long = 451;

/// `struct cachestat_range`, in bytes; length 0 reaches to the end.
#[repr(C)]
struct Range {
    offset: u64,
    length: u64,
}

/// `struct cachestat`: pages of the asked range.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStat {
    /// In the cache, whether up to date or still being read.
    pub cached: u64,
    /// Of these, to be written back.
    pub dirty: u64,
    /// Of these, being written back.
    pub writeback: u64,
    /// Not in the cache, but remembered as having been there.
    pub evicted: u64,
    /// Of the evicted, those that a somewhat larger memory would have kept.
    pub recently_evicted: u64,
}

/// Counts the pages of the whole file. Errors as [`cachestat_range`].
pub fn cachestat(file: impl AsFd) -> io::Result<CacheStat> {
    cachestat_range(file, 0, 0)
}

/// Counts the pages of `length` bytes from `offset`; length 0 reaches to the end. `EPERM` without the right to write to it; `ENOSYS` before
/// 6.5; `EOPNOTSUPP` on hugetlbfs.
pub fn cachestat_range(file: impl AsFd, offset: u64, length: u64) -> io::Result<CacheStat> {
    let range = Range { offset, length };
    let mut answer = CacheStat::default();
    // SAFETY: both structures have the kernel's layout (64-bit fields only) and outlive the call;
    // the kernel reads the first and writes the second.
    let result = unsafe {
        libc::syscall(
            SYS_CACHESTAT,
            file.as_fd().as_raw_fd(),
            &raw const range,
            &raw mut answer,
            0,
        )
    };
    if result == 0 {
        Ok(answer)
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn pages_just_written_are_in_the_cache() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 3 * 4096 + 1]).unwrap();
        assert_eq!(cachestat(&file).unwrap().cached, 4);
        assert_eq!(cachestat_range(&file, 4096, 8192).unwrap().cached, 2);
    }
}
