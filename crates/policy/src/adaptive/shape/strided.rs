//! Strided streams: a fixed length every fixed period, in either direction.
//!
//! Places are those of the first bytes of elements. The window is a number of elements, the
//! marker is the first element of the newest request, and what lies between elements is never
//! asked for.
//!
//! Where elements are says their [grid](super::grid); what becomes of one whose elements are off says [`mod@super::drift`].

use super::candidate::YOUNG_GAP_PAGES;
use super::drift::{self, drift};
use super::fit::Fit;
use super::grid::{ELEMENTS_FEWEST, Grid, is_multiple};
use super::regular::REGULAR_STEPS;
use super::sparse;
use crate::adaptive::access::Access;
use crate::adaptive::direction::Direction;
use crate::adaptive::moment::Moment;
use crate::adaptive::rows::RowPart;
use crate::adaptive::window::Window;
use crate::decision::Prefetch;
use crate::device::DeviceEstimate;
use crate::steering::steering;
use ahead_units::{ByteRange, PAGE_BYTES, PageCount, PageRange};

steering! {
    /// Elements that are asked for at once, at least. Fewer leave the device idle between them.
    /// Evidence: docs/results/evidence/ELEMENTS_MIN.csv
    ELEMENTS_MIN: u64 = 8;

    /// Elements that are asked for at once, at most. More are a long list of calls for a stream
    /// that may end.
    /// Evidence: docs/results/evidence/ELEMENTS_MAX.csv
    ELEMENTS_MAX: u64 = 256;

    /// Pages of a request that is made larger for [`ELEMENTS_MIN`]. Fewer, and elements of some pages come in
    /// requests that leave the device idle; more, and large elements are asked for by the dozen as soon as there
    /// were three, although each keeps the device busy by itself.
    /// Evidence: docs/results/evidence/ELEMENTS_MIN_PAGES.csv
    ELEMENTS_MIN_PAGES: u64 = 256;

    /// Elements that a reader may leave out and still be on its stride. More, and a random access
    /// on the grid of a stride with a small period is taken for its next element.
    /// Evidence: docs/results/evidence/SKIPPED_ELEMENTS_MAX.csv
    SKIPPED_ELEMENTS_MAX: u64 = 4;
}

/// Whether `access` continues the stream, `seen` of whose elements came where they were expected.
#[inline]
pub(in crate::adaptive) fn fit(window: &Window, grid: &Grid, seen: u8, access: &Access) -> Fit {
    let place = grid.place(access);
    if place == window.next {
        return Fit::Exact;
    }
    if drift(window, grid, access, seen).is_some() {
        return if grid.drifts { Fit::Exact } else { Fit::Near };
    }
    let period = grid.period;
    let miss = place.abs_diff(window.next);
    let skips = miss.checked_div(period).unwrap_or(u64::MAX);
    let is_element =
        is_multiple(miss, period) && place > window.next && skips <= SKIPPED_ELEMENTS_MAX.get();
    let gap = YOUNG_GAP_PAGES.get() * PAGE_BYTES;
    let is_close = period <= gap && miss <= gap;
    if is_element || is_close {
        Fit::Near
    } else {
        Fit::None
    }
}

/// Whether an access to these pages may continue the stream: they do not say whether it is an element of one that goes by bytes, or
/// that is off by a page.
pub(in crate::adaptive) fn may_fit(
    window: &Window,
    grid: &Grid,
    seen: u8,
    pages: PageRange,
) -> bool {
    let access = Access::by_pages(pages);
    let is_close = || grid.place(&access).abs_diff(window.next) <= PAGE_BYTES;
    !grid.is_of_pages() || is_close() || fit(window, grid, seen, &access) != Fit::None
}

/// Whether an element begins at `place`, behind the reader or ahead.
fn has_element(window: &Window, grid: &Grid, place: u64) -> bool {
    is_multiple(place.abs_diff(window.next), grid.period)
}

/// How an access took a stride further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::adaptive) enum Moved {
    /// It is the next element, or one behind it.
    On,
    /// The same, but off by something: elements that were asked for are asked for anew.
    Anew,
    /// It is no element.
    Off,
}

