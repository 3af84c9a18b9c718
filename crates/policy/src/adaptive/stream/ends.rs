//! Where a run began, whether it goes on, and how it ends.

use super::Stream;
use crate::adaptive::access::Access;
use crate::adaptive::shape::fit::Fit;
use crate::adaptive::window::{pages32, place32};
use ahead_units::{PageCount, Timestamp};

impl Stream {
    /// Pages from the begin of the run to the reader; 0 when the run has ended.
    pub(in crate::adaptive) fn run_pages(&self) -> u32 {
        place32(self.window.next).wrapping_sub(self.began)
    }

    /// The first page of a forward run.
    pub(in crate::adaptive) fn run_begin(&self) -> u64 {
        self.window.next.saturating_sub(u64::from(self.run_pages()))
    }

    /// Whether this is a run of which nothing says that it has ended.
    pub(in crate::adaptive) fn goes_on(&self) -> bool {
        self.shape.is_run() && self.run_pages() > 0
    }

    /// Whether this is a run that seems to have ended.
    #[inline]
    pub(in crate::adaptive) fn has_ended(&self) -> bool {
        self.shape.is_run() && self.run_pages() == 0
    }

    /// All up to page `frontier` was asked for before the run began with `access`.
    pub(in crate::adaptive) fn begin_inside(
        &mut self,
        access: &Access,
        frontier: u64,
        now: Timestamp,
    ) {
        let end = access.end.get();
        // One access is no stream: it is as young as a candidate.
        self.hits = 0;
        self.window.next = end;
        // What `access` wants beyond goes into the next request.
        self.window.frontier = frontier;
        self.window.tail = pages32(PageCount::new(frontier.saturating_sub(end)));
        self.pace.restart(end, now);
    }

    /// The run has ended, as it seems. Returns the pages of its window, which are given up.
    pub(in crate::adaptive) fn end_run(&mut self) -> PageCount {
        let unread = self.unread();
        self.began = place32(self.window.next);
        self.window.forget();
        self.request = 0;
        unread
    }

    /// A run that seemed to have ended is continued by `access`. False: not where it ended, so that
    /// this is a new run, which begins nearby.
    pub(in crate::adaptive) fn resume(&mut self, access: &Access) -> bool {
        let is_same = self.fit(access) == Fit::Exact;
        if !is_same {
            self.begin_at(access);
        }
        is_same
    }

    /// The reader went on with `access` further ahead in its window: there a new run began
    /// `pages` before the end of `access`. Returns the pages of the window that were passed over.
    pub(in crate::adaptive) fn jump_to(&mut self, access: &Access, pages: u64) -> PageCount {
        let span = self.span(access);
        let began = span.end.saturating_sub(pages);
        let passed = began.saturating_sub(self.window.next);
        self.began = place32(began);
        self.window.next = span.start;
        PageCount::new(passed)
    }

    /// The run begins with `access`, and not where it seemed to.
    pub(in crate::adaptive) fn begin_at(&mut self, access: &Access) {
        self.began = place32(self.span(access).start);
    }

    /// The run has ended, and the next one begins with `access`, ahead of it. Returns the pages that were asked for in between.
    pub(in crate::adaptive) fn begin_anew(&mut self, access: &Access) -> u32 {
        let unread = pages32(self.unread());
        let passed = pages32(self.jump_to(access, access.len().get()));
        let lost = unread.min(passed);
        // What was not asked for was not consumed either.
        self.pace.pass_over(passed - lost);
        lost
    }

    /// Where `access` begins and ends, in reading order.
    pub(in crate::adaptive) fn places_of(&self, access: &Access) -> (u64, u64) {
        let span = self.span(access);
        (span.start, span.end)
    }
}
