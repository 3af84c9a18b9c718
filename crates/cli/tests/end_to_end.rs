//! The program and the real library together: what a newcomer types first.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use support::daemon_disk::{Ground, Seen};
use support::{Place, build_reader, library, stderr, stdout};

const READ_BYTES: usize = 64 * 1024;
const READS: usize = 256;

#[test]
fn a_backward_reader_is_recognised_and_gets_its_bytes() {
    let place = Place::new();
    // Each byte follows from its place.
    let content: Vec<u8> = (0..READS * READ_BYTES)
        .map(|at| u8::try_from(at / 251 % 256).expect("a byte"))
        .collect();
    let file = place.file("data", &content);
    let script = "import os, sys, zlib\n\
                  f = os.open(sys.argv[1], os.O_RDONLY); n = os.fstat(f).st_size; c = 0\n\
                  for at in range(n - 65536, -1, -65536): c = zlib.crc32(os.pread(f, 65536, at), c)\n\
                  print(c)";
    let plain = Command::new("python3")
        .args(["-c", script])
        .arg(&file)
        .output()
        .expect("python3");
    let output = place
        .ahead(&["run", "--json", "--", "python3", "-c", script])
        .arg(&file)
        .env("AHEAD_PRELOAD", library())
        .output()
        .expect("ahead starts");
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output), stdout(&plain));
    let report: Value = serde_json::from_str(&stderr(&output)).expect("JSON");
    let files = report["files"].as_array().expect("files");
    let ours = files
        .iter()
        .find(|one| one["path"] == file.to_str().expect("text"));
    let ours = ours.unwrap_or_else(|| panic!("the file is in the report: {report:#}"));
    assert_eq!(ours["pattern"], "backward", "{ours:#}");
    assert_eq!(ours["accesses"], READS, "{ours:#}");
}

/// Its superblock says nothing of the disks below. By what waits alone say of this one, whose accesses take 2 ms, it took 330 seeks and
/// calls of 128 KiB. Root.
#[test]
fn a_backward_reader_of_a_btrfs_gets_the_windows_of_an_arm() {
    backward_gets_the_windows_of_an_arm(&Ground::on("btrfs"));
}

/// So it is in most containers: the disk is mounted here too, as it is there for `/etc/hosts`. Root.
#[test]
fn a_backward_reader_of_an_overlay_gets_the_windows_of_an_arm() {
    Ground::new("overlay").in_overlay(backward_gets_the_windows_of_an_arm);
}

fn backward_gets_the_windows_of_an_arm(ground: &Ground) {
    let reader = ground.build("shared-reader", &[]);
    let reader = reader.to_str().expect("text");
    let file = ground.path("file");
    let read = |starter: &[&str]| -> Seen {
        ground.evict("file");
        ground.reset();
        let words = [starter, &[reader, "backward", &file]].concat();
        let output = Command::new(words[0])
            .args(&words[1..])
            .env("AHEAD_PRELOAD", library())
            .output()
            .expect("a program");
        assert!(output.status.success(), "{}", stderr(&output));
        let sum = stdout(&output).trim().strip_prefix("sum ").map(str::parse);
        ground.seen(sum.expect("its line").expect("a number"))
    };
    let alone = read(&["env"]);
    let helped = read(&[env!("CARGO_BIN_EXE_ahead"), "run", "--"]);
    assert_eq!(helped.sum, alone.sum, "the same bytes");
    // 16 as a rule. Where the processors are busy, what was asked for comes late, and the reader's own reads go to the disk between: 40
    // were counted so, and less than half of the 330 are asked.
    assert!(helped.seeks * 10 < alone.seeks, "{helped:?} {alone:?}");
    assert!(helped.requests * 4 < alone.requests, "{helped:?} {alone:?}");
}

/// While it reads, and when it has ended, the process's slot in the file that all processes of a run map.
#[test]
fn a_process_says_what_it_has_asked_for_and_takes_it_back_at_its_end() {
    let place = Place::new();
    let file = place.file("data", vec![7; READS * READ_BYTES]);
    let script = "import os, struct, sys\n\
                  f = os.open(sys.argv[1], os.O_RDONLY); n = os.fstat(f).st_size\n\
                  for at in range(n - 65536, n // 2, -65536): os.pread(f, 65536, at)\n\
                  run, path = os.environ['AHEAD_GROUP'].split(':', 1)\n\
                  words = struct.unpack('<768Q', open(path, 'rb').read()[:6144])\n\
                  mine = [at for at in range(0, 768, 3) if words[at] >> 32 == os.getpid()]\n\
                  print(len(mine), all(words[at + 2] >> 32 == int(run) for at in mine))\n\
                  print(path)";
    let mut ahead = place.ahead(&["run", "--json", "--", "python3", "-c", script]);
    ahead.arg(&file).env("AHEAD_PRELOAD", library());
    ahead
        .env("XDG_RUNTIME_DIR", place.path())
        .env_remove("AHEAD_GROUP");
    let output = ahead.output().expect("ahead starts");
    let said = stdout(&output);
    let mut lines = said.lines();
    assert_eq!(lines.next(), Some("1 True"), "{}", stderr(&output));
    let members = lines.next().expect("a path");
    assert!(
        members.starts_with(place.path().to_str().expect("text")),
        "{members}"
    );
    let left = std::fs::read(members).expect("the file stays");
    let owners = left[..6144].chunks(24).filter(|slot| slot[..8] != [0; 8]);
    assert_eq!((left.len(), owners.count()), (10240, 0));
}

