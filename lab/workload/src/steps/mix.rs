//! Processes that read a file each from start to end, and in between, evenly spread, at random places of one
//! more file that they share.

use super::parts::{read, slot};
use crate::random::below;
use crate::{FileSpec, Process, Step};

/// Of so many reads of a process those of its own file, and those at random places.
pub(super) fn reads(all: u64, random_permille: u64) -> (u64, u64) {
    let random = u128::from(all) * u128::from(random_permille.min(1000)) / 1000;
    let random = u64::try_from(random).unwrap_or(all);
    (all - random, random)
}

/// `files` are those of the processes, and behind them the shared one; what no read goes to is not there.
pub(super) fn mix(
    files: &[FileSpec],
    streams: u64,
    all: u64,
    random_permille: u64,
    length: u64,
    seed: u64,
) -> Vec<Process> {
    let (sequential, random) = reads(all, random_permille);
    let own = if sequential > 0 { slot(streams) } else { 0 };
    let bytes = |number: u32| {
        let file = files.get(usize::try_from(number).unwrap_or(usize::MAX));
        file.map_or(0, |file| file.bytes)
    };
    let process = |number: u32| {
        let mut open: Vec<u32> = (own > 0).then_some(number).into_iter().collect();
        open.extend((random > 0).then_some(own));
        let sequential = sequential.min(bytes(number) / length);
        let program = MixProgram {
            random_slot: if own > 0 { 1 } else { 0 },
            sequential: if own > 0 { sequential } else { 0 },
            all: if own > 0 { sequential + random } else { random },
            length,
            places: bytes(own) / length,
            seed: seed.wrapping_add(u64::from(number)),
            next: 0,
        };
        Process::new(format!("stream {number}"), open, program)
    };
    (0..slot(streams)).map(process).collect()
}

/// The reads of one process.
#[derive(Clone)]
struct MixProgram {
    random_slot: u32,
    sequential: u64,
    all: u64,
    length: u64,
    places: u64,
    seed: u64,
    next: u64,
}

impl Iterator for MixProgram {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.next >= self.all {
            return None;
        }
        // Of the first n reads n · sequential / all are sequential, rounded down.
        let before = |reads: u64| {
            let share = u128::from(reads) * u128::from(self.sequential) / u128::from(self.all);
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        let (done, with_this) = (before(self.next), before(self.next + 1));
        let (from, place) = if with_this > done {
            (0, done)
        } else {
            let place = below(self.seed, self.next, self.places);
            (self.random_slot, place)
        };
        self.next += 1;
        Some(read(from, place * self.length, self.length))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Step, Workload};

    fn workload(random_permille: u64) -> Workload {
        Workload::Mix {
            streams: 8,
            reads: 1500,
            read_kib: 128,
            random_permille,
            random_mib: 1 << 18,
        }
    }

    fn reads_of_the_first(workload: &Workload) -> Vec<(u32, u64)> {
        let mut job = workload.job(1);
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
        let all = reads_of_the_first(&workload(300));
        assert_eq!(all.len(), 1500);
        let random = |reads: &[(u32, u64)]| reads.iter().filter(|read| read.0 == 1).count();
        assert_eq!(random(&all), 450);
        assert!(all.chunks_exact(10).all(|ten| random(ten).abs_diff(3) <= 1));
        let sequential: Vec<u64> = all.iter().filter(|it| it.0 == 0).map(|it| it.1).collect();
        let expected: Vec<u64> = (0..1050).map(|at| at << 17).collect();
        assert_eq!(sequential, expected, "each once, in order");
    }

    /// A file that no read goes to need not be there.
    #[test]
    fn the_ends_are_only_one_kind_with_its_own_files() {
        let scans = workload(0);
        assert_eq!(scans.files().len(), 8);
        assert_eq!(reads_of_the_first(&scans).len(), 1500);
        let lookups = workload(1000);
        assert_eq!(lookups.files().len(), 1);
        let all = reads_of_the_first(&lookups);
        assert!(all.len() == 1500 && all.iter().all(|read| read.0 == 0));
        assert!(all.iter().any(|read| read.1 > 1 << 37), "all over the file");
        assert!(lookups.job(1).processes.iter().all(|one| one.open == [0]));
    }

    #[test]
    fn over_shorter_files_there_are_as_many_reads_as_they_hold() {
        let mix = workload(300);
        let mut files = mix.files();
        files[0].bytes = 10 << 17;
        let mut job = mix.job_over(files, 1);
        let program = &mut job.processes[0].groups[0].program;
        let steps: Vec<Step> = std::iter::from_fn(|| program.step()).collect();
        let own = |step: &&Step| matches!(step, Step::Read { slot: 0, .. });
        assert_eq!(steps.iter().filter(own).count(), 10);
    }
}
