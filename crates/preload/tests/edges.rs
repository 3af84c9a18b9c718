//! Corners in which the library was wrong once: each test has the input that showed it.

mod common;

use std::process::Command;

use common::{assert_writes_the_same, build, build_with, folder, library, run_with_account};

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

/// Of files that had been looked at, positions and limits were asked for after the sandbox, and the counter was read, which the strict one
/// forbids too: status 137, 139 and 159.
#[test]
fn an_announced_sandbox_ends_questions_about_files_that_are_known() {
    for kind in ["characters", "lines", "copies", "vectors"] {
        assert_writes_the_same("strict", &[kind]);
    }
}

/// The table of descriptors grew where such a number was only read through or closed: status 137 and 159.
#[test]
fn a_high_number_maps_no_memory_in_a_sandbox() {
    for kind in ["strict", "filter"] {
        assert_writes_the_same("numbers", &[kind]);
    }
}

/// `for (fd = 3; fd < 1 << 20; fd++) close(fd)` took 64 MiB of address space and a thousand mappings.
#[test]
fn closing_numbers_that_are_not_in_use_takes_no_address_space() {
    assert_writes_the_same("numbers", &["close"]);
}

/// Neither its opening nor its copying was seen: it is a file that was not looked at, like any other.
#[test]
fn a_high_number_that_was_not_seen_to_come_is_read_and_seen() {
    let account = run_with_account("numbers", &["seen"]);
    assert_eq!(account.accesses(), 2);
}

/// The C library has no function for `seccomp`: programs enter by `syscall`, and were ended by SIGKILL and SIGSYS.
#[test]
fn a_sandbox_that_is_entered_by_a_call_without_a_name_is_noticed() {
    for kind in ["strict", "filter", "prctl"] {
        assert_writes_the_same("entered", &[kind]);
    }
}

#[test]
fn a_program_that_forbids_the_counter_of_time_reads_on() {
    assert_writes_the_same("entered", &["counter"]);
}

/// It returns twice for SYS_clone.
#[test]
fn what_goes_through_the_hook_of_system_calls_comes_out_the_same() {
    assert_writes_the_same("entered", &["plain"]);
}

/// After a copy, other flags, or the child of a `vfork` that closes what it has, it was asked ahead.
#[test]
fn what_the_program_said_is_read_at_random_stays_left_alone() {
    for kind in ["plain", "copy", "flags", "vfork"] {
        let account = run_with_account("advice", &[kind]);
        assert_eq!(account.prefetched(), 0, "{kind}");
    }
    assert!(run_with_account("advice", &["taken_back"]).prefetched() > 0);
}

/// Each child added what its parent had read and asked for to the account once more: 8 times, for 7 of them.
#[test]
fn children_of_a_fork_have_accounts_of_their_own() {
    let (alone, parent) = (["0"], ["7"]);
    let [alone, parent] = [alone, parent].map(|children| run_with_account("children", &children));
    assert_eq!(alone.accesses(), 256);
    assert_eq!(parent.accesses(), 256 + 7);
    assert!(alone.prefetched() > 0);
    assert!(
        parent.prefetched() < 2 * alone.prefetched(),
        "{}",
        parent.prefetched()
    );
}

/// A FUSE server that wants no cache was asked twice for each page, once by us. Root.
#[test]
fn files_that_bypass_the_cache_without_saying_so_are_left_alone() {
    for kind in ["forward", "backward"] {
        assert_writes_the_same("uncached", &[kind]);
    }
}

/// `fread(bytes, 1, 0, NULL)` gives 0, and `getline(NULL, NULL, NULL)` EINVAL: the C library looks at the stream only if there is work.
#[test]
fn reading_nothing_looks_at_no_stream() {
    assert_writes_the_same("nothing", &[]);
}

/// libfakeroot-tcp holds a lock around a `read` that waits, and its `fstat` takes it.
#[test]
fn what_another_library_puts_in_place_of_fstat_is_not_called_from_within_its_read() {
    let folder = folder();
    let program = build(folder.path(), "locked");
    let other = folder.path().join("locked.so");
    let flags = [
        "-shared",
        "-fPIC",
        "-DIS_LIBRARY",
        "-o",
        other.to_str().expect("text"),
    ];
    build_with(folder.path(), "locked", &flags);
    let preload = format!("{}:{}", library().display(), other.display());
    let output = Command::new("timeout")
        .args(["20", program.to_str().expect("text")])
        .env("LD_PRELOAD", preload)
        .output()
        .expect("timeout starts");
    assert!(output.status.success(), "{output:?}");
}
