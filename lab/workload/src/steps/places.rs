//! Steps at places that are left to chance, alone or among others.

use ahead_units::PAGE_BYTES;

use super::parts::{ascending, read, slot};
use crate::kinds::Draw;
use crate::random::below;
use crate::{FileSpec, Program, Step};

pub(super) fn random(bytes: u64, length: u64, reads: u64, seed: u64) -> impl Program {
    let slots = bytes / length;
    (0..reads).map(move |index| read(0, below(seed, index, slots) * length, length))
}

pub(super) fn epochs(bytes: u64, length: u64, reads: u64, passes: u64, seed: u64) -> impl Program {
    let slots = bytes / length;
    (0..passes).flat_map(move |_| {
        (0..reads).map(move |index| read(0, below(seed, index, slots) * length, length))
    })
}

pub(super) fn bursts(bytes: u64, length: u64, burst: u64, bursts: u64, seed: u64) -> impl Program {
    let slots = (bytes / length).saturating_sub(burst);
    (0..bursts).flat_map(move |index| {
        let start = below(seed, index, slots) * length;
        (0..burst).map(move |step| read(0, start + step * length, length))
    })
}

/// Reads in order of `length`, and after every `run` of them one of `random` bytes.
pub(super) fn mixed(
    bytes: u64,
    length: u64,
    run: u64,
    random: u64,
    draw: Draw,
    seed: u64,
) -> impl Program {
    (0..)
        .zip(ascending(0, 0, bytes, length))
        .flat_map(move |(index, step): (u64, Step)| {
            let number = match draw {
                Draw::Plan => index,
                // The random reads before this one, and this one, count too.
                Draw::Bench => index + index / run + 1,
            };
            let place = below(seed, number, bytes / random) * random;
            let random = (index % run == run - 1).then(|| read(0, place, random));
            [step].into_iter().chain(random)
        })
}

pub(super) fn sparse(bytes: u64, percent: u64, seed: u64) -> impl Program {
    (0..bytes / PAGE_BYTES)
        .filter(move |page| below(seed, *page, 100) < percent)
        .map(|page| read(0, page * PAGE_BYTES, PAGE_BYTES))
}

pub(super) fn sizes(bytes: u64, factor_max: u64, seed: u64) -> impl Program {
    (0..).scan(0, move |offset: &mut u64, index| {
        let start = *offset;
        let length = (1 + below(seed, index, factor_max)) * PAGE_BYTES;
        *offset += length;
        (start < bytes).then(|| read(0, start, length.min(bytes - start)))
    })
}

/// A random run that is not at its end yet gives the next block.
pub(super) fn merge(files: &[FileSpec], length: u64, seed: u64) -> impl Program + use<> {
    /// A run, its next block, and the one behind its last.
    type Left = (u64, u64, u64);
    let mut left: Vec<Left> = (0..)
        .zip(files)
        .map(|(run, file)| (run, 0, file.bytes / length))
        .filter(|(_, _, blocks)| *blocks > 0)
        .collect();
    let total = left.iter().map(|(_, _, blocks)| blocks).sum();
    (0..total).map(move |index: u64| {
        let count = u64::try_from(left.len()).unwrap_or(1);
        let place = usize::try_from(below(seed, index, count)).unwrap_or(0);
        let (run, block, blocks) = left[place];
        if block + 1 == blocks {
            left.swap_remove(place);
        } else {
            left[place].1 += 1;
        }
        read(slot(run), block * length, length)
    })
}
