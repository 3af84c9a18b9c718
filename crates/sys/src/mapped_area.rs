//! `mmap`, `madvise` and `mincore` - a part of a file as memory, touched page by page.
//!
//! For whoever looks at what page faults make the kernel do. The area's advice and whether it is
//! executable change what the kernel reads ahead, so both can be chosen. Reading words of a whole
//! file is [`mapped_file`](crate::mapped_file).

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

/// Bytes of a page, here and in `mincore`.
const PAGE_BYTES: u64 = 4096;

/// Whether code may run from the area. A mapped program is executable, data is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// `PROT_READ`.
    Read,
    /// `PROT_READ | PROT_EXEC`.
    ReadExecute,
    /// `PROT_READ | PROT_WRITE`: what is written stays in this process.
    ReadWrite,
}

/// The advice of `madvise` about the area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AreaAdvice {
    /// `MADV_NORMAL`.
    Normal,
    /// `MADV_SEQUENTIAL`.
    Sequential,
    /// `MADV_RANDOM`.
    Random,
    /// `MADV_HUGEPAGE`; `EINVAL` from a kernel without huge pages.
    Huge,
}

/// A private mapping of some pages of a file: the file never changes through it.
#[derive(Debug)]
pub struct MappedArea {
    address: NonNull<u8>,
    pages: Range<u64>,
    protection: Protection,
}

// SAFETY: the mapping belongs to this value alone, as the memory of a Box does.
unsafe impl Send for MappedArea {}

impl MappedArea {
    /// Maps `pages` of `file`, the end exclusive. `InvalidInput` for an empty range.
    pub fn map(file: &File, pages: Range<u64>, protection: Protection) -> io::Result<Self> {
        let length = bytes_of(&pages)?;
        let offset = libc::off_t::try_from(pages.start * PAGE_BYTES)
            .map_err(|_| io::ErrorKind::FileTooLarge)?;
        let allowed = match protection {
            Protection::Read => libc::PROT_READ,
            Protection::ReadExecute => libc::PROT_READ | libc::PROT_EXEC,
            Protection::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
        };
        // SAFETY: a fresh mapping at an address that the kernel picks touches no memory of ours.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                allowed,
                libc::MAP_PRIVATE,
                file.as_raw_fd(),
                offset,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let address = NonNull::new(address.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self {
            address,
            pages,
            protection,
        })
    }

    /// The mapped pages of the file.
    #[must_use]
    pub fn pages(&self) -> Range<u64> {
        self.pages.clone()
    }

    /// The address of the first page, for whoever wants to know how it is aligned.
    #[must_use]
    pub fn address(&self) -> usize {
        self.address.as_ptr().addr()
    }

    /// Reads one byte of `page`, a page of the file, with a volatile access. `None` outside of the
    /// area. A page behind the end of the file raises `SIGBUS`, as any mapped read does.
    #[must_use]
    pub fn touch(&self, page: u64) -> Option<u8> {
        let offset = self.offset(page)?;
        // SAFETY: `offset` is inside the mapping, which is readable.
        Some(unsafe { self.address.add(offset).read_volatile() })
    }

    /// Writes one byte of `page`, of which this process gets a copy for that. `None` outside of the
    /// area, and in one that was not mapped [for writing](Protection::ReadWrite).
    #[must_use]
    pub fn write(&mut self, page: u64, byte: u8) -> Option<()> {
        let offset = self.offset(page)?;
        if self.protection != Protection::ReadWrite {
            return None;
        }
        // SAFETY: `offset` is inside the mapping, which is writable and ours alone.
        unsafe { self.address.add(offset).write_volatile(byte) };
        Some(())
    }

    fn offset(&self, page: u64) -> Option<usize> {
        if !self.pages.contains(&page) {
            return None;
        }
        usize::try_from((page - self.pages.start) * PAGE_BYTES).ok()
    }

