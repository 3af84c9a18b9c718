//! Runs of reads with gaps between them, scans with strays elsewhere, streams of different rates.

use super::parts::{ascending, read, reads_in};
use crate::kinds::{Course, Variation};
use crate::random::{below, mix};
use crate::{FileSpec, Process, Program, Step};

/// Bytes that the footer and the header of a file have.
const FOOTER_BYTES: u64 = 16 << 10;
const HEADER_BYTES: u64 = 4 << 10;

/// Values of a [`Variation::Cycle`].
const CYCLE: u64 = 4;

/// Lengths or distances by number, around a mean.
#[derive(Clone, Copy)]
pub(super) struct Distance {
    bytes: u64,
    spread: Variation,
    seed: u64,
}

impl Distance {
    pub(super) const fn new(kib: u64, spread: Variation, seed: u64) -> Self {
        Self {
            bytes: kib * 1024,
            spread,
            seed,
        }
    }

    /// The one with this number.
    fn at(self, number: u64) -> u64 {
        let mean = self.bytes;
        let part = |position| below(self.seed, position, 1 << 16);
        match self.spread {
            Variation::Fixed => mean,
            Variation::Jittered => mean / 2 + ((mean * part(number)) >> 16),
            // −log₂ of chance, its fraction taken as linear; 3/2 in the mean.
            Variation::Geometric => {
                let zeros = u64::from(mix(self.seed ^ mix(number)).leading_zeros());
                let tenths = (zeros << 16) + (1 << 16) - part(number);
                mean * tenths / (3 << 15)
            }
            // Each doubling is half as likely, up to six of them; 4 in the mean.
            Variation::Heavy => {
                let zeros = mix(self.seed ^ mix(number)).leading_zeros().min(6);
                (mean << zeros) >> 2
            }
            Variation::Cycle => mean / 4 + ((mean * part(number % CYCLE) * 3) >> 17),
        }
    }
}

/// How a file is read in runs.
#[derive(Clone, Copy)]
pub(super) struct Runs {
    pub(super) read: u64,
    pub(super) run: Distance,
    pub(super) gap: Distance,
    pub(super) course: Course,
}

impl Runs {
    /// Reads of a file of `bytes`, the runs numbered from `first` on.
    fn reads(self, slot: u32, bytes: u64, first: u64) -> impl Iterator<Item = Step> + Clone {
        let mut place = 0;
        let run = move |number: u64| {
            let length = self.run.at(number).max(self.read);
            let start = place;
            place = start + length + self.gap.at(number);
            (start < bytes).then(|| (number, start, length.min(bytes - start)))
        };
        let runs = (first..).map_while(run);
        runs.flat_map(move |(number, start, length)| {
            let reads = reads_in(length, self.read);
            let turns = self.course == Course::Turning && number % 2 == 1;
            (0..reads).map(move |index| {
                let index = if turns { reads - 1 - index } else { index };
                let into = index * self.read;
                let length = self.read.min(length - into);
                let offset = match self.course {
                    // The same runs, counted from the end of the file.
                    Course::Backward => bytes - start - into - length,
                    Course::Forward | Course::Turning => start + into,
                };
                read(slot, offset, length)
            })
        })
    }
}

/// One task that reads `files` one after another, `passes` times. It opens and closes each where there are
/// several.
pub(super) fn process(files: &[FileSpec], runs: Runs, passes: u64, footer: bool) -> Process {
    let sizes: Vec<u64> = files.iter().map(|file| file.bytes).collect();
    let several = sizes.len() > 1;
    let program = (0..passes).flat_map(move |_| {
        let files = (0..).zip(sizes.clone());
        files.flat_map(move |(file, bytes): (u32, u64)| {
            let ends = footer.then(|| {
                let footer = FOOTER_BYTES.min(bytes);
                let header = HEADER_BYTES.min(bytes);
                [read(0, bytes - footer, footer), read(0, 0, header)]
            });
            let first = u64::from(file) << 32;
            let open = several.then_some(Step::Open { slot: 0, file });
            let close = several.then_some(Step::Close { slot: 0 });
            open.into_iter()
                .chain(ends.into_iter().flatten())
                .chain(runs.reads(0, bytes, first))
                .chain(close)
        })
    });
    let open_at_first = if several { Vec::new() } else { vec![0] };
    Process::new("runs", open_at_first, program)
}

/// Looks elsewhere, now and then.
#[derive(Clone, Copy)]
pub(super) struct Stray {
    pub(super) every: u64,
    pub(super) distance: u64,
    pub(super) behind: bool,
}

