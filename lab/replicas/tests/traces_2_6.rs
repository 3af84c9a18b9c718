//! Kernels 2.6.9 to 2.6.22, page for page: worked examples of their rules, with literal numbers.
//!
//! A step is the page at which a `read()` or a fault began and the runs of pages it brought,
//! first page and length; steps that brought nothing are left out.

use ahead_replicas::kernel::linux_2_6_9::Linux2_6_9;
use ahead_replicas::kernel::linux_2_6_11::{Stock, StockRelease};
use ahead_replicas::kernel::{Advice, Class, ReadAhead};
use page_cache::PageCache;

#[path = "support/page_cache.rs"]
mod page_cache;

/// The limit of all traces: 128 KiB.
const MAX: u64 = 32;

fn stock(release: StockRelease) -> Stock {
    Stock::new(release, MAX)
}

fn stock_2_6_18() -> Stock {
    stock(StockRelease::Linux2_6_18)
}

fn stock_2_6_11() -> Stock {
    stock(StockRelease::Linux2_6_11)
}

/// Windows asked for since the log was last taken, single pages of the walk left out.
fn windows(cache: &mut PageCache) -> Vec<(u64, u64)> {
    cache
        .take_log()
        .iter()
        .filter(|started| started.window.class != Class::Single)
        .map(|started| (started.window.start, started.window.pages))
        .collect()
}

/// Trace 3.2a: page, I/O, then start, size, next, ahead, hits and average.
#[test]
fn single_page_reads_in_2_6_9() {
    let mut cache = PageCache::new(1000);
    let mut file = Linux2_6_9::new(MAX);
    let mut rows = Vec::new();
    for page in 0..92 {
        let runs = cache.read(&mut file, page, 1);
        let state = file.state();
        let row = (
            page,
            runs,
            (state.start, state.size),
            state.next_size,
            (state.ahead_start, state.ahead_size),
            state.window_hits,
            state.average,
        );
        if !row.1.is_empty() || page == 58 {
            rows.push(row);
        }
    }
    let expected = [
        (0, vec![(0, 16)], (0, 16), Some(16), (0, 0), 1, 16),
        (16, vec![(16, 17)], (16, 17), Some(17), (0, 0), 17, 16),
        (33, vec![(33, 25)], (33, 25), Some(25), (0, 0), 34, 16),
        (48, vec![(58, 32)], (33, 25), Some(32), (58, 32), 49, 16),
        (58, vec![], (58, 32), Some(32), (0, 0), 59, 16),
        (59, vec![(90, 32)], (58, 32), Some(32), (90, 32), 60, 16),
        (91, vec![(122, 32)], (90, 32), Some(32), (122, 32), 65, 16),
    ];
    assert_eq!(rows, expected);
}

/// Trace 3.2b.
#[test]
fn random_single_pages_switch_2_6_9_off() {
    let mut cache = PageCache::new(4000);
    let mut file = Linux2_6_9::new(MAX);
    let mut runs = Vec::new();
    for page in [100, 900, 500, 1700, 1200, 2500, 3000] {
        runs.extend(cache.read(&mut file, page, 1));
    }
    let expected = [
        (100, 16),
        (900, 8),
        (500, 4),
        (1700, 2),
        (1200, 1),
        (2500, 1),
        (3000, 1),
    ];
    assert_eq!(runs, expected);
    assert_eq!(file.state().next_size, None);
}

/// Trace 3.2c.
#[test]
fn the_windows_of_2_6_9_approach_the_length_of_runs() {
    let mut cache = PageCache::new(4000);
    let mut file = Linux2_6_9::new(MAX);
    let mut runs = Vec::new();
    for page in [100, 900, 500, 1700, 1200, 2500] {
        runs.extend(cache.read(&mut file, page, 4));
    }
    let expected = [
        (100, 16),
        (900, 10),
        (500, 7),
        (1700, 5),
        (1200, 4),
        (2500, 4),
    ];
    assert_eq!(runs, expected);
}