/// Moves a stride to `access`, if that is one of its elements; `regular` of them came where they were expected.
pub(in crate::adaptive) fn advance(
    window: &mut Window,
    grid: &mut Grid,
    regular: &mut u8,
    access: &Access,
) -> Moved {
    let newest = grid.as_long_as(access);
    let place = newest.place(access);
    if has_element(window, &newest, place) {
        // What is on its way is as long as it was asked for.
        if newest.length < grid.length || window.frontier <= window.next {
            *grid = newest;
        }
        let is_next = place == window.next;
        move_to(window, grid, place);
        if is_next {
            *regular = match *regular {
                // One that was off alone is forgotten.
                0 => REGULAR_STEPS.get(),
                elements => elements.saturating_add(1),
            };
        }
        // The first one after it was off: it was a shift.
        let was_shifted = *regular <= drift::SEEN + 1;
        if is_next && grid.drifts && (was_shifted || *regular == u8::MAX) {
            *grid = grid.at_rest(access, window);
        }
        return Moved::On;
    }
    let Some(drift) = drift(window, &newest, access, *regular) else {
        return Moved::Off;
    };
    if !grid.drifts && *regular > 0 {
        // One alone: a stride to the byte, or to the page, goes on by that.
        *regular = 0;
        let expected = window.next;
        move_to(window, grid, expected);
        return Moved::On;
    }
    let is_longer = newest.length > grid.length && window.frontier > window.next;
    let length = if is_longer {
        grid.length
    } else {
        drift.grid.length
    };
    let has_kept_all = drift.move_window(window, grid);
    *regular = if grid.drifts {
        regular.saturating_add(1).min(drift.steady)
    } else {
        drift::SEEN
    };
    *grid = Grid {
        length,
        ..drift.grid
    };
    if has_kept_all { Moved::On } else { Moved::Anew }
}

/// The reader is at the element at `place`.
fn move_to(window: &mut Window, grid: &Grid, place: u64) {
    window.next = place.saturating_add(grid.period);
}

/// A stream that is at the element at `place` becomes a strided one. What its window holds, `unread`
/// pages, is not asked for again: the window has the elements inside, and its marker is half of
/// them ahead.
pub(in crate::adaptive) fn begin(window: &mut Window, grid: &Grid, place: u64, unread: u64) {
    move_to(window, grid, place);
    let unread = unread.saturating_mul(PAGE_BYTES);
    let elements = unread.checked_div(grid.period).unwrap_or(0);
    window.frontier = window.next.saturating_add(grid.period * elements);
    window.tail = u32::try_from(elements - elements / 2).unwrap_or(u32::MAX);
}

/// Whether the reader has crossed the marker.
pub(in crate::adaptive) fn marker_crossed(window: &Window, grid: &Grid) -> bool {
    let tail = u64::from(window.tail).saturating_mul(grid.period);
    window.next > window.frontier.saturating_sub(tail)
}

/// Whether `access` was asked for (judged before the stream moves).
pub(in crate::adaptive) fn covers(window: &Window, grid: &Grid, seen: u8, access: &Access) -> bool {
    if let Some(drift) = drift(window, grid, access, seen) {
        return grid.drifts && drift.is_covered(window);
    }
    let place = grid.place(access);
    place >= window.next && place < window.frontier
}

/// Pages asked for and not yet reached.
pub(in crate::adaptive) fn unread(window: &Window, grid: &Grid) -> u64 {
    elements_ahead(window, grid).saturating_mul(grid.pages_asked())
}

/// Pages of the elements before the next one, counted from anywhere.
pub(in crate::adaptive) fn pages_before(window: &Window, grid: &Grid) -> u64 {
    elements_before(window, grid).saturating_mul(grid.pages_min())
}

/// The reader waited for an element: its next step asks.
pub(in crate::adaptive) fn begin_again(window: &mut Window) {
    (window.frontier, window.tail) = (window.next, 1);
}

/// Elements of a stride by which it is seen how fast its reader is. Fewer, and one slow access decides; more, and a reader who computes is
/// helped later.
pub(in crate::adaptive) const ELEMENTS_TIMED: u32 = 4;

