//! One stream: a run of accesses that one shape explains, and the window in front of it.
//!
//! This file knows how a stream recognises the access that continues it and how it moves. How
//! large its window becomes is decided in [`window`](super::window), which stream an access belongs to in
//! [`matching`](super::matching).
//!
//! ```text
//!  forward     already read #####|----------------------|  not asked for
//!                                ^next   ^marker        ^frontier
//!  backward    not asked for  |----------------------|#### already read
//!                             ^frontier     ^marker  ^next
//!  strided     next, marker and frontier are starts of elements, `period` apart
//! ```

use crate::reason::Pattern;
use ahead_units::{PageCount, PageRange};

/// Pages by which an access may miss the expected place and still belong to an established
/// stream: 512 KiB. A parallel server that shuffles eight requests of 32 KiB stays inside with
/// room for a slow thread; much more would swallow random lookups near a scan.
pub(super) const REORDER_PAGES: u64 = 128;

/// Pages that a hole may have while a stream is still young. Larger, and random reads of a small
/// file look like sparse streams; smaller, and a reader of one page in ten is never noticed.
pub(super) const YOUNG_GAP_PAGES: u64 = 32;

/// Accesses after which a stream counts as established.
pub(super) const ESTABLISHED_HITS: u16 = 4;

/// Elements of a widely spaced comb until it is believed. Fewer, and eight evenly spaced streams
/// read in turn are taken for one comb per round; more, and short combs get nothing.
const DOUBTFUL_HITS: u16 = 8;

/// Equal steps in a row that make a comb out of a run with holes. A reader that skips pages at
/// random makes the same small step four times in a row every few hundred pages; six times it
/// does not. More would only delay the first request.
const REGULAR_STEPS: u8 = 6;

/// Halve the density counters beyond this, so that they describe the recent past.
const DENSITY_HISTORY_PAGES: u16 = 8192;

/// How the accesses of a stream follow each other, as far as it steers the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Shape {
    /// A free place in the table.
    #[default]
    Vacant,
    /// One access that nothing explained. `next` is its end, `frontier` its start.
    Candidate,
    /// Towards the end of the file, with or without holes, in order or shuffled.
    Forward,
    /// Towards the start of the file.
    Backward,
    /// A fixed length every fixed period, in either direction.
    Strided,
}

/// How well an access continues a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// Not this stream.
    None,
    /// Within the tolerance.
    Near,
    /// Exactly where the stream expected it.
    Exact,
}

/// State of one stream: 56 bytes, so that four streams and their file fit in 512 bytes and
/// sixty-four in 4 KiB. All zero is a vacant place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stream {
    /// Where the next access is expected; see the head of the file.
    pub(super) next: u64,
    /// First page (or element) not asked for, in reading direction.
    pub(super) frontier: u64,
    /// An access that reaches this page asks for more.
    pub(super) marker: u64,
    /// Pages from one access's start to the next one's, as last seen.
    pub(super) period: i64,
    /// Pages of the newest access.
    pub(super) length: u32,
    /// Pages of the next request.
    pub(super) window: u32,
    /// The file's access count when this stream moved last.
    pub(super) last_used: u32,
    /// Pages read and pages passed over or read, recently: their ratio is the density.
    pub(super) held: u16,
    /// See `held`.
    pub(super) spanned: u16,
    /// Accesses that continued the stream.
    pub(super) hits: u16,
    /// Of the recent accesses, those that came out of order.
    pub(super) shuffled: u8,
    /// Steps in a row that had the same period and length.
    pub(super) regular: u8,
    /// What the accesses look like.
    pub(super) shape: Shape,
    /// The stream that was touched after this one the last time.
    pub(super) successor: u8,
    /// Requests in a row whose pages were all in memory already.
    pub(super) cached: u8,
    /// Doublings of the window that waits have earned.
    pub(super) boost: u8,
}

impl Stream {
    /// A candidate made of one access.
    pub(super) fn candidate(access: PageRange, tick: u32) -> Self {
        Self {
            next: access.end.get(),
            frontier: access.start.get(),
            length: pages32(access.len()),
            last_used: tick,
            shape: Shape::Candidate,
            ..Self::default()
        }
    }

    /// A strided stream of which three elements were seen, `access` being the newest.
    pub(super) fn strided(access: PageRange, period: i64, tick: u32) -> Self {
        let mut stream = Self::candidate(access, tick);
        stream.shape = Shape::Strided;
        stream.period = period;
        stream.regular = REGULAR_STEPS;
        stream.hits = 2;
        stream.next = access.start.get().saturating_add_signed(period);
        stream.frontier = stream.next;
        stream.marker = stream.next;
        stream
    }