/// After 32 missing pages in a row, those 32 are the current window, and the next page is behind.
#[test]
fn a_sequential_run_switches_2_6_9_on_again() {
    let mut cache = PageCache::new(8000);
    let mut file = Linux2_6_9::new(MAX);
    for page in [100, 900, 500, 1700, 1200] {
        cache.read(&mut file, page, 1);
    }
    assert_eq!(file.state().next_size, None);
    // Page 5000 is not next to 1200; the 32 behind it are.
    for page in 5000..5033 {
        assert_eq!(cache.read(&mut file, page, 1), [(page, 1)]);
    }
    assert_eq!(file.state().start, 5000);
    assert_eq!(file.state().next_size, Some(MAX));
    assert_eq!(cache.read(&mut file, 5033, 1).len(), 1);
    assert!(cache.log.last().is_some_and(|last| last.window.pages > 1));
}

#[test]
fn a_congested_device_makes_2_6_9_shrink_its_windows() {
    let mut cache = PageCache::new(1000);
    let mut file = Linux2_6_9::new(MAX);
    cache.read(&mut file, 0, 1);
    cache.congested = true;
    let runs = cache.read_in_steps(&mut file, 1..18, 1);
    assert_eq!(runs, [(16, vec![(16, 1)]), (17, vec![(17, 1)])]);
}

/// Trace 3.3a.
#[test]
fn single_page_reads_in_2_6_18_and_2_6_11() {
    let mut cache = PageCache::new(1000);
    let steps = cache.read_in_steps(&mut stock_2_6_18(), 0..61, 1);
    let expected = [
        (0, vec![(0, 4)]),
        (1, vec![(4, 8)]),
        (4, vec![(12, 16)]),
        (12, vec![(28, 32)]),
        (28, vec![(60, 32)]),
        (60, vec![(92, 32)]),
    ];
    assert_eq!(steps, expected);
    cache.evict(0..1000);
    let steps = cache.read_in_steps(&mut stock_2_6_11(), 0..25, 1);
    let expected = [
        (0, vec![(0, 8)]),
        (1, vec![(8, 16)]),
        (8, vec![(24, 32)]),
        (24, vec![(56, 32)]),
    ];
    assert_eq!(steps, expected);
}

/// Trace 3.3b.
#[test]
fn reads_of_four_pages_are_the_same_in_2_6_11_and_2_6_18() {
    for release in [StockRelease::Linux2_6_11, StockRelease::Linux2_6_18] {
        let mut cache = PageCache::new(1000);
        let steps = cache.read_in_steps(&mut stock(release), 0..60, 4);
        let expected = [
            (0, vec![(0, 8)]),
            (4, vec![(8, 16)]),
            (8, vec![(24, 32)]),
            (24, vec![(56, 32)]),
            (56, vec![(88, 32)]),
        ];
        assert_eq!(steps, expected, "{release:?}");
    }
}

/// Trace 3.3c.
#[test]
fn a_random_read_and_then_a_run() {
    let mut cache = PageCache::new(1000);
    let mut file = stock_2_6_18();
    assert_eq!(cache.read(&mut file, 100, 1), [(100, 1)]);
    assert_eq!(cache.read(&mut file, 500, 2), [(500, 2)]);
    let steps = cache.read_in_steps(&mut file, 502..507, 1);
    let expected = [
        (502, vec![(502, 4)]),
        (503, vec![(506, 8)]),
        (506, vec![(514, 16)]),
    ];
    assert_eq!(steps, expected);
    cache.evict(0..1000);
    let mut file = stock_2_6_11();
    assert_eq!(cache.read(&mut file, 100, 1), [(100, 1)]);
    assert_eq!(cache.read(&mut file, 500, 2), [(500, 2)]);
    let steps = cache.read_in_steps(&mut file, 502..504, 1);
    assert_eq!(steps, [(502, vec![(502, 8)]), (503, vec![(510, 16)])]);
}

