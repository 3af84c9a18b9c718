//! Through the page cache, at a ladder of windows: sequential streams and random reads, as programs have them.
//!
//! Each run opens its files anew, as a file keeps the window that it was opened with, and forgets what is cached
//! of the target first, when what was read ahead for the run before has arrived. Streams read parts of the target that do not overlap; a stream that comes to the end of
//! its part begins again with a run of its own, so no run reads what it has read before. What a stream has read it forgets, as a
//! small memory does: the pages that come next are those that went. Of a virtual machine a page that nobody has touched may have to be
//! fetched from its host, and a run through many of those measures that.
//! What counts is the second half of a run: in the first the windows grow. Streams whose windows fill no sooner
//! than in a quarter of a run are left out, as they would show the filling. Who sets the windows
//! and puts them back is the caller.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::num::NonZero;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::Advice;
use serde::{Deserialize, Serialize};

use super::plan::SMALL_BYTES;
use super::statistics::{Spanned, quantile};

/// One read of a stream.
pub const STREAM_READ_BYTES: u64 = 128 << 10;
/// Windows of a stream that are in memory at most: the one that is read and the next one.
const WINDOWS_AT_ONCE: u64 = 2;
/// Bytes that all streams together have behind them before each forgets its part. More, and they go through more memory than a small
/// one has.
const BEHIND_BYTES: u64 = 32 << 20;
/// And each of them at least: less, and it does little else.
const BEHIND_BYTES_MIN: u64 = 1 << 20;
/// Part of a run in which all windows have to be full.
const FILLING_PARTS: u64 = 4;
/// Repeats of every run.
const REPEATS: usize = 3;
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
    fn fills(&self, work: LadderWork, window_kib: u64, bytes_per_second: u64) -> bool {
        let LadderWork::Streams(streams) = work else {
            return true;
        };
        let filled =
            u128::from(window_kib << 10) * u128::from(u64::from(streams) * WINDOWS_AT_ONCE);
        let bytes = filled * u128::from(FILLING_PARTS);
        let passes = u128::from(bytes_per_second) * u128::from(self.run_ns) / 1_000_000_000;
        bytes <= passes && bytes <= u128::from(self.run_bytes_max)
    }
}

/// What one window did for one kind of reading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LadderPoint {
    /// The window, in KiB.
    pub window_kib: u64,
    /// What was read.
    pub work: LadderWork,
    /// Bytes per second that the readers got together, with the ends of the repeats.
    pub bytes_per_second: Spanned,
    /// Median time of a read, in nanoseconds, over all repeats.
    pub p50_ns: u64,
    /// 99 of 100 reads took no longer.
    pub p99_ns: u64,
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

/// Runs every kind of work at a window that is set already.
///
/// # Errors
/// The target cannot be opened or read.
pub fn run_at(
    window_kib: u64,
    plan: &LadderPlan,
    place: &LadderPlace<'_>,
) -> io::Result<Vec<LadderPoint>> {
    let mut points = Vec::new();
    let fills = |work: &&LadderWork| plan.fills(**work, window_kib, place.bytes_per_second);
    for work in plan.works.iter().filter(fills) {
        let mut rates = Vec::new();
        let mut latencies = Vec::new();
        for repeat in 0..REPEATS {
            if place.stop.load(Ordering::Relaxed) {
                return Ok(points);
            }
            let found = run(*work, plan, place, repeat as u64)?;
            rates.push(found.bytes_per_second);
            latencies.extend(found.latencies_ns);
        }
        latencies.sort_unstable();
        points.push(LadderPoint {
            window_kib,
            work: *work,
            bytes_per_second: Spanned::of(rates),
            p50_ns: quantile(&latencies, 500),
            p99_ns: quantile(&latencies, 990),
        });
    }
    Ok(points)
}

#[derive(Default)]
struct Run {
    /// In the second half, and of all readers together.
    bytes_per_second: u64,
    latencies_ns: Vec<u64>,
}

fn run(
    work: LadderWork,
    plan: &LadderPlan,
    place: &LadderPlace<'_>,
    repeat: u64,
) -> io::Result<Run> {
    let LadderPlace {
        path,
        size_bytes,
        stop,
        ..
    } = *place;
    (place.settle)();
    // Written pages stay: there are none of ours.
    rustix::fs::fadvise(File::open(path)?, 0, None, Advice::DontNeed)?;
    let readers = match work {
        LadderWork::Streams(streams) => u64::from(streams),
        LadderWork::Random(_) => 1,
    };
    let began = Instant::now();
    let half = Duration::from_nanos(plan.run_ns / 2);
    let until = began + half * 2;
    // Of all readers together: they take turns on some disks, and one that is ahead of the others at the end was
    // behind before.
    let bytes = AtomicU64::new(0);
    let second: OnceLock<(Instant, u64)> = OnceLock::new();
    let read = |number: u64| -> io::Result<Vec<u64>> {
        let file = File::open(path)?;
        let part = size_bytes / readers / SMALL_BYTES * SMALL_BYTES;
        let mut places = Reads::new(work, number * part, part, repeat);
        let mut buffer = vec![0; usize::try_from(places.bytes).unwrap_or(0)];
        let mut latencies_ns = Vec::new();
        let mut behind = Behind {
            most: (BEHIND_BYTES / readers).max(BEHIND_BYTES_MIN),
            start: None,
        };
        loop {
            let (now, so_far) = (Instant::now(), bytes.load(Ordering::Relaxed));
            if now >= began + half || so_far >= plan.run_bytes_max / 2 {
                second.get_or_init(|| (now, so_far));
            }
            let is_over = now >= until || so_far + places.bytes > plan.run_bytes_max;
            // One read at least, or there is nothing to say.
            if (is_over && !latencies_ns.is_empty()) || stop.load(Ordering::Relaxed) {
                return Ok(latencies_ns);
            }
            let Some(offset) = places.next() else {
                return Ok(latencies_ns);
            };
            file.read_exact_at(&mut buffer, offset)?;
            let took = now.elapsed().as_nanos();
            latencies_ns.push(u64::try_from(took).unwrap_or(u64::MAX));
            bytes.fetch_add(places.bytes, Ordering::Relaxed);
            if matches!(work, LadderWork::Streams(_)) {
                behind.forget(&file, offset, offset + places.bytes)?;
            }
        }
    };
    let parts: Vec<io::Result<Vec<u64>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..readers)
            .map(|number| {
                let read = &read;
                scope.spawn(move || read(number))
            })
            .collect();
        let joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined
            .map(|done| done.unwrap_or_else(|_| Err(io::Error::other("a reader panicked"))))
            .collect()
    });
    let (since, before) = second.get().copied().unwrap_or((began, 0));
    let counted = u128::from(bytes.load(Ordering::Relaxed) - before) * 1_000_000_000;
    let rate = counted / since.elapsed().as_nanos().max(1);
    let mut all = Run {
        bytes_per_second: u64::try_from(rate).unwrap_or(u64::MAX),
        ..Run::default()
    };
    for part in parts {
        all.latencies_ns.extend(part?);
    }
    Ok(all)
}

