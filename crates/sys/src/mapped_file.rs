//! `mmap` - a file as memory, for reading single words through page faults.
//!
//! Goes through libc on purpose (`memmap2` does): a program that maps files does so too, and whoever
//! interposes that call shall see ours. Each word is read with a volatile access, so that a touch is a
//! touch.

use std::fs::File;
use std::io;

use memmap2::{Advice, MmapOptions, MmapRaw};

/// A shared read-only mapping of a whole file.
///
/// Reading raises `SIGBUS` when the file was truncated below the word or the device failed, as
/// any mapped read does.
#[derive(Debug)]
pub struct MappedFile {
    mapped: MmapRaw,
}

impl MappedFile {
    /// Maps all of `file`. An empty file cannot be mapped (`InvalidInput`).
    pub fn map(file: &File) -> io::Result<Self> {
        if file.metadata()?.len() == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mapped = MmapOptions::new().map_raw_read_only(file)?;
        Ok(Self { mapped })
    }

    /// `madvise(MADV_SEQUENTIAL)` on all of it.
    pub fn advise_sequential(&self) -> io::Result<()> {
        self.mapped.advise(Advice::Sequential)
    }

    /// `madvise(MADV_RANDOM)` on all of it.
    pub fn advise_random(&self) -> io::Result<()> {
        self.mapped.advise(Advice::Random)
    }

    /// The eight bytes at `offset`, little-endian; `None` when they are not all inside the file.
    #[must_use]
    pub fn word_at(&self, offset: u64) -> Option<u64> {
        let offset = usize::try_from(offset).ok()?;
        let end = offset.checked_add(size_of::<u64>())?;
        if end > self.mapped.len() {
            return None;
        }
        let start = self.mapped.as_ptr();
        // SAFETY: the eight bytes from `offset` are inside the mapping, checked above; an array of
        // bytes needs no alignment.
        let bytes: [u8; 8] = unsafe { start.add(offset).cast::<[u8; 8]>().read_volatile() };
        Some(u64::from_le_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn words_are_read_where_they_are_and_none_behind_the_end() {
        let mut file = tempfile::tempfile().unwrap();
        let empty = MappedFile::map(&file).unwrap_err();
        assert_eq!(empty.kind(), io::ErrorKind::InvalidInput);
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
