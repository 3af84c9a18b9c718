//! The hit rate as a limit: what a file owes, and how it pays.
//!
//! Prefetched pages per accessed page may not exceed `readahead_hit_rate` over a sliding history.
//! Counted is what went wrong: a page given up unread and a page of a hole that was read through
//! are owed. Each accessed page pays for as many pages as the rate allows, less one if it was
//! prefetched itself. What is on its way is neither good nor bad yet.

use super::stream::moving::Step;
use super::window::pages32;
use crate::knobs::Knobs;
use crate::steering::steering;
use ahead_units::PageRange;

steering! {
    /// Pages that a file may owe before it gets nothing more: 2 MiB. Less, and one abandoned window
    /// stops a good stream; more, and a file of short runs costs real bandwidth.
    /// Evidence: docs/results/evidence/DEBT_PAGES_MAX.csv
    DEBT_PAGES_MAX: u32 = 512;

    /// A debt that could never be paid back would shut a file for ever: it is counted up to here.
    /// Less, and a file that is mostly wasted on asks again too soon.
    /// Evidence: docs/results/evidence/DEBT_PAGES_COUNTED.csv
    DEBT_PAGES_COUNTED: u32 = 512 * 16;
}

/// Pages owed. All zero is a file that owes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Debt(u32);

impl Debt {
    /// Whether nothing more may be asked for.
    pub(super) fn is_at_limit(self) -> bool {
        self.0 > DEBT_PAGES_MAX.get()
    }

    /// Whether nothing is owed.
    pub(super) fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Something was learned that would have avoided it: one more try.
    pub(super) fn allow_one_more(&mut self) {
        self.0 = self.0.min(DEBT_PAGES_MAX.get());
    }

    /// `pages` were brought in for nothing.
    pub(super) fn owe(&mut self, pages: u32) {
        self.0 = self.0.saturating_add(pages).min(DEBT_PAGES_COUNTED.get());
    }

    /// `access` moved its stream by `step`; `covered` if it had been asked for.
    pub(super) fn settle(&mut self, step: Step, access: PageRange, covered: bool, knobs: &Knobs) {
        if covered {
            self.owe(u32::try_from(step.hole).unwrap_or(u32::MAX));
        }
        // A shuffled request that comes late fills a hole that was owed when it was passed. What comes so late that nobody knows any more whether
        // it had been asked for may have been.
        let prefetched = covered != step.is_late;
        let rate = knobs
            .readahead_hit_rate
            .saturating_sub(u32::from(prefetched));
        let paid = pages32(access.len()).saturating_mul(rate);
        self.0 = self.0.saturating_sub(paid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over_hole(pages: u64) -> Step {
        Step {
            hole: pages,
            ..Step::default()
        }
    }

    #[test]
    fn at_a_rate_of_one_a_hole_that_was_read_through_is_never_paid_by_prefetched_pages() {
        let mut debt = Debt::default();
        let knobs = Knobs {
            readahead_hit_rate: 1,
            ..Knobs::default()
        };
        debt.settle(over_hole(4), PageRange::new(14, 15), true, &knobs);
        debt.settle(over_hole(0), PageRange::new(15, 16), true, &knobs);
        assert_eq!(debt.0, 4);
    }

    #[test]
    fn a_late_request_of_a_shuffled_stream_pays_for_the_hole_it_left() {
        let mut debt = Debt::default();
        let knobs = Knobs {
            readahead_hit_rate: 1,
            ..Knobs::default()
        };
        debt.settle(over_hole(8), PageRange::new(16, 24), true, &knobs);
        assert_eq!(debt.0, 8);
        let late = Step {
            is_late: true,
            ..Step::default()
        };
        debt.settle(late, PageRange::new(8, 16), true, &knobs);
        assert!(debt.is_zero());
    }

    #[test]
    fn a_read_that_was_not_prefetched_pays_the_whole_rate() {
        let mut debt = Debt::default();
        debt.owe(1000);
        assert!(debt.is_at_limit());
        let knobs = Knobs {
            readahead_hit_rate: 3,
            ..Knobs::default()
        };
        debt.settle(Step::default(), PageRange::new(10, 210), false, &knobs);
        assert_eq!(debt.0, 400);
    }
}