/// After so many it is seen anew.
pub(in crate::adaptive) const ELEMENTS_TIMED_MOST: u32 = 64;

/// Elements that came one after the other without others in between, in the tail of a window with nothing in it.
const IN_A_ROW: u32 = (1 << 16) - 1;
/// Set there if the row before was too short to time the reader.
const WAS_SHORT: u32 = 1 << 16;
/// Set there if the reader took longer for some than to wait.
const WAS_SLOW: u32 = 1 << 17;
/// Where it has the reads of others before the newest element; 0: it came right after the one before.
const OTHERS_SHIFT: u32 = 18;
const OTHERS_MOST: u32 = (1 << (u32::BITS - OTHERS_SHIFT)) - 1;

/// What the next request may cost.
#[derive(Clone, Copy, Debug)]
pub(in crate::adaptive) struct Extent {
    /// Pages of a request, holes included.
    pub(in crate::adaptive) pages: u64,
    /// Pages of a request, holes left out, at most.
    pub(in crate::adaptive) limit: u64,
    /// Elements that came where they were expected, one after the other.
    pub(in crate::adaptive) seen: u64,
    /// What is expected of the row.
    pub(in crate::adaptive) row: RowPart,
}

/// Whether a stride that `access` begins, `newer`, is this one, whose steps drift: it has about the same period, and its reader is
/// among or soon behind what was asked for, beside the elements, and beyond the next one, where one that keeps in step is not.
pub(in crate::adaptive) fn is_overtaken(
    window: &Window,
    grid: &Grid,
    access: &Access,
    newer: &Grid,
) -> bool {
    let place = grid.place(access);
    let passed = window.next.saturating_add(grid.period / 2);
    // Some elements show the newer one, and it may be behind all that was asked for by then.
    let seen_up_to = if grid.drifts {
        window
            .next
            .saturating_add(grid.period.saturating_mul(ELEMENTS_MIN.get()))
    } else {
        let ahead = window.frontier.saturating_sub(window.next);
        window.frontier.saturating_add(ahead)
    };
    grid.direction == newer.direction
        && grid.period.abs_diff(newer.period) <= PAGE_BYTES
        && (passed..seen_up_to).contains(&place)
        && !has_element(window, grid, place)
}

/// Bytes that pass by during one access.
fn passed_bytes(device: &DeviceEstimate) -> u64 {
    device.pages_per_access().get().saturating_mul(PAGE_BYTES)
}

/// Whether each element is positioned for, however many are asked for.
fn is_positioned(period: u64, device: &DeviceEstimate) -> bool {
    period > passed_bytes(device)
}

/// Elements of one request that keep the device busy where each is small.
fn fewest_at_once(period: u64, moment: &Moment) -> u64 {
    let device = &moment.device;
    if is_positioned(period, device) {
        // More are only more to be wrong about.
        moment.unserved()
    } else {
        device.served_at_once().max(ELEMENTS_MIN.get())
    }
}

/// Most elements that are asked for at once where an arm passes them by on its way and has nothing else to do: what it passes during
/// one access. It goes no faster for more of them, and when the stride breaks it has to come back.
fn most_at_once(period: u64, moment: &Moment) -> u64 {
    let device = &moment.device;
    if moment.contested || !device.is_positioned_for() || is_positioned(period, device) {
        return ELEMENTS_MAX.get();
    }
    (passed_bytes(device) / period).clamp(ELEMENTS_MIN.get(), ELEMENTS_MAX.get())
}

/// Most elements that are believed to come: as many as came, because a stride whose steps drift is one for some elements.
fn believed(seen: u64, grid: &Grid) -> u64 {
    if grid.drifts {
        drift::believed(seen)
    } else {
        seen.max(ELEMENTS_MIN.get())
    }
}

