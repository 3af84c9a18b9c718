//! No policy, the ceiling least of all, takes less time than work conservation and dependency allow: on
//! every kind of disk, for workloads that chance made.

use ahead_disk_model::DiskModel;
use ahead_sim::algorithm::Policy;
use ahead_sim::bound::lower_bound_ns;
use ahead_sim::world::Machine;
use ahead_units::PageCount;
use ahead_workload::{Workload, generated};

const POLICIES: [&str; 4] = ["none", "linux-6.18", "adaptive", "oracle"];
const DISKS: [&str; 6] = ["hdd", "ssd", "cloud", "nvme", "x25m", "cheetah-raid5"];

fn assert_not_beaten(work: &Workload, seed: u64, disk: &str, cache_mib: u64) {
    let disk = DiskModel::preset(disk).expect("a preset");
    let machine = Machine::modern(disk, PageCount::new(cache_mib << 8));
    let job = work.job(seed);
    let bound = lower_bound_ns(&machine, &job);
    assert!(bound > 0, "{work:?}");
    for policy in POLICIES {
        let policy = Policy::for_disk(policy, &machine.disk).expect("a policy");
        let report = ahead_sim::simulate(&machine, &policy, &job).expect("simulated");
        assert!(
            report.elapsed_ns >= bound,
            "seed {seed}: {} ns of {policy} below {bound}",
            report.elapsed_ns
        );
    }
}

#[test]
fn nobody_is_faster_than_the_disk_can_give_the_bytes() {
    for (number, disk) in DISKS.into_iter().enumerate() {
        let seed = number as u64;
        let sequential = Workload::Sequential {
            file_mib: 16,
            read_kib: 64,
            passes: 2,
        };
        assert_not_beaten(&sequential, seed, disk, 4 << (number % 3));
        let random = Workload::Random {
            file_mib: 64,
            read_kib: 4,
            reads: 300,
        };
        assert_not_beaten(&random, seed, disk, 4);
        let slow = Workload::Paced {
            work: Box::new(sequential),
            compute_us: 300,
            think_us: 200,
        };
        assert_not_beaten(&slow, seed, disk, 8);
    }
}

#[test]
fn nor_in_workloads_that_chance_made() {
    for seed in 0..4 {
        assert_not_beaten(&generated(seed), seed, "hdd", 64);
        assert_not_beaten(&generated(seed), seed, "ssd", 64);
    }
}
