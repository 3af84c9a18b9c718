//! One round after another: what is told is acted on for a while, and what else is due is looked at.

use std::time::Duration;

use ahead_observer::observation::{FactKind, Observation};
use ahead_units::Timestamp;

use super::{Daemon, DaemonError, LOOK_NS};
use crate::machine_facts::now;
use crate::memory::MemoryFacts;

/// A watched file of which nothing was told for so long is not watched any more.
const QUIET_NS: u64 = 5_000_000_000;

/// After so long what else is due is looked at, and the other facts wait. Longer, and signals, questions and the memory of the machine do;
/// shorter, and looking around is most of the work.
const BATCH_NS: u64 = 20_000_000;

impl Daemon {
    /// Waits for facts, at most for `timeout`, and acts on them; on those that take too long the next time, before it waits again.
    ///
    /// # Errors
    /// [`DaemonError::Observing`].
    pub fn step(&mut self, timeout: Duration) -> Result<(), DaemonError> {
        if self.facts.is_empty() {
            let mut facts = Vec::from(std::mem::take(&mut self.facts));
            self.observer.wait(timeout, &mut facts)?;
            self.facts = facts.into();
        }
        let began = now();
        let mut at = began;
        while at.since(began) < BATCH_NS
            && let Some(fact) = self.facts.pop_front()
        {
            self.counts.facts += 1;
            if !self.costs_too_much(&fact, at) {
                self.on_fact(&fact);
                self.charge(&fact, at);
            } else if fact.kind == FactKind::Miss {
                self.ignore(&fact);
            }
            at = now();
        }
        self.look_around(at);
        Ok(())
    }

    /// Who cost much is left alone for a while.
    fn charge(&mut self, fact: &Observation, at: Timestamp) {
        let spent = self.aside.take_spent();
        if !spent.is_zero() {
            let user = self.readers.user(fact);
            self.spending.on_spent(fact.process, user, spent, at);
        }
    }

    /// Whether the one whose access `fact` tells cost too much just now.
    fn costs_too_much(&self, fact: &Observation, at: Timestamp) -> bool {
        if self.spending.is_empty() {
            return false;
        }
        let user = self.readers.user(fact);
        (self.spending).is_left_alone(fact.process, user, at)
    }

    fn look_around(&mut self, now: Timestamp) {
        if self.memory.is_due(now) {
            self.learn_memory();
        }
        if now.since(self.looked) < LOOK_NS {
            return;
        }
        self.looked = now;
        self.respect_owners();
        self.narrowed.forget_ended();
        self.let_go_on(now);
        while let Some((&file, &told)) = self.watched.peek_lru()
            && now.since(told) > QUIET_NS
        {
            self.forget(file);
        }
        // To attach takes milliseconds, in which the first reader is not seen.
        if self.watched.is_empty() && now.since(self.missed) > QUIET_NS {
            self.observer.rest();
        }
    }

    pub(super) fn learn_memory(&mut self) {
        let facts = MemoryFacts::of_this_machine();
        let ratio = self.settings.readahead_ratio;
        let pages = self.memory.pages(now(), facts, ratio);
        self.session.group.set_memory(pages, &self.settings);
        self.file_memory = facts.for_one_file();
    }
}
