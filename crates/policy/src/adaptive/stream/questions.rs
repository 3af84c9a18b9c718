//! What a stream is to those who decide about it.

use super::{DOUBTFUL_HITS, ESTABLISHED_HITS, STRIDED_HITS, Stream};
use crate::adaptive::access::Access;
use crate::adaptive::direction::Direction;
use crate::adaptive::matching::STREAMS_MANY;
use crate::adaptive::moment::Moment;
use crate::adaptive::read_through::ReadOn;
use crate::adaptive::rows::{ELEMENTS_SEEN, NewRow};
use crate::adaptive::shape::Shape;
use crate::adaptive::shape::fit::Fit;
use crate::adaptive::shape::grid::Grid;
use crate::adaptive::shape::regular::REGULAR_STEPS;
use crate::adaptive::shape::shuffled::REORDER_PAGES;
use crate::adaptive::shape::{candidate, run, sparse, strided};
use crate::reason::Pattern;
use ahead_units::{PAGE_BYTES, PageCount};
use core::cell::LazyCell;

/// A hole up to here is a part of a run: 128 KiB, about what the kernel reads behind the end of one. Shorter, and records that leave something
/// out now and then are runs of their own; longer, and runs with gaps between them are one, of which it is not known where it ends.
const HOLE_OF_RUN_PAGES: u64 = 32;

/// Accesses that a run waits for until it is asked for: the first two of its reads.
const ACCESSES_OF_BEGIN: u64 = 2;

/// Elements in a row of a wide stride that may be a round over streams: as many as there can be, and those that a new one is said to have.
fn round_most() -> usize {
    STREAMS_MANY + usize::from(REGULAR_STEPS.get())
}

impl Stream {
    /// What the accesses look like, for reports.
    pub(in crate::adaptive) fn pattern(&self) -> Pattern {
        match (self.shape, self.direction) {
            (Shape::Vacant | Shape::Candidate, _) => Pattern::Unknown,
            (Shape::Run, Direction::Forward) => Pattern::Sequential,
            (Shape::Shuffled, Direction::Forward) => Pattern::Shuffled,
            (Shape::Sparse, Direction::Forward) => Pattern::Sparse,
            (Shape::Run | Shape::Shuffled | Shape::Sparse, Direction::Backward) => {
                Pattern::Backward
            }
            (Shape::Strided, Direction::Forward) => Pattern::Strided,
            (Shape::Strided, Direction::Backward) => Pattern::StridedBackward,
        }
    }

    /// Whether `access` is the next one of this stream, to the page.
    pub(in crate::adaptive) fn goes_on_with(&self, access: &Access) -> bool {
        !self.is_candidate() && self.fit(access) == Fit::Exact
    }

    /// A stride of few elements, far apart: it may as well be several streams that are read in turn
    /// and lie evenly spaced. Its accesses stay candidates of their own until that is clear.
    pub(in crate::adaptive) fn is_doubtful(&self) -> bool {
        self.hits < DOUBTFUL_HITS.get() && self.is_wide_stride()
    }

    /// Whether the stream is old enough to be worth a request; of a stride `needed` elements have to have come where they were expected.
    pub(in crate::adaptive) fn is_trusted(&self, needed: u8) -> bool {
        match self.shape {
            Shape::Vacant | Shape::Candidate => false,
            // Two adjacent accesses are a stream. Holes are asked for when they are no stride.
            Shape::Run | Shape::Shuffled | Shape::Sparse => {
                !self.has_holes() || self.hits > ESTABLISHED_HITS.get().max(REGULAR_STEPS.get())
            }
            Shape::Strided => self.hits >= STRIDED_HITS.get() && self.elements_in_a_row() >= needed,
        }
    }

    /// Whether this is a run with holes, and reading through them does not pay, behind one of so many pages. `how` those of as many pages as are
    /// expected are read on through.
    pub(in crate::adaptive) fn is_left_to_kernel(
        &self,
        newest: u64,
        moment: &Moment,
        how: impl FnOnce(u64) -> ReadOn,
    ) -> bool {
        if self.shape == Shape::Strided || !self.has_holes() {
            return false;
        }
        let hole = self.expected_hole(newest);
        !self.density.holes_pay(hole, moment) && !self.reads_on(hole, moment, how(hole))
    }

    /// Pages that this run is expected to leave out before its next read: what it does in the mean, or half way to the `newest` hole, before
    /// the access that asks, if that is longer. Where holes grow the mean comes after them (jumps that grow by a twentieth took 1.22 of the kernel's time on a volume).
    fn expected_hole(&self, newest: u64) -> u64 {
        let mean = self.density.mean_hole(self.length.into());
        u64::midpoint(mean, newest.max(mean))
    }

