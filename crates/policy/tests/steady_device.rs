//! One reader and one device in virtual time: a learned stream does not wait twice.
//!
//! The device serves one request at a time, each for its access time (unless it continues the
//! one before) plus its transfer. The reader consumes at a steady pace below the bandwidth, so
//! with enough distance it need never wait.

mod support;

use std::collections::BTreeMap;

use ahead_policy::device::DeviceEstimate;
use support::Reader;

struct Run {
    /// Numbers of the reads that waited.
    waits: Vec<usize>,
}

/// `access_ns` and `page_ns` are the device's, `think_ns` is what the reader spends per page.
fn run(device: DeviceEstimate, think_ns: u64, backward: bool, length: u64, reads: u64) -> Run {
    let page_ns = 4096 * 1_000_000_000 / device.bytes_per_second;
    let mut reader = Reader::new(1 << 22);
    reader.moment.device = device;
    let mut ready: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut now, mut device_free, mut head) = (0_u64, 0_u64, u64::MAX);
    let mut waits = Vec::new();
    for number in 0..reads {
        let start = if backward {
            (reads - 1 - number) * length
        } else {
            number * length
        };
        let outcome = reader.read(start, length);
        let demand = outcome
            .decision
            .prefetch
            .ranges()
            .chain([ahead_units::PageRange::new(start, start + length)]);
        for range in demand {
            let (from, to) = (range.start.get(), range.end.get());
            let missing: Vec<u64> = (from..to)
                .filter(|page| !ready.contains_key(page))
                .collect();
            let Some(first) = missing.first() else {
                continue;
            };
            let position = if *first == head { 0 } else { device.access_ns };
            device_free = device_free.max(now) + position;
            for page in &missing {
                device_free += page_ns;
                ready.insert(*page, device_free);
                head = page + 1;
            }
        }
        let last = (start..start + length)
            .map(|page| ready[&page])
            .max()
            .unwrap_or(0);
        if last > now {
            waits.push(usize::try_from(number).unwrap());
            now = last;
            reader.wait(start, length, &outcome);
        }
        now += think_ns * length;
    }
    Run { waits }
}

fn devices() -> [DeviceEstimate; 3] {
    let volume = DeviceEstimate {
        access_ns: 500_000,
        bytes_per_second: 125_000_000,
        depth: 2,
    };
    [DeviceEstimate::ARM, DeviceEstimate::FLASH, volume]
}

#[test]
fn on_a_steady_device_a_learned_stream_does_not_wait_twice_in_a_row() {
    for device in devices() {
        let page_ns = 4096 * 1_000_000_000 / device.bytes_per_second;
        for backward in [false, true] {
            for length in [1, 4, 16] {
                // The reader takes half the bandwidth, and a tenth.
                for think_ns in [page_ns * 2, page_ns * 10] {
                    let reads = 60_000 / length;
                    let run = run(device, think_ns, backward, length, reads);
                    let learned = usize::try_from(8192 / length).unwrap();
                    let late: Vec<_> = run.waits.iter().filter(|wait| **wait > learned).collect();
                    let twice = late.windows(2).any(|pair| *pair[1] - *pair[0] <= 16);
                    let what = format!("{device:?} backward {backward} length {length} {late:?}");
                    assert!(!twice, "{what}");
                    assert!(late.len() <= 2, "{what}");
                }
            }
        }
    }
}
