//! How long the runs of a file were, and how far a new one is therefore expected to go on.
//!
//! A window for a stream that goes on for ever is wrong for the column chunks of a table, for the
//! rows of a slice, for records between which something is left out. So the lengths of the newest
//! runs that ended are remembered. A run that has come so far can be expected to go on as those did
//! that came as far. Where all runs are equally long, that is to the page; where they have no memory,
//! it is the same distance again and again; where few are very long, it grows with the run.
//!
//! What is read in vain costs its transfer; what is asked for too late costs an access of the
//! device. As far as one access reaches, the middle of the expectations is therefore asked for,
//! beyond it only what three of four would read.

use crate::device::DeviceEstimate;

/// Runs that have to end before lengths are believed. Fewer, and the first two passages of a
/// program that settles down bound its long scan; more, and further windows are read in vain.
const RUNS_BELIEVED: u8 = 3;

/// First expectation of a run that is longer than all remembered: 128 KiB, what the kernel begins
/// with. Smaller, and a scan after many short runs begins with single pages; larger, and runs that
/// are a little longer than the others cost as much as if nothing were known.
const LONGER_RUN_PAGES: u32 = 32;

/// Runs that are remembered. Fewer, and a cycle of some lengths is never seen whole; more, and
/// what a program did before bounds what it does now. An array's length, so it is not swept.
const REMEMBERED: usize = 8;

/// How far a run is expected to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// No run of the file has ended.
    Unknown,
    /// One has, or may have, or few came as far. So many pages: as many as were read, and a window of the kernel. More
    /// is read in vain if all runs are alike.
    AsFarAgain(u64),
    /// So many pages, as others did that had come as far.
    Pages(u64),
    /// So many pages, as three of four others that had come as far, or half of them within an access: they ended anywhere, and this one may
    /// end before that, or behind it. So may one that has come farther than all.
    Likely(u64),
}

/// Lengths of the newest runs that ended, in pages. All zero: none did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RunLengths {
    pages: [u32; REMEMBERED],
    newest: u8,
    known: u8,
    /// So many of them were not told of yet.
    untold: u8,
    /// A run began where others had stopped, and none of them has moved since.
    is_doubted: bool,
}

impl RunLengths {
    /// A run ended after so many pages.
    pub(super) fn on_end(&mut self, pages: u32) {
        self.expect(pages);
        self.untold = (self.untold + 1).min(self.known);
    }

    /// Runs of other files ended after so many pages.
    pub(super) fn expect(&mut self, pages: u32) {
        let place = (usize::from(self.newest) + 1) % REMEMBERED;
        self.newest = u8::try_from(place).unwrap_or(0);
        self.pages[place] = pages;
        self.known = (self.known + 1).min(8);
    }

    /// A run that was believed to have ended goes on: what is remembered was no end either, as
    /// when several streams are read in turn.
    pub(super) fn on_resumed(&mut self) {
        self.known = 0;
        self.untold = 0;
    }

    /// The newest one had not ended there.
    pub(super) fn take_back(&mut self) {
        let before = usize::from(self.newest) + REMEMBERED - 1;
        self.newest = u8::try_from(before % REMEMBERED).unwrap_or(0);
        self.known = self.known.saturating_sub(1);
        self.untold = self.untold.min(self.known);
    }

    /// Tells the lengths of those that ended since this was called the last time, the oldest first.
    pub(super) fn tell(&mut self, tell: impl FnMut(u32)) {
        let untold = core::mem::take(&mut self.untold);
        (0..usize::from(untold))
            .rev()
            .map(|back| self.nth_newest(back))
            .for_each(tell);
    }

    /// A run begins. `others_stopped`: something in the file was read before, and did not go on since this
    /// run's first access: it may have ended, or only waits for its turn.
    pub(super) fn on_begin(&mut self, others_stopped: bool) {
        self.is_doubted |= others_stopped;
    }

    /// One of several runs goes on: they take turns.
    pub(super) fn on_turn(&mut self) {
        self.is_doubted = false;
    }

    /// Whether a run began where others had stopped, and none of them has moved since.
    pub(super) fn stop_before_others(&self) -> bool {
        self.is_doubted
    }

    /// Whether lengths are believed.
    pub(super) fn are_believed(&self) -> bool {
        self.known >= RUNS_BELIEVED
    }

    /// Pages of the next run, if it may be asked for before this one has ended. One that goes on after all brings an arm
    /// back, and then there again.
    pub(super) fn next(&self, device: &DeviceEstimate) -> Option<u64> {
        let may_go_on = !self.are_alike() && device.is_slow_to_access();
        match self.rest(0, device.pages_per_access().get()) {
            Rest::Pages(pages) | Rest::Likely(pages) if !may_go_on => Some(pages),
            _ => None,
        }
    }

    /// Whether those that are remembered were equally long. Runs of no whole pages differ by one.
    fn are_alike(&self) -> bool {
        let newest = self.nth_newest(0);
        (0..usize::from(self.known)).all(|back| self.nth_newest(back).abs_diff(newest) <= 1)
    }

    fn nth_newest(&self, back: usize) -> u32 {
        self.pages[(usize::from(self.newest) + REMEMBERED - back) % REMEMBERED]
    }

