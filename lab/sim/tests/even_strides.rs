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
