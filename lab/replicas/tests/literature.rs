//! The controllers of papers and programs: what each does to a reader, with literal numbers.
//!
//! A step is the page at which a `read()` began and the runs of pages it brought, first page and
//! length; steps that brought nothing are left out.

use ahead_policy::device::DeviceEstimate;
use ahead_replicas::kernel::ReadAhead;
use ahead_replicas::literature::amp::Amp;
use ahead_replicas::literature::competitive::Competitive;
use ahead_replicas::literature::degree::{Degree, DegreeSettings};
use ahead_replicas::literature::majority_trend::MajorityTrend;
use ahead_replicas::literature::mountpoint::Mountpoint;
use ahead_replicas::literature::one_block::{OneBlock, When};
use ahead_replicas::literature::rocksdb::RocksDb;
use ahead_replicas::literature::sarc::Sarc;
use page_cache::PageCache;

#[path = "support/page_cache.rs"]
mod page_cache;

/// Larger than any file here: answers come late, but no request is refused.
const MANY_SLOTS: usize = 1 << 20;

fn degree(adaptive: bool, trigger_pages: Option<u64>, degree_pages: u64) -> Degree {
    Degree::new(DegreeSettings {
        adaptive,
        trigger_pages,
        degree_pages,
    })
}

/// Pages of random single reads, far from each other, that each controller brings.
fn pages_of_random_reads<A: ReadAhead>(mut file: A) -> u64 {
    let mut cache = PageCache::new(100_000);
    for page in [5000, 90_000, 31_000, 77_123, 12, 64_001] {
        cache.read(&mut file, page, 1);
    }
    u64::try_from(cache.pages.len()).unwrap()
}

#[test]
fn random_reads_cost_a_page_each_where_a_run_is_asked_for_first() {
    assert_eq!(pages_of_random_reads(degree(false, None, 32)), 6);
    assert_eq!(pages_of_random_reads(degree(false, Some(16), 32)), 6);
    assert_eq!(pages_of_random_reads(degree(true, Some(16), 32)), 6);
    assert_eq!(pages_of_random_reads(Amp::new(256)), 6);
    assert_eq!(pages_of_random_reads(RocksDb::default()), 6);
    assert_eq!(pages_of_random_reads(MajorityTrend::default()), 6);
    let competitive = Competitive::new(&DeviceEstimate::ARM);
    assert_eq!(pages_of_random_reads(competitive), 6);
}

#[test]
fn one_block_look_ahead_doubles_random_reads_and_halves_the_misses_of_runs() {
    assert_eq!(pages_of_random_reads(OneBlock::new(When::OnMiss)), 12);
    let mut cache = PageCache::new(100);
    let steps = cache.read_in_steps(&mut OneBlock::new(When::OnMiss), 0..6, 1);
    let expected = [
        (0, vec![(0, 1), (1, 1)]),
        (2, vec![(2, 1), (3, 1)]),
        (4, vec![(4, 1), (5, 1)]),
    ];
    assert_eq!(steps, expected);
}

#[test]
fn tagged_one_block_look_ahead_misses_the_first_page_of_a_run_only() {
    for when in [When::Tagged, When::Always] {
        let mut cache = PageCache::new(100);
        let steps = cache.read_in_steps(&mut OneBlock::new(when), 10..14, 1);
        let expected = [
            (10, vec![(10, 1), (11, 1)]),
            (11, vec![(12, 1)]),
            (12, vec![(13, 1)]),
            (13, vec![(14, 1)]),
        ];
        assert_eq!(steps, expected, "{when:?}");
    }
}

#[test]
fn a_fixed_synchronous_degree_misses_once_per_group() {
    let mut cache = PageCache::new(1000);
    let steps = cache.read_in_steps(&mut degree(false, None, 8), 0..30, 1);
    let expected = [
        (0, vec![(0, 9)]),
        (9, vec![(9, 9)]),
        (18, vec![(18, 9)]),
        (27, vec![(27, 9)]),
    ];
    assert_eq!(steps, expected);
}

