//! What a device says of itself is a first guess: an arm that says that it has none is read as the arm that it is.

use ahead_disk_model::DiskModel;
use ahead_sim::algorithm::Policy;
use ahead_sim::simulate;
use ahead_sim::world::Machine;
use ahead_units::PageCount;
use ahead_workload::Workload;

const MEMORY_PAGES: u64 = 256 << 8;

/// Virtual time under `policy` of `workload`.
fn elapsed_ns(disk: &DiskModel, workload: &Workload, policy: &str) -> u64 {
    let machine = Machine::modern(disk.clone(), PageCount::new(MEMORY_PAGES));
    let policy = Policy::for_disk(policy, disk).unwrap();
    simulate(&machine, &policy, &workload.job(1))
        .unwrap()
        .elapsed_ns
}

/// None of their reads waits behind nothing, but for the first: took 2.8 (backward) and 2.4 times as long as with the right
/// flag.
#[test]
fn an_arm_that_says_that_it_has_none_is_found_out_inside_windows() {
    let backward = Workload::Backward {
        file_mib: 1024,
        read_kib: 64,
    };
    let two = Workload::Interleaved {
        file_mib: 1024,
        streams: 2,
        read_kib: 64,
    };
    for (name, workload) in [("backward", backward), ("two streams", two)] {
        for disk in [
            DiskModel::hdd(),
            DiskModel::preset("barracuda-7200.11").unwrap(),
        ] {
            let right = elapsed_ns(&disk, &workload, "adaptive");
            let wrong = elapsed_ns(&disk, &workload, "adaptive:misled=1");
            let stock = elapsed_ns(&disk, &workload, "linux-6.18");
            assert!(wrong * 4 <= right * 5, "{name}: {wrong} of {right}");
            assert!(wrong * 2 <= stock, "{name}: {wrong} of {stock}");
        }
    }
}
