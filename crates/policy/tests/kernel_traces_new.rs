//! On-demand read-ahead and its successors, page for page against the released routines.
//!
//! The expectations were obtained by running the routines of 2.6.24, 4.19, 6.12 and 6.18 over a
//! stub page cache (2.6.31: by hand from its patches): limit 32 pages, largest request 320 pages,
//! a cold cache unless a test says otherwise. Notation: `[4,+8) mark 5` are eight single pages from
//! page 4, of which 5 carries the mark; `<8,+4>` is one folio of four pages. What a read started
//! stands behind the page at which the read begins.

#[path = "support/page_cache.rs"]
mod page_cache;

use std::ops::Range;

use ahead_policy::kernel::folio::{self, Folio};
use ahead_policy::kernel::on_demand::{OnDemand, Release};
use ahead_policy::kernel::{Advice, Call, CallState, Fault, Host, Read, ReadAhead};
use page_cache::{PageCache, Started};

const LIMIT: u64 = 32;
const FILE_PAGES: u64 = 100_000;
const SINCE_2_6_24: [Release; 4] = [
    Release::Linux2_6_24,
    Release::Linux2_6_31,
    Release::Linux3_12,
    Release::Linux4_19,
];
const SINCE_3_12: [Release; 2] = [Release::Linux3_12, Release::Linux4_19];
const FOLIO: [folio::Release; 2] = [folio::Release::Linux6_12, folio::Release::Linux6_18];

/// A file that is read, over a cache, and what that started.
struct Run<A> {
    cache: PageCache,
    file: A,
}

fn on_demand(release: Release) -> Run<OnDemand> {
    Run {
        cache: PageCache::new(FILE_PAGES),
        file: OnDemand::new(release, LIMIT),
    }
}

/// Small folios only.
fn folio(release: folio::Release) -> Run<Folio> {
    Run {
        cache: PageCache::new(FILE_PAGES),
        file: Folio::new(release, LIMIT),
    }
}

/// Folios of up to 512 pages.
fn large(release: folio::Release, limit: u64) -> Run<Folio> {
    let mut run = Run {
        cache: PageCache::new(FILE_PAGES),
        file: Folio::new(release, limit),
    };
    run.cache.folio_order_max = 9;
    run
}

fn large_6_12() -> Run<Folio> {
    large(folio::Release::Linux6_12, LIMIT)
}

fn large_6_18() -> Run<Folio> {
    large(folio::Release::Linux6_18, LIMIT)
}

/// The runs that one window really added, and the mark if its page is among them.
fn shown(started: &Started) -> Option<String> {
    let is_folio = started.window.order > 0;
    let runs: Vec<String> = started
        .runs
        .iter()
        .map(|(start, pages)| match is_folio {
            true => format!("<{start},+{pages}>"),
            false => format!("[{start},+{pages})"),
        })
        .collect();
    let is_new = |mark: &u64| {
        let mut runs = started.runs.iter();
        runs.any(|&(start, pages)| (start..start + pages).contains(mark))
    };
    let mark = started.window.mark.filter(is_new);
    let mark = mark.map_or_else(String::new, |mark| format!(" mark {mark}"));
    (!runs.is_empty()).then(|| runs.join("+") + &mark)
}

impl<A: ReadAhead> Run<A> {
    fn started(&mut self) -> String {
        let log = self.cache.take_log();
        let windows: Vec<String> = log.iter().filter_map(shown).collect();
        windows.join(", ")
    }

    fn read(&mut self, start: u64, pages: u64) -> String {
        self.cache.read(&mut self.file, start, pages);
        self.started()
    }

    fn read_bytes(&mut self, start: u64, bytes: u64) -> String {
        let end = start + bytes;
        self.cache.read_bytes(&mut self.file, &Read { start, end });
        self.started()
    }

    fn fault(&mut self, page: u64, advice: Advice) -> String {
        let fault = self.cache.whole_file(page, advice);
        self.fault_in(&fault)
    }

    fn fault_in(&mut self, fault: &Fault) -> String {
        self.cache.fault_in(&mut self.file, fault);
        self.started()
    }

