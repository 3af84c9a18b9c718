//! Kernels before 2.6.23, page for page: worked examples of their rules, with literal numbers.
//!
//! A step is the page at which a `read()` or a fault began and the runs of pages it brought,
//! first page and length; steps that brought nothing are left out.

use ahead_replicas::kernel::advise::Advised;
use ahead_replicas::kernel::linux_2_2::{Linux2_2, Linux2_2State, OldSettings};
use ahead_replicas::kernel::linux_2_4::Linux2_4;
use ahead_replicas::kernel::{Advice, Class, Fault, Read, ReadAhead};
use page_cache::PageCache;

#[path = "support/page_cache.rs"]
mod page_cache;

type Step = (u64, Vec<(u64, u64)>);

/// Faults on all of `pages`, one after the other, in an area that maps the whole file.
fn fault_all<A: ReadAhead>(
    cache: &mut PageCache,
    file: &mut A,
    pages: impl IntoIterator<Item = u64>,
    advice: Advice,
) -> Vec<Step> {
    pages
        .into_iter()
        .map(|page| (page, cache.fault_in(file, &cache.whole_file(page, advice))))
        .filter(|(_, runs)| !runs.is_empty())
        .collect()
}

fn linux_2_2() -> Linux2_2 {
    Linux2_2::new(OldSettings::LINUX_2_2)
}

fn linux_2_4() -> Linux2_4 {
    Linux2_4::new(OldSettings::LINUX_2_4)
}

const fn numbers(ra_end: u64, ra_length: u64, ra_window: u64, ra_next: u64) -> Linux2_2State {
    Linux2_2State {
        ra_end,
        ra_length,
        ra_window,
        ra_next,
    }
}

/// Trace 1.1a.
#[test]
fn a_fault_in_2_2_brings_the_aligned_cluster_once() {
    let mut cache = PageCache::new(1000);
    let steps = fault_all(&mut cache, &mut linux_2_2(), 0..17, Advice::Normal);
    assert_eq!(steps, [(0, vec![(0, 16)]), (16, vec![(16, 16)])]);
}

/// Trace 1.1b.
#[test]
fn a_fault_in_the_middle_of_a_cluster_brings_the_pages_before_it_too() {
    let mut cache = PageCache::new(1000);
    let steps = fault_all(&mut cache, &mut linux_2_2(), [37, 31, 40], Advice::Normal);
    assert_eq!(steps, [(37, vec![(32, 16)]), (31, vec![(16, 16)])]);
}

/// Trace 1.1c.
#[test]
fn a_cluster_ends_with_the_file() {
    let mut cache = PageCache::new(20);
    assert_eq!(cache.fault(&mut linux_2_2(), 18), [(16, 4)]);
}

#[test]
fn a_machine_with_little_memory_has_smaller_clusters() {
    let mut cache = PageCache::new(1000);
    let mut file = Linux2_2::new(OldSettings {
        cluster: 4,
        ..OldSettings::LINUX_2_2
    });
    assert_eq!(cache.fault(&mut file, 37), [(36, 4)]);
}

/// Trace 1.4a: page, then what it brought, then the four numbers.
#[test]
fn single_page_reads_in_2_2_build_blocks_of_19_pages() {
    let mut cache = PageCache::new(1000);
    let mut file = linux_2_2();
    let mut steps = Vec::new();
    for page in 0..44 {
        let runs = cache.read(&mut file, page, 1);
        if !runs.is_empty() {
            steps.push((page, runs, file.state()));
        }
    }
    let expected = [
        (0, vec![(0, 1), (1, 3)], numbers(4, 4, 4, 6)),
        (1, vec![(4, 7)], numbers(11, 7, 11, 12)),
        (4, vec![(11, 13)], numbers(24, 13, 20, 18)),
        (11, vec![(24, 19)], numbers(43, 19, 32, 18)),
        (24, vec![(43, 19)], numbers(62, 19, 38, 18)),
        (43, vec![(62, 19)], numbers(81, 19, 38, 18)),
    ];
    assert_eq!(steps, expected);
}

