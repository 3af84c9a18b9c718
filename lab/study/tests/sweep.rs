//! Sweeps: the same plans make the same bytes, however often they were interrupted.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ahead_study::journal::JournalError;
use ahead_study::output;
use ahead_study::plan::{Plan, PlanError};
use ahead_study::results::{contests, groups};
use ahead_study::sweep::{self, CellOutcome, SweepError};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;

const PLAN: &str = "\
name = \"small\"
about = \"Small.\"
disks = [\"ssd\"]
memory-mib = [8]
policies = [\"adaptive\", \"linux-4.19\", \"ara-june:ra_kb=512,ratio=40\"]

[workload.random]
kind = \"random\"
file-mib = 16
read-kib = 4
reads = 100

[workload.scan]
kind = \"sequential\"
file-mib = 4
read-kib = 64
";
const CELLS: usize = 12;

fn plan(text: &str) -> Plan {
    Plan::from_toml(text, Path::new(""), "a plan").expect("a plan")
}

/// Runs until `runs` cells are finished, or to the end.
fn run(plan: &Plan, journal: Option<&Path>, runs: usize) -> Result<Vec<CellOutcome>, SweepError> {
    let stop = AtomicBool::new(false);
    let mut finished = 0;
    sweep::run(std::slice::from_ref(plan), journal, &stop, &mut |_| {
        finished += 1;
        stop.store(finished >= runs, Ordering::Relaxed);
    })
}

fn bytes(outcomes: &[CellOutcome]) -> Vec<u8> {
    let groups = groups(outcomes);
    let mut bytes = output::csv(&groups).into_bytes();
    bytes.extend(output::json(&groups).into_bytes());
    bytes.extend(output::parquet::parquet(&groups).expect("a table"));
    let chart = output::picture::of_groups(&groups);
    bytes.extend(chart.to_svg().expect("a picture").into_bytes());
    bytes
}

#[test]
fn the_same_plan_makes_the_same_bytes_and_another_seed_does_not() {
    let once = run(&plan(PLAN), None, usize::MAX).expect("a sweep");
    let again = run(&plan(PLAN), None, usize::MAX).expect("a sweep");
    assert_eq!(once.len(), CELLS);
    assert!(bytes(&once) == bytes(&again));
    let other = plan(&format!("seed = 2\n{PLAN}"));
    let other = run(&other, None, usize::MAX).expect("a sweep");
    assert!(bytes(&once) != bytes(&other));
}

#[test]
fn an_interrupted_sweep_goes_on_where_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = folder.path().join("journal");
    let plan = plan(PLAN);
    let first = run(&plan, Some(&journal), 3).expect_err("interrupted");
    let SweepError::Interrupted { finished, .. } = first else {
        panic!("{first}");
    };
    assert!((3..CELLS).contains(&finished), "{finished}");
    // As a power failure would leave it.
    let mut text = fs::read_to_string(&journal).expect("a journal");
    assert_eq!(text.lines().count(), 1 + finished);
    text.truncate(text.len() - 10);
    fs::write(&journal, text).expect("a journal");
    let mut fresh = 0;
    let all = sweep::run(
        std::slice::from_ref(&plan),
        Some(&journal),
        &AtomicBool::new(false),
        &mut |_| fresh += 1,
    );
    assert_eq!(fresh, CELLS - finished + 1);
    let whole = run(&plan, None, usize::MAX).expect("a sweep");
    assert!(bytes(&all.expect("a sweep")) == bytes(&whole));
    // Nothing is left to do.
    let last = run(&plan, Some(&journal), 0).expect("a sweep");
    assert!(bytes(&last) == bytes(&whole));
}

#[test]
fn the_journal_of_another_plan_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = folder.path().join("journal");
    let first = run(&plan(PLAN), Some(&journal), 1);
    assert!(matches!(first, Err(SweepError::Interrupted { .. })));
    let before = fs::read(&journal).expect("a journal");
    let changed = plan(&PLAN.replace("file-mib = 4", "file-mib = 5"));
    let refused = run(&changed, Some(&journal), 1);
    let is_other = |error| matches!(error, SweepError::Journal(JournalError::OtherPlans { .. }));
    assert!(refused.is_err_and(is_other));
    assert_eq!(fs::read(&journal).expect("a journal"), before);
}

#[test]
fn a_file_that_is_no_journal_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("note");
    for content in [&b"Dear all"[..], b"Dear all,\n", b"\xff\xfe\n"] {
        fs::write(&file, content).expect("a file");
        let refused = run(&plan(PLAN), Some(&file), 1);
        let is_none = |error| matches!(error, SweepError::Journal(JournalError::NoJournal { .. }));
        assert!(refused.is_err_and(is_none));
        assert_eq!(fs::read(&file).expect("a file"), content);
    }
}

#[test]
fn a_journal_that_somebody_writes_is_not_shared() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journal");
    let other = fs::File::create(&path).expect("a file");
    other.lock().expect("a lock");
    let refused = run(&plan(PLAN), Some(&path), 1);
    let is_in_use = |error| matches!(error, SweepError::Journal(JournalError::InUse { .. }));
    assert!(refused.is_err_and(is_in_use));
}

