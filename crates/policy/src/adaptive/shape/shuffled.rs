//! Shuffled runs: sequential as a whole, out of order in detail, as parallel readers and servers
//! make them.
//!
//! A shuffled run moves like any [run](super::run): the reader is at the farthest place that was
//! read. What comes late is tolerated up to [`REORDER_PAGES`] behind, right after it up to [`LATE_PAGES`], and counted here.

use crate::steering::steering;

steering! {
    /// Pages by which an access may miss the expected place and still belong to an established
    /// stream: 512 KiB. A parallel server that shuffles eight requests of 32 KiB stays inside with
    /// space for a slow thread; much more would swallow random lookups near a scan.
    /// Evidence: docs/results/evidence/REORDER_PAGES.csv
    pub(in crate::adaptive) REORDER_PAGES: u64 = 128;

    /// What a late request adds to the disorder of a run, beside which each request in order takes
    /// one away. Lower, and a server that shuffles a third of its requests is called sequential
    /// now and then; higher, and one late thread makes a scan look shuffled for long.
    /// Evidence: docs/results/evidence/LATE_COUNTS.csv
    LATE_COUNTS: u8 = 2;

    /// Disorder beyond which a run is called shuffled. It changes what is reported, not what is
    /// asked for.
    /// Evidence: docs/results/evidence/DISORDER_SHUFFLED.csv
    DISORDER_SHUFFLED: u8 = 8;
}

/// Pages by which an access may come late to a run with holes, or out of order: 4 MiB. What it left out in the first line of a tile, or the first
/// column of a table, it comes back for; as runs of their own these hide that in the end everything is read. Fewer, and tiles of long lines are;
/// more, and random reads of a file of some MiB are taken for one run, half of which was brought in for nothing where it does not fit into memory.
pub(in crate::adaptive) const LATE_PAGES: u64 = 1024;

/// Disorder is counted up to here, so that a run that is in order again is soon called so.
const DISORDER_MAX: u8 = 64;

/// How much of the recent past came out of order.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::adaptive) struct Disorder(u8);

impl Disorder {
    /// A request came late: behind the reader.
    pub(in crate::adaptive) fn on_late(&mut self) {
        self.0 = self.0.saturating_add(LATE_COUNTS.get()).min(DISORDER_MAX);
    }

    /// A request came in order and left no hole.
    pub(in crate::adaptive) fn on_order(&mut self) {
        self.0 = self.0.saturating_sub(1);
    }

    /// Whether nothing came out of order, or enough in order since that was looked at closer.
    pub(in crate::adaptive) fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Whether the run is a shuffled one.
    pub(in crate::adaptive) fn is_shuffled(self) -> bool {
        self.0 > DISORDER_SHUFFLED.get()
    }
}
