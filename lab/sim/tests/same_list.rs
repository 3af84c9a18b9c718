//! A reader that goes through the same list of ranges again: it is read ahead of, and one that does not is not.

use ahead_disk_model::DiskModel;
use ahead_sim::algorithm::Policy;
use ahead_sim::world::Machine;
use ahead_units::PageCount;
use ahead_workload::{Job, Workload};

/// 1000 records of 64 KiB all over a file of 1 GiB, `passes` times, by a program that computes 4 ms for each, in 32 MiB
/// of memory: they are never there the second time.
fn records(passes: u64, compute_us: u64) -> Job {
    let epochs = Workload::Epochs {
        file_mib: 1024,
        read_kib: 64,
        reads: 1000,
        passes,
    };
    let paced = Workload::Paced {
        work: Box::new(epochs),
        compute_us,
        think_us: 0,
    };
    paced.job(3)
}

/// Time of `adaptive` in thousandths of the kernel's.
fn permille(disk: DiskModel, job: &Job) -> u64 {
    let machine = Machine::modern(disk, PageCount::new(32 << 8));
    let [adaptive, kernel] = ["adaptive", "linux-6.18"].map(|policy| {
        let policy = Policy::for_disk(policy, &machine.disk).unwrap();
        let report = ahead_sim::simulate(&machine, &policy, job).unwrap();
        report.elapsed_ns
    });
    adaptive * 1000 / kernel
}

/// Without the list the three passes took 1.00 of the kernel's time everywhere. An arm that has nothing to wait for
/// goes from record to record in the time that it takes, so that there is nothing to gain but what the program computes.
#[test]
fn records_that_are_read_again_in_the_same_order_are_there_before_they_are_read() {
    let at_once = records(3, 0);
    let found = [DiskModel::ssd(), DiskModel::cloud()].map(|disk| permille(disk, &at_once));
    assert!(found.iter().all(|permille| *permille <= 750), "{found:?}");
    let found = permille(DiskModel::hdd(), &records(3, 4000));
    assert!(found <= 800, "hdd: {found}");
}

#[test]
fn records_that_are_read_once_take_the_time_that_they_take() {
    for compute_us in [0, 4000] {
        let job = records(1, compute_us);
        for disk in [DiskModel::hdd(), DiskModel::ssd(), DiskModel::cloud()] {
            let found = permille(disk, &job);
            assert!((990..=1008).contains(&found), "{found}");
        }
    }
}