/// Reads in order with some left out, and strays at single pages.
pub(super) fn leaves(
    bytes: u64,
    length: u64,
    percent: u64,
    stray: Stray,
    backward: bool,
    seed: u64,
) -> impl Program {
    let leaves = bytes / length;
    let taken = (0..leaves).filter(move |leaf| below(seed, *leaf, 100) < percent);
    (0..)
        .zip(taken)
        .flat_map(move |(number, leaf): (u64, u64)| {
            let leaf = if backward { leaves - 1 - leaf } else { leaf };
            let offset = leaf * length;
            let looks = number % stray.every == stray.every - 1;
            let looks_down = backward != stray.behind;
            let place = if looks_down {
                offset.checked_sub(stray.distance)
            } else {
                Some(offset + stray.distance).filter(|place| *place < leaves * length)
            };
            let inner = place.filter(|_| looks).map(|place| read(0, place, length));
            [read(0, offset, length)].into_iter().chain(inner)
        })
}

/// Each next read comes from one of `streams` parts; part n as often as n + 1 does not divide.
pub(super) fn rates(bytes: u64, streams: u64, length: u64, seed: u64) -> impl Program {
    let part = bytes / streams / length * length;
    let mut left: Vec<_> = (0..streams)
        .map(|stream| (stream, ascending(0, stream * part, part, length)))
        .collect();
    let mut number = 0;
    std::iter::from_fn(move || {
        loop {
            // Weights 1, 1/2, 1/3 …, in parts of a million.
            let weight = |stream: u64| 1_000_000 / (stream + 1);
            let total = left.iter().map(|(stream, _)| weight(*stream)).sum();
            number += 1;
            let mut chance = below(seed, number, total);
            let chosen = left.iter().position(|(stream, _)| {
                let weight = weight(*stream);
                let is_here = chance < weight;
                chance = chance.saturating_sub(weight);
                is_here
            })?;
            match left[chosen].1.next() {
                Some(step) => return Some(step),
                None => drop(left.remove(chosen)),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(program: &mut dyn Program) -> Vec<(u64, u64)> {
        let steps = std::iter::from_fn(|| program.step());
        let reads = steps.filter_map(|step| match step {
            Step::Read { offset, length, .. } => Some((offset, length)),
            _ => None,
        });
        reads.collect()
    }

    fn runs(course: Course) -> Vec<(u64, u64)> {
        let runs = Runs {
            read: 1000,
            run: Distance::new(2, Variation::Fixed, 1),
            gap: Distance::new(3, Variation::Fixed, 1),
            course,
        };
        let files = [FileSpec::contiguous(10 << 10)];
        let mut process = process(&files, runs, 1, false);
        offsets(process.groups[0].program.as_mut())
    }

    #[test]
    fn runs_keep_their_length_and_their_gap() {
        let forward = [(0, 1000), (1000, 1000), (2000, 48)];
        let next = forward.map(|(offset, length)| (offset + 5120, length));
        assert_eq!(runs(Course::Forward), [forward, next].concat());
    }

    #[test]
    fn a_descending_course_is_the_mirror_of_the_ascending_one() {
        let mirrored: Vec<_> = runs(Course::Forward)
            .into_iter()
            .map(|(offset, length)| (10 * 1024 - offset - length, length))
            .collect();
        assert_eq!(runs(Course::Backward), mirrored);
    }

    #[test]
    fn spreads_have_the_mean_that_was_asked_for() {
        for spread in [
            Variation::Fixed,
            Variation::Jittered,
            Variation::Geometric,
            Variation::Heavy,
        ] {
            let distance = Distance::new(100, spread, 7);
            let mean = (0..10_000).map(|number| distance.at(number)).sum::<u64>() / 10_000;
            assert!((80 << 10..120 << 10).contains(&mean), "{spread:?}: {mean}");
        }
    }

    #[test]
    fn a_stray_lies_ahead_of_the_scan_or_behind_it() {
        let stray = Stray {
            every: 2,
            distance: 3 * 4096,
            behind: false,
        };
        let mut program = leaves(8 * 4096, 4096, 100, stray, false, 1);
        let pages: Vec<u64> = offsets(&mut program).iter().map(|it| it.0 / 4096).collect();
        assert_eq!(pages, [0, 1, 4, 2, 3, 6, 4, 5, 6, 7]);
    }

    #[test]
    fn parts_with_different_rates_are_all_read_once() {
        let mut places = offsets(&mut rates(64 * 4096, 4, 4096, 3));
        assert!(!places.is_sorted());
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 64);
    }
}
