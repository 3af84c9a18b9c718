//! One stream: a run of accesses that one shape explains, and the window in front of it.
//!
//! This file asks the [shape](crate::adaptive::shape) of the stream, moves the stream from one shape to another, and keeps what all
//! shapes need. How it moves is in [`moving`]; what it asks for, and what it learns from the answers, in [`asking`], and how much that may be in [`amount`]; where it begins and
//! ends in [`ends`]; what it is to others in [`questions`]. Which stream an access belongs to is decided in [`matching`](crate::adaptive::matching).

mod amount;
pub(crate) mod asking;
mod ends;
pub(crate) mod moving;
mod questions;

use crate::adaptive::access::Access;
use crate::adaptive::direction::{Direction, Span};
use crate::adaptive::id::StreamId;
use crate::adaptive::observer::{Observer, Report, Transition};
use crate::adaptive::pace::Pace;
use crate::adaptive::served::Served;
use crate::adaptive::shape::Shape;
use crate::adaptive::shape::fit::Fit;
use crate::adaptive::shape::grid::Grid;
use crate::adaptive::shape::regular::REGULAR_STEPS;
use crate::adaptive::shape::shuffled::{Disorder, LATE_PAGES, REORDER_PAGES};
use crate::adaptive::shape::sparse::Density;
use crate::adaptive::shape::strided;
use crate::adaptive::shape::{candidate, run};
use crate::adaptive::window::{Window, pages16, place32};
use crate::steering::steering;
use ahead_units::{PAGE_BYTES, PageCount, PageRange};

steering! {
    /// Accesses after which a stream counts as established: it may leave larger holes, and holes are
    /// asked for at all. Fewer, and random reads of a small file that happen to lie near each other
    /// are; more, and a parallel server begins as several streams.
    /// Evidence: docs/results/evidence/ESTABLISHED_HITS.csv
    ESTABLISHED_HITS: u8 = 4;

    /// Elements of a widely spaced stride until it is believed. Fewer, and eight evenly spaced
    /// streams read in turn are taken for one strided stream per round; more, and short ones get
    /// nothing.
    /// Evidence: docs/results/evidence/DOUBTFUL_HITS.csv
    DOUBTFUL_HITS: u8 = 8;

    /// Elements of a strided stream until it asks. Fewer, and two accesses that happen to be as far
    /// apart as two others cost a request; more delay the first one.
    /// Evidence: docs/results/evidence/STRIDED_HITS.csv
    STRIDED_HITS: u8 = 3;
}

/// State of one stream: 56 bytes, so that four streams and their file fit in 512 bytes and
/// sixty-four in 4 KiB. All zero is a vacant place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stream {
    /// Where the reader is, and what has been asked for.
    window: Window,
    /// How fast the reader is.
    pace: Pace,
    /// Where the run began, wrapping; where the reader is: it has ended, as far as is known. Of a strided
    /// stream, which has no begin: bytes of an element.
    began: u32,
    /// Pages of the newest access.
    length: u16,
    /// Pages of the next request; 0 before the first.
    request: u16,
    /// The file's access count when this stream moved last.
    last_used: u32,
    /// How much is left out.
    density: Density,
    /// Accesses that continued the stream; of a strided one that was a run, those since its steps are equal.
    hits: u8,
    /// How much comes out of order.
    disorder: Disorder,
    /// Steps in a row that had the same period and length; of a strided stream, elements that came where they
    /// were expected, and no more than come so where they are off.
    regular: u8,
    /// What the accesses look like.
    shape: Shape,
    /// Which way it goes.
    direction: Direction,
    /// The place of the stream that was touched after this one the last time.
    successor: u8,
    /// What came of its requests.
    served: Served,
    /// Which stream of its place this is.
    generation: u8,
}

/// Being born, changing shape, going.
impl Stream {
    /// Makes the stream one of shape `to`. The only place where a shape changes.
    fn transition<O: Observer>(&mut self, to: Shape, report: &mut Report<'_, O>) {
        let from = self.shape;
        if to == Shape::Strided {
            // It is counted in elements from now on.
            self.pace = Pace::default();
        }
        debug_assert!(from.may_become(to), "{from:?} cannot become {to:?}");
        self.shape = to;
        report.observer.on_transition(Transition {
            stream: self.id(report.place),
            from,
            to,
            direction: self.direction,
        });
    }

    /// Empties the place, for another stream. Pages of the window are lost to it; the caller
    /// counts them first.
    pub(in crate::adaptive) fn vacate<O: Observer>(&mut self, report: &mut Report<'_, O>) {
        if self.shape == Shape::Vacant {
            return;
        }
        self.transition(Shape::Vacant, report);
        *self = Self {
            generation: self.generation.wrapping_add(1),
            successor: report.place,
            ..Self::default()
        };
    }

