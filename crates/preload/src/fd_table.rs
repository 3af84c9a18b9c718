//! What each descriptor number stands for, as far as we saw: a hint, never a fact.
//!
//! A number that we have not looked at is unknown and is looked at when it is first read from. A
//! program can close and reuse numbers behind our back (raw system calls, other threads between
//! two instructions), so every decision checks the file's identity again before anything is
//! asked for. A wrong entry costs a hint, nothing else.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::memory::zeroed_array;

/// Descriptor numbers that have an entry: as many as the kernel allows by default. Reads through
/// higher ones are not noticed.
pub(crate) const DESCRIPTORS_MAX: usize = 1 << 20;

/// What a number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Not looked at.
    Unknown,
    /// Nothing that we can help: a pipe, a socket, a directory, a file that bypasses the cache.
    Ignored,
    /// A file.
    File(FileEntry),
}

/// A descriptor of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileEntry {
    /// Place in the table of files.
    pub(crate) slot: u32,
    /// The low bits of that place's generation: another value means another file lives there.
    pub(crate) generation: u16,
    /// Others move the position too (duplicates, a parent or child): ask the kernel for it.
    pub(crate) shares_position: bool,
    /// The program gives advice of its own: no requests through this descriptor.
    pub(crate) program_advises: bool,
}

const KNOWN: u64 = 1 << 63;
const IGNORED: u64 = 1 << 62;
const SHARES_POSITION: u64 = 1 << 61;
const PROGRAM_ADVISES: u64 = 1 << 60;

struct Line {
    what: AtomicU64,
    position: AtomicU64,
}

/// The table. Untouched parts cost no memory.
pub(crate) struct FdTable {
    lines: &'static [Line],
}

impl FdTable {
    /// An empty table; `None` without address space.
    pub(crate) fn new() -> Option<Self> {
        // SAFETY: all-zero bytes are valid atomics.
        let lines = unsafe { zeroed_array::<Line>(DESCRIPTORS_MAX)? };
        Some(Self { lines })
    }

    #[inline]
    fn line(&self, fd: i32) -> Option<&Line> {
        self.lines.get(usize::try_from(fd).ok()?)
    }

    /// What `fd` stands for.
    #[inline]
    pub(crate) fn get(&self, fd: i32) -> Entry {
        let Some(line) = self.line(fd) else {
            return Entry::Ignored;
        };
        let what = line.what.load(Relaxed);
        if what & KNOWN != 0 {
            Entry::File(FileEntry {
                slot: u32::try_from(what & 0xffff_ffff).unwrap_or(0),
                generation: u16::try_from(what >> 32 & 0xffff).unwrap_or(0),
                shares_position: what & SHARES_POSITION != 0,
                program_advises: what & PROGRAM_ADVISES != 0,
            })
        } else if what & IGNORED != 0 {
            Entry::Ignored
        } else {
            Entry::Unknown
        }
    }

    /// Says what `fd` stands for.
    pub(crate) fn set(&self, fd: i32, entry: Entry) {
        let Some(line) = self.line(fd) else {
            return;
        };
        let what = match entry {
            Entry::Unknown => 0,
            Entry::Ignored => IGNORED,
            Entry::File(file) => {
                KNOWN
                    | u64::from(file.slot)
                    | u64::from(file.generation) << 32
                    | if file.shares_position {
                        SHARES_POSITION
                    } else {
                        0
                    }
                    | if file.program_advises {
                        PROGRAM_ADVISES
                    } else {
                        0
                    }
            }
        };
        // Only write what changes: closing a thousand unknown numbers must not touch a page each.
        if line.what.load(Relaxed) != what {
            line.what.store(what, Relaxed);
        }
    }

    /// Forgets `first` to `last`, both inclusive.
    pub(crate) fn forget_range(&self, first: u32, last: u32) {
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        let last = usize::try_from(last)
            .unwrap_or(usize::MAX)
            .min(DESCRIPTORS_MAX - 1);
        for line in self.lines.get(first..=last).unwrap_or_default() {
            if line.what.load(Relaxed) != 0 {
                line.what.store(0, Relaxed);
            }
        }
    }

    /// The position as we counted it; meaningful for files that do not share it.
    #[inline]
    pub(crate) fn position(&self, fd: i32) -> u64 {
        self.line(fd).map_or(0, |line| line.position.load(Relaxed))
    }

    /// Sets the position.
    #[inline]
    pub(crate) fn set_position(&self, fd: i32, position: u64) {
        if let Some(line) = self.line(fd) {
            line.position.store(position, Relaxed);
        }
    }

    /// After a fork both processes move the positions of what was open: mark all up to the
    /// highest number in use.
    pub(crate) fn share_all(&self, highest: usize) {
        for line in self
            .lines
            .get(..=highest.min(DESCRIPTORS_MAX - 1))
            .unwrap_or_default()
        {
            let what = line.what.load(Relaxed);
            if what & KNOWN != 0 {
                line.what.store(what | SHARES_POSITION, Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_comes_out() {
        let table = FdTable::new().unwrap();
        let file = FileEntry {
            slot: 4711,
            generation: 65_535,
            shares_position: true,
            program_advises: false,
        };
        table.set(1_000_000, Entry::File(file));
        assert_eq!(table.get(1_000_000), Entry::File(file));
        assert_eq!(table.get(3), Entry::Unknown);
        assert_eq!(table.get(-1), Entry::Ignored);
        table.forget_range(3, u32::MAX);
        assert_eq!(table.get(1_000_000), Entry::Unknown);
    }
}
