//! What a trace is like: how much, how large, how sequential, how often the same again.
//!
//! One pass, in memory that does not grow with the trace: what is counted per file, per reader or
//! per page has a limit, and a number that reached it is reported as "at least".
//!
//! A read is sequential when it begins where the last read of the same thread in the same file
//! ended; a run is what such reads cover together. A page counts once for each read that touches
//! it, and is distinct when it is touched for the first time; what is left is re-use.

use std::collections::HashMap;

use crate::access::{Access, FileRef, Operation};
use crate::word;

/// Bytes of a page.
const PAGE_BYTES: u64 = 4096;
/// Readers (a thread in a file) whose ends are remembered.
const READERS_MAX: usize = 1 << 20;
/// Groups of 64 pages whose touches are remembered: 32 GiB read without a hole, or four million
/// pages far from each other.
const GROUPS_MAX: usize = 1 << 22;
/// Pages of one read that are looked at one by one: 64 GiB.
const READ_PAGES_MAX: u64 = 1 << 24;
/// Sizes of requests that are counted one by one.
const SIZES_MAX: usize = 1 << 12;

/// Numbers by their size: how many lie in `[2^i, 2^(i+1))`, and the sum of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    /// How many numbers.
    pub count: u64,
    /// Their sum, at most the largest number there is.
    pub sum: u64,
    /// The smallest; 0 when there is none.
    pub min: u64,
    /// The largest.
    pub max: u64,
    buckets: [u64; 65],
}

impl Default for Spread {
    fn default() -> Self {
        Self {
            count: 0,
            sum: 0,
            min: 0,
            max: 0,
            buckets: [0; 65],
        }
    }
}

impl Spread {
    fn add(&mut self, number: u64) {
        self.min = if self.count == 0 {
            number
        } else {
            self.min.min(number)
        };
        self.max = self.max.max(number);
        self.count += 1;
        self.sum = self.sum.saturating_add(number);
        let bits = u64::BITS - number.leading_zeros();
        self.buckets[bits as usize] += 1;
    }

    /// The mean, rounded down.
    #[must_use]
    pub fn mean(&self) -> u64 {
        self.sum.checked_div(self.count).unwrap_or(0)
    }

    /// A number that at least `per_mille` thousandths are not above: the end of their bucket, or
    /// the largest number if that is less.
    #[must_use]
    pub fn at_most(&self, per_mille: u64) -> u64 {
        let wanted = u128::from(self.count) * u128::from(per_mille);
        let mut below = 0_u128;
        for (bits, count) in self.buckets.iter().enumerate() {
            below += u128::from(*count) * 1000;
            if *count > 0 && below >= wanted {
                let end = u32::try_from(bits).map_or(u64::MAX, end_of_bucket);
                return end.clamp(self.min, self.max);
            }
        }
        self.max
    }

    /// The buckets that are not empty: first number inside, last number inside, how many.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.buckets
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(bits, count)| {
                let end = u32::try_from(bits).map_or(u64::MAX, end_of_bucket);
                // 0, 1, 2–3, 4–7, …
                (end / 2 + u64::from(end > 0), end, *count)
            })
    }
}

/// The last number with this many bits.
const fn end_of_bucket(bits: u32) -> u64 {
    match u64::MAX.checked_shr(u64::BITS.saturating_sub(bits)) {
        Some(end) => end,
        None => 0,
    }
}

/// A reader: where its last read ended, and where its run began.
#[derive(Clone, Copy, Debug)]
struct Run {
    end: u64,
    bytes: u64,
}

