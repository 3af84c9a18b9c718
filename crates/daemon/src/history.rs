//! What was decided about one file: the newest decisions, and whether one is a change of mind. Pure.
//!
//! Every request is kept, as `ahead run --explain` prints them; a decision to request nothing is kept when it is
//! another one than before, as a random reader makes one with every read. A *change of mind* is another pattern, or
//! the step from requesting to leaving alone and back: that is what the log has a line for.

use std::collections::VecDeque;
use std::fmt;

use ahead_engine::adviser::{Answer, CallsMade};
use ahead_policy::decision::Decision;
use ahead_policy::reason::{Pattern, Reason};
use ahead_units::Timestamp;

use crate::status::HistoryEntry;

/// Decisions that are kept of a file: some windows back. All files with so many are less than 10 MiB.
pub const HISTORY_MAX: usize = 32;

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// A decision of the policy, and what came of it; `None`: there was nothing to carry out.
    Decided(Decision, Option<CallsMade>),
    /// The open file has no window any more: its mapping is read at random.
    WindowTaken,
    /// It has a small one, and nothing is requested for it: page faults starve behind it.
    HeldBack,
    /// It has the device's window again.
    WindowGivenBack,
    /// The program said RANDOM: it is left to that.
    LeftToProgram,
}

impl fmt::Display for Deed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decided(decision, made) => {
                write!(out, "{decision}")?;
                out.write_str(match made.map(|made| made.answer) {
                    None | Some(Answer::OnItsWay | Answer::Unknown) => "",
                    Some(Answer::WasCached) => "; it was in memory",
                    Some(Answer::Refused) => "; the kernel refused",
                    Some(Answer::NotHere) => "; not carried out: not meant, or not reached",
                })
            }
            Self::WindowTaken => out.write_str("window taken (its mapping is read at random)"),
            Self::HeldBack => out.write_str("held back (page faults of others starve behind it)"),
            Self::WindowGivenBack => out.write_str("window given back"),
            Self::LeftToProgram => {
                out.write_str("left to the program (it said RANDOM about the open file)")
            }
        }
    }
}

/// One thing that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    at: Timestamp,
    process: u32,
    deed: Deed,
}

/// The newest of them.
#[derive(Debug, Default)]
pub struct History {
    newest: VecDeque<Entry>,
    forgotten: u64,
    /// The file's pattern and reason when it was looked at last.
    mind: (Pattern, Reason),
    /// The pattern, and whether something is requested.
    stance: (Pattern, bool),
}

impl History {
    /// `process` has read the file, whose newest pattern and reason are `mind` now; `asked` is what was requested
    /// because of that. Returns what is new, if that is a change of mind.
    pub fn on_read(
        &mut self,
        at: Timestamp,
        process: u32,
        mind: (Pattern, Reason),
        asked: Option<(Decision, CallsMade)>,
    ) -> Option<Deed> {
        let is_other = std::mem::replace(&mut self.mind, mind) != mind;
        let deed = match asked {
            Some((decision, made)) => Deed::Decided(decision, Some(made)),
            None if is_other => Deed::Decided(Decision::nothing(mind.0, mind.1), None),
            None => return None,
        };
        let stance = (mind.0, asked.is_some());
        let is_change = std::mem::replace(&mut self.stance, stance) != stance;
        if asked.is_some() || is_change {
            self.keep(at, process, deed);
        }
        is_change.then_some(deed)
    }

    /// Something else was done. Returns it, if the newest entry is another: a change of mind.
    pub fn on_deed(&mut self, at: Timestamp, process: u32, deed: Deed) -> Option<Deed> {
        if self.newest.back().is_some_and(|entry| entry.deed == deed) {
            return None;
        }
        self.keep(at, process, deed);
        Some(deed)
    }

    fn keep(&mut self, at: Timestamp, process: u32, deed: Deed) {
        if self.newest.len() >= HISTORY_MAX {
            self.newest.pop_front();
            self.forgotten += 1;
        }
        self.newest.push_back(Entry { at, process, deed });
    }

    /// The entries, oldest first, and how many were before them.
    #[must_use]
    pub fn told(&self) -> (Vec<HistoryEntry>, u64) {
        let entry = |entry: &Entry| HistoryEntry {
            at_ns: entry.at.get(),
            process: entry.process,
            pages: match entry.deed {
                Deed::Decided(_, Some(made)) => made.pages.get(),
                _ => 0,
            },
            what: entry.deed.to_string(),
        };
        (self.newest.iter().map(entry).collect(), self.forgotten)
    }
}

