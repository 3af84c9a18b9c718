//! A stream moves to the next access, and learns from the step.

use super::Stream;
use crate::adaptive::access::Access;
use crate::adaptive::direction::Direction;
use crate::adaptive::observer::{Observer, Report};
use crate::adaptive::shape::Shape;
use crate::adaptive::shape::grid::{DRIFTS, Grid};
use crate::adaptive::shape::regular::{self, REGULAR_STEPS};
use crate::adaptive::shape::sparse;
use crate::adaptive::shape::strided::{self, Moved};
use crate::adaptive::shape::{candidate, drift};
use crate::adaptive::window::{pages16, place32};
use ahead_units::{PAGE_BYTES, PageCount};

/// What one access did to its stream, beside moving it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::adaptive) struct Step {
    /// Pages that it passed over, but for those that are [read on](Seen::is_read_on) through.
    pub(in crate::adaptive) hole: u64,
    /// It lies behind the reader, where pages were left out: it came late, and may fill a hole.
    pub(in crate::adaptive) is_late: bool,
    /// Pages of the window that the stream gave up with its old shape, or with its old grid.
    pub(in crate::adaptive) lost: PageCount,
    /// It broke the rule of a stride.
    pub(in crate::adaptive) has_broken: bool,
    /// Accesses of others since the step before.
    pub(in crate::adaptive) others: u32,
    /// It is the first element of a row.
    pub(in crate::adaptive) begins_row: bool,
    /// A run became a stride, and what was read between its elements are elements of others.
    pub(in crate::adaptive) takes_turns: bool,
}

/// What the file has seen beside the stream that moves.
#[derive(Clone, Copy, Debug)]
pub(in crate::adaptive) struct Seen {
    /// Where the elements are of which the newest accesses were some, evenly spaced to the byte. Only of one that
    /// [may be the next](Stream::may_stride_to), and of strides in turn, which may be of pages.
    pub(in crate::adaptive) stride: Option<Grid>,
    /// Others were read since the element of that before the newest one.
    pub(in crate::adaptive) takes_turns: bool,
    /// Some of the last reads waited.
    pub(in crate::adaptive) waits: bool,
    /// The run reads on through the hole before the access.
    pub(in crate::adaptive) is_read_on: bool,
    /// Steps that have to be equal, one after the other, until they are a stride. `None`: the run reads on, however regular it is.
    pub(in crate::adaptive) steps_needed: Option<u8>,
}

impl Stream {
    /// Whether this run comes back for what it leaves out, so that even steps are no stride: those down the first lines of a tile are.
    fn comes_back(&self) -> bool {
        self.shape == Shape::Shuffled && self.density.is_a_fourth_read()
    }

    /// Whether `access` may be the next element of a stride that this run is to become: pages are left out before it, as many as before the last
    /// one but for one. Else what another reader of the file strides by would be forgotten over those of a run that is none. One that asks
    /// reads through its holes, and goes on so.
    pub(in crate::adaptive) fn may_stride_to(&self, access: &Access) -> bool {
        match self.shape {
            Shape::Candidate => self.leaves_hole_before(access),
            Shape::Run | Shape::Shuffled | Shape::Sparse => {
                let start = self.span(access).start;
                let before = regular::pages_of(self.window.step);
                self.request == 0
                    && start > self.window.next
                    && before.abs_diff(self.step_to(start)) <= 1
            }
            Shape::Vacant | Shape::Strided => false,
        }
    }

    /// Whether the reads of this run may be elements of several strides in turn, as two fields of each record are: it leaves something out, and
    /// nothing was asked for.
    pub(in crate::adaptive) fn may_take_turns(&self) -> bool {
        self.shape.is_run() && self.request == 0 && self.is_established() && self.has_holes()
    }

    /// The step in bytes from one element to the next one of the strides that the reads of this run are elements of in turn, as far as is known.
    pub(in crate::adaptive) fn step_in_turn(&self) -> Option<i64> {
        let period = regular::period_in_turn(self.window.step);
        let period = period.filter(|_| self.shape.is_run())?;
        Some(self.direction.signed(period))
    }

    /// The step from the newest access to one at `start`.
    fn step_to(&self, start: u64) -> u32 {
        regular::step_between(
            self.window.next.saturating_sub(u64::from(self.length)),
            start,
        )
    }

