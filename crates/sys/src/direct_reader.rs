//! `io_uring` - many reads in flight from one thread, each into a buffer that this file owns.
//!
//! A reader for measuring devices: the caller keeps a queue full and looks at what arrives.
//! Alignment for `O_DIRECT` is the caller's duty as far as offsets and lengths go; the buffers are
//! aligned to huge pages.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;

use io_uring::{IoUring, opcode, types};

const ARENA_ALIGNMENT: usize = 2 << 20;

/// A ring with `depth` buffers of equal size.
pub struct DirectReader {
    // Declared first so that it is closed before the arena goes; `drop` has emptied it by then.
    ring: IoUring,
    arena: Arena,
    buffer_bytes: usize,
    free: Vec<usize>,
    in_flight: usize,
}

/// What arrived.
#[derive(Debug)]
pub struct ReadCompletion<'a> {
    /// What the caller gave to [`DirectReader::push`].
    pub tag: u32,
    /// The bytes read, less than asked for only at the end of the file; or why there are none.
    pub bytes: io::Result<&'a [u8]>,
}

impl DirectReader {
    /// Builds a ring for up to `depth` reads of up to `buffer_bytes` each.
    /// Fails where the kernel or a sandbox refuses io_uring.
    pub fn new(depth: u32, buffer_bytes: usize) -> io::Result<Self> {
        let ring = IoUring::new(depth.next_power_of_two())?;
        let slots = usize::try_from(depth).map_err(|_| io::ErrorKind::InvalidInput)?;
        let bytes = slots
            .checked_mul(buffer_bytes)
            .ok_or(io::ErrorKind::InvalidInput)?;
        let arena = Arena::new(bytes)?;
        Ok(Self {
            ring,
            arena,
            buffer_bytes,
            free: (0..slots).collect(),
            in_flight: 0,
        })
    }

    /// How many more reads can be pushed before one has to arrive.
    #[must_use]
    pub fn free_slots(&self) -> usize {
        self.free.len()
    }

    /// How many reads are on their way.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Queues a read of `length` bytes (at most the buffer size) at `offset`. It starts with the
    /// next [`DirectReader::wait`]; `file` must stay open until then.
    /// `WouldBlock` when none is free.
    pub fn push(
        &mut self,
        file: impl AsFd,
        offset: u64,
        length: usize,
        tag: u32,
    ) -> io::Result<()> {
        if length > self.buffer_bytes {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let length = u32::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?;
        let slot = self.free.pop().ok_or(io::ErrorKind::WouldBlock)?;
        let buffer = self.arena.slot(slot, self.buffer_bytes);
        let slot_bits = u64::try_from(slot).map_err(|_| io::ErrorKind::InvalidInput)?;
        let entry = opcode::Read::new(types::Fd(file.as_fd().as_raw_fd()), buffer, length)
            .offset(offset)
            .build()
            .user_data(slot_bits << 32 | u64::from(tag));
        // SAFETY: the buffer belongs to `arena`, is at least `length` bytes long, is lent to
        // no other request while its slot is off the free list, and outlives the request: `drop` waits.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        if pushed.is_err() {
            self.free.push(slot);
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.in_flight += 1;
        Ok(())
    }

    /// Starts what was pushed, waits for at least one arrival, and shows every arrival to `visit`.
    /// Returns at once when nothing is on its way.
    pub fn wait(&mut self, mut visit: impl FnMut(ReadCompletion<'_>)) -> io::Result<()> {
        if self.in_flight == 0 {
            return Ok(());
        }
        loop {
            match self.ring.submit_and_wait(1) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(_) => break,
            }
        }
        for entry in self.ring.completion() {
            let data = entry.user_data();
            let slot = usize::try_from(data >> 32).map_err(|_| io::ErrorKind::InvalidData)?;
            let tag = u32::try_from(data & 0xFFFF_FFFF).map_err(|_| io::ErrorKind::InvalidData)?;
            let bytes = match usize::try_from(entry.result()) {
                Ok(count) => Ok(self.arena.filled(slot, self.buffer_bytes, count)),
                Err(_) => Err(io::Error::from_raw_os_error(-entry.result())),
            };
            visit(ReadCompletion { tag, bytes });
            self.free.push(slot);
            self.in_flight -= 1;
        }
        Ok(())
    }
}

impl Drop for DirectReader {
    fn drop(&mut self) {
        while self.in_flight > 0 {
            if self.wait(|_| ()).is_err() {
                // The kernel may still write into the buffers: keep them for ever.
                self.arena.leak();
                return;
            }
        }
    }
}

/// Zeroed memory for all buffers, in huge pages where the kernel has some.
struct Arena {
    address: NonNull<u8>,
    length: usize,
    leaked: bool,
}

impl Arena {
    fn new(bytes: usize) -> io::Result<Self> {
        let length = bytes.next_multiple_of(ARENA_ALIGNMENT);
        let layout = std::alloc::Layout::from_size_align(length, ARENA_ALIGNMENT)
            .map_err(|_| io::ErrorKind::InvalidInput)?;
        if length == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: the layout is not empty, checked above.
        let address = unsafe { std::alloc::alloc(layout) };
        let address = NonNull::new(address).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: the range was just allocated; the call only advises.
        unsafe { libc::madvise(address.as_ptr().cast(), length, libc::MADV_HUGEPAGE) };
        // Zeroing also brings the pages in, which would otherwise be paid for by the first reads.
        // SAFETY: the range is ours and `length` bytes long.
        unsafe { address.as_ptr().write_bytes(0, length) };
        Ok(Self {
            address,
            length,
            leaked: false,
        })
    }

