//! Rules of adaptive read-ahead that no worked trace covers: its knobs, its rarer methods, what it
//! learns and what it tells. The numbers follow from the rules by hand.
//!
//! Unless a test says otherwise: 100 000 pages of inactive and free memory, chunks of at most 256
//! pages, ratio 50, hit rate 1; the aging clock ticks once per page first used, and nothing is
//! evicted.

#[path = "support/chunks.rs"]
mod chunks;
#[path = "support/page_cache.rs"]
mod page_cache;

use ahead_replicas::kernel::ara::events::{AraEvent, Events};
use ahead_replicas::kernel::ara::{Ara, AraKnobs, AraRelease, Method};
use ahead_replicas::kernel::{Advice, Class, Host, ReadAhead};
use chunks::{MANY, asked, backwards, cache, read};

/// V15 does not stop at page 0: the window wraps, is dropped, and the page comes alone.
#[test]
fn a_backward_window_below_page_zero_is_dropped_by_v15_and_cut_by_the_others() {
    let (mut cache, mut file) = (cache(MANY), Ara::new(AraRelease::V15));
    cache.read(&mut file, 6, 4);
    cache.read(&mut file, 2, 4);
    assert_eq!(
        asked(&mut cache),
        [(6, 4, None), (1, 8, None)],
        "the first window still fits"
    );
    let (mut cache, mut file) = (chunks::cache(MANY), Ara::new(AraRelease::V15));
    cache.read(&mut file, 4, 2);
    cache.read(&mut file, 2, 4);
    assert_eq!(
        asked(&mut cache),
        [(4, 2, None), (2, 1, None), (3, 10, Some(12))],
        "5 - 8 wraps; then page 3 has a neighbour"
    );
    for release in [AraRelease::June, AraRelease::V16] {
        let (mut cache, mut file) = (chunks::cache(MANY), Ara::new(release));
        cache.read(&mut file, 4, 2);
        cache.read(&mut file, 2, 4);
        assert_eq!(asked(&mut cache), [(4, 2, None), (0, 5, None)]);
    }
}

/// June: the first context chunk may be a page, since the history is all there is to go by.
#[test]
fn the_june_updates_start_slowly_in_mid_file() {
    let (mut cache, mut file) = (cache(MANY), Ara::new(AraRelease::June));
    let chunks = read(&mut cache, &mut file, 1000, 1016, 4);
    assert_eq!(chunks[..2], [(1000, 4, None), (1004, 1, None)]);
}

/// A low ratio reads as 2.6.18 did, with the larger limit of the device.
#[test]
fn a_low_ratio_selects_the_old_logic() {
    for (release, ratio) in [
        (AraRelease::V15, 9),
        (AraRelease::June, 1),
        (AraRelease::V16, 1),
    ] {
        let knobs = AraKnobs {
            ratio,
            pages_max: 32,
            ..AraKnobs::of(release)
        };
        let (mut cache, mut file) = (cache(MANY), Ara::with_knobs(release, knobs));
        let started = cache.read_in_steps(&mut file, 0..61, 1);
        let expected = [
            (0, vec![(0, 4)]),
            (1, vec![(4, 8)]),
            (4, vec![(12, 16)]),
            (12, vec![(28, 32)]),
            (28, vec![(60, 32)]),
            (60, vec![(92, 32)]),
        ];
        assert_eq!(started, expected);
    }
}

/// The plain read of ratio 0, and of a file that may not read ahead.
#[test]
fn without_ratio_or_limit_requests_are_read_as_they_are() {
    let knobs = AraKnobs {
        ratio: 0,
        ..AraKnobs::of(AraRelease::V15)
    };
    let (mut cache, mut file) = (cache(MANY), Ara::with_knobs(AraRelease::V15, knobs));
    let expected = [(0, 4, None), (4, 4, None), (8, 4, None)];
    assert_eq!(read(&mut cache, &mut file, 0, 12, 4), expected);
    let mut file = Ara::new(AraRelease::V15);
    file.on_advice(Advice::Random);
    let expected = [(100, 4, None), (104, 4, None)];
    assert_eq!(read(&mut cache, &mut file, 100, 108, 4), expected);
}

/// A congested device ignores marks, and the page behind the chunk is found by context.
#[test]
fn a_mark_on_a_congested_device_is_lost() {
    let (mut cache, mut file) = (cache(MANY), Ara::new(AraRelease::V15));
    cache.congested = true;
    assert_eq!(read(&mut cache, &mut file, 0, 32, 1), [(0, 32, Some(28))]);
    assert_eq!(cache.marks(), []);
    assert_eq!(read(&mut cache, &mut file, 32, 33, 1), [(32, 15, Some(46))]);
}