    /// Moves the stream to `access`, which fits it, and learns from the step.
    pub(in crate::adaptive) fn advance<O: Observer>(
        &mut self,
        access: &Access,
        seen: &Seen,
        tick: u32,
        report: &mut Report<'_, O>,
    ) -> Step {
        let others = tick.wrapping_sub(self.last_used).saturating_sub(1);
        self.last_used = tick;
        let unread = self.unread();
        let before = self.window.next;
        let had_gaps = self.density.may_have_gaps();
        let was_strided = self.shape == Shape::Strided;
        let mut moved = Moved::On;
        let mut takes_turns = false;
        match self.shape {
            Shape::Vacant => return Step::default(),
            Shape::Candidate => {
                let Some(direction) = candidate::direction(&self.window, access.pages()) else {
                    return Step::default(); // the same pages again: nothing to learn
                };
                self.advance_candidate(access, direction, report);
                self.length = pages16(access.len().get());
                return Step::default();
            }
            Shape::Run | Shape::Shuffled | Shape::Sparse => {
                let turn = self.turn(access, seen);
                match turn.filter(|_| self.regular >= REGULAR_STEPS.get()) {
                    Some(grid) => {
                        self.become_stride_of(&grid, access, report);
                        // It is known, and begins no row.
                        self.believe();
                        takes_turns = true;
                    }
                    None => self.advance_run(access, seen, turn.is_some(), report),
                }
            }
            Shape::Strided => moved = self.advance_strided(access, report),
        }
        self.length = pages16(access.len().get());
        let is_strided = self.shape == Shape::Strided;
        let mut step = Step {
            others,
            ..Step::default()
        };
        if moved != Moved::On || was_strided != is_strided {
            // The holes of a window that became strided, the elements of a rule that broke or began to drift.
            step.lost = unread - self.unread() - access.len();
        }
        step.has_broken = moved == Moved::Off;
        step.takes_turns = takes_turns;
        if !is_strided {
            let span = self.span(access);
            if !seen.is_read_on {
                step.hole = span.start.saturating_sub(before);
            }
            step.is_late = span.end < before && had_gaps;
        }
        step
    }

    fn advance_candidate<O: Observer>(
        &mut self,
        access: &Access,
        direction: Direction,
        report: &mut Report<'_, O>,
    ) {
        self.direction = direction;
        let first = direction.span(candidate::access(&self.window));
        let span = direction.span(access.pages());
        self.hits = 1;
        self.window.step = regular::step_between(first.start, span.start);
        let passed = span.end - first.end;
        self.density.count(access.len().get().min(passed), passed);
        self.began = place32(first.start);
        (self.window.next, self.window.frontier, self.window.tail) = (span.end, span.start, 0);
        self.transition(self.kind_of_run(), report);
    }

    fn advance_run<O: Observer>(
        &mut self,
        access: &Access,
        seen: &Seen,
        is_turn: bool,
        report: &mut Report<'_, O>,
    ) {
        let span = self.span(access);
        let length = pages16(access.len().get());
        let old = self.window.next;
        if span.end <= old {
            // Behind the reader already: a late request, the same again, or the same page in small pieces.
            let is_again = span.end == old && self.length == length;
            let touches = span.start == old || span.end == old;
            if length > 1 || self.length != length || !touches {
                if !is_again {
                    self.disorder.on_late();
                }
                if !is_again && !is_turn {
                    // The holes are filled: they are no stride.
                    self.regular = 0;
                }
                self.density.count(u64::from(length), 0);
                self.become_kind_of_run(report);
            }
            return;
        }
        let step = self.step_to(span.start);
        let has_hole = span.start > old;
        let is_equal = step == regular::pages_of(self.window.step) && length == self.length;
        let is_short = regular::is_short(step);
        let stride = (seen.stride).filter(|stride| self.is_of_stride(stride, step));
        if is_turn {
            // Counted.
        } else if seen.steps_needed.is_none() || self.comes_back() {
            if has_hole && step.abs_diff(regular::pages_of(self.window.step)) <= 1 {
                // Until it has not come back for many of these.
                self.disorder.on_order();
            }
            self.regular = 0;
            self.window.step = step;
        } else if stride.is_some() {
            self.count_regular(is_short);
            self.window.step = step;
        } else if has_hole && is_equal {
            // To the byte it is no chance.
            self.count_regular(is_short && seen.waits && seen.stride.is_none());
        } else if has_hole && regular::is_nearly_equal(self.window.step, step, self.length, access)
        {
            self.regular = self.regular.saturating_add(1);
            self.window.step = step | DRIFTS;
        } else {
            self.regular = 0;
            self.window.step = step;
        }
        self.window.next = span.end;
        self.hits = self.hits.saturating_add(1);
        if !has_hole {
            self.disorder.on_order();
        }
        let passed = span.end - old;
        // What it repeats of the last one fills no hole.
        self.density.count(u64::from(length).min(passed), passed);
        // Where hardly anything is left out it goes on as it is.
        let step = u64::from(regular::pages_of(self.window.step));
        let has_holes = sparse::has_holes(length.into(), step);
        let has_shown = |needed: u8| self.regular >= needed;
        let is_regular = seen.steps_needed.is_some_and(has_shown) && has_holes;
        let by_pages = || regular::grid(self.window.step, self.direction, access);
        let grid = is_regular.then(|| stride.or_else(by_pages));
        if let Some(grid) = grid.flatten() {
            if grid.drifts {
                self.regular = drift::SEEN_BY_PAGES;
            }
            self.become_stride_of(&grid, access, report);
        } else {
            self.become_kind_of_run(report);
        }
    }

