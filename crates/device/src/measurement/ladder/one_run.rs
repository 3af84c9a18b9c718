//! One run of the ladder: its readers begin with nothing in memory, and are counted in their second half.
//!
//! Each run opens its files anew, as a file keeps the window that it was opened with, and forgets what is cached
//! of the target first, when what was read ahead for the run before has arrived. Streams read parts of the target that do not overlap; a stream that comes to the end of
//! its part begins again with a run of its own, so no run reads what it has read before. What a stream has read it forgets, as a
//! small memory does: the pages that come next are those that went. Of a virtual machine a page that nobody has touched may have to be
//! fetched from its host, and a run through many of those measures that.
//! What counts is the second half of a run: in the first the windows grow.

use std::fs::File;
use std::io;
use std::num::NonZero;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::Advice;

use super::plan::{LadderPlace, LadderPlan, LadderWork, REPEATS, REPEATS_MAX, STREAM_READ_BYTES};
use crate::measurement::plan::SMALL_BYTES;

/// Bytes that all streams together have behind them before each forgets its part. More, and they go through more memory than a small
/// one has.
const BEHIND_BYTES: u64 = 32 << 20;
/// And each of them at least: less, and it does little else.
const BEHIND_BYTES_MIN: u64 = 1 << 20;

/// What a run found.
#[derive(Default)]
pub(super) struct RunResult {
    /// In the second half, and of all readers together.
    pub(super) bytes_per_second: u64,
    /// Of all of its reads.
    pub(super) latencies_ns: Vec<u64>,
}

/// The `repeat`th run of `work`, from 0.
pub(super) fn run(
    work: LadderWork,
    plan: &LadderPlan,
    place: &LadderPlace<'_>,
    repeat: usize,
) -> io::Result<RunResult> {
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
    let mut all = RunResult {
        bytes_per_second: u64::try_from(rate).unwrap_or(u64::MAX),
        ..RunResult::default()
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
    /// at its start may still be in the disk's own cache. More repeats than three begin between these, and have as much before them.
    fn new(work: LadderWork, start: u64, part: u64, repeat: usize) -> Self {
        let (bytes, random) = match work {
            LadderWork::Streams(_) => (STREAM_READ_BYTES, None),
            LadderWork::Random(bytes) => (bytes, Some(fastrand::Rng::with_seed(repeat as u64 + 1))),
        };
        let places = part / bytes;
        let skipped = if random.is_some() {
            0
        } else if repeat < REPEATS {
            places * repeat as u64 / REPEATS as u64
        } else {
            let (between, all) = (2 * (repeat - REPEATS) + 1, 2 * (REPEATS_MAX - REPEATS + 1));
            places * (between * (REPEATS - 1)) as u64 / (all * REPEATS) as u64
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn no_repeat_begins_where_another_did() {
        let first = |repeat| Reads::new(LadderWork::Streams(1), 0, 1 << 30, repeat).next();
        let mut begins: Vec<_> = (0..REPEATS_MAX).map(first).collect();
        assert!(begins.iter().flatten().all(|at| *at <= begins[2].unwrap()));
        assert_eq!(
            begins[2],
            Some((1 << 30) / 3 * 2 / STREAM_READ_BYTES * STREAM_READ_BYTES)
        );
        begins.sort_unstable();
        begins.dedup();
        assert_eq!(begins.len(), REPEATS_MAX);
    }
}