    /// Whether lengths are believed since this run ended.
    pub(super) fn begins_to_be_believed(&self) -> bool {
        self.known == RUNS_BELIEVED
    }

    /// How far a run is expected to go on of which `read` pages were read; `access_pages` go by during one
    /// access of the device, if that costs one.
    pub(super) fn rest(&self, read: u32, access_pages: u64) -> Rest {
        if self.known == 0 && !self.is_doubted {
            return Rest::Unknown;
        }
        if !self.are_believed() {
            return Rest::AsFarAgain(as_far_again(read));
        }
        let mut rests = [0_u32; REMEMBERED];
        let mut count = 0;
        let mut longest = 0;
        for back in 0..usize::from(self.known) {
            let pages = self.nth_newest(back);
            longest = longest.max(pages);
            if pages >= read {
                rests[count] = pages - read;
                count += 1;
            }
        }
        if count == 0 {
            let beyond = read - longest;
            let pages = beyond.saturating_mul(2).max(LONGER_RUN_PAGES);
            return Rest::Likely(u64::from(pages));
        }
        let rests = &mut rests[..count];
        rests.sort_unstable();
        let (quarter, middle) = (u64::from(rests[count / 4]), u64::from(rests[count / 2]));
        // Runs of no whole pages differ by one, which costs less than to come back for it.
        let longest = u64::from(rests[count - 1]);
        let rest = if longest - quarter <= 1 {
            longest
        } else {
            quarter.max(middle.min(access_pages))
        };
        let again = as_far_again(read);
        if count < usize::from(RUNS_BELIEVED) && rest > again {
            return Rest::AsFarAgain(again);
        }
        // One that came as far is no length of theirs.
        let is_sure = middle - quarter <= 1 && count >= usize::from(RUNS_BELIEVED);
        if is_sure {
            Rest::Pages(rest)
        } else {
            Rest::Likely(rest)
        }
    }
}

/// As many pages as were read, and a window of the kernel.
fn as_far_again(read: u32) -> u64 {
    u64::from(read) + u64::from(LONGER_RUN_PAGES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCESS: u64 = 200;

    fn after(lengths: &[u32]) -> RunLengths {
        let mut runs = RunLengths::default();
        for length in lengths {
            runs.on_end(*length);
        }
        runs
    }

    #[test]
    fn equal_runs_are_expected_to_end_at_the_page() {
        let runs = after(&[1024; 5]);
        assert_eq!(runs.rest(0, ACCESS), Rest::Pages(1024));
        assert_eq!(runs.rest(1000, ACCESS), Rest::Pages(24));
        assert_eq!(runs.rest(1024, ACCESS), Rest::Pages(0));
    }

    /// Odd reads 3104: for the last page of each run an arm came back from where the next ones begin.
    #[test]
    fn runs_that_differ_by_a_page_are_expected_to_be_the_longer_ones() {
        let runs = after(&[185, 186, 185, 185]);
        assert_eq!(runs.rest(20, ACCESS), Rest::Pages(166));
        assert_eq!(runs.rest(20, 0), Rest::Pages(166));
        assert_eq!(after(&[185, 187, 185, 185]).rest(20, 0), Rest::Pages(165));
    }

    #[test]
    fn after_two_runs_only_caution_is_learned_and_nothing_when_one_went_on() {
        assert_eq!(after(&[1024; 2]).rest(500, ACCESS), Rest::AsFarAgain(532));
        let mut runs = after(&[1024; 8]);
        runs.on_resumed();
        assert_eq!(runs.rest(0, ACCESS), Rest::Unknown);
    }

    #[test]
    fn a_run_longer_than_all_is_followed_from_small_beginnings() {
        let runs = after(&[100; 8]);
        assert_eq!(runs.rest(101, ACCESS), Rest::Likely(32));
        assert_eq!(runs.rest(1100, ACCESS), Rest::Likely(2000));
    }

    #[test]
    fn beyond_one_access_only_what_three_of_four_read_is_worth_it() {
        let runs = after(&[10, 20, 300, 300, 4000, 4000, 5000, 6000]);
        assert_eq!(runs.rest(0, ACCESS), Rest::Likely(300));
        assert_eq!(runs.rest(0, 10_000), Rest::Likely(4000));
        assert_eq!(runs.rest(301, ACCESS), Rest::Likely(3699));
    }

    /// Runs of 97, 390 and 1562 KiB with gaps between them that windows had once gone through: behind 104 KiB of one, 5 MiB were
    /// asked for, because the one run that had come as far went on for so long.
    #[test]
    fn one_run_that_went_on_says_no_more_than_what_was_read() {
        let runs = after(&[1284, 25, 25, 25, 25, 25]);
        assert_eq!(runs.rest(26, ACCESS), Rest::AsFarAgain(58));
        let runs = after(&[1284, 1284, 1284, 25, 25, 25]);
        assert_eq!(runs.rest(26, ACCESS), Rest::Pages(1258));
    }

    #[test]
    fn old_runs_are_forgotten() {
        let runs = after(&[1, 1, 1, 1, 64, 64, 64, 64, 64, 64, 64, 64]);
        assert_eq!(runs.rest(0, 0), Rest::Pages(64));
    }
}
