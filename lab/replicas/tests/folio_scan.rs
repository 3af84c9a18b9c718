//! Literal events of the running kernel (6.18.44, ext4 with large folios, limit 32 pages, largest
//! request 320) where its scan of the page cache stumbles over large folios. Found by
//! `tests/live_kernel.rs`, which carries the same patterns out for real.

#[path = "support/page_cache.rs"]
mod page_cache;

use ahead_replicas::kernel::Call;
use ahead_replicas::kernel::folio::{Folio, FolioRelease};
use page_cache::PageCache;

fn cache() -> PageCache {
    let mut cache = PageCache::new(4096);
    cache.io_pages = 320;
    cache.folio_order_max = 9;
    cache
}

fn file() -> Folio {
    Folio::new(FolioRelease::Linux6_18, 32)
}

/// Pages 4 to 11 lie in two folios of four, 4 is marked, and 12 is the hole. The scan begins inside
/// the first folio, one page behind its head, and so names 13.
#[test]
fn behind_a_marked_folio_of_four_pages_the_hole_is_named_a_page_too_far() {
    let (mut cache, mut file) = (cache(), file());
    for page in 0..4 {
        cache.read(&mut file, page, 1);
        cache.read(&mut file, 400 + page, 1);
    }
    cache.calls.clear();
    cache.read(&mut file, 4, 1);
    assert_eq!(
        cache.calls.last(),
        Some(&Call::Order {
            index: 13,
            order: 2,
            size: 19,
            async_size: 19
        })
    );
}

/// Pages 64 to 95 are one marked folio. A new descriptor meets the mark; the hole at 96 is named
/// 97, which is more than a window away, so that nothing is read.
#[test]
fn a_new_descriptor_at_a_marked_folio_as_large_as_the_window_reads_nothing_ahead() {
    let (mut cache, mut first) = (cache(), file());
    for number in 0..16 {
        cache.read(&mut first, number * 4, 4);
    }
    assert_eq!(cache.marks(), [64]);
    cache.calls.clear();
    cache.read(&mut file(), 64, 4);
    assert!(
        matches!(cache.calls[..], [Call::Async(_)]),
        "{:?}",
        cache.calls
    );
}

/// Pages 0 to 27 are cached; the last folio has four pages from 24. The scan begins at its last
/// page with the slot of its first, runs off the start of the node three pages early, and finds no
/// start of the file: 25 pages of history that do not count twice.
#[test]
fn a_history_that_ends_in_a_large_folio_is_too_short() {
    let (mut cache, mut file) = (cache(), file());
    for number in 0..7 {
        cache.read(&mut file, number * 4, 1);
    }
    assert_eq!(cache.pages.keys().copied().max(), Some(27));
    cache.calls.clear();
    cache.read(&mut file, 28, 1);
    assert_eq!(
        cache.calls.last(),
        Some(&Call::Order {
            index: 28,
            order: 0,
            size: 26,
            async_size: 1
        })
    );
}