    /// A candidate made of one access, in a vacant place.
    pub(in crate::adaptive) fn become_candidate<O: Observer>(
        &mut self,
        access: PageRange,
        tick: u32,
        report: &mut Report<'_, O>,
    ) {
        self.successor = report.place;
        self.window.next = access.end.get();
        self.window.frontier = access.start.get();
        self.length = pages16(access.len().get());
        self.last_used = tick;
        self.transition(Shape::Candidate, report);
    }

    /// A strided stream of which three elements were seen, `access` being the newest, in a vacant
    /// place. They count as `regular` that came where they were expected.
    pub(in crate::adaptive) fn become_strided<O: Observer>(
        &mut self,
        access: &Access,
        grid: Grid,
        regular: u8,
        tick: u32,
        report: &mut Report<'_, O>,
    ) {
        self.successor = report.place;
        self.length = pages16(access.len().get());
        self.last_used = tick;
        self.direction = grid.direction;
        self.regular = regular;
        self.hits = 2;
        self.set_grid(&grid);
        strided::begin(&mut self.window, &grid, grid.place(access), 0);
        self.transition(Shape::Strided, report);
    }

    /// This is a stride, seen to be one together with those that it takes turns with, and no row of anything.
    pub(in crate::adaptive) fn believe(&mut self) {
        (self.hits, self.regular) = (DOUBTFUL_HITS.get(), REGULAR_STEPS.get() + 1);
    }

    /// The candidate at `access` begins a scan whose first request has `request` pages: that is
    /// expected, so it does not wait for a second access.
    pub(in crate::adaptive) fn become_scan<O: Observer>(
        &mut self,
        access: PageRange,
        request: u32,
        report: &mut Report<'_, O>,
    ) {
        self.hits = 1;
        self.window.frontier = access.start.get();
        self.window.tail = 0;
        self.request = pages16(u64::from(request));
        self.began = place32(access.start.get());
        self.transition(Shape::Run, report);
    }

    /// The kind of run that this is now.
    fn kind_of_run(&self) -> Shape {
        if self.disorder.is_shuffled() {
            Shape::Shuffled
        } else if self.density.has_holes() {
            Shape::Sparse
        } else {
            Shape::Run
        }
    }

    fn become_kind_of_run<O: Observer>(&mut self, report: &mut Report<'_, O>) {
        let kind = self.kind_of_run();
        if kind != self.shape {
            self.transition(kind, report);
        }
    }
}

/// Recognising the next access.
impl Stream {
    /// Takes the one step that is almost always taken: exactly where it was expected, inside the
    /// window, not beyond the marker, in a stream that is learned. False: nothing has changed.
    #[inline]
    pub(in crate::adaptive) fn step(&mut self, access: PageRange, tick: u32) -> bool {
        if !self.is_established() {
            return false;
        }
        // Nothing is left to learn from an exact step of a stream without holes.
        let is_shuffled = self.shape == Shape::Shuffled && !self.density.has_holes();
        if self.shape != Shape::Run && !is_shuffled {
            return false;
        }
        if !run::step(&mut self.window, self.direction.span(access)) {
            return false;
        }
        self.last_used = tick;
        self.length = pages16(access.len().get());
        true
    }

    /// Takes the one step that is almost always taken by a scan that is left to the kernel: exactly where it was expected. False:
    /// nothing has changed.
    #[inline]
    pub(in crate::adaptive) fn step_left(&mut self, access: PageRange, tick: u32) -> bool {
        if self.shape != Shape::Run || access.start.get() != self.window.next {
            return false;
        }
        self.window.next = access.end.get();
        self.last_used = tick;
        self.length = pages16(access.len().get());
        true
    }

    /// How well `access` continues this stream.
    #[inline]
    pub(in crate::adaptive) fn fit(&self, access: &Access) -> Fit {
        self.fit_of(access.pages(), access)
    }

    /// [`Self::fit`] of `access`, whose `pages` are at hand: random reads meet candidates only, and look at all
    /// of them.
    #[inline]
    pub(in crate::adaptive) fn fit_of(&self, pages: PageRange, access: &Access) -> Fit {
        if self.shape == Shape::Candidate {
            candidate::fit(&self.window, pages)
        } else {
            self.fit_learned(access)
        }
    }

    /// Whether an access to these pages may continue the stream.
    #[inline]
    pub(in crate::adaptive) fn may_fit(&self, access: PageRange) -> bool {
        if self.shape == Shape::Candidate {
            candidate::fit(&self.window, access) != Fit::None
        } else {
            self.may_fit_learned(access)
        }
    }

