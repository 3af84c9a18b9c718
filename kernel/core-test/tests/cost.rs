//! What the core costs a read that finds everything in memory, in instructions.

use std::path::Path;
use std::sync::OnceLock;

use ahead_kernel_core_test::driver::Driver;

/// The core as a program, compiled as the kernel is.
fn driver() -> &'static Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("counted");
        std::fs::create_dir_all(&folder).expect("a folder");
        Driver::compile_for_counting(&folder).expect("the core compiles")
    })
}

/// Hundredths of an instruction that one more read costs: starting and learning cancel out.
fn hundredths(pattern: &str) -> u64 {
    const FEW: u64 = 100_000;
    const MANY: u64 = 300_000;
    let count = |reads| {
        driver()
            .instructions(pattern, reads)
            .expect("valgrind runs")
    };
    (count(MANY) - count(FEW)) * 100 / (MANY - FEW)
}

/// Asserts that the core costs one cached read of a page at most so many instructions, without the loop around it.
#[track_caller]
fn assert_costs(pattern: &str, most: u64) {
    let cost = hundredths(pattern) - hundredths("nothing");
    println!("{pattern}: {}.{:02} instructions", cost / 100, cost % 100);
    assert!(cost <= most * 100, "{pattern}: {cost} hundredths");
}

/// Within the forty that a cached read may cost: the kernel adds a look at a flag and at three numbers of the
/// descriptor, and, for one read of up to sixty-five, a look into a table and a lock.
#[test]
fn a_cached_read_in_turn_costs_six_instructions_at_most() {
    assert_costs("in-turn", 6);
}

/// These take the fast path each time; the kernel looks into a table and takes a lock for each of them.
#[test]
fn a_cached_read_backward_costs_a_hundred_and_thirty_instructions_at_most() {
    assert_costs("backward", 130);
}

/// Eight of 256 are looked at. The kernel shows the core none of them after some thousands of which none has waited.
#[test]
fn a_cached_read_in_no_order_costs_two_hundred_and_twenty_instructions_at_most() {
    assert_costs("anywhere", 220);
}
