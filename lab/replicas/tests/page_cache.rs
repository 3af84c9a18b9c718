//! The rules of the page cache, one by one.

#[path = "support/cached.rs"]
mod cached;

use ahead_replicas::kernel::{Class, PageState, Window};
use ahead_replicas::page_cache::{Aging, CacheSettings, FileId, Limit, PageCache, Replacement};
use cached::{bring, window};

fn cache(memory_pages: u64, replacement: Replacement) -> (PageCache, FileId) {
    cached::cache(memory_pages, replacement, Limit::Machine)
}

fn folio(start: u64, order: u8) -> Window {
    Window {
        order,
        ..window(start, 1 << order)
    }
}

#[test]
fn a_page_used_once_leaves_in_the_order_of_arrival() {
    let (mut cache, file) = cache(4, Replacement::TwoList);
    bring(&mut cache, file, &window(0, 4));
    cache.access(file, 0);
    assert!(cache.is_referenced(file, 0));
    assert_eq!(bring(&mut cache, file, &window(10, 2)), [0, 1]);
}

#[test]
fn a_page_used_twice_is_active_and_stays() {
    let (mut cache, file) = cache(4, Replacement::TwoList);
    bring(&mut cache, file, &window(0, 4));
    cache.access(file, 0);
    cache.access(file, 0);
    assert!(cache.is_active(file, 0));
    assert!(!cache.is_referenced(file, 0));
    assert_eq!(cache.active_pages(), 1);
    assert_eq!(bring(&mut cache, file, &window(10, 3)), [1, 2, 3]);
    assert_eq!(cache.state(file, 0), PageState::Valid);
}

/// The active list may have as many pages as the inactive one. What it has beyond goes to the
/// young end of the inactive list, so it leaves after what is there; the mark it had brings it back
/// at the next access.
#[test]
fn the_active_list_gives_back_what_it_has_beyond_half() {
    let (mut cache, file) = cache(6, Replacement::TwoList);
    bring(&mut cache, file, &window(0, 6));
    for page in 0..5 {
        for _ in 0..3 {
            cache.access(file, page);
        }
    }
    assert_eq!((cache.active_pages(), cache.inactive_pages()), (5, 1));
    assert_eq!(bring(&mut cache, file, &window(10, 1)), [5]);
    assert_eq!((cache.active_pages(), cache.inactive_pages()), (3, 3));
    assert!(!cache.is_active(file, 0) && cache.is_referenced(file, 0));
    cache.access(file, 0);
    assert!(cache.is_active(file, 0));
}

#[test]
fn a_surplus_of_active_pages_shrinks_by_thirty_two_at_a_time() {
    let (mut cache, file) = cache(100, Replacement::TwoList);
    bring(&mut cache, file, &window(0, 100));
    for page in 0..90 {
        cache.access(file, page);
        cache.access(file, page);
    }
    assert_eq!(bring(&mut cache, file, &window(200, 1)), [90]);
    assert_eq!(cache.active_pages(), 58);
    bring(&mut cache, file, &window(201, 1));
    assert_eq!(cache.active_pages(), 50);
}

#[test]
fn pages_in_flight_never_leave_and_memory_may_be_exceeded_by_them() {
    let (mut cache, file) = cache(4, Replacement::TwoList);
    cache.insert(file, &window(0, 4), &mut ());
    cache.insert(file, &window(10, 3), &mut ());
    assert_eq!((cache.resident_pages(), cache.in_flight_pages()), (7, 7));
    assert_eq!(cache.free_pages(), 0);
    cache.set_valid(file, 0, 7);
    assert_eq!(cache.in_flight_pages(), 3);
    assert_eq!(bring(&mut cache, file, &window(20, 1)), [0, 1, 2, 3]);
}