    #[inline(never)]
    fn may_fit_learned(&self, access: PageRange) -> bool {
        if self.shape == Shape::Strided {
            return strided::may_fit(&self.window, &self.grid(), self.regular, access);
        }
        let access = Access::by_pages(access);
        // In a file that is in memory what is that late is of no interest.
        self.fit_learned(&access) != Fit::None && !self.fills_old_gap(&access)
    }

    #[inline(never)]
    fn fit_learned(&self, access: &Access) -> Fit {
        match self.shape {
            Shape::Vacant | Shape::Candidate => Fit::None,
            Shape::Run | Shape::Shuffled | Shape::Sparse => {
                let tolerance = self.tolerance();
                // A read that repeats the end of the last one belongs to it, however long it is.
                let late = if self.has_gaps_behind() {
                    LATE_PAGES
                } else {
                    tolerance
                };
                let behind = late.max(u64::from(self.length));
                run::fit(&self.window, self.span(access), behind, tolerance)
            }
            Shape::Strided => strided::fit(&self.window, &self.grid(), self.regular, access),
        }
    }

    /// Whether enough accesses have continued it.
    #[inline]
    fn is_established(&self) -> bool {
        self.hits >= ESTABLISHED_HITS.get()
    }

    /// Whether pages behind the reader of this run may still be wanted, as others there were: it has left some out.
    fn has_gaps_behind(&self) -> bool {
        let leaves_out = matches!(self.shape, Shape::Sparse | Shape::Shuffled);
        self.is_established() && leaves_out && self.density.may_have_gaps()
    }

    /// Whether `access` lies where this run has left out pages, or may have, no further behind than what a server shuffles.
    pub(in crate::adaptive) fn fills_gap(&self, access: &Access) -> bool {
        self.lies_in_gaps(access) && !self.has_passed_long(access)
    }

    /// The same, further behind.
    pub(in crate::adaptive) fn fills_old_gap(&self, access: &Access) -> bool {
        self.lies_in_gaps(access) && self.has_passed_long(access)
    }

    fn lies_in_gaps(&self, access: &Access) -> bool {
        self.has_gaps_behind() && self.has_passed(access)
    }

    /// Whether all of `access` lies behind the reader of this run.
    fn has_passed(&self, access: &Access) -> bool {
        self.shape.is_run() && self.span(access).end <= self.window.next
    }

    /// The same, and further behind than what a server shuffles.
    pub(in crate::adaptive) fn has_passed_long(&self, access: &Access) -> bool {
        let reordered = self.window.next.saturating_sub(REORDER_PAGES.get());
        self.has_passed(access) && self.span(access).start < reordered
    }

    /// Pages by which an access may miss the place where it is expected.
    fn tolerance(&self) -> u64 {
        if self.is_established() {
            REORDER_PAGES.get()
        } else {
            candidate::YOUNG_GAP_PAGES.get()
        }
    }

    /// How far `access` is from where the next one was expected.
    pub(in crate::adaptive) fn distance(&self, access: &Access) -> u64 {
        match self.shape {
            Shape::Strided => self.grid().place(access).abs_diff(self.window.next) / PAGE_BYTES,
            Shape::Run | Shape::Shuffled | Shape::Sparse => {
                self.span(access).start.abs_diff(self.window.next)
            }
            Shape::Vacant | Shape::Candidate => access.start.get().abs_diff(self.window.next),
        }
    }
}

/// The window.
impl Stream {
    /// Whether the marker has been crossed.
    pub(in crate::adaptive) fn marker_crossed(&self) -> bool {
        match self.shape {
            Shape::Vacant | Shape::Candidate => false,
            Shape::Run | Shape::Shuffled | Shape::Sparse => run::marker_crossed(&self.window),
            Shape::Strided => strided::marker_crossed(&self.window, &self.grid()),
        }
    }

    /// Pages between the newest access and the marker: as long as the reader goes on there, nothing is asked for. `None`: there are
    /// none, the stream is not known for long, or it strides: others may read between its elements.
    #[must_use]
    pub fn settled(&self) -> Option<PageRange> {
        if !self.is_established() || !self.shape.is_run() {
            return None;
        }
        run::settled(&self.window).map(|span| self.direction.pages(span))
    }

    /// Whether `access` lies in what has been asked for (judged before the stream moves).
    pub(in crate::adaptive) fn covers(&self, access: &Access) -> bool {
        match self.shape {
            Shape::Vacant | Shape::Candidate => false,
            Shape::Run | Shape::Shuffled | Shape::Sparse => {
                run::covers(&self.window, self.span(access))
            }
            Shape::Strided => strided::covers(&self.window, &self.grid(), self.regular, access),
        }
    }

