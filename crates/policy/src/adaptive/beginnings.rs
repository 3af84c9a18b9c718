//! Where the next run of a file begins: foreseen from where the newest ones did.
//!
//! Column chunks of a table, rows of a slice, records behind headers: each run begins as far behind the
//! begin of the last one as that did, or the distances come in a cycle. When nothing is left to ask for of the
//! run that is read, the begin of the next one is asked for, or several of them if they are short.
//!
//! What was foreseen and did not come to pass is tried less and less: each time twice as many runs have to begin
//! where they would have been foreseen.

use super::window::{pages16, place32};
use crate::decision::Prefetch;
use ahead_units::{PAGE_BYTES, PageRange};

/// Distances that are remembered: a cycle of four and all but one of the next. An array's length, so it is not
/// swept.
const REMEMBERED: usize = 7;

/// Distances of a cycle, at most.
const CYCLE_MAX: usize = 4;

/// Equal distances in a row that are believed. Two agree by chance, and a third costs one more access.
const EQUAL_MIN: usize = 3;

/// Distances in bytes that are no whole pages differ by one page.
const TOLERANCE: i64 = 1;

/// Pages that are asked for beside a run that may begin a page earlier and end a page later.
pub(super) const SLACK_PAGES: u64 = 2;

/// Short runs that are foreseen at once. More, and what ends a table is overrun by as many.
const RUNS_MAX: u64 = 16;

/// After so many failures in a row it is not tried less than before: one run in 1024.
const FAILURES_MAX: u8 = 10;

/// Where in `failures` the runs are counted that begin elsewhere.
const OTHERS_SHIFT: u32 = 4;
/// So many of them, and what was foreseen does not come.
const OTHERS_MAX: u8 = 4;

/// What a run found where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The end, exclusive, of what was asked for of this run.
    pub(super) frontier: u64,
    /// Pages of those before it, which did not begin.
    pub(super) passed: u32,
}

/// Where runs of a file began. All zero: none did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beginnings {
    /// First page of what was asked for of the next run that was foreseen, wrapping.
    foreseen: u32,
    /// Pages from one run that was foreseen to the next.
    step: i32,
    /// First page of the newest run, wrapping.
    start: u32,
    /// Pages from one begin to the next, the newest first.
    steps: [i32; REMEMBERED],
    /// Pages asked for of each run that was foreseen.
    pages: u16,
    /// Runs that have to begin as they would have been foreseen before it is tried again.
    penance: u16,
    /// Runs that were foreseen and have not begun.
    count: u8,
    /// So many of them were in the newest request.
    newest: u8,
    /// Steps that are known.
    known: u8,
    /// Failures in a row, and in the upper half runs in a row that were not foreseen.
    failures: u8,
}

impl Beginnings {
    /// A run begins at page `start`, which was not foreseen. Returns the pages that were asked for and are given up.
    #[inline(never)]
    pub(super) fn on_begin(&mut self, start: u64) -> u32 {
        self.note(start);
        if self.count == 0 {
            return 0;
        }
        // Others may read elsewhere in the file. Who has gone past it does not come back, and who never comes does
        // not either.
        let past = place32(start).wrapping_sub(self.foreseen).cast_signed();
        let is_past = (past > 0) == (self.step > 0);
        let others = (self.failures >> OTHERS_SHIFT) + 1;
        if !is_past && others < OTHERS_MAX {
            self.failures += 1 << OTHERS_SHIFT;
            return 0;
        }
        self.fail();
        self.forget()
    }

    fn note(&mut self, start: u64) {
        let step = place32(start).wrapping_sub(self.start).cast_signed();
        let is_next = self
            .next_step()
            .is_some_and(|(next, _)| is_equal(next, step));
        if is_next {
            self.penance = self.penance.saturating_sub(1);
        }
        self.steps.copy_within(..REMEMBERED - 1, 1);
        self.steps[0] = step;
        // The first one's is how far it is from the begin of the file, which may as well be a distance.
        self.known += u8::from(usize::from(self.known) < REMEMBERED);
        self.start = place32(start);
    }

    fn fail(&mut self) {
        let failures = self.failures_in_a_row() + 1;
        self.failures = failures.min(FAILURES_MAX);
        self.penance = 1 << self.failures;
    }

    const fn failures_in_a_row(&self) -> u8 {
        self.failures & ((1 << OTHERS_SHIFT) - 1)
    }

    /// The first read of a run, at page `start`: what was asked for of it, if it was foreseen.
    #[inline(never)]
    pub(super) fn on_read(&mut self, start: u64) -> Option<Found> {
        let mut first = self.foreseen;
        for passed in 0..self.count {
            // A page in front of the begin may have been asked for, and one behind the end.
            let inside = place32(start).wrapping_sub(first).cast_signed();
            if (-1..=2).contains(&inside) {
                self.note(start);
                self.foreseen = first.wrapping_add_signed(self.step);
                self.count -= passed + 1;
                self.newest = self.newest.min(self.count);
                self.failures = self.failures_in_a_row().saturating_sub(1);
                return Some(Found {
                    frontier: start
                        .saturating_add_signed(i64::from(self.pages) - i64::from(inside)),
                    passed: u32::from(passed) * u32::from(self.pages),
                });
            }
            first = first.wrapping_add_signed(self.step);
        }
        None
    }

