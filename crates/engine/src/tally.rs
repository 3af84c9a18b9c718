//! The account of one file between two lookings at it.

/// What happened to one file since the host took the account last. Additive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Reads.
    pub accesses: u64,
    /// Pages read, of those that the file had when it was looked at last. Those that the read before had too are not read again.
    pub pages: u64,
    /// Pages that calls were made for: what could not be reached, was refused, lies behind the end of the file or was in memory as a
    /// whole is not among them.
    pub prefetched: u64,
    /// Of those, pages that were read.
    pub useful: u64,
    /// Of the useful ones, pages that had to be waited for.
    pub late: u64,
    /// Of the prefetched ones, pages evicted before use.
    pub thrashed: u64,
    /// Reads that waited.
    pub waits: u64,
    /// Pages read inside a window, whoever brought them.
    pub inside: u64,
    /// Reads of what calls were made for.
    pub covered: u64,
    /// Of those, reads that waited all the same.
    pub covered_waits: u64,
}

impl Tally {
    /// Reads of what calls were made for that did not wait.
    #[must_use]
    pub fn waits_avoided(&self) -> u64 {
        self.covered.saturating_sub(self.covered_waits)
    }

    /// A read of so many pages, inside a window or not.
    #[inline]
    pub(crate) fn on_read(&mut self, pages: u64, is_covered: bool) {
        self.accesses += 1;
        self.pages += pages;
        if is_covered {
            self.inside += pages;
        }
    }

    /// `useful` pages of the newest read were asked for, or it is inside one that was.
    #[inline]
    pub(crate) fn on_served(&mut self, useful: u64) {
        self.useful += useful;
        self.covered += 1;
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
            inside,
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
        *inside += later.inside;
        *covered += later.covered;
        *covered_waits += later.covered_waits;
    }
}
