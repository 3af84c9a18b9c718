//! Strides whose holes are read through: where the kernel would, and where requests are what a device waits for.

mod support;

use ahead_workload::odd;

use support::{MEMORY_MIB, assert_odd_on, report};

/// 10 505 bytes of every 35 370, and 3849 more behind each 24th, while the reader computes. 3.58, 3.43 and 3.04 of the kernel's time: the first
/// elements were asked for, the kernel, which reads through the holes, lost the reader there, and nothing was asked for again.
#[test]
fn steps_that_change_are_read_through_where_the_kernel_would() {
    assert_odd_on(&[
        (21125, "nvme", 100),
        (21125, "ssd", 105),
        (21125, "cloud", 105),
    ]);
}

/// 512 bytes of every 11 KB in a cycle of 37 steps, and 1601 of every 18 840 with 464 more behind each 18th: 0.91 to 1.00 of the kernel's time, as
/// each stride was broken before it was believed.
#[test]
fn steps_that_are_never_equal_for_long_are_read_through() {
    assert_odd_on(&[
        (21065, "nvme", 6),
        (21065, "cloud", 14),
        (569, "nvme", 8),
        (569, "cloud", 20),
    ]);
}

/// 15 853 bytes of every 32 243, on a volume of 3649 requests a second. 4.05 of the kernel's time, which reads through the holes: each element was
/// a request.
#[test]
fn a_stride_is_read_through_where_requests_are_what_a_volume_waits_for() {
    let volume = "volume:latency-us=137,requests-per-s=3649,bytes-per-s=499000000";
    assert_odd_on(&[(23321, volume, 106)]);
}

/// 0.85, 0.61 and, backward, 0.40 of the kernel's time before.
#[test]
fn a_stride_of_a_volume_that_no_kernel_reads_through_is_all_the_same() {
    assert_odd_on(&[
        (21128, "cloud", 12),
        (22084, "cloud", 12),
        (22209, "cloud", 7),
    ]);
}

/// Flash of one channel, 4 KB in 335 or 150 us: its bandwidth is what is waited for. Read through without a measurement they take 3.2 times the
/// kernel's time.
#[test]
fn what_is_no_faster_to_be_read_through_is_given_up_soon() {
    let flash = |page_us: u64, latency_us: u64| {
        format!("flash:channels=1,page-us={page_us},page-bytes=4096,latency-us={latency_us}")
    };
    assert_odd_on(&[(23158, &flash(335, 28), 112), (23193, &flash(150, 4), 125)]);
}

/// Of each two pages the rate allows for one: at 1 no hole is read through, whatever it would save.
#[test]
fn without_a_rate_for_holes_none_is_read_through() {
    let job = odd(569).job(569);
    let bytes = |policy: &str| report("nvme", MEMORY_MIB, policy, &job).device.bytes;
    let (through, none) = (bytes("adaptive"), bytes("adaptive:hit_rate=1"));
    assert!(through > 3 * none, "{through} {none}");
}