    /// Pages from the newest begin to the next, as far as is known, and whether all distances are equal.
    fn next_step(&self) -> Option<(i32, bool)> {
        let steps = &self.steps[..usize::from(self.known)];
        let repeats = |cycle: usize| {
            let needed = (cycle + EQUAL_MIN - 1).max(2 * cycle - 1);
            let mut pairs = steps.iter().zip(&steps[cycle..]).take(needed - cycle);
            steps.len() >= needed && pairs.all(|(one, other)| is_equal(*one, *other))
        };
        let mut cycles = 1..=CYCLE_MAX.min(steps.len());
        let cycle = cycles.find(|cycle| repeats(*cycle))?;
        Some((steps[cycle - 1], cycle == 1))
    }

    /// What to ask for when nothing is left of the run that began at page `began`: of runs of `run_pages`, `pages`
    /// at most, in a file of `file_pages`. Nothing where an arm `goes_along` with a reader who waits for it, and comes to a run that is ahead by itself: sent there, it
    /// comes back for what is left of this one (odd reads 3104: 1.34 of the kernel's time).
    #[inline(never)]
    pub(super) fn foresee(
        &mut self,
        began: u64,
        run_pages: u64,
        pages: u64,
        file_pages: u64,
        goes_along: bool,
    ) -> Option<Prefetch> {
        let (step, are_equal) = self.next_step()?;
        if goes_along && step > 0 {
            return None;
        }
        let is_newest = place32(began) == self.start;
        if !is_newest || self.penance > 0 || run_pages.min(pages) == 0 {
            return None;
        }
        let next = began.checked_add_signed(i64::from(step) * (i64::from(self.count) + 1))?;
        let known = &self.steps[..usize::from(self.known).max(EQUAL_MIN) - 1];
        let is_exact = are_equal && known.iter().all(|one| *one == step);
        // In front of the begin, where it may be a page earlier.
        let (start, slack) = if is_exact {
            (next, 0)
        } else {
            (next.saturating_sub(1), SLACK_PAGES)
        };
        let each = run_pages.min(pages.checked_sub(slack)?) + slack;
        let period = u64::from(step.unsigned_abs());
        // Runs that touch are one, unless each begins before the last one; and none begins behind the end of the file.
        let touches = period < each || period == each && step > 0;
        if touches || start + each > file_pages {
            return None;
        }
        let most = if is_exact { pages / each } else { 1 };
        let most = most.clamp(1, RUNS_MAX);
        // The next ones follow when half of them are read, and begin where these end.
        let left = u64::from(self.count);
        let is_other = u64::from(self.pages) != each || self.step != step;
        if left > 0 && (left * 2 > most || is_other) {
            return None;
        }
        let before_the_end = if step > 0 {
            (file_pages - each - start) / period
        } else {
            start / period
        };
        let count = (most - left).min(before_the_end + 1);
        if left == 0 {
            (self.foreseen, self.step) = (place32(start), step);
        }
        self.pages = pages16(each);
        self.newest = u8::try_from(count).unwrap_or(1);
        self.count += self.newest;
        Some(Prefetch {
            first: PageRange::new(start, start + each).into(),
            period: i64::from(step) * PAGE_BYTES.cast_signed(),
            count: self.newest.into(),
        })
    }

    /// What the newest request asked for was in memory already.
    pub(super) fn on_cached(&mut self) {
        self.on_refused();
        self.fail();
    }

    /// The newest request did not reach the device.
    pub(super) fn on_refused(&mut self) {
        self.count -= core::mem::take(&mut self.newest).min(self.count);
    }

    /// What was asked for is not wanted any more. Returns its pages.
    pub(super) fn forget(&mut self) -> u32 {
        let lost = self.unread();
        (self.count, self.newest) = (0, 0);
        lost
    }

    /// Whether the first run that was foreseen begins in these pages, which are asked for anyway.
    pub(super) fn begins_in(&self, pages: PageRange) -> bool {
        let inside = self.foreseen.wrapping_sub(place32(pages.start.get()));
        self.count > 0 && u64::from(inside) < pages.len().get()
    }

    /// Whether runs were foreseen that have not begun.
    #[inline]
    pub(super) const fn awaits(&self) -> bool {
        self.count > 0
    }

    /// Pages asked for of runs that have not begun.
    pub(super) fn unread(&self) -> u32 {
        u32::from(self.pages) * u32::from(self.count)
    }
}