/// Trace 3.3d.
#[test]
fn a_read_above_the_limit_is_cut_into_windows() {
    let mut cache = PageCache::new(1000);
    let mut file = stock_2_6_18();
    let runs = cache.read(&mut file, 0, 128);
    assert_eq!(runs, [(0, 32), (32, 32), (64, 32), (96, 32), (128, 32)]);
    let runs = cache.read(&mut file, 128, 128);
    assert_eq!(runs, [(160, 32), (192, 32), (224, 32), (256, 32)]);
}

/// Trace 3.3e.
#[test]
fn two_interleaved_readers_disable_read_ahead() {
    let mut cache = PageCache::new(2000);
    let mut file = stock_2_6_18();
    let pages = [0, 1000, 1, 1001, 2, 1002, 3, 1003, 4, 1004];
    let runs: Vec<_> = pages
        .into_iter()
        .flat_map(|page| cache.read(&mut file, page, 1))
        .collect();
    let expected = [
        (0, 4),
        (1000, 1),
        (1001, 1),
        (1002, 1),
        (1003, 1),
        (4, 1),
        (1004, 1),
    ];
    assert_eq!(runs, expected);
    let asked = windows(&mut cache);
    assert_eq!(asked[..4], [(0, 4), (1000, 1), (1, 1), (1001, 1)]);
}

/// Trace 3.3f.
#[test]
fn an_evicted_window_makes_the_one_after_next_two_pages_shorter() {
    let mut cache = PageCache::new(1000);
    let mut file = stock_2_6_18();
    cache.read_in_steps(&mut file, 0..24, 4);
    let state = *file.state();
    assert_eq!((state.start, state.size), (8, 16));
    assert_eq!((state.ahead_start, state.ahead_size), (24, 32));
    cache.evict(24..56);
    let steps = cache.read_in_steps(&mut file, 24..56, 4);
    let first = vec![(56, 32), (24, 1), (25, 1), (26, 1), (27, 1)];
    assert_eq!(steps[0], (24, first));
    assert_eq!(steps.len(), 8);
    for (start, runs) in &steps[1..] {
        assert!(
            runs.iter()
                .copied()
                .eq((*start..start + 4).map(|page| (page, 1)))
        );
    }
    assert_eq!(cache.read(&mut file, 56, 4), [(88, 30)]);
    let steps = cache.read_in_steps(&mut file, 60..92, 4);
    assert_eq!(steps, [(88, vec![(118, 32)])]);
}

/// Trace 3.3g.
#[test]
fn a_cached_file_is_left_alone_after_256_pages() {
    let mut cache = PageCache::new(1000);
    cache.cache(0..1000);
    let mut file = stock_2_6_18();
    let mut attempts = Vec::new();
    for page in 0..600 {
        cache.read(&mut file, page, 1);
        if !windows(&mut cache).is_empty() {
            attempts.push(page);
        }
    }
    assert_eq!(attempts, [0, 1, 4, 12, 28, 60, 92, 124, 156, 188, 220]);
    assert!(file.state().is_in_cache);
    assert_eq!(file.state().cache_hits, 284);
    // Until a page is missing.
    cache.evict(600..1000);
    let runs: Vec<_> = (600..602)
        .flat_map(|page| cache.read(&mut file, page, 1))
        .collect();
    assert_eq!(runs, [(600, 1), (601, 4)]);
}

/// Trace 3.3h.
#[test]
fn the_same_page_again_is_nothing_new() {
    let mut cache = PageCache::new(1000);
    let mut file = stock_2_6_18();
    assert_eq!(cache.read(&mut file, 10, 1), [(10, 1)]);
    assert_eq!(cache.read(&mut file, 10, 1), []);
    assert_eq!(cache.read(&mut file, 10, 2), [(11, 4)]);
    assert_eq!(cache.read(&mut file, 11, 1), []);
    assert_eq!(cache.read(&mut file, 12, 1), [(15, 8)]);
}

