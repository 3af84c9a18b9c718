//! What a real disk counts, and what it reports as busy time, against the model and against what was
//! asked of it.
//!
//! Need root, FUSE and loop devices. Busy time is modelled time, so it can be compared exactly.

mod support;

use std::fs;
use std::path::Path;

use ahead_disk_emulator::{DiskStats, SizeClass};
use ahead_disk_model::{Disk, DiskModel, Request, TimeScale};
use ahead_units::{ByteLength, ByteOffset, Timestamp};
use support::{MIB, Machine, alone, create_settled, open_direct, pattern, read_direct, small_disk};

const KIB: usize = 1024;

#[test]
fn the_figures_count_exactly_what_was_read() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    let before = Machine::now();
    let info = create_settled(&small_disk("t-count", folder.path()));
    let device = open_direct(&info.device);
    ahead_disk_emulator::reset_stats("t-count").unwrap();
    for (offset, length) in [
        (0, 64 * KIB),
        (MIB, 64 * KIB),
        (MIB, 4 * KIB),
        (8 * MIB, 128 * KIB),
    ] {
        assert_eq!(read_direct(&device, offset, length).unwrap().len(), length);
    }
    let stats = ahead_disk_emulator::stats("t-count").unwrap();
    assert_eq!((stats.reads, stats.read_bytes), (4, 260 * KIB as u64));
    assert_eq!(stats.reread_bytes, 4 * KIB as u64);
    let sizes = [(4096, 1), (65_536, 2), (131_072, 1)];
    assert_eq!(
        stats.sizes,
        sizes.map(|(bytes_min, requests)| SizeClass {
            bytes_min,
            requests
        })
    );
    assert_eq!((stats.in_flight, stats.in_flight_max), (0, 1));
    assert_eq!(
        (stats.writes, stats.seeks, stats.lateness.answers),
        (0, 0, 4)
    );
    ahead_disk_emulator::reset_stats("t-count").unwrap();
    let stats = ahead_disk_emulator::stats("t-count").unwrap();
    assert_eq!((stats.reads, stats.read_bytes, stats.busy_ns), (0, 0, 0));
    drop(device);
    ahead_disk_emulator::destroy("t-count").unwrap();
    Machine::assert_nothing_left(&before);
}

/// One reader, one read at a time: the order is known, so busy time and seeks follow from the model
/// alone, however late the answers were.
#[test]
fn busy_time_and_seeks_are_those_of_the_model() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    let before = Machine::now();
    for model in [DiskModel::hdd(), DiskModel::ssd(), DiskModel::cloud()] {
        let mut options = small_disk("t-busy-time", folder.path());
        options.model = model;
        let info = create_settled(&options);
        let device = open_direct(&info.device);
        // Brings the head to a known place.
        read_direct(&device, 0, 64 * KIB).unwrap();
        ahead_disk_emulator::reset_stats("t-busy-time").unwrap();
        let reads: Vec<(u64, usize)> = (0..64_u64)
            .map(|index| {
                (
                    (index * index * 7 % 900) << 16,
                    if index % 3 == 0 { 4 * KIB } else { 64 * KIB },
                )
            })
            .chain((0..64).map(|index| (index << 16, 64 * KIB)))
            .collect();
        for &(offset, length) in &reads {
            read_direct(&device, offset, length).unwrap();
        }
        let stats = ahead_disk_emulator::stats("t-busy-time").unwrap();
        let (busy_ns, seeks) =
            modelled(&options.model, options.time_scale, info.size_bytes, &reads);
        assert_eq!(stats.reads, reads.len() as u64, "{stats:?}");
        assert_eq!(
            (stats.busy_ns, stats.seeks),
            (busy_ns, seeks),
            "{:?}",
            options.model
        );
        assert!(stats.busy_ns <= stats.elapsed_ns);
        drop(device);
        ahead_disk_emulator::destroy("t-busy-time").unwrap();
    }
    Machine::assert_nothing_left(&before);
}

/// Busy time and seeks of `reads`, one after the other, when the head stands at 64 KiB.
fn modelled(
    model: &DiskModel,
    scale: TimeScale,
    size_bytes: u64,
    reads: &[(u64, usize)],
) -> (u64, u64) {
    let mut disk = Disk::new(model, ByteLength::new(size_bytes), scale);
    let mut now = Timestamp::new(0);
    let mut ignored = Vec::new();
    let mut serve = |disk: &mut Disk, offset, length| {
        let request = Request {
            id: 0,
            offset: ByteOffset::new(offset),
            length: ByteLength::new(length as u64),
        };
        disk.submit(now, request);
        now = disk.next_event().expect("a request is under way");
        disk.advance(now, &mut ignored);
        (disk.busy_ns(now), disk.seeks())
    };
    let first = serve(&mut disk, 0, 64 * KIB);
    let mut last = first;
    for &(offset, length) in reads {
        last = serve(&mut disk, offset, length);
    }
    (last.0 - first.0, last.1 - first.1)
}

/// A stream through the real page cache, three times: each must reach the disk as the same work.
#[test]
fn a_sequential_read_is_the_same_work_for_the_disk_every_time() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    let before = Machine::now();
    let mut options = small_disk("t-same", folder.path());
    options.model = DiskModel::hdd();
    options.size_bytes = 128 * MIB;
    let info = create_settled(&options);
    let path = info.mount_dir.join("file");
    fs::write(&path, pattern(64 * MIB)).unwrap();
    let runs: Vec<DiskStats> = (0..3).map(|_| one_pass(&path)).collect();
    for run in &runs {
        assert!((64 * MIB..66 * MIB).contains(&run.read_bytes), "{run:?}");
        assert_eq!(run.reread_bytes, 0);
        let spread = run.busy_ns.abs_diff(runs[0].busy_ns);
        assert!(
            spread * 50 <= runs[0].busy_ns,
            "busy time differs by more than 2 %: {runs:?}"
        );
    }
    ahead_disk_emulator::destroy("t-same").unwrap();
    Machine::assert_nothing_left(&before);
}

fn one_pass(path: &Path) -> DiskStats {
    rustix::fs::sync();
    fs::write("/proc/sys/vm/drop_caches", "3").expect("root");
    ahead_disk_emulator::reset_stats("t-same").unwrap();
    assert!(
        fs::read(path).unwrap() == pattern(64 * MIB),
        "other bytes came back"
    );
    ahead_disk_emulator::stats("t-same").unwrap()
}

/// As many as the disk was told about must be in its queue, or the order would be made elsewhere.
#[test]
fn many_readers_at_once_all_reach_the_queue_of_the_disk() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    let before = Machine::now();
    let mut options = small_disk("t-depth", folder.path());
    options.model = DiskModel::hdd();
    options.time_scale = TimeScale::new(1, 4).expect("not zero");
    let info = create_settled(&options);
    ahead_disk_emulator::reset_stats("t-depth").unwrap();
    std::thread::scope(|scope| {
        for index in 0..48_u64 {
            let device = open_direct(&info.device);
            scope.spawn(move || read_direct(&device, (index * 37 % 48) << 20, 4 * KIB).unwrap());
        }
    });
    let stats = ahead_disk_emulator::stats("t-depth").unwrap();
    // Whoever watches for new block devices may look at this one too.
    assert!((48..=50).contains(&stats.reads), "{stats:?}");
    // The first may be done before the last has come; at 20 ms and more each, not many are.
    assert!(stats.in_flight_max >= 32, "{stats:?}");
    ahead_disk_emulator::destroy("t-depth").unwrap();
    Machine::assert_nothing_left(&before);
}
