//! Corners in which the library was wrong once: each test has the input that showed it.

mod common;

use common::{assert_writes_the_same, run_with_account};

/// The filter kills for `getpid` as well: a library that asks whether it is in the child of a
/// `vfork` when a descriptor is copied must not do so after it has stepped aside.
#[test]
fn copying_a_descriptor_in_a_sandbox_that_kills_asks_for_nothing() {
    assert_writes_the_same("sandbox", &["kill"]);
}

#[test]
fn a_sandbox_that_was_inherited_through_exec_is_left_in_peace() {
    assert_writes_the_same("sandbox", &["exec"]);
}

#[test]
fn an_interrupted_copy_is_not_repeated() {
    for kind in ["sendfile", "at_offset", "copy_file_range"] {
        assert_writes_the_same("interrupted", &[kind]);
    }
}

#[test]
fn the_buffer_of_a_stream_is_not_looked_into() {
    for kind in ["fgets", "getline", "getc"] {
        assert_writes_the_same("busy_stream", &[kind]);
    }
}

#[test]
fn vectored_reads_that_wait_are_seen_to_wait() {
    let account = run_with_account("vectors", &[]);
    assert!(account.accesses() >= 200, "{} reads", account.accesses());
    assert!(account.waits() > 20, "{} waits", account.waits());
}

#[test]
fn a_descriptor_that_begins_to_bypass_the_cache_is_left_alone() {
    let account = run_with_account("direct", &[]);
    assert_eq!(account.accesses(), 3);
}
