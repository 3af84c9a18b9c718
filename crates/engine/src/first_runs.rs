//! How far the files that were closed last were read in one go, for the next one.
//!
//! A program that reads part of one file and closes it mostly does so with the next one too: row groups of
//! many tables, the first pages of many images. The first run of a new file is then expected to go on as
//! theirs did, until the file has runs of its own. One file that was read to its end ends the belief: a
//! scan that is expected to stop waits where it goes on.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use ahead_policy::adaptive::LastRun;

/// Files that are remembered: as many as are believed, so that a program which changes its ways is followed
/// after that many.
const REMEMBERED: usize = 4;

/// What is remembered, shared by all files of a host. All zero is nothing.
#[derive(Debug, Default)]
pub struct FirstRuns {
    pages: [AtomicU32; REMEMBERED],
    /// Files in a row that were closed in the middle of a run.
    files: AtomicU32,
}

impl FirstRuns {
    /// Nothing was read.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            pages: [const { AtomicU32::new(0) }; REMEMBERED],
            files: AtomicU32::new(0),
        }
    }

    /// A file was closed whose newest run went like this.
    pub fn on_closed(&self, run: LastRun) {
        match run {
            LastRun::ToTheEnd => self.files.store(0, Relaxed),
            LastRun::Stopped(pages) => {
                let files = self.files.fetch_add(1, Relaxed);
                let place = files as usize % REMEMBERED;
                self.pages[place].store(pages, Relaxed);
            }
        }
    }

    /// Lengths of the first runs of a new file, in pages; `None` where nothing is believed.
    #[must_use]
    pub fn expected(&self) -> Option<[u32; REMEMBERED]> {
        let is_believed = self.files.load(Relaxed) as usize >= REMEMBERED;
        is_believed.then(|| core::array::from_fn(|place| self.pages[place].load(Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_left_in_the_middle_are_expected_of_the_next_one_until_one_is_read_to_its_end()
    {
        let runs = FirstRuns::new();
        for pages in [512, 256, 300] {
            runs.on_closed(LastRun::Stopped(pages));
            assert_eq!(runs.expected(), None);
        }
        runs.on_closed(LastRun::Stopped(7));
        assert_eq!(runs.expected(), Some([512, 256, 300, 7]));
        runs.on_closed(LastRun::Stopped(8));
        assert_eq!(runs.expected(), Some([8, 256, 300, 7]));
        runs.on_closed(LastRun::ToTheEnd);
        runs.on_closed(LastRun::Stopped(7));
        assert_eq!(runs.expected(), None);
    }
}
