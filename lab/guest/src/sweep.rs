//! What a disk needs for the bytes that a program read, when all of them are known beforehand: each
//! byte once, in the order of the disk, in its longest requests, many at once.

use ahead_disk_model::{Disk, Request};
use ahead_units::{ByteLength, ByteOffset, Timestamp};

use crate::guest::GuestDisk;
use crate::requests::LoggedRequest;

/// Requests under way at once: as many as a disk's own queue takes.
const AT_ONCE: usize = 32;

/// The ranges that `requests` read, first byte and end, in ascending order and without overlap.
#[must_use]
pub fn distinct_reads(requests: &[LoggedRequest]) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = requests
        .iter()
        .filter(|request| !request.is_write)
        .map(|request| (request.offset, request.offset + u64::from(request.bytes)))
        .collect();
    ranges.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (start, end) in ranges {
        match merged.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    merged
}

/// How long `disk` takes for `ranges` in one sweep, in nanoseconds.
#[must_use]
pub fn sweep_ns(disk: &GuestDisk, ranges: &[(u64, u64)]) -> u64 {
    let longest = u64::from(disk.request_kib.max(4)) << 10;
    let pieces = ranges.iter().flat_map(|&(start, end)| {
        let step = usize::try_from(longest).unwrap_or(usize::MAX);
        (start..end)
            .step_by(step)
            .map(move |from| (from, longest.min(end - from)))
    });
    let mut model = Disk::new(&disk.model, ByteLength::new(disk.bytes), disk.scale);
    let mut now = Timestamp::new(0);
    let mut under_way = 0;
    let mut done = Vec::new();
    let mut wait_for_one = |model: &mut Disk, now: &mut Timestamp, under_way: &mut usize| {
        while let Some(due) = model.next_event() {
            *now = due;
            done.clear();
            model.advance(*now, &mut done);
            if !done.is_empty() {
                *under_way -= done.len();
                return;
            }
        }
    };
    for (id, (offset, length)) in (0..).zip(pieces) {
        if under_way == AT_ONCE {
            wait_for_one(&mut model, &mut now, &mut under_way);
        }
        let request = Request {
            id,
            offset: ByteOffset::new(offset),
            length: ByteLength::new(length),
        };
        model.submit(now, request);
        under_way += 1;
    }
    while under_way > 0 {
        wait_for_one(&mut model, &mut now, &mut under_way);
    }
    now.get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ahead_disk_model::DiskModel;

    fn read(offset: u64, bytes: u32) -> LoggedRequest {
        LoggedRequest {
            arrived_ns: 0,
            completed_ns: 0,
            ended_ns: 0,
            offset,
            number: 0,
            bytes,
            is_write: false,
        }
    }

    #[test]
    fn what_is_read_twice_counts_once_and_writes_do_not_count() {
        let write = LoggedRequest {
            is_write: true,
            ..read(1 << 20, 4096)
        };
        let requests = [read(8192, 4096), read(0, 8192), read(4096, 4096), write];
        assert_eq!(distinct_reads(&requests), [(0, 12288)]);
    }

    #[test]
    fn a_hundred_megabytes_in_one_piece_take_a_disk_of_that_rate_a_second() {
        let disk = GuestDisk::new(DiskModel::hdd());
        let took = sweep_ns(&disk, &[(1 << 30, (1 << 30) + 100_000_000)]);
        assert!((1_000_000_000..1_050_000_000).contains(&took), "{took}");
        assert_eq!(sweep_ns(&disk, &[]), 0);
    }
}
