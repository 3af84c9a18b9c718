//! What the library costs a program that finds everything in memory, in system calls and in
//! instructions: the same numbers in every run, whatever else the machine does.
//!
//! A cost that grows with the work shows in the difference of two runs of different length; what is
//! left is the cost of a start. Needs `strace` and `valgrind`; `make deps` installs both.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use ahead_engine::settings::Settings;
use ahead_harness::overhead::{Calls, count_calls, difference, total};
use support::library;

/// System calls that a process may pay for having the library in it. The dynamic loader needs nine:
/// openat, read, newfstatat, a mmap for each of four segments, close, and mprotect. Three are left
/// for a fifth segment and a look at the process. An unwinder (libgcc_s) would be ten more; memory
/// that is reserved before anything waits would be one for each table.
const START_CALLS_MAX: u64 = 12;

/// A pread from memory, steady or random, may cost so many instructions more. The promise is 25 ns
/// (`ahead bench overhead`); 99 instructions, one reading of the clock among them, took 18 to 19 ns.
const PREAD_INSTRUCTIONS_MAX: u64 = 105;
/// The same of a call that is served from the buffer of a `FILE`.
const STDIO_INSTRUCTIONS_MAX: u64 = 15;

/// Long enough that random places are far from each other.
const FILE_BYTES: usize = 64 << 20;

/// The argument that makes the program do the smallest reads.
const READER: &str = ahead_cli::bench::overhead::READER_ARGUMENT;

/// A folder on a real file system: the library has nothing to do with files in tmpfs.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder for the test's files")
}

/// A command with nothing in its environment that would change what it does.
fn plain(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command
        .env("LC_ALL", "C")
        .env("PYTHONHASHSEED", "0")
        .env("PYTHONDONTWRITEBYTECODE", "1");
    // Cargo names its own folders to the loader, which would look for every library there.
    for name in [
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "AHEAD_SETTINGS",
        "AHEAD_SHARED",
    ] {
        command.env_remove(name);
    }
    command
}

/// The same as `ahead run` would start it, on a machine so slow that no read counts as a wait: the
/// tools that count make every call take longer than a device.
fn preloaded(mut command: Command) -> Command {
    let settings = Settings {
        wait_us: 10_000_000,
        ..Settings::default()
    };
    command
        .env("LD_PRELOAD", library())
        .env("AHEAD_SETTINGS", settings.to_environment());
    command
}

/// System calls without the library and with it. `command` is made anew for each.
fn both(mut command: impl FnMut() -> Command) -> (Calls, Calls) {
    let without = count_calls(&command()).expect("strace counts; `make deps` installs it");
    let with = count_calls(&preloaded(command())).expect("strace counts with the library");
    (without, with)
}

/// Asserts that `command` with so many files pays for the start and for nothing else.
#[track_caller]
fn assert_files_cost_nothing(few: usize, many: usize, mut command: impl FnMut(usize) -> Command) {
    let (few_without, few_with) = both(|| command(few));
    let (many_without, many_with) = both(|| command(many));
    let few_more = difference(&few_without, &few_with);
    println!("{few} files: {few_more:?}");
    let many_more = difference(&many_without, &many_with);
    assert!(
        total(&many_without) > total(&few_without) + 2 * (many - few) as u64,
        "the files are opened and closed: {many_without:?}"
    );
    assert_eq!(
        few_more, many_more,
        "calls of ours with {few} files (left) and with {many} files (right)"
    );
    let extra = total(&few_with).saturating_sub(total(&few_without));
    assert!(
        extra <= START_CALLS_MAX,
        "{extra} calls for a start: {few_more:?}"
    );
}

/// A tree of files of different sizes, from nothing to 40 KiB.
fn tree(parent: &Path, files: usize) -> PathBuf {
    let root = parent.join(format!("tree-{files}"));
    if !root.exists() {
        std::fs::create_dir(&root).expect("a folder");
        for number in 0..files {
            let bytes = vec![b'x'; number % 11 * 4000];
            std::fs::write(root.join(format!("file-{number:04}")), bytes).expect("a file");
        }
    }
    root
}

#[test]
fn copying_a_tree_in_memory_takes_no_call_of_ours_for_any_file() {
    let folder = folder();
    assert_files_cost_nothing(10, 1000, |files| {
        let target = folder.path().join("copy");
        let _ = std::fs::remove_dir_all(&target);
        let mut command = plain("cp");
        command
            .arg("-r")
            .arg(tree(folder.path(), files))
            .arg(target);
        command
    });
}

/// Not to /dev/null: tar knows that name and would not read the files.
#[test]
fn packing_a_tree_in_memory_takes_no_call_of_ours_for_any_file() {
    let folder = folder();
    assert_files_cost_nothing(10, 1000, |files| {
        let target = folder.path().join("archive.tar");
        let _ = std::fs::remove_file(&target);
        tree(folder.path(), files);
        let mut command = plain("tar");
        command
            .arg("-cf")
            .arg(target)
            .arg("-C")
            .arg(folder.path())
            .arg(format!("tree-{files}"));
        command
    });
}