    /// Takes the one step that is almost always taken: exactly where it was expected, inside the
    /// window, before the marker, in a stream that is learned. False: nothing has changed.
    #[inline]
    pub(super) fn step(&mut self, access: PageRange, tick: u32) -> bool {
        let (start, end) = (access.start.get(), access.end.get());
        match self.shape {
            Shape::Forward if start == self.next && end <= self.marker && end <= self.frontier => {
                self.next = end;
            }
            Shape::Backward
                if end == self.next && start >= self.marker && start >= self.frontier =>
            {
                self.next = start;
            }
            _ => return false,
        }
        self.last_used = tick;
        self.length = pages32(access.len());
        true
    }

    /// Whether [`Self::step`] may be taken: nothing is left to learn from an exact step.
    #[inline]
    pub(super) fn is_settled(&self) -> bool {
        self.hits >= ESTABLISHED_HITS && !self.has_holes()
    }

    /// How well `access` continues this stream.
    #[inline]
    pub(super) fn fit(&self, access: PageRange) -> Fit {
        // Nearly all comparisons end here: too far away from anything but a comb.
        let reach = REORDER_PAGES + u64::from(self.length) + access.len().get();
        if self.shape != Shape::Strided && access.start.get().abs_diff(self.next) > reach {
            return Fit::None;
        }
        self.fit_nearby(access)
    }

    fn fit_nearby(&self, access: PageRange) -> Fit {
        let (start, end) = (access.start.get(), access.end.get());
        match self.shape {
            Shape::Vacant => Fit::None,
            Shape::Candidate => {
                let low = self.frontier;
                if start == self.next || end == low {
                    Fit::Exact
                } else if within(start, low, self.next + YOUNG_GAP_PAGES)
                    || within(end, low.saturating_sub(YOUNG_GAP_PAGES), self.next)
                {
                    Fit::Near
                } else {
                    Fit::None
                }
            }
            Shape::Forward => {
                let slack = self.slack();
                if start == self.next || (start + 1 == self.next && end >= self.next) {
                    Fit::Exact // or it begins inside the page where the last one ended
                } else if within(start, self.next.saturating_sub(slack), self.next + slack) {
                    Fit::Near
                } else {
                    Fit::None
                }
            }
            Shape::Backward => {
                let slack = self.slack();
                if end == self.next || (end == self.next + 1 && start <= self.next) {
                    Fit::Exact
                } else if within(end, self.next.saturating_sub(slack), self.next + slack) {
                    Fit::Near
                } else {
                    Fit::None
                }
            }
            Shape::Strided => {
                if start == self.next {
                    return Fit::Exact;
                }
                let off = start.wrapping_sub(self.next).cast_signed();
                let period = self.period;
                let skips = off.checked_div(period).unwrap_or(-1);
                let on_the_comb = off.checked_rem(period) == Some(0) && (0..=4).contains(&skips);
                let close = period.unsigned_abs() <= YOUNG_GAP_PAGES
                    && off.unsigned_abs() <= YOUNG_GAP_PAGES;
                if on_the_comb || close {
                    Fit::Near
                } else {
                    Fit::None
                }
            }
        }
    }

    /// Moves the stream to `access`, which fits it, and learns from the step.
    pub(super) fn advance(&mut self, access: PageRange, tick: u32) {
        let (start, end) = (access.start.get(), access.end.get());
        let length = pages32(access.len());
        self.last_used = tick;
        match self.shape {
            Shape::Vacant => {}
            Shape::Candidate => {
                let (low, high) = (self.frontier, self.next);
                if start >= low && end <= high {
                    return; // the same pages again: nothing to learn
                }
                self.shape = if end > high {
                    Shape::Forward
                } else {
                    Shape::Backward
                };
                self.hits = 1;
                self.period = start.wrapping_sub(low).cast_signed();
                if self.shape == Shape::Forward {
                    self.count_density(u64::from(length), end - high);
                    (self.next, self.frontier, self.marker) = (end, start, start);
                } else {
                    self.count_density(u64::from(length), low - start);
                    (self.next, self.frontier, self.marker) = (start, end, end);
                }
            }
            Shape::Forward | Shape::Backward => self.advance_run(start, end, length),
            Shape::Strided => {
                let off = start.wrapping_sub(self.next).cast_signed();
                if off.checked_rem(self.period) == Some(0) {
                    self.next = start.saturating_add_signed(self.period);
                    self.length = length.max(1);
                    self.hits = self.hits.saturating_add(1);
                } else {
                    self.become_sparse(start, end);
                }
            }
        }
        self.length = length;
    }

