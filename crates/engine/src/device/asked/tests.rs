//! A device that one stream reads on from alone.

use ahead_policy::device::DeviceEstimate;
use ahead_units::{PageCount, PageIndex, PageRange, Timestamp};

use super::super::tests::{arm, ask, device, lone_wait};
use super::super::{Ask, Device};

/// From page `from` on a stream reads on by windows of so many pages, and each is waited for until the one before it has come. What is believed
/// of the device then, in MB a second.
fn after_windows(device: &Device, from: u64, windows: &[(u64, u64)]) -> u64 {
    let (mut end, mut now_ns, mut before) = (from, from * 1_000_000, 0);
    for (pages, waited_us) in windows {
        now_ns += waited_us * 1000;
        let now = Timestamp::new(now_ns);
        device.on_late(waited_us * 1000, now);
        device.on_ask(&Ask {
            pages: PageCount::new(*pages),
            place: PageRange::new(end, end + pages),
            at: PageIndex::new(end - before),
            now,
            ..ask(1)
        });
        end += pages;
        before = *pages;
    }
    device.estimate().bytes_per_second / 1_000_000
}

/// Windows of 512 pages at 25 MB/s. By a guess what lies between reads costs next to nothing, and a reader of every other 120 KB of a file took
/// 1.86 times as long as the kernel, to its end.
#[test]
fn a_stream_that_waits_long_for_each_window_says_that_the_device_is_slow() {
    let windows = [(512, 0), (512, 84_000), (512, 84_000), (512, 84_000)];
    for device in [device(false), arm()] {
        assert_eq!(after_windows(&device, 512, &windows), 24);
    }
}

/// Windows double, as they do for a new stream. Its reader is at the begin of each when the one before has come, from an arm of 150 MB/s.
#[test]
fn an_arm_that_delivers_what_is_expected_is_not_slow() {
    let pages = |turn: u32| 256 << turn;
    let waited_us = |turn: u32| {
        turn.checked_sub(2)
            .map_or(0, |before| pages(before) * 4096 / 150)
    };
    let windows: Vec<_> = (0..7).map(|turn| (pages(turn), waited_us(turn))).collect();
    assert_eq!(after_windows(&arm(), 512, &windows), 120);
}

/// It was written to, or others had read from it.
#[test]
fn a_device_that_was_slow_is_not_any_more_when_a_reader_comes_on_faster() {
    let device = device(false);
    let guess = device.estimate().bytes_per_second / 1_000_000;
    assert_eq!(
        after_windows(
            &device,
            512,
            &[(512, 0), (512, 84_000), (512, 84_000), (512, 84_000)]
        ),
        24
    );
    assert_eq!(
        after_windows(&device, 8192, &[(64, 0), (64, 170), (64, 170), (64, 170)]),
        guess
    );
}

/// 128 KiB in 8 ms, and twice as much in as long: it is far away.
#[test]
fn windows_that_are_waited_for_as_long_as_an_access_say_nothing_of_the_transfer() {
    let far = device(false);
    let windows = [
        (32, 0),
        (64, 8_000),
        (128, 8_000),
        (256, 8_000),
        (512, 8_000),
    ];
    let guess = DeviceEstimate::FLASH.bytes_per_second / 1_000_000;
    assert_eq!(after_windows(&far, 512, &windows), guess);
}

/// 25 MB/s are what the other one leaves of it.
#[test]
fn a_read_elsewhere_between_two_windows_leaves_open_whether_a_device_is_slow() {
    let device = device(false);
    let guess = device.estimate().bytes_per_second / 1_000_000;
    for turn in 1..8 {
        assert_eq!(
            after_windows(&device, turn * 1024, &[(512, 0), (512, 84_000)]),
            guess
        );
        lone_wait(&device, 120_000, 1);
    }
}