/// Time for an element up to which a reader does little else than to wait, who goes the way of an arm: until that has passed by, or was sent
/// there and to what else is read in turn; and a third more, as both are often guesses.
pub(in crate::adaptive) fn waiting_ns(
    window: &Window,
    grid: &Grid,
    device: &DeviceEstimate,
) -> u64 {
    let transfer_ns = |bytes: u64| device.transfer_ns(PageCount::new(bytes.div_ceil(PAGE_BYTES)));
    let sent_ns = device.access_ns.saturating_add(transfer_ns(grid.length));
    let others = u64::from(window.tail >> OTHERS_SHIFT);
    let all_sent_ns = sent_ns.saturating_mul(others + 1);
    let waiting_ns = transfer_ns(grid.period).min(all_sent_ns);
    waiting_ns.saturating_add(waiting_ns / 3)
}

/// Counts an element of a stride that has not asked, which came after others if its reader `has_returned`: so many `others` were read since the
/// one before. Whether he takes turns with them: he has left twice, one time after the other, before he could be timed. The tail of a window
/// with nothing in it holds the count.
pub(in crate::adaptive) fn count_in_row(
    window: &mut Window,
    others: u32,
    has_returned: bool,
) -> bool {
    let row = window.tail & IN_A_ROW;
    if !has_returned {
        window.tail = (window.tail + u32::from(row < IN_A_ROW)) & !(OTHERS_MOST << OTHERS_SHIFT);
        return false;
    }
    let was_short = row < ELEMENTS_TIMED;
    let takes_turns = was_short && window.tail & WAS_SHORT != 0;
    let others = others.min(OTHERS_MOST) << OTHERS_SHIFT;
    window.tail = 1 | others | window.tail & WAS_SLOW | if was_short { WAS_SHORT } else { 0 };
    takes_turns
}

/// Remembers whether the reader of a stride that has not asked `is_slow`, and says whether he was before.
pub(in crate::adaptive) fn remember_slow(window: &mut Window, is_slow: bool) -> bool {
    let was_slow = window.tail & WAS_SLOW != 0;
    window.tail = window.tail & !WAS_SLOW | if is_slow { WAS_SLOW } else { 0 };
    was_slow
}

/// The reader goes on at the next row, whose first element is `gap` bytes behind the next one. False: no place is there.
pub(in crate::adaptive) fn go_on(window: &mut Window, gap: i64) -> bool {
    let Some(next) = window.next.checked_add_signed(gap) else {
        return false;
    };
    // Where nothing is asked for it says nothing.
    window.frontier = window.frontier.saturating_add_signed(gap);
    window.next = next;
    true
}

/// All `elements` from the next one on were asked for, before those that are behind them; if what follows `is_due`
/// and was not asked for the marker is there, else at the end.
pub(in crate::adaptive) fn cover(window: &mut Window, grid: &Grid, elements: u16, is_due: bool) {
    let way = grid.period.saturating_mul(elements.into());
    let is_asked = window.frontier.saturating_sub(window.next) >= way;
    window.frontier = window.next.max(window.frontier).saturating_add(way);
    window.tail = if is_due && !is_asked { u32::MAX } else { 0 };
}

/// Elements asked for and not yet reached.
pub(in crate::adaptive) fn elements_ahead(window: &Window, grid: &Grid) -> u64 {
    let ahead = window.frontier.saturating_sub(window.next);
    ahead.checked_div(grid.period).unwrap_or(0)
}

/// Elements before the next one, counted from anywhere.
pub(in crate::adaptive) fn elements_before(window: &Window, grid: &Grid) -> u64 {
    window.next.checked_div(grid.period).unwrap_or(0)
}

/// Whether elements that are off are read as fast when they are wanted: an arm that has nothing else to do passes by them, waits for none
/// and comes back for one that is off by more than was asked for; of long ones it is the transfer that takes time, and one
/// more page on each side is a request more; of short ones that page is more than may be read in vain.
pub(in crate::adaptive) fn is_drift_left_alone(grid: &Grid, moment: &Moment) -> bool {
    let device = &moment.device;
    let is_alone = !moment.contested && device.is_positioned_for();
    let is_passed_by = is_alone && !is_positioned(grid.period, device);
    let allowed = (grid.pages_min()).saturating_mul(u64::from(moment.knobs.readahead_hit_rate));
    let is_too_much = grid.pages_asked() > allowed;
    grid.drifts && (is_passed_by || is_too_much || grid.length > passed_bytes(device))
}

