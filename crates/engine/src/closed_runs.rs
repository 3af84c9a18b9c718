//! How far the files that were closed last were read in one go, for the next one.
//!
//! A program that reads parts of one file and closes it mostly does so with the next one too: row groups of
//! many tables, the first pages of many images. The runs of a new file are then expected to go on as
//! theirs did; those that it has itself take their places. A file of which most was read in a run to its end ends the
//! belief: a scan that is expected to stop waits where it goes on. So does one that is read the other way: the ends of logs, backward, say
//! nothing of how far the next one is read from its front.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use ahead_policy::adaptive::ClosedRun;

/// Runs in a row that have to stop before a new file is expected to have such ones, too. Fewer, and a program that looks into
/// some files before it reads one has that bounded; more, and what is read in vain of many small files is learned late.
const BELIEVED: usize = 4;

/// Runs that are remembered, as many as a file remembers of its own: a cycle of so many lengths is seen whole.
const REMEMBERED: usize = 8;

/// What is remembered, shared by all files of a host. All zero is nothing.
#[derive(Debug, Default)]
pub struct ClosedRuns {
    pages: [AtomicU32; REMEMBERED],
    /// Runs in a row that stopped before the end of their file, all of them the same way.
    runs: AtomicU32,
    /// They went backward.
    are_backward: AtomicBool,
}

impl ClosedRuns {
    /// Nothing was read.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            pages: [const { AtomicU32::new(0) }; REMEMBERED],
            runs: AtomicU32::new(0),
            are_backward: AtomicBool::new(false),
        }
    }

    /// A run of a file that was closed, or read to its end, went like this.
    pub fn on_run(&self, run: ClosedRun) {
        match run {
            ClosedRun::ToTheEnd => self.runs.store(0, Relaxed),
            ClosedRun::Stopped { pages, is_backward } => {
                if self.are_backward.swap(is_backward, Relaxed) != is_backward {
                    self.runs.store(0, Relaxed);
                }
                let told = self.runs.fetch_add(1, Relaxed);
                let place = told as usize % REMEMBERED;
                self.pages[place].store(pages, Relaxed);
            }
        }
    }

    /// Lengths that the runs of a new file are expected to have, in pages, the oldest first, which is read from its front or not; `None`
    /// where nothing is believed.
    #[must_use]
    pub fn expected(&self, from_front: bool) -> Option<impl Iterator<Item = u32>> {
        let told = self.runs.load(Relaxed) as usize;
        let newest = (told.saturating_sub(REMEMBERED)..told)
            .map(|run| self.pages[run % REMEMBERED].load(Relaxed));
        let is_theirs = !from_front || !self.are_backward.load(Relaxed);
        (told >= BELIEVED && is_theirs).then_some(newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopped(pages: u32) -> ClosedRun {
        ClosedRun::Stopped {
            pages,
            is_backward: false,
        }
    }

    fn expected(runs: &ClosedRuns) -> Option<Vec<u32>> {
        Some(runs.expected(true)?.collect())
    }

    #[test]
    fn files_that_are_left_in_the_middle_are_expected_of_the_next_one_until_one_is_read_to_its_end()
    {
        let runs = ClosedRuns::new();
        for pages in [512, 256, 300] {
            runs.on_run(stopped(pages));
            assert_eq!(expected(&runs), None);
        }
        runs.on_run(stopped(7));
        assert_eq!(expected(&runs), Some(vec![512, 256, 300, 7]));
        for pages in 8..13 {
            runs.on_run(stopped(pages));
        }
        assert_eq!(expected(&runs), Some(vec![256, 300, 7, 8, 9, 10, 11, 12]));
        runs.on_run(ClosedRun::ToTheEnd);
        runs.on_run(stopped(7));
        assert_eq!(expected(&runs), None);
    }

    #[test]
    fn what_was_read_backward_is_not_expected_of_a_file_that_is_read_from_its_front() {
        let runs = ClosedRuns::new();
        for _ in 0..4 {
            runs.on_run(ClosedRun::Stopped {
                pages: 16,
                is_backward: true,
            });
        }
        assert_eq!(expected(&runs), None);
        assert!(runs.expected(false).is_some());
        runs.on_run(stopped(300));
        assert!(runs.expected(false).is_none(), "another way");
    }
}
