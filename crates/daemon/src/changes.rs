//! What is done about files, kept with them; and the changes of mind of that, on their way to the log: few enough to be
//! read. Pure.
//!
//! A machine that reads many files changes its mind often. What is told is what the log has a line for: some at once,
//! and then a few a second; the others are counted, and each of them is still in the history of its file.

use std::path::PathBuf;

use ahead_engine::host::FileTable as _;
use ahead_observer::observation::{FileKey, Observation};
use ahead_units::Timestamp;

use crate::files::{Files, Slot};
use crate::history::Deed;

/// Lines at once, after a quiet time: a program that begins opens some files.
const BURST: u64 = 20;

/// A line more may be written after so long: five a second, and a log of a day stays below 100 MB.
const LINE_NS: u64 = 200_000_000;

/// A change of mind about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// When.
    pub at: Timestamp,
    /// About which file.
    pub file: FileKey,
    /// For which process.
    pub process: u32,
    /// To what.
    pub deed: Deed,
    /// The file's path, where it is known.
    pub path: Option<PathBuf>,
    /// The name of the process.
    pub name: Option<String>,
}

/// Those that are to be told, and how many are not.
#[derive(Debug, Default)]
pub struct Changes {
    waiting: Vec<Change>,
    untold: u64,
    /// When the burst would be whole again.
    whole: Timestamp,
}

impl Changes {
    /// The file at a place was read, and `keep` notes with it what was decided.
    pub fn on_read(
        &mut self,
        files: &Files,
        place: u32,
        fact: &Observation,
        keep: impl FnOnce(&mut Slot) -> Option<Deed>,
    ) {
        let Ok(mut inside) = files.enter(place) else {
            return;
        };
        let slot = inside.slot();
        if let Some(deed) = keep(slot) {
            self.add(Change {
                at: fact.time,
                file: fact.file,
                process: fact.process,
                deed,
                path: slot.path.clone(),
                name: slot.name.clone(),
            });
        }
    }

    /// Something else was done about it.
    pub fn on_deed(&mut self, files: &Files, place: u32, fact: &Observation, deed: Deed) {
        self.on_read(files, place, fact, |slot| {
            slot.history.on_deed(fact.time, fact.process, deed)
        });
    }

    /// One more.
    pub fn add(&mut self, change: Change) {
        let now = change.at;
        let whole = Timestamp::new(self.whole.get().max(now.get()) + LINE_NS);
        if whole.since(now) > BURST * LINE_NS {
            self.untold += 1;
        } else {
            self.whole = whole;
            self.waiting.push(change);
        }
    }

    /// Takes those that wait, and the number of those that were left out before them.
    pub fn take(&mut self) -> (Vec<Change>, u64) {
        if self.waiting.is_empty() {
            // They are told with the next line, so that they cannot be lines of their own without end.
            return (Vec::new(), 0);
        }
        let untold = std::mem::take(&mut self.untold);
        (std::mem::take(&mut self.waiting), untold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(ms: u64) -> Change {
        Change {
            at: Timestamp::new(ms * 1_000_000),
            file: FileKey {
                device: 1,
                inode: 2,
            },
            process: 7,
            deed: Deed::WindowTaken,
            path: None,
            name: None,
        }
    }

    #[test]
    fn a_storm_is_a_burst_and_then_five_a_second() {
        let mut changes = Changes::default();
        for ms in 0..1000 {
            changes.add(change(1000 + ms));
        }
        let (told, untold) = changes.take();
        assert_eq!(told.len() as u64, BURST + 4);
        // They are counted in the order of their coming, and told with the lines that follow.
        assert_eq!(untold, 1000 - told.len() as u64);
        assert_eq!(changes.take(), (Vec::new(), 0));
        changes.add(change(100_000));
        assert_eq!(changes.take().0.len(), 1);
    }

    #[test]
    fn what_comes_slowly_is_told_whole() {
        let mut changes = Changes::default();
        for second in 0..100 {
            changes.add(change(second * 1000));
        }
        assert_eq!((changes.take().0.len(), changes.untold), (100, 0));
    }
}
