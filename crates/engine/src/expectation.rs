//! Whether small files are read whole, learned from those that were read before.
//!
//! A program that reads one small file to its end mostly does so with the next one too: a copy, a
//! search, a compiler. Then the first read of a file can bring all of it in one request, instead of
//! a first window and a second wait. Adaptive read-ahead learned the same in 2006
//! (`ra_expect_bytes`). Three things end the belief: files of which only parts are read (each halves
//! it), files that were brought and not finished, and files that were in memory already (asking
//! costs a call for nothing).

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use ahead_policy::steering::steering;
use ahead_units::PageCount;

steering! {
    /// Files up to 512 KiB are brought whole. Larger ones are soon read by their streams anyway, and
    /// cost more when the belief is wrong; with a smaller limit more of the small files wait twice.
    /// Evidence: docs/results/evidence/WHOLE_PAGES_MAX.csv
    WHOLE_PAGES_MAX: u64 = 128;

    /// Files read whole before the first is believed to be. Fewer, and a file that happens to be
    /// small makes the next one be read in vain; more, and the first files of a copy wait twice.
    /// Evidence: docs/results/evidence/WHOLE_FILES_MIN.csv
    WHOLE_FILES_MIN: u32 = 4;

    /// Files read whole are counted up to here, so that a program which changes its ways is believed
    /// after three files. More, and it brings files in vain for longer; fewer, and one file of which
    /// a part is read ends the belief.
    /// Evidence: docs/results/evidence/WHOLE_FILES_MAX.csv
    WHOLE_FILES_MAX: u32 = 32;

    /// Files that may be brought and not finished, beside one in eight. Fewer, and a program that
    /// looks at the heads of some files first is not believed; more, and that much is read in vain.
    /// Evidence: docs/results/evidence/UNFINISHED_FILES_MAX.csv
    UNFINISHED_FILES_MAX: u32 = 8;

    /// Both counts are halved here, so that the past fades. Lower, and the one in eight is counted
    /// among few; higher, and a program that changes its ways is believed for long.
    /// Evidence: docs/results/evidence/FILES_FADE_AT.csv
    FILES_FADE_AT: u32 = 1024;

    /// Files found in memory double the number of files that are left alone, up to here. Lower, and
    /// a program whose files are in memory pays for calls in vain; higher, and it takes longer to
    /// see that they no longer are.
    /// Evidence: docs/results/evidence/LEFT_ALONE_FILES_MAX.csv
    LEFT_ALONE_FILES_MAX: u32 = 1023;
}

/// What is believed, shared by all files of a host.
#[derive(Debug, Default)]
pub struct Expectation {
    whole: AtomicU32,
    asked: AtomicU32,
    finished: AtomicU32,
    /// Files that are left alone from now on, and how many it will be the next time.
    left_alone: AtomicU32,
    leave_next: AtomicU32,
}

impl Expectation {
    /// Nothing is believed yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            whole: AtomicU32::new(0),
            asked: AtomicU32::new(0),
            finished: AtomicU32::new(0),
            left_alone: AtomicU32::new(0),
            leave_next: AtomicU32::new(0),
        }
    }

    /// A file of at most so many pages is expected to be read whole; 0: no file is.
    #[must_use]
    pub fn pages(&self) -> PageCount {
        let (asked, finished) = (self.asked.load(Relaxed), self.finished.load(Relaxed));
        let unfinished = asked.saturating_sub(finished);
        let believed = self.whole.load(Relaxed) >= WHOLE_FILES_MIN.get()
            && unfinished <= UNFINISHED_FILES_MAX.get() + asked / 8
            && self.left_alone.load(Relaxed) == 0;
        PageCount::new(if believed { WHOLE_PAGES_MAX.get() } else { 0 })
    }

    /// A file is read from its start.
    pub fn on_begun(&self) {
        let left_alone = self.left_alone.load(Relaxed);
        if left_alone > 0 {
            self.left_alone.store(left_alone - 1, Relaxed);
        }
    }

    /// A file was brought whole because it was expected to be read.
    pub fn on_asked(&self) {
        let asked = self.asked.fetch_add(1, Relaxed) + 1;
        if asked >= FILES_FADE_AT.get() {
            self.asked.store(asked / 2, Relaxed);
            self.finished
                .store(self.finished.load(Relaxed) / 2, Relaxed);
        }
    }

    /// What was brought had to come from the device, or was in memory already.
    pub fn on_found(&self, cached: bool) {
        let next = self.leave_next.load(Relaxed);
        let next = if cached {
            (next * 2 + 1).min(LEFT_ALONE_FILES_MAX.get())
        } else {
            0
        };
        self.leave_next.store(next, Relaxed);
        self.left_alone.store(next, Relaxed);
    }

    /// A small file that was read from its start was left, or its end was reached without what
    /// lies between: a header, or a header and a footer.
    pub fn on_part(&self, file_pages: PageCount) {
        if file_pages.get() <= WHOLE_PAGES_MAX.get() {
            let whole = self.whole.load(Relaxed);
            self.whole.store(whole / 2, Relaxed);
        }
    }

    /// A file that was read from its start was read to its end, with all that lies between.
    /// `was_asked`: and brought for it.
    pub fn on_whole(&self, file_pages: PageCount, was_asked: bool) {
        if file_pages.get() <= WHOLE_PAGES_MAX.get() {
            let whole = self.whole.load(Relaxed);
            self.whole
                .store((whole + 1).min(WHOLE_FILES_MAX.get()), Relaxed);
        }
        if was_asked {
            self.finished.fetch_add(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: PageCount = PageCount::new(25);

    fn after_whole(files: u32) -> Expectation {
        let expectation = Expectation::default();
        for _ in 0..files {
            expectation.on_begun();
            expectation.on_whole(SMALL, false);
        }
        expectation
    }

    #[test]
    fn four_files_read_whole_make_the_fifth_expected() {
        assert_eq!(after_whole(3).pages().get(), 0);
        assert_eq!(after_whole(4).pages().get(), WHOLE_PAGES_MAX.get());
    }

    #[test]
    fn a_program_that_reads_headers_is_found_out_after_nine_files() {
        let expectation = after_whole(4);
        let mut asked = 0;
        for _ in 0..100 {
            expectation.on_begun();
            if expectation.pages().get() > 0 {
                expectation.on_asked();
                expectation.on_found(false);
                asked += 1;
            }
        }
        assert!((9..=11).contains(&asked), "{asked}");
    }

    /// Bug 16: touching the first and the last page taught "read whole", for ever.
    #[test]
    fn files_read_in_parts_end_the_belief() {
        let expectation = after_whole(1000);
        assert_eq!(expectation.pages().get(), WHOLE_PAGES_MAX.get());
        for _ in 0..4 {
            expectation.on_begun();
            expectation.on_part(SMALL);
        }
        assert_eq!(expectation.pages().get(), 0);
    }

    #[test]
    fn files_in_memory_are_asked_for_less_and_less() {
        let expectation = after_whole(4);
        let mut asked = 0;
        for _ in 0..1000 {
            expectation.on_begun();
            let was_asked = expectation.pages().get() > 0;
            if was_asked {
                expectation.on_asked();
                expectation.on_found(true);
                asked += 1;
            }
            expectation.on_whole(SMALL, was_asked);
        }
        assert!(asked <= 11, "{asked}");
        // One that had to be read ends that.
        expectation.on_found(false);
        assert!(expectation.pages().get() > 0);
    }
}
