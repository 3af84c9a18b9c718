//! What a device says of itself is a first guess: an arm that says that it has none is read as the arm that it is.

use ahead_disk_model::DiskModel;
use ahead_disk_model::arm::ArmModel;
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

/// An arm `speed` times as fast as the usual one in every way, as a few in a row behind a controller are.
fn fast_arm(speed: u64) -> DiskModel {
    let DiskModel::Arm(usual) = DiskModel::hdd() else {
        panic!("it is an arm");
    };
    DiskModel::Arm(ArmModel {
        media_bytes_per_s: usual.media_bytes_per_s * speed,
        seek_us_min: usual.seek_us_min / speed,
        seek_us_max: usual.seek_us_max / speed,
        rotation_rpm: usual.rotation_rpm * speed,
        ..usual
    })
}

/// Their accesses of 1.4 to 2.8 ms are none of an arm at once, and they deliver more than one: took 3.9 (sixty-four
/// files) and 4.0 times as long (sixty-four places of a file, longer than with the kernel alone).
#[test]
fn a_fast_arm_that_says_that_it_has_none_is_found_out_too() {
    let backward = Workload::Backward {
        file_mib: 1024,
        read_kib: 64,
    };
    let in_turn = |streams| Workload::Interleaved {
        file_mib: 1024,
        streams,
        read_kib: 64,
    };
    let files = Workload::Separate {
        file_mib: 4,
        streams: 64,
        read_kib: 64,
    };
    let half = fast_arm(2);
    let quarter = fast_arm(4);
    for (name, disk, workload) in [
        ("backward", &half, &backward),
        ("sixty-four streams", &half, &in_turn(64)),
        ("sixty-four streams", &quarter, &in_turn(64)),
        ("sixty-four files", &quarter, &files),
    ] {
        let right = elapsed_ns(disk, workload, "adaptive");
        let wrong = elapsed_ns(disk, workload, "adaptive:misled=1");
        assert!(wrong * 4 <= right * 5, "{name}: {wrong} of {right}");
    }
}