    fn slot(&self, slot: usize, buffer_bytes: usize) -> *mut u8 {
        debug_assert!((slot + 1) * buffer_bytes <= self.length);
        // SAFETY: slots come from the free list, whose numbers times the size stay in the arena.
        unsafe { self.address.as_ptr().add(slot * buffer_bytes) }
    }

    fn filled(&self, slot: usize, buffer_bytes: usize, count: usize) -> &[u8] {
        let start = self.slot(slot, buffer_bytes);
        // SAFETY: the request for this slot has ended, nothing writes there until the slot is free
        // again, the whole arena is initialised, and `count` is cut to the buffer.
        unsafe { std::slice::from_raw_parts(start, count.min(buffer_bytes)) }
    }

    fn leak(&mut self) {
        self.leaked = true;
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if self.leaked {
            return;
        }
        if let Ok(layout) = std::alloc::Layout::from_size_align(self.length, ARENA_ALIGNMENT) {
            // SAFETY: allocated in `new` with the same layout, and no request writes there any more.
            unsafe { std::alloc::dealloc(self.address.as_ptr(), layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn every_read_arrives_once_with_its_tag_and_bytes() {
        let mut file = tempfile::tempfile().unwrap();
        for page in 0..16u8 {
            file.write_all(&[page; 4096]).unwrap();
        }
        let mut reader = DirectReader::new(4, 8192).unwrap();
        let mut seen = Vec::new();
        for tag in 0..8u32 {
            if reader.free_slots() == 0 {
                reader
                    .wait(|c| seen.push((c.tag, c.bytes.unwrap().to_vec())))
                    .unwrap();
            }
            reader
                .push(&file, u64::from(tag) * 8192, 8192, tag)
                .unwrap();
        }
        while reader.in_flight() > 0 {
            reader
                .wait(|c| seen.push((c.tag, c.bytes.unwrap().to_vec())))
                .unwrap();
        }
        seen.sort_by_key(|(tag, _)| *tag);
        assert_eq!(seen.len(), 8);
        for (tag, bytes) in seen {
            assert_eq!(bytes.len(), 8192);
            assert_eq!(u32::from(bytes[0]), tag * 2);
            assert_eq!(u32::from(bytes[8191]), tag * 2 + 1);
        }
    }

    #[test]
    fn a_read_without_a_free_slot_is_refused_and_a_dropped_reader_waits() {
        let file = tempfile::tempfile().unwrap();
        let mut reader = DirectReader::new(1, 4096).unwrap();
        reader.push(&file, 0, 4096, 0).unwrap();
        let refused = reader.push(&file, 0, 4096, 1).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
    }
}
