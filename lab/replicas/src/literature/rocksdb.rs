//! A window like that of RocksDB's iterators: two requests in a row, then 8 KiB doubling to 256 KiB.
//!
//! A table file starts without prefetching. Behind [`SEQUENTIAL_READS`] requests in a row, each of
//! which begins where the one before ended, a request that misses brings the window with it; each
//! window is twice the one before, up to the largest. A request elsewhere is the first of a new row,
//! with the first window again. Nothing is prefetched on a hit: each window is waited for.
//!
//! Source: RocksDB 8, `FilePrefetchBuffer`, options `initial_auto_readahead_size` (8 KiB),
//! `max_auto_readahead_size` (256 KiB), `num_file_reads_for_auto_readahead` (2).

use crate::kernel::{Host, Read, ReadAhead};

use super::{Run, ask, faults_are_reads, is_absent};
use crate::replica::Replica;

/// The name of it.
pub const REPLICAS: &[Replica<RocksDb>] = &[Replica::new(
    "rocksdb",
    2023,
    "8 KiB doubling to 256 KiB after two reads",
    &[],
    |_| RocksDb::default(),
)];

/// Requests in a row that bring only what they want.
pub const SEQUENTIAL_READS: u32 = 2;
/// Pages of the first window.
pub const PAGES_MIN: u64 = 2;
/// Pages of the largest window.
pub const PAGES_MAX: u64 = 64;

/// One open file.
#[derive(Clone, Copy, Debug)]
pub struct RocksDb {
    run: Run,
    /// Requests of the present row, this one included.
    reads: u32,
    window: u64,
}

impl Default for RocksDb {
    fn default() -> Self {
        Self {
            run: Run::default(),
            reads: 0,
            window: PAGES_MIN,
        }
    }
}

impl ReadAhead for RocksDb {
    fn on_read<H: Host>(&mut self, _host: &mut H, read: &Read) {
        if self.run.goes_on(read) {
            self.reads = self.reads.saturating_add(1);
        } else {
            self.reads = 1;
            self.window = PAGES_MIN;
        }
    }

    fn on_page<H: Host>(&mut self, host: &mut H, read: &Read, page: u64) {
        if !is_absent(host, page) {
            return;
        }
        if self.reads <= SEQUENTIAL_READS {
            ask(host, read, page, 0);
            return;
        }
        ask(host, read, page, self.window);
        self.window = (self.window * 2).min(PAGES_MAX);
    }

    faults_are_reads!();
}
