//! How far streams through the page cache really come, by the ladder of a measurement, beside what is simulated of them.
//!
//! The simulation has the disk that was measured, and of what the kernel and a virtual machine add to each request only
//! what is usual. Where a disk brings gigabytes per second that addition is most of the time of a small window: one stream
//! under 128 KiB was simulated at 3.0 GB/s and had 2.0, and under 8 MiB at 4.2 and had 3.6, so that a window was
//! recommended with which it was a fifth slower than with another. The ladder has read so; each of its points says by how
//! much the simulation is off at that window, and what lies between two of them is taken to lie between.

use std::collections::BTreeMap;

use ahead_device::measurement::ladder::{LadderPoint, LadderWork};
use ahead_device::measurement::statistics::{Spanned, permille};
use ahead_study::parallel;

/// One number of streams at one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rung {
    pub(super) window_kib: u64,
    pub(super) streams: u32,
    measured: Spanned,
}

/// Measured by simulated rates, in thousandths, by window in KiB. Empty: as simulated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Correction {
    permille: BTreeMap<u64, u64>,
}

impl Correction {
    /// For so many streams; `simulate` says at which rate those of a rung are simulated, in bytes per second.
    ///
    /// # Errors
    /// Those of `simulate`.
    pub(super) fn of<E: Send>(
        ladder: &[LadderPoint],
        streams: u64,
        simulate: impl Fn(&Rung) -> Result<u64, E> + Sync,
    ) -> Result<Self, E> {
        let rungs = nearest(ladder, streams);
        let rates: Vec<u64> = parallel::map(&rungs, simulate)
            .into_iter()
            .collect::<Result<_, _>>()?;
        Ok(Self::between(rungs.iter().zip(rates)))
    }

    /// Of rungs with what is simulated of them. What lies within the spread of the measurement is not off.
    fn between<'a>(rungs: impl Iterator<Item = (&'a Rung, u64)>) -> Self {
        let permille = rungs.map(|(rung, simulated)| {
            let Spanned { value, low, high } = rung.measured;
            let off = if (low..=high).contains(&simulated) {
                1000
            } else {
                permille(value, simulated.max(1)).max(1)
            };
            (rung.window_kib, off)
        });
        let permille: BTreeMap<u64, u64> = permille.collect();
        if permille.values().all(|off| *off == 1000) {
            return Self::default();
        }
        Self { permille }
    }

    /// At this window: as on the nearest rung beyond the ends, and between two of them by the steps from the one to the
    /// other, in which a window doubles.
    pub(super) fn permille_at(&self, window_kib: u64) -> u64 {
        let below = self.permille.range(..=window_kib).next_back();
        let above = self.permille.range(window_kib..).next();
        match (below, above) {
            (Some((low_kib, low)), Some((high_kib, high))) if low_kib < high_kib => {
                let doubled = |to: u64| u64::from(to.max(1).ilog2() - low_kib.max(&1).ilog2());
                let (steps, all) = (doubled(window_kib), doubled(*high_kib).max(1));
                (low * all.saturating_sub(steps) + high * steps) / all
            }
            (Some((_, off)), _) | (None, Some((_, off))) => *off,
            (None, None) => 1000,
        }
    }

    /// By window in KiB, ascending; empty where nothing is off.
    pub(super) const fn rungs(&self) -> &BTreeMap<u64, u64> {
        &self.permille
    }
}

