//! A counter in a shared file mapping: one process counts, another one looks.
//!
//! Counting is one atomic addition, so that progress can be reported from a hot loop without a call.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

const MAPPED_BYTES: usize = 4096;

/// A mapped counter. The mapping goes with the value; the file stays.
#[derive(Debug)]
pub struct SharedCounter {
    address: NonNull<AtomicU64>,
}

// SAFETY: the only access is through an atomic, which any thread may use.
unsafe impl Send for SharedCounter {}
// SAFETY: as above.
unsafe impl Sync for SharedCounter {}

impl SharedCounter {
    /// A counter at 0 in memory that no disk stands behind. While the returned file is open,
    /// another process opens the same counter as `/proc/PID/fd/NUMBER`.
    ///
    /// A file on a disk would be written back now and then, and the next addition would wait for
    /// that.
    pub fn anonymous() -> io::Result<(Self, File)> {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let file = File::from(rustix::fs::memfd_create(c"counter", flags)?);
        file.set_len(MAPPED_BYTES as u64)?;
        Ok((Self::map(&file)?, file))
    }

    /// Creates the file, or empties an old one, and starts at 0.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)?;
        file.set_len(MAPPED_BYTES as u64)?;
        Self::map(&file)
    }

    /// Opens what another process created. `InvalidData` when the file is too short to be one.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() < MAPPED_BYTES as u64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Self::map(&file)
    }

    fn map(file: &File) -> io::Result<Self> {
        // SAFETY: a fresh mapping at an address that the kernel picks, over a file of at least
        // MAPPED_BYTES, touches no memory of ours.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                MAPPED_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let address = NonNull::new(address.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { address })
    }

    fn cell(&self) -> &AtomicU64 {
        // SAFETY: the mapping is page-aligned, at least 8 bytes long and lives as long as `self`;
        // every process touches it through atomics only.
        unsafe { self.address.as_ref() }
    }

    /// Adds `amount`.
    pub fn add(&self, amount: u64) {
        self.cell().fetch_add(amount, Ordering::Relaxed);
    }

    /// The sum so far.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.cell().load(Ordering::Relaxed)
    }
}

impl Drop for SharedCounter {
    fn drop(&mut self) {
        // SAFETY: the range is ours, mapped in `map`, and no reference outlives `self`.
        unsafe { libc::munmap(self.address.as_ptr().cast(), MAPPED_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_side_adds_the_other_side_sees() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counter");
        let ours = SharedCounter::create(&path).unwrap();
        let theirs = SharedCounter::open(&path).unwrap();
        theirs.add(40);
        theirs.add(2);
        assert_eq!(ours.get(), 42);
    }

    #[test]
    fn a_counter_without_a_name_is_opened_through_its_descriptor() {
        let (ours, file) = SharedCounter::anonymous().unwrap();
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        SharedCounter::open(Path::new(&path)).unwrap().add(7);
        assert_eq!(ours.get(), 7);
    }
}
