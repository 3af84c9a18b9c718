//! What processes or files that belong together share: one memory budget, what is expected of their
//! small files, and whether reading ahead pays. A group is a run, a cgroup, or a machine. What is expected
//! and what pays each process finds out by itself; of the budget it takes its part ([`crate::members`]).

use ahead_units::{PageCount, Timestamp};

use crate::budget::Budget;
use crate::closed_runs::ClosedRuns;
use crate::expectation::Expectation;
use crate::filling::fillings::Fillings;
use crate::guard::Guard;
use crate::members::{Member, Members, Outstanding};
use crate::range_lists::RangeLists;
use crate::settings::Settings;

/// Memory that windows may count on where nothing can be found out: 1 GiB.
pub const MEMORY_BYTES_UNKNOWN: u64 = 1 << 30;

/// One group. All zero is a group that may ask for nothing.
#[derive(Debug, Default)]
pub struct Group {
    /// The memory budget of all windows.
    pub budget: Budget,
    /// Whether small files are read whole.
    pub expectation: Expectation,
    /// How far files that were closed were read in one go.
    pub closed_runs: ClosedRuns,
    /// In which order files are read that no stream explains.
    pub range_lists: RangeLists,
    /// Files that are read at random and filled in.
    pub fillings: Fillings,
    /// Whether reading ahead pays.
    pub guard: Guard,
    /// This process among those that share the budget.
    pub member: Member,
}

impl Group {
    /// A group that has not heard of anything.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            budget: Budget::new(),
            expectation: Expectation::new(),
            closed_runs: ClosedRuns::new(),
            range_lists: RangeLists::new(),
            fillings: Fillings::new(),
            guard: Guard::new(),
            member: Member::new(),
        }
    }

    /// Looks at what other processes have, if it is time.
    pub fn hear(&self, members: Members<'_>, now: Timestamp) {
        if let Some(others) = self.member.hear(members, now) {
            self.budget.set_others(others);
        }
    }

    /// Tells other processes what this one has, which asked the device numbered `device` last, or waited
    /// for it; `lone_reads` of its own wait there.
    pub fn tell(&self, members: Members<'_>, device: u64, lone_reads: bool) {
        let outstanding = Outstanding {
            lone_reads,
            ..self.budget.outstanding()
        };
        self.member.tell(members, outstanding, device);
    }

    /// Sets the budget: `memory` is what reclaim leaves to readers.
    pub fn set_memory(&self, memory: PageCount, settings: &Settings) {
        let configured = settings.budget_pages();
        self.budget
            .set_limits(memory, configured, settings.readahead_ratio);
    }
}