    /// Whether `other` runs the same way inside what this stream has asked for.
    pub(in crate::adaptive) fn leads(&self, other: &Self) -> bool {
        self.shape.is_run()
            && other.shape.is_run()
            && self.direction == other.direction
            && run::leads(&self.window, other.window.next)
    }

    /// Whether this run, which [may](Self::may_read_through), reads all pages of `stride`, which is where this is: it would ask for what was asked
    /// for.
    pub(in crate::adaptive) fn reads_through(&self, stride: &Self) -> bool {
        stride.shape == Shape::Strided
            && stride.direction == self.direction
            && !stride.grid().is_wide()
            && run::leads(&self.window, stride.window.next / PAGE_BYTES)
    }

    /// Pages of `stride` that were asked for and that this run was not asked for up to.
    pub(in crate::adaptive) fn unread_behind(&self, stride: &Self) -> PageCount {
        let asked = self.window.frontier.saturating_mul(PAGE_BYTES);
        let window = Window {
            next: stride.window.next.max(asked),
            ..stride.window
        };
        PageCount::new(strided::unread(&window, &stride.grid()))
    }

    /// Whether `access` lies in this stream's window, too far from its reader to be its own.
    pub(in crate::adaptive) fn holds(&self, access: &Access) -> bool {
        self.shape.is_run()
            && self.served.cached() == 0
            && run::holds(&self.window, self.span(access))
    }

    /// Pages asked for and not yet reached; 0 while they are found in memory, where others
    /// brought them.
    pub(in crate::adaptive) fn unread(&self) -> PageCount {
        if self.finds_in_memory() {
            return PageCount::new(0);
        }
        PageCount::new(match self.shape {
            Shape::Vacant | Shape::Candidate => 0,
            Shape::Run | Shape::Shuffled | Shape::Sparse => run::unread(&self.window),
            Shape::Strided => strided::unread(&self.window, &self.grid()),
        })
    }

    /// The asked-for pages nearest to the reader; empty for strided streams.
    pub(in crate::adaptive) fn ahead(&self) -> PageRange {
        if self.shape.is_run() {
            self.direction.pages(run::ahead(&self.window))
        } else {
            PageRange::new(0, 0)
        }
    }
}

/// Questions.
impl Stream {
    /// The name of the stream, which is at `place` in its table.
    #[inline]
    pub(in crate::adaptive) fn id(&self, place: u8) -> StreamId {
        StreamId {
            place,
            generation: self.generation,
        }
    }

    /// Whether `id` names this stream and not another one of its place.
    pub(in crate::adaptive) fn is(&self, id: StreamId) -> bool {
        self.generation == id.generation && self.shape != Shape::Vacant
    }

    /// The file's access count when this stream moved last.
    pub(in crate::adaptive) fn last_used(&self) -> u32 {
        self.last_used
    }

    /// The place of the stream that was touched after this one the last time.
    #[inline]
    pub(in crate::adaptive) fn successor(&self) -> u8 {
        self.successor
    }

    /// The stream at `place` was touched after this one.
    pub(in crate::adaptive) fn set_successor(&mut self, place: u8) {
        self.successor = place;
    }

    /// Whether its newest requests found all their pages in memory.
    pub(in crate::adaptive) fn finds_in_memory(&self) -> bool {
        self.served.cached() > 0
    }

    /// Pages of the next request.
    pub(in crate::adaptive) fn request(&self) -> u32 {
        u32::from(self.request)
    }

    /// Whether the place is free.
    pub(in crate::adaptive) fn is_vacant(&self) -> bool {
        self.shape == Shape::Vacant
    }

    /// Whether it is one access that nothing explained.
    pub(in crate::adaptive) fn is_candidate(&self) -> bool {
        self.shape == Shape::Candidate
    }

    /// Whether only one access has continued it.
    pub(in crate::adaptive) fn is_newborn(&self) -> bool {
        self.hits == 1
    }

    /// The start of a candidate.
    pub(in crate::adaptive) fn candidate_start(&self) -> u64 {
        candidate::access(&self.window).start.get()
    }

    /// Whether less than seven pages of eight are read.
    pub(in crate::adaptive) fn has_holes(&self) -> bool {
        self.density.has_holes()
    }

    #[inline]
    fn span(&self, access: &Access) -> Span {
        self.direction.span(access.pages())
    }

    /// Where the elements of a strided stream are.
    fn grid(&self) -> Grid {
        Grid::unpacked(self.direction, self.window.step, u64::from(self.began))
    }

    fn set_grid(&mut self, grid: &Grid) {
        self.window.step = grid.packed();
        self.began = u32::try_from(grid.length).unwrap_or(u32::MAX);
    }
}