/// The mark goes 16 pages on while the disk sleeps, as long as there are pages to read.
#[test]
fn a_sleeping_disk_is_not_woken_by_a_mark() {
    let (mut cache, mut file) = (cache(MANY), Ara::new(AraRelease::V15));
    read(&mut cache, &mut file, 0, 48, 1);
    file.set_disk_asleep(true);
    assert_eq!(read(&mut cache, &mut file, 48, 96, 1), []);
    assert_eq!(cache.marks(), [96], "48, 64 and 80 were passed");
    let chunks = read(&mut cache, &mut file, 96, 97, 1);
    assert_eq!(chunks.len(), 0, "112 is still inside");
    assert_eq!(cache.marks(), [112]);
    let chunks = read(&mut cache, &mut file, 97, 113, 1);
    assert_eq!((chunks.len(), chunks[0].0), (1, 113), "128 is not");
}

/// A loop device reads the same chunks, without marks: their end is what asks for the next.
#[test]
fn without_look_ahead_the_end_of_a_chunk_asks_for_the_next() {
    let knobs = AraKnobs {
        look_ahead: false,
        ..AraKnobs::of(AraRelease::V15)
    };
    let (mut cache, mut file) = (cache(MANY), Ara::with_knobs(AraRelease::V15, knobs));
    let expected = [
        (0, 32, None),
        (32, 81, None),
        (113, 179, None),
        (292, 256, None),
    ];
    assert_eq!(read(&mut cache, &mut file, 0, 300, 1), expected);
}

/// A reader that skips every other page is sequential once a miss may reach over gaps.
#[test]
fn a_hit_rate_above_one_accepts_a_reader_that_leaves_gaps() {
    let knobs = AraKnobs {
        hit_rate: 2,
        ..AraKnobs::of(AraRelease::V15)
    };
    let (mut cache, mut file) = (cache(MANY), Ara::with_knobs(AraRelease::V15, knobs));
    cache.read(&mut file, 1000, 1);
    cache.read(&mut file, 1002, 1);
    assert_eq!(
        asked(&mut cache),
        [(1000, 1, None), (1001, 12, Some(1012))],
        "smallest chunk 10, and twice the gap of one page"
    );
    let (mut cache, mut file) = (chunks::cache(MANY), Ara::new(AraRelease::V15));
    cache.read(&mut file, 1000, 1);
    cache.read(&mut file, 1002, 1);
    assert_eq!(asked(&mut cache), [(1000, 1, None), (1002, 1, None)]);
}

/// Two daemons deliver the requests of a client in the wrong order.
#[test]
fn nfsd_reads_a_miss_as_it_is_and_asks_behind_it() {
    let knobs = AraKnobs {
        nfsd: true,
        ..AraKnobs::of(AraRelease::V16)
    };
    let file = || Ara::with_knobs(AraRelease::V16, knobs);
    let mut cache = cache(MANY);
    assert_eq!(cache.read(&mut file(), 1008, 8), [(1008, 8)]);
    assert_eq!(cache.read(&mut file(), 1000, 8), [(1000, 8)]);
    asked(&mut cache);
    let chunks = read(&mut cache, &mut file(), 1016, 1024, 8);
    assert_eq!(
        chunks,
        [(1016, 8, None), (1024, 12, Some(1035))],
        "24 pages of history"
    );
}

/// What a fresh file of the device gets first follows what earlier files needed.
#[test]
fn closing_small_files_teaches_the_first_window() {
    let mut cache = cache(20);
    let mut file = Ara::new(AraRelease::V15);
    read(&mut cache, &mut file, 0, 4, 4);
    file.on_close(&mut cache, 4 * 4096);
    // 20 pages cached, 5 used at most by the arithmetic: half of 15 pages less.
    assert_eq!(cache.learned.expect_bytes, (128 << 10) - 15 * 2048);
    let mut file = Ara::new(AraRelease::V15);
    read(&mut cache, &mut file, 0, 20, 4);
    file.on_close(&mut cache, 20 * 4096);
    assert_eq!(
        cache.learned.expect_bytes,
        (128 << 10) - 15 * 2048,
        "a file that never met its end through a chunk teaches nothing"
    );
    cache.evict(0..20);
    let mut file = Ara::new(AraRelease::V15);
    read(&mut cache, &mut file, 0, 20, 4);
    file.on_close(&mut cache, 20 * 4096);
    assert_eq!(
        cache.learned.expect_bytes,
        (128 << 10) - 15 * 2048 + 20 * 512
    );
}

