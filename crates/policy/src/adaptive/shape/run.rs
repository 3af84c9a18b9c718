//! Runs: each access begins where the last one ended, forward or backward alike.
//!
//! The window is one stretch of pages in front of the reader. The marker is the first page of the
//! newest request; what lies behind it is the tail. A run may have holes and come out of order
//! (see [`sparse`](super::sparse), [`shuffled`](super::shuffled)): the reader is at the farthest
//! place that was read.

use super::fit::{Fit, within};
use super::shuffled::REORDER_PAGES;
use crate::adaptive::direction::Span;
use crate::adaptive::window::{Window, pages32};
use crate::steering::steering;
use ahead_units::PageCount;

steering! {
    /// Requests end on multiples of this once they are twice as large, and smaller ones on multiples of an
    /// eighth of their size, so that they fill the pages of flash, the kernel's pieces and large folios: 32
    /// pages that begin in the middle of a page of flash take nine of them, not eight. Larger, and more
    /// of a request is cut off.
    /// Evidence: docs/results/evidence/ALIGN_PAGES.csv
    pub(in crate::adaptive) ALIGN_PAGES: u64 = 64;

    /// A probe into a range that is probably in memory: 64 KiB. Fewer pages, and one stray cached
    /// page hides that the rest is gone; more, and a probe that misses brings in what the next
    /// request brings in again.
    /// Evidence: docs/results/evidence/PROBE_PAGES.csv
    PROBE_PAGES: u64 = 16;

    /// Doublings of the reach of a probe, at most: of the requests that would have been made, one
    /// in 64 is. More saves nothing that could be measured, and a hole is found later.
    /// Evidence: docs/results/evidence/PROBE_DOUBLINGS.csv
    PROBE_DOUBLINGS: u8 = 6;
}

/// Whether `access` continues the run; it may begin so many pages `behind` the reader or `ahead` of it.
#[inline]
pub(in crate::adaptive) fn fit(window: &Window, access: Span, behind: u64, ahead: u64) -> Fit {
    let low = window.next.saturating_sub(behind);
    if !within(access.start, low, window.next.saturating_add(ahead)) {
        return Fit::None;
    }
    // Or it begins inside the page where the last one ended.
    let shares_page = access.start.wrapping_add(1) == window.next && access.end >= window.next;
    if access.start == window.next || shares_page {
        Fit::Exact
    } else {
        Fit::Near
    }
}

/// Takes the one step that is almost always taken: exactly where it was expected, not beyond the
/// marker. False: nothing has changed.
#[inline]
pub(in crate::adaptive) fn step(window: &mut Window, access: Span) -> bool {
    if access.start == window.next && access.end <= marker(window) {
        window.next = access.end;
        return true;
    }
    false
}

#[inline]
fn marker(window: &Window) -> u64 {
    window.frontier - u64::from(window.tail)
}

/// Whether the reader has crossed the marker.
pub(in crate::adaptive) fn marker_crossed(window: &Window) -> bool {
    window.next > marker(window)
}

/// From the reader to the marker; `None`: nothing lies there.
pub(in crate::adaptive) fn settled(window: &Window) -> Option<Span> {
    let (start, end) = (window.next, marker(window));
    (start < end).then_some(Span { start, end })
}

/// Whether `access` lies in what has been asked for (judged before the stream moves).
pub(in crate::adaptive) fn covers(window: &Window, access: Span) -> bool {
    access.end <= window.frontier && access.start.saturating_add(REORDER_PAGES.get()) > window.next
}

/// Whether `access` lies in the window, ahead of the reader.
pub(in crate::adaptive) fn holds(window: &Window, access: Span) -> bool {
    access.start >= window.next && access.end <= window.frontier
}

/// Whether a run that is at `other` moves inside what this one has asked for.
pub(in crate::adaptive) fn leads(window: &Window, other: u64) -> bool {
    let behind = window.next.saturating_sub(REORDER_PAGES.get());
    within(other, behind, window.frontier)
}

/// Whether there is a window.
pub(in crate::adaptive) fn has_asked(window: &Window) -> bool {
    window.tail > 0 || unread(window) > 0
}

/// Pages asked for and not yet reached.
pub(in crate::adaptive) fn unread(window: &Window) -> u64 {
    window.frontier.saturating_sub(window.next)
}

/// The asked-for pages nearest to the reader.
pub(in crate::adaptive) fn ahead(window: &Window) -> Span {
    let end = window.frontier.min(window.next + REORDER_PAGES.get());
    Span {
        start: window.next.min(end),
        end,
    }
}

/// The reader read `access` of its own: the window begins again there, and its next step asks.
pub(in crate::adaptive) fn begin_at(window: &mut Window, access: Span) {
    window.frontier = access.end;
    window.tail = pages32(PageCount::new(access.end - access.start));
}