/// Four pages before the end of what was fetched, the next eight are asked for.
#[test]
fn a_fixed_asynchronous_degree_misses_once_per_run() {
    let mut cache = PageCache::new(1000);
    let steps = cache.read_in_steps(&mut degree(false, Some(4), 8), 0..22, 1);
    let expected = [
        (0, vec![(0, 9)]),
        (5, vec![(9, 8)]),
        (13, vec![(17, 8)]),
        (21, vec![(25, 8)]),
    ];
    assert_eq!(steps, expected);
}

#[test]
fn an_adaptive_degree_doubles_and_a_jump_starts_over() {
    let mut cache = PageCache::new(5000);
    let mut file = degree(true, None, 32);
    let steps = cache.read_in_steps(&mut file, 0..90, 1);
    let expected = [
        (0, vec![(0, 5)]),
        (5, vec![(5, 9)]),
        (14, vec![(14, 17)]),
        (31, vec![(31, 33)]),
        (64, vec![(64, 33)]),
    ];
    assert_eq!(steps, expected);
    let steps = cache.read_in_steps(&mut file, 1000..1002, 1);
    assert_eq!(steps, [(1000, vec![(1000, 1)]), (1001, vec![(1001, 5)])]);
}

/// Degree 4 at page 0. Page 7 ends a set: degree 8, trigger distance 2. Page 13 is the first that
/// is near the end of [8, 16) and asks for 8 more; page 15 ends that set: degree 12, and so on.
#[test]
fn amp_grows_by_the_request_at_the_end_of_each_set_and_then_stops_missing() {
    let mut cache = PageCache::new(5000);
    let mut file = Amp::new(256);
    let steps = cache.read_in_steps(&mut file, 0..40, 4);
    let expected = [
        (0, vec![(0, 8)]),
        (4, vec![(8, 8)]),
        (12, vec![(16, 8)]),
        (20, vec![(24, 12)]),
        (32, vec![(36, 16)]),
    ];
    assert_eq!(steps, expected);
    assert_eq!(file.trigger(), 2);
}

#[test]
fn amp_asks_earlier_when_a_read_waits_for_the_first_page_of_a_set() {
    let mut cache = PageCache::new(5000);
    cache.slots = Some(MANY_SLOTS);
    let mut file = Amp::new(256);
    cache.read_in_steps(&mut file, 0..160, 4);
    let (late, in_time) = (file.trigger(), 2);
    assert!(late > in_time, "{late}");
    assert!(late < file.degree());
}

#[test]
fn amp_shrinks_when_a_set_was_evicted_before_use() {
    let mut cache = PageCache::new(5000);
    let mut file = Amp::new(256);
    cache.read_in_steps(&mut file, 0..40, 4);
    let (degree, trigger) = (file.degree(), file.trigger());
    cache.evict(40..5000);
    cache.read(&mut file, 40, 4);
    assert_eq!(file.degree(), degree - 1);
    assert_eq!(file.trigger(), trigger - 1);
    // A jump forgets both.
    cache.read(&mut file, 3000, 4);
    assert_eq!((file.degree(), file.trigger()), (0, 0));
}

/// 16 pages a track: the second track in a row is sequential, and eight more come with it.
#[test]
fn sarc_reads_tracks_and_groups_of_eight_behind_two_in_a_row() {
    let mut cache = PageCache::new(5000);
    let steps = cache.read_in_steps(&mut Sarc::new(16), 0..280, 1);
    let expected = [
        (0, vec![(0, 16)]),
        (16, vec![(16, 144)]),
        (96, vec![(160, 128)]),
        (224, vec![(288, 128)]),
    ];
    assert_eq!(steps, expected);
    assert_eq!(pages_of_random_reads(Sarc::new(16)), 96);
}

/// The arm of the estimate: 8 ms and 150 MB/s are 292 pages, asked for again half way.
#[test]
fn competitive_prefetching_reads_as_long_as_it_takes_to_get_there() {
    let device = DeviceEstimate {
        access_ns: 8_000_000,
        bytes_per_second: 150_000_000,
        ..DeviceEstimate::ARM
    };
    let depth = device.pages_per_access().get();
    assert!((290..=294).contains(&depth), "{depth}");
    let mut cache = PageCache::new(5000);
    let steps = cache.read_in_steps(&mut Competitive::new(&device), 0..200, 1);
    let half_way = 1 + depth - depth / 2;
    let expected = [
        (0, vec![(0, 1 + depth)]),
        (half_way, vec![(1 + depth, depth)]),
    ];
    assert_eq!(steps, expected);
}

