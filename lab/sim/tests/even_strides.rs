//! Strides to the byte, of any period: a field of each record. The kernel reads through some of them, by chance, and waits for each element of
//! the others.

mod support;

use ahead_workload::{Form, Workload};

use support::{DISKS, disk_called};

const MEMORY_MIB: u64 = 256;

/// Hundredths of the time of Linux 6.18 that a program takes under `ahead` which reads `read_bytes` of every `period`, also from the end of the file.
fn of_kernel(disk: &str, (read_bytes, period, backward): (u64, u64, bool)) -> u64 {
    let fields = Workload::Odd {
        file_mib: 48,
        form: Form::Drifting,
        read_bytes,
        step_bytes: period,
        varied_bytes: 0,
        group: 1,
        backward,
    };
    support::of_kernel(&disk_called(disk), MEMORY_MIB, "adaptive", &fields.job(1))
}

/// 4000 of 20 000 took 6.5 times the kernel's time on an SSD, 8.8 on an NVMe disk, 5.3 on a volume and 2.2 on a stripe.
#[test]
fn no_stride_takes_longer_than_with_the_kernel_alone() {
    for disk in DISKS {
        for (read_bytes, period) in [
            (500, 5_000),
            (700, 20_000),
            (4_000, 9_000),
            (4_000, 20_000),
            (6_000, 14_751),
            (6_000, 20_000),
            (16_000, 20_000),
        ] {
            for backward in [false, true] {
                let took = of_kernel(disk, (read_bytes, period, backward));
                assert!(
                    took <= 102,
                    "{read_bytes} of {period} on {disk}, backward {backward}: {took} %"
                );
            }
        }
    }
}

/// Where the kernel waits for each, which it took as long as with the kernel for.
#[test]
fn strides_that_the_kernel_waits_for_take_less_than_half() {
    for disk in ["ssd", "nvme", "cloud", "array"] {
        for (read_bytes, period) in [(700, 14_751), (1_639, 14_751), (6_000, 27_000)] {
            let took = of_kernel(disk, (read_bytes, period, false));
            assert!(took <= 50, "{read_bytes} of {period} on {disk}: {took} %");
        }
    }
}

/// 800 readers of one file in turn, 16 KiB each, are one who reads it by columns, and memory for as many windows there is not. An arm went to
/// each of them for 16 KiB: with 64 MiB the kernel's time, with 256 and 1024 0.95 and 0.84 of it.
#[test]
fn more_readers_in_turn_than_streams_are_columns_of_which_memory_holds_some() {
    let in_turn = Workload::Interleaved {
        file_mib: 800,
        streams: 800,
        read_kib: 16,
    };
    for (memory_mib, most) in [(64, 72), (256, 60), (1024, 75)] {
        let took = support::of_kernel(&disk_called("hdd"), memory_mib, "adaptive", &in_turn.job(1));
        assert!(took <= most, "{memory_mib} MiB: {took} %");
    }
}
