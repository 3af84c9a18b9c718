//! Read-ahead with folios of up to 512 pages, page for page against the routines of 6.12 and 6.18.
//!
//! The expectations were obtained by running the released routines over a stub page cache: limit 32
//! pages, largest request of the device 320 pages, a cold cache unless a test says otherwise.
//! [`run`] explains the notation.

#[path = "support/page_cache.rs"]
mod page_cache;
#[path = "support/run.rs"]
mod run;

use ahead_replicas::kernel::folio::{self, Folio};
use ahead_replicas::kernel::{Advice, Call, Host};
use run::{FOLIO, LIMIT, folio, large, large_6_12, large_6_18};

/// Trace R1.
#[test]
fn large_folios_four_pages_per_call() {
    assert_eq!(
        large_6_12().follow(4, 0..25),
        [
            "0: <0,+4>, <4,+4> mark 4",
            "4: <8,+8> mark 8, <16,+8>",
            "8: <24,+8> mark 24, <32,+16>, <48,+8>",
            "24: <56,+8> mark 56, <64,+16>, <80,+8>",
        ]
    );
    assert_eq!(
        large_6_18().follow(4, 0..65),
        [
            "0: [0,+8) mark 4",
            "4: <8,+4> mark 8, <12,+4>, <16,+4>, <20,+4>",
            "8: <24,+8> mark 24, <32,+16>",
            "24: <48,+16> mark 48",
            "48: <64,+32> mark 64",
            "64: <96,+32> mark 96",
        ]
    );
}

/// Trace R2.
#[test]
fn large_folios_one_page_per_call() {
    assert_eq!(
        large_6_12().follow(1, 0..13),
        [
            "0: <0,+4> mark 0, <4,+4> mark 4, <8,+4>",
            "4: <12,+4> mark 12, <16,+8>, <24,+4>",
            "12: <28,+4> mark 28, <32,+16>, <48,+8>, <56,+4>",
        ]
    );
    assert_eq!(
        large_6_18().follow(1, 0..13),
        [
            "0: [0,+4) mark 1",
            "1: <4,+4> mark 4, <8,+4>",
            "4: <12,+4> mark 12",
            "12: <16,+8> mark 16",
        ]
    );
}

fn folios(start: u64, pages: u64, count: u64) -> String {
    let all: Vec<String> = (0..count)
        .map(|number| format!("<{},+{pages}>", start + number * pages))
        .collect();
    all.join(", ").replacen('>', &format!("> mark {start}"), 1)
}

/// Trace R3.
#[test]
fn large_folios_with_a_limit_of_a_megabyte() {
    assert_eq!(
        large(folio::FolioRelease::Linux6_18, 256).follow(4, 0..17),
        [
            "0: [0,+16) mark 4".to_owned(),
            format!("4: {}", folios(16, 4, 8)),
            format!("16: {}", folios(48, 16, 4)),
        ]
    );
    assert_eq!(
        large(folio::FolioRelease::Linux6_12, 256).follow(4, 0..17),
        [
            "0: <0,+4>, <4,+4> mark 4, <8,+4>, <12,+4>".to_owned(),
            format!("4: {}", folios(16, 16, 2)),
            "16: <48,+16> mark 48, <64,+32>, <96,+16>".to_owned(),
        ]
    );
}

/// Trace R4.
#[test]
fn large_folios_in_large_reads() {
    let windows = large_6_18().follow(256, 0..512);
    assert_eq!(
        windows,
        [
            format!("0: [0,+256) mark 128, {}", folios(256, 4, 64)),
            format!("256: {}", folios(512, 16, 16)),
        ]
    );
    let windows = large_6_12().follow(256, 0..512);
    let first =
        folios(0, 4, 64)
            .replacen(" mark 0", "", 1)
            .replacen("<128,+4>", "<128,+4> mark 128", 1);
    assert_eq!(
        windows,
        [
            format!("0: {first}, {}", folios(256, 16, 16)),
            format!("256: {}", folios(512, 64, 4)),
        ]
    );
}

/// Trace R5: 6.12 reads past the window and misplaces marks, until the stream restarts.
#[test]
fn a_cached_page_among_large_folios() {
    let mut run = large_6_12();
    run.cache.cache(20..21);
    assert_eq!(
        run.follow(4, 0..81),
        [
            "0: <0,+4>, <4,+4> mark 4",
            "4: <8,+8> mark 8, [16,+4)+[21,+11) mark 16",
            "8: [32,+24)",
            "56: <56,+4>, <60,+4> mark 60",
            "60: <64,+16> mark 64",
            "64: <80,+16> mark 80, <96,+16>",
            "80: <112,+16> mark 112, <128,+16>",
        ]
    );
    let mut run = large_6_18();
    run.cache.cache(20..21);
    assert_eq!(
        run.follow(4, 0..9),
        [
            "0: [0,+8) mark 4",
            "4: <8,+4> mark 8, <12,+4>, <16,+4>, [21,+3)",
            "8: <24,+8> mark 24, <32,+16>",
        ]
    );
}

/// Trace R6.
#[test]
fn read_around_over_cached_pages_leaves_no_mark() {
    for release in FOLIO {
        for order_max in [0, 9] {
            let mut run = folio(release);
            run.cache.folio_order_max = order_max;
            run.fault(100, Advice::Normal);
            run.cache.evict(0..84);
            run.cache.clear_mark(108);
            run.fault(83, Advice::Normal);
            assert!(!run.cache.is_marked(91), "{release:?}");
            assert!(run.cache.pages.contains_key(&67), "{release:?}");
        }
    }
}

#[test]
fn a_huge_area_reads_two_huge_pages_even_with_a_limit_of_zero() {
    for release in FOLIO {
        let mut run = large(release, 0);
        let mut fault = run.cache.whole_file(700, Advice::Normal);
        fault.huge = true;
        assert_eq!(
            run.fault_in(&fault),
            "<512,+512>, <1024,+512> mark 1024",
            "{release:?}"
        );
        let mut run = large(release, LIMIT);
        let mut fault = run.cache.whole_file(700, Advice::Random);
        fault.huge = true;
        assert_eq!(run.fault_in(&fault), "<512,+512> mark 512", "{release:?}");
    }
}

/// A generated life found this one: the state of a new descriptor is a window of no pages at page
/// 0, and its end looks like the mark that somebody else's huge page left there.
#[test]
fn a_new_descriptor_that_meets_a_mark_on_page_0_reads_nothing() {
    for release in FOLIO {
        let mut run = large(release, LIMIT);
        let mut fault = run.cache.whole_file(0, Advice::Random);
        fault.huge = true;
        assert_eq!(run.fault_in(&fault), "<0,+512> mark 0", "{release:?}");
        run.file = Folio::new(release, LIMIT);
        assert_eq!(run.read(0, 4), "", "{release:?}");
        assert!(run.cache.marks().is_empty(), "{release:?}");
    }
}

/// The call comes from the fault's page, not from the folio's first: in the middle of a folio it
/// looks like another reader's mark. The scan for the hole behind begins in the middle of a folio
/// too, and reports it three pages too far.
#[test]
fn a_fault_in_the_middle_of_a_marked_folio_is_not_the_expected_one() {
    let mut run = large_6_18();
    run.follow(4, 0..5);
    assert!(run.cache.is_marked(8));
    assert_eq!(
        run.fault(10, Advice::Normal),
        "[27,+1) mark 27, <28,+4>, <32,+16>"
    );
    let calls = run.cache.calls.len();
    let Call::Async(before) = run.cache.calls[calls - 2] else {
        panic!("{:?}", run.cache.calls);
    };
    assert_eq!(before.index, 10);
}