/// Reclaim meets a page in flight at the old end, and puts it to the young end.
#[test]
fn a_page_in_flight_at_the_old_end_starts_again() {
    let (mut cache, file) = cache(3, Replacement::TwoList);
    cache.insert(file, &window(0, 1), &mut ());
    bring(&mut cache, file, &window(1, 2));
    assert_eq!(bring(&mut cache, file, &window(10, 1)), [1]);
    cache.set_valid(file, 0, 1);
    assert_eq!(bring(&mut cache, file, &window(11, 2)), [2, 0]);
}

#[test]
fn a_rescued_page_is_the_youngest() {
    let (mut cache, file) = cache(3, Replacement::TwoList);
    bring(&mut cache, file, &window(0, 3));
    cache.rescue(file, 0);
    assert_eq!(bring(&mut cache, file, &window(10, 2)), [1, 2]);
}

#[test]
fn a_dropped_page_is_stale_until_it_is_read_again() {
    let (mut cache, file) = cache(8, Replacement::TwoList);
    cache.insert(file, &window(0, 4), &mut ());
    cache.set_stale(file, 2, 2);
    assert_eq!(cache.state(file, 1), PageState::InFlight);
    assert_eq!(cache.state(file, 2), PageState::Stale);
    cache.set_in_flight(file, 3, 1);
    cache.set_valid(file, 0, 4);
    let states: Vec<_> = (1..4).map(|page| cache.state(file, page)).collect();
    assert_eq!(
        states,
        [PageState::Valid, PageState::Stale, PageState::Valid]
    );
}

/// Smooth aging ticks at the first reference of a page and when reclaim examines one without a
/// reference mark; the later kind ticks at every page examined.
#[test]
fn the_aging_clock_ticks_as_told() {
    for (aging, after_reading, after_reclaim) in
        [(Aging::FirstReferences, 2, 4), (Aging::Scanned, 0, 3)]
    {
        let mut cache = PageCache::new(&CacheSettings {
            memory_pages: 4,
            replacement: Replacement::TwoList,
            aging,
            limit: Limit::Machine,
        });
        let file = cache.add_file();
        bring(&mut cache, file, &window(0, 4));
        for page in [0, 1, 0] {
            cache.access(file, page);
        }
        assert_eq!(cache.aging_clock(), after_reading, "{aging:?}");
        // Page 0 is active. Page 1 has the mark, 2 and 3 have not.
        assert_eq!(bring(&mut cache, file, &window(10, 3)), [1, 2, 3]);
        assert_eq!(cache.aging_clock(), after_reclaim, "{aging:?}");
    }
}

#[test]
fn a_folio_is_marked_accessed_and_evicted_as_one() {
    let (mut cache, file) = cache(16, Replacement::TwoList);
    let marked = Window {
        mark: Some(6),
        ..folio(4, 2)
    };
    bring(&mut cache, file, &marked);
    assert_eq!(cache.folio(file, 7), (4, 8));
    assert!(cache.is_marked(file, 4) && cache.is_marked(file, 7));
    cache.clear_mark(file, 5);
    assert!(!cache.is_marked(file, 7));
    cache.access(file, 4);
    cache.access(file, 7);
    assert!(cache.is_active(file, 5));
    bring(&mut cache, file, &folio(8, 2));
    assert_eq!(bring(&mut cache, file, &window(20, 9)), [8, 9, 10, 11]);
}

/// `filemap_read` marks a folio accessed only if the read before was not in it.
#[test]
fn small_reads_of_one_folio_are_one_access_to_it() {
    let (mut cache, file) = cache(16, Replacement::TwoList);
    bring(&mut cache, file, &folio(0, 2));
    let mut previous = None;
    for page in 0..4 {
        assert!(cache.access_after(file, page, previous).first_use);
        previous = Some(page);
    }
    assert!(cache.is_referenced(file, 0) && !cache.is_active(file, 0));
    assert_eq!(cache.unread_pages(), 0);
}