fn is_equal(one: i32, other: i32) -> bool {
    i64::from(one.abs_diff(other)) <= TOLERANCE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of 100 pages began at these pages; what is asked for then, 1000 pages at most.
    fn after(starts: &[u64]) -> Option<(u64, u32)> {
        let mut all = Beginnings::default();
        for start in starts {
            all.on_begin(*start);
        }
        let ahead = all.foresee(*starts.last()?, 100, 1000, 1 << 20, false)?;
        Some((ahead.first.pages().start.get(), ahead.count))
    }

    #[test]
    fn three_equal_distances_are_believed() {
        assert_eq!(after(&[50, 250, 450]), None);
        assert_eq!(after(&[50, 250, 450, 650]), Some((850, 10)));
        assert_eq!(after(&[5000, 4000, 3000, 2000]), Some((1000, 2)));
    }

    #[test]
    fn an_arm_that_goes_along_is_sent_back_only() {
        let foresees = |starts: [u64; 4]| {
            let mut all = Beginnings::default();
            starts.into_iter().for_each(|start| {
                all.on_begin(start);
            });
            all.foresee(starts[3], 100, 1000, 1 << 20, true).is_some()
        };
        assert!(!foresees([50, 250, 450, 650]));
        assert!(foresees([5000, 4000, 3000, 2000]));
    }

    #[test]
    fn distances_that_are_no_whole_pages_are_equal() {
        assert_eq!(after(&[0, 200, 401, 601, 802]), Some((1002, 1)));
    }

    #[test]
    fn distances_in_a_cycle_are_believed_once_it_comes_again() {
        let two = [0, 200, 700, 900, 1400];
        assert_eq!(after(&two), Some((1600 - 1, 1)));
        assert_eq!(after(&two[..4]), None);
        let rows = [0, 200, 400, 1000, 1200, 1400, 2000];
        assert_eq!(after(&rows), Some((2199, 1)));
    }

    #[test]
    fn what_touches_is_one_run() {
        assert_eq!(after(&[0, 100, 200, 300, 400]), None);
    }

    #[test]
    fn what_was_foreseen_is_found_and_what_was_passed_is_lost() {
        let mut all = Beginnings::default();
        for start in [1000, 2000, 3000, 4000] {
            all.on_begin(start);
        }
        assert_eq!(
            all.foresee(4000, 10, 30, 8010, false)
                .map(|ahead| ahead.count),
            Some(3)
        );
        assert_eq!(all.foresee(4000, 10, 30, 8010, false), None, "not twice");
        let found = |frontier, passed| Some(Found { frontier, passed });
        assert_eq!(all.on_read(5000), found(5010, 0));
        assert_eq!(all.on_read(7000), found(7010, 10));
        assert_eq!(all.unread(), 0);
        assert_eq!(all.on_read(8000), None);
    }

    /// Nine runs are left from 6000 on, and one is left out: the others begin where they were foreseen all the same.
    #[test]
    fn a_run_that_is_left_out_changes_nothing_for_those_behind_it() {
        let mut all = Beginnings::default();
        for start in [2000, 3000, 4000, 5000] {
            all.on_begin(start);
        }
        assert_eq!(
            all.foresee(5000, 10, 90, 1 << 20, false)
                .map(|ahead| ahead.count),
            Some(9)
        );
        assert_eq!(all.on_read(7000).map(|found| found.passed), Some(10));
        for start in [8000, 9000, 10_000] {
            assert_eq!(
                all.on_read(start).map(|found| found.frontier),
                Some(start + 10)
            );
        }
    }

    #[test]
    fn others_that_read_elsewhere_end_it_only_when_there_are_many() {
        let mut all = Beginnings::default();
        for start in [2000, 3000, 4000, 5000] {
            all.on_begin(start);
        }
        all.foresee(5000, 10, 30, 1 << 20, false);
        assert_eq!(
            [all.on_begin(100), all.on_begin(200), all.on_begin(300)],
            [0; 3]
        );
        assert!(all.on_read(6000).is_some());
        let lost: u32 = [100, 200, 300, 400]
            .map(|start| all.on_begin(start))
            .iter()
            .sum();
        assert_eq!((lost, all.unread()), (20, 0));
    }

    #[test]
    fn what_was_refused_takes_nothing_away_from_what_was_asked_for_before() {
        let mut all = Beginnings::default();
        for start in [2000, 3000, 4000, 5000] {
            all.on_begin(start);
        }
        all.foresee(5000, 10, 40, 1 << 20, false);
        for start in [6000, 7000] {
            all.on_read(start);
        }
        assert_eq!(
            all.foresee(7000, 10, 40, 1 << 20, false)
                .map(|ahead| ahead.count),
            Some(2)
        );
        all.on_refused();
        assert_eq!(all.unread(), 20);
        assert!(all.on_read(8000).is_some());
    }

    #[test]
    fn what_fails_is_tried_less_and_less() {
        let mut all = Beginnings::default();
        let (mut asked, mut lost) = (0, 0);
        let mut start = 0;
        for run in 0..4096_u64 {
            // Four runs, and then somewhere else.
            start += if run % 4 == 0 { 77_777 } else { 1000 };
            if all.on_read(start).is_none() {
                lost += all.on_begin(start);
            }
            asked += u64::from(all.foresee(start, 10, 10, u64::MAX / 2, false).is_some());
        }
        assert!(asked <= 16, "{asked} times");
        assert!(lost <= 160, "{lost} pages");
    }
}