#[test]
fn two_plans_of_the_same_name_are_refused() {
    let plans = [plan(PLAN), plan(PLAN)];
    let swept = sweep::run(&plans, None, &AtomicBool::new(false), &mut |_| {});
    let is_same = |error| matches!(error, SweepError::Plan(PlanError::SameName(_)));
    assert!(swept.is_err_and(is_same));
}

#[test]
fn the_forms_of_a_result_agree_with_each_other() {
    let outcomes = run(&plan(PLAN), None, usize::MAX).expect("a sweep");
    let groups = groups(&outcomes);
    assert_eq!(groups.len(), 2);
    assert_eq!(contests(&groups)[0].matches.len(), 2);
    let csv = output::csv(&groups);
    assert_eq!(csv.lines().count(), 1 + CELLS);
    assert!(csv.contains(",\"ara-june:ra_kb=512,ratio=40\","), "{csv}");
    let json: serde_json::Value = serde_json::from_str(&output::json(&groups)).expect("JSON");
    let mut file = tempfile::tempfile().expect("a file");
    let table = output::parquet::parquet(&groups).expect("a table");
    file.write_all(&table).expect("a writable file");
    let table = SerializedFileReader::new(file).expect("Parquet");
    let rows: Vec<_> = table.get_row_iter(None).expect("rows").collect();
    assert_eq!(rows.len(), CELLS);
    for (number, row) in rows.into_iter().enumerate() {
        let row = row.expect("a row");
        let run = &json["runs"][number];
        assert_eq!(
            Some(row.get_string(4).expect("text").as_str()),
            run["policy"].as_str()
        );
        let elapsed_ns = row.get_ulong(5).expect("a number");
        assert_eq!(Some(elapsed_ns), run["report"]["elapsed_ns"].as_u64());
        assert_eq!(elapsed_ns, outcomes[number].report.elapsed_ns);
    }
}

#[test]
fn a_run_in_detail_is_the_run_with_a_timeline() {
    let plan = plan(PLAN);
    for cell in plan.cells() {
        let plain = sweep::run_cell(&plan, &cell).expect("a run");
        let mut detailed = sweep::run_cell_in_detail(&plan, &cell, 10).expect("a run");
        let timeline = detailed.timeline.take().expect("a timeline");
        assert_eq!(detailed, plain);
        assert!((1..=11).contains(&timeline.idle_ns.len()));
        let sum = |row: &[u64]| row.iter().sum::<u64>();
        assert_eq!(sum(&timeline.user_ns), plain.processors.user_ns);
        assert_eq!(sum(&timeline.system_ns), plain.processors.system_ns);
        let counted = plain.latency_histogram.iter().map(|(_, count)| count);
        assert_eq!(counted.sum::<u64>(), plain.latency.count);
    }
}

/// Every key of the simulated machine changes what comes out, and reads as the guide has it.
#[test]
fn what_a_plan_says_of_the_machine_is_what_runs() {
    const SCAN: &str = "\
        disks = [\"hdd\"]\nmemory-mib = [8]\npolicies = []\nname = \"keys\"\nabout = \"Keys.\"\n";
    const WORK: &str = "\
        [workload.scans]\nkind = \"readers\"\nfile-mib = 12\nreaders = 3\nread-kib = 16\n\
        [workload.lookups]\nkind = \"random\"\nfile-mib = 12\nread-kib = 4\nreads = 6000\n";
    let time = |keys: &str| {
        let plan = plan(&format!("{SCAN}{keys}\n{WORK}"));
        let cells = plan.cells();
        let kernel = cells.iter().filter(|cell| cell.policy == "linux-6.18");
        let reports = kernel.map(|cell| sweep::run_cell_in_detail(&plan, cell, 1));
        let times = reports.map(|report| report.expect("simulated").elapsed_ns);
        times.sum::<u64>()
    };
    let as_is = time("");
    for keys in [
        "machine = \"ideal\"",
        "queue = \"linux-2.6.18\"",
        "reclaim = \"watermarks\"",
        "reclaim = \"generations\"",
        "reclaim = \"group\"",
        "costs = \"pentium-iii\"",
        "layout = { extent-pages = 16, gap-pages = 640 }",
    ] {
        assert_ne!(time(keys), as_is, "{keys}");
    }
    let same = [
        "machine = \"modern\"",
        "queue = \"linux-6.18\"",
        "reclaim = \"two-lists\"",
    ];
    for keys in same {
        assert_eq!(time(keys), as_is, "{keys}");
    }
}

#[test]
fn a_key_that_is_not_known_is_refused_with_what_is() {
    let text = format!("reclaim = \"lru\"\n{PLAN}");
    let error = Plan::from_toml(&text, Path::new(""), "a plan").expect_err("no such reclaim");
    let said = error.to_string();
    assert!(said.starts_with("a plan, line 1"), "{said}");
    assert!(
        said.contains("two-lists") && said.contains("generations"),
        "{said}"
    );
    let text = format!("layout = {{ extent-pages = 0, gap-pages = 1 }}\n{PLAN}");
    let error = Plan::from_toml(&text, Path::new(""), "a plan").expect_err("pieces of nothing");
    assert!(error.to_string().contains("extent-pages from 1"), "{error}");
}
