//! The page cache with an algorithm, without a clock: what is brought, told, and kept.

use ahead_replicas::instant::{Instant, InstantObserver, InstantSettings};
use ahead_replicas::kernel::folio::{Folio, FolioRelease};
use ahead_replicas::kernel::{Call, Class, Fault, Host, PageState, Read, ReadAhead, Window};
use ahead_replicas::page_cache::{
    Aging, CacheObserver, CacheSettings, Evicted, FileId, Limit, Replacement,
};

/// Bytes of a page.
const PAGE: u64 = 4096;

/// Writes everything down.
#[derive(Debug, Default)]
struct Log {
    windows: Vec<Window>,
    runs: Vec<(u64, u64)>,
    calls: usize,
    evicted: Vec<Evicted>,
}

impl CacheObserver for Log {
    fn on_evicted(&mut self, page: &Evicted) {
        self.evicted.push(*page);
    }
}

impl InstantObserver for Log {
    fn on_window(&mut self, _: FileId, window: &Window) {
        self.windows.push(*window);
    }

    fn on_run(&mut self, _: FileId, start: u64, pages: u64) {
        self.runs.push((start, pages));
    }

    fn on_call(&mut self, _: FileId, _: &Call) {
        self.calls += 1;
    }
}

/// Asks for one window, wherever it is called first.
#[derive(Debug, Default)]
struct Once(Option<Window>);

impl ReadAhead for Once {
    fn on_page<H: Host>(&mut self, host: &mut H, _: &Read, _: u64) {
        if let Some(window) = self.0.take() {
            host.start(&window);
        }
    }

    fn on_fault<H: Host>(&mut self, _: &mut H, _: &Fault) {}
}

fn settings(memory_pages: u64, folio_order_max: u8) -> InstantSettings {
    InstantSettings {
        cache: CacheSettings {
            memory_pages,
            replacement: Replacement::TwoList,
            aging: Aging::FirstReferences,
            limit: Limit::Machine,
        },
        io_pages: 320,
        folio_order_max,
    }
}

/// Trace B of the facts: four pages per call.
#[test]
fn a_sequential_reader_gets_the_windows_of_6_18() {
    let mut world = Instant::new(&settings(1000, 0), Log::default());
    let file = world.add_file(200 * PAGE);
    let handle = world.open(file, Folio::new(FolioRelease::Linux6_18, 32));
    for page in (0..88).step_by(4) {
        world.read(handle, &Read::of_pages(page, 4));
    }
    let log = world.observer_mut();
    let windows: Vec<_> = log
        .windows
        .iter()
        .map(|window| (window.start, window.pages, window.mark))
        .collect();
    assert_eq!(
        windows,
        [
            (0, 8, Some(4)),
            (8, 16, Some(8)),
            (24, 32, Some(24)),
            (56, 32, Some(56)),
            (88, 32, Some(88))
        ]
    );
    assert_eq!(log.runs, [(0, 8), (8, 16), (24, 32), (56, 32), (88, 32)]);
    assert!(log.calls >= 5, "tracepoints are told: {}", log.calls);
}

#[test]
fn large_folios_come_whole() {
    let mut world = Instant::new(&settings(1000, 9), Log::default());
    let file = world.add_file(1000 * PAGE);
    let handle = world.open(file, Folio::new(FolioRelease::Linux6_18, 32));
    for page in (0..64).step_by(4) {
        world.read(handle, &Read::of_pages(page, 4));
    }
    // 24 → 8+16, 48 → 1×16, 64 → 1×32.
    for (start, end) in [(24, 32), (32, 48), (48, 64), (64, 96)] {
        assert_eq!(world.cache().folio(file, end - 1), (start, end));
    }
}

#[test]
fn only_absent_pages_inside_the_file_come_in() {
    let mut world = Instant::new(&settings(1000, 0), Log::default());
    let file = world.add_file(30 * PAGE - 1);
    let lone = |start| {
        Once(Some(Window {
            start,
            pages: 1,
            ..Window::default()
        }))
    };
    let handle = world.open(file, lone(12));
    world.read(handle, &Read::of_pages(12, 1));
    let wide = Window {
        start: 10,
        pages: 100,
        mark: Some(12),
        class: Class::Advice,
        ..Window::default()
    };
    let handle = world.open(file, Once(Some(wide)));
    world.read(handle, &Read::of_pages(12, 1));
    assert_eq!(world.observer_mut().runs, [(12, 1), (10, 2), (13, 17)]);
    assert!(
        !world.cache().is_marked(file, 12),
        "it was there already, so it does not get the mark"
    );
    assert_eq!(world.cache().state(file, 30), PageState::Absent);
}