/// Trace 1.4b: the walk inside a call brings the same blocks; calls begin at multiples of 4.
#[test]
fn reads_of_four_pages_in_2_2_bring_the_blocks_of_single_page_reads() {
    let mut cache = PageCache::new(1000);
    let steps = cache.read_in_steps(&mut linux_2_2(), 0..44, 4);
    let expected = [
        (0, vec![(0, 1), (1, 3), (4, 7)]),
        (4, vec![(11, 13)]),
        (8, vec![(24, 19)]),
        (24, vec![(43, 19)]),
        (40, vec![(62, 19)]),
    ];
    assert_eq!(steps, expected);
}

/// Trace 1.4c.
#[test]
fn a_random_page_in_2_2_costs_two() {
    let mut cache = PageCache::new(1000);
    let mut file = linux_2_2();
    assert_eq!(cache.read(&mut file, 100, 1), [(100, 1), (101, 1)]);
    assert_eq!(cache.read(&mut file, 7, 1), [(7, 1), (8, 1)]);
    assert_eq!(cache.read(&mut file, 900, 1), [(900, 1), (901, 1)]);
}

/// Trace 1.4d: pages 104 and 105 each lie in the newest block and bring the next.
#[test]
fn a_run_in_the_middle_of_a_file_in_2_2() {
    let mut cache = PageCache::new(1000);
    let mut file = linux_2_2();
    assert_eq!(cache.read(&mut file, 100, 4), [(100, 1), (101, 4)]);
    assert_eq!(file.state(), numbers(105, 5, 5, 8));
    assert_eq!(cache.read(&mut file, 104, 4), [(105, 9), (114, 17)]);
    assert_eq!(file.state().ra_end, 131);
    assert_eq!(file.state().ra_next, 18);
}

#[test]
fn a_look_at_the_first_half_page_reads_nothing_ahead() {
    let mut cache = PageCache::new(1000);
    let mut file = linux_2_2();
    let header = Read {
        start: 0,
        end: 2048,
    };
    assert_eq!(cache.read_bytes(&mut file, &header), [(0, 1)]);
    assert_eq!(file.state(), numbers(1, 1, 1, 0));
}

#[test]
fn the_option_for_little_read_ahead_ends_at_blocks_of_8_pages() {
    let mut cache = PageCache::new(1000);
    let mut file = Linux2_2::new(OldSettings::LINUX_2_2_SMALL);
    let steps = cache.read_in_steps(&mut file, 0..30, 1);
    assert_eq!(steps[0], (0, vec![(0, 1), (1, 2)]));
    assert_eq!(steps.last().map(|(_, runs)| runs[0].1), Some(8));
}

/// A page that a block brought and that was evicted again: the next block is small.
#[test]
fn an_evicted_page_makes_the_next_block_of_2_2_small() {
    let mut cache = PageCache::new(1000);
    let mut file = linux_2_2();
    cache.read_in_steps(&mut file, 0..24, 1);
    cache.evict(24..43);
    assert_eq!(cache.read(&mut file, 24, 1), [(24, 1)]);
    assert_eq!(file.state().ra_next, 3);
    let mut file = linux_2_4();
    cache.evict(0..1000);
    cache.read_in_steps(&mut file, 0..24, 1);
    cache.evict(24..49);
    assert_eq!(cache.read(&mut file, 24, 1), [(24, 1)]);
    assert_eq!(file.reads().state().ra_next, 31);
}

/// Trace 2.2a.
#[test]
fn true_read_ahead_in_groups_of_four_pages() {
    let mut cache = PageCache::new(1000);
    let mut file = Advised::true_read_ahead(4);
    assert_eq!(cache.fault(&mut file, 0), [(0, 8)]);
    assert_eq!(file.mark(), Some(7));
    let steps = fault_all(&mut cache, &mut file, 1..14, Advice::Normal);
    let expected = [(5, vec![(8, 4)]), (9, vec![(12, 4)]), (13, vec![(16, 4)])];
    assert_eq!(steps, expected);
}

