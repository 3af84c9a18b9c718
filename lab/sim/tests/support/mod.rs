//! One program that reads one file, beside the algorithm of Linux 6.18.
#![allow(dead_code, reason = "each test needs some of it")]

use ahead_disk_model::DiskModel;
use ahead_sim::algorithm::Policy;
use ahead_sim::report::WorldReport;
use ahead_sim::simulate;
use ahead_sim::world::Machine;
use ahead_trace::{Access, FileNames, InMemory};
use ahead_units::PageCount;
use ahead_workload::Job;
use ahead_workload::odd;
use ahead_workload::trace::{self, Timing};

pub(crate) const DISKS: [&str; 5] = ["hdd", "ssd", "nvme", "cloud", "array"];

/// Each of [`DISKS`] with one of these.
pub(crate) fn on_disks(most: [u64; 5]) -> Vec<(&'static str, u64)> {
    DISKS.into_iter().zip(most).collect()
}

/// Memory where none is named, in MiB.
pub(crate) const MEMORY_MIB: u64 = 1024;

/// One program that reads `(offset, bytes)` of one file.
pub(crate) fn job_of(reads: &[(u64, u64)]) -> Job {
    job_of_threads(reads, 1)
}

/// The same by some threads in turn.
pub(crate) fn job_of_threads(reads: &[(u64, u64)], threads: u32) -> Job {
    let mut files = FileNames::default();
    let file = files.named(b"/records").expect("a name");
    let reads = reads.iter().zip((0..threads).cycle());
    let reads = reads.map(|((offset, bytes), thread)| Access {
        thread,
        ..Access::read(file, *offset, *bytes)
    });
    let (job, failure) = trace::job(InMemory::new(files, reads.collect()), Timing::Fast);
    assert!(failure.is_none());
    job
}

/// What comes of `job` under `policy`, with so much memory.
pub(crate) fn report(disk: &str, memory_mib: u64, policy: &str, job: &Job) -> WorldReport {
    report_on(&disk_called(disk), memory_mib, policy, job)
}

/// The disk with this name.
pub(crate) fn disk_called(name: &str) -> DiskModel {
    DiskModel::preset(name).expect("a disk")
}

/// What comes of `job` on a `disk` that may have no name.
fn report_on(disk: &DiskModel, memory_mib: u64, policy: &str, job: &Job) -> WorldReport {
    let machine = Machine::modern(disk.clone(), PageCount::new(memory_mib << 8));
    let policy = Policy::for_disk(policy, disk).expect("a policy");
    simulate(&machine, &policy, job).expect("it ends")
}

/// Hundredths of the time of Linux 6.18 that `job` takes under `policy`.
pub(crate) fn of_kernel(disk: &DiskModel, memory_mib: u64, policy: &str, job: &Job) -> u64 {
    let took = |policy| report_on(disk, memory_mib, policy, job).elapsed_ns;
    took(policy) * 100 / took("linux-6.18")
}

/// Each `(disk, most)`: there `job` takes no more than so many hundredths.
pub(crate) fn assert_at_most(what: &str, job: &Job, bounds: &[(&str, u64)]) {
    for (disk, most) in bounds {
        let took = of_kernel(&disk_called(disk), MEMORY_MIB, "adaptive", job);
        assert!(took <= *most, "{what} on {disk}: {took} %");
    }
}

/// The odd reads of `seed` take at most so many hundredths of the kernel's time under `policy`.
pub(crate) fn assert_odd_at_most(seed: u64, disk: &DiskModel, policy: &str, most: u64) {
    let took = of_kernel(disk, MEMORY_MIB, policy, &odd(seed).job(seed));
    assert!(took <= most, "{seed} on {disk:?}: {took} %");
}

/// The odd reads of each seed on a disk, as [`DiskModel::typed`] reads it, take at most so many hundredths of the kernel's time.
pub(crate) fn assert_odd_on(places: &[(u64, &str, u64)]) {
    for (seed, disk, most) in places {
        let model = DiskModel::typed(disk).expect(disk);
        assert_odd_at_most(*seed, &model, "adaptive", *most);
    }
}
