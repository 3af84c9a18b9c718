//! `mmap` with `MAP_NORESERVE` - a large array of bytes that costs memory only where it was written.

use std::io;
use std::ptr::NonNull;

/// Private memory, zero until written. Goes with the value.
#[derive(Debug)]
pub struct AnonymousMemory {
    address: NonNull<u8>,
    length: usize,
}

// SAFETY: the memory belongs to this value alone, as that of a Box does.
unsafe impl Send for AnonymousMemory {}
// SAFETY: as above; shared access is reading only.
unsafe impl Sync for AnonymousMemory {}

impl AnonymousMemory {
    /// Maps `length` bytes (`InvalidInput` for 0), in huge pages where the kernel has them.
    pub fn map(length: usize) -> io::Result<Self> {
        // SAFETY: a fresh mapping at an address that the kernel picks touches no memory of ours.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // Only a hint, so its failure is none.
        // SAFETY: the range was just mapped.
        unsafe { libc::madvise(address, length, libc::MADV_HUGEPAGE) };
        let address = NonNull::new(address.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { address, length })
    }

    /// The bytes, for reading.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping has this length, is readable and initialised (zero), and lives as long
        // as `self`; writing needs `&mut self`.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.length) }
    }

    /// The bytes, for writing.
    #[must_use]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `&mut self` makes this the only access.
        unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr(), self.length) }
    }
}

impl Drop for AnonymousMemory {
    fn drop(&mut self) {
        // SAFETY: the range is ours, mapped in `map`, and no reference outlives `self`.
        unsafe { libc::munmap(self.address.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zero_until_it_is_written() {
        let mut memory = AnonymousMemory::map(1 << 30).unwrap();
        memory.bytes_mut()[1 << 29] = 7;
        assert_eq!(memory.bytes()[(1 << 29) - 1..=(1 << 29) + 1], [0, 7, 0]);
        assert_eq!(memory.bytes().len(), 1 << 30);
    }
}
