//! How large a chunk may be, and how much of it lies behind the mark.
//!
//! Pure arithmetic, no page cache. Memory bounds every chunk from above and, weakly, from below;
//! [`adjust`] and [`limit`] turn a share of the thrashing threshold into a chunk and its look-ahead.

use super::release::AraRelease;
use ahead_units::PAGE_BYTES;

/// One page in this many lies behind the mark: more wastes memory on waiting pages, fewer leaves
/// the disk too little time (`LOOKAHEAD_RATIO`).
pub(super) const LOOK_AHEAD_RATIO: u64 = 8;

/// No chunk is longer, since V6: a hit counter of 16 bits can still count it.
const PAGES_MAX: u64 = 65_535;

/// V15 does not count more memory than 1 GiB.
const MEMORY_PAGES_MAX: u64 = 1 << 18;

/// 16 KiB: the smallest window worth a seek, `VM_MIN_READAHEAD`.
const PAGES_MIN: u64 = 4;

/// Smallest and largest chunk, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Bounds {
    /// With `reclaimable` pages free or inactive, and a file that allows `file_max`.
    pub(super) fn new(release: AraRelease, reclaimable: u64, file_max: u64) -> Self {
        let half = reclaimable / 2;
        if release == AraRelease::V16 {
            let max = half.min(PAGES_MAX).min(file_max);
            let min = (PAGES_MIN + reclaimable / 16_384).min(16).min(max / 8);
            return Self { min, max };
        }
        let pages = half.min(MEMORY_PAGES_MAX);
        let max = pages.min(PAGES_MAX).min(file_max);
        let min = (PAGES_MIN + pages / 8192).min(32).min(max / 2);
        Self { min, max }
    }
}

/// A chunk: all its pages, and those behind the mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) size: u64,
    pub(super) look_ahead: u64,
}

/// A chunk of the share `size` of the threshold, of which `waiting` pages are still ahead of the
/// reader. `None`: they are the whole share, so nothing more is asked for (the window shrinks).
///
/// The look-ahead is an eighth of the *unlimited* share: under light load it is large, and the
/// [limit] cuts it.
pub(super) fn adjust(size: u64, waiting: u64, limit_pages: u64) -> Option<Chunk> {
    let size = size.checked_sub(waiting).filter(|&size| size > 0)?;
    let look_ahead = size / LOOK_AHEAD_RATIO;
    Some(limit(Chunk { size, look_ahead }, waiting, limit_pages))
}

/// Cuts a chunk, and moves its mark so far back that the reader meets it only after a quarter of
/// the chunk's length: marks too close to each other would make small requests of large chunks.
pub(super) fn limit(chunk: Chunk, waiting: u64, limit_pages: u64) -> Chunk {
    let size = chunk.size.min(limit_pages);
    let look_ahead = chunk.look_ahead.min(size);
    let stride = waiting.saturating_add(size - look_ahead);
    Chunk {
        size,
        // No underflow where the stride is short: three quarters of the chunk lie behind the mark.
        look_ahead: look_ahead - (size / 4).saturating_sub(stride),
    }
}

/// The low estimate of the thrashing threshold after a chunk of `pages` pages: creeps up, drops
/// fast, since a page evicted before use is paid for twice.
pub(super) fn learn_thrash_bytes(release: AraRelease, thrash_bytes: u64, pages: u64) -> u64 {
    let bytes = pages.saturating_mul(PAGE_BYTES);
    let part = if thrash_bytes >= bytes {
        8
    } else if release == AraRelease::V16 {
        128
    } else {
        1024
    };
    thrash_bytes.saturating_mul(part - 1).saturating_add(bytes) / part
}

#[cfg(test)]
mod tests {
    use super::{Bounds, Chunk, adjust, learn_thrash_bytes, limit};
    use crate::kernel::ara::AraRelease;

    #[test]
    fn the_smallest_chunk_is_that_of_the_patchs_table() {
        // MiB of inactive and free pages, KiB of the smallest chunk. For 1024 MiB the patch's
        // table says 64, its arithmetic 80; the arithmetic is what ran.
        let table = [
            (4, 16),
            (32, 16),
            (64, 20),
            (128, 24),
            (256, 32),
            (512, 48),
            (1024, 80),
        ];
        for (memory, smallest) in table {
            let pages = memory << 8;
            assert_eq!(Bounds::new(AraRelease::V15, pages, 256).min * 4, smallest);
        }
    }

    #[test]
    fn memory_bounds_every_chunk() {
        let bounds = Bounds::new(AraRelease::V15, 100_000, 256);
        assert_eq!((bounds.min, bounds.max), (10, 256));
        let bounds = Bounds::new(AraRelease::V16, 100_000, 256);
        assert_eq!((bounds.min, bounds.max), (10, 256));
        let bounds = Bounds::new(AraRelease::V15, 20, 256);
        assert_eq!((bounds.min, bounds.max), (4, 10));
        assert_eq!(Bounds::new(AraRelease::V16, 100, 8).min, 1);
        assert_eq!(Bounds::new(AraRelease::V15, 0, 256).max, 0);
    }

    #[test]
    fn marks_stay_a_quarter_of_a_chunk_apart() {
        let chunk = adjust(47_068, 4, 81);
        let expected = Chunk {
            size: 81,
            look_ahead: 65,
        };
        assert_eq!(chunk, Some(expected));
        assert_eq!(adjust(4, 4, 81), None);
        let all = Chunk {
            size: 256,
            look_ahead: 256,
        };
        assert_eq!(limit(all, 256, 256), all);
    }

    #[test]
    fn the_threshold_creeps_up_and_drops_fast() {
        let start = 128 << 10;
        assert_eq!(learn_thrash_bytes(AraRelease::V15, start, 256), 131_968);
        assert_eq!(learn_thrash_bytes(AraRelease::V16, start, 256), 138_240);
        assert_eq!(learn_thrash_bytes(AraRelease::V15, start, 16), 122_880);
    }
}