/// Trace 2.2b.
#[test]
fn true_read_ahead_in_groups_of_64_pages() {
    let mut cache = PageCache::new(1000);
    let mut file = Advised::true_read_ahead(64);
    let steps = fault_all(&mut cache, &mut file, 0..130, Advice::Normal);
    let expected = [
        (0, vec![(0, 128)]),
        (65, vec![(128, 64)]),
        (129, vec![(192, 64)]),
    ];
    assert_eq!(steps, expected);
}

/// Trace 2.2c: each page waited for makes one place free, so the queue is refilled every 16 pages.
#[test]
fn true_read_ahead_refills_a_full_queue_and_never_waits_for_a_place() {
    let mut cache = PageCache::new(1000);
    cache.slots = Some(128);
    let mut file = Advised::true_read_ahead(256);
    assert_eq!(cache.fault(&mut file, 0), [(0, 128)]);
    assert_eq!(file.mark(), Some(127));
    let steps = fault_all(&mut cache, &mut file, 1..34, Advice::Normal);
    let expected = [
        (1, vec![(128, 1)]),
        (17, vec![(129, 16)]),
        (33, vec![(145, 16)]),
    ];
    assert_eq!(steps, expected);
    assert!(cache.log.iter().all(|started| started.window.may_drop));
}

#[test]
fn a_wanted_page_that_the_queue_refused_is_read_with_an_ordinary_request() {
    let mut cache = PageCache::new(1000);
    cache.slots = Some(4);
    let mut file = Advised::true_read_ahead(64);
    assert_eq!(cache.fault(&mut file, 2), [(0, 4)]);
    cache.take_log();
    // The queue still holds page 3; group 10 begins 30 pages before the wanted one.
    cache.fault(&mut file, 670);
    let classes: Vec<_> = cache
        .log
        .iter()
        .map(|started| (started.window.class, started.runs.clone()))
        .collect();
    let expected = [
        (Class::Subsequent, vec![(640, 3)]),
        (Class::Single, vec![(670, 1)]),
    ];
    assert_eq!(classes, expected);
}

#[test]
fn pages_evicted_below_the_mark_come_back_alone() {
    let mut cache = PageCache::new(1000);
    let mut file = Advised::true_read_ahead(4);
    fault_all(&mut cache, &mut file, 0..100, Advice::Normal);
    cache.evict(0..1000);
    let steps = fault_all(&mut cache, &mut file, [10, 11], Advice::Normal);
    assert_eq!(steps, [(10, vec![(10, 1)]), (11, vec![(11, 1)])]);
}

#[test]
fn the_original_mechanism_takes_any_number_of_pages() {
    let mut cache = PageCache::new(1000);
    let mut file = Advised::original(24);
    let steps = fault_all(&mut cache, &mut file, 0..60, Advice::Normal);
    let expected = [
        (0, vec![(0, 24)]),
        (24, vec![(24, 24)]),
        (48, vec![(48, 24)]),
    ];
    assert_eq!(steps, expected);
    assert!(cache.log.iter().all(|started| !started.window.may_drop));
}

/// Trace 3.1a.
#[test]
fn single_page_reads_in_2_4_build_blocks_of_32_pages() {
    let mut cache = PageCache::new(1000);
    let mut file = linux_2_4();
    let mut steps = Vec::new();
    for page in 0..82 {
        let runs = cache.read(&mut file, page, 1);
        if !runs.is_empty() {
            steps.push((page, runs, file.reads().state().ra_next));
        }
    }
    let expected = [
        (0, vec![(0, 1), (1, 3)], 6),
        (1, vec![(4, 7)], 12),
        (4, vec![(11, 13)], 24),
        (11, vec![(24, 25)], 31),
        (24, vec![(49, 32)], 31),
        (49, vec![(81, 32)], 31),
        (81, vec![(113, 32)], 31),
    ];
    assert_eq!(steps, expected);
}

