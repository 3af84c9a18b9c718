//! The account of one file: handing it out, and beginning another one in the child of a fork.
//!
//! Windows say what the policy believes to be there; the account, what was done for it. A window that was in memory already, that nobody
//! could be reached for, or that the kernel refused is none of our doing, so pages become useful, late, thrashed or wasted only as far as calls were
//! made for pages that are still outstanding. Which of these a read finds is not kept: where one stream of a file finds all in memory and
//! another does not, what is outstanding of the second may be read by the first.

use super::{FileState, Many, table};
use crate::guard::Consumed;
use crate::tally::Tally;

impl FileState {
    /// The account since the last call, and the pages in it that calls were made for and that were given up unread in that time.
    pub fn take_tally(&mut self) -> (Tally, u64) {
        let wasted = self.wasted();
        let since = wasted - core::mem::replace(&mut self.wasted_told, wasted);
        let since = since.min(self.outstanding);
        self.outstanding -= since;
        // Of the account only: what was given up is counted for ever.
        let told = Consumed {
            vain: 0,
            ..self.consumed()
        };
        self.guarded = self.guarded.since(told);
        self.list.begun = self.list.begun.wrapping_sub(self.tally.pages);
        self.scanned = self.scanned.wrapping_sub(self.tally.pages);
        (core::mem::take(&mut self.tally), since)
    }

    /// Reads since the account was taken last.
    #[must_use]
    pub fn untold_accesses(&self) -> u64 {
        self.tally.accesses
    }

    /// This is the child of a fork, in a copy of its parent's memory: what was read and asked for there is in the account of
    /// the parent, and its windows are not ours. What the streams have learned stays.
    pub fn on_fork_in_child(&mut self, many: Many<'_>) {
        self.streams.on_idle(table(&mut self.few, many));
        self.list.unread = 0;
        self.outstanding = 0;
        let _of_parent = self.take_tally();
        self.guarded = self.consumed();
    }
}
