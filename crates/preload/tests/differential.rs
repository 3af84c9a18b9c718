//! The promise that the library changes nothing but speed: a million random file operations, with
//! it and without it, every result compared.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Operations from one seed. Three seeds make more than a million.
const OPERATIONS: usize = 350_000;
const RECORD_BYTES: usize = 32;

/// Runs the program in a fresh folder and returns its log.
fn log_of(folder: &Path, seed: u64, mut command: Command) -> Vec<u8> {
    let files = folder.join("files");
    std::fs::create_dir(&files).expect("a folder for the program's files");
    let log = folder.join("log");
    common::succeed(
        command
            .arg(seed.to_string())
            .arg(OPERATIONS.to_string())
            // The same arguments each time: the program reads its own command line.
            .arg("../log")
            .current_dir(&files),
    );
    let bytes = std::fs::read(&log).expect("the program's log");
    std::fs::remove_dir_all(&files).expect("the program's files can be removed");
    std::fs::remove_file(&log).expect("the log can be removed");
    assert_eq!(bytes.len(), OPERATIONS * RECORD_BYTES);
    bytes
}

/// One record in words: see the head of `tests/c/differential.c`.
fn describe(record: &[u8]) -> String {
    let small = |at: usize| u32::from_ne_bytes(record[at..at + 4].try_into().expect("4 bytes"));
    let large = |at: usize| i64::from_ne_bytes(record[at..at + 8].try_into().expect("8 bytes"));
    format!(
        "operation {} result {} errno {} bytes {:016x} position {}",
        small(0),
        large(8),
        small(4),
        large(16),
        large(24)
    )
}

fn assert_nothing_differs(seed: u64, variables: &[(&str, &str)]) {
    let folder = common::folder();
    let program: PathBuf = common::build(folder.path(), "differential");
    let without = log_of(folder.path(), seed, Command::new(&program));
    let account = common::Account::new(folder.path());
    let mut command = common::with_library(&program);
    command
        .env("AHEAD_SHARED", account.path())
        .envs(variables.iter().copied());
    let with = log_of(folder.path(), seed, command);
    assert_same(seed, &without, &with);
    assert!(
        account.accesses() > 10_000,
        "the library noticed too few reads"
    );
}

fn assert_same(seed: u64, without: &[u8], with: &[u8]) {
    let pairs = without.chunks(RECORD_BYTES).zip(with.chunks(RECORD_BYTES));
    for (number, (without, with)) in pairs.enumerate() {
        assert_eq!(
            describe(without),
            describe(with),
            "seed {seed}: operation number {number} is the first that differs (left: without)"
        );
    }
}

#[test]
fn a_million_operations_give_the_same_results_first_third() {
    assert_nothing_differs(1, &[]);
}

#[test]
fn a_million_operations_give_the_same_results_second_third() {
    assert_nothing_differs(2, &[]);
}

#[test]
fn a_million_operations_give_the_same_results_last_third() {
    assert_nothing_differs(3, &[]);
}

#[test]
fn large_requests_change_no_result() {
    let settings = "readahead_hit_rate=64,readahead_ratio=100";
    assert_nothing_differs(4, &[("AHEAD_SETTINGS", settings)]);
}

/// As programs run it: without an account nothing is looked at before a read waits.
#[test]
fn looking_only_after_waits_changes_no_result() {
    let folder = common::folder();
    let program: PathBuf = common::build(folder.path(), "differential");
    let without = log_of(folder.path(), 5, Command::new(&program));
    let with = log_of(folder.path(), 5, common::with_library(&program));
    assert_same(5, &without, &with);
}