/// What a trace is like.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Records by operation, as they are called in our tables.
    pub operations: Vec<(&'static str, u64)>,
    /// Bytes that were read, faults included.
    pub read_bytes: u64,
    /// Bytes that were written.
    pub written_bytes: u64,
    /// Reads and faults.
    pub reads: u64,
    /// Reads that began where the same reader's last one ended.
    pub sequential_reads: u64,
    /// Reads that went back to a lower offset.
    pub backward_reads: u64,
    /// Pages touched by reads, each as often as it was touched.
    pub touched_pages: u64,
    /// Pages touched for the first time.
    pub distinct_pages: u64,
    /// False when the limits were reached: `distinct_pages` is then a lower bound.
    pub distinct_is_exact: bool,
    /// Files that were read.
    pub files_read: u64,
    /// Processes and threads that were seen.
    pub threads: u64,
    /// Sizes of reads in bytes.
    pub read_sizes: Spread,
    /// Bytes of runs.
    pub runs: Spread,
    /// How long reads took, in nanoseconds, where the trace says.
    pub durations: Spread,
    /// The largest distance of two records' beginnings and ends, in nanoseconds.
    pub duration_ns: u64,
    /// First byte behind everything that was touched, by file.
    ends: Vec<u64>,
    sizes: HashMap<u64, u64, ahash::RandomState>,
    readers: HashMap<(FileRef, u32), Run, ahash::RandomState>,
    groups: HashMap<(FileRef, u64), u64, ahash::RandomState>,
    seen_threads: HashMap<(u32, u32), (), ahash::RandomState>,
    first_ns: Option<u64>,
    last_ns: u64,
}

