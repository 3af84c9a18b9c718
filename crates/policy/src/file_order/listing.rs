//! One listing that a program holds: how far it went in each order, and which of the requested files are
//! still to be visited. What is learned from one listing for the next is the caller's business.

use super::order::{FileRanks, ListingOrder};

/// Files of one listing that may be outstanding: one bit each.
pub const OUTSTANDING_FILES_MAX: u32 = 64;

/// Files that may be left out before a visit is no step of an order any more. More, and a random order
/// in a small folder looks like one; fewer, and a program that leaves out some kinds of names is lost.
const SKIPPED_FILES_MAX: u32 = 3;

/// A requested file that lies so many ranks behind the reader is given up. Fewer, and several workers
/// over one order lose what they were about to visit; more, and waste is noticed late.
const BEHIND_FILES_MAX: u32 = 16;

/// How a visit fits an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// The next file, or one soon after it.
    Next,
    /// A file just passed: visited again, or by a worker that is slower.
    Behind,
    /// Any other file.
    Elsewhere,
}

/// What one visit did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Visited {
    pub(super) fits: [Fit; 3],
    /// The file was outstanding.
    pub(super) used: bool,
    /// Outstanding files that were passed and are given up.
    pub(super) wasted: u32,
}

/// A listing, as far as the policy knows it. All bounded: a million files take as much as one.
#[derive(Clone, Copy, Debug)]
pub struct OpenListing {
    files: u32,
    /// Rank after the newest step of each order.
    reached: [u32; 3],
    /// The order that `start`, `end` and `outstanding` count in.
    order: ListingOrder,
    /// The rank of the lowest bit.
    start: u32,
    /// Rank after the last one requested.
    end: u32,
    outstanding: u64,
}

impl OpenListing {
    /// A listing of `files` files, none of them visited.
    #[must_use]
    pub const fn new(files: u32) -> Self {
        Self {
            files,
            reached: [0; 3],
            order: ListingOrder::Listed,
            start: 0,
            end: 0,
            outstanding: 0,
        }
    }

    /// Files that were requested and not visited.
    #[must_use]
    pub const fn outstanding(&self) -> u32 {
        self.outstanding.count_ones()
    }

    pub(super) fn on_visit(&mut self, ranks: FileRanks) -> Visited {
        let mut fits = [Fit::Elsewhere; 3];
        for ((fit, reached), rank) in fits.iter_mut().zip(&mut self.reached).zip(ranks.0) {
            *fit = fit_of(*reached, rank);
            if *fit != Fit::Behind {
                *reached = rank.saturating_add(1);
            }
        }
        let used = self.take(ranks.of(self.order));
        let wasted = self.give_up_before(self.reached().saturating_sub(BEHIND_FILES_MAX));
        Visited { fits, used, wasted }
    }

    /// Rank after the newest step of the order that counts.
    const fn reached(&self) -> u32 {
        FileRanks(self.reached).of(self.order)
    }

    /// Takes one rank out of what is outstanding. Whether it was there.
    fn take(&mut self, rank: u32) -> bool {
        let bit = rank
            .checked_sub(self.start)
            .and_then(|bit| 1_u64.checked_shl(bit));
        let Some(bit) = bit.filter(|bit| self.outstanding & bit != 0) else {
            return false;
        };
        self.outstanding &= !bit;
        true
    }

    fn give_up_before(&mut self, rank: u32) -> u32 {
        let before = rank.saturating_sub(self.start);
        let lost = match 1_u64.checked_shl(before) {
            Some(bit) => self.outstanding & (bit - 1),
            None => self.outstanding,
        };
        self.outstanding &= !lost;
        lost.count_ones()
    }

    /// Nothing requested here is expected any more. Returns how many files that were.
    pub(super) fn give_up(&mut self) -> u32 {
        core::mem::take(&mut self.outstanding).count_ones()
    }

    /// From now on `order` counts. Returns the files given up, whose ranks were of another one.
    pub(super) fn follow(&mut self, order: ListingOrder) -> u32 {
        if self.order == order {
            return 0;
        }
        self.order = order;
        self.end = 0;
        self.give_up()
    }

    /// The next ranks to request, so that `ahead` files behind the reader are, and at most `most` at once.
    /// `None` while that is less than half of `ahead`, except for the last ones: a batch is worth
    /// sorting by place.
    pub(super) fn next(&mut self, ahead: u32, most: u32) -> Option<(u32, u32)> {
        let reached = self.reached();
        let start = self.end.max(reached);
        // The bits begin at the first file that is outstanding. Without one they begin anew: the ranks of
        // another order may have been higher.
        let first = match self.outstanding {
            0 => start,
            bits => self.start + bits.trailing_zeros(),
        };
        let end = reached
            .saturating_add(ahead)
            .min(start.saturating_add(most))
            .min(first.saturating_add(OUTSTANDING_FILES_MAX))
            .min(self.files);
        let count = end.checked_sub(start).filter(|count| *count > 0)?;
        if end < self.files && count * 2 < ahead {
            return None;
        }
        if self.outstanding != 0 {
            self.outstanding >>= first - self.start;
        }
        self.start = first;
        let bits = u64::MAX >> (u64::BITS - count);
        self.outstanding |= bits << (start - first);
        self.end = end;
        Some((start, end))
    }

    /// The files from rank `end` on were not requested after all.
    pub(super) fn cut(&mut self, end: u32) -> u32 {
        let Some(kept) = end.checked_sub(self.start) else {
            return 0;
        };
        let cut = match 1_u64.checked_shl(kept) {
            Some(bit) => self.outstanding & !(bit - 1),
            None => 0,
        };
        self.outstanding &= !cut;
        self.end = self.end.min(end);
        cut.count_ones()
    }
}

fn fit_of(reached: u32, rank: u32) -> Fit {
    match rank.checked_sub(reached) {
        Some(..=SKIPPED_FILES_MAX) => Fit::Next,
        None if reached - rank <= BEHIND_FILES_MAX => Fit::Behind,
        _ => Fit::Elsewhere,
    }
}
