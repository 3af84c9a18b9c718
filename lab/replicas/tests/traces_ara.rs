//! Adaptive read-ahead, held against worked traces of its releases, page for page.
//!
//! Unless a test says otherwise: 100 000 pages of inactive and free memory, chunks of at most 256
//! pages, ratio 50, hit rate 1; the aging clock ticks once per page first used, and nothing is
//! evicted.

#[path = "support/chunks.rs"]
mod chunks;
#[path = "support/page_cache.rs"]
mod page_cache;

use ahead_replicas::kernel::ara::{Ara, AraRelease};
use ahead_replicas::kernel::ara_v1::AraV1;
use chunks::{MANY, asked, backwards, cache, read};
use page_cache::PageCache;

/// T1.
#[test]
fn a_reader_of_single_pages_grows_to_the_limit_on_an_idle_system() {
    let (mut cache, mut file) = (cache(MANY), Ara::new(AraRelease::V15));
    let expected = [
        (0, 32, Some(28)),
        (32, 81, Some(48)),
        (113, 179, Some(113)),
        (292, 256, Some(292)),
        (548, 256, Some(548)),
        (804, 256, Some(804)),
        (1060, 256, Some(1060)),
    ];
    assert_eq!(read(&mut cache, &mut file, 0, 1000, 1), expected);
}

/// T2.
#[test]
fn a_reader_of_four_pages_grows_a_little_faster() {
    let (mut cache, mut file) = (cache(MANY), Ara::new(AraRelease::V15));
    let expected = [
        (0, 32, Some(28)),
        (32, 84, Some(49)),
        (116, 187, Some(116)),
        (303, 256, Some(303)),
        (559, 256, Some(559)),
    ];
    assert_eq!(read(&mut cache, &mut file, 0, 400, 4), expected);
}

/// T3: 999 ticks of the clock per page besides its own; a threshold of about 100 pages.
#[test]
fn under_memory_pressure_chunks_are_the_ratios_share_of_the_threshold() {
    let (mut cache, mut file) = (cache(MANY), Ara::new(AraRelease::V15));
    cache.clock_per_page = 999;
    let expected = [
        (0, 32, Some(28)),
        (32, 44, Some(71)),
        (76, 43, Some(114)),
        (119, 43, Some(157)),
        (162, 43, Some(200)),
        (205, 43, Some(243)),
    ];
    assert_eq!(read(&mut cache, &mut file, 0, 210, 1), expected);
}

/// T4: a threshold of about 25 pages is less than the first window.
#[test]
fn pages_about_to_be_evicted_are_rescued_before_more_is_read() {
    let (mut cache, mut file) = (cache(MANY), Ara::new(AraRelease::V15));
    cache.clock_per_page = 3999;
    assert_eq!(read(&mut cache, &mut file, 0, 32, 1), [(0, 32, Some(28))]);
    assert_eq!(cache.rescued, [28, 29, 30, 31]);
    let expected = [
        (32, 15, Some(46)),
        (47, 11, Some(57)),
        (58, 11, Some(68)),
        (69, 11, Some(79)),
        (80, 11, Some(90)),
    ];
    assert_eq!(read(&mut cache, &mut file, 32, 80, 1), expected);
}

fn a_start_in_mid_file(release: AraRelease) {
    let (mut cache, mut file) = (cache(MANY), Ara::new(release));
    let expected = [
        (1000, 4, None),
        (1004, 10, Some(1013)),
        (1014, 39, Some(1022)),
        (1053, 96, Some(1053)),
        (1149, 211, Some(1149)),
        (1360, 256, Some(1360)),
    ];
    assert_eq!(read(&mut cache, &mut file, 1000, 1200, 4), expected);
}

/// T5.
#[test]
fn a_start_in_mid_file_is_found_in_the_cache() {
    a_start_in_mid_file(AraRelease::V15);
}

/// T6.
#[test]
fn two_readers_of_one_descriptor_both_get_read_ahead() {
    let (mut cache, mut file) = (cache(MANY), Ara::new(AraRelease::V15));
    let mut chunks = Vec::new();
    for page in 0..29 {
        chunks.extend(read(&mut cache, &mut file, page, page + 1, 1));
        if page < 28 {
            chunks.extend(read(&mut cache, &mut file, 5000 + page, 5001 + page, 1));
        }
    }
    let expected = [
        (0, 32, Some(28)),
        (5000, 1, None),
        (5001, 10, Some(5010)),
        (5011, 37, Some(5019)),
        (5048, 91, Some(5048)),
        (32, 9, Some(40)),
    ];
    assert_eq!(chunks, expected);
}

/// T7.
#[test]
fn a_backward_reader_gets_windows_that_end_where_the_last_began() {
    let (mut cache, mut file) = (cache(MANY), Ara::new(AraRelease::V15));
    assert_eq!(cache.read(&mut file, 2000, 4), [(2000, 4)]);
    assert_eq!(cache.read(&mut file, 1996, 4), [(1995, 5)]);
    asked(&mut cache);
    let (mut cache, mut file) = (chunks::cache(MANY), Ara::new(AraRelease::V15));
    let expected = [
        (2000, 4, None),
        (1995, 8, None),
        (1983, 12, None),
        (1957, 26, None),
        (1907, 50, None),
        (1805, 102, None),
        (1603, 202, None),
    ];
    assert_eq!(backwards(&mut cache, &mut file, 1800), expected);
}

