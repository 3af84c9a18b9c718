//! A mix of sequential and random reads as a job of the simulator.
//!
//! Each program reads a file of its own from start to end, and in between, evenly spread, so many of its reads go
//! to random places. Of a disk that was measured these are anywhere, and the files lie evenly over it too; in a guest,
//! which a model is simulated as, files lie where its ext4 puts them, the one with the random places last. A mix has an end, which comes
//! when the last program has read its file: how soon is what windows are compared by.

use ahead_sim::trees::Ext4;
use ahead_units::PAGE_BYTES;
use ahead_workload::random::below;
use ahead_workload::{Job, Layout, Piece, Workload};
use serde::Serialize;

/// Sequential bytes of all programs together: enough for windows of 64 MiB to be a part of it, and simulated
/// in seconds.
const SEQUENTIAL_BYTES: u64 = 1 << 30;
/// Sequential bytes of one program at least and at most.
const STREAM_BYTES: (u64, u64) = (16 << 20, 512 << 20);
/// Random reads of all programs together: 99 of 100 of so many is a figure, and a disk with an arm has them
/// simulated in a second.
const RANDOM_READS: u64 = 20_000;
/// Reads of a program where there are only random ones.
const READS_ONLY_RANDOM: u64 = 2_000;
/// What a program has without the buffer of its reads: tables of pages, stack, data of its libraries. The bench's
/// readers have that: of 64 with reads of 128 KiB a guest counted 24 MiB. A larger program leaves less to the cache.
const PROGRAM_BYTES: u64 = 256 << 10;
/// A file system with space begins large files at such a multiple, as ext4 does. At any page, a read of 128 KiB would touch a page
/// of flash more than it fills, and 64 streams of flash were simulated a tenth slower than they are.
const FILE_ALIGNMENT: u64 = 128 << 10;
/// Where the programs' places come from.
const SEED: u64 = 1;

/// The file with the random places is so many times as large as the memory, so that few of them are there, and
/// within what can be written in a minute.
const RANDOM_OF_MEMORY: u64 = 4;
const RANDOM_BYTES: (u64, u64) = (1 << 30, 4 << 30);

/// Bytes of the file with the random places where it is written for the purpose, beside `memory_bytes` of memory.
pub(super) fn random_bytes(memory_bytes: u64) -> u64 {
    let (least, most) = RANDOM_BYTES;
    memory_bytes
        .saturating_mul(RANDOM_OF_MEMORY)
        .clamp(least, most)
}

/// `workload` over files that were written one after another to a guest's disk of so many bytes. A request of flash that begins at
/// an odd page touches one of its pages more: with all files at even ones, 16 streams were simulated at 1638 MB/s and had 1565.
pub(super) fn job_in_guest(workload: &Workload, disk_bytes: u64) -> Job {
    let mut files = workload.files();
    let mut disk = Ext4::made(disk_bytes);
    for file in &mut files {
        let Some(pieces) = disk.place_whole(file.bytes) else {
            continue;
        };
        let pieces = pieces.into_iter().map(|(block, blocks)| Piece {
            pages: blocks,
            offset: block * PAGE_BYTES,
        });
        file.layout = Layout::Pieces {
            pieces: pieces.collect(),
        };
    }
    workload.job_over(files, SEED)
}

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Mix {
    /// Programs.
    pub streams: u64,
    /// Random reads of a thousand.
    pub random_permille: u64,
    /// Bytes of a read.
    pub request_bytes: u64,
    /// Bytes per second that a program takes at most.
    pub bytes_per_second_max: Option<u64>,
}

impl Mix {
    /// The mix over a disk of `capacity` bytes, all of which is the file with the random places.
    pub(super) fn workload(&self, capacity: u64) -> Workload {
        let mix = Workload::Mix {
            streams: self.streams,
            reads: self.reads(capacity),
            read_kib: self.request_bytes >> 10,
            random_permille: self.random_permille,
            random_mib: capacity >> 20,
        };
        match self.rest_us() {
            0 => mix,
            think_us => Workload::Paced {
                work: Box::new(mix),
                compute_us: 0,
                think_us,
            },
        }
    }

