//! `mmap` - a file as memory, for reading single words through page faults.
//!
//! Goes through libc on purpose: a program that maps files does so too, and whoever interposes
//! that call shall see ours. Each word is read with a volatile access, so that a touch is a touch.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

/// A shared read-only mapping of a whole file.
///
/// Reading raises `SIGBUS` when the file was truncated below the word or the device failed, as
/// any mapped read does.
#[derive(Debug)]
pub struct MappedFile {
    address: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping is read-only.
unsafe impl Send for MappedFile {}
// SAFETY: as above.
unsafe impl Sync for MappedFile {}

impl MappedFile {
    /// Maps all of `file`. An empty file cannot be mapped (`InvalidInput`).
    pub fn map(file: &File) -> io::Result<Self> {
        let length =
            usize::try_from(file.metadata()?.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        if length == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: a fresh mapping at an address that the kernel picks touches no memory of ours.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let address = NonNull::new(address.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { address, length })
    }

    /// `madvise(MADV_SEQUENTIAL)` on all of it.
    pub fn advise_sequential(&self) -> io::Result<()> {
        self.advise(libc::MADV_SEQUENTIAL)
    }

    /// `madvise(MADV_RANDOM)` on all of it.
    pub fn advise_random(&self) -> io::Result<()> {
        self.advise(libc::MADV_RANDOM)
    }

    fn advise(&self, advice: libc::c_int) -> io::Result<()> {
        // SAFETY: the range is ours and mapped until `drop`; the advice changes no content.
        let result = unsafe { libc::madvise(self.address.as_ptr().cast(), self.length, advice) };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// The eight bytes at `offset`, little-endian; `None` when they are not all inside the file.
    #[must_use]
    pub fn word_at(&self, offset: u64) -> Option<u64> {
        let offset = usize::try_from(offset).ok()?;
        let end = offset.checked_add(size_of::<u64>())?;
        if end > self.length {
            return None;
        }
        // SAFETY: the eight bytes from `offset` are inside the mapping, checked above; an array of
        // bytes needs no alignment.
        let bytes: [u8; 8] = unsafe { self.address.add(offset).cast::<[u8; 8]>().read_volatile() };
        Some(u64::from_le_bytes(bytes))
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        // SAFETY: the range is ours, mapped in `map`, and no reference outlives `self`.
        unsafe { libc::munmap(self.address.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn words_are_read_where_they_are_and_none_behind_the_end() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&7u64.to_le_bytes()).unwrap();
        file.write_all(&9u64.to_le_bytes()).unwrap();
        let mapped = MappedFile::map(&file).unwrap();
        mapped.advise_random().unwrap();
        mapped.advise_sequential().unwrap();
        assert_eq!(mapped.word_at(8), Some(9));
        assert_eq!(mapped.word_at(9), None);
        assert_eq!(mapped.word_at(u64::MAX), None);
    }
}
