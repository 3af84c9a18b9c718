//! What is written: when it reaches the disk, who waits for that, and what it keeps in memory.

use ahead_disk_model::{DiskModel, FixedModel};
use ahead_sim::algorithm::Policy;
use ahead_sim::report::WorldReport;
use ahead_sim::simulate;
use ahead_sim::world::{Costs, Machine, WriteBackSettings};
use ahead_units::PageCount;
use ahead_workload::{FileSpec, Job, Listed, Process, Step, Workload};

const MIB: u64 = 1 << 20;
const S: u64 = 1_000_000_000;

/// 64 MiB of memory, of which 6.4 may be dirty in the background and 12.8 at all; a disk of 100 MiB/s.
fn machine() -> Machine {
    let disk = DiskModel::Fixed(FixedModel {
        access_us: 0,
        bytes_per_s: 100 * MIB,
        contiguous_is_free: false,
    });
    Machine {
        costs: Costs::free(),
        write_back: WriteBackSettings::linux(),
        ..Machine::ideal(disk, PageCount::new(64 << 8))
    }
}

fn write(slot: u32, offset: u64, length: u64) -> Step {
    Step::Write {
        slot,
        offset,
        length,
    }
}

fn run(steps: Vec<Step>) -> WorldReport {
    let files = (0..2).map(|_| FileSpec::contiguous(64 * MIB)).collect();
    let job = Job {
        files,
        processes: vec![Process::new("writer", vec![0, 1], Listed::new(steps))],
        ..Job::default()
    };
    let policy = Policy::for_disk("none", &machine().disk).expect("known");
    simulate(&machine(), &policy, &job).expect("simulated")
}

#[test]
fn a_little_that_is_written_reaches_the_disk_when_it_has_been_dirty_for_thirty_seconds() {
    let written_after = |seconds| {
        let report = run(vec![write(0, 0, 4 * MIB), Step::Think { ns: seconds * S }]);
        (report.writes.bytes, report.writes.device_bytes)
    };
    assert_eq!(written_after(29), (4 * MIB, 0));
    assert_eq!(written_after(36), (4 * MIB, 4 * MIB));
}

#[test]
fn more_than_a_tenth_of_memory_is_written_at_once_until_it_is_less() {
    let report = run(vec![write(0, 0, 12 * MIB), Step::Think { ns: 5 * S }]);
    assert_eq!(report.writes.waits, 0);
    // Two turns of 4 MiB, the last of which begins above 6.4 MiB.
    assert_eq!(report.writes.device_bytes, 8 * MIB);
}

/// 64 MiB at 100 MiB/s; what may be dirty at the end, a fifth of memory, is not waited for.
#[test]
fn a_writer_goes_as_fast_as_the_disk_once_a_fifth_of_memory_is_dirty() {
    let report = run(vec![write(0, 0, 64 * MIB)]);
    assert!(report.writes.waits > 0);
    let least_ns = (64 * MIB - 13 * MIB) * S / (100 * MIB);
    assert!(report.elapsed_ns >= least_ns, "{}", report.elapsed_ns);
    assert!(
        report.elapsed_ns < least_ns + S / 10,
        "{}",
        report.elapsed_ns
    );
}

#[test]
fn what_was_written_is_read_from_memory_and_stays_until_it_is_on_the_disk() {
    let mut steps = vec![write(0, 0, 4 * MIB)];
    // Nothing else has a place in the rest of memory, and nothing that is dirty leaves.
    let read = |slot, from: u64, bytes| Step::Read {
        slot,
        offset: from,
        length: bytes,
    };
    steps.extend((0..64).map(|mib| read(1, mib * MIB, MIB)));
    steps.push(Step::DropCaches);
    steps.push(read(0, 0, 4 * MIB));
    let report = run(steps);
    assert_eq!(report.device.bytes, 64 * MIB);
    assert_eq!(report.pages.hits_unlocked, 4 << 8);
    assert_eq!(report.writes.device_bytes, 0);
}

#[test]
fn pages_that_are_written_again_while_they_are_on_their_way_are_written_twice() {
    let report = run(vec![
        write(0, 0, 8 * MIB),
        write(0, 0, 8 * MIB),
        Step::Think { ns: 40 * S },
    ]);
    assert_eq!(report.writes.bytes, 16 * MIB);
    // The first 4 MiB went to the disk when 6.4 were dirty, and are dirty again.
    assert_eq!(report.writes.device_bytes, 12 * MIB);
}

#[test]
fn loaders_write_their_part_of_what_they_read_in_whole_pages() {
    let work = Workload::Loaders {
        file_mib: 4,
        loaders: 2,
        read_kib: 60,
        written_percent: 25,
    };
    let policy = Policy::for_disk("none", &machine().disk).expect("known");
    let report = simulate(&machine(), &policy, &work.job(0)).expect("simulated");
    assert_eq!(report.bytes, 8 * MIB);
    assert_eq!(report.writes.bytes, 2 * MIB);
}