/// Trace 3.1b: page 8 is needed, page 9 because a read needs one page more.
#[test]
fn a_random_page_in_2_4_costs_three() {
    let mut cache = PageCache::new(2000);
    let mut file = linux_2_4();
    assert_eq!(cache.read(&mut file, 100, 1), [(100, 1), (101, 2)]);
    assert_eq!(cache.read(&mut file, 7, 1), [(7, 1), (8, 2)]);
    assert_eq!(cache.read(&mut file, 900, 1), [(900, 1), (901, 2)]);
    assert_eq!(cache.read(&mut file, 901, 1), [(903, 5)]);
    assert_eq!(file.reads().state().ra_next, 8);
}

/// Page 4 takes the step for the next block before it turns out that there is nothing to queue.
#[test]
fn at_the_end_of_the_file_2_4_does_not_double_its_blocks() {
    let mut cache = PageCache::new(11);
    let mut file = linux_2_4();
    cache.read_in_steps(&mut file, 0..5, 1);
    assert_eq!(file.reads().state(), numbers(11, 0, 7, 12));
    let mut file = linux_2_2();
    cache.evict(0..11);
    cache.read_in_steps(&mut file, 0..4, 1);
    assert_eq!(file.state(), numbers(11, 7, 11, 12));
}

#[test]
fn a_partial_last_page_is_not_read_ahead_in_2_4() {
    let mut cache = PageCache::new(12);
    cache.file_bytes -= 1;
    let steps = cache.read_in_steps(&mut linux_2_4(), 0..12, 1);
    let last = (11, vec![(11, 1)]);
    assert_eq!(steps, [(0, vec![(0, 1), (1, 3)]), (1, vec![(4, 7)]), last]);
    cache.evict(0..12);
    let steps = cache.read_in_steps(&mut linux_2_2(), 0..12, 1);
    assert_eq!(steps.last(), Some(&(4, vec![(11, 1)])));
}

#[test]
fn an_area_told_random_has_single_pages_in_2_4() {
    let mut cache = PageCache::new(1000);
    let steps = fault_all(&mut cache, &mut linux_2_4(), [37, 38], Advice::Random);
    assert_eq!(steps, [(37, vec![(37, 1)]), (38, vec![(38, 1)])]);
}

/// The window is 32 pages; each is queued half a window before it is reached.
#[test]
fn an_area_told_sequential_is_read_ahead_by_windows_in_2_4() {
    let mut cache = PageCache::new(1000);
    let steps = fault_all(&mut cache, &mut linux_2_4(), 0..90, Advice::Sequential);
    let expected = [
        (0, vec![(0, 16)]),
        (16, vec![(16, 16), (32, 16), (48, 16)]),
        (48, vec![(64, 16), (80, 16)]),
        (80, vec![(96, 16), (112, 16)]),
    ];
    assert_eq!(steps, expected);
}

/// `vm_raend` is a page of the file already, and the start of the area is added to it once more.
#[test]
fn an_area_in_the_middle_of_a_file_reads_the_wrong_pages_ahead_in_2_4() {
    let mut cache = PageCache::new(1000);
    let mut file = linux_2_4();
    let area = |page| Fault {
        page,
        area_start: 160,
        area_end: 800,
        advice: Advice::Sequential,
        ..Fault::default()
    };
    assert_eq!(cache.fault_in(&mut file, &area(160)), [(160, 16)]);
    let runs = cache.fault_in(&mut file, &area(176));
    assert_eq!(runs, [(176, 16), (352, 16), (368, 16)]);
}

#[test]
fn a_cluster_ends_with_the_mapped_area_in_2_4() {
    let mut cache = PageCache::new(1000);
    let fault = Fault {
        page: 37,
        area_start: 30,
        area_end: 40,
        ..Fault::default()
    };
    assert_eq!(cache.fault_in(&mut linux_2_4(), &fault), [(32, 8)]);
    cache.evict(0..1000);
    assert_eq!(cache.fault_in(&mut linux_2_2(), &fault), [(32, 16)]);
}