    /// `madvise` - says how the whole area will be used.
    pub fn advise(&self, advice: AreaAdvice) -> io::Result<()> {
        self.madvise(
            &self.pages,
            match advice {
                AreaAdvice::Normal => libc::MADV_NORMAL,
                AreaAdvice::Sequential => libc::MADV_SEQUENTIAL,
                AreaAdvice::Random => libc::MADV_RANDOM,
                AreaAdvice::Huge => libc::MADV_HUGEPAGE,
            },
        )
    }

    /// `madvise(MADV_WILLNEED)` - asks for `pages` of the file; `InvalidInput` if they are not all
    /// inside the area.
    pub fn will_need(&self, pages: &Range<u64>) -> io::Result<()> {
        if pages.start < self.pages.start || pages.end > self.pages.end {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.madvise(pages, libc::MADV_WILLNEED)
    }

    fn madvise(&self, pages: &Range<u64>, advice: libc::c_int) -> io::Result<()> {
        let length = bytes_of(pages)?;
        let offset = bytes_of(&(self.pages.start..pages.start)).unwrap_or(0);
        // SAFETY: the callers pass ranges inside the mapping, and no advice used here changes what
        // its bytes are.
        let result =
            unsafe { libc::madvise(self.address.add(offset).as_ptr().cast(), length, advice) };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// `mincore` - how many pages of the area could be touched without waiting for a disk: in the
    /// page cache and up to date. Does not count as a use of them.
    pub fn pages_in_core(&self) -> io::Result<u64> {
        let length = bytes_of(&self.pages)?;
        let mut states = vec![0_u8; length.div_ceil(4096)];
        // SAFETY: the range is the mapping, and `states` has a byte for each of its pages.
        let result = unsafe {
            libc::mincore(
                self.address.as_ptr().cast(),
                length,
                states.as_mut_ptr().cast(),
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(states.iter().map(|state| u64::from(state & 1)).sum())
    }
}

impl Drop for MappedArea {
    fn drop(&mut self) {
        let length = bytes_of(&self.pages).unwrap_or(0);
        // SAFETY: the range is ours, mapped in `map`, and no reference outlives `self`.
        unsafe { libc::munmap(self.address.as_ptr().cast(), length) };
    }
}

fn bytes_of(pages: &Range<u64>) -> io::Result<usize> {
    if pages.is_empty() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    usize::try_from((pages.end - pages.start) * PAGE_BYTES)
        .map_err(|_| io::ErrorKind::FileTooLarge.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_part_of_a_file_is_touched_by_the_numbers_of_the_file() {
        let mut file = tempfile::tempfile().unwrap();
        for page in 0..8 {
            file.write_all(&[page; 4096]).unwrap();
        }
        let area = MappedArea::map(&file, 2..6, Protection::Read).unwrap();
        assert_eq!(area.touch(2), Some(2));
        assert_eq!(area.touch(5), Some(5));
        assert_eq!(area.touch(1), None);
        assert_eq!(area.touch(6), None);
        assert_eq!(area.pages_in_core().unwrap(), 4);
        area.advise(AreaAdvice::Random).unwrap();
        area.will_need(&(3..6)).unwrap();
        let outside = area.will_need(&(3..7)).unwrap_err();
        assert_eq!(outside.kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn what_is_written_does_not_reach_the_file() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 2 * 4096]).unwrap();
        let mut area = MappedArea::map(&file, 0..2, Protection::ReadWrite).unwrap();
        area.write(1, 2).unwrap();
        assert_eq!(area.touch(1), Some(2));
        let mut other = MappedArea::map(&file, 0..2, Protection::Read).unwrap();
        assert_eq!(other.touch(1), Some(1));
        assert_eq!(other.write(1, 3), None);
    }

    #[test]
    fn nothing_cannot_be_mapped() {
        let file = tempfile::tempfile().unwrap();
        let empty = MappedArea::map(&file, 3..3, Protection::ReadExecute).unwrap_err();
        assert_eq!(empty.kind(), io::ErrorKind::InvalidInput);
    }
}
