//! Whole bench runs on an emulated disk, through the example program. They need root and
//! /dev/fuse, and take a minute of machine-wide settings, so they run one after another.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;

use ahead_harness::Results;
use ahead_harness::arm::Arm;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The example, which cargo builds along with the tests.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("examples/bench");
    assert!(
        program.exists(),
        "build it first: cargo build -p ahead-harness --examples"
    );
    program
}

fn bench(arguments: &[&str]) -> Output {
    Command::new(program())
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

const SMALL: [&str; 7] = [
    "run",
    "--disk",
    "ssd",
    "--size-gib",
    "1",
    "--seconds",
    "0.3",
];

fn bench_disks() -> Vec<String> {
    let disks = ahead_disk_emulator::list().unwrap();
    disks
        .into_iter()
        .map(|disk| disk.name)
        .filter(|name| name.starts_with("bench-ssd-"))
        .collect()
}

/// The story of a newcomer: one command, every arm, a file of results, and a clean machine.
#[test]
fn a_run_on_an_emulated_disk_leaves_results_and_nothing_else() {
    let _alone = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("results.json");
    let svg = folder.path().join("results.svg");
    let output = Command::new(program())
        .args(SMALL)
        .args([
            "--pattern",
            "seq64k,sep8@64m,cached:rand4k",
            "--repeat",
            "2",
        ])
        .args([
            "--arm",
            "off,stock:128,static-best,ceiling",
            "--sweep",
            "128,1024",
        ])
        .arg("--json")
        .arg(&json)
        .arg("--svg")
        .arg(&svg)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let results: Results = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    // off, 128, 1024 and the ceiling, which the cached pattern has none of; twice.
    assert_eq!(results.runs.len(), 2 * (4 + 4 + 3));
    for run in &results.runs {
        assert!(run.useful_bytes > 0 && run.elapsed_ns > 0, "{run:?}");
        assert!(run.reread_bytes.is_some(), "{run:?}");
        let share = run.amplification();
        if !run.scenario.cached && (run.arm == Arm::Ceiling || run.arm == Arm::Off) {
            assert!((0.99..1.2).contains(&share), "{run:?}");
        }
    }
    // Somebody else may empty the page cache of the machine in the middle of one of these runs, but
    // hardly of all.
    let mut cached = results.runs.iter().filter(|run| run.scenario.cached);
    assert!(cached.any(|run| run.device_bytes == 0));
    assert!(fs::read_to_string(&svg).unwrap().starts_with("<svg"));
    assert_eq!(bench_disks(), Vec::<String>::new());
}

/// The simulator's plans are the bench's too: the same workload, on real files of its sizes.
#[test]
fn a_plan_is_measured_on_files_of_its_own_in_its_memory() {
    let _alone = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("small.toml");
    let text = "name = \"small\"\nabout = \"Small.\"\ndisks = [\"ssd\"]\nmemory-mib = [64]\n\
                [workload.tree]\nkind = \"small-files\"\nfiles = 20\nfile-kib = 100\nread-kib = 32\n\
                [workload.jobs]\nkind = \"readers\"\nfile-mib = 2\nreaders = 3\nread-kib = 32\n\
                [workload.two]\nkind = \"separate\"\nfile-mib = 3\nstreams = 2\nread-kib = 32\n";
    fs::write(&plan, text).unwrap();
    let json = folder.path().join("results.json");
    let output = Command::new(program())
        .args(["run", "--disk", "ssd", "--size-mib", "256"])
        .args(["--arm", "stock:128,ceiling", "--seconds", "60", "--plan"])
        .arg(&plan)
        .arg("--json")
        .arg(&json)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let results: Results = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let read: Vec<_> = results
        .runs
        .iter()
        .map(|run| (run.scenario.to_string(), run.useful_bytes))
        .collect();
    // The jobs are three processes.
    let expected = [
        ("jobs", 6 << 20),
        ("tree", (20 * 100) << 10),
        ("two", 6 << 20),
    ];
    let of_both_arms = expected.iter().flat_map(|(name, bytes)| {
        let name = format!("small/{name}@64m");
        [(name.clone(), *bytes), (name, *bytes)]
    });
    assert_eq!(read, of_both_arms.collect::<Vec<_>>());
    assert_eq!(bench_disks(), Vec::<String>::new());
}

/// A bench that was killed cannot put anything back; the next one does.
#[test]
fn what_a_killed_run_left_behind_is_gone_after_the_next() {
    let _alone = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut killed = Command::new(program())
        .args([
            "run",
            "--disk",
            "ssd",
            "--size-gib",
            "1",
            "--seconds",
            "60",
            "--mib",
            "100000",
        ])
        .args(["--pattern", "cached:rand4k,loop", "--arm", "off"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // The first line says that the files are written; the runs begin then.
    let mut line = String::new();
    BufReader::new(killed.stderr.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(line.contains("test files written"), "{line}");
    killed.kill().unwrap();
    killed.wait().unwrap();
    let pid = killed.id().to_string();
    assert!(bench_disks().iter().any(|name| name.ends_with(&pid)));
    assert!(Path::new("/run/ahead/bench").join(&pid).exists());

    let output = Command::new(program())
        .args(SMALL)
        .args(["--pattern", "seq64k", "--arm", "off"])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(bench_disks(), Vec::<String>::new());
    assert!(!Path::new("/run/ahead/bench").join(&pid).exists());
}

#[test]
fn bad_input_is_one_clear_line() {
    let known = "seq4k";
    let cases: [(&[&str], &str); 4] = [
        (&["run", "--disk", "ssd", "--pattern", "seq5k"], known),
        (&["run", "--disk", "ssd", "--arm", "fastest"], "static-best"),
        (
            &["run", "--disk", "/does/not/exist", "--arm", "off"],
            "/does/not/exist",
        ),
        (
            &["run", "--disk", "ssd", "--arm", "run"],
            "libahead_preload.so",
        ),
    ];
    for (arguments, expected) in cases {
        let output = bench(arguments);
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains(expected), "{text}");
    }
}
