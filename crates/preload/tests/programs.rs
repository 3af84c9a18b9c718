//! Programs that make the library's life hard: threads, forks, signals, sandboxes, thousands of
//! descriptors. Each looks at every byte that it reads, and at what it leaves behind.

mod common;

use common::{Account, build, build_with, folder, library, succeed, with_library};
use std::process::Command;

/// Runs the program with the library; it must succeed, and its reads must have been noticed.
fn assert_works(name: &str, arguments: &[&str]) {
    let folder = folder();
    let program = build(folder.path(), name);
    let account = Account::new(folder.path());
    succeed(
        with_library(program)
            .args(arguments)
            .env("AHEAD_SHARED", account.path())
            .current_dir(folder.path()),
    );
    assert!(account.accesses() > 0, "the library noticed no read");
}

/// Runs the program without and with the library; it must write the same.
fn assert_tells_the_same(name: &str, arguments: &[&str]) {
    let folder = folder();
    let program = build(folder.path(), name);
    let without = succeed(
        Command::new(&program)
            .args(arguments)
            .current_dir(folder.path()),
    );
    let with = succeed(
        with_library(&program)
            .args(arguments)
            .current_dir(folder.path()),
    );
    assert_eq!(
        String::from_utf8_lossy(&without.stdout),
        String::from_utf8_lossy(&with.stdout)
    );
    assert_eq!(with.stderr, b"", "the library says nothing");
}

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
    assert_tells_the_same("sandbox", &["refuse"]);
}

#[test]
fn a_sandbox_that_kills_is_left_in_peace() {
    assert_tells_the_same("sandbox", &["kill"]);
}

#[test]
fn long_copies_in_the_kernel_end_as_without_pieces() {
    assert_tells_the_same("copies", &[]);
}

/// `cp` asks the kernel to copy nearly 2^63 bytes; in one call nobody could look ahead.
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

/// Whatever else the library exported would replace a function of the same name in a program.
#[test]
fn only_functions_of_the_c_library_are_exported() {
    let output = succeed(
        Command::new("nm")
            .args(["-D", "--defined-only"])
            .arg(library()),
    );
    let text = String::from_utf8_lossy(&output.stdout);
    let names: Vec<_> = text
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2))
        .collect();
    assert!(names.contains(&"read") && names.contains(&"getline"));
    for name in names {
        let name_c = std::ffi::CString::new(name).expect("a name without zeros");
        // The test program does not link the library, so this finds the C library's own.
        assert!(
            c_library_has(&name_c),
            "{name} is exported, but is no function of the C library"
        );
    }
}

#[expect(unsafe_code, reason = "asks the loader for an address")]
fn c_library_has(name: &std::ffi::CStr) -> bool {
    // SAFETY: the name is a C string, and the address is not used.
    !unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.is_null()
}

#[test]
fn nothing_is_needed_but_the_c_library() {
    let output = succeed(Command::new("objdump").arg("-p").arg(library()));
    let text = String::from_utf8_lossy(&output.stdout);
    for line in text.lines().filter(|line| line.contains("NEEDED")) {
        let is_known = ["libc.so", "libgcc_s.so", "ld-linux"]
            .iter()
            .any(|known| line.contains(known));
        assert!(is_known, "unexpected: {line}");
    }
}