/// The ahead window is not made while the reader does not need it yet; page 4 must be there.
#[test]
fn a_congested_device_gets_no_ahead_window_before_it_is_needed() {
    let mut cache = PageCache::new(1000);
    let mut file = stock_2_6_18();
    cache.read(&mut file, 0, 1);
    cache.congested = true;
    assert_eq!(cache.read_in_steps(&mut file, 1..4, 1), []);
    assert_eq!(cache.read(&mut file, 4, 1), [(4, 8)]);
}

#[test]
fn advice_moves_the_limit_of_the_file() {
    let mut cache = PageCache::new(1000);
    let mut file = stock_2_6_18();
    file.on_advice(Advice::Sequential);
    assert_eq!(cache.read(&mut file, 0, 64), [(0, 64), (64, 64)]);
    let mut file = stock_2_6_18();
    file.on_advice(Advice::Random);
    cache.evict(0..1000);
    let steps = cache.read_in_steps(&mut file, 0..3, 1);
    assert_eq!(
        steps,
        [(0, vec![(0, 1)]), (1, vec![(1, 1)]), (2, vec![(2, 1)])]
    );
    file.on_advice(Advice::Normal);
    assert_eq!(cache.read(&mut file, 3, 1), [(3, 4)]);
}

#[test]
fn forced_read_ahead_takes_half_the_memory_in_pieces() {
    let mut cache = PageCache::new(4000);
    cache.reclaimable = 2000;
    cache.congested = true;
    stock_2_6_18().on_will_need(&mut cache, 10, 3000);
    assert_eq!(windows(&mut cache), [(10, 512), (522, 488)]);
}

#[test]
fn a_fault_reads_around_in_2_6() {
    let mut cache = PageCache::new(4000);
    let mut file = stock_2_6_18();
    assert_eq!(cache.fault(&mut file, 100), [(84, 32)]);
    assert_eq!(cache.fault(&mut file, 10), [(0, 32)]);
    cache.reclaimable = 16;
    assert_eq!(cache.fault(&mut file, 1000), [(996, 8)]);
    cache.congested = true;
    assert_eq!(cache.fault(&mut file, 2000), [(2000, 1)]);
}

/// The hundredth miss above the hits is the last one that reads around.
#[test]
fn too_many_misses_end_reading_around() {
    let mut cache = PageCache::new(1_000_000);
    let mut file = Linux2_6_9::new(MAX);
    for number in 1..=100 {
        assert_eq!(cache.fault(&mut file, number * 1000)[0].1, 32);
    }
    for number in 101..=300 {
        assert_eq!(cache.fault(&mut file, number * 1000)[0].1, 1);
    }
    // One hit more, and one page is read around again.
    cache.fault(&mut file, 300_000);
    assert_eq!(cache.fault(&mut file, 400_000)[0].1, 32);
    assert_eq!(cache.fault(&mut file, 401_000)[0].1, 1);
}

#[test]
fn areas_told_sequential_or_random() {
    let mut cache = PageCache::new(1000);
    let mut file = stock_2_6_18();
    let mut steps = Vec::new();
    for page in 0..13 {
        let fault = cache.whole_file(page, Advice::Sequential);
        let runs = cache.fault_in(&mut file, &fault);
        if !runs.is_empty() {
            steps.push((page, runs));
        }
    }
    let expected = [
        (0, vec![(0, 4)]),
        (1, vec![(4, 8)]),
        (4, vec![(12, 16)]),
        (12, vec![(28, 32)]),
    ];
    assert_eq!(steps, expected);
    let fault = cache.whole_file(500, Advice::Random);
    assert_eq!(cache.fault_in(&mut file, &fault), [(500, 1)]);
}
