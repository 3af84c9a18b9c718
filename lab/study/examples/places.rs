//! Times of some policies on generated workloads, and nothing beside them: no floor, no ceiling. For who changes
//! the policy and wants to see two states of it on the same places.
//!
//! ```text
//! cargo run --release -p ahead-study --example places WORKLOADS DISKS MEMORY_MIB POLICIES > places.csv
//! ```
//!
//! `places 0..100 hdd,ssd 64,1024 adaptive,linux-6.18` prints a row for each seed, disk, memory and policy. In place
//! of seeds stand workloads by name: `places 'server:shuffle=2;sparse:percent=65' hdd 64 adaptive`.

use ahead_study::plan::Cell;
use ahead_study::typed::{self, Words};
use ahead_study::{parallel, sweep};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [workloads, disks, memory, policies] = words.as_slice() else {
        eprintln!("places FROM..TO|WORKLOAD;WORKLOAD… DISKS MEMORY_MIB POLICIES");
        std::process::exit(2);
    };
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let disks = typed::list(disks);
    let memory_mib: Vec<u64> = typed::list(memory).iter().map(|m| number(m)).collect();
    let plan = typed::plan(&Words {
        policies: typed::list(policies),
        workloads: match workloads.split_once("..") {
            Some((from, to)) => (number(from)..number(to)).map(typed::generated).collect(),
            None => workloads.split(';').map(str::to_owned).collect(),
        },
        disks,
        memory_mib,
        ..Words::default()
    })
    .expect("a plan");
    let asked = typed::list(policies);
    let cells: Vec<Cell> = plan
        .cells()
        .into_iter()
        .filter(|cell| asked.contains(&cell.policy))
        .collect();
    println!("disk,memory_mib,workload,policy,elapsed_ns,device_bytes,requests,mean_finish_ns");
    parallel::for_each(
        &cells,
        |cell| sweep::run_cell(&plan, cell).expect("a run"),
        |index, report| {
            let cell = &cells[index];
            println!(
                "{},{},{},{},{},{},{},{}",
                cell.disk,
                cell.memory_mib,
                cell.workload,
                cell.policy,
                report.elapsed_ns,
                report.device.bytes,
                report.device.requests,
                report.processes.iter().map(|p| p.finished_ns).sum::<u64>()
                    / report.processes.len().max(1) as u64
            );
            true
        },
    );
}
