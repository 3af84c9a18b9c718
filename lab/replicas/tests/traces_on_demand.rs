//! On-demand read-ahead, page for page against the routines of 2.6.24 and 4.19.
//!
//! The expectations were obtained by running the released routines over a stub page cache: limit 32
//! pages, largest request of the device 320 pages, a cold cache unless a test says otherwise.
//! [`run`] explains the notation.
//! Those of 2.6.31 and 3.12 come from its patches by hand.

#[path = "support/page_cache.rs"]
mod page_cache;
#[path = "support/run.rs"]
mod run;

use ahead_replicas::kernel::on_demand::{OnDemand, OnDemandRelease};
use ahead_replicas::kernel::{Advice, ReadAhead};
use run::{BACKWARD, backward, interleaved, mixed_with_one_jump, on_demand};

const SINCE_2_6_24: [OnDemandRelease; 4] = [
    OnDemandRelease::Linux2_6_24,
    OnDemandRelease::Linux2_6_31,
    OnDemandRelease::Linux3_12,
    OnDemandRelease::Linux4_19,
];
const SINCE_3_12: [OnDemandRelease; 2] = [OnDemandRelease::Linux3_12, OnDemandRelease::Linux4_19];

/// Trace A of the on-demand releases.
#[test]
fn one_page_per_call_doubles_up_to_the_limit() {
    for release in SINCE_2_6_24 {
        assert_eq!(
            on_demand(release).follow(1, 0..29),
            [
                "0: [0,+4) mark 1",
                "1: [4,+8) mark 4",
                "4: [12,+16) mark 12",
                "12: [28,+32) mark 28",
                "28: [60,+32) mark 60",
            ],
            "{release:?}"
        );
    }
}

