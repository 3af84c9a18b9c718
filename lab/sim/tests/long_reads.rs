//! Reads that are longer than what the kernel asks for at once.

mod support;

use ahead_policy::stock::{KERNEL_PAGES, long_read};
use ahead_units::PAGE_BYTES;
use ahead_workload::{Workload, generated};

use support::{MEMORY_MIB, assert_odd_on, disk_called, of_kernel, report};

/// Reads of 167 KB at distances that grow, backward, and of 151 and 150 KB at places in no order. Each took the kernel's time before,
/// who waits for 128 KiB of each, and then for the rest.
#[test]
fn a_read_longer_than_a_request_is_not_waited_for_piece_by_piece() {
    assert_odd_on(&[
        (40233, "nvme", 60),
        (40233, "cloud", 69),
        (40173, "nvme", 60),
        (40173, "ssd", 76),
        (40158, "nvme", 67),
    ]);
}

/// Each step of a walk goes near to where it was: what the kernel brings behind a read is read soon. Exactly the reads themselves
/// took 1.24 of its time.
#[test]
fn what_is_read_soon_is_asked_for_with_them() {
    assert_odd_on(&[(40000, "ssd", 100), (40000, "cloud", 100)]);
}

/// 4 MiB at once stood before the reads of small files: 1.19 of the kernel's time.
#[test]
fn very_long_reads_leave_the_device_to_others() {
    let job = generated(40132).job(40132);
    let took = of_kernel(&disk_called("cloud"), MEMORY_MIB, "adaptive", &job);
    assert!(took <= 101, "{took} %");
}

/// What is asked for behind one is the kernel's own: this is its rule, but for the ends of its windows, which lie on multiples of its
/// folios.
#[test]
fn of_a_long_read_the_kernel_brings_what_the_rule_says() {
    const READS: u64 = 40;
    for pages in [33, 54, 65, 100, 160, 200] {
        let random = Workload::Random {
            file_mib: 1 << 16,
            read_kib: pages * PAGE_BYTES / 1024,
            reads: READS,
        };
        let brought = report("nvme", MEMORY_MIB, "linux-6.18", &random.job(1))
            .device
            .bytes;
        let brought = brought / READS / PAGE_BYTES;
        let rule = long_read(pages, KERNEL_PAGES, KERNEL_PAGES);
        assert!(
            (rule - 16..=rule).contains(&brought),
            "{pages}: {brought}, {rule}"
        );
    }
}