    /// Pages that a run leaves out before `access`.
    pub(in crate::adaptive) fn hole_before(&self, access: &Access) -> u64 {
        if self.shape.is_run() {
            self.span(access).start.saturating_sub(self.window.next)
        } else {
            0
        }
    }

    /// Whether this is a run, in order and nearly without holes, that has ended, as one towards the end of the file begins with `access`, a hole ahead.
    /// Where a new run costs its first accesses, two of them, a shorter hole is read through; but arms that a reader has to itself pass over it
    /// anyway, and ask for less in vain if they know how long runs are.
    pub(in crate::adaptive) fn is_left_for(
        &self,
        access: &Access,
        moment: &LazyCell<Moment, impl FnOnce() -> Moment>,
    ) -> bool {
        let in_order = self.shape == Shape::Run && self.disorder.is_none();
        let hole = self.hole_before(access);
        if !in_order || !self.may_read_through() || hole <= HOLE_OF_RUN_PAGES {
            return false;
        }
        let device = &moment.device;
        let arms_pass = device.is_slow_to_access() && !moment.contested;
        arms_pass || hole > device.pages_per_access().get() * ACCESSES_OF_BEGIN
    }

    /// Whether no more than one read was made of this run: it is none yet, and may be an element of a stride.
    pub(in crate::adaptive) fn has_read_once(&self) -> bool {
        self.run_pages() <= u32::from(self.length)
    }

    /// Whether all of `access` lies before the begin of this run, and not further behind its reader than what comes out of order: what seemed to be
    /// the end of the one before was none.
    pub(in crate::adaptive) fn continues_the_one_before(&self, access: &Access) -> bool {
        let is_before = access.end.get() <= self.run_begin();
        self.is_forward_run() && is_before && !self.has_passed_long(access)
    }

    /// Whether the kernel would have read through a hole of so many pages of this run, if that is what is read on through, as it did where it has
    /// been asked for up to here.
    pub(in crate::adaptive) fn reads_on(&self, hole: u64, moment: &Moment, how: ReadOn) -> bool {
        let was_asked = self.has_asked() && self.density.is_read_on(moment);
        let is_followed = match how {
            ReadOn::Any => self.shape.is_run() && self.density.is_read_on(moment),
            ReadOn::Forward => self.is_forward_run() && self.density.is_read_on_where_lost(moment),
            ReadOn::None => false,
        };
        (was_asked || is_followed) && sparse::is_read_by_kernel(hole, moment)
    }

    /// Whether this is a run towards the end of the file that was asked for up to here.
    pub(in crate::adaptive) fn has_asked(&self) -> bool {
        let reached = self.window.frontier.saturating_add(REORDER_PAGES.get());
        self.is_forward_run() && run::has_asked(&self.window) && reached >= self.window.next
    }

    /// Whether this is a candidate that `access` continues with pages left out in between.
    pub(in crate::adaptive) fn leaves_hole_before(&self, access: &Access) -> bool {
        self.is_candidate() && !candidate::touches(&self.window, access.pages())
    }

    /// Whether this is a candidate that goes on with `access`, at its end or at its begin: what is read again does not.
    pub(in crate::adaptive) fn is_gone_on_with(&self, access: &Access) -> bool {
        self.is_candidate()
            && candidate::touches(&self.window, access.pages())
            && candidate::direction(&self.window, access.pages()).is_some()
    }

    /// Whether this is a run towards the end of the file.
    pub(in crate::adaptive) fn is_forward_run(&self) -> bool {
        self.shape.is_run() && self.direction == Direction::Forward
    }

    /// Whether strides may be parts of this: it is a run towards the end of the file, and no young one.
    pub(in crate::adaptive) fn may_read_through(&self) -> bool {
        self.is_forward_run() && self.is_established()
    }

    /// Whether this is a run of few accesses.
    pub(in crate::adaptive) fn is_short_run(&self) -> bool {
        self.goes_on() && !self.is_established()
    }

    /// A run towards the end of the file that got there.
    pub(in crate::adaptive) fn has_reached(&self, end: PageCount) -> bool {
        self.is_forward_run() && self.has_gone_through(end)
    }

    /// A run that got to where the file of `file_pages` ends in its direction.
    pub(in crate::adaptive) fn has_gone_through(&self, file_pages: PageCount) -> bool {
        self.shape.is_run() && self.window.next >= self.direction.end_of_file(file_pages.get())
    }