#[test]
fn a_python_start_takes_no_call_of_ours_for_any_module() {
    let folder = folder();
    let asked = plain("python3")
        .args(["-c", "import sys; print(sys.executable, end='')"])
        .output()
        .expect("python3; `make deps` installs it");
    // The interpreter itself: a shim in front of it would start other processes.
    let python = String::from_utf8(asked.stdout).expect("a path");
    for number in 0..300 {
        let module = folder.path().join(format!("module_{number}.py"));
        std::fs::write(module, format!("VALUE = {number}\n").repeat(100)).expect("a module");
    }
    assert_files_cost_nothing(10, 300, |modules| {
        let script = format!(
            "import sys; sys.path.insert(0, {:?})\n\
             for number in range({modules}): __import__(f'module_{{number}}')",
            folder.path()
        );
        let mut command = plain(&python);
        command.args(["-c", &script]);
        command
    });
}

#[test]
fn a_child_of_a_shell_costs_the_calls_of_a_start() {
    let (few, many) = (10, 50);
    let more = |children: u64| {
        let (without, with) = both(|| {
            let mut command = plain("bash");
            let script = format!("for ((i = 0; i < {children}; i++)); do /bin/true; done");
            command.args(["--norc", "-c", &script]);
            command
        });
        let more = difference(&without, &with);
        (total(&with) - total(&without), more)
    };
    let ((few_calls, _), (many_calls, names)) = (more(few), more(many));
    let each = (many_calls - few_calls).div_ceil(many - few);
    println!("calls for each child: {each}");
    assert!(
        each <= START_CALLS_MAX,
        "{each} calls for each of {many} children; in all {names:?}"
    );
}

/// Passes after the first one. A start takes some 3000 instructions more or less, as it happens: with
/// ten passes, of 50 operations more, those were 5 of each operation.
const PASSES_TIMED: u64 = 300;

/// Instructions of `count` operations in each pass, by callgrind.
fn instructions(kind: &str, file: &Path, count: u64, with_library: bool) -> u64 {
    let mut command = plain("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.args([env!("CARGO_BIN_EXE_ahead"), READER, kind]);
    command.arg(file).arg(count.to_string());
    command.arg(PASSES_TIMED.to_string());
    let mut command = if with_library {
        preloaded(command)
    } else {
        command
    };
    let output = command
        .output()
        .expect("valgrind runs; `make deps` installs it");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr);
    let found = text
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    let (_, found) = found.unwrap_or_else(|| panic!("callgrind counts: {text}"));
    found.trim().parse().expect("a number")
}

/// Times that a count is tried. What disturbs a run (the processor is taken away in the middle of a
/// read, which looks like a wait) only adds instructions, so that the lowest count is the right one.
const ATTEMPTS_MAX: u32 = 12;

/// Asserts that the library adds at most so many instructions to one operation. Starts and whatever
/// else does not grow with the number of operations cancel out: each pass is one rewind and one
/// filled buffer, short or long.
#[track_caller]
fn assert_costs(kind: &str, (few, many): (u64, u64), instructions_max: u64) {
    let folder = folder();
    let file = folder.path().join("lines");
    let line = format!("{}\n", "x".repeat(63));
    std::fs::write(&file, line.repeat(FILE_BYTES / 64)).expect("a file");
    let operations = (many - few) * (PASSES_TIMED + 1);
    let each = |with_library| {
        let count = |count| instructions(kind, &file, count, with_library);
        count(many).saturating_sub(count(few))
    };
    let without = each(false);
    let mut lowest = u64::MAX;
    for _ in 0..ATTEMPTS_MAX {
        lowest = lowest.min(each(true).saturating_sub(without).div_ceil(operations));
        if lowest <= instructions_max {
            break;
        }
    }
    println!("{kind}: {lowest} instructions of ours");
    assert!(
        lowest <= instructions_max,
        "{kind}: {lowest} instructions of ours in one call, {instructions_max} allowed"
    );
}

/// Today 101.
#[test]
#[cfg_attr(debug_assertions, ignore = "counts optimised code: run with --release")]
fn a_steady_read_from_memory_costs_few_instructions() {
    assert_costs("pread-steady", (200, 1200), PREAD_INSTRUCTIONS_MAX);
}

/// Today 101.
#[test]
#[cfg_attr(debug_assertions, ignore = "counts optimised code: run with --release")]
fn a_random_read_from_memory_costs_few_instructions() {
    assert_costs("pread-random", (200, 1200), PREAD_INSTRUCTIONS_MAX);
}

/// Short of one buffer of 4096 bytes, so that every call but the first is served from it. Today 8.
#[test]
#[cfg_attr(debug_assertions, ignore = "counts optimised code: run with --release")]
fn a_byte_from_the_buffer_of_a_file_costs_few_instructions() {
    assert_costs("getc", (1000, 4000), STDIO_INSTRUCTIONS_MAX);
}

/// Today 11.
#[test]
#[cfg_attr(debug_assertions, ignore = "counts optimised code: run with --release")]
fn a_line_from_the_buffer_of_a_file_costs_few_instructions() {
    assert_costs("fgets", (10, 60), STDIO_INSTRUCTIONS_MAX);
}

/// Today 14.
#[test]
#[cfg_attr(debug_assertions, ignore = "counts optimised code: run with --release")]
fn a_record_from_the_buffer_of_a_file_costs_few_instructions() {
    assert_costs("fread", (10, 60), STDIO_INSTRUCTIONS_MAX);
}
