//! Devices that deliver less than any guess says: volumes behind a slow line, cards, sticks, old arms.

mod support;

use support::assert_odd_on;

/// Every other 120 KB of a file. 1.92, 1.86, 1.81 and 1.91 of the kernel's time: waits for the transfer of 128 KiB were taken for those of an
/// arm, of which less than is expected is not believed.
#[test]
fn what_lies_between_reads_is_left_out_where_the_transfer_is_slow() {
    assert_odd_on(&[
        (
            6025,
            "volume:latency-us=300,requests-per-s=10000,bytes-per-s=10000000",
            104,
        ),
        (
            6025,
            "volume:latency-us=300,requests-per-s=10000,bytes-per-s=25000000",
            102,
        ),
        (
            6025,
            "volume:latency-us=300,requests-per-s=10000,bytes-per-s=35000000",
            102,
        ),
        (
            6025,
            "flash:channels=2,page-us=309,page-bytes=4096,latency-us=24",
            102,
        ),
    ]);
}

/// 1.19, 1.10 and 1.14 of the kernel's time; 1.08, 1.04 and 1.08 now.
#[test]
fn an_arm_that_delivers_less_than_is_expected_is_believed_when_a_stream_reads_on_alone() {
    let arm = |mb: u64, least: u64, most: u64, rpm: u64| {
        format!(
            "arm:media-bytes-per-s={mb}000000,seek-us-min={least},seek-us-max={most},rotation-rpm={rpm}"
        )
    };
    assert_odd_on(&[
        (6211, &arm(53, 885, 14_236 + 885, 7200), 110),
        (6648, &arm(48, 2714, 2714 + 9224, 10_000), 105),
        (6217, &arm(33, 985, 985 + 3759, 15_000), 109),
    ]);
}

/// A volume that takes 4.7 ms and delivers 45 MB/s, and one of 3.3 ms and 117 MB/s: strides and runs of those are not taken for slow.
#[test]
fn a_volume_that_is_far_away_is_not_slow() {
    assert_odd_on(&[
        (
            6621,
            "volume:latency-us=4747,requests-per-s=130451,bytes-per-s=45000000",
            80,
        ),
        (
            6025,
            "volume:latency-us=3297,requests-per-s=4065,bytes-per-s=117000000",
            55,
        ),
        (
            6416,
            "volume:latency-us=5233,requests-per-s=56109,bytes-per-s=1467000000",
            25,
        ),
    ]);
}