/// How far the next request goes.
#[derive(Clone, Copy, Debug)]
pub(in crate::adaptive) struct Extent {
    /// Its size in pages, what the reader wants now not counted.
    pub(in crate::adaptive) pages: u64,
    /// Pages that memory has space for beside what the reader wants now, and that one request may have.
    pub(in crate::adaptive) space: u64,
    /// The run is expected to end there.
    pub(in crate::adaptive) is_exact: bool,
    /// Pages behind the window until the run is expected to end: no probe reaches beyond.
    pub(in crate::adaptive) rest: u64,
    /// A request may be half as long again to reach the end of the file.
    pub(in crate::adaptive) takes_the_rest: bool,
    /// Requests in a row that were found in memory.
    pub(in crate::adaptive) cached: u8,
    /// Each request costs the device its position.
    pub(in crate::adaptive) is_positioned_for: bool,
    /// The first place behind the file.
    pub(in crate::adaptive) end_of_file: u64,
}

/// What a window was extended by.
#[derive(Clone, Copy, Debug)]
pub(in crate::adaptive) struct Extended {
    /// What to ask for.
    pub(in crate::adaptive) ask: Span,
    /// That is only the far end of what the window was extended by.
    pub(in crate::adaptive) is_probe: bool,
}

/// What a request for so many pages ends on a multiple of.
fn alignment(pages: u64) -> u64 {
    if pages >= ALIGN_PAGES.get() * 2 {
        return ALIGN_PAGES.get();
    }
    (pages / 8).checked_ilog2().map_or(1, |bits| 1 << bits)
}

/// Where a request from `start` ends that reaches up to `end` for `reach` pages, of `space`: at the end of the file, if what lies
/// between is no more than half of it. A request of its own would cost the device more than that.
fn end_in_file(start: u64, end: u64, reach: u64, space: u64, end_of_file: u64) -> u64 {
    let left = end_of_file.saturating_sub(end);
    if left <= reach / 2 && end_of_file.saturating_sub(start) <= space {
        return end_of_file;
    }
    end.min(end_of_file)
}

/// Extends the window by the next request; `access` is what the reader wants now. `None`: the
/// window reaches the end of the file.
pub(in crate::adaptive) fn extend(
    window: &mut Window,
    access: Span,
    extent: Extent,
) -> Option<Extended> {
    // What the reader wants now goes first, in the same request. Also where it goes back to where it looked for what it reads now: what lies
    // between is read next, and an arm comes back for each missing page of it when it has read all that was asked for.
    // Not so after a long read that is repeated from its begin.
    let is_near = window.next.saturating_sub(access.start) <= REORDER_PAGES.get();
    let goes_back = access.end < window.next && is_near && !has_asked(window);
    let start = if goes_back && extent.is_positioned_for {
        access.start
    } else {
        window.frontier.max(access.start)
    };
    if start >= extent.end_of_file {
        window.tail = 0;
        return None;
    }
    let is_probe = extent.cached > 1;
    let reach = extent.pages << extent.cached.min(PROBE_DOUBLINGS.get());
    // A probe asks for less than it reaches.
    let space = if is_probe { u64::MAX } else { extent.space }.min(extent.rest);
    let reach = reach.min(space);
    let first = window.frontier.max(access.end);
    let mut end = first.saturating_add(reach);
    if !extent.is_exact {
        end -= end % alignment(reach);
    }
    let end = if extent.takes_the_rest && !is_probe {
        end_in_file(first, end, reach, space, extent.end_of_file)
    } else {
        end.min(extent.end_of_file)
    };
    window.frontier = end;
    let ask = if is_probe {
        // Everything so far was in memory. Look at the far end only: a hole there will show.
        Span {
            start: end - PROBE_PAGES.get().min(end - start),
            end,
        }
    } else {
        Span { start, end }
    };
    window.tail = if end == extent.end_of_file {
        0
    } else if is_probe {
        1
    } else {
        pages32(PageCount::new(end.saturating_sub(start.max(window.next))))
    };
    Some(Extended { ask, is_probe })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Odd reads by seed 516: what lay as far behind a long read as that is long was taken for its next one, so that each run seemed to go on.
    #[test]
    fn a_long_read_may_be_repeated_and_leaves_no_longer_hole_than_a_short_one() {
        let window = Window {
            next: 1000,
            ..Window::default()
        };
        let fit_at = |start| {
            let access = Span {
                start,
                end: start + 400,
            };
            fit(&window, access, 400, REORDER_PAGES.get())
        };
        assert_eq!(fit_at(600), Fit::Near);
        assert_eq!(fit_at(599), Fit::None);
        assert_eq!(fit_at(1000), Fit::Exact);
        assert_eq!(fit_at(1000 + REORDER_PAGES.get()), Fit::Near);
        assert_eq!(fit_at(1001 + REORDER_PAGES.get()), Fit::None);
    }
}
