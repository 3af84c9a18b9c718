//! Random calls, under the sanitizers: nothing is read or written outside, and what has to hold does.

use std::path::Path;

use ahead_kernel_core_test::driver::Driver;

#[test]
fn random_calls_leave_windows_tables_and_debts_within_their_bounds() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("any");
    std::fs::create_dir_all(&folder).expect("a folder");
    let driver = Driver::compile(&folder).expect("the core compiles");
    for seed in 1..=4 {
        driver.any_calls(seed, 500_000).expect("all of it holds");
    }
}
