//! What the steps of every kind are made of: reads in a row, slots, a process with one program.

use crate::{FileSpec, Process, Program, Step};

/// A read of `length` bytes at `offset` of the file that slot `slot` stands for.
pub(super) const fn read(slot: u32, offset: u64, length: u64) -> Step {
    Step::Read {
        slot,
        offset,
        length,
    }
}

pub(super) fn slot(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Reads that cover `bytes`; the last one may be shorter.
pub(super) fn reads_in(bytes: u64, length: u64) -> u64 {
    bytes.div_ceil(length.max(1))
}

/// Every file as a slot.
pub(super) fn all(files: &[FileSpec]) -> Vec<u32> {
    (0..slot(u64::try_from(files.len()).unwrap_or(u64::MAX))).collect()
}

/// One process with the first file open.
pub(super) fn one(name: &str, program: impl Program + 'static) -> Vec<Process> {
    vec![Process::new(name, vec![0], program)]
}

/// Ascending reads of `[from, from + bytes)`.
pub(super) fn ascending(
    slot: u32,
    from: u64,
    bytes: u64,
    length: u64,
) -> impl Iterator<Item = Step> + Clone {
    (0..reads_in(bytes, length)).map(move |index| {
        let offset = index * length;
        read(slot, from + offset, length.min(bytes - offset))
    })
}
