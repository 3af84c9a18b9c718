//! The commands on traces, as they are typed: convert, stat, replay, and recording a program.

mod support;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use ahead_trace::Reader;
use serde_json::Value;
use support::{Place, assert_refused, stderr, stdout};

const FIO: &str = "fio version 3 iolog\n\
    0 /data/a add\n\
    0 /data/a open\n\
    10 /data/a read 0 65536\n\
    20 /data/a read 65536 65536\n\
    30 /data/a read 0 4096\n\
    40 /data/a close\n";

/// The library that was built with this test: beside the program, or among the dependencies.
fn library() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_ahead"));
    let folder = program.parent().expect("a folder");
    let candidates = [
        folder.join("deps/libahead_preload.so"),
        folder.join("libahead_preload.so"),
    ];
    let found = candidates.into_iter().find(|path| path.exists());
    found.expect("the library was built with this test")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

#[track_caller]
fn fine(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    stdout(output)
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&fine(output)).expect("JSON")
}

#[test]
fn a_trace_comes_back_the_same_through_every_format() {
    let place = Place::new();
    let mut from = place.file("t.iolog", FIO);
    // Packed Parquet was written and could not be read; `.gz` was a name, and its file not packed.
    for name in [
        "t.csv",
        "t.csv.zst",
        "t.parquet",
        "t.parquet.zst",
        "t.csv.gz",
        "t.parquet.gz",
        "back.iolog",
    ] {
        let to = place.path().join(name);
        let said = fine(&place.output(&["convert", text(&from), text(&to)]));
        assert!(said.starts_with("5 records written as "), "{said}");
        let magic = std::fs::read(&to).expect("a trace");
        let is_packed = |ending: &str, begins: &[u8]| {
            assert_eq!(name.ends_with(ending), magic.starts_with(begins), "{name}");
        };
        is_packed(".zst", &[0x28, 0xB5, 0x2F, 0xFD]);
        is_packed(".gz", &[0x1F, 0x8B]);
        from = to;
    }
    assert_eq!(std::fs::read_to_string(from).expect("a log"), FIO);
}

