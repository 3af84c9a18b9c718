//! What a ladder reads, under which windows, and for how long.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

/// One read of a stream.
pub const STREAM_READ_BYTES: u64 = 128 << 10;
/// Windows of a stream that are in memory at most: the one that is read and the next one.
const WINDOWS_AT_ONCE: u64 = 2;
/// Part of a run in which all windows have to be full.
const FILLING_PARTS: u64 = 4;
/// Repeats of every run.
pub(super) const REPEATS: usize = 3;
/// And of streams whose repeats differ at most, while runs are to spare.
pub(super) const REPEATS_MAX: usize = 12;
/// A run is no shorter than this where there is a smaller ladder.
const RUN_NS_MIN: u64 = 1_000_000_000;
/// A run is no shorter than this at all: less is over before the window has grown.
const RUN_NS_LEAST: u64 = 100_000_000;

/// What is read in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LadderWork {
    /// So many sequential readers, each with a part of its own.
    Streams(u32),
    /// One reader of so many bytes at random places.
    Random(u64),
}

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LadderPlan {
    /// Windows, in KiB.
    pub windows_kib: Vec<u64>,
    /// What is read at each of them.
    pub works: Vec<LadderWork>,
    /// Length of a run, in nanoseconds.
    pub run_ns: u64,
    /// Bytes of a run at most.
    pub run_bytes_max: u64,
}

/// Where it is run.
#[derive(Clone, Copy)]
pub struct LadderPlace<'a> {
    /// What is read.
    pub path: &'a Path,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Its bandwidth, for the time in which windows fill.
    pub bytes_per_second: u64,
    /// Waits until nothing is being read ahead any more.
    pub settle: &'a dyn Fn(),
    /// To end soon.
    pub stop: &'a AtomicBool,
}

impl LadderPlan {
    /// Whether all windows of `work` are full soon enough.
    pub(super) fn fills(&self, work: LadderWork, window_kib: u64, bytes_per_second: u64) -> bool {
        let LadderWork::Streams(streams) = work else {
            return true;
        };
        let filled =
            u128::from(window_kib << 10) * u128::from(u64::from(streams) * WINDOWS_AT_ONCE);
        let bytes = filled * u128::from(FILLING_PARTS);
        let passes = u128::from(bytes_per_second) * u128::from(self.run_ns) / 1_000_000_000;
        bytes <= passes && bytes <= u128::from(self.run_bytes_max)
    }

    /// How often windows are set while nothing is repeated more often.
    #[must_use]
    pub const fn windows_set(&self) -> usize {
        self.windows_kib.len() * self.works.len() * REPEATS
    }
}

/// The largest ladder of which each run gets its time; `None` where there is too little of it for any.
#[must_use]
pub fn plan(time_ns: u64, bytes: u64, size_bytes: u64) -> Option<LadderPlan> {
    let doubled = |from: u64, to: u64, times: u64| -> Vec<u64> {
        let all = std::iter::successors(Some(from), move |one| Some(one * times));
        all.take_while(|one| *one <= to).collect()
    };
    let ladders = [
        (doubled(64, 65536, 2), doubled(1, 64, 2), doubled(4, 128, 2)),
        (doubled(128, 32768, 4), doubled(1, 64, 4), vec![4, 32, 128]),
        (doubled(128, 8192, 8), doubled(1, 64, 8), vec![4, 128]),
    ];
    let of = |(windows_kib, streams, random): (Vec<u64>, Vec<u64>, Vec<u64>)| {
        let streams = streams
            .into_iter()
            .filter(|streams| size_bytes / streams >= 2 * STREAM_READ_BYTES)
            .filter_map(|streams| u32::try_from(streams).ok())
            .map(LadderWork::Streams);
        let random = random.into_iter().map(|kib| LadderWork::Random(kib << 10));
        let works: Vec<_> = streams.chain(random).collect();
        let runs = (windows_kib.len() * works.len() * REPEATS).max(1) as u64;
        LadderPlan {
            windows_kib,
            works,
            run_ns: time_ns / runs,
            run_bytes_max: bytes / runs,
        }
    };
    let mut ladders = ladders.into_iter().map(of);
    let last = ladders.next_back()?;
    let large = ladders.find(|ladder| ladder.run_ns >= RUN_NS_MIN);
    large.or(Some(last)).filter(|it| it.run_ns >= RUN_NS_LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn more_time_makes_a_finer_ladder_and_too_little_none() {
        let rungs = |seconds: u64| {
            let plan = plan(seconds * SECOND_NS, 1 << 40, 1 << 40)?;
            Some((plan.windows_kib.len(), plan.works.len()))
        };
        assert_eq!(rungs(3), None);
        assert_eq!(rungs(24), Some((3, 5)));
        assert_eq!(rungs(120), Some((5, 7)));
        assert_eq!(rungs(1000), Some((11, 13)));
    }

    #[test]
    fn the_runs_together_keep_to_the_bounds() {
        let plan = plan(24 * SECOND_NS, 1 << 30, 1 << 30).unwrap();
        let runs = (plan.windows_kib.len() * plan.works.len() * REPEATS) as u64;
        assert!(plan.run_ns * runs <= 24 * SECOND_NS);
        assert!(plan.run_bytes_max * runs <= 1 << 30);
    }

    /// 64 streams with 8 MiB take 8 s to fill at 125 MB/s.
    #[test]
    fn windows_that_do_not_fill_in_a_run_are_left_out() {
        let plan = LadderPlan {
            windows_kib: Vec::new(),
            works: Vec::new(),
            run_ns: SECOND_NS,
            run_bytes_max: 1 << 40,
        };
        let fills = |streams, kib| plan.fills(LadderWork::Streams(streams), kib, 125_000_000);
        assert!(fills(1, 8192) && fills(64, 128));
        assert!(!fills(64, 8192) && !fills(4, 8192));
        assert!(plan.fills(LadderWork::Random(4096), 1 << 20, 1));
    }
}
