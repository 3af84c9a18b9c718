//! One listing that a program holds: how far it went in each order, and which of the requested files are
//! still to be visited. What is learned from one listing for the next is the caller's business.

use super::order::{FileRanks, ListingOrder, ORDERS};
use super::scores::{BEHIND_MAX, Fit, ReachedRanks};

/// Files that may be outstanding: one bit each, in every listing. Fewer, and a disk with one arm goes back
/// and forth between folders more often; more, and a program that stops has wasted them.
pub const OUTSTANDING_FILES_MAX: u32 = 2048;
const WORDS: usize = OUTSTANDING_FILES_MAX as usize / 64;

/// What one visit did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Visited {
    pub(super) fits: [Fit; ORDERS],
    /// The file was outstanding.
    pub(super) used: bool,
    /// Outstanding files that were passed and are given up.
    pub(super) wasted: u32,
    /// Ranks from the visit before in the order that is followed, if that is known; 1: the next file, 0: one before it.
    pub(super) step: Option<u32>,
}

/// A listing, as far as the policy knows it. All bounded: a million files take as much as one.
#[derive(Clone, Copy, Debug)]
pub struct OpenListing {
    files: u32,
    /// Files were visited that are not known.
    is_begun: bool,
    reached: ReachedRanks,
    /// The order that `start`, `end` and `outstanding` count in.
    order: ListingOrder,
    /// No rank before this one is outstanding.
    start: u32,
    /// Rank after the last one requested.
    end: u32,
    /// The bit of a rank is the rank modulo the number of bits: from `start` to `end` are no more than that.
    outstanding: [u64; WORDS],
}

impl OpenListing {
    /// A listing of `files` files, none of them visited.
    #[must_use]
    pub const fn new(files: u32) -> Self {
        Self {
            files,
            is_begun: false,
            reached: ReachedRanks::new(),
            order: ListingOrder::Listed,
            start: 0,
            end: 0,
            outstanding: [0; WORDS],
        }
    }

    /// A listing of `files` files, of which some were visited before; which ones is not known.
    #[must_use]
    pub const fn begun(files: u32) -> Self {
        Self {
            is_begun: true,
            ..Self::new(files)
        }
    }

    /// Files that were requested and not visited.
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        self.outstanding.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether all files were requested or passed, in the order that counts.
    #[must_use]
    pub fn is_all_requested(&self) -> bool {
        self.end.max(self.reached()) >= self.files
    }

    /// Whether the file with these ranks was requested or passed, in the order that counts: also if it was given up since.
    #[must_use]
    pub const fn was_requested(&self, ranks: FileRanks) -> bool {
        ranks.of(self.order) < self.end
    }

    /// `followed`: the order that is followed, if there is one.
    pub(super) fn on_visit(&mut self, ranks: FileRanks, followed: Option<ListingOrder>) -> Visited {
        let before = followed.map_or(0, |order| self.reached.of(order));
        let step = followed
            .filter(|_| before > 0)
            .map(|order| (ranks.of(order) + 1).saturating_sub(before));
        let mut fits = self.reached.on_visit(ranks);
        if core::mem::take(&mut self.is_begun) {
            fits = [Fit::Unknown; ORDERS];
        }
        let used = self.take(ranks.of(self.order));
        let wasted = self.give_up_before(self.reached().saturating_sub(BEHIND_MAX.get()));
        Visited {
            fits,
            used,
            wasted,
            step,
        }
    }

    /// Rank after the newest step of the order that counts.
    const fn reached(&self) -> u32 {
        self.reached.of(self.order)
    }

    /// Takes one rank out of what is outstanding. Whether it was there.
    fn take(&mut self, rank: u32) -> bool {
        if rank < self.start || rank >= self.end {
            return false;
        }
        let (word, bit) = place_of(rank);
        let was_there = self.outstanding[word] & bit != 0;
        self.outstanding[word] &= !bit;
        was_there
    }

    fn give_up_before(&mut self, rank: u32) -> u32 {
        let end = rank.min(self.end);
        let lost = (self.start..end).filter(|rank| self.take(*rank)).count();
        self.start = self.start.max(end);
        u32::try_from(lost).unwrap_or(u32::MAX)
    }

    /// Nothing requested here is expected any more. Returns how many files that were.
    pub(super) fn give_up(&mut self) -> u32 {
        let outstanding = self.outstanding();
        self.outstanding = [0; WORDS];
        outstanding
    }

    /// From now on `order` counts. Returns the files given up, whose ranks were of another one.
    pub(super) fn follow(&mut self, order: ListingOrder) -> u32 {
        if self.order == order {
            return 0;
        }
        self.order = order;
        self.start = 0;
        self.end = 0;
        self.give_up()
    }

    /// The next ranks to request, each `step`th, `most` at once: those behind the reader, and behind what was requested.
    /// `skipped` are left out at the beginning where nothing was visited or requested yet; afterwards so many are to be
    /// left out at the beginning of the listing behind this one.
    pub(super) fn next(&mut self, most: u32, step: u32, skipped: &mut u32) -> Option<(u32, u32)> {
        let start = match self.end.max(self.reached()) {
            0 => *skipped,
            behind => behind.saturating_add(step - 1),
        };
        // The bits begin at the first file that is outstanding.
        let first = (self.start..self.end).find(|rank| {
            let (word, bit) = place_of(*rank);
            self.outstanding[word] & bit != 0
        });
        let first = first.unwrap_or(start);
        let limit = first.saturating_add(OUTSTANDING_FILES_MAX).min(self.files);
        let (mut next, mut left) = (start, most);
        while next < limit && left > 0 {
            let (word, bit) = place_of(next);
            self.outstanding[word] |= bit;
            self.end = next + 1;
            next += step;
            left -= 1;
        }
        *skipped = next.saturating_sub(self.files);
        if next == start {
            return None;
        }
        self.start = first;
        Some((start, self.end))
    }

    /// The files from rank `end` on were not requested after all.
    pub(super) fn cut(&mut self, end: u32) -> u32 {
        let cut = (end.max(self.start)..self.end).filter(|rank| self.take(*rank));
        let cut = cut.count();
        self.end = self.end.min(end);
        u32::try_from(cut).unwrap_or(u32::MAX)
    }
}

/// The word and the bit of a rank.
const fn place_of(rank: u32) -> (usize, u64) {
    let bit = rank % OUTSTANDING_FILES_MAX;
    ((bit / 64) as usize, 1 << (bit % 64))
}