    /// Reads of `pages` pages each, from these pages on; only those that started something.
    fn reads(&mut self, pages: u64, starts: impl IntoIterator<Item = u64>) -> Vec<String> {
        let mut seen = Vec::new();
        for start in starts {
            let started = self.read(start, pages);
            if !started.is_empty() {
                seen.push(format!("{start}: {started}"));
            }
        }
        seen
    }

    /// Reads of `pages` pages each, one behind the other, that begin in `starts`.
    fn follow(&mut self, pages: u64, starts: Range<u64>) -> Vec<String> {
        let step = usize::try_from(pages).expect("a small number");
        self.reads(pages, starts.step_by(step))
    }
}

/// Pages of two streams in turn: 0, 1000, 1, 1001, …
fn interleaved(pages: u64, step: usize) -> impl Iterator<Item = u64> {
    (0..pages)
        .step_by(step)
        .flat_map(|page| [page, 1000 + page])
}

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
        on_demand(Release::Linux2_6_24).reads(1, interleaved(5, 1)),
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
        on_demand(Release::Linux2_6_31).reads(1, interleaved(6, 1)),
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

fn mixed_with_one_jump<A: ReadAhead>(run: &mut Run<A>) -> Vec<String> {
    [(500, 3), (900, 2), (503, 3), (506, 2), (508, 2)]
        .map(|(start, pages)| run.read(start, pages))
        .to_vec()
}

