//! Bad input: one clear line on standard error, the right exit code, nothing started.

mod support;

use std::process::{Command, Stdio};

use support::{Place, assert_refused, copy_program, stderr, stdout};

#[test]
fn no_arguments_print_help_and_are_no_failure() {
    let output = Place::new().output(&[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        stdout(&output).contains("Usage: ahead"),
        "{}",
        stdout(&output)
    );
}

/// `ahead settings >&-` ended with 0: the runtime opens /dev/null there.
#[test]
fn an_output_that_is_closed_is_no_success() {
    let closed = Command::new("sh")
        .args(["-c", "exec \"$0\" settings >&-"])
        .arg(env!("CARGO_BIN_EXE_ahead"))
        .output()
        .expect("sh starts");
    assert_refused(&closed, 1, &["cannot write the output"]);
}

#[test]
fn half_a_command_prints_its_help_and_is_wrong_usage() {
    let output = Place::new().output(&["disk"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("Usage: ahead disk"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn an_unknown_verb_or_option_is_wrong_usage() {
    let place = Place::new();
    assert_refused(&place.output(&["rnu"]), 2, &["'rnu'", "ahead --help"]);
    assert_refused(
        &place.output(&["run", "--repot", "true"]),
        2,
        &["--repot", "ahead run --help"],
    );
    assert_refused(&place.output(&["run"]), 2, &["<CMD>", "ahead run --help"]);
    // What clap has on a line of its own is part of the sentence.
    let unknown = place.output(&["run", "--bogus", "--", "true"]);
    assert_refused(&unknown, 2, &["'--bogus' found; to pass"]);
    let recorded = place.output(&["run", "--record", "-", "true"]);
    assert_refused(&recorded, 2, &["file", "--record"]);
    for name in ["x.foo", "-"] {
        let recorded = place.output(&["record", "--system", name]);
        assert_refused(&recorded, 2, &["a recording"]);
    }
    for verb in [&["doctor"][..], &["device", "list"]] {
        let output = place.output(&[verb, &["--root", "/no/such"]].concat());
        assert_refused(&output, 2, &["'/no/such'", "--root"]);
    }
}

#[test]
fn a_command_that_is_not_there_ends_with_127() {
    let place = Place::new();
    assert_refused(
        &place.output(&["run", "no-such-command"]),
        127,
        &["no-such-command", "PATH"],
    );
    assert_refused(&place.output(&["run", "./no/such"]), 127, &["./no/such"]);
    assert_refused(&place.output(&["run", ""]), 127, &["cannot find ''"]);
}

#[test]
fn a_command_that_cannot_be_executed_ends_with_126() {
    let place = Place::new();
    let file = place.file("data", "not a program");
    let file = file.to_str().expect("text");
    assert_refused(&place.output(&["run", file]), 126, &[file, "chmod +x"]);
    assert_refused(&place.output(&["run", "/usr"]), 126, &["/usr", "folder"]);
}

#[test]
fn a_script_without_its_interpreter_ends_with_126() {
    let place = Place::new();
    let script = place.file("script", "#!/no/such/interpreter\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).expect("our file");
    let output = place.output(&["run", script.to_str().expect("text")]);
    assert_refused(&output, 126, &["/no/such/interpreter"]);
    // The kernel takes the end of a line of Windows for a part of the name.
    std::fs::write(&script, "#!/bin/sh\r\ntrue\r\n").expect("our file");
    let output = place.output(&["run", script.to_str().expect("text")]);
    assert_refused(&output, 126, &["interpreter", "/bin/sh"]);
}

#[test]
fn a_missing_library_is_named_with_what_to_do() {
    let place = Place::new();
    let run = |library: &str| {
        place
            .ahead(&["run", "true"])
            .env("AHEAD_PRELOAD", library)
            .output()
            .expect("ahead starts")
    };
    assert_refused(
        &run("/no/such.so"),
        1,
        &["libahead_preload.so", "/no/such.so", "AHEAD_PRELOAD"],
    );
    assert_refused(
        &run("/etc/passwd"),
        1,
        &["/etc/passwd", "not a shared library"],
    );
}

#[test]
fn a_library_in_none_of_the_usual_places_is_missing() {
    let place = Place::new();
    let program = place.path().join("ahead");
    copy_program(&program);
    let output = std::process::Command::new(&program)
        .args(["run", "true"])
        .output();
    let output = output.expect("the copy starts");
    assert_refused(
        &output,
        1,
        &[
            "cannot find libahead_preload.so",
            "cargo build",
            "AHEAD_PRELOAD",
        ],
    );
}

#[test]
fn a_library_of_the_wrong_architecture_is_refused() {
    let place = Place::new();
    let mut bytes = std::fs::read(place.library()).expect("the library");
    // e_machine: 8 is MIPS.
    bytes[0x12..0x14].copy_from_slice(&8_u16.to_ne_bytes());
    let library = place.file("mips.so", bytes);
    let output = place
        .ahead(&["run", "true"])
        .env("AHEAD_PRELOAD", &library)
        .output();
    assert_refused(
        &output.expect("ahead starts"),
        1,
        &["mips.so", "is for", "AHEAD_PRELOAD"],
    );
}

#[test]
fn a_library_whose_path_the_loader_would_split_is_refused() {
    let place = Place::new();
    let library = place.path().join("a b.so");
    std::fs::copy(place.library(), &library).expect("a copy");
    let output = place
        .ahead(&["run", "true"])
        .env("AHEAD_PRELOAD", &library)
        .output();
    assert_refused(
        &output.expect("ahead starts"),
        1,
        &["a b.so", "space or a colon"],
    );
}

#[test]
fn a_bad_setting_says_what_would_be_accepted() {
    let place = Place::new();
    let set = |pair: &str| place.output(&["run", "--set", pair, "true"]);
    assert_refused(&set("readahead=1"), 2, &["'readahead'", "readahead_ratio"]);
    assert_refused(&set("readahead_hit_rate=0"), 2, &["'0'", "1 to 64"]);
    assert_refused(&set("readahead_hit_rate"), 2, &["KEY=VALUE"]);
    let output = place.output(&["run", "--policy", "magic", "true"]);
    assert_refused(&output, 2, &["'magic'", "adaptive"]);
}

#[test]
fn a_bad_config_key_is_reported_with_file_and_line() {
    let place = Place::new();
    let file = place.file("my.toml", "[run]\npolicy = 'adaptive'\nreadahead = 3\n");
    let file = file.to_str().expect("text");
    let place_of_mistake = format!("{file}:3: ");
    let output = place.output(&["run", "--config", file, "true"]);
    assert_refused(&output, 2, &[&place_of_mistake, "'readahead'"]);
    assert_refused(
        &place.output(&["settings", "--config", "/no/such"]),
        2,
        &["/no/such"],
    );
    assert_refused(
        &place.output(&["settings", "--config", "/dev/zero"]),
        2,
        &["/dev/zero"],
    );
}

#[test]
fn a_report_that_cannot_be_written_stops_the_run_before_it_starts() {
    let place = Place::new();
    let witness = place.path().join("witness");
    let witness = witness.to_str().expect("text");
    let output = place.output(&["run", "--report=/no/such/file", "--", "touch", witness]);
    assert_refused(&output, 1, &["/no/such/file", "--report=FILE"]);
    assert!(!std::path::Path::new(witness).exists());
    let output = place.output(&[
        "run",
        "--explain-to",
        "/no/such/file",
        "--",
        "touch",
        witness,
    ]);
    assert_refused(&output, 1, &["/no/such/file", "--explain-to"]);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let place = Place::new();
    for arguments in [&["settings"][..], &["man"], &["--help"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = place
            .ahead(arguments)
            .stdout(writer)
            .stderr(Stdio::piped())
            .output();
        let output = output.expect("ahead starts");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
}

/// A guest has no BPF: the row of the daemon was that of the kernel by itself.
#[test]
fn arms_that_no_guest_has_are_refused_before_one_is_booted() {
    let place = Place::new();
    let bench = place.output(&["lab", "bench", "--arm", "stock:128,daemon"]);
    assert_refused(&bench, 2, &["`daemon`", "static-best", "patched, ceiling"]);
    let compare = place.output(&["lab", "compare", "--arm", "stock:128,daemon", "--", "true"]);
    assert_refused(&compare, 2, &["`daemon`", "run, patched, ceiling"]);
    let predict = place.output(&["lab", "predict", "--arm", "patched"]);
    assert_refused(&predict, 2, &["`patched`", "off, stock:KIB, run"]);
}

/// It was found out when guests had run for minutes.
#[test]
fn a_prediction_that_cannot_be_written_is_refused_before_a_guest_is_booted() {
    let place = Place::new();
    for words in [
        &["lab", "predict", "--json", "no/such/folder/p.json"][..],
        &["lab", "predict", "--svg", "no/such/folder/p.json"],
        &[
            "lab",
            "predict",
            "--tree",
            "small",
            "--json",
            "no/such/folder/p.json",
        ],
    ] {
        let output = place.output(words);
        assert_refused(&output, 1, &["no/such/folder/p.json"]);
    }
}

/// They were run for nothing, or ended with 1 after the disk was made.
#[test]
fn nothing_to_do_is_wrong_usage() {
    let place = Place::new();
    for (words, option) in [
        ("bench run --disk hdd --bytes 0", "--bytes"),
        ("bench run --disk hdd --seconds 0", "--seconds"),
        ("bench run --disk hdd --repeat 0", "--repeat"),
        ("bench run --disk hdd --scale 0", "--scale"),
        ("bench predict --seconds 0", "--seconds"),
        ("bench predict --repeat none", "--repeat"),
        ("bench predict --patterns foo", "--patterns"),
        ("lab compare --repeat 0 -- true", "--repeat"),
        ("lab bench --repeat 0", "--repeat"),
        ("lab bench --bytes 0", "--bytes"),
        ("lab run --memory 1M -- true", "--memory"),
        ("lab bench --memory 1M", "--memory"),
        ("lab run --size 1M -- true", "--size"),
        ("lab run --read-ahead 3K -- true", "--read-ahead"),
        ("compare --generated 0..2 --workloads tail", "--workloads"),
        ("compare --odd-reads 0..2 --workloads tail", "--workloads"),
        ("compare --disks-by-chance 3", "--odd-reads"),
        (
            "compare --odd-reads 0..2 --disks-by-chance 0",
            "--disks-by-chance",
        ),
        (
            "compare --odd-reads 0..2 --disks-by-chance 3 --disks hdd",
            "--disks",
        ),
        ("compare --odd-reads 0..2 --disks volume:speed=1", "speed=1"),
        (
            "compare --odd-reads 0..2 --disks hdd,volume:latency-us=x",
            "latency-us=x",
        ),
    ] {
        let words: Vec<_> = words.split(' ').collect();
        assert_refused(&place.output(&words), 2, &[option]);
    }
    let number = place.output(&["bench", "predict", "--seed", "x"]);
    assert_refused(&number, 2, &["--seed", "not a whole number"]);
    let folder = place.output(&["lab", "bench", "--json", "/proc/x"]);
    assert_refused(&folder, 1, &["results", "/proc/x"]);
}

#[test]
fn help_that_cannot_be_written_is_a_failure_that_is_said() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let output = Place::new()
        .ahead(&["--help"])
        .stdout(full.expect("a device"))
        .output()
        .expect("ahead starts");
    assert_refused(&output, 1, &["cannot write the output", "No space left"]);
}

/// Values without a unit, with blanks, in words, too large or no whole pages; targets that have no window.
#[test]
fn a_window_that_cannot_be_set_is_refused_and_nothing_is_noted() {
    let place = Place::new();
    let queue = place.path().join("sys/class/block/sda/queue");
    std::fs::create_dir_all(&queue).expect("a writable folder");
    std::fs::write(queue.join("read_ahead_kb"), "128\n").expect("a writable folder");
    std::fs::write(queue.join("../dev"), "8:0\n").expect("a writable folder");
    let mounts = place.path().join("proc/self");
    std::fs::create_dir_all(&mounts).expect("a writable folder");
    std::fs::write(mounts.join("mountinfo"), "").expect("a writable folder");
    let root = place.path().to_str().expect("text");
    let refused = |words: &[&str], code: i32, says: &[&str]| {
        let words = [&["device", words[0], "--root", root], &words[1..]].concat();
        assert_refused(&place.output(&words), code, says);
    };
    refused(&["set", "sda", "512"], 2, &["512K", "512s"]);
    for value in ["128k ", "256 sectors", "-4K", "", "4.5M"] {
        refused(&["set", "sda", "--", value], 2, &["1024s"]);
    }
    refused(&["set", "sda", "3K"], 2, &["3 KiB", "page"]);
    refused(&["set", "sda", "1024G"], 2, &["1073741824 KiB"]);
    // What was typed last is taken.
    refused(&["set", "sda", "1025"], 2, &["1024K", "1024s"]);
    refused(&["set", "sda", "1025K"], 2, &["1025 KiB", "write 1024K"]);
    refused(&["set", "sda", "1s"], 2, &["pages", "write 8s"]);
    refused(&["set", "sda", "512kb"], 2, &["'512kb'", "512K"]);
    refused(&["set", "sda", "99999999999T"], 2, &["1 GiB"]);
    refused(&["set", "sdz", "128K"], 2, &["'sdz'", "ahead device list"]);
    refused(&["get", "/no/such"], 2, &["'/no/such'"]);
    refused(&["undo", "sdz"], 2, &["'sdz'"]);
    refused(&["undo", "sda"], 1, &["sda"]);
    // Of `ahead doctor`, status 1 says that something was found: a name that stands for nothing is 2 everywhere.
    let doctor = place.output(&["doctor", "--root", root, "sdz"]);
    assert_refused(&doctor, 2, &["'sdz'"]);
    let window = std::fs::read_to_string(queue.join("read_ahead_kb"));
    assert_eq!(window.expect("our file"), "128\n");
    assert!(!place.path().join("run").exists());
}
