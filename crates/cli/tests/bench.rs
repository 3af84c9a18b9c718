//! `ahead bench` from outside: what can be asked for, and bad input. Measuring is tested in
//! `bench/harness`.

mod support;

use serde_json::Value;
use support::{Place, assert_refused, library, stdout};

#[test]
fn the_list_names_every_pattern_with_its_meaning() {
    let place = Place::new();
    let text = stdout(&place.output(&["bench", "list"]));
    let value: Value =
        serde_json::from_str(&stdout(&place.output(&["bench", "list", "--json"]))).expect("JSON");
    let patterns = value["patterns"].as_array().expect("a list");
    assert!(patterns.len() > 20);
    for pattern in patterns {
        let name = pattern["name"].as_str().expect("a name");
        assert!(text.contains(name), "{name}");
    }
}

#[test]
fn an_unknown_pattern_is_answered_with_the_known_ones() {
    let place = Place::new();
    let output = place.output(&["bench", "run", "--disk", "hdd", "--pattern", "seq4k,sqe64k"]);
    assert_refused(&output, 2, &["sqe64k", "seq64k", "rand4k"]);
}

#[test]
fn an_unknown_arm_is_answered_with_the_known_ones() {
    let place = Place::new();
    let output = place.output(&["bench", "run", "--disk", "hdd", "--arm", "stock:many"]);
    assert_refused(&output, 2, &["stock:many", "ceiling"]);
}

#[test]
fn the_arm_run_without_a_library_is_refused_before_anything_is_measured() {
    let place = Place::new();
    let output = place
        .ahead(&["bench", "run", "--disk", "/tmp", "--arm", "run"])
        .env("AHEAD_PRELOAD", "/no/such.so")
        .output()
        .expect("ahead starts");
    assert_refused(&output, 1, &["`run`", "/no/such.so"]);
}

#[test]
fn the_arm_daemon_static_without_a_static_program_is_refused_before_anything_is_measured() {
    let place = Place::new();
    let output = place
        .ahead(&["bench", "run", "--disk", "/tmp", "--arm", "daemon:static"])
        .env("AHEAD_STATIC", "/no/such/program")
        .output()
        .expect("ahead starts");
    assert_refused(
        &output,
        1,
        &["`daemon:static`", "/no/such/program", "make static"],
    );
}

#[test]
fn a_result_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let place = Place::new();
    let arguments = [
        "bench",
        "run",
        "--disk",
        "/tmp",
        "--arm",
        "stock:128",
        "--json",
        "/no/such/folder/x",
    ];
    assert_refused(&place.output(&arguments), 1, &["/no/such/folder/x"]);
}

#[test]
fn results_that_are_none_are_named() {
    let place = Place::new();
    let file = place.file("results.json", "{}");
    let file = file.to_str().expect("text");
    assert_refused(
        &place.output(&["bench", "report", file]),
        1,
        &[file, "--json"],
    );
    assert_refused(
        &place.output(&["bench", "report", "/no/such"]),
        1,
        &["/no/such"],
    );
}

#[test]
fn a_folder_that_is_on_no_block_device_is_refused() {
    let place = Place::new();
    let output = place.output(&["bench", "run", "--disk", "/dev/shm", "--arm", "stock:128"]);
    assert_refused(&output, 1, &["/dev/shm", "block device"]);
}

const PLAN: &str = "\
name = \"small\"
about = \"Small.\"
disks = [\"ssd\", \"hdd\"]
memory-mib = [64]

[workload.jobs]
kind = \"readers\"
file-mib = 4
readers = 8
read-kib = 64
";

#[test]
fn a_plan_with_a_trace_is_refused_in_one_line() {
    let place = Place::new();
    place.file("recorded.csv", "");
    let text = format!("{PLAN}\n[trace.recorded]\npath = \"recorded.csv\"\n");
    let plan = place.file("small.toml", text);
    let plan = plan.to_str().expect("text");
    let output = place.output(&["bench", "run", "--disk", "ssd", "--plan", plan]);
    assert_refused(&output, 2, &["small.toml", "recorded", "ahead replay"]);
}

#[test]
fn a_plan_of_two_disks_is_asked_for_one() {
    let place = Place::new();
    let plan = place.file("small.toml", PLAN);
    let plan = plan.to_str().expect("text");
    let output = place.output(&["bench", "run", "--plan", plan]);
    assert_refused(&output, 2, &["small.toml", "--disk", "ssd, hdd"]);
}

#[test]
fn a_run_without_a_disk_and_a_plan_is_wrong_usage() {
    let place = Place::new();
    assert_refused(&place.output(&["bench", "run"]), 2, &["--disk"]);
}

#[test]
fn an_unknown_row_of_the_overhead_is_answered_with_the_known_ones() {
    let place = Place::new();
    let output = place.output(&["bench", "overhead", "--row", "pread,bsah"]);
    assert_refused(&output, 2, &["bsah", "bash-true", "pread-steady"]);
}

#[test]
fn rows_of_the_overhead_have_every_run_of_every_arm_and_say_what_was_left_out() {
    let place = Place::new();
    let output = place
        .ahead(&["bench", "overhead", "--json", "--quick", "--on"])
        .arg(place.path())
        .args(["--row", "fread,files-800", "--against"])
        .arg(library())
        .output()
        .expect("ahead starts");
    let value: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let rows = value["rows"].as_array().expect("rows");
    assert_eq!(rows[0]["name"], "fread");
    for arm in ["plain", "with", "against"] {
        let runs = rows[0]["measured"][arm].as_array().expect("runs");
        assert_eq!(runs.len(), 3, "{arm}");
    }
    let reason = rows[1]["left_out"].as_str().expect("a reason");
    assert!(reason.contains("--disk hdd"), "{reason}");
    let left = std::fs::read_dir(place.path()).expect("our folder");
    let left: Vec<_> = left.flatten().map(|entry| entry.file_name()).collect();
    assert!(
        !left
            .iter()
            .any(|name| name.to_string_lossy().contains("overhead")),
        "{left:?}"
    );
}