#[test]
fn a_page_nobody_brought_is_read_alone() {
    let mut world = Instant::new(&settings(1000, 0), Log::default());
    let file = world.add_file(100 * PAGE);
    let handle = world.open(file, Once::default());
    assert_eq!(world.read(handle, &Read::of_pages(98, 4)), 100 * PAGE);
    let log = world.observer_mut();
    assert_eq!(log.runs, [(98, 1), (99, 1)]);
    assert!(
        log.windows
            .iter()
            .all(|window| window.class == Class::Single)
    );
    let fault = Fault {
        page: 7,
        area_end: 100,
        ..Fault::default()
    };
    world.fault(handle, &fault);
    assert_eq!(world.cache().state(file, 7), PageState::Valid);
    world.fault(handle, &Fault { page: 100, ..fault });
    assert_eq!(world.cache().resident_pages(), 3);
}

#[test]
fn a_read_beyond_the_end_or_of_nothing_brings_nothing() {
    let mut world = Instant::new(&settings(1000, 0), Log::default());
    let file = world.add_file(10 * PAGE);
    let handle = world.open(file, Once::default());
    let beyond = Read::of_pages(20, 4);
    assert_eq!(world.read(handle, &beyond), beyond.start);
    let nothing = Read { start: 5, end: 5 };
    assert_eq!(world.read(handle, &nothing), 5);
    assert_eq!(world.cache().resident_pages(), 0);
}

#[test]
fn memory_holds_even_against_a_window_larger_than_it() {
    let mut world = Instant::new(&settings(64, 0), Log::default());
    let file = world.add_file(10_000 * PAGE);
    let handle = world.open(file, Once::default());
    world.will_need(handle, 0, 5000);
    assert_eq!(world.cache().resident_pages(), 64);
    let log = world.observer_mut();
    assert_eq!(log.windows.len(), 1);
    assert_eq!(log.runs.iter().map(|(_, pages)| pages).sum::<u64>(), 5000);
    assert_eq!(log.evicted.len(), 5000 - 64);
    assert!(log.evicted.iter().all(|page| !page.was_used));
}

/// The marks of 2.6 and of `filemap_read`: reading the same page in small pieces does not make it
/// active, coming back later does.
#[test]
fn small_reads_of_a_page_count_once_until_the_reader_was_elsewhere() {
    let mut world = Instant::new(&settings(64, 0), ());
    let file = world.add_file(100 * PAGE);
    let handle = world.open(file, Once::default());
    for start in [0, 1000, 2000, 3000] {
        let read = Read {
            start,
            end: start + 1000,
        };
        world.read(handle, &read);
    }
    assert!(!world.cache().is_active(file, 0));
    world.read(handle, &Read::of_pages(5, 1));
    world.read(handle, &Read::of_pages(0, 1));
    assert!(world.cache().is_active(file, 0));
}

#[test]
fn evicted_pages_are_read_again() {
    let mut world = Instant::new(&settings(1000, 0), Log::default());
    let file = world.add_file(100 * PAGE);
    let handle = world.open(file, Once::default());
    world.read(handle, &Read::of_pages(0, 4));
    world.evict(file, 1, 2);
    world.read(handle, &Read::of_pages(0, 4));
    assert_eq!(world.observer_mut().runs[4..], [(1, 1), (2, 1)]);
}

#[test]
fn sparse_reads_of_ten_billion_pages_cost_what_they_bring() {
    let mut world = Instant::new(&settings(100_000, 0), ());
    let file = world.add_file(10_000_000_000 * PAGE);
    let handle = world.open(file, Once::default());
    for step in 0..10_000 {
        world.read(handle, &Read::of_pages(step * 999_983, 1));
    }
    assert_eq!(world.cache().resident_pages(), 10_000);
    assert_eq!(world.cache().chunks(), 10_000);
}
