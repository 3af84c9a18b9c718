//! Chunks of adaptive read-ahead as literal numbers: what tests compare.
//!
//! The page cache itself is `page_cache`, beside which this must be included.
#![allow(dead_code, unreachable_pub, reason = "each test uses another part")]

use ahead_replicas::kernel::ReadAhead;
use ahead_replicas::kernel::ara::Ara;

use crate::page_cache::PageCache;

/// First page, pages, mark.
pub type Chunk = (u64, u64, Option<u64>);

/// Pages of a file whose end is far away.
pub const MANY: u64 = 1 << 20;

/// 100 000 pages of inactive and free memory.
pub fn cache(pages: u64) -> PageCache {
    let mut cache = PageCache::new(pages);
    cache.reclaimable = 100_000;
    cache
}

/// What was asked for since the last call, single pages that nobody asked for included.
pub fn asked(cache: &mut PageCache) -> Vec<Chunk> {
    cache
        .take_log()
        .iter()
        .map(|started| {
            (
                started.window.start,
                started.window.pages,
                started.window.mark,
            )
        })
        .collect()
}

/// Reads `[start, end)` in reads of `step` pages; what was asked for.
pub fn read<A: ReadAhead>(
    cache: &mut PageCache,
    file: &mut A,
    start: u64,
    end: u64,
    step: u64,
) -> Vec<Chunk> {
    cache.read_in_steps(file, start..end, step);
    asked(cache)
}

/// Reads of four pages backwards from 2000.
pub fn backwards(cache: &mut PageCache, file: &mut Ara, last: u64) -> Vec<Chunk> {
    for page in (last..=2000).rev().step_by(4) {
        cache.read(file, page, 4);
    }
    asked(cache)
}
