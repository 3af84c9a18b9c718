//! What processes or files that belong together share: one memory budget, and what is expected of
//! their small files. A group is a run, a cgroup, or a machine; today each process is one.

use ahead_units::PageCount;

use crate::budget::Budget;
use crate::expectation::Expectation;
use crate::settings::Settings;

/// One group. All zero is a group that may ask for nothing.
#[derive(Debug, Default)]
pub struct Group {
    /// The memory budget of all windows.
    pub budget: Budget,
    /// Whether small files are read whole.
    pub expectation: Expectation,
}

impl Group {
    /// A group that has not heard of anything.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            budget: Budget::new(),
            expectation: Expectation::new(),
        }
    }

    /// Sets the budget: `memory` is what reclaim leaves to readers.
    pub fn set_memory(&self, memory: PageCount, settings: &Settings) {
        let configured = settings.budget_pages();
        self.budget
            .set_limits(memory, configured, settings.readahead_ratio);
    }
}