/// T8.
#[test]
fn a_chunk_evicted_before_use_is_read_again_and_the_reader_grows_anew() {
    let (mut cache, mut file) = (cache(MANY), Ara::new(AraRelease::V15));
    let before = read(&mut cache, &mut file, 0, 30, 1);
    assert_eq!(before, [(0, 32, Some(28)), (32, 81, Some(48))]);
    cache.evict(30..530);
    let expected = [
        (30, 2, None),
        (32, 21, Some(37)),
        (53, 59, Some(53)),
        (112, 135, Some(112)),
    ];
    assert_eq!(read(&mut cache, &mut file, 30, 100, 1), expected);
}

/// T9.
#[test]
fn a_window_that_ends_near_the_end_of_the_file_is_stretched_to_it() {
    let (mut cache, mut file) = (cache(20), Ara::new(AraRelease::V15));
    assert_eq!(read(&mut cache, &mut file, 0, 20, 4), [(0, 20, None)]);
    let (mut cache, mut file) = (chunks::cache(36), Ara::new(AraRelease::V15));
    assert_eq!(read(&mut cache, &mut file, 0, 36, 4), [(0, 36, Some(28))]);
}

/// T10.
#[test]
fn one_large_read_is_served_by_several_chunks() {
    let (mut cache, mut file) = (cache(MANY), Ara::new(AraRelease::V15));
    let expected = [
        (0, 32, Some(28)),
        (32, 256, Some(92)),
        (288, 256, Some(288)),
    ];
    assert_eq!(read(&mut cache, &mut file, 0, 256, 256), expected);
    let expected = [(544, 256, Some(544))];
    assert_eq!(read(&mut cache, &mut file, 256, 512, 256), expected);
    let expected = [(800, 256, Some(800))];
    assert_eq!(read(&mut cache, &mut file, 512, 768, 256), expected);
}

/// T11.
#[test]
fn random_reads_are_read_as_they_are() {
    let (mut cache, mut file) = (cache(MANY), Ara::new(AraRelease::V15));
    for page in [7000, 300, 9000, 12, 450_000, 4000] {
        assert_eq!(
            read(&mut cache, &mut file, page, page + 2, 2),
            [(page, 2, None)]
        );
    }
    assert_eq!(cache.marks(), []);
}

/// T11: a random read between two steps of a reader leaves its state alone.
#[test]
fn a_random_read_does_not_disturb_the_state() {
    let (mut cache, mut file) = (cache(MANY), Ara::new(AraRelease::V15));
    read(&mut cache, &mut file, 0, 20, 1);
    assert_eq!(
        read(&mut cache, &mut file, 9000, 9002, 2),
        [(9000, 2, None)]
    );
    let chunks = read(&mut cache, &mut file, 20, 29, 1);
    assert_eq!(chunks.len(), 1);
    assert_eq!((chunks[0].0, chunks[0].1), (32, 81));
}

/// V1, with 256 MiB of memory: at least 24 and at most 256 pages.
#[test]
fn the_first_version_reads_a_share_of_the_history_and_always_waits() {
    let mut cache = PageCache::new(MANY);
    cache.reclaimable = 65_536;
    let mut file = AraV1::new(50, 256);
    let expected = [
        (0, 24, None),
        (24, 24, None),
        (48, 24, None),
        (72, 36, None),
        (108, 54, None),
        (162, 82, None),
        (244, 122, None),
        (366, 184, None),
        (550, 256, None),
        (806, 256, None),
        (1062, 256, None),
    ];
    assert_eq!(read(&mut cache, &mut file, 0, 1200, 1), expected);
}

/// V1b.
#[test]
fn the_first_version_takes_one_page_read_before_for_a_reader() {
    let mut cache = PageCache::new(MANY);
    cache.reclaimable = 65_536;
    let mut file = AraV1::new(50, 256);
    let expected = [(1000, 1, None), (1001, 24, None)];
    assert_eq!(read(&mut cache, &mut file, 1000, 1010, 1), expected);
}

/// V16a.
#[test]
fn the_last_version_starts_in_mid_file_as_before() {
    a_start_in_mid_file(AraRelease::V16);
}

/// V16b.
#[test]
fn the_last_version_lets_accidental_neighbours_cost_little() {
    let (mut cache, mut file) = (cache(MANY), Ara::new(AraRelease::V16));
    let mut chunks = Vec::new();
    for page in 0..23 {
        chunks.extend(read(&mut cache, &mut file, 1000 + page, 1001 + page, 1));
        chunks.extend(read(&mut cache, &mut file, 5000 + page, 5001 + page, 1));
    }
    let expected = [
        (1000, 1, None),
        (5000, 1, None),
        (1001, 2, None),
        (5001, 2, None),
        (1003, 2, None),
        (5003, 2, None),
        (1005, 2, None),
        (5005, 2, None),
        (1007, 3, None),
        (5007, 3, None),
        (1010, 5, None),
        (5010, 5, None),
        (1015, 7, None),
        (5015, 7, None),
        (1022, 11, Some(1032)),
        (5022, 11, Some(5032)),
    ];
    assert_eq!(chunks, expected);
}

/// V16c.
#[test]
fn the_last_version_doubles_its_backward_windows() {
    let (mut cache, mut file) = (cache(MANY), Ara::new(AraRelease::V16));
    let expected = [
        (2000, 4, None),
        (1993, 10, None),
        (1968, 25, None),
        (1913, 55, None),
        (1798, 115, None),
    ];
    assert_eq!(backwards(&mut cache, &mut file, 1800), expected);
}