    /// The mix with its files spread over a disk of `capacity` bytes: each somewhere in a part of its own. Were all of
    /// them alike on the stripes of an array, windows would be told apart that are not elsewhere.
    pub(super) fn job(&self, capacity: u64) -> Job {
        let workload = self.workload(capacity);
        let part = capacity / self.streams.max(1) / FILE_ALIGNMENT * FILE_ALIGNMENT;
        let mut files = workload.files();
        for (number, file) in (0..).zip(&mut files) {
            let is_own = number < self.streams && self.random_permille < 1000;
            let offset = if is_own {
                part * number + below(SEED, number, part.saturating_sub(file.bytes))
            } else {
                0
            };
            file.layout = Layout::At {
                offset: offset / FILE_ALIGNMENT * FILE_ALIGNMENT,
            };
        }
        workload.job_over(files, SEED)
    }

    /// Whether how fast streams are read decides when it ends: not where they rest, and not where there are none.
    pub(super) const fn is_read_in_streams(&self) -> bool {
        self.random_permille < 1000 && self.bytes_per_second_max.is_none()
    }

    /// What the programs have for themselves, of the memory that they share with the page cache.
    pub(super) fn own_bytes(&self) -> u64 {
        (self.request_bytes + PROGRAM_BYTES).saturating_mul(self.streams)
    }

    /// The file with the random places, by its number; without one every read counts.
    pub(super) fn random_file(&self) -> Option<u32> {
        let own = if self.random_permille < 1000 {
            self.streams
        } else {
            0
        };
        let number = u32::try_from(own).ok()?;
        (self.random_permille > 0).then_some(number)
    }

    /// What all programs read together, over a disk of `capacity` bytes.
    pub(super) fn bytes(&self, capacity: u64) -> u64 {
        let reads = self.reads(capacity).saturating_mul(self.streams);
        reads.saturating_mul(self.request_bytes)
    }

    /// Reads of one program, the random ones included.
    fn reads(&self, capacity: u64) -> u64 {
        if self.random_permille >= 1000 {
            return READS_ONLY_RANDOM;
        }
        let (least, most) = STREAM_BYTES;
        let mut bytes = (SEQUENTIAL_BYTES / self.streams).clamp(least, most);
        let beside = RANDOM_READS * (1000 - self.random_permille);
        if let Some(sequential) = beside.checked_div(self.random_permille * self.streams) {
            bytes = bytes.min(sequential * self.request_bytes).max(least);
        }
        let bytes = bytes.min(capacity / self.streams);
        let sequential = (bytes / self.request_bytes).max(1);
        sequential + sequential * self.random_permille / (1000 - self.random_permille)
    }

    /// Pause after each read of a program that takes no more.
    fn rest_us(&self) -> u64 {
        let rate = self.bytes_per_second_max.unwrap_or(u64::MAX);
        let us = u128::from(self.request_bytes) * 1_000_000 / u128::from(rate.max(1));
        u64::try_from(us).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use ahead_workload::Step;

    use super::*;

    const MIX: Mix = Mix {
        streams: 8,
        random_permille: 300,
        request_bytes: 128 << 10,
        bytes_per_second_max: None,
    };

    #[test]
    fn each_program_reads_its_part_and_random_places_beside() {
        let Workload::Mix { reads, .. } = MIX.workload(256 << 30) else {
            panic!("no rate")
        };
        assert_eq!(reads, 1024 + 438, "128 MiB each, and 3 of 10 beside");
        assert_eq!(MIX.random_file(), Some(8));
        let scans = Mix {
            random_permille: 0,
            ..MIX
        };
        assert_eq!(scans.random_file(), None);
        let lookups = Mix {
            random_permille: 1000,
            ..MIX
        };
        assert_eq!(lookups.random_file(), Some(0));
        assert_eq!(lookups.job(256 << 30).files.len(), 1);
    }

    #[test]
    fn a_program_with_a_rate_rests_after_each_read() {
        let mix = Mix {
            bytes_per_second_max: Some(128 << 10),
            ..MIX
        };
        let mut job = mix.job(256 << 30);
        let program = &mut job.processes[3].groups[0].program;
        program.step();
        assert_eq!(program.step(), Some(Step::Think { ns: 1_000_000_000 }));
    }

    #[test]
    fn every_file_lies_on_the_disk() {
        for streams in [1, 8, 1024] {
            let capacity = 2 << 30;
            let job = Mix { streams, ..MIX }.job(capacity);
            assert_eq!(job.files.len() as u64, streams + 1);
            for file in &job.files {
                let Layout::At { offset } = file.layout else {
                    panic!("{file:?}")
                };
                assert!(offset + file.bytes <= capacity, "{file:?}");
                assert_eq!(offset % FILE_ALIGNMENT, 0, "{file:?}");
            }
        }
    }
}