/// Trace D.
#[test]
fn a_run_that_was_interrupted_once_begins_at_its_second_step() {
    for release in [Release::Linux2_6_24, Release::Linux3_12, Release::Linux4_19] {
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
    let mut run = on_demand(Release::Linux2_6_31);
    assert_eq!(
        mixed_with_one_jump(&mut run)[..3],
        ["[500,+3)", "[900,+2)", "[503,+48) mark 519"]
    );
}

/// Trace E, 2.6.24: each mark is hit at once.
#[test]
fn one_large_read_comes_as_windows_of_the_limit() {
    assert_eq!(
        on_demand(Release::Linux2_6_24).read(0, 256),
        "[0,+32) mark 0, [32,+32) mark 32, [64,+32) mark 64, [96,+32) mark 96, \
         [128,+32) mark 128, [160,+32) mark 160, [192,+32) mark 192, [224,+32) mark 224, \
         [256,+32) mark 256"
    );
    for release in [Release::Linux2_6_31, Release::Linux3_12] {
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
        on_demand(Release::Linux4_19).follow(256, 0..512),
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
        on_demand(Release::Linux2_6_24).reads(1, [0, 2, 4]),
        ["0: [0,+4) mark 1", "4: [4,+8) mark 4, [12,+16) mark 12"]
    );
    for release in [Release::Linux2_6_31, Release::Linux3_12, Release::Linux4_19] {
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
    for release in [Release::Linux2_6_24, Release::Linux3_12, Release::Linux4_19] {
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
        (Release::Linux2_6_24, "[10,+2)"),
        (Release::Linux2_6_31, "[10,+64) mark 42"),
        (Release::Linux3_12, "[10,+22) mark 31"),
        (Release::Linux4_19, "[10,+22) mark 31"),
    ];
    for (release, windows) in expected {
        let mut run = on_demand(release);
        run.cache.cache(0..10);
        assert_eq!(run.read(10, 2), windows, "{release:?}");
        if release == Release::Linux2_6_24 {
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
        on_demand(Release::Linux2_6_24).reads(1, pages),
        [
            "500: [500,+1)",
            "700: [700,+1)",
            "501: [501,+1)",
            "702: [702,+1)",
            "502: [502,+1)",
        ]
    );
    assert_eq!(
        on_demand(Release::Linux2_6_31).reads(1, pages)[..3],
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
    let second: Vec<String> = on_demand(Release::Linux2_6_24)
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

fn backward() -> impl Iterator<Item = u64> {
    (97..=100).rev().map(|number| number * 4)
}

const BACKWARD: [&str; 4] = [
    "400: [400,+4)",
    "396: [396,+4)",
    "392: [392,+4)",
    "388: [388,+4)",
];

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
    for release in FOLIO {
        assert_eq!(folio(release).reads(4, backward()), BACKWARD, "{release:?}");
    }
}

/// The first fault far from all others, and a fault on the page behind it.
#[test]
fn read_around_lies_around_the_fault_and_is_marked_since_3_0() {
    let expected = [
        (Release::Linux2_6_24, "[84,+32)", "[116,+1)"),
        (Release::Linux2_6_31, "[84,+32)", "[116,+64) mark 148"),
        (
            Release::Linux3_12,
            "[84,+32) mark 108",
            "[116,+32) mark 116",
        ),
        (
            Release::Linux4_19,
            "[84,+32) mark 108",
            "[116,+32) mark 116",
        ),
    ];
    for (release, around, behind) in expected {
        let mut run = on_demand(release);
        assert_eq!(run.fault(100, Advice::Normal), around, "{release:?}");
        if release >= Release::Linux3_12 {
            assert_eq!(run.fault(108, Advice::Normal), behind, "{release:?}");
        } else if release == Release::Linux2_6_31 {
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
        if release >= Release::Linux3_12 {
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
    let mut run = on_demand(Release::ThrashSafe2010);
    run.cache.cache(900..920);
    // 20 pages of history, no distance: 20 pages, 1 + 20 / 8 of them behind the mark.
    assert_eq!(run.read(920, 2), "[920,+20) mark 937");
    // The mark is the expected page, and the window doubles as ever.
    assert_eq!(run.read(936, 2), "[940,+32) mark 940");
}

#[test]
fn thrash_safe_reads_go_on_from_a_random_one() {
    let mut run = on_demand(Release::ThrashSafe2010);
    assert_eq!(run.read(500, 4), "[500,+4)");
    // The random read is a window; its end is expected. Windows that meet their own mark merge.
    assert_eq!(run.read(504, 4), "[504,+24) mark 512");
}

#[test]
fn thrash_safe_read_ahead_halves_an_evicted_window_and_rescues_its_rest() {
    let mut run = on_demand(Release::ThrashSafe2010);
    // The newest window is [56,+32), asked for at page 24.
    run.follow(4, 0..28);
    run.cache.evict(0..50);
    assert_eq!(run.read(40, 4), "[40,+10)");
    assert_eq!(run.cache.rescued, (40..88).collect::<Vec<u64>>());
    // From now on the history decides. At the mark of page 56 it is 16 pages, too little for a
    // window 32 pages away; at page 88 it is 48.
    assert_eq!(run.follow(4, 44..89), ["88: [88,+32) mark 113"]);
}

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
        folio(folio::Release::Linux6_12).reads(1, interleaved(6, 1)),
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
        folio(folio::Release::Linux6_18).reads(1, interleaved(6, 1)),
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
        large(folio::Release::Linux6_18, 256).follow(4, 0..17),
        [
            "0: [0,+16) mark 4".to_owned(),
            format!("4: {}", folios(16, 4, 8)),
            format!("16: {}", folios(48, 16, 4)),
        ]
    );
    assert_eq!(
        large(folio::Release::Linux6_12, 256).follow(4, 0..17),
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
    let mut run = folio(folio::Release::Linux6_18);
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

#[test]
fn an_executable_area_is_read_from_the_fault_on_and_not_beyond_itself() {
    let mut run = folio(folio::Release::Linux6_18);
    let mut fault = run.cache.whole_file(100, Advice::Random);
    fault.executable = true;
    assert_eq!(run.fault_in(&fault), "[100,+32)");
    fault.page = 200;
    fault.area_end = 210;
    assert_eq!(run.fault_in(&fault), "[200,+10)");
    assert!(run.cache.marks().is_empty());
    let mut run = folio(folio::Release::Linux6_12);
    assert_eq!(run.fault_in(&fault), "[200,+1)");
    fault.advice = Advice::Normal;
    fault.page = 300;
    assert_eq!(run.fault_in(&fault), "[284,+32) mark 308");
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