    /// The run is a stride from now on, of whose elements `access` is the newest.
    fn become_stride_of<O: Observer>(
        &mut self,
        grid: &Grid,
        access: &Access,
        report: &mut Report<'_, O>,
    ) {
        let unread = self.unread().get();
        self.set_grid(grid);
        // Its elements are those of the steps that are equal, and the two of the first one.
        self.hits = REGULAR_STEPS.get() + 1;
        strided::begin(&mut self.window, grid, grid.place(access), unread);
        self.transition(Shape::Strided, report);
    }

    /// Counts `access`, if it is an element of one of several strides in turn.
    fn turn(&mut self, access: &Access, seen: &Seen) -> Option<Grid> {
        let is_one = seen.takes_turns && !seen.is_read_on;
        let grid = seen
            .stride
            .filter(|grid| is_one && grid.direction == self.direction)?;
        let turn = regular::in_turn(grid.period)?;
        let step = self.step_to(self.span(access).start);
        if self.window.step != turn {
            (self.regular, self.window.step) = (1, turn);
        } else {
            self.count_regular(regular::is_short(step));
        }
        Some(grid)
    }

    /// Whether a step of so many pages, which [may be one](Self::may_stride_to) of a stride, is one of `stride`, which goes by bytes.
    fn is_of_stride(&self, stride: &Grid, step: u32) -> bool {
        stride.direction == self.direction
            && !stride.is_of_pages()
            && stride.period.abs_diff(u64::from(step) * PAGE_BYTES) < PAGE_BYTES
    }

    /// Counts a step that is as long as those before. Where reads wait, those that are not waited for say that the kernel reads through the
    /// holes, which it goes on doing unless something else is asked for.
    fn count_regular(&mut self, are_waits_seen: bool) {
        let is_read_through = self.request == 0 && !self.served.waits_for_steps() && are_waits_seen;
        self.regular = if is_read_through {
            0
        } else {
            self.regular.saturating_add(1)
        };
    }

    fn advance_strided<O: Observer>(
        &mut self,
        access: &Access,
        report: &mut Report<'_, O>,
    ) -> Moved {
        let mut grid = self.grid();
        let moved = strided::advance(&mut self.window, &mut grid, &mut self.regular, access);
        if moved != Moved::Off {
            self.set_grid(&grid);
            self.hits = self.hits.saturating_add(1);
            return moved;
        }
        // The newest step broke the rule, but stayed close.
        self.leave_stride(access, report);
        moved
    }

    /// This stride is a run with holes from now on, of which `access` is the newest.
    pub(in crate::adaptive) fn become_run_of_stride<O: Observer>(
        &mut self,
        access: &Access,
        report: &mut Report<'_, O>,
    ) {
        self.density = self.grid().density();
        self.leave_stride(access, report);
    }

    /// This is a stride no longer, but a run that begins with `access`.
    fn leave_stride<O: Observer>(&mut self, access: &Access, report: &mut Report<'_, O>) {
        (self.regular, self.window.step) = (0, 0);
        let span = self.span(access);
        self.window.next = span.end;
        self.began = place32(span.start);
        self.window.forget();
        self.become_kind_of_run(report);
    }
}