#[test]
fn a_trace_is_read_from_a_pipe_and_written_to_one() {
    let place = Place::new();
    let mut child = place
        .ahead(&["convert", "-", "-", "--to", "csv"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("ahead starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(FIO.as_bytes()).expect("it listens");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let table = fine(&output);
    assert_eq!(table.lines().count(), 6, "{table}");
    assert!(stderr(&output).starts_with("5 records written as csv"));
}

/// A broken pipe is success, as everywhere: `ahead convert big.csv - --to csv | true` ended with 1.
#[test]
fn who_reads_a_converted_trace_may_go() {
    let place = Place::new();
    let reads = "10 /data/a read 0 65536\n".repeat(100_000);
    let log = FIO.replacen("10 /data/a read 0 65536\n", &reads, 1);
    let trace = place.file("t.iolog", log);
    for format in ["csv", "fio", "parquet", "oracle-general"] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut convert = place.ahead(&["convert", text(&trace), "-", "--to", format]);
        let output = convert.stdout(writer).stderr(Stdio::piped()).output();
        let output = output.expect("ahead starts");
        assert_eq!(
            output.status.code(),
            Some(0),
            "{format}: {}",
            stderr(&output)
        );
        assert_eq!(stderr(&output), "", "{format}");
    }
}

#[test]
fn a_trace_is_described_in_numbers() {
    let place = Place::new();
    let trace = place.file("t.iolog", FIO);
    let figures = json(&place.output(&["stat", "--json", text(&trace)]));
    assert_eq!(figures["reads"], 3);
    assert_eq!(figures["sequential_reads"], 1);
    assert_eq!(figures["backward_reads"], 1);
    assert_eq!(figures["distinct_pages"], 32);
    assert_eq!(figures["touched_pages"], 33);
    assert_eq!(figures["duration_ns"], 40_000);
    assert_eq!(figures["files"][0]["name"], "/data/a");
    let said = fine(&place.output(&["stat", text(&trace)]));
    assert!(
        said.contains("frequent read sizes         64 KiB 66.6 %"),
        "{said}"
    );
}

#[test]
fn a_table_of_somebody_needs_a_map() {
    let place = Place::new();
    let trace = place.file("t.csv", "1,128,8,R\n2,136,8,R\n");
    let output = place.output(&["stat", text(&trace)]);
    assert_refused(&output, 1, &["t.csv", "--columns"]);
    let map = "at=0:s,offset=1:sectors,length=2:sectors,operation=3";
    let figures = json(&place.output(&["stat", "--json", text(&trace), "--columns", map]));
    assert_eq!(figures["read_bytes"], 8192);
    assert_eq!(figures["sequential_reads"], 1);
    let damaged = place.file("dmg.csv", "at_ns,offset,length\n1,0,4096\n2,many,4096\n");
    let said = format!(
        "ahead: '{}' line 3: column 'offset' has 'many', which is not a whole number that fits\n",
        text(&damaged)
    );
    for command in [&["stat"][..], &["simulate", "--workload"]] {
        let output = place.output(&[command, &[text(&damaged)]].concat());
        assert_eq!(stderr(&output), said);
    }
    let output = place.output(&["stat", text(&trace), "--columns", "offset=one:mile"]);
    assert_refused(&output, 2, &["offset=one:mile", "the unit is not known"]);
}

#[test]
fn a_damaged_trace_is_converted_up_to_the_damage() {
    let place = Place::new();
    let trace = place.file(
        "t.iolog",
        FIO.replace("30 /data/a read 0", "30 /data/a read -1"),
    );
    let table = place.path().join("t.csv");
    let output = place.output(&["convert", text(&trace), text(&table)]);
    assert_refused(&output, 1, &["t.iolog", "line 6", "offset"]);
    let kept = std::fs::read_to_string(table).expect("a table");
    assert_eq!(kept.lines().count(), 4, "{kept}");
}

#[test]
fn an_old_trace_stays_when_the_new_one_cannot_be_read() {
    let place = Place::new();
    let bad = place.file("bad.iolog", "fio version 3 iolog\nx\n");
    let old = place.file("old.csv", "precious");
    let output = place.output(&["convert", text(&bad), text(&old)]);
    assert_refused(&output, 1, &["line 2"]);
    let output = place.output(&["convert", text(&old), text(&old), "--columns", "offset=0"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(
        std::fs::read_to_string(old).expect("still there"),
        "precious"
    );
}

#[test]
fn what_no_trace_is_gets_one_line() {
    let place = Place::new();
    let cases: [(&[u8], &str); 5] = [
        (b"", "empty"),
        (b"\x28\xb5\x2f\xfd\x24", "cut short"),
        (b"PAR1PAR1", "Parquet"),
        (&[0; 5000], "--from"),
        (b"\x1f\x8bnonsense", "damaged"),
    ];
    for (bytes, part) in cases {
        let trace = place.file("t", bytes);
        assert_refused(&place.output(&["stat", text(&trace)]), 1, &["t': ", part]);
    }
    let missing = place.path().join("missing");
    let output = place.output(&["stat", text(&missing)]);
    assert_refused(&output, 1, &["missing", "No such file"]);
}

#[test]
fn a_replay_reads_the_same_bytes_in_files_made_for_it() {
    let place = Place::new();
    let trace = place.file("t.iolog", FIO);
    let root = place.path().join("root");
    let output = place.output(&["replay", text(&trace), "--root", text(&root)]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).contains("4 records failed"),
        "{}",
        stdout(&output)
    );
    for pace in ["--fast", "--timing"] {
        let mut arguments = vec!["replay", text(&trace), "--root", text(&root), "--json"];
        arguments.extend([pace, "--create", "--cold"]);
        let figures = json(&place.output(&arguments));
        assert_eq!(figures["reads"], 3);
        assert_eq!(figures["bytes"], 2 * 65_536 + 4096);
        assert_eq!(
            (&figures["failures"], &figures["short_reads"]),
            (&0.into(), &0.into())
        );
    }
    let made = std::fs::metadata(root.join("data/a")).expect("made");
    assert_eq!(made.len(), 131_072);
}

#[test]
fn creating_files_needs_a_folder_to_create_them_in() {
    let place = Place::new();
    let trace = place.file("t.iolog", FIO);
    let output = place.output(&["replay", text(&trace), "--create"]);
    assert_refused(&output, 2, &["--root"]);
}

/// The program and its child read with every call that is heard; the trace has their ranges.
#[test]
fn a_program_and_its_children_are_recorded() {
    let place = Place::new();
    let file = place.file("some data, \"quoted\"", vec![1; 1 << 20]);
    let trace = place.path().join("t.csv");
    let script = "import os, sys\n\
        f = os.open(sys.argv[1], os.O_RDONLY)\n\
        os.read(f, 1000); os.read(f, 3096); os.lseek(f, 65536, 0); os.read(f, 10)\n\
        os.pread(f, 100, 500000); os.readv(f, [bytearray(7), bytearray(8)])\n\
        os.posix_fadvise(f, 0, 0, os.POSIX_FADV_RANDOM); os.read(f, 20)\n\
        pid = os.fork()\n\
        if pid == 0:\n\
        \x20   os.pread(f, 4096, 8192); os._exit(0)\n\
        os.waitpid(pid, 0); os.close(f)";
    let output = place
        .ahead(&[
            "run",
            "--record",
            text(&trace),
            "--",
            "python3",
            "-c",
            script,
        ])
        .arg(&file)
        .env("AHEAD_PRELOAD", library())
        .output()
        .expect("ahead starts");
    fine(&output);
    assert_eq!(stderr(&output), "");

    let mut reader =
        ahead_trace::open(&trace, &ahead_trace::OpenOptions::default()).expect("a trace");
    let accesses: Vec<_> = reader
        .by_ref()
        .map(|access| access.expect("sound"))
        .collect();
    let ours: Vec<_> = accesses
        .iter()
        .filter(|access| *reader.files().name(access.file) == *file.as_os_str().as_encoded_bytes())
        .filter(|access| access.operation.is_of_program())
        .collect();
    let reads: Vec<_> = ours
        .iter()
        .filter(|access| access.operation == ahead_trace::Operation::Read)
        .map(|access| (access.offset, access.length))
        .collect();
    let expected = [
        (0, 1000),
        (1000, 3096),
        (65_536, 10),
        (500_000, 100),
        (65_546, 15),
        (65_561, 20),
        (8192, 4096),
    ];
    assert_eq!(reads, expected);
    let first = ours.first().expect("records");
    assert_eq!(first.operation, ahead_trace::Operation::Open);
    assert_eq!(reader.files().size(first.file), Some(1 << 20));
    let processes: std::collections::BTreeSet<_> =
        ours.iter().map(|access| access.process).collect();
    assert_eq!(processes.len(), 2, "the child has its own number");
}

/// `x.foo` became a CSV without a word.
#[test]
fn a_recording_of_an_unknown_format_is_refused_as_a_conversion_to_it_is() {
    let place = Place::new();
    let trace = place.path().join("x.foo");
    let output = place.output(&["run", "--record", text(&trace), "--", "true"]);
    assert_refused(&output, 2, &["x.foo", ".parquet"]);
    let from = place.file("t.iolog", FIO);
    let output = place.output(&["convert", text(&from), text(&trace)]);
    assert_refused(&output, 2, &["x.foo", "--to"]);
    assert!(!trace.exists());
}

#[test]
fn a_recording_that_cannot_be_written_is_reported_before_the_command_starts() {
    let place = Place::new();
    let mark = place.path().join("mark");
    let output = place.output(&[
        "run",
        "--record",
        "/no/folder/t",
        "--",
        "touch",
        text(&mark),
    ]);
    assert_refused(&output, 1, &["/no/folder/t", "--record"]);
    assert!(!mark.exists());
}
