//! The page cache under the limit of a memory control group, rule by rule.

#[path = "support/cached.rs"]
mod cached;

use ahead_replicas::kernel::{Class, PageState, Window};
use ahead_replicas::page_cache::{FileId, Limit, PageCache, Replacement};
use cached::{bring, cache, window};

fn group(memory_pages: u64) -> (PageCache, FileId) {
    cache(memory_pages, Replacement::TwoList, Limit::Group)
}

/// Nodes are charged when there are some: the next window finds one page less.
#[test]
fn a_window_ends_where_memory_is_full_of_pages_in_flight() {
    let (mut cache, file) = group(64);
    assert_eq!(cache.insert(file, &window(0, 100), &mut ()), 64);
    assert_eq!(cache.state(file, 63), PageState::InFlight);
    assert_eq!(cache.state(file, 64), PageState::Absent);
    assert_eq!(cache.insert(file, &window(200, 4), &mut ()), 0);
}

/// The window of a later look-ahead mark never comes, and nor does the mark.
#[test]
fn a_mark_behind_the_end_is_not_set() {
    let (mut cache, file) = group(64);
    let marked = Window {
        mark: Some(70),
        ..window(0, 100)
    };
    cache.insert(file, &marked, &mut ());
    assert!(!cache.is_marked(file, 70));
}

#[test]
fn the_page_that_a_reader_needs_comes_in_all_the_same() {
    let (mut cache, file) = group(64);
    cache.insert(file, &window(0, 100), &mut ());
    let needed = Window {
        class: Class::Single,
        ..window(500, 1)
    };
    assert_eq!(cache.insert(file, &needed, &mut ()), 1);
}

/// 1000 pages: 1, 3, 7, 15 and 31 of them are examined until 32 have left, and 57 have.
#[test]
fn reclaim_takes_more_than_is_needed() {
    let (mut cache, file) = group(1000);
    bring(&mut cache, file, &window(0, 900));
    let left = bring(&mut cache, file, &window(2000, 100));
    assert_eq!(left, (0..left.len() as u64).collect::<Vec<_>>());
    assert!((32..64).contains(&left.len()), "{} left", left.len());
}

/// A node stays when its pages have left, so that there is less memory for pages than before.
#[test]
fn what_was_read_once_still_takes_memory() {
    let (mut cache, file) = group(4096);
    bring(&mut cache, file, &window(0, 4000));
    let before = cache.resident_pages() + cache.free_pages();
    for start in (4000..40_000).step_by(100) {
        bring(&mut cache, file, &window(start, 100));
    }
    let after = cache.resident_pages() + cache.free_pages();
    // 563 chunks more, 7 of which are a page.
    let taken = before - after;
    assert!((70..90).contains(&taken), "{taken} pages");
}

/// Nothing is active yet, so that no page is worth more than another one; then the active pages have
/// been counted, and one that left just now is.
#[test]
fn a_page_that_left_just_now_is_active_when_it_comes_back() {
    let (mut cache, file) = group(1000);
    bring(&mut cache, file, &window(0, 200));
    for page in 0..200 {
        cache.access(file, page);
        cache.access(file, page);
    }
    bring(&mut cache, file, &window(1000, 700));
    let left = bring(&mut cache, file, &window(5000, 200));
    let first = *left.first().expect("some leave");
    bring(&mut cache, file, &window(first, 1));
    assert!(!cache.is_active(file, first), "nothing was counted");
    cache.count_group();
    let last = *left.last().expect("some leave");
    bring(&mut cache, file, &window(last, 1));
    assert!(cache.is_active(file, last));
}