#[test]
fn a_folio_of_two_mebibytes_is_one_folio() {
    let (mut cache, file) = cache(1024, Replacement::TwoList);
    bring(&mut cache, file, &folio(512, 9));
    assert_eq!(cache.chunks(), 8);
    assert_eq!(cache.folio(file, 1000), (512, 1024));
    cache.access(file, 1000);
    cache.access(file, 513);
    assert!(cache.is_active(file, 700));
    cache.forget(file, 600, 2000, &mut ());
    assert_eq!(cache.resident_pages(), 512);
    cache.forget(file, 0, u64::MAX, &mut ());
    assert_eq!((cache.resident_pages(), cache.chunks()), (0, 0));
}

/// One page in flight keeps the whole folio.
#[test]
fn a_folio_leaves_only_when_all_of_it_is_there() {
    let (mut cache, file) = cache(128, Replacement::TwoList);
    cache.insert(file, &folio(0, 7), &mut ());
    cache.set_valid(file, 0, 127);
    assert!(bring(&mut cache, file, &window(200, 1)).is_empty());
    cache.set_valid(file, 127, 1);
    assert_eq!(bring(&mut cache, file, &window(201, 1)).len(), 128);
}

#[test]
fn pages_of_an_order_that_cannot_be_one_folio_come_single() {
    let (mut cache, file) = cache(64, Replacement::TwoList);
    bring(&mut cache, file, &window(5, 1));
    bring(&mut cache, file, &folio(4, 2));
    assert_eq!(cache.folio(file, 6), (6, 7));
    assert_eq!(cache.resident_pages(), 4);
}

#[test]
fn a_new_generation_page_leaves_unless_it_was_used_twice() {
    let (mut cache, file) = cache(4, Replacement::Generational);
    bring(&mut cache, file, &window(0, 4));
    for page in [0, 0, 1] {
        cache.access(file, page);
    }
    assert!(
        !cache.is_active(file, 0),
        "promotion waits until reclaim looks"
    );
    assert_eq!(bring(&mut cache, file, &window(10, 2)), [1, 2]);
    assert!(!cache.is_referenced(file, 0), "its accesses are forgotten");
    assert_eq!(bring(&mut cache, file, &window(20, 3)), [3, 10, 11]);
    assert_eq!(bring(&mut cache, file, &window(30, 4)), [20, 21, 22, 0]);
}

#[test]
fn pages_around_a_fault_enter_the_second_youngest_generation() {
    let (mut cache, file) = cache(4, Replacement::Generational);
    let around = Window {
        class: Class::Around,
        ..window(0, 2)
    };
    bring(&mut cache, file, &around);
    bring(&mut cache, file, &window(10, 2));
    assert!(cache.is_active(file, 0) && !cache.is_active(file, 10));
    assert_eq!(bring(&mut cache, file, &window(20, 3)), [10, 11, 0]);
}

#[test]
fn a_file_of_ten_billion_pages_costs_what_is_cached_of_it() {
    let (mut cache, file) = cache(1000, Replacement::TwoList);
    for step in 0..5000 {
        bring(&mut cache, file, &window(step * 2_000_000, 1));
    }
    assert_eq!((cache.resident_pages(), cache.chunks()), (1000, 1000));
    assert_eq!(
        cache.first_absent(file, 9_998_000_000, 2),
        Some(9_998_000_001)
    );
    assert_eq!(
        cache.first_present(file, 1, 10_000_000_000),
        Some(8_000_000_000)
    );
    cache.forget(file, 0, 10_000_000_000, &mut ());
    assert_eq!(cache.chunks(), 0);
}

/// An algorithm may compute a window that wrapped around; the cache answers and does not care.
#[test]
fn runs_at_the_end_of_numbers_are_answered() {
    let (cache, file) = cache(4, Replacement::TwoList);
    assert_eq!(
        cache.first_absent(file, u64::MAX - 1, 100),
        Some(u64::MAX - 1)
    );
    assert_eq!(cache.first_present(file, u64::MAX - 1, 100), None);
    assert_eq!(cache.last_absent(file, u64::MAX, 1), Some(u64::MAX));
    assert_eq!(cache.last_absent(file, 5, 0), None);
    assert_eq!(cache.folio(file, 3), (3, 4));
}
