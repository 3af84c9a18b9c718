//! Workloads by seed: patterns, sizes and neighbours that were not chosen with a policy in mind.
//!
//! The plans are what people do, and whoever tunes a number has them in mind. A generated workload
//! is one to three kinds of work side by side, each with sizes of its own; some of the programs
//! compute between their reads. All of it is limited by the disk or by the program, none by a
//! clock, so that its time says something.

use crate::random::Chance;
use crate::{Course, Draw, Form, Variation, Workload};

/// A workload of one to three works; the same seed makes the same.
#[must_use]
pub fn generated(seed: u64) -> Workload {
    let mut chance = Chance::new(seed);
    let works = [1, 1, 2, 2, 3][chance.place(5)];
    let mut works: Vec<Workload> = (0..works).map(|_| work(&mut chance)).collect();
    if works.len() == 1 {
        works.remove(0)
    } else {
        Workload::Together { works }
    }
}

/// Reads at odd places of one file: one form, with sizes of its own. The same seed makes the same. None of them
/// is in [`generated()`], whose results would be others.
#[must_use]
pub fn odd(seed: u64) -> Workload {
    let mut chance = Chance::new(seed);
    let form = Form::ALL[chance.place(Form::ALL.len())];
    let read_bytes = match chance.below(3) {
        0 => chance.power(9, 18),
        1 => chance.between(512, 20_000),
        _ => chance.between(20_000, 300_000),
    };
    let part = chance.power(9, 18);
    let step_bytes = read_bytes * chance.between(1, 12) + chance.below(part);
    // From a few bytes to more than a step.
    let varied_bytes = match chance.below(4) {
        0 => chance.below(512),
        1 => chance.below(4096),
        2 => 4096 * chance.between(1, 8),
        _ => chance.below(step_bytes + step_bytes / 2),
    };
    // A few thousand reads at most.
    let reads = chance.between(500, 4000);
    let file_mib = ((reads * step_bytes) >> 20).clamp(8, 1024);
    let work = Workload::Odd {
        file_mib,
        form,
        read_bytes,
        step_bytes,
        varied_bytes,
        group: chance.between(2, 40),
        backward: chance.below(4) == 0,
    };
    paced(work, &mut chance)
}

/// A quarter of all works compute.
fn paced(work: Workload, chance: &mut Chance) -> Workload {
    if chance.below(4) > 0 {
        return work;
    }
    Workload::Paced {
        work: Box::new(work),
        compute_us: chance.power(4, 10),
        think_us: 0,
    }
}

/// One kind of work.
fn work(chance: &mut Chance) -> Workload {
    let work = match chance.below(12) {
        0 => Workload::Phases {
            works: (0..chance.between(2, 4)).map(|_| phase(chance)).collect(),
        },
        _ => kind(chance),
    };
    paced(work, chance)
}

/// Of any length in pages as often as a power of two.
fn read_kib(chance: &mut Chance) -> u64 {
    match chance.below(2) {
        0 => chance.power(2, 9),
        _ => 4 * chance.between(1, 40),
    }
}

/// From 512 bytes to 8 MiB, a third of them no multiple of anything.
fn read_bytes(chance: &mut Chance) -> u64 {
    match chance.below(3) {
        0 => chance.between(512, 200_000),
        1 => chance.power(12, 19),
        _ => chance.power(9, 23),
    }
}

fn variation(chance: &mut Chance) -> Variation {
    [
        Variation::Fixed,
        Variation::Jittered,
        Variation::Geometric,
        Variation::Heavy,
        Variation::Cycle,
    ][chance.place(5)]
}

/// Runs of reads: at least two reads each in the mean, so that there is something to foresee.
fn runs(chance: &mut Chance, files: u64) -> Workload {
    let read_bytes = read_bytes(chance);
    let course = [
        Course::Forward,
        Course::Forward,
        Course::Backward,
        Course::Turning,
    ][chance.place(4)];
    Workload::Runs {
        file_mib: chance.between(32, 192) / files + 1,
        read_bytes,
        run_kib: chance.power(5, 14).max(read_bytes / 512),
        lengths: variation(chance),
        gap_kib: chance.power(3, 14),
        gaps: variation(chance),
        course,
        files,
        passes: [1, 1, 1, 2][chance.place(4)],
        footer: chance.below(4) == 0,
    }
}

/// A work of one task and one descriptor.
fn phase(chance: &mut Chance) -> Workload {
    let file_mib = chance.between(16, 96);
    let read_kib = read_kib(chance);
    match chance.below(6) {
        0 => Workload::Sequential {
            file_mib,
            read_kib,
            passes: chance.between(1, 2),
        },
        1 => Workload::Backward { file_mib, read_kib },
        2 => Workload::Strided {
            file_mib,
            read_kib,
            period_kib: read_kib * chance.between(2, 12) + 4 * chance.below(4),
            part_period: false,
        },
        3 => Workload::Random {
            file_mib,
            read_kib: 4 * chance.between(1, 8),
            reads: chance.between(50, 1500),
        },
        4 => leaves(chance),
        _ => runs(chance, 1),
    }
}