    fn advance_run(&mut self, start: u64, end: u64, length: u32) {
        let forward = self.shape == Shape::Forward;
        let old = self.next;
        let progress = if forward {
            end.saturating_sub(old)
        } else {
            old.saturating_sub(start)
        };
        if progress == 0 {
            // Behind the reader already: a shuffled request, or the same page in small pieces.
            if length > 1 || self.length != length || !touches(start, end, old) {
                self.shuffled = self.shuffled.saturating_add(2).min(64);
                self.count_density(u64::from(length), 0);
            }
            return;
        }
        let previous_start = if forward {
            old - u64::from(self.length).min(old)
        } else {
            old
        };
        let step = start.wrapping_sub(previous_start).cast_signed();
        let has_hole = if forward { start > old } else { end < old };
        if has_hole && step == self.period && length == self.length {
            self.regular = self.regular.saturating_add(1);
        } else {
            self.regular = 0;
            self.period = step;
        }
        self.next = if forward { end } else { start };
        self.hits = self.hits.saturating_add(1);
        self.shuffled = self.shuffled.saturating_sub(u8::from(!has_hole));
        self.count_density(u64::from(length), progress);
        if self.regular >= REGULAR_STEPS {
            self.become_strided(start);
        }
    }

    /// A run whose holes turned out to be equal. What its window holds is not asked for again: the
    /// comb goes on at the first element behind it, from half of it on.
    fn become_strided(&mut self, start: u64) {
        let asked = self.unread().get();
        self.shape = Shape::Strided;
        self.next = start.saturating_add_signed(self.period);
        let elements = asked / self.period.unsigned_abs().max(1);
        let behind = |elements: u64| {
            let elements = i64::try_from(elements).unwrap_or(i64::MAX);
            let next = self.next;
            next.saturating_add_signed(self.period.saturating_mul(elements))
        };
        (self.frontier, self.marker) = (behind(elements), behind(elements / 2));
    }

    /// A strided stream whose newest step broke the rule, but stayed close.
    fn become_sparse(&mut self, start: u64, end: u64) {
        self.shape = if self.period > 0 {
            Shape::Forward
        } else {
            Shape::Backward
        };
        self.regular = 0;
        let at = if self.period > 0 { end } else { start };
        (self.next, self.frontier, self.marker) = (at, at, at);
    }

    fn count_density(&mut self, held: u64, spanned: u64) {
        let add = |to: u16, pages: u64| to.saturating_add(u16::try_from(pages).unwrap_or(u16::MAX));
        self.held = add(self.held, held);
        self.spanned = add(self.spanned, spanned);
        if self.held > DENSITY_HISTORY_PAGES || self.spanned > DENSITY_HISTORY_PAGES {
            self.held /= 2;
            self.spanned /= 2;
        }
    }

    fn slack(&self) -> u64 {
        let tolerance = if self.hits >= ESTABLISHED_HITS {
            REORDER_PAGES
        } else {
            YOUNG_GAP_PAGES
        };
        // A read that repeats the end of the last one belongs to it, however long it is.
        tolerance.max(u64::from(self.length))
    }

    /// Whether less than seven pages of eight are read.
    pub(super) fn has_holes(&self) -> bool {
        u32::from(self.held) * 8 < u32::from(self.spanned) * 7
    }

    /// Whether the marker has been crossed by an access that ends at `next`.
    pub(super) fn marker_crossed(&self) -> bool {
        match self.shape {
            Shape::Vacant | Shape::Candidate => false,
            // A reader beyond the frontier, as in a file that grew, needs no marker.
            Shape::Forward => self.next > self.marker || self.next > self.frontier,
            Shape::Backward => self.next < self.marker,
            Shape::Strided if self.period > 0 => self.next > self.marker,
            Shape::Strided => self.next < self.marker,
        }
    }

    /// Whether `access` lies in what has been asked for (judged before the stream moves).
    pub(super) fn covers(&self, access: PageRange) -> bool {
        let (start, end) = (access.start.get(), access.end.get());
        match self.shape {
            Shape::Vacant | Shape::Candidate => false,
            Shape::Forward => {
                end <= self.frontier && start.saturating_add(REORDER_PAGES) > self.next
            }
            Shape::Backward => {
                start >= self.frontier && end < self.next.saturating_add(REORDER_PAGES)
            }
            Shape::Strided if self.period > 0 => start < self.frontier && start >= self.next,
            Shape::Strided => start > self.frontier && start <= self.next,
        }
    }

