//! The core decides as `policy` does, over generated workloads: a million accesses and more.

use std::path::Path;
use std::sync::OnceLock;

use ahead_kernel_core_test::difference::BUDGETS;
use ahead_kernel_core_test::driver::{CoreCall, Driver};
use ahead_kernel_core_test::pair::{CoreTally, compare, hold_against};
use ahead_units::{ByteLength, ByteOffset, ByteRange};
use ahead_workload::random::below;
use ahead_workload::{WantedRange, Workload, generated, odd, wanted};

/// Accesses of one workload.
const ACCESSES_MAX: usize = 12_000;
/// Workloads.
const SEEDS: u64 = 170;
/// All of them together have at least so many.
const ACCESSES_MIN: u64 = 1_000_000;

/// The core as a program, compiled once for all tests.
fn driver() -> &'static Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    DRIVER.get_or_init(|| {
        Driver::compile(Path::new(env!("CARGO_TARGET_TMPDIR"))).expect("the core compiles")
    })
}

fn bytes_of(range: &WantedRange) -> ByteRange {
    ByteRange::of(ByteOffset::new(range.offset), ByteLength::new(range.length))
}

/// What holds for a whole workload.
fn circumstances(seed: u64) -> CoreCall {
    let draw = |position, limit| below(seed, position, limit);
    let devices = [
        (8_000_000, 120_000_000, 1),
        (120_000, 1_500_000_000, 8),
        (700_000, 250_000_000, 32),
        (20_000, 3_000_000_000, 64),
    ];
    let pick = usize::try_from(draw(1, 4)).unwrap_or(0);
    let (access_ns, bytes_per_second, depth) = devices[pick];
    CoreCall {
        ratio: if draw(2, 8) == 0 { 100 } else { 50 },
        hit_rate: [2, 2, 2, 1, 4][usize::try_from(draw(3, 5)).unwrap_or(0)],
        request_max: 2048,
        access_ns,
        bytes_per_second,
        depth,
        threshold: [131_072, 131_072, 4096, 256][usize::try_from(draw(4, 4)).unwrap_or(0)],
        available: [65_536, 65_536, 1024][usize::try_from(draw(5, 3)).unwrap_or(0)],
        is_quick: draw(6, 2) == 0,
        ..CoreCall::default()
    }
}

/// The accesses of the generated workload of `seed`, and what comes after each.
fn calls(seed: u64) -> (Vec<CoreCall>, Vec<ByteRange>) {
    calls_of(&generated(seed), seed)
}

/// The accesses of `workload`, and what comes after each.
fn calls_of(workload: &Workload, seed: u64) -> (Vec<CoreCall>, Vec<ByteRange>) {
    let job = workload.job(seed);
    let of_all = circumstances(seed);
    let mut now_ns = 0;
    // Waits and evictions, now and then; more often in some workloads.
    let rarity = [8, 64, 1024][usize::try_from(below(seed, 7, 3)).unwrap_or(0)];
    let future = wanted::future(&job).take(ACCESSES_MAX);
    let of_one = |(position, range): (u64, WantedRange)| {
        let draw = |what, limit| below(seed ^ what, position, limit);
        let pages = bytes_of(&range).pages();
        now_ns += draw(11, 2_000_000);
        let file = usize::try_from(range.file).unwrap_or(0);
        let call = CoreCall {
            file: range.file.into(),
            start: pages.start.get(),
            end: pages.end.get(),
            now_ns: if of_all.is_quick { now_ns } else { 0 },
            is_cached: draw(12, rarity) == 0,
            is_refused: draw(18, rarity * 16) == 0,
            waits: draw(13, rarity) == 0,
            thrashes: (draw(14, rarity * 16) == 0).then_some(8),
            is_last: draw(15, 4096) == 0,
            contested: below(seed ^ 16, position / 512, 2) == 0,
            streams: 1 + u32::try_from(below(seed ^ 17, position / 512, 8)).unwrap_or(0),
            file_pages: job.files[file].bytes.div_ceil(4096),
            ..of_all
        };
        (call, bytes_of(&range))
    };
    (0..).zip(future).map(of_one).unzip()
}

fn report(tally: &CoreTally) -> String {
    let parts = |count: u64| count * 1_000_000 / tally.accesses.max(1);
    let mut text = format!(
        "{} accesses, {} with a request",
        tally.accesses, tally.asked
    );
    for (name, count) in &tally.named {
        text += &format!(", {} ppm under {name}", parts(*count));
    }
    text
}

/// Nothing differs but under a name.
fn assert_named(tally: &CoreTally) {
    let text = report(tally);
    println!("{text}");
    assert!(
        tally.unnamed.is_empty(),
        "{text}\n{}",
        tally.unnamed.join("\n")
    );
}

/// The same, and no name has more than its budget.
fn assert_within_budgets(tally: &CoreTally) {
    assert_named(tally);
    let text = report(tally);
    for (name, budget) in BUDGETS {
        let count = tally.named.get(name).copied().unwrap_or(0);
        assert!(
            count * 1_000_000 <= budget * tally.accesses,
            "{name} is over its budget of {budget} ppm: {text}"
        );
    }
}

/// What the core and `policy` decide on a workload of each seed, in whole pages.
fn tally_of(workload: impl Fn(u64) -> Workload) -> CoreTally {
    let driver = driver();
    let mut tally = CoreTally::default();
    for seed in 0..SEEDS {
        let (calls, _) = calls_of(&workload(seed), seed);
        compare(driver, &calls, &[], &mut tally).expect("the core answers");
    }
    assert!(tally.asked * 100 >= tally.accesses, "{}", report(&tally));
    tally
}

#[test]
fn a_million_generated_accesses_are_decided_as_the_policy_decides_them() {
    let tally = tally_of(generated);
    assert!(tally.accesses >= ACCESSES_MIN, "{}", report(&tally));
    assert_within_budgets(&tally);
}

/// Rows of slices and tiles of pictures, jitter, steps that drift: what generated workloads have few of.
#[test]
fn odd_reads_are_decided_as_the_policy_decides_them() {
    let tally = tally_of(odd);
    assert!(tally.accesses * 4 >= ACCESSES_MIN, "{}", report(&tally));
    // The budgets are those of generated workloads.
    assert_named(&tally);
}

#[test]
fn what_is_read_by_bytes_differs_where_strides_are_no_whole_pages_and_seldom() {
    let driver = driver();
    let mut tally = CoreTally::default();
    for seed in 1000..1000 + SEEDS / 4 {
        let (calls, bytes) = calls(seed);
        compare(driver, &calls, &bytes, &mut tally).expect("the core answers");
    }
    assert_within_budgets(&tally);
}

/// A core with a smaller limit decides otherwise, and that has no name.
#[test]
fn what_has_no_name_is_noticed() {
    let (given, _) = calls(3);
    let mut others = given.clone();
    others.iter_mut().for_each(|call| call.request_max = 64);
    let answers = driver().answers(&others).expect("the core answers");
    let mut tally = CoreTally::default();
    hold_against(&answers, &given, &[], &mut tally);
    assert!(!tally.unnamed.is_empty(), "{}", report(&tally));
}
