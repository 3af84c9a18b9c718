//! A prediction from disk to verdict, on a small emulated disk. Needs root and /dev/fuse, and
//! changes settings of the whole machine for a moment, like the other bench runs.

use ahead_harness::predict::{PredictPlan, predict};
use ahead_harness::results::Limits;
use ahead_harness::{BenchPlan, DiskChoice, ReaderCommand};

/// The example of this crate, which cargo builds along with the tests.
fn reader() -> ReaderCommand {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("examples/bench");
    assert!(
        program.exists(),
        "build it first: cargo build -p ahead-harness --examples"
    );
    ReaderCommand {
        program,
        arguments: vec!["--reader".into()],
    }
}

fn plan(patterns: &str, state: &std::path::Path) -> PredictPlan {
    let mut bench = BenchPlan::new(DiskChoice::Emulated(String::new()), reader());
    bench.scenarios = ahead_workload::scenario::parse_list(patterns).unwrap();
    bench.repeat = 1;
    bench.limits = Limits {
        bytes: 1 << 30,
        milliseconds: 300,
    };
    bench.disk_bytes = Some(1 << 30);
    bench.state_folder = state.to_owned();
    PredictPlan {
        bench,
        disks: vec!["hdd".parse().unwrap()],
        windows_kib: vec![128],
    }
}

/// How fast a busy machine is cannot be asserted; that both sides ask the disk in the same way can.
#[test]
fn the_running_kernel_and_the_simulator_ask_for_the_same_requests() {
    let state = tempfile::tempdir().unwrap();
    let predictions = predict(&plan("seq64k,back64k", state.path()), &mut |_| {}).unwrap();
    assert_eq!(predictions.cells.len(), 2);
    for cell in &predictions.cells {
        assert_eq!(cell.measured.len(), 1);
        let (measured, simulated) = (cell.measured_request_kib(), cell.simulated_request_kib());
        assert!(
            (measured / simulated - 1.0).abs() < 0.1,
            "{}: {measured} KiB measured, {simulated} KiB simulated",
            cell.scenario
        );
    }
    let costs = predictions.disks[0].costs;
    assert!(costs.way_ns > 0 && costs.page_ns > 0, "{costs:?}");
    let left = ahead_disk_emulator::list().unwrap();
    let own = format!("-{}", std::process::id());
    assert!(!left.iter().any(|disk| disk.name.ends_with(&own)));
}

#[test]
fn what_runs_from_memory_is_refused_before_a_disk_is_made() {
    let state = tempfile::tempdir().unwrap();
    for pattern in ["cached:seq4k", "small"] {
        let error = predict(&plan(pattern, state.path()), &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("cannot be predicted"), "{error}");
    }
}