    /// Whether it is a run towards the front of the file.
    pub(in crate::adaptive) fn is_backward_run(&self) -> bool {
        self.shape.is_run() && self.direction == Direction::Backward
    }

    /// Whether it is a run, of either direction.
    pub(in crate::adaptive) fn is_run(&self) -> bool {
        self.shape.is_run()
    }

    /// A stride that could be several evenly spaced streams read in turn.
    pub(in crate::adaptive) fn is_wide_stride(&self) -> bool {
        self.shape == Shape::Strided && self.grid().is_wide()
    }

    /// Elements of this stride that came where they were expected, one after the other, up to 255; 0 where it is none. The steps
    /// that made it one count.
    #[inline]
    pub(in crate::adaptive) fn elements_in_a_row(&self) -> u8 {
        if self.shape == Shape::Strided {
            self.regular
        } else {
            0
        }
    }

    /// The grid of a stride, and where its next element is expected.
    pub(in crate::adaptive) fn expected_element(&self) -> (Grid, u64) {
        (self.grid(), self.window.next)
    }

    /// The grid of a stride that is none that drifts.
    pub(in crate::adaptive) fn steady_grid(&self) -> Option<Grid> {
        let is_steady = self.shape == Shape::Strided && !self.drifts();
        is_steady.then(|| self.grid())
    }

    /// Whether `access` is an element of this stride that takes more than a page more than those that were asked for ahead.
    pub(in crate::adaptive) fn is_longer_than_asked(&self, access: &Access) -> bool {
        let has_asked = self.window.frontier > self.window.next;
        let grid = self.steady_grid().filter(|_| has_asked);
        grid.is_some_and(|grid| grid.as_long_as(access).length > grid.length + PAGE_BYTES)
    }

    /// The row that this stride begins, `access` being its newest element, where it was a run before and has been seen not to drift.
    pub(in crate::adaptive) fn new_row(&self, access: &Access) -> Option<NewRow> {
        let is_new = self.elements_in_a_row() == REGULAR_STEPS.get();
        let grid = self.steady_grid().filter(|_| is_new)?;
        Some(NewRow::up_to(access, grid, u16::from(self.hits) + 1))
    }

    /// How far `row` begins behind the next element of this stride, in reading order, if this is on such a grid and has not moved since.
    /// It may be narrower if it `may_be_last` of the columns of a band.
    pub(in crate::adaptive) fn gap_to(
        &self,
        row: &NewRow,
        tick: u32,
        may_be_last: bool,
    ) -> Option<i64> {
        let is_idle = tick.wrapping_sub(self.last_used) >= u32::from(row.come);
        let is_alike = self
            .steady_grid()
            .is_some_and(|grid| grid.is_as(&row.grid, may_be_last));
        (is_idle && is_alike).then(|| row.first.wrapping_sub(self.window.next).cast_signed())
    }

    /// Whether this is a stride whose elements are off by some bytes.
    pub(in crate::adaptive) fn drifts(&self) -> bool {
        self.shape == Shape::Strided && self.grid().drifts
    }

    /// Whether this is a stride that `newer` goes on with, which `access` begins at `tick`: it has not moved since the first element
    /// of that.
    pub(in crate::adaptive) fn is_overtaken(
        &self,
        access: &Access,
        newer: &Grid,
        tick: u32,
    ) -> bool {
        self.shape == Shape::Strided
            && tick.wrapping_sub(self.last_used) >= u32::from(ELEMENTS_SEEN)
            && strided::is_overtaken(&self.window, &self.grid(), access, newer)
    }

    /// Whether its newest element, which came after so many `elements`, is the first one with which this wide stride has more than there can be
    /// streams.
    pub(in crate::adaptive) fn is_no_round(&self, elements: u8) -> bool {
        let has_more = usize::from(self.elements_in_a_row()) == round_most() + 1;
        has_more && usize::from(elements) == round_most() && self.is_wide_stride()
    }

    /// Whether `other` is a candidate that is an element of this stride.
    pub(in crate::adaptive) fn explains(&self, other: &Self) -> bool {
        other.is_candidate()
            && self
                .grid()
                .has_element_in(&self.window, other.candidate_start())
    }

    /// Whether an element of this wide stride begins in page `start`, behind or ahead: something went on from there. One of more elements than there
    /// can be streams is no round over those: columns of a matrix touch, too.
    pub(in crate::adaptive) fn is_unmasked_by(&self, start: u64) -> bool {
        usize::from(self.elements_in_a_row()) <= round_most()
            && self.is_wide_stride()
            && self.grid().has_element_in(&self.window, start)
    }
}