#[cfg(test)]
mod tests {
    use ahead_policy::decision::Prefetch;
    use ahead_units::{PageCount, PageRange};

    use super::*;

    const BACKWARD: (Pattern, Reason) = (Pattern::Backward, Reason::MarkerCrossed);
    const RANDOM: (Pattern, Reason) = (Pattern::Random, Reason::RandomReads);

    fn requested() -> Option<(Decision, CallsMade)> {
        let decision = Decision {
            prefetch: Prefetch::range(PageRange::new(4, 8)),
            pattern: BACKWARD.0,
            reason: BACKWARD.1,
        };
        let made = CallsMade {
            answer: Answer::OnItsWay,
            pages: PageCount::new(3),
        };
        Some((decision, made))
    }

    fn at(ms: u64) -> Timestamp {
        Timestamp::new(ms * 1_000_000)
    }

    #[test]
    fn each_request_is_kept_and_the_first_is_a_change_of_mind() {
        let mut history = History::default();
        assert!(history.on_read(at(1), 7, BACKWARD, requested()).is_some());
        assert!(history.on_read(at(2), 7, BACKWARD, requested()).is_none());
        // Inside of its window.
        assert!(history.on_read(at(3), 7, BACKWARD, None).is_none());
        let (told, forgotten) = history.told();
        assert_eq!((told.len(), forgotten), (2, 0));
        let reason = Reason::MarkerCrossed.text();
        assert_eq!(
            told[0].what,
            format!("16 KiB at 16 KiB (backward: {reason})")
        );
        // One of the four was in memory, in a call of its own.
        assert_eq!((told[1].at_ns, told[1].pages), (2_000_000, 3));
    }

    #[test]
    fn what_came_to_nothing_has_no_pages_and_says_why() {
        for (answer, why) in [
            (Answer::WasCached, "it was in memory"),
            (Answer::Refused, "the kernel refused"),
            (Answer::NotHere, "not carried out"),
        ] {
            let mut history = History::default();
            let made = CallsMade::nothing(answer);
            let asked = requested().map(|(decision, _)| (decision, made));
            assert!(history.on_read(at(1), 7, BACKWARD, asked).is_some());
            let (told, _) = history.told();
            assert_eq!(told[0].pages, 0, "{answer:?}");
            assert!(told[0].what.contains(why), "{answer:?}: {}", told[0].what);
        }
    }

    /// A random reader changes its reason with every few reads, and its mind once.
    #[test]
    fn a_random_reader_is_told_of_once() {
        let mut history = History::default();
        let other = (Pattern::Random, Reason::NoPattern);
        let mut changes = 0;
        for read in 0..100 {
            let mind = if read % 3 == 0 { other } else { RANDOM };
            changes += usize::from(history.on_read(at(read), 7, mind, None).is_some());
        }
        assert_eq!((changes, history.told().0.len()), (1, 1));
    }

    #[test]
    fn the_oldest_goes_when_there_are_as_many_as_are_kept() {
        let mut history = History::default();
        for read in 0..HISTORY_MAX as u64 + 5 {
            let _ = history.on_read(at(read), 7, BACKWARD, requested());
        }
        let (told, forgotten) = history.told();
        assert_eq!((told.len(), forgotten), (HISTORY_MAX, 5));
        assert_eq!(told[0].at_ns, 5_000_000);
    }

    /// As the constant says; a larger entry wants fewer of them.
    #[test]
    fn the_histories_of_all_files_are_not_more_than_ten_megabytes() {
        let entry = size_of::<Entry>();
        assert!(
            crate::files::FILES_MAX * HISTORY_MAX * entry <= 10 << 20,
            "{entry}"
        );
    }

    #[test]
    fn a_window_that_is_taken_twice_is_told_once() {
        let mut history = History::default();
        assert!(history.on_deed(at(1), 7, Deed::WindowTaken).is_some());
        assert!(history.on_deed(at(2), 7, Deed::WindowTaken).is_none());
        assert!(history.on_deed(at(3), 7, Deed::WindowGivenBack).is_some());
        assert_eq!(history.told().0.len(), 2);
    }
}