/// The points of the number of streams that is the nearest of those measured under two windows at least, or else of all. Many streams are not
/// measured under large windows, as these would not be full in time; what is one stream's there is not theirs: eight of a disk
/// that brings one 16 % more under 8 MiB than under 1 MiB got 6 % less.
fn nearest(ladder: &[LadderPoint], streams: u64) -> Vec<Rung> {
    let mut ladders: BTreeMap<u32, Vec<Rung>> = BTreeMap::new();
    for point in ladder.iter().filter(|point| point.is_sure()) {
        if let LadderWork::Streams(streams) = point.work {
            ladders.entry(streams).or_default().push(Rung {
                window_kib: point.window_kib,
                streams,
                measured: point.bytes_per_second,
            });
        }
    }
    let nearest = ladders.into_iter().min_by_key(|(count, rungs)| {
        let (one, other) = (u64::from(*count).max(1), streams.max(1));
        let distance = permille(one.max(other), one.min(other));
        (rungs.len() < 2, distance)
    });
    nearest.map(|(_, rungs)| rungs).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(window_kib: u64, work: LadderWork, megabytes: [u64; 3]) -> LadderPoint {
        let [low, value, high] = megabytes.map(|one| one * 1_000_000);
        LadderPoint {
            window_kib,
            work,
            bytes_per_second: Spanned { value, low, high },
            repeats: 3,
            p50_ns: 0,
            p99_ns: 0,
        }
    }

    /// Of the disk of a virtual machine, as measured on 2026-11-26.
    fn ladder() -> Vec<LadderPoint> {
        vec![
            point(128, LadderWork::Streams(1), [1823, 1980, 2073]),
            point(128, LadderWork::Streams(8), [2908, 2962, 3010]),
            point(128, LadderWork::Streams(64), [3019, 3150, 3182]),
            point(128, LadderWork::Random(4096), [74, 79, 79]),
            point(1024, LadderWork::Streams(1), [2703, 2922, 2958]),
            point(1024, LadderWork::Streams(8), [3507, 3569, 3617]),
            point(8192, LadderWork::Streams(1), [3053, 3639, 3710]),
        ]
    }

    /// One stream of it, where so many MB/s are simulated.
    fn beside_one_stream(megabytes: [u64; 3]) -> Correction {
        let rungs = nearest(&ladder(), 1);
        Correction::between(rungs.iter().zip(megabytes.map(|one| one * 1_000_000)))
    }

    #[test]
    fn the_ladder_is_that_of_the_nearest_number_of_streams_with_two_windows() {
        let of = |streams| {
            let rungs = nearest(&ladder(), streams).into_iter();
            rungs.map(|one| one.streams).collect::<Vec<_>>()
        };
        assert_eq!(of(1), [1, 1, 1]);
        assert_eq!(of(6), [8, 8]);
        assert_eq!(of(1000), [8, 8], "64 were measured under one window");
        assert!(nearest(&[], 1).is_empty());
    }

    /// The same disk, read for so long that memory had to be had from the host anew.
    #[test]
    fn a_point_whose_repeats_differ_says_nothing() {
        let mut ladder = ladder();
        ladder[6] = point(8192, LadderWork::Streams(1), [300, 568, 1380]);
        let rungs = nearest(&ladder, 1).into_iter();
        let windows: Vec<u64> = rungs.map(|one| one.window_kib).collect();
        assert_eq!(windows, [128, 1024]);
    }

    /// One of three repeats under 8 MiB went through memory that the host had to give first: without the point, 1 MiB was recommended,
    /// which is 4 % slower.
    #[test]
    fn a_point_of_which_two_repeats_agree_is_believed() {
        let mut ladder = ladder();
        ladder[6] = point(8192, LadderWork::Streams(1), [2190, 3565, 3620]);
        assert_eq!(nearest(&ladder, 1).len(), 3);
    }

    #[test]
    fn between_two_rungs_it_is_between_and_beyond_them_as_at_the_end() {
        let found = beside_one_stream([3960, 3896, 3639]);
        assert_eq!(
            found.rungs().clone(),
            [(128, 500), (1024, 750), (8192, 1000)].into()
        );
        for (kib, off) in [
            (0, 500),
            (4, 500),
            (128, 500),
            (256, 583),
            (512, 666),
            (1024, 750),
        ] {
            assert_eq!(found.permille_at(kib), off, "{kib}");
        }
        assert_eq!(
            (found.permille_at(2048), found.permille_at(65536)),
            (833, 1000)
        );
        assert_eq!(found.permille_at(200), 500, "no whole step from 128");
    }

    /// A disk that is simulated well: noise is not put into what is recommended.
    #[test]
    fn what_lies_within_the_spread_is_left_as_simulated() {
        let found = beside_one_stream([1830, 2957, 3100]);
        assert_eq!(found, Correction::default());
        assert_eq!(found.permille_at(128), 1000);
    }
}
