//! A recorded trace becomes a job that reads the same bytes.

use ahead_disk_model::DiskModel;
use ahead_sim::algorithm::Policy;
use ahead_sim::world::Machine;
use ahead_trace::{Access, FileNames, InMemory, Operation};
use ahead_units::PageCount;
use ahead_workload::trace::{Timing, job};

const MS: u64 = 1_000_000;

fn trace() -> InMemory {
    let mut files = FileNames::default();
    let table = files.named(b"/data/table").unwrap();
    let index = files.named(b"/data/index").unwrap();
    files.set_size(table, 1 << 20);
    let at = |at_ns, thread, access: Access| Access {
        at_ns,
        process: 7,
        thread,
        ..access
    };
    let fault = Access {
        operation: Operation::Fault,
        ..Access::read(index, 40_960, 4096)
    };
    let write = Access {
        operation: Operation::Write,
        ..Access::read(table, 0, 999_999)
    };
    let accesses = vec![
        at(1_000 * MS, 1, Access::read(table, 0, 65_536)),
        at(1_000 * MS, 2, Access::read(index, 8192, 4096)),
        at(1_020 * MS, 2, write),
        at(1_050 * MS, 2, fault),
        at(1_100 * MS, 1, Access::read(table, 65_536, 65_536)),
    ];
    InMemory::new(files, accesses)
}

#[test]
fn a_trace_reads_what_was_read_with_its_files_and_threads() {
    let (job, failure) = job(trace(), Timing::Fast);
    assert!(failure.is_none());
    let sizes: Vec<_> = job.files.iter().map(|file| file.bytes).collect();
    assert_eq!(sizes, [1 << 20, 45_056]);
    assert_eq!(job.processes.len(), 1);
    assert_eq!(job.processes[0].groups.len(), 2);
    let machine = Machine::ideal(DiskModel::ssd(), PageCount::new(1000));
    let policy: Policy = "linux-6.18".parse().unwrap();
    let report = ahead_sim::simulate(&machine, &policy, &job).unwrap();
    assert_eq!((report.reads, report.faults), (3, 1));
    assert_eq!(report.bytes, 2 * 65_536 + 2 * 4096);
    assert!(report.elapsed_ns < 10 * MS);
}

#[test]
fn a_trace_with_its_timing_takes_as_long_as_it_took() {
    let (job, _) = job(trace(), Timing::AsRecorded);
    let machine = Machine::ideal(DiskModel::ssd(), PageCount::new(1000));
    let policy: Policy = "none".parse().unwrap();
    let report = ahead_sim::simulate(&machine, &policy, &job).unwrap();
    assert!((100 * MS..110 * MS).contains(&report.elapsed_ns));
}
