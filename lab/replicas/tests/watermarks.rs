//! The page cache of a machine that frees memory ahead of need, and knows pages that come back.

#[path = "support/cached.rs"]
mod cached;

use ahead_replicas::page_cache::{FileId, Limit, PageCache, Replacement, Watermarks};
use cached::{bring, cache, window};

/// 64 MiB.
const MEMORY: u64 = 16_384;

fn machine() -> (PageCache, FileId) {
    cache(MEMORY, Replacement::TwoList, Limit::Watermarks)
}

/// `min_free_kbytes` of 64 MiB is 1024; a machine of 64 GiB has 32 MiB, and a thousandth of its memory on top.
#[test]
fn the_marks_are_those_that_linux_computes() {
    let marks = Watermarks::of(MEMORY);
    assert_eq!((marks.low_pages, marks.high_pages), (320, 384));
    let marks = Watermarks::of(16 << 20);
    assert_eq!(
        (marks.low_pages, marks.high_pages),
        (8192 + 16_777, 8192 + 33_554)
    );
}

#[test]
fn pages_leave_before_memory_is_full_and_until_the_high_mark_is_free() {
    let (mut cache, file) = machine();
    assert_eq!(bring(&mut cache, file, &window(0, MEMORY - 320)), []);
    let left = bring(&mut cache, file, &window(MEMORY, 1));
    assert_eq!(left, (0..65).collect::<Vec<_>>());
    assert_eq!(cache.free_pages(), 384);
}

/// No more pages have left since than are active; without shadows both would be inactive.
#[test]
fn a_page_that_comes_back_soon_is_active_and_one_that_comes_back_late_is_not() {
    let (mut cache, file) = machine();
    bring(&mut cache, file, &window(0, 2000));
    for page in 1000..2000 {
        cache.access(file, page);
        cache.access(file, page);
    }
    assert_eq!(cache.active_pages(), 1000);
    bring(&mut cache, file, &window(2000, MEMORY - 2320));
    // The first 65 leave, then the next.
    bring(&mut cache, file, &window(MEMORY, 1));
    let recent = bring(&mut cache, file, &window(MEMORY + 1, 320));
    assert!(recent.contains(&100), "{recent:?}");
    bring(&mut cache, file, &window(100, 1));
    assert!(cache.is_active(file, 100));
    bring(&mut cache, file, &window(MEMORY + 400, 4000));
    bring(&mut cache, file, &window(3, 1));
    assert!(!cache.is_active(file, 3));
}
