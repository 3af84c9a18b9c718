//! `process_madvise` - asks for pages of another process's mappings ahead of use.
//!
//! See `man 2 process_madvise`. Advice that changes how a mapping is read (RANDOM, SEQUENTIAL) is refused from outside
//! by every kernel; asking for pages is not.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// `MADV_WILLNEED` for `bytes` bytes from `address` of the process that `process` (a pidfd) stands for: how many bytes
/// were taken. `ESRCH` when it has ended; `ENOMEM` for what is not mapped; `EPERM` without the right to trace it and
/// CAP_SYS_NICE.
pub fn will_need(process: impl AsFd, address: u64, bytes: u64) -> io::Result<u64> {
    let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let part = libc::iovec {
        iov_base: std::ptr::without_provenance_mut(usize::try_from(address).map_err(invalid)?),
        iov_len: usize::try_from(bytes).map_err(invalid)?,
    };
    // SAFETY: the kernel reads the one element of the vector during the call; the address in it is of the other
    // process, and advice reads and writes none of its memory.
    let result = unsafe {
        libc::syscall(
            libc::SYS_process_madvise,
            process.as_fd().as_raw_fd(),
            &raw const part,
            1,
            libc::MADV_WILLNEED,
            0,
        )
    };
    u64::try_from(result).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use rustix::process::{PidfdFlags, getpid, pidfd_open};

    use super::*;
    use crate::mapped_file::MappedFile;
    use crate::process_maps::mappings_of;

    #[test]
    fn a_mapping_is_found_in_the_list_and_can_be_asked_for() {
        let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&[7; 64 << 10]).unwrap();
        let mapped = MappedFile::map(&File::open(file.path()).unwrap()).unwrap();
        let me = getpid();
        let pid = me.as_raw_nonzero().get();
        let facts = file.as_file().metadata().unwrap();
        let found = mappings_of(Path::new("/proc"), pid, facts.ino()).unwrap();
        let [found] = found.as_slice() else {
            panic!("one mapping, not {found:?}");
        };
        assert_eq!((found.offset, found.length), (0, 64 << 10));
        let process = pidfd_open(me, PidfdFlags::empty()).unwrap();
        assert_eq!(will_need(&process, found.address, 8192).unwrap(), 8192);
        drop(mapped);
        assert!(will_need(&process, u64::MAX << 12, 4096).is_err());
    }
}
