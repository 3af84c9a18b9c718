//! Programs that make the library's life hard: threads, forks, signals, sandboxes, thousands of
//! descriptors. Each looks at every byte that it reads, and at what it leaves behind.

mod common;

use ahead_engine::recording;
use common::{
    Account, assert_works, assert_writes_the_same, build_with, folder, library, succeed,
    with_library, with_trees,
};
use std::path::Path;
use std::process::Command;

#[test]
fn sixty_four_threads_read_the_right_bytes() {
    assert_works("threads", &[]);
}

#[test]
fn ten_thousand_forks_and_started_programs_read_the_right_bytes() {
    assert_works("forks", &["10000", "500", "500"]);
}

#[test]
fn a_signal_handler_may_read_while_the_program_reads() {
    assert_works("signals", &[]);
}

#[test]
fn a_hundred_thousand_descriptors_or_what_is_allowed_are_read_from() {
    assert_works("manyfds", &[]);
}

#[test]
fn a_thread_can_be_cancelled_inside_a_read() {
    assert_works("cancel", &[]);
}

#[test]
fn a_sandbox_that_refuses_our_calls_changes_nothing() {
    assert_writes_the_same("sandbox", &["refuse"]);
}

#[test]
fn a_sandbox_that_kills_is_left_in_peace() {
    assert_writes_the_same("sandbox", &["kill"]);
}

#[test]
fn long_copies_in_the_kernel_end_as_without_pieces() {
    assert_writes_the_same("copies", &[]);
}

/// `cp` asks the kernel to copy nearly 2^63 bytes; in one call nothing could look ahead.
#[test]
fn a_copy_by_cp_is_seen_in_pieces_and_is_the_same() {
    let folder = folder();
    let bytes: Vec<u8> = (0..40_u32 << 18).flat_map(u32::to_ne_bytes).collect();
    std::fs::write(folder.path().join("one"), &bytes).expect("a file to copy");
    let account = Account::new(folder.path());
    succeed(
        with_library("cp")
            .args(["one", "two"])
            .env("AHEAD_SHARED", account.path())
            .current_dir(folder.path()),
    );
    assert!(bytes == std::fs::read(folder.path().join("two")).expect("the copy"));
    assert!(account.accesses() >= 10, "{} reads", account.accesses());
}

#[test]
fn libraries_may_read_in_their_constructors_before_ours() {
    let folder = folder();
    let early = build_with(folder.path(), "early", &["-shared", "-fPIC"]);
    for libraries in [[library(), early.clone()], [early, library()]] {
        let list = libraries.map(|path| path.display().to_string()).join(":");
        succeed(
            Command::new("true")
                .env("LD_PRELOAD", list)
                .env("AHEAD_STRICT", "yes"),
        );
    }
}

/// The files that a child of `sh` has mapped, and its `LD_PRELOAD`.
fn child_of_a_shell(children: Option<&str>, others: &str) -> (String, String) {
    let list = format!("{}{others}", library().display());
    let mut command = Command::new("sh");
    command
        .args(["-c", "cat /proc/self/maps; echo; printenv LD_PRELOAD; true"])
        .env("LD_PRELOAD", list);
    if let Some(children) = children {
        command.env("AHEAD_CHILDREN", children);
    }
    let output = succeed(&mut command);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (maps, list) = text.split_once("\n\n").expect("an empty line between both");
    (maps.to_owned(), list.trim().to_owned())
}

#[test]
fn children_have_the_library_too() {
    let (maps, _) = child_of_a_shell(None, "");
    assert!(maps.contains("libahead_preload.so"));
}

#[test]
fn children_do_not_have_the_library_when_told_so() {
    let (maps, list) = child_of_a_shell(Some("no"), "");
    assert!(!maps.contains("libahead_preload.so"));
    assert_eq!(list, "");
}

#[test]
fn other_preloaded_libraries_stay_in_children() {
    let folder = folder();
    let early = build_with(folder.path(), "early", &["-shared", "-fPIC"]);
    let (maps, list) = child_of_a_shell(Some("no"), &format!(":{}", early.display()));
    assert!(!maps.contains("libahead_preload.so"));
    assert!(maps.contains("/early"));
    assert_eq!(list, early.display().to_string());
}

#[test]
fn a_child_that_the_c_library_knows_nothing_of_may_read_and_leave_its_folder() {
    assert_works("bare_clone", &[]);
    assert_writes_the_same("bare_clone", &[]);
}

/// The least that a thread can have is 16 KiB; variables of the program and what the loader resolves
/// take their part of it.
const STACK_BYTES_MAX: usize = 12 << 10;

/// A handler of signals may have two pages; with AVX-512 its registers take 3.3 KiB of them, and it has variables
/// of its own.
const HANDLER_BYTES_MAX: usize = 4 << 10;

/// Runs the program `small_stacks` as HOW with all of the library, with an account and with a recording. Returns what it wrote.
fn on_small_stacks(how: &str) -> Vec<String> {
    let folder = folder();
    let program = build_with(folder.path(), "small_stacks", &[]);
    let account = Account::new(folder.path());
    let ring = folder.path().join("ring");
    let made = std::fs::File::create(&ring).expect("a ring");
    made.set_len(recording::FILE_BYTES as u64).expect("space");
    let ways = [
        ("AHEAD_NOTHING", &*ring),
        ("AHEAD_SHARED", account.path()),
        ("AHEAD_RECORD", &*ring),
    ];
    let run = |(variable, path): (&str, &Path)| {
        let mut command = with_library(&program);
        with_trees(&mut command).arg(how).env(variable, path);
        let output = succeed(command.current_dir(folder.path()));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let written = ways.into_iter().map(run).collect();
    assert!(account.accesses() > 0, "the library noticed no read");
    written
}

/// Making the library's state once took 96 KiB: a thread with less was ended by its first read that waited.
#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "about the frames of optimised code: run with --release"
)]
fn reads_take_little_of_a_small_stack() {
    for (what, most) in [
        ("measure", STACK_BYTES_MAX),
        ("measure-handler", HANDLER_BYTES_MAX),
    ] {
        for text in on_small_stacks(what) {
            let used: usize = text.parse().expect("bytes");
            assert!(used <= most, "{what}: {used} bytes");
        }
    }
}

#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "about the frames of optimised code: run with --release"
)]
fn threads_with_the_smallest_stack_read_the_right_bytes() {
    on_small_stacks("threads");
}

#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "about the frames of optimised code: run with --release"
)]
fn a_signal_handler_may_read_on_a_stack_of_two_pages() {
    on_small_stacks("handler");
}
