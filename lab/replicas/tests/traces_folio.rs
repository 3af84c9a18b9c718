//! Read-ahead since folios on a file system with single pages only, page for page against the
//! routines of 6.12 and 6.18.
//!
//! The expectations were obtained by running the released routines over a stub page cache: limit 32
//! pages, largest request of the device 320 pages, a cold cache unless a test says otherwise.
//! [`run`] explains the notation.

#[path = "support/page_cache.rs"]
mod page_cache;
#[path = "support/run.rs"]
mod run;

use ahead_replicas::kernel::folio::{self, Folio};
use ahead_replicas::kernel::{Advice, Call, CallState, ReadAhead};
use run::{BACKWARD, FOLIO, LIMIT, Run, backward, folio, interleaved, mixed_with_one_jump};

/// Trace A of 6.12 and 6.18.
#[test]
fn folio_one_page_per_call_doubles_up_to_the_limit() {
    for release in FOLIO {
        assert_eq!(
            folio(release).follow(1, 0..13),
            [
                "0: [0,+4) mark 1",
                "1: [4,+8) mark 4",
                "4: [12,+16) mark 12",
                "12: [28,+32) mark 28",
            ],
            "{release:?}"
        );
    }
}

/// Trace B.
#[test]
fn folio_four_pages_per_call_double_up_to_the_limit() {
    for release in FOLIO {
        assert_eq!(
            folio(release).follow(4, 0..57),
            [
                "0: [0,+8) mark 4",
                "4: [8,+16) mark 8",
                "8: [24,+32) mark 24",
                "24: [56,+32) mark 56",
                "56: [88,+32) mark 88",
            ],
            "{release:?}"
        );
    }
}

/// Trace C.
#[test]
fn folio_two_streams_in_turn_differ_by_the_aligned_end() {
    assert_eq!(
        folio(folio::FolioRelease::Linux6_12).reads(1, interleaved(6, 1)),
        [
            "0: [0,+4) mark 1",
            "1000: [1000,+1)",
            "1: [4,+8) mark 4",
            "1001: [1001,+1)",
            "1002: [1002,+3) mark 1004",
            "4: [12,+18) mark 12",
            "1004: [1005,+4) mark 1005",
            "1005: [1009,+8) mark 1009",
        ]
    );
    assert_eq!(
        folio(folio::FolioRelease::Linux6_18).reads(1, interleaved(6, 1)),
        [
            "0: [0,+4) mark 1",
            "1000: [1000,+1)",
            "1: [4,+8) mark 4",
            "1001: [1001,+1)",
            "1002: [1002,+3) mark 1004",
            "4: [12,+16) mark 12",
            "1004: [1005,+3) mark 1005",
            "1005: [1008,+4) mark 1008",
        ]
    );
}

/// Trace D.
#[test]
fn folio_a_run_that_was_interrupted_once() {
    let expected = ["[510,+8) mark 510", "[510,+6) mark 510"];
    for (release, last) in FOLIO.into_iter().zip(expected) {
        assert_eq!(
            mixed_with_one_jump(&mut folio(release)),
            [
                "[500,+3)",
                "[900,+2)",
                "[503,+3)",
                "[506,+4) mark 508",
                last
            ],
            "{release:?}"
        );
    }
}

/// Trace E.
#[test]
fn folio_a_large_read_may_use_the_largest_request_of_the_device() {
    for release in FOLIO {
        assert_eq!(
            folio(release).follow(256, 0..512),
            [
                "0: [0,+256) mark 128, [256,+256) mark 256",
                "256: [512,+256) mark 512",
            ],
            "{release:?}"
        );
    }
}

/// Trace F: the position is the one behind the last byte.
#[test]
fn folio_every_second_page_counts_as_sequential_and_never_ramps() {
    for release in FOLIO {
        assert_eq!(
            folio(release).reads(1, [0, 2, 4, 6, 8]),
            ["0: [0,+4) mark 1", "4: [4,+4) mark 5", "8: [8,+4) mark 9"],
            "{release:?}"
        );
    }
}