/// Trace B.
#[test]
fn four_pages_per_call_double_up_to_the_limit() {
    for release in SINCE_2_6_24 {
        assert_eq!(
            on_demand(release).follow(4, 0..57),
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

/// Trace C, 2.6.24: each stream makes the other look random, and only one has a window.
#[test]
fn before_context_the_second_of_two_streams_is_read_page_by_page() {
    assert_eq!(
        on_demand(OnDemandRelease::Linux2_6_24).reads(1, interleaved(5, 1)),
        [
            "0: [0,+4) mark 1",
            "1000: [1000,+1)",
            "1: [4,+8) mark 4",
            "1001: [1001,+1)",
            "1002: [1002,+1)",
            "1003: [1003,+1)",
            "4: [12,+16) mark 12",
            "1004: [1004,+1)",
        ]
    );
}

/// Trace C, 2.6.31.
#[test]
fn context_finds_the_second_of_two_streams_by_its_first_neighbour() {
    assert_eq!(
        on_demand(OnDemandRelease::Linux2_6_31).reads(1, interleaved(6, 1)),
        [
            "0: [0,+4) mark 1",
            "1000: [1000,+1)",
            "1: [4,+8) mark 4",
            "1001: [1001,+12) mark 1005",
            "4: [12,+18) mark 12",
            "1005: [1013,+18) mark 1013",
        ]
    );
}

/// Trace C, 4.19.
#[test]
fn conservative_context_waits_for_more_history_than_the_request() {
    for release in SINCE_3_12 {
        assert_eq!(
            on_demand(release).reads(1, interleaved(6, 1)),
            [
                "0: [0,+4) mark 1",
                "1000: [1000,+1)",
                "1: [4,+8) mark 4",
                "1001: [1001,+1)",
                "1002: [1002,+3) mark 1004",
                "4: [12,+18) mark 12",
                "1004: [1005,+4) mark 1005",
                "1005: [1009,+8) mark 1009",
            ],
            "{release:?}"
        );
    }
}

/// Trace D.
#[test]
fn a_run_that_was_interrupted_once_begins_at_its_second_step() {
    for release in [
        OnDemandRelease::Linux2_6_24,
        OnDemandRelease::Linux3_12,
        OnDemandRelease::Linux4_19,
    ] {
        assert_eq!(
            mixed_with_one_jump(&mut on_demand(release)),
            [
                "[500,+3)",
                "[900,+2)",
                "[503,+3)",
                "[506,+4) mark 508",
                "[510,+8) mark 510",
            ],
            "{release:?}"
        );
    }
    let mut run = on_demand(OnDemandRelease::Linux2_6_31);
    assert_eq!(
        mixed_with_one_jump(&mut run)[..3],
        ["[500,+3)", "[900,+2)", "[503,+48) mark 519"]
    );
}

/// Trace E, 2.6.24: each mark is hit at once.
#[test]
fn one_large_read_comes_as_windows_of_the_limit() {
    assert_eq!(
        on_demand(OnDemandRelease::Linux2_6_24).read(0, 256),
        "[0,+32) mark 0, [32,+32) mark 32, [64,+32) mark 64, [96,+32) mark 96, \
         [128,+32) mark 128, [160,+32) mark 160, [192,+32) mark 192, [224,+32) mark 224, \
         [256,+32) mark 256"
    );
    for release in [OnDemandRelease::Linux2_6_31, OnDemandRelease::Linux3_12] {
        assert_eq!(
            on_demand(release).read(0, 256),
            "[0,+64) mark 32, [64,+32) mark 64, [96,+32) mark 96, [128,+32) mark 128, \
             [160,+32) mark 160, [192,+32) mark 192, [224,+32) mark 224, [256,+32) mark 256",
            "{release:?}"
        );
    }
}

/// Trace E, 4.19.
#[test]
fn a_large_read_may_use_the_largest_request_of_the_device() {
    assert_eq!(
        on_demand(OnDemandRelease::Linux4_19).follow(256, 0..512),
        [
            "0: [0,+256) mark 128, [256,+128) mark 256",
            "256: [384,+256) mark 384, [640,+128) mark 640",
        ]
    );
}

/// Trace F.
#[test]
fn every_second_page_meets_the_end_of_the_window() {
    assert_eq!(
        on_demand(OnDemandRelease::Linux2_6_24).reads(1, [0, 2, 4]),
        ["0: [0,+4) mark 1", "4: [4,+8) mark 4, [12,+16) mark 12"]
    );
    for release in [
        OnDemandRelease::Linux2_6_31,
        OnDemandRelease::Linux3_12,
        OnDemandRelease::Linux4_19,
    ] {
        assert_eq!(
            on_demand(release).reads(1, [0, 2, 4, 6, 8]),
            ["0: [0,+4) mark 1", "4: [4,+24) mark 12"],
            "{release:?}"
        );
    }
}

/// Trace G.
#[test]
fn a_run_in_mid_file_begins_with_its_second_read() {
    for release in [
        OnDemandRelease::Linux2_6_24,
        OnDemandRelease::Linux3_12,
        OnDemandRelease::Linux4_19,
    ] {
        assert_eq!(
            on_demand(release).follow(4, 100..113),
            [
                "100: [100,+4)",
                "104: [104,+8) mark 108",
                "108: [112,+16) mark 112",
                "112: [128,+32) mark 128",
            ],
            "{release:?}"
        );
    }
}

/// Trace H.
#[test]
fn a_window_evicted_before_use_makes_the_run_start_over() {
    for release in SINCE_2_6_24 {
        let mut run = on_demand(release);
        run.follow(4, 0..28);
        run.cache.evict(28..128);
        assert_eq!(
            run.follow(4, 28..37),
            [
                "28: [28,+8) mark 32",
                "32: [36,+16) mark 36",
                "36: [52,+32) mark 52",
            ],
            "{release:?}"
        );
    }
}

/// Trace I.
#[test]
fn a_new_descriptor_goes_on_behind_cached_pages() {
    let expected = [
        (OnDemandRelease::Linux2_6_24, "[10,+2)"),
        (OnDemandRelease::Linux2_6_31, "[10,+64) mark 42"),
        (OnDemandRelease::Linux3_12, "[10,+22) mark 31"),
        (OnDemandRelease::Linux4_19, "[10,+22) mark 31"),
    ];
    for (release, windows) in expected {
        let mut run = on_demand(release);
        run.cache.cache(0..10);
        assert_eq!(run.read(10, 2), windows, "{release:?}");
        if release == OnDemandRelease::Linux2_6_24 {
            assert_eq!(run.read(12, 2), "[12,+4) mark 14");
        }
    }
}

/// Trace J.
#[test]
fn the_last_page_of_a_context_window_is_its_mark() {
    for release in SINCE_3_12 {
        let mut run = on_demand(release);
        run.cache.cache(5..15);
        assert_eq!(
            run.reads(2, [15, 17, 26]),
            [
                "15: [15,+12) mark 26",
                "26: [27,+24) mark 27, [51,+32) mark 51",
            ],
            "{release:?}"
        );
    }
}

/// Trace K.
#[test]
fn neighbours_in_turn_with_far_pages() {
    let pages = [500, 700, 501, 702, 502];
    assert_eq!(
        on_demand(OnDemandRelease::Linux2_6_24).reads(1, pages),
        [
            "500: [500,+1)",
            "700: [700,+1)",
            "501: [501,+1)",
            "702: [702,+1)",
            "502: [502,+1)",
        ]
    );
    assert_eq!(
        on_demand(OnDemandRelease::Linux2_6_31).reads(1, pages)[..3],
        ["500: [500,+1)", "700: [700,+1)", "501: [501,+12) mark 505"]
    );
    for release in SINCE_3_12 {
        assert_eq!(
            on_demand(release).reads(1, pages),
            [
                "500: [500,+1)",
                "700: [700,+1)",
                "501: [501,+1)",
                "702: [702,+1)",
                "502: [502,+3) mark 504",
            ],
            "{release:?}"
        );
    }
}

/// Trace L.
#[test]
fn two_streams_of_four_pages_in_turn() {
    for release in SINCE_3_12 {
        assert_eq!(
            on_demand(release).reads(4, interleaved(20, 4)),
            [
                "0: [0,+8) mark 4",
                "1000: [1000,+4)",
                "4: [8,+16) mark 8",
                "1004: [1004,+4)",
                "8: [24,+32) mark 24",
                "1008: [1008,+12) mark 1019",
                "1016: [1020,+24) mark 1020",
            ],
            "{release:?}"
        );
    }
    let second: Vec<String> = on_demand(OnDemandRelease::Linux2_6_24)
        .reads(4, interleaved(20, 4))
        .into_iter()
        .filter(|read| read.starts_with("10"))
        .collect();
    assert_eq!(
        second,
        [
            "1000: [1000,+4)",
            "1004: [1004,+4)",
            "1008: [1008,+4)",
            "1012: [1012,+4)",
            "1016: [1016,+4)",
        ]
    );
}

/// Trace M.
#[test]
fn going_backward_reads_nothing_ahead() {
    for release in SINCE_2_6_24 {
        assert_eq!(
            on_demand(release).reads(4, backward()),
            BACKWARD,
            "{release:?}"
        );
    }
}

/// The first fault far from all others, and a fault on the page behind it.
#[test]
fn read_around_lies_around_the_fault_and_is_marked_since_3_0() {
    let expected = [
        (OnDemandRelease::Linux2_6_24, "[84,+32)", "[116,+1)"),
        (
            OnDemandRelease::Linux2_6_31,
            "[84,+32)",
            "[116,+64) mark 148",
        ),
        (
            OnDemandRelease::Linux3_12,
            "[84,+32) mark 108",
            "[116,+32) mark 116",
        ),
        (
            OnDemandRelease::Linux4_19,
            "[84,+32) mark 108",
            "[116,+32) mark 116",
        ),
    ];
    for (release, around, behind) in expected {
        let mut run = on_demand(release);
        assert_eq!(run.fault(100, Advice::Normal), around, "{release:?}");
        if release >= OnDemandRelease::Linux3_12 {
            assert_eq!(run.fault(108, Advice::Normal), behind, "{release:?}");
        } else if release == OnDemandRelease::Linux2_6_31 {
            // Faults move the position of the file, so the next page continues a run.
            assert_eq!(run.fault(115, Advice::Normal), "");
            assert_eq!(run.fault(116, Advice::Normal), behind, "{release:?}");
        } else {
            assert_eq!(run.fault(116, Advice::Random), behind, "{release:?}");
        }
    }
}

#[test]
fn after_a_hundred_misses_a_mapping_is_read_page_by_page() {
    for release in SINCE_2_6_24 {
        let mut run = on_demand(release);
        for number in 0..100 {
            let page = 20 + number * 100;
            assert!(run.fault(page, Advice::Normal).contains(",+32)"));
        }
        assert_eq!(
            run.fault(50_000, Advice::Normal),
            "[50000,+1)",
            "{release:?}"
        );
    }
}

#[test]
fn a_limit_of_zero_reads_single_pages() {
    for release in SINCE_2_6_24 {
        let mut run = on_demand(release);
        run.file = OnDemand::new(release, 0);
        assert_eq!(run.read(0, 3), "[0,+1), [1,+1), [2,+1)", "{release:?}");
        assert_eq!(run.fault(100, Advice::Normal), "[100,+1)", "{release:?}");
    }
}

#[test]
fn advice_random_is_a_limit_of_zero_first_and_a_mode_later() {
    for release in SINCE_2_6_24 {
        let mut run = on_demand(release);
        run.file.on_advice(Advice::Random);
        let windows = run.read(0, 3);
        if release >= OnDemandRelease::Linux3_12 {
            assert_eq!(windows, "[0,+3)", "{release:?}");
        } else {
            assert_eq!(windows, "[0,+1), [1,+1), [2,+1)", "{release:?}");
        }
        run.file.on_advice(Advice::Sequential);
        let grown = run.follow(4, 1000..1200);
        assert!(
            grown.iter().any(|read| read.contains(",+64)")),
            "{release:?}"
        );
    }
}

#[test]
fn a_congested_device_keeps_the_mark_from_asking() {
    for release in SINCE_2_6_24 {
        let mut run = on_demand(release);
        run.read(0, 1);
        run.cache.congested = true;
        assert_eq!(run.read(1, 1), "");
        assert!(run.cache.marks().is_empty());
    }
}

/// The series of 2010: behind the mark lies an eighth of the history.
#[test]
fn thrash_safe_context_takes_its_window_from_the_history() {
    let mut run = on_demand(OnDemandRelease::ThrashSafe2010);
    run.cache.cache(900..920);
    // 20 pages of history, no distance: 20 pages, 1 + 20 / 8 of them behind the mark.
    assert_eq!(run.read(920, 2), "[920,+20) mark 937");
    // The mark is the expected page, and the window doubles as ever.
    assert_eq!(run.read(936, 2), "[940,+32) mark 940");
}

#[test]
fn thrash_safe_reads_go_on_from_a_random_one() {
    let mut run = on_demand(OnDemandRelease::ThrashSafe2010);
    assert_eq!(run.read(500, 4), "[500,+4)");
    // The random read is a window; its end is expected. Windows that meet their own mark merge.
    assert_eq!(run.read(504, 4), "[504,+24) mark 512");
}

#[test]
fn thrash_safe_read_ahead_halves_an_evicted_window_and_rescues_its_rest() {
    let mut run = on_demand(OnDemandRelease::ThrashSafe2010);
    // The newest window is [56,+32), asked for at page 24.
    run.follow(4, 0..28);
    run.cache.evict(0..50);
    assert_eq!(run.read(40, 4), "[40,+10)");
    assert_eq!(run.cache.rescued, (40..88).collect::<Vec<u64>>());
    // From now on the history decides. At the mark of page 56 it is 16 pages, too little for a
    // window 32 pages away; at page 88 it is 48.
    assert_eq!(run.follow(4, 44..89), ["88: [88,+32) mark 113"]);
}
