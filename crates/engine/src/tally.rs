//! The account of one file between two lookings at it.

/// What happened to one file since the host took the account last. Additive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Reads.
    pub accesses: u64,
    /// Pages read, of those that the file had when it was looked at last. Those that the read before had too are not read again.
    pub pages: u64,
    /// Pages asked for.
    pub prefetched: u64,
    /// Pages read inside a window.
    pub useful: u64,
    /// Pages read inside a window that had to be waited for.
    pub late: u64,
    /// Pages evicted before use.
    pub thrashed: u64,
    /// Reads that waited.
    pub waits: u64,
    /// Reads inside a window.
    pub covered: u64,
    /// Of those, reads that waited all the same.
    pub covered_waits: u64,
}

impl Tally {
    /// Reads inside a window that did not wait.
    #[must_use]
    pub fn waits_avoided(&self) -> u64 {
        self.covered.saturating_sub(self.covered_waits)
    }

    /// A read of so many pages, inside a window or not.
    pub(crate) fn on_read(&mut self, pages: u64, is_covered: bool) {
        self.accesses += 1;
        self.pages += pages;
        if is_covered {
            self.useful += pages;
            self.covered += 1;
        }
    }

    /// This, and what happened after it.
    pub fn add(&mut self, later: &Self) {
        let Self {
            accesses,
            pages,
            prefetched,
            useful,
            late,
            thrashed,
            waits,
            covered,
            covered_waits,
        } = self;
        *accesses += later.accesses;
        *pages += later.pages;
        *prefetched += later.prefetched;
        *useful += later.useful;
        *late += later.late;
        *thrashed += later.thrashed;
        *waits += later.waits;
        *covered += later.covered;
        *covered_waits += later.covered_waits;
    }
}