    /// Whether `other` runs the same way inside what this stream has asked for.
    pub(super) fn leads(&self, other: &Self) -> bool {
        self.shape == other.shape
            && match self.shape {
                Shape::Forward => within(
                    other.next,
                    self.next.saturating_sub(REORDER_PAGES),
                    self.frontier,
                ),
                Shape::Backward => within(other.next, self.frontier, self.next + REORDER_PAGES),
                Shape::Vacant | Shape::Candidate | Shape::Strided => false,
            }
    }

    /// Whether `access` lies in this stream's window, too far from its reader to be its own.
    pub(super) fn holds(&self, access: PageRange) -> bool {
        let (start, end) = (access.start.get(), access.end.get());
        self.cached == 0
            && match self.shape {
                Shape::Forward => start >= self.next && end <= self.frontier,
                Shape::Backward => start >= self.frontier && end <= self.next,
                Shape::Vacant | Shape::Candidate | Shape::Strided => false,
            }
    }

    /// What was asked for is gone, or never came: the window ends where the reader is.
    pub(super) fn forget_window(&mut self) {
        if matches!(
            self.shape,
            Shape::Forward | Shape::Backward | Shape::Strided
        ) {
            (self.frontier, self.marker) = (self.next, self.next);
        }
    }

    /// Pages asked for and not yet reached.
    pub(super) fn unread(&self) -> PageCount {
        if self.cached > 0 {
            return PageCount::new(0);
        }
        PageCount::new(match self.shape {
            Shape::Vacant | Shape::Candidate => 0,
            Shape::Forward => self.frontier.saturating_sub(self.next),
            Shape::Backward => self.next.saturating_sub(self.frontier),
            Shape::Strided => {
                let ahead = self.frontier.wrapping_sub(self.next).cast_signed();
                let elements = ahead.checked_div(self.period).unwrap_or(0).max(0);
                elements
                    .unsigned_abs()
                    .saturating_mul(u64::from(self.length))
            }
        })
    }

    /// The asked-for pages nearest to the reader, at most [`REORDER_PAGES`]; empty for combs.
    pub(super) fn ahead(&self) -> PageRange {
        match self.shape {
            Shape::Forward => {
                PageRange::new(self.next, self.frontier.min(self.next + REORDER_PAGES))
            }
            Shape::Backward => PageRange::new(
                self.frontier.max(self.next.saturating_sub(REORDER_PAGES)),
                self.next,
            ),
            Shape::Vacant | Shape::Candidate | Shape::Strided => PageRange::new(0, 0),
        }
    }

    /// What a person is told about the stream.
    pub(super) fn pattern(&self) -> Pattern {
        match self.shape {
            Shape::Vacant | Shape::Candidate => Pattern::Unknown,
            Shape::Forward if self.shuffled > 8 => Pattern::Shuffled,
            Shape::Forward if self.has_holes() => Pattern::Sparse,
            Shape::Forward => Pattern::Sequential,
            Shape::Backward => Pattern::Backward,
            Shape::Strided if self.period > 0 => Pattern::Strided,
            Shape::Strided => Pattern::StridedBackward,
        }
    }

    /// A comb of few elements, far apart: it may as well be several streams that are read in turn
    /// and lie evenly spaced. Its accesses stay candidates of their own until that is clear.
    pub(super) fn is_doubtful(&self) -> bool {
        self.hits < DOUBTFUL_HITS && self.is_wide_comb()
    }

    /// A comb that could be several evenly spaced streams read in turn.
    pub(super) fn is_wide_comb(&self) -> bool {
        self.shape == Shape::Strided && self.period.unsigned_abs() > YOUNG_GAP_PAGES
    }

    /// Whether `start` is an element of this comb, behind or ahead.
    pub(super) fn has_element(&self, start: u64) -> bool {
        start
            .wrapping_sub(self.next)
            .cast_signed()
            .checked_rem(self.period)
            == Some(0)
    }

    /// Whether the stream is old enough to be worth a request.
    pub(super) fn is_trusted(&self) -> bool {
        match self.shape {
            Shape::Vacant | Shape::Candidate => false,
            // Two adjacent accesses are a stream; with holes between them it takes more.
            Shape::Forward | Shape::Backward => !self.has_holes() || self.hits >= ESTABLISHED_HITS,
            Shape::Strided => self.hits >= 3,
        }
    }
}

/// Whether `low <= value <= high`.
fn within(value: u64, low: u64, high: u64) -> bool {
    low <= value && value <= high
}

/// Whether the range ends or begins at `border`: small reads inside one page do.
fn touches(start: u64, end: u64, border: u64) -> bool {
    start == border || end == border
}

/// A page count in 32 bits; requests of 16 TiB and more count as that.
pub(super) fn pages32(pages: PageCount) -> u32 {
    u32::try_from(pages.get()).unwrap_or(u32::MAX)
}
