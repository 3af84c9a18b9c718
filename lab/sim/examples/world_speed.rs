//! How many page accesses per second the simulator does with the clock.
//!
//! Best of five runs by the machine's own clock: run it alone.
//! `cargo run --release -p ahead-sim --example world_speed`
//!
//! For instructions per access, run one scan of so many MiB under `valgrind --tool=callgrind` with
//! two sizes, and divide the difference by that of their pages:
//! `world_speed linux-6.18 4 64` (policy, read size in KiB, file size in MiB).

use std::time::Instant as Clock;

use ahead_disk_model::DiskModel;
use ahead_sim::algorithm::Policy;
use ahead_sim::world::Machine;
use ahead_units::{PAGE_BYTES, PageCount};
use ahead_workload::Workload;

const RUNS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [policy, read_kib, file_mib] = arguments.as_slice() {
        let work = Workload::Sequential {
            file_mib: file_mib.parse().expect("MiB"),
            read_kib: read_kib.parse().expect("KiB"),
            passes: 1,
        };
        let machine = Machine::modern(DiskModel::ssd(), PageCount::new(1 << 20));
        let policy: Policy = policy.parse().expect("a known policy");
        let report = ahead_sim::simulate(&machine, &policy, &work.job(1)).expect("a run");
        println!("{} pages", report.bytes / PAGE_BYTES);
        return;
    }
    println!(
        "{:<46} {:>9} {:>9}",
        "with the clock, modern costs", "M/s", "ns"
    );
    let scan = |read_kib| Workload::Sequential {
        file_mib: 4096,
        read_kib,
        passes: 1,
    };
    let random = Workload::Random {
        file_mib: 1024,
        read_kib: 4,
        reads: 1 << 20,
    };
    let memory = 1 << 20;
    row("sequential 4 KiB, 6.18", "linux-6.18", &scan(4), memory);
    row("sequential 64 KiB, 6.18", "linux-6.18", &scan(64), memory);
    row("sequential 4 KiB, adaptive", "adaptive", &scan(4), memory);
    row("sequential 4 KiB, 2.6.18", "linux-2.6.18", &scan(4), memory);
    row(
        "sequential 4 KiB, memory of a tenth",
        "linux-6.18",
        &scan(4),
        memory / 10,
    );
    row("random 4 KiB, 6.18", "linux-6.18", &random, memory);
    row("sequential 4 KiB, oracle", "oracle", &scan(4), memory);
}

fn row(name: &str, policy: &str, workload: &Workload, memory_pages: u64) {
    let machine = Machine::modern(DiskModel::ssd(), PageCount::new(memory_pages));
    let policy: Policy = policy.parse().expect("a known policy");
    let mut best = f64::MAX;
    let mut pages = 0;
    for _ in 0..RUNS {
        let job = workload.job(1);
        let start = Clock::now();
        let report = ahead_sim::simulate(&machine, &policy, &job).expect("a run");
        best = best.min(start.elapsed().as_secs_f64());
        pages = report.bytes / PAGE_BYTES;
    }
    #[expect(clippy::cast_precision_loss, reason = "for display")]
    let pages = pages as f64;
    println!(
        "{name:<46} {:>9.1} {:>9.1}",
        pages / best / 1e6,
        best / pages * 1e9
    );
}