/// Whether the program's own reads keep the device busy, and elements that are asked for would only wait behind
/// them, or they behind those.
pub(in crate::adaptive) fn is_left_to_program(grid: &Grid, moment: &Moment) -> bool {
    is_positioned(grid.period, &moment.device) && moment.unserved() == 0
}

/// Whether the holes cost less than half a request each, and are not more than is allowed to be read in vain. Under an arm
/// they pass by, read or not.
pub(in crate::adaptive) fn is_read_through(grid: &Grid, moment: &Moment) -> bool {
    if moment.device.is_positioned_for() {
        return false;
    }
    let hole = grid.period.saturating_sub(grid.length) / PAGE_BYTES;
    let allowed = (grid.length).saturating_mul(u64::from(moment.knobs.readahead_hit_rate));
    grid.period <= allowed && sparse::is_worth_reading(hole, moment)
}

/// Extends the window by the next request; the reader is at the element at `place`. `None`: there
/// are no further elements in the file.
pub(in crate::adaptive) fn extend(
    window: &mut Window,
    grid: &Grid,
    place: u64,
    extent: Extent,
    moment: &Moment,
) -> Option<Prefetch> {
    let Extent {
        pages,
        limit,
        seen,
        row,
    } = extent;
    let grid = &Grid {
        length: grid.length.saturating_add(row.wider),
        ..*grid
    };
    let Grid {
        direction, length, ..
    } = *grid;
    let period = grid.period.max(1);
    let is_filled = row.wider > 0 && period < length.saturating_add(PAGE_BYTES);
    let file_bytes = moment.file_pages.get().saturating_mul(PAGE_BYTES);
    // The first element not asked for, or the one being read now.
    let passed = window.next > window.frontier;
    let is_read_now = passed && place.saturating_add(period) == window.next;
    let first = if is_read_now {
        place
    } else {
        window.next.max(window.frontier)
    };
    let first_asked = first.checked_add_signed(row.gap)?;
    let first_asked = match direction {
        Direction::Forward => first_asked,
        // What lies behind the first byte of an element lies in front of it in the file.
        Direction::Backward => first_asked.saturating_add(row.wider),
    };
    // Only whole elements: all ranges of a request are equally long.
    let in_file = direction
        .last_element(file_bytes, length, grid.slack())
        .and_then(|last| last.checked_sub(first_asked))
        .map_or(0, |span| span / period + 1);
    let cheap = pages.max(ELEMENTS_MIN_PAGES.get()) / grid.pages_max();
    let fewest = fewest_at_once(period, moment).min(cheap.max(ELEMENTS_FEWEST));
    let is_read_through = is_filled || is_read_through(grid, moment);
    let affordable = if is_read_through {
        // One page more where it begins and ends inside of pages.
        limit.saturating_sub(1) / period.div_ceil(PAGE_BYTES)
    } else {
        limit / grid.pages_max()
    };
    let affordable = affordable.max(1);
    let count = (pages.saturating_mul(PAGE_BYTES) / period)
        .max(fewest)
        .min(most_at_once(period, moment))
        .min(affordable)
        .min(row.believed().unwrap_or_else(|| believed(seen, grid)))
        .min(in_file);
    let start = direction.byte_place(first_asked);
    let end_of = |count: u64| start + (count - 1) * period + length + grid.slack();
    let is_cut = direction == Direction::Forward && count > 1 && end_of(count) > file_bytes;
    // Only the first range is cut at the end of the file: the last one is left for the next request.
    let count = count - u64::from(is_cut);
    if count == 0 || start >= file_bytes {
        window.tail = 0;
        return None;
    }
    let count32 = u32::try_from(count).unwrap_or(u32::MAX);
    window.tail = count32;
    window.frontier = first.saturating_add(count.saturating_mul(period));
    let end = start.saturating_add(length + grid.slack());
    let elements = Prefetch {
        first: ByteRange::new(start.saturating_sub(grid.slack()), end.min(file_bytes)),
        period: direction.signed(period),
        count: count32,
    };
    Some(if is_read_through {
        elements.with_holes()
    } else {
        elements
    })
}
