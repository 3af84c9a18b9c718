//! How many files a program goes on by: one, or a few if it leaves out as many each time.

use crate::steering::steering;

use super::scores::SKIPPED_MAX;

steering! {
    /// Equal steps in a row after which the files between are left out. Fewer, and a program that leaves out one file now and
    /// then has to wait for the next ones; more, and files are requested that it leaves out, and small folders are over.
    /// Evidence: docs/results/evidence/EQUAL_STEPS_MIN.csv
    EQUAL_STEPS_MIN: u8 = 3;
}

/// The newest steps of a program within listings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    newest: u32,
    /// Steps in a row that were as long.
    equal: u8,
}

impl Steps {
    pub(super) const fn new() -> Self {
        Self {
            newest: 1,
            equal: 0,
        }
    }

    /// The program went on by so many ranks; 0: back.
    pub(super) const fn on_step(&mut self, step: u32) {
        self.equal = if step == self.newest {
            self.equal.saturating_add(1)
        } else {
            1
        };
        self.newest = step;
    }

    /// By how many ranks it is expected to go on.
    pub(super) fn step(self) -> u32 {
        // More is no step of an order.
        if self.equal >= EQUAL_STEPS_MIN.get()
            && self.newest > 0
            && self.newest <= SKIPPED_MAX.get() + 1
        {
            self.newest
        } else {
            1
        }
    }
}