#[test]
fn leap_follows_a_backward_stride_through_noise() {
    let mut cache = PageCache::new(100_000);
    let mut file = MajorityTrend::default();
    let mut misses = 0;
    for number in 0..200 {
        let page = 90_000 - 7 * number;
        misses += cache.read(&mut file, page, 1).len().min(1);
        if number % 8 == 3 {
            cache.read(&mut file, number, 1);
        }
    }
    assert!(misses < 80, "{misses}");
    assert_eq!(file.majority(), Some(-7));
}

/// The third request in a row is the first with a window: 2, 4, … 64 pages behind it.
#[test]
fn rocksdb_arms_behind_two_requests_and_doubles_to_256_kib() {
    for first in [0, 1000] {
        let mut cache = PageCache::new(5000);
        let mut file = RocksDb::default();
        let steps = cache.read_in_steps(&mut file, first..first + 200, 1);
        let expected = [
            (0, 1),
            (1, 1),
            (2, 3),
            (5, 5),
            (10, 9),
            (19, 17),
            (36, 33),
            (69, 65),
            (134, 65),
            (199, 65),
        ]
        .map(|(page, pages)| (first + page, vec![(first + page, pages)]));
        assert_eq!(steps, expected);
        // A jump disarms, and three requests arm again with the smallest window.
        let steps = cache.read_in_steps(&mut file, 4000..4003, 1);
        let expected = [(4000, 1), (4001, 1), (4002, 3)];
        assert_eq!(steps, expected.map(|run| (run.0, vec![run])));
    }
}

/// 288 pages at once, filled up when 144 or fewer are left.
#[test]
fn mountpoint_keeps_a_window_ahead_of_a_reader_that_never_waits() {
    let mut cache = PageCache::new(100_000);
    let steps = cache.read_in_steps(&mut Mountpoint::new(4096), 0..400, 1);
    let expected = [
        (0, vec![(0, 288)]),
        (144, vec![(288, 144)]),
        (288, vec![(432, 144)]),
    ];
    assert_eq!(steps, expected);
}

/// Every page is late here. Page 1 doubles the window to 576, which is filled up from page 288 on;
/// page 288 doubles it to its limit. Pages in between belong to what was late already.
#[test]
fn mountpoint_doubles_its_window_when_a_part_is_late() {
    let mut cache = PageCache::new(100_000);
    cache.slots = Some(MANY_SLOTS);
    let mut file = Mountpoint::new(1024);
    cache.read_in_steps(&mut file, 0..20_000, 32);
    let sizes: Vec<u64> = cache.log.iter().map(|one| one.window.pages).collect();
    assert_eq!(sizes[..4], [288, 289, 735, 512]);
    assert!(sizes[4..].iter().all(|&size| size == 512));
}

#[test]
fn mountpoint_starts_over_behind_a_far_jump_and_stays_behind_a_near_one() {
    let mut cache = PageCache::new(100_000);
    let mut file = Mountpoint::new(4096);
    cache.read(&mut file, 0, 32);
    assert_eq!(cache.read(&mut file, 100, 32), []);
    assert_eq!(cache.read(&mut file, 4000, 32), [(4000, 288)]);
    assert_eq!(cache.read(&mut file, 3900, 32), [(3900, 32)]);
    assert_eq!(cache.read(&mut file, 50_000, 32), [(50_000, 288)]);
    assert_eq!(cache.read(&mut file, 10_000, 32), [(10_000, 288)]);
}

#[test]
fn a_fault_is_a_request_of_one_page() {
    let mut cache = PageCache::new(1000);
    let mut file = degree(false, Some(4), 8);
    assert_eq!(cache.fault(&mut file, 0), [(0, 9)]);
    for page in 1..5 {
        assert_eq!(cache.fault(&mut file, page), []);
    }
    assert_eq!(cache.fault(&mut file, 5), [(9, 8)]);
    assert_eq!(cache.fault(&mut file, 500), [(500, 1)]);
}
