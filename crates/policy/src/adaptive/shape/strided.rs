//! Strided streams: a fixed length every fixed period, in either direction.
//!
//! Places are those of the first pages of elements. The window is a number of elements, the
//! marker is the first element of the newest request, and what lies between elements is never
//! asked for.

use super::candidate::YOUNG_GAP_PAGES;
use super::fit::Fit;
use crate::adaptive::direction::Direction;
use crate::adaptive::moment::Moment;
use crate::adaptive::window::Window;
use crate::decision::Prefetch;
use crate::steering::steering;
use ahead_units::PageRange;

steering! {
    /// Elements that are asked for at once, at least. Fewer leave the device idle between them.
    /// Evidence: docs/results/evidence/ELEMENTS_MIN.csv
    ELEMENTS_MIN: u64 = 8;

    /// Elements that are asked for at once, at most. More are a long list of calls for a stream
    /// that may end.
    /// Evidence: docs/results/evidence/ELEMENTS_MAX.csv
    ELEMENTS_MAX: u64 = 256;

    /// Elements that a reader may leave out and still be on its stride. More, and a random access
    /// on the grid of a stride with a small period is taken for its next element.
    /// Evidence: docs/results/evidence/SKIPPED_ELEMENTS_MAX.csv
    SKIPPED_ELEMENTS_MAX: u64 = 4;
}

/// Whether an access at `place` continues the stream.
#[inline]
pub(in crate::adaptive) fn fit(window: &Window, place: u64) -> Fit {
    if place == window.next {
        return Fit::Exact;
    }
    let period = u64::from(window.step);
    let miss = place.abs_diff(window.next);
    let skips = miss.checked_div(period).unwrap_or(u64::MAX);
    let is_element =
        is_multiple(miss, period) && place > window.next && skips <= SKIPPED_ELEMENTS_MAX.get();
    let gap = YOUNG_GAP_PAGES.get();
    let is_close = period <= gap && miss <= gap;
    if is_element || is_close {
        Fit::Near
    } else {
        Fit::None
    }
}

fn is_multiple(distance: u64, period: u64) -> bool {
    distance.checked_rem(period) == Some(0)
}

/// Whether an element begins at `place`, behind the reader or ahead.
pub(in crate::adaptive) fn has_element(window: &Window, place: u64) -> bool {
    is_multiple(place.abs_diff(window.next), u64::from(window.step))
}

/// Whether the period is so large that this may be several evenly spaced streams read in turn.
pub(in crate::adaptive) fn is_wide(window: &Window) -> bool {
    u64::from(window.step) > YOUNG_GAP_PAGES.get()
}

/// The reader is at the element at `place`.
pub(in crate::adaptive) fn move_to(window: &mut Window, place: u64) {
    window.next = place.saturating_add(u64::from(window.step));
}

/// A run that is at the element at `place` becomes a strided stream. What its window holds, `unread`
/// pages, is not asked for again: the window has the elements inside, and its marker is half of
/// them ahead.
pub(in crate::adaptive) fn begin(window: &mut Window, place: u64, unread: u64) {
    move_to(window, place);
    let period = u64::from(window.step);
    let elements = unread.checked_div(period).unwrap_or(0);
    window.frontier = window.next.saturating_add(period * elements);
    window.tail = u32::try_from(elements - elements / 2).unwrap_or(u32::MAX);
}

/// Whether the reader has crossed the marker.
pub(in crate::adaptive) fn marker_crossed(window: &Window) -> bool {
    let tail = u64::from(window.tail).saturating_mul(u64::from(window.step));
    window.next > window.frontier.saturating_sub(tail)
}

/// Whether an access at `place` was asked for (judged before the stream moves).
pub(in crate::adaptive) fn covers(window: &Window, place: u64) -> bool {
    place >= window.next && place < window.frontier
}

/// Pages asked for and not yet reached, in elements of `length` pages.
pub(in crate::adaptive) fn unread(window: &Window, length: u32) -> u64 {
    let ahead = window.frontier.saturating_sub(window.next);
    let elements = ahead.checked_div(u64::from(window.step)).unwrap_or(0);
    elements.saturating_mul(u64::from(length))
}

/// The reader waited for an element: its next step asks.
pub(in crate::adaptive) fn begin_again(window: &mut Window) {
    (window.frontier, window.tail) = (window.next, 1);
}

/// What the next request may cost.
#[derive(Clone, Copy, Debug)]
pub(in crate::adaptive) struct Extent {
    /// Which way the elements follow each other.
    pub(in crate::adaptive) direction: Direction,
    /// Pages of one element.
    pub(in crate::adaptive) length: u64,
    /// Pages of a request, holes included.
    pub(in crate::adaptive) pages: u64,
    /// Pages of a request, holes left out, at most.
    pub(in crate::adaptive) limit: u64,
}

/// Extends the window by the next request; the reader is at the element at `place`. `None`: there
/// are no further elements in the file.
pub(in crate::adaptive) fn extend(
    window: &mut Window,
    place: u64,
    extent: Extent,
    moment: &Moment,
) -> Option<Prefetch> {
    let Extent {
        direction,
        length,
        pages,
        limit,
    } = extent;
    let period = u64::from(window.step).max(1);
    let file_pages = moment.file_pages.get();
    // The first element not asked for, or the one being read now.
    let passed = window.next > window.frontier;
    let first = if passed { place } else { window.frontier };
    // Only whole elements: all ranges of a request are equally long.
    let in_file = direction
        .last_element(file_pages, length)
        .and_then(|last| last.checked_sub(first))
        .map_or(0, |span| span / period + 1);
    let fewest = ELEMENTS_MIN.get().max(u64::from(moment.device.depth) * 2);
    let affordable = (limit / length).max(1);
    let count = (pages / period)
        .max(fewest)
        .min(ELEMENTS_MAX.get())
        .min(affordable)
        .min(in_file);
    let start = direction.place(first);
    if count == 0 || start >= file_pages {
        window.tail = 0;
        return None;
    }
    let count32 = u32::try_from(count).unwrap_or(u32::MAX);
    window.tail = count32;
    window.frontier = first.saturating_add(count.saturating_mul(period));
    let end = start.saturating_add(length).min(file_pages);
    Some(Prefetch {
        first: PageRange::new(start, end),
        period: direction.signed(window.step),
        count: count32,
    })
}
