//! Which order a program goes through a listing in: how each visit fits each order, and what that says in sum.

use crate::steering::steering;

use super::order::{FileRanks, ListingOrder, ORDERS};

steering! {
    /// The score from which on an order is followed: four steps. Less, and a random order is taken for one;
    /// more, and small folders end first.
    /// Evidence: docs/results/evidence/SCORE_FOLLOWED.csv
    SCORE_FOLLOWED: u8 = 8;

    /// The most that an order can have. Less, and a folder with a few names in another order ends it; more, and a program that
    /// goes on in another order is misunderstood for longer.
    /// Evidence: docs/results/evidence/SCORE_MAX.csv
    SCORE_MAX: u8 = 32;

    /// What a step earns an order.
    /// Evidence: docs/results/evidence/SCORE_NEXT.csv
    SCORE_NEXT: u8 = 2;

    /// What one just passed costs it. Nothing, and the opposite of an order is taken for it; as much as a step
    /// earns, and several workers over one order are not seen.
    /// Evidence: docs/results/evidence/SCORE_BEHIND.csv
    SCORE_BEHIND: u8 = 1;

    /// What a visit elsewhere costs it: more than a step earns, as chance steps are frequent in small folders.
    /// Evidence: docs/results/evidence/SCORE_ELSEWHERE.csv
    SCORE_ELSEWHERE: u8 = 6;

    /// Entries that may be left out before a visit is no step of an order any more. More, and a random order
    /// in a small folder looks like one; fewer, and a program that leaves out some kinds of names is lost.
    /// Evidence: docs/results/evidence/SKIPPED_MAX.csv
    pub(super) SKIPPED_MAX: u32 = 3;

    /// An entry that lies so many ranks behind the reader, or fewer, was just passed. Fewer, and several workers over one
    /// order lose what they were about to visit; more, and waste is noticed late.
    /// Evidence: docs/results/evidence/BEHIND_MAX.csv
    pub(super) BEHIND_MAX: u32 = 16;
}

/// How a visit fits an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The next entry, or one soon after it.
    Next,
    /// An entry just passed: visited again, or by a worker that is slower.
    Behind,
    /// Any other entry.
    Elsewhere,
    /// Visits of the listing before this one are not known: it says nothing.
    Unknown,
}

/// How far a program went through one listing, in each order: the rank after its newest step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReachedRanks([u32; ORDERS]);

impl ReachedRanks {
    /// Nothing was visited.
    #[must_use]
    pub const fn new() -> Self {
        Self([0; ORDERS])
    }

    /// Rank after the newest step in one order.
    #[must_use]
    pub const fn of(self, order: ListingOrder) -> u32 {
        self.0[order.index()]
    }

    /// The program visits what has these ranks.
    pub fn on_visit(&mut self, ranks: FileRanks) -> [Fit; ORDERS] {
        let mut fits = [Fit::Elsewhere; ORDERS];
        for ((fit, reached), rank) in fits.iter_mut().zip(&mut self.0).zip(ranks.0) {
            *fit = fit_of(*reached, rank);
            if *fit != Fit::Behind {
                *reached = rank.saturating_add(1);
            }
        }
        fits
    }
}

fn fit_of(reached: u32, rank: u32) -> Fit {
    match rank.checked_sub(reached) {
        Some(skipped) if skipped <= SKIPPED_MAX.get() => Fit::Next,
        None if reached - rank <= BEHIND_MAX.get() => Fit::Behind,
        _ => Fit::Elsewhere,
    }
}

/// What the visits of a process say for each order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderScores {
    scores: [u8; ORDERS],
    /// The order with the best score. It stays while no other is better, as orders that agree in some folders are
    /// often equally good.
    order: Option<ListingOrder>,
}

impl OrderScores {
    /// Nothing was visited.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            scores: [0; ORDERS],
            order: None,
        }
    }

    /// The order that is followed, if there is one.
    #[must_use]
    pub const fn order(&self) -> Option<ListingOrder> {
        self.order
    }

    /// A visit fits each order so. Where several are equally good, the one of before stays, then `preferred`.
    pub fn on_visit(&mut self, fits: [Fit; ORDERS], preferred: Option<ListingOrder>) {
        for (score, fit) in self.scores.iter_mut().zip(fits) {
            *score = match fit {
                Fit::Next => (*score + SCORE_NEXT.get()).min(SCORE_MAX.get()),
                Fit::Behind => score.saturating_sub(SCORE_BEHIND.get()),
                Fit::Elsewhere => score.saturating_sub(SCORE_ELSEWHERE.get()),
                Fit::Unknown => *score,
            };
        }
        let best = self.scores.iter().copied().max().unwrap_or(0);
        let is_best = |order: &ListingOrder| {
            best >= SCORE_FOLLOWED.get() && self.scores.get(order.index()) == Some(&best)
        };
        let kept = self.order.or(preferred).filter(is_best);
        self.order = kept.or_else(|| ListingOrder::ALL.into_iter().find(is_best));
    }
}
