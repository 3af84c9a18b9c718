//! `mmap`, `munmap` - memory for a moment that is not on the stack.
//!
//! A library inside another program runs on whatever stack a thread has: 16 KiB of a small thread,
//! 8 KiB of a signal handler, of which its registers take half. What needs a page takes it here, and
//! the program's allocator is left alone.

use std::ops::{Deref, DerefMut};
use std::ptr::null_mut;

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

/// Bytes of one: whole pages.
pub const SCRATCH_BYTES: usize = 8192;

/// Zeroed memory that is given back when it is dropped.
#[derive(Debug)]
pub struct Scratch(*mut [u8; SCRATCH_BYTES]);

impl Scratch {
    /// Maps it. `NOMEM` without address space.
    pub fn new() -> Result<Self, Errno> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice.
        let address = unsafe {
            rustix::mm::mmap_anonymous(null_mut(), SCRATCH_BYTES, access, MapFlags::PRIVATE)
        }?;
        Ok(Self(address.cast()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length, and borrowed by nobody any more.
        let _ = unsafe { rustix::mm::munmap(self.0.cast(), SCRATCH_BYTES) };
    }
}

impl Deref for Scratch {
    type Target = [u8; SCRATCH_BYTES];

    fn deref(&self) -> &Self::Target {
        // SAFETY: mapped until it is dropped, readable, and every byte is a value.
        unsafe { &*self.0 }
    }
}

impl DerefMut for Scratch {
    fn deref_mut(&mut self) -> &mut Self::Target {
        // SAFETY: as above, writable, and this is the only way to it.
        unsafe { &mut *self.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_as_zeros_and_holds_what_is_written() {
        let mut scratch = Scratch::new().unwrap();
        assert!(scratch.iter().all(|byte| *byte == 0));
        scratch[SCRATCH_BYTES - 1] = 7;
        assert_eq!(
            scratch.iter().map(|byte| usize::from(*byte)).sum::<usize>(),
            7
        );
    }

    /// Each would be address space that the program has no more. Another thread may map something there at once.
    #[test]
    fn what_is_dropped_is_not_mapped_any_more() {
        let is_mapped = |address: *mut u8| {
            let mut resident = [0; SCRATCH_BYTES / 4096];
            // SAFETY: only looks; one byte for each page.
            unsafe { libc::mincore(address.cast(), SCRATCH_BYTES, resident.as_mut_ptr()) == 0 }
        };
        let is_gone = |()| {
            let mut scratch = Scratch::new().unwrap();
            let address = scratch.as_mut_ptr();
            assert!(is_mapped(address));
            drop(scratch);
            !is_mapped(address)
        };
        assert!(std::iter::repeat_n((), 100).any(is_gone));
    }
}