impl Statistics {
    /// Nothing seen yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            distinct_is_exact: true,
            ..Self::default()
        }
    }

    /// One more record.
    pub fn add(&mut self, access: &Access) {
        self.count(access);
        if access.operation.is_of_program() && self.seen_threads.len() < READERS_MAX {
            self.seen_threads
                .insert((access.process, access.thread), ());
        }
        match access.operation {
            Operation::Read | Operation::Fault => self.add_read(access),
            Operation::Write => {
                self.written_bytes = self.written_bytes.saturating_add(access.length);
                self.reach(access);
            }
            _ => {}
        }
    }

    fn count(&mut self, access: &Access) {
        let name = word::word(access.operation);
        match self.operations.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => self.operations.push((name, 1)),
        }
        let first = self.first_ns.get_or_insert(access.at_ns);
        // Traces in the order of ends begin a little before their first record.
        *first = (*first).min(access.at_ns);
        let end = access.at_ns.saturating_add(access.duration_ns.unwrap_or(0));
        self.last_ns = self.last_ns.max(end);
        self.duration_ns = self.last_ns - *first;
    }

    fn reach(&mut self, access: &Access) {
        let place = access.file.index();
        if self.ends.len() <= place {
            self.ends.resize(place + 1, 0);
        }
        self.ends[place] = self.ends[place].max(access.end());
    }

    fn add_read(&mut self, access: &Access) {
        self.reads += 1;
        self.read_bytes = self.read_bytes.saturating_add(access.length);
        self.reach(access);
        self.read_sizes.add(access.length);
        if let Some(duration_ns) = access.duration_ns {
            self.durations.add(duration_ns);
        }
        if self.sizes.len() < SIZES_MAX || self.sizes.contains_key(&access.length) {
            *self.sizes.entry(access.length).or_default() += 1;
        }
        self.follow(access);
        self.touch(access);
    }

    fn follow(&mut self, access: &Access) {
        let key = (access.file, access.thread);
        if let Some(run) = self.readers.get_mut(&key) {
            if run.end == access.offset {
                self.sequential_reads += 1;
                run.bytes = run.bytes.saturating_add(access.length);
            } else {
                self.backward_reads += u64::from(access.offset < run.end);
                self.runs.add(run.bytes);
                run.bytes = access.length;
            }
            run.end = access.end();
        } else if self.readers.len() < READERS_MAX {
            self.readers.insert(
                key,
                Run {
                    end: access.end(),
                    bytes: access.length,
                },
            );
        }
    }

    fn touch(&mut self, access: &Access) {
        if access.length == 0 {
            return;
        }
        let first = access.offset / PAGE_BYTES;
        let end = access.end().div_ceil(PAGE_BYTES);
        let pages = end - first;
        self.touched_pages = self.touched_pages.saturating_add(pages);
        if pages > READ_PAGES_MAX {
            self.distinct_is_exact = false;
            return;
        }
        let mut page = first;
        while page < end {
            let next = (page / 64 + 1) * 64;
            let stop = next.min(end);
            let bits = u64::MAX >> (64 - (stop - page)) << (page % 64);
            let key = (access.file, page / 64);
            page = stop;
            if self.groups.len() >= GROUPS_MAX && !self.groups.contains_key(&key) {
                self.distinct_is_exact = false;
                continue;
            }
            let known = self.groups.entry(key).or_default();
            self.distinct_pages += u64::from((bits & !*known).count_ones());
            *known |= bits;
        }
    }

    /// The trace has ended: runs that still go on are counted.
    pub fn finish(&mut self) {
        let mut runs: Vec<u64> = self.readers.drain().map(|(_, run)| run.bytes).collect();
        runs.sort_unstable();
        for bytes in runs {
            self.runs.add(bytes);
        }
        self.files_read =
            u64::try_from(self.ends.iter().filter(|end| **end > 0).count()).unwrap_or(u64::MAX);
        self.threads = self.seen_threads.len() as u64;
        self.operations.sort_unstable();
    }

    /// First byte behind everything that was touched in a file: what it must be as large as.
    #[must_use]
    pub fn end_of(&self, file: FileRef) -> u64 {
        self.ends.get(file.index()).copied().unwrap_or(0)
    }

    /// The `count` most frequent sizes of reads, the most frequent first.
    #[must_use]
    pub fn frequent_sizes(&self, count: usize) -> Vec<(u64, u64)> {
        let mut sizes: Vec<_> = self.sizes.iter().map(|(size, n)| (*size, *n)).collect();
        sizes.sort_unstable_by_key(|(size, n)| (std::cmp::Reverse(*n), *size));
        sizes.truncate(count);
        sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(accesses: &[Access]) -> Statistics {
        let mut statistics = Statistics::new();
        for access in accesses {
            statistics.add(access);
        }
        statistics.finish();
        statistics
    }

    #[test]
    fn runs_and_re_use_are_distinguished() {
        let file = FileRef(0);
        let mut accesses: Vec<_> = (0..10)
            .map(|n| Access::read(file, n * 8192, 8192))
            .collect();
        accesses.push(Access::read(file, 0, 4096));
        let statistics = of(&accesses);
        assert_eq!(statistics.sequential_reads, 9);
        assert_eq!(statistics.backward_reads, 1);
        assert_eq!((statistics.runs.count, statistics.runs.max), (2, 81_920));
        assert_eq!(
            (statistics.touched_pages, statistics.distinct_pages),
            (21, 20)
        );
        assert_eq!(statistics.frequent_sizes(1), [(8192, 10)]);
        assert_eq!(statistics.end_of(file), 81_920);
    }

    #[test]
    fn readers_in_different_threads_do_not_disturb_each_other() {
        let accesses: Vec<_> = (0..10)
            .map(|n| Access {
                thread: n % 2,
                ..Access::read(
                    FileRef(0),
                    u64::from(n / 2) * 4096 + u64::from(n % 2) * (1 << 30),
                    4096,
                )
            })
            .collect();
        assert_eq!(of(&accesses).sequential_reads, 8);
    }

    #[test]
    fn numbers_at_the_end_of_the_number_space_are_counted() {
        let accesses = [
            Access::read(FileRef(3), u64::MAX, u64::MAX),
            Access::read(FileRef(3), u64::MAX - 5000, 5000),
            Access {
                at_ns: u64::MAX,
                duration_ns: Some(u64::MAX),
                ..Access::read(FileRef(3), 0, u64::MAX)
            },
        ];
        let statistics = of(&accesses);
        assert_eq!(statistics.read_bytes, u64::MAX);
        assert!(!statistics.distinct_is_exact);
        assert_eq!(statistics.read_sizes.at_most(1000), u64::MAX);
    }

    #[test]
    fn a_spread_names_its_percentiles() {
        let mut spread = Spread::default();
        assert_eq!(spread.at_most(500), 0);
        for number in [0, 1, 4096, 4096, 4096, 5000] {
            spread.add(number);
        }
        assert_eq!(spread.at_most(0), 0);
        assert_eq!(spread.at_most(500), 5000);
        assert_eq!((spread.min, spread.max, spread.mean()), (0, 5000, 2881));
        let buckets: Vec<_> = spread.buckets().collect();
        assert_eq!(buckets, [(0, 0, 1), (1, 1, 1), (4096, 8191, 4)]);
    }
}
