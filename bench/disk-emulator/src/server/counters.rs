//! The figures of one disk since the last reset.
//!
//! Counting happens where requests come in and where answers go out; a snapshot is
//! [`DiskStats`]. Nothing here allocates after the start.

use hdrhistogram::Histogram;

use crate::stats::{DiskStats, Lateness, SizeClass};

/// Rereads are noticed in blocks of the page size.
const BLOCK_BYTES: u64 = 4096;

/// Answers later than this count as this late.
const LATENESS_NS_MAX: u64 = 10_000_000_000;

/// The counters. Moments are nanoseconds on the server's clock.
#[derive(Debug)]
pub(super) struct Counters {
    since_ns: u64,
    busy_before_ns: u64,
    seeks_before: u64,
    reads: u64,
    read_bytes: u64,
    reread_bytes: u64,
    writes: u64,
    written_bytes: u64,
    in_flight: u64,
    in_flight_max: u64,
    /// Index is the number of bits of the size: 4096 to 8191 bytes are in 12.
    sizes: [u64; 64],
    lateness: Histogram<u64>,
    lateness_sum_ns: u64,
    /// One bit per block of the disk: read since the reset.
    seen: Vec<u64>,
}

impl Counters {
    /// All zero, for a disk of `size_bytes`.
    pub(super) fn new(size_bytes: u64) -> Self {
        let words = usize::try_from(size_bytes.div_ceil(BLOCK_BYTES * 64)).unwrap_or(usize::MAX);
        Self {
            since_ns: 0,
            busy_before_ns: 0,
            seeks_before: 0,
            reads: 0,
            read_bytes: 0,
            reread_bytes: 0,
            writes: 0,
            written_bytes: 0,
            in_flight: 0,
            in_flight_max: 0,
            sizes: [0; 64],
            lateness: Histogram::new_with_bounds(1, LATENESS_NS_MAX, 2)
                .expect("the bounds are in order and two digits are allowed"),
            lateness_sum_ns: 0,
            seen: vec![0; words],
        }
    }

    /// Starts again at `now_ns`, when the disk had been busy for `busy_ns` and had done `seeks`.
    pub(super) fn reset(&mut self, now_ns: u64, busy_ns: u64, seeks: u64) {
        self.since_ns = now_ns;
        self.busy_before_ns = busy_ns;
        self.seeks_before = seeks;
        self.reads = 0;
        self.read_bytes = 0;
        self.reread_bytes = 0;
        self.writes = 0;
        self.written_bytes = 0;
        self.in_flight_max = self.in_flight;
        self.sizes = [0; 64];
        self.lateness.reset();
        self.lateness_sum_ns = 0;
        self.seen.fill(0);
    }

    /// A read of `length` bytes from `offset` has come in.
    pub(super) fn on_read(&mut self, offset: u64, length: u64) {
        self.reads += 1;
        self.read_bytes += length;
        self.in_flight += 1;
        self.in_flight_max = self.in_flight_max.max(self.in_flight);
        self.sizes[length.checked_ilog2().unwrap_or(0) as usize] += 1;
        let end = offset + length;
        for block in offset / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES) {
            let Ok(index) = usize::try_from(block / 64) else {
                break;
            };
            let Some(word) = self.seen.get_mut(index) else {
                break;
            };
            let bit = 1 << (block % 64);
            if *word & bit != 0 {
                let from = offset.max(block * BLOCK_BYTES);
                let to = end.min((block + 1) * BLOCK_BYTES);
                self.reread_bytes += to - from;
            }
            *word |= bit;
        }
    }

    /// A write has been taken in.
    pub(super) fn on_write(&mut self, length: u64) {
        self.writes += 1;
        self.written_bytes += length;
    }

    /// A read has been answered, `late_ns` after the model's moment.
    pub(super) fn on_answer(&mut self, late_ns: u64) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.lateness.saturating_record(late_ns);
        self.lateness_sum_ns = self.lateness_sum_ns.saturating_add(late_ns);
    }

    /// The figures at `now_ns`; the other arguments as in [`reset`](Self::reset).
    pub(super) fn snapshot(
        &self,
        now_ns: u64,
        busy_ns: u64,
        seeks: u64,
        real_time: bool,
    ) -> DiskStats {
        let sizes = (0_u32..)
            .zip(self.sizes)
            .filter(|&(_, requests)| requests > 0);
        let answers = self.lateness.len();
        DiskStats {
            elapsed_ns: now_ns.saturating_sub(self.since_ns),
            busy_ns: busy_ns.saturating_sub(self.busy_before_ns),
            reads: self.reads,
            read_bytes: self.read_bytes,
            reread_bytes: self.reread_bytes,
            writes: self.writes,
            written_bytes: self.written_bytes,
            seeks: seeks.saturating_sub(self.seeks_before),
            in_flight: self.in_flight,
            in_flight_max: self.in_flight_max,
            sizes: sizes
                .map(|(bit, requests)| SizeClass {
                    bytes_min: 1 << bit,
                    requests,
                })
                .collect(),
            lateness: Lateness {
                answers,
                mean_ns: self.lateness_sum_ns.checked_div(answers).unwrap_or(0),
                p99_ns: if answers == 0 {
                    0
                } else {
                    self.lateness.value_at_quantile(0.99)
                },
                max_ns: self.lateness.max(),
            },
            real_time,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_block_that_was_read_before_count_as_read_again() {
        let mut counters = Counters::new(1 << 20);
        counters.on_read(0, 8192);
        counters.on_read(6144, 4096);
        let stats = counters.snapshot(0, 0, 0, true);
        assert_eq!(
            (stats.reads, stats.read_bytes, stats.reread_bytes),
            (2, 12288, 2048)
        );
    }

    #[test]
    fn sizes_are_counted_by_powers_of_two() {
        let mut counters = Counters::new(1 << 30);
        for length in [4096, 8191, 8192, 1 << 20] {
            counters.on_read(0, length);
        }
        let sizes = counters.snapshot(0, 0, 0, true).sizes;
        let expected = [(4096, 2), (8192, 1), (1 << 20, 1)];
        assert_eq!(
            sizes,
            expected.map(|(bytes_min, requests)| SizeClass {
                bytes_min,
                requests
            })
        );
    }

    #[test]
    fn a_reset_forgets_all_but_what_is_still_under_way() {
        let mut counters = Counters::new(1 << 20);
        counters.on_read(0, 4096);
        counters.on_read(0, 4096);
        counters.on_answer(5);
        counters.reset(100, 40, 2);
        let stats = counters.snapshot(150, 60, 3, true);
        assert_eq!((stats.elapsed_ns, stats.busy_ns, stats.seeks), (50, 20, 1));
        assert_eq!(
            (stats.reads, stats.reread_bytes, stats.in_flight),
            (0, 0, 1)
        );
        assert_eq!(stats.lateness.answers, 0);
    }
}
