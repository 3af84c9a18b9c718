//! `ahead simulate` and `ahead compare` from outside: results, files, interruptions, bad input.

mod support;

use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use serde_json::Value;
use support::{Place, assert_refused, stderr, stdout};

const PLAN: &str = "\
name = \"small\"
about = \"Small.\"
disks = [\"ssd\"]
memory-mib = [8]
policies = [\"adaptive\", \"linux-4.19\"]

[workload.scan]
kind = \"sequential\"
file-mib = 4
read-kib = 64
";
const SCAN: &str = "sequential:file-mib=4,read-kib=64";

fn json(output: &std::process::Output) -> Value {
    serde_json::from_str(&stdout(output)).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn a_plan_becomes_a_table_with_floor_kernel_and_ceiling() {
    let place = Place::new();
    let plan = place.file("small.toml", PLAN);
    let text = stdout(&place.output(&["compare", plan.to_str().expect("text")]));
    for part in [
        "none",
        "linux-6.18",
        "linux-4.19",
        "oracle",
        "best kernel",
        "adaptive: against the best kernel algorithm of each of 1 places",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// Each size is the running kernel's algorithm with it, and what a read waits and memory holds stand beside.
#[test]
fn sizes_are_compared_without_a_plan() {
    let words = [
        "compare",
        "--workloads",
        SCAN,
        "--disks",
        "hdd",
        "--memory",
        "16M",
    ];
    let text = stdout(&Place::new().output(&[&words[..], &["--sizes", "64K,2M"]].concat()));
    for part in [
        "linux-6.18:ra_kb=64 ",
        "linux-6.18:ra_kb=2048",
        "99 of 100",
        "longest",
        "held",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(
        !text.contains("ara-june"),
        "only what was asked for: {text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
}

/// Such a trace shows what read-ahead made of reads: to simulate it as reads is said aloud.
#[test]
fn a_trace_from_below_the_page_cache_is_warned_about() {
    let place = Place::new();
    let line = "128166372003061629,hm,1,Read,383496192,32768,413\n";
    let trace = place.file("hm_1.csv", line);
    let words = [
        "compare",
        "--workloads",
        trace.to_str().expect("text"),
        "--disks",
        "ssd",
    ];
    let output = place.output(&words);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("below the page cache (msr)"),
        "{}",
        stderr(&output)
    );
}

/// A backward scan: what was asked for, why, and what the first reads waited for.
#[test]
fn a_run_is_explained_decision_by_decision() {
    let words = ["simulate", "--workload", "backward:file-mib=4,read-kib=64"];
    let more = ["--disk", "ssd", "--memory", "16M", "--explain"];
    let output = Place::new().output(&[&words[..], &more].concat());
    let text = stdout(&output);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("ahead: [0] file 0"));
    let first = lines.next().expect("its first read waits");
    assert!(first.starts_with("  +0.000"), "{first}");
    assert!(first.contains("for 65536 bytes at 4128768"), "{first}");
    let asked: Vec<_> = lines.filter(|line| line.contains("(backward: ")).collect();
    assert!(asked[0].contains(" KiB at "), "{asked:?}");
    let json = Place::new().output(&[&words[..], &more, &["--json"]].concat());
    assert_refused(&json, 2, &["--json", "--explain"]);
}

#[test]
fn the_same_words_make_the_same_files() {
    let place = Place::new();
    let mut made = Vec::new();
    for turn in ["a", "b"] {
        let file = |ending| {
            let path = place.path().join(format!("{turn}.{ending}"));
            path.to_str().expect("text").to_owned()
        };
        let files = ["parquet", "svg", "png"].map(file);
        let output = place.output(&[
            "compare",
            "--workloads",
            "sequential:file-mib=4,read-kib=64,random:reads=50",
            "--disks",
            "ssd",
            "--memory",
            "8M,16M",
            "--policies",
            "adaptive:ratio=50,hit_rate=1,amp",
            "--csv",
            "--parquet",
            &files[0],
            "--svg",
            &files[1],
            "--png",
            &files[2],
        ]);
        assert!(output.status.success(), "{output:?}");
        let mut bytes = vec![output.stdout];
        bytes.extend(files.iter().map(|path| fs::read(path).expect("a file")));
        made.push(bytes);
    }
    assert!(made[0] == made[1]);
    let csv = String::from_utf8_lossy(&made[0][0]);
    // Two memory sizes, two workloads, and five policies: two typed, and three always.
    assert_eq!(csv.lines().count(), 1 + 2 * 2 * 5, "{csv}");
    assert!(made[0][1].starts_with(b"PAR1") && made[0][3].starts_with(b"\x89PNG"));
}

#[test]
fn words_replace_what_a_plan_says() {
    let place = Place::new();
    let plan = place.file("small.toml", PLAN);
    let output = place.output(&[
        "compare",
        plan.to_str().expect("text"),
        "--json",
        "--disks",
        "nvme",
        "--memory",
        "12M",
        "--policies",
        "leap",
        "--workloads",
        "scan",
    ]);
    let value = json(&output);
    let runs = value["runs"].as_array().expect("runs");
    let policies: Vec<_> = runs
        .iter()
        .filter_map(|run| run["policy"].as_str())
        .collect();
    assert_eq!(policies, ["none", "linux-6.18", "leap", "oracle"]);
    assert!(
        runs.iter()
            .all(|run| run["disk"] == "nvme" && run["memory_mib"] == 12)
    );
    assert_eq!(value["contests"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_trace_is_compared_like_a_workload() {
    let place = Place::new();
    let lines: String = (0..64)
        .map(|number| {
            format!(
                "{},host,0,Read,{},65536,0\n",
                1_000_000 + number,
                number * 65536
            )
        })
        .collect();
    let trace = place.file("recorded.csv", lines);
    let trace = trace.to_str().expect("text");
    let output = place.output(&[
        "compare",
        "--workloads",
        trace,
        "--from",
        "msr",
        "--disks",
        "ssd",
        "--memory",
        "8M",
        "--json",
    ]);
    let value = json(&output);
    assert_eq!(value["runs"][0]["workload"], trace);
    assert_eq!(value["runs"][0]["report"]["bytes"], 64 * 65536);
}

#[test]
fn the_account_of_one_run_is_whole_and_the_same_each_time() {
    let place = Place::new();
    let words = [
        "simulate",
        "--workload",
        SCAN,
        "--disk",
        "ssd",
        "--memory",
        "8M",
    ];
    let text = stdout(&place.output(&words));
    for part in [
        "adaptive: sequential:file-mib=4,read-kib=64 on ssd, 8 MiB",
        "oracle",
        "Windows by class",
        "how long they took",
        "Processors over time",
        "4 MiB",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(text, stdout(&place.output(&words)));
    let svg = place.path().join("run.svg");
    let picture = ["--json", "--svg", svg.to_str().expect("text")];
    let value = json(&place.output(&[&words[..], &picture[..]].concat()));
    assert_eq!(value["report"]["bytes"], 4 << 20);
    assert_eq!(value["cell"]["policy"], "adaptive");
    let steps = value["report"]["latency_histogram"]
        .as_array()
        .expect("steps");
    let counted: u64 = steps.iter().filter_map(|step| step[1].as_u64()).sum();
    assert_eq!(Some(counted), value["report"]["reads"].as_u64());
    assert!(fs::read_to_string(svg).expect("a picture").contains("idle"));
}

#[test]
fn a_plan_with_a_choice_left_is_answered_with_the_choices() {
    let place = Place::new();
    let plan = place.file("small.toml", PLAN.replace("[8]", "[8, 16]"));
    let plan = plan.to_str().expect("text");
    assert_refused(
        &place.output(&["simulate", plan]),
        2,
        &["--memory", "8M, 16M"],
    );
    let output = place.output(&["simulate", plan, "--memory", "16M", "--policy", "none"]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn everything_that_can_be_typed_is_listed() {
    let text = stdout(&Place::new().output(&["simulate", "--list"]));
    for part in [
        "linux-2.2",
        "hit_rate=1",
        "small-files",
        "percent=50",
        "x25m",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// Ctrl-C after the first runs; the same command then does the rest, and prints what a run without
/// an interruption prints.
#[test]
fn workloads_by_seed_are_done_on_disks_by_chance_and_counted_by_kind() {
    let place = Place::new();
    let words = "compare --odd-reads 3..5 --disks-by-chance 4 --memory 64M --policies adaptive";
    let output = place.output(&words.split(' ').collect::<Vec<_>>());
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(
        text.contains("disk, 64 MiB") || text.contains("volume, 64 MiB"),
        "{text}"
    );
    let places: Vec<_> = text
        .lines()
        .filter(|line| line.contains(" by-chance:seed="))
        .collect();
    assert_eq!(places.len(), 8, "{text}");
    assert!(
        places
            .iter()
            .any(|line| line.contains(" by-chance:seed=4003 64 MiB odd-reads:seed=4"))
    );
    let listed = stdout(&place.output(&["simulate", "--list"]));
    assert!(listed.contains("by-chance:seed=N") && listed.contains("volume:FIGURE=N"));
}

#[test]
fn an_interrupted_sweep_leaves_a_journal_and_goes_on_from_it() {
    let place = Place::new();
    let plan = PLAN.replace("[8]", "[8, 9, 10, 11, 12, 13, 14, 15, 16]");
    let plan = place.file("small.toml", plan);
    let journal = place.path().join("journal");
    let words = [
        "compare",
        plan.to_str().expect("text"),
        "--csv",
        "--journal",
    ];
    let words = [&words[..], &[journal.to_str().expect("text")]].concat();
    let mut child = place
        .ahead(&words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("ahead starts");
    let finished = || {
        let text = fs::read_to_string(&journal).unwrap_or_default();
        text.lines().count().saturating_sub(1)
    };
    while finished() < 2 && child.try_wait().expect("a child").is_none() {
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_child(&child);
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.signal(), None, "{output:?}");
    // On a fast machine the sweep may have been over by then.
    if !output.status.success() {
        assert_refused(
            &output,
            1,
            &["interrupted with", "of 45", "the same command"],
        );
        assert!(finished() >= 2);
        assert!(output.stdout.is_empty());
    }
    let resumed = place.output(&words);
    let whole = place.output(&words[..3]);
    assert!(resumed.status.success() && resumed.stdout == whole.stdout);
    // Another sweep may not have it.
    let other = [&words[..], &["--seed", "2"]].concat();
    assert_refused(&place.output(&other), 2, &["other plans"]);
    let mut text = String::new();
    let read = fs::File::open(&journal).and_then(|mut file| file.read_to_string(&mut text));
    assert!(read.is_ok() && text.lines().count() == 46, "left as it was");
}

#[test]
fn a_mistake_is_one_line_and_nothing_runs() {
    let place = Place::new();
    let plan = place.file("wrong.toml", PLAN.replace("linux-4.19", "linux-4.18"));
    let plan = plan.to_str().expect("text");
    let cases: [(&[&str], i32, &[&str]); 13] = [
        (&["compare"], 2, &["PLAN", "--workloads"]),
        (&["simulate"], 2, &["--workload"]),
        (&["compare", plan], 2, &[plan, "line 5", "linux-4.18"]),
        (&["compare", "/no/such.toml"], 2, &["/no/such.toml"]),
        (
            &["compare", "--workloads", "scna"],
            2,
            &["scna", "sequential"],
        ),
        (
            &["compare", "--workloads", "random:read_kb=4"],
            2,
            &["read_kb=4", "read-kib"],
        ),
        (
            &["compare", "--workloads", SCAN, "--disks", "hd"],
            2,
            &["hd", "x25m"],
        ),
        (
            &["compare", "--workloads", SCAN, "--memory", "1K"],
            2,
            &["1K", "MiB"],
        ),
        (
            &["compare", "--workloads", SCAN, "--sizes", "1"],
            2,
            &["--sizes", "'1'", "512K"],
        ),
        (
            &["compare", "--workloads", SCAN, "--cpus", "0"],
            2,
            &["cpus"],
        ),
        (
            &["simulate", "--workload", SCAN, "--policy", "best"],
            2,
            &["best", "leap"],
        ),
        (
            &["simulate", "--workload", SCAN, "--svg", "/no/such/x.svg"],
            1,
            &["/no/such/x.svg"],
        ),
        (
            &["compare", "--workloads", SCAN, "--journal", "/no/such/j"],
            1,
            &["/no/such/j"],
        ),
    ];
    for (words, code, parts) in cases {
        let output = place.output(words);
        assert_refused(&output, code, parts);
        assert!(output.stdout.is_empty(), "{}", stderr(&output));
    }
}

/// The file was named twice, and of an empty one it said that what comes before is good.
#[test]
fn a_trace_that_cannot_be_read_is_named_once() {
    let place = Place::new();
    for (text, said) in [("", "the trace is empty"), ("nonsense\n", "not recognised")] {
        let trace = place.file("trace", text);
        let trace = trace.to_str().expect("text");
        let output = place.output(&["simulate", "--workload", trace]);
        assert_refused(&output, 1, &[trace, said]);
        let line = stderr(&output);
        assert_eq!(line.matches(trace).count(), 1, "{line}");
        assert!(!line.contains("is good"), "{line}");
    }
}
