//! `readahead` - asks for bytes of a file ahead of use.
//!
//! Returns before they are there, in principle; the kernel may ask for fewer, and says nothing
//! about it. See `man 2 readahead`. The raw call: the interposed library stands in front of the C
//! function of this name, and asks from here.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Asks for `bytes` bytes from `offset`. `EBADF` for a descriptor that cannot be read from;
/// `EINVAL` for what is neither a file nor a block device.
pub fn readahead(file: impl AsFd, offset: u64, bytes: u64) -> io::Result<()> {
    let offset = libc::off64_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
    let bytes = usize::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the arguments are a descriptor and numbers.
    let result =
        unsafe { libc::syscall(libc::SYS_readahead, file.as_fd().as_raw_fd(), offset, bytes) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_can_be_asked_and_pipes_cannot() {
        let file = tempfile::tempfile().unwrap();
        readahead(&file, 0, 1 << 20).unwrap();
        let (reader, _writer) = io::pipe().unwrap();
        let refused = readahead(&reader, 0, 1).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EINVAL));
    }
}