/// Trace G.
#[test]
fn folio_a_new_descriptor_goes_on_behind_cached_pages() {
    for release in FOLIO {
        let mut run = folio(release);
        run.cache.cache(0..10);
        assert_eq!(run.read(10, 2), "[10,+22) mark 31", "{release:?}");
    }
}

/// Trace H.
#[test]
fn folio_the_last_page_of_a_context_window_is_its_mark() {
    let expected = [
        "26: [27,+24) mark 27, [51,+32) mark 51",
        "26: [27,+21) mark 27, [48,+32) mark 48",
    ];
    for (release, last) in FOLIO.into_iter().zip(expected) {
        let mut run = folio(release);
        run.cache.cache(5..15);
        assert_eq!(
            run.reads(2, [15, 17, 26]),
            ["15: [15,+12) mark 26", last],
            "{release:?}"
        );
    }
}

/// Trace I.
#[test]
fn folio_advice_random_reads_requests_up_to_the_largest_of_the_device() {
    for release in FOLIO {
        let mut run = folio(release);
        run.file.on_advice(Advice::Random);
        assert_eq!(run.read(0, 4), "[0,+4)");
        assert_eq!(run.read(4, 4), "[4,+4)");
        assert_eq!(run.read(8, 400), "[8,+320), [328,+80)");
        assert!(run.cache.marks().is_empty(), "{release:?}");
    }
}

/// Trace J.
#[test]
fn folio_a_limit_of_zero_reads_single_pages() {
    for release in FOLIO {
        let mut run = folio(release);
        run.file = Folio::new(release, 0);
        assert_eq!(
            run.read(0, 4),
            "[0,+1), [1,+1), [2,+1), [3,+1)",
            "{release:?}"
        );
    }
}

/// Trace K.
#[test]
fn folio_one_hint_reads_no_more_than_the_largest_request_of_the_device() {
    for release in FOLIO {
        let mut run = folio(release);
        run.file.on_will_need(&mut run.cache, 0, 1000);
        assert_eq!(run.started(), "[0,+320)", "{release:?}");
        run.cache.io_pages = 1024;
        run.file.on_will_need(&mut run.cache, 1000, 1000);
        assert_eq!(run.started(), "[1000,+512), [1512,+488)", "{release:?}");
    }
}

fn mmap_miss(run: &Run<Folio>) -> u64 {
    let state = run.cache.calls.iter().rev().find_map(|call| match call {
        Call::Sync(state) | Call::Async(state) => Some(*state),
        Call::Unbounded { .. } | Call::Order { .. } => None,
    });
    state.expect("a sync or async call").mmap_miss
}

/// Trace L.
#[test]
fn folio_read_around_lies_around_the_fault_and_its_mark_goes_on() {
    for release in FOLIO {
        let mut run = folio(release);
        assert_eq!(run.fault(100, Advice::Normal), "[84,+32) mark 108");
        assert_eq!(run.fault(108, Advice::Normal), "[116,+32) mark 116");
        assert_eq!(mmap_miss(&run), 0, "{release:?}");
        assert_eq!(run.fault(107, Advice::Normal), "");
        assert_eq!(run.fault(500, Advice::Normal), "[484,+32) mark 508");
    }
}

/// Trace M.
#[test]
fn folio_faults_under_advice_sequential_are_sync_calls_for_the_limit() {
    for release in FOLIO {
        let mut run = folio(release);
        assert_eq!(run.fault(0, Advice::Sequential), "[0,+32) mark 16");
        assert_eq!(run.fault(16, Advice::Sequential), "[32,+32) mark 32");
    }
}

/// Trace N.
#[test]
fn folio_reads_smaller_than_a_page_follow_the_pages() {
    for release in FOLIO {
        let mut run = folio(release);
        assert_eq!(run.read_bytes(0, 1000), "[0,+4) mark 1");
        assert_eq!(run.read_bytes(1000, 1000), "");
        assert_eq!(run.read_bytes(4000, 1000), "[4,+8) mark 4");
        assert_eq!(run.read_bytes(5000, 1000), "");
    }
}

