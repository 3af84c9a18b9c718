//! Handing out the account of one file, and beginning another one in the child of a fork.

use super::{FileState, Many, table};
use crate::guard::Consumed;
use crate::tally::Tally;

impl FileState {
    /// The account since the last call, and the pages given up unread in that time.
    pub fn take_tally(&mut self) -> (Tally, u64) {
        let wasted = self.streams.wasted().get();
        let since = wasted - core::mem::replace(&mut self.wasted_told, wasted);
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
        let _of_parent = self.take_tally();
        self.guarded = self.consumed();
    }
}