/// Faults come here under SEQUENTIAL only, and are reads of one page.
#[test]
fn faults_are_adaptive_only_in_areas_told_sequential() {
    let (mut cache, mut file) = (cache(MANY), Ara::new(AraRelease::V15));
    for page in 0..29 {
        let fault = cache.whole_file(page, Advice::Sequential);
        cache.fault_in(&mut file, &fault);
    }
    let expected = [(0, 32, Some(28)), (32, 81, Some(48))];
    assert_eq!(asked(&mut cache), expected);
    cache.fault(&mut file, 5000);
    let log = cache.take_log();
    assert_eq!(log[0].window.class, Class::Around);
    assert_eq!(log[0].runs, [(4872, 256)]);
}

/// The patch's table `events`, after T1 up to page 113 and one random read.
#[test]
fn the_table_of_events_tells_requests_and_pages_by_method() {
    let mut cache = cache(MANY);
    let mut file = Ara::observed(
        AraRelease::V15,
        AraKnobs::of(AraRelease::V15),
        Events::default(),
    );
    cache.read_in_steps(&mut file, 0..113, 1);
    cache.read(&mut file, 9000, 2);
    let events = file.observer();
    assert_eq!(events.requests(AraEvent::ReadAhead, Method::Initial), 1);
    assert_eq!(events.pages(AraEvent::ReadAhead, Method::Initial), 32);
    assert_eq!(events.pages(AraEvent::ReadAhead, Method::State), 81 + 179);
    assert_eq!(events.pages(AraEvent::ReadAheadHit, Method::Initial), 32);
    assert_eq!(events.pages(AraEvent::ReadAheadHit, Method::State), 81);
    assert_eq!(events.requests_total(AraEvent::LookAheadHit), 2);
    assert_eq!(events.requests_total(AraEvent::CacheMiss), 1);
    assert_eq!(events.pages_total(AraEvent::RandomRead), 2);
    assert_eq!(events.random_rate(), 20, "one in 1 + 3, made odd: of five");
    assert_eq!(events.read_ahead_hit_rate(), 39, "113 of 292, made odd");
}

/// The first burst of three has no run to compare with, the second and third are found by context.
#[test]
fn bursts_of_equal_length_at_random_places_are_read_at_once() {
    let (mut cache, mut file) = (cache(MANY), Ara::new(AraRelease::V15));
    for start in [1000, 5000, 9000] {
        let expected = [(start, 1, None), (start + 1, 10, Some(start + 10))];
        assert_eq!(read(&mut cache, &mut file, start, start + 8, 1), expected);
    }
    cache.read(&mut file, 13_000, 1);
    let log = cache.take_log();
    assert_eq!(log[0].runs, [(13_000, 7)], "the seven hits of each run");
    assert_eq!(log[0].window.class, Class::Seek);
}

/// What was read before the loss is the threshold, and three quarters of it are asked for.
#[test]
fn a_loss_in_the_newest_chunk_shows_the_threshold() {
    for (release, thrash_bytes) in [
        (AraRelease::V15, 119_808),
        (AraRelease::June, 119_808),
        (AraRelease::V16, 922_624),
    ] {
        let (mut cache, mut file) = (cache(MANY), Ara::new(release));
        cache.learned = release.learned();
        read(&mut cache, &mut file, 0, 10, 1);
        cache.evict(10..32);
        let expected = [(10, 7, None)];
        assert_eq!(read(&mut cache, &mut file, 10, 11, 1), expected);
        assert_eq!(cache.learned.thrash_bytes, thrash_bytes);
    }
}

/// June: a backward window grows by twice the last one, whatever was used of it.
#[test]
fn the_june_updates_grow_backward_windows_by_the_last_one() {
    let (mut cache, mut file) = (cache(MANY), Ara::new(AraRelease::June));
    let expected = [(2000, 4, None), (1995, 8, None), (1965, 30, None)];
    assert_eq!(backwards(&mut cache, &mut file, 1984), expected);
}

/// Somebody's mark with two pages of history below it and 18 pages ahead of it.
#[test]
fn pages_ahead_of_a_reader_with_little_history_are_rescued() {
    for release in [AraRelease::V15, AraRelease::June, AraRelease::V16] {
        let (mut cache, mut file) = (cache(MANY), Ara::new(release));
        cache.cache(100..120);
        cache.set_mark(102);
        assert_eq!(read(&mut cache, &mut file, 102, 103, 1), []);
        assert_eq!(cache.rescued, (102..120).collect::<Vec<_>>());
    }
}