#[test]
fn decisions_are_explained_line_by_line() {
    let place = Place::new();
    let file = place.file("data", vec![7; READS * READ_BYTES]);
    let decisions = place.path().join("decisions");
    let output = place
        .ahead(&[
            "run",
            "--explain-to",
            decisions.to_str().expect("text"),
            "--",
        ])
        .args(["dd", "bs=64k", "of=/dev/null", "status=none"])
        .arg(format!("if={}", file.display()))
        .env("AHEAD_PRELOAD", library())
        .output()
        .expect("ahead starts");
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    let text = std::fs::read_to_string(decisions).expect("a file");
    let heading = format!("] {}", file.display());
    let about: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.ends_with(&heading))
        .skip(1)
        .take_while(|line| line.starts_with(' '))
        .collect();
    assert!(!about.is_empty(), "{text}");
    assert!(
        about.iter().all(|line| line.contains("sequential")),
        "{text}"
    );
}

/// The run was a success, and `file` is in its report.
fn assert_seen(file: &Path, output: &Output) {
    assert!(output.status.success(), "{}", stderr(output));
    let report: Value = serde_json::from_str(&stderr(output)).expect("JSON");
    let files = report["files"].as_array().expect("files");
    let path = file.to_str().expect("text");
    assert!(files.iter().any(|one| one["path"] == path), "{report:#}");
}

/// There the kernel's clock page is not mapped where the kernel says: looking for it ended the program.
#[test]
fn a_program_under_valgrind_reads_and_is_seen() {
    let place = Place::new();
    let file = place.file("data", vec![7; READS * READ_BYTES]);
    let mut ahead = place.ahead(&["run", "--json", "--"]);
    ahead.args(["valgrind", "--tool=none", "--quiet", "--log-file=/dev/null"]);
    ahead.args(["cat".as_ref(), file.as_os_str()]);
    let output = ahead.env("AHEAD_PRELOAD", library()).output();
    let output = output.expect("ahead starts");
    assert_eq!(output.stdout.len(), READS * READ_BYTES);
    assert_seen(&file, &output);
}

/// Whose own library wants to be the first of all, and else ends the program.
#[test]
fn a_program_with_an_address_sanitizer_reads_and_is_seen() {
    let place = Place::new();
    let file = place.file("data", vec![7; READS * READ_BYTES]);
    let program = place.path().join("sanitized");
    build_reader(&program, &["-fsanitize=address"]);
    let plain = Command::new(&program).arg("forward").arg(&file).output();
    let mut ahead = place.ahead(&["run", "--json", "--"]);
    ahead.arg(&program).arg("forward").arg(&file);
    let output = ahead.env("AHEAD_PRELOAD", library()).output();
    let output = output.expect("ahead starts");
    assert_eq!(stdout(&output), stdout(&plain.expect("it starts")));
    assert_seen(&file, &output);
}

/// A program of musl that executes its arguments, or ends with 4 where it has none.
fn build_other(place: &Place) -> PathBuf {
    let source = place.file(
        "other.c",
        "#include <unistd.h>\n\
         int main(int count, char **words) { if (count > 1) execvp(words[1], words + 1); return 4; }\n",
    );
    let program = place.path().join("other");
    let compiled = Command::new("musl-gcc")
        .arg("-o")
        .args([&program, &source])
        .status();
    assert!(compiled.expect("musl-gcc (`make deps`)").success());
    program
}

/// musl's loader ends a program into which it cannot load a library that it finds.
#[test]
fn a_program_of_another_c_library_runs_and_the_report_says_that_it_was_not_seen() {
    let place = Place::new();
    let program = build_other(&place);
    let report = |mut ahead: Command| {
        let output = ahead.arg(&program).env("AHEAD_PRELOAD", "").output();
        let output = output.expect("ahead starts");
        assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
        stderr(&output)
    };
    let said = report(place.ahead(&["run", "--report", "--"]));
    assert!(said.contains("uses musl"), "{said}");
    // A run around it has put the library where such a program would find it.
    let nested = place.ahead(&["run", "--", env!("CARGO_BIN_EXE_ahead"), "run", "--"]);
    assert_eq!(report(nested), "");
}

/// They ended with 127, and whoever was started by one was not seen.
#[test]
fn programs_of_another_c_library_run_below_others_and_what_they_start_is_seen() {
    let place = Place::new();
    let file = place.file("data", vec![7; READS * READ_BYTES]);
    let mut ahead = place.ahead(&["run", "--json", "--", "sh", "-c"]);
    ahead.arg("\"$0\"; echo $?; \"$0\" cat \"$1\" | wc -c");
    ahead.args([&build_other(&place), &file]);
    let output = ahead.env("AHEAD_PRELOAD", library()).output();
    let output = output.expect("ahead starts");
    let expected = format!("4\n{}\n", READS * READ_BYTES);
    assert_eq!(stdout(&output), expected, "{}", stderr(&output));
    assert_seen(&file, &output);
}