fn leaves(chance: &mut Chance) -> Workload {
    Workload::Leaves {
        file_mib: chance.between(32, 192),
        read_kib: chance.power(2, 5),
        percent: chance.between(60, 100),
        every: chance.between(2, 400),
        ahead_kib: chance.power(3, 13),
        behind: chance.below(3) == 0,
        backward: chance.below(2) == 0,
    }
}

fn kind(chance: &mut Chance) -> Workload {
    let file_mib = chance.between(32, 192);
    let read_kib = read_kib(chance);
    let many = match chance.below(4) {
        0 => chance.between(24, 64),
        _ => chance.between(2, 24),
    };
    match chance.below(21) {
        0 => Workload::Sequential {
            file_mib,
            read_kib,
            passes: chance.between(1, 2),
        },
        1 => Workload::Backward { file_mib, read_kib },
        2 => Workload::Strided {
            file_mib,
            read_kib,
            period_kib: read_kib * chance.between(2, 12) + 4 * chance.below(4),
            part_period: false,
        },
        3 => Workload::Interleaved {
            file_mib,
            streams: many,
            read_kib,
        },
        4 => Workload::Separate {
            file_mib: 1 + file_mib / many,
            streams: many,
            read_kib,
        },
        5 => Workload::Threads {
            file_mib,
            threads: many,
            read_kib,
            own_descriptors: chance.below(2) == 0,
        },
        6 => Workload::Server {
            file_mib,
            daemons: 8,
            read_kib,
            shuffle: chance.power(1, 4),
            draw: Draw::Plan,
        },
        7 => Workload::Reopen {
            file_mib,
            read_kib,
            every_kib: read_kib * many,
            closes: true,
        },
        8 => Workload::Bursts {
            file_mib: 4 * file_mib,
            read_kib,
            burst: many,
            bursts: 150,
        },
        9 => Workload::Mixed {
            file_mib,
            read_kib,
            run: chance.between(1, 16),
            random_kib: 4 * chance.between(1, 8),
            draw: Draw::Plan,
        },
        10 => Workload::Sparse {
            file_mib,
            percent: chance.between(10, 95),
        },
        11 => Workload::Merge {
            file_mib: 1 + file_mib / many,
            runs: many,
            read_kib,
        },
        12 => Workload::SmallFiles {
            files: 200,
            file_kib: chance.between(8, 600),
            read_kib,
        },
        13 => Workload::Readers {
            file_mib: 1 + file_mib / many,
            readers: many,
            read_kib,
        },
        14 => Workload::Rates {
            file_mib,
            streams: many,
            read_kib,
        },
        15 => leaves(chance),
        16 => Workload::Sizes {
            file_mib,
            factor_max: chance.power(1, 8),
        },
        17 => runs(chance, many),
        _ => runs(chance, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Step;
    use crate::steps::MOST_READS;

    #[test]
    fn the_same_seed_makes_the_same_workload_and_another_seed_another() {
        let all: Vec<Workload> = (0..64).map(generated).collect();
        assert_eq!(all, (0..64).map(generated).collect::<Vec<_>>());
        let differ = all.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert_eq!(differ, 63);
    }

    #[test]
    fn odd_reads_have_every_form_and_lie_inside_their_file() {
        let mut forms = std::collections::HashSet::new();
        for seed in 0..400 {
            let works = odd(seed);
            let odd = match &works {
                Workload::Paced { work, .. } => work,
                work => work,
            };
            let Workload::Odd { form, .. } = odd else {
                panic!("{seed}: {odd:?}");
            };
            forms.insert(*form);
            let mut job = works.job(seed);
            let bytes = job.files[0].bytes;
            let program = &mut job.processes[0].groups[0].program;
            let steps: Vec<Step> = std::iter::from_fn(|| program.step()).collect();
            let mut reads = 0;
            for step in steps {
                if let Step::Read { offset, length, .. } = step {
                    assert!(length > 0 && offset + length <= bytes, "{seed}: {step:?}");
                    reads += 1;
                }
            }
            assert!(
                (2..=MOST_READS).contains(&reads),
                "{seed}: {reads} reads, {works:?}"
            );
        }
        assert_eq!(forms.len(), Form::ALL.len());
    }

    #[test]
    fn a_generated_workload_has_files_and_programs() {
        for seed in 0..64 {
            let job = generated(seed).job(seed);
            assert!(!job.files.is_empty() && !job.processes.is_empty(), "{seed}");
        }
    }
}
