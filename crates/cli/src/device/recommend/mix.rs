//! A mix of sequential and random reads as a job of the simulator.
//!
//! Each program reads a file of its own from start to end, and in between, evenly spread, so many of its reads go
//! to random places of the whole disk. The files lie evenly over the disk too. A mix has an end, which comes
//! when the last program has read its file: how soon is what windows are compared by.

use ahead_workload::random::below;
use ahead_workload::{FileSpec, Job, Layout, Process, Step};
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
    /// Files and programs on a disk of `capacity` bytes. The last file is the one with the random places.
    pub(super) fn job(&self, capacity: u64) -> Job {
        let streams = self.streams.max(1);
        let (sequential, random) = self.reads(capacity);
        let page = 1 << 12;
        let stream_bytes = sequential * self.request_bytes;
        let at = |number: u64| capacity / streams * number / page * page;
        let mut files: Vec<FileSpec> = (0..streams)
            .map(|number| FileSpec {
                bytes: stream_bytes,
                layout: Layout::At { offset: at(number) },
            })
            .collect();
        files.push(FileSpec {
            bytes: capacity / page * page,
            layout: Layout::At { offset: 0 },
        });
        let processes = (0..).take(usize::try_from(streams).unwrap_or(usize::MAX));
        let processes = processes.map(|number: u32| {
            let program = MixProgram {
                number: u64::from(number),
                sequential,
                all: sequential + random,
                request_bytes: self.request_bytes,
                places: (capacity / self.request_bytes).max(1),
                rest_ns: self.rest_ns(),
                next: 0,
                rests: false,
            };
            let whole = u32::try_from(streams).unwrap_or(u32::MAX);
            Process::new(format!("stream {number}"), vec![number, whole], program)
        });
        Job {
            processes: processes.collect(),
            files,
            ..Job::default()
        }
    }

    /// Sequential and random reads of one program.
    fn reads(&self, capacity: u64) -> (u64, u64) {
        if self.random_permille >= 1000 {
            return (0, READS_ONLY_RANDOM);
        }
        let (least, most) = STREAM_BYTES;
        let mut bytes = (SEQUENTIAL_BYTES / self.streams).clamp(least, most);
        let beside = RANDOM_READS * (1000 - self.random_permille);
        if let Some(sequential) = beside.checked_div(self.random_permille * self.streams) {
            bytes = bytes.min(sequential * self.request_bytes).max(least);
        }
        let bytes = bytes.min(capacity / self.streams);
        let sequential = (bytes / self.request_bytes).max(1);
        let random = sequential * self.random_permille / (1000 - self.random_permille);
        (sequential, random)
    }

    /// Pause after each read of a program that takes no more.
    fn rest_ns(&self) -> u64 {
        let rate = self.bytes_per_second_max.unwrap_or(u64::MAX);
        let ns = u128::from(self.request_bytes) * 1_000_000_000 / u128::from(rate.max(1));
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

/// The reads of one program.
#[derive(Clone)]
struct MixProgram {
    number: u64,
    sequential: u64,
    all: u64,
    request_bytes: u64,
    places: u64,
    rest_ns: u64,
    next: u64,
    rests: bool,
}

impl Iterator for MixProgram {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if std::mem::take(&mut self.rests) {
            return Some(Step::Think { ns: self.rest_ns });
        }
        if self.next >= self.all {
            return None;
        }
        // Of the first n reads n · sequential / all are sequential, rounded down.
        let before = |reads: u64| {
            let share = u128::from(reads) * u128::from(self.sequential) / u128::from(self.all);
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        let (done, with_this) = (before(self.next), before(self.next + 1));
        let place = if with_this > done {
            (0, done)
        } else {
            (1, below(self.number + 1, self.next, self.places))
        };
        self.next += 1;
        self.rests = self.rest_ns > 0;
        Some(Step::Read {
            slot: place.0,
            offset: place.1 * self.request_bytes,
            length: self.request_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIX: Mix = Mix {
        streams: 8,
        random_permille: 300,
        request_bytes: 128 << 10,
        bytes_per_second_max: None,
    };

    fn reads(mix: &Mix) -> Vec<(u32, u64)> {
        let mut job = mix.job(256 << 30);
        let program = &mut job.processes[0].groups[0].program;
        let steps = std::iter::from_fn(|| program.step());
        let read = |step: Step| match step {
            Step::Read { slot, offset, .. } => Some((slot, offset)),
            _ => None,
        };
        steps.filter_map(read).collect()
    }

    #[test]
    fn the_share_of_random_reads_is_as_said_and_evenly_spread() {
        let all = reads(&MIX);
        let random = |reads: &[(u32, u64)]| reads.iter().filter(|read| read.0 == 1).count();
        let share = random(&all) * 1000 / all.len();
        assert!(share.abs_diff(300) <= 1, "{share}");
        assert!(all.chunks_exact(10).all(|ten| random(ten).abs_diff(3) <= 1));
        let sequential: Vec<u64> = all.iter().filter(|it| it.0 == 0).map(|it| it.1).collect();
        let expected: Vec<u64> = (0..sequential.len() as u64).map(|at| at << 17).collect();
        assert_eq!(sequential, expected, "each once, in order");
    }

    #[test]
    fn the_ends_are_only_one_kind() {
        for (random_permille, slot) in [(0, 0), (1000, 1)] {
            let all = reads(&Mix {
                random_permille,
                ..MIX
            });
            assert!(all.len() >= 1000 && all.iter().all(|read| read.0 == slot));
        }
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
            }
        }
    }
}