/// What a stream has read and not forgotten yet.
struct Behind {
    /// Bytes before it forgets them.
    most: u64,
    start: Option<u64>,
}

impl Behind {
    /// The stream has read from `start` to `end`, exclusive.
    fn forget(&mut self, file: &File, start: u64, end: u64) -> io::Result<()> {
        let from = *self.start.get_or_insert(start);
        if let Some(length) = NonZero::new(end.saturating_sub(from))
            && length.get() >= self.most
        {
            rustix::fs::fadvise(file, from, Some(length), Advice::DontNeed)?;
            self.start = Some(end);
        }
        Ok(())
    }
}

/// Places of one reader: `None` when its part is at its end.
struct Reads {
    start: u64,
    places: u64,
    bytes: u64,
    next: u64,
    random: Option<fastrand::Rng>,
}

impl Reads {
    /// Streams begin a third of their part further on with each repeat: the end of a part counts, and what lay
    /// at its start may still be in the disk's own cache.
    fn new(work: LadderWork, start: u64, part: u64, repeat: u64) -> Self {
        let (bytes, random) = match work {
            LadderWork::Streams(_) => (STREAM_READ_BYTES, None),
            LadderWork::Random(bytes) => (bytes, Some(fastrand::Rng::with_seed(repeat + 1))),
        };
        let places = part / bytes;
        let skipped = if random.is_some() {
            0
        } else {
            places / REPEATS as u64 * repeat
        };
        Self {
            start: start + skipped * bytes,
            places: places - skipped,
            bytes,
            next: 0,
            random,
        }
    }

    fn next(&mut self) -> Option<u64> {
        let place = match &mut self.random {
            Some(random) => (self.places > 0).then(|| random.u64(0..self.places))?,
            None if self.next < self.places => self.next,
            None => return None,
        };
        self.next += 1;
        Some(self.start + place * self.bytes)
    }
}

/// Points by what was read, windows ascending: the rows of a table.
#[must_use]
pub fn by_work(points: &[LadderPoint]) -> BTreeMap<LadderWork, Vec<&LadderPoint>> {
    let mut rows: BTreeMap<LadderWork, Vec<&LadderPoint>> = BTreeMap::new();
    for point in points {
        rows.entry(point.work).or_default().push(point);
    }
    rows
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

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

    #[test]
    fn streams_read_their_own_parts_once_and_random_reads_stay_inside() {
        let mut seen = Vec::new();
        for number in 0..4 {
            let mut reads = Reads::new(LadderWork::Streams(4), number << 20, 1 << 20, 1);
            seen.extend(std::iter::from_fn(|| reads.next()));
        }
        let count = seen.len();
        seen.dedup();
        assert_eq!(
            (count, seen.len()),
            (24, 24),
            "the last two thirds of eight"
        );
        assert!(seen.is_sorted() && *seen.last().unwrap() == (4 << 20) - STREAM_READ_BYTES);
        let mut reads = Reads::new(LadderWork::Random(4096), 0, 1 << 20, 2);
        let random: Vec<u64> = std::iter::from_fn(|| reads.next()).take(100).collect();
        assert!(random.iter().all(|at| *at < 1 << 20 && at % 4096 == 0));
        assert!(!random.is_sorted());
    }

    #[test]
    fn a_rung_is_run_on_a_file_and_every_work_has_a_point() {
        let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&vec![1; 16 << 20]).unwrap();
        let plan = LadderPlan {
            windows_kib: vec![128],
            works: vec![LadderWork::Streams(8), LadderWork::Random(4096)],
            run_ns: 50_000_000,
            run_bytes_max: 8 << 20,
        };
        let stop = AtomicBool::new(false);
        let place = LadderPlace {
            path: file.path(),
            size_bytes: 16 << 20,
            bytes_per_second: 1 << 40,
            settle: &|| (),
            stop: &stop,
        };
        let points = run_at(128, &plan, &place).unwrap();
        assert_eq!(points.len(), 2);
        assert!(points.iter().all(|one| one.bytes_per_second.value > 0));
        assert_eq!(by_work(&points).len(), 2);
        stop.store(true, Ordering::Relaxed);
        assert_eq!(run_at(128, &plan, &place).unwrap(), []);
    }
}