/// Trace O.
#[test]
fn folio_reads_across_page_borders_want_the_pages_they_touch() {
    for release in FOLIO {
        let mut run = folio(release);
        assert_eq!(run.read_bytes(10_240, 4096), "[2,+2)");
        assert_eq!(run.read_bytes(14_336, 4096), "[4,+4) mark 5");
        assert_eq!(run.read_bytes(18_432, 4096), "[8,+8) mark 8");
    }
}

/// Trace P.
#[test]
fn folio_a_window_clipped_at_the_end_of_the_file_is_marked_from_there() {
    for release in FOLIO {
        let mut run = folio(release);
        run.cache.file_bytes = 25 * 4096;
        assert_eq!(run.read(0, 9), "[0,+25) mark 2", "{release:?}");
        assert_eq!(run.follow(9, 9..25), Vec::<String>::new());
    }
}

/// Trace Q.
#[test]
fn folio_a_cached_page_splits_the_window() {
    for release in FOLIO {
        let mut run = folio(release);
        run.cache.cache(20..21);
        assert_eq!(
            run.follow(4, 0..9),
            [
                "0: [0,+8) mark 4",
                "4: [8,+12)+[21,+3) mark 8",
                "8: [24,+32) mark 24",
            ],
            "{release:?}"
        );
    }
}

fn state(index: u64, request: u64, window: (u64, u64), mmap_miss: u64, prev_pos: i64) -> CallState {
    CallState {
        index,
        request,
        order: 0,
        size: window.0,
        async_size: window.1,
        ra_pages: LIMIT,
        mmap_miss,
        prev_pos,
    }
}

/// What `readahead:*` prints for trace B of 6.18, small folios.
#[test]
fn folio_calls_are_those_that_the_tracepoints_show() {
    let mut run = folio(folio::FolioRelease::Linux6_18);
    run.follow(4, 0..5);
    assert_eq!(
        run.cache.calls,
        [
            Call::Sync(state(0, 4, (0, 0), 0, -1)),
            Call::Order {
                index: 0,
                order: 0,
                size: 8,
                async_size: 4,
            },
            Call::Unbounded {
                index: 0,
                pages: 8,
                look_ahead: 4,
            },
            Call::Async(state(4, 4, (8, 4), 0, 16_384)),
            Call::Order {
                index: 8,
                order: 2,
                size: 16,
                async_size: 16,
            },
            Call::Unbounded {
                index: 8,
                pages: 16,
                look_ahead: 16,
            },
        ]
    );
}

#[test]
fn an_executable_area_is_read_from_the_fault_on_and_not_beyond_itself() {
    let mut run = folio(folio::FolioRelease::Linux6_18);
    let mut fault = run.cache.whole_file(100, Advice::Random);
    fault.executable = true;
    assert_eq!(run.fault_in(&fault), "[100,+32)");
    fault.page = 200;
    fault.area_end = 210;
    assert_eq!(run.fault_in(&fault), "[200,+10)");
    assert!(run.cache.marks().is_empty());
    let mut run = folio(folio::FolioRelease::Linux6_12);
    assert_eq!(run.fault_in(&fault), "[200,+1)");
    fault.advice = Advice::Normal;
    fault.page = 300;
    assert_eq!(run.fault_in(&fault), "[284,+32) mark 308");
}

#[test]
fn neighbours_mapped_by_a_fault_count_as_hits() {
    for release in FOLIO {
        let mut run = folio(release);
        for number in 0..200 {
            run.fault(20 + number * 100, Advice::Normal);
        }
        assert_eq!(run.fault(50_000, Advice::Normal), "[50000,+1)");
        run.file.on_neighbours_mapped(500);
        assert!(run.fault(60_000, Advice::Normal).contains(",+32)"));
    }
}

/// Trace M of the on-demand releases, which still holds.
#[test]
fn folio_going_backward_reads_nothing_ahead() {
    for release in FOLIO {
        assert_eq!(folio(release).reads(4, backward()), BACKWARD, "{release:?}");
    }
}
