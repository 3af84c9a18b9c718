//! Disks that are known exactly, measured in virtual time: what is fitted is what they are.

use ahead_cli::device::virtual_disk::measure;
use ahead_device::measurement::fit::FittedFigures;
use ahead_device::measurement::plan::MeasureBounds;
use ahead_disk_model::{Disk, DiskModel, Request, TimeScale};
use ahead_units::{ByteLength, ByteOffset, Timestamp};

const BOUNDS: MeasureBounds = MeasureBounds {
    time_ns: 60_000_000_000,
    bytes: 64 << 30,
    size_bytes: 256 << 30,
    is_device: true,
};

fn fitted(name: &str) -> FittedFigures {
    let model = DiskModel::preset(name).expect("a preset");
    let steps = measure(&model, &BOUNDS).expect("a disk that answers");
    FittedFigures::of(&steps).expect("all steps were run")
}

/// The mean time of reads of 4 KiB at random places and moments, from the model itself: what is known of a disk
/// with zones and an angle.
fn isolated_ns(model: &DiskModel) -> u64 {
    const READS: u64 = 4_000;
    let capacity = ByteLength::new(BOUNDS.size_bytes);
    let mut disk = Disk::new(model, capacity, TimeScale::REAL);
    let mut random = fastrand::Rng::with_seed(5);
    let (mut now_ns, mut sum_ns) = (0, 0);
    let mut done = Vec::new();
    for id in 0..READS {
        now_ns += 100_000_000 + random.u64(0..100_000_000);
        let request = Request {
            id,
            offset: ByteOffset::new(random.u64(0..BOUNDS.size_bytes / 4096) * 4096),
            length: ByteLength::new(4096),
        };
        disk.submit(Timestamp::new(now_ns), request);
        while done.is_empty() {
            let next = disk.next_event().expect("a request is on its way");
            disk.advance(next, &mut done);
        }
        sum_ns += done
            .drain(..)
            .map(|one| one.completed_at.get() - now_ns)
            .sum::<u64>();
    }
    sum_ns / READS
}

#[track_caller]
fn assert_within_five_per_cent(what: &str, found: u64, truth: u64) {
    assert!(
        found.abs_diff(truth) * 20 <= truth,
        "{what}: {found} for {truth}"
    );
}

/// (disk, time of an isolated read of 4 KiB in ns, bytes per second, twice the requests at the same time).
///
/// The volumes let a request pass in 1/rate and then take their latency; 3000 per second, each 833 µs, are 2.5
/// at the same time. 840 000 per second would be 77, and the ladder ends at 64. Five arms
/// that sort what waits are a little more than 5.
const TRUTH: [(&str, u64, u64, u32); 5] = [
    ("hdd", 8_016_000, 100_000_000, 2),
    ("ssd", 80_000, 1_638_400_000, 16),
    ("nvme", 90_000 + 1_190, 3_500_000_000, 128),
    ("cloud", 500_000 + 333_333, 125_000_000, 5),
    ("array", 0, 163_000_000, 11),
];

#[test]
fn the_fitted_figures_are_those_of_the_disk() {
    for (name, access_ns, bytes_per_second, twice_depth) in TRUTH {
        let figures = fitted(name);
        let model = DiskModel::preset(name).expect("a preset");
        let access_ns = match access_ns {
            0 => isolated_ns(&model),
            known => known,
        };
        assert_within_five_per_cent(name, figures.access_ns.value, access_ns);
        let found = figures.bytes_per_second.value;
        assert_within_five_per_cent(name, found, bytes_per_second);
        // Between two numbers either will do.
        let off = (2 * figures.depth).abs_diff(twice_depth);
        assert!(off <= 1, "{name}: {figures:?}");
        let again = fitted(name);
        assert_eq!(
            again, figures,
            "{name}: the same requests take the same time"
        );
    }
}

/// What a window costs more than its bytes is where the line begins: of a volume the way, and not its gate.
#[test]
fn the_line_of_large_requests_is_that_of_the_disk() {
    for (name, access_ns, bytes_per_second) in [
        ("hdd", 8_016_000, 100_000_000),
        ("cloud", 500_000, 125_000_000),
        ("nvme", 90_000, 3_500_000_000),
        ("theory", 8_000_000, 104_857_600),
    ] {
        let line = fitted(name).line.expect("a line");
        assert_within_five_per_cent(name, line.access_ns, access_ns);
        assert_within_five_per_cent(name, line.bytes_per_second, bytes_per_second);
    }
    let ssd = fitted("ssd").line.expect("a line");
    assert_eq!(ssd.from_bytes, 128 << 10, "eight pages of 16 KiB at once");
}

/// An arm answers more per second when it can sort what waits, and serves one at a time all the same.
#[test]
fn sorting_is_not_taken_for_serving_at_once() {
    let arm = fitted("hdd");
    assert!(arm.useful_depth >= 8, "{arm:?}");
    assert_eq!(arm.depth, 1);
}

/// A tenth of the time is enough for the figures.
#[test]
fn a_short_measurement_says_the_same() {
    let short = MeasureBounds {
        time_ns: 6_000_000_000,
        ..BOUNDS
    };
    for (name, ..) in TRUTH.into_iter().filter(|one| one.0 != "array") {
        let steps = measure(&DiskModel::preset(name).expect("a preset"), &short);
        let short = FittedFigures::of(&steps.expect("a disk that answers")).expect("figures");
        let long = fitted(name);
        assert_within_five_per_cent(name, short.access_ns.value, long.access_ns.value);
        let rate = long.bytes_per_second.value;
        assert_within_five_per_cent(name, short.bytes_per_second.value, rate);
        assert!(short.depth.abs_diff(long.depth) <= 1, "{name}");
    }
}
