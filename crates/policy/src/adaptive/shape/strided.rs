//! Strided streams: a fixed length every fixed period, in either direction.
//!
//! Places are those of the first bytes of elements. The window is a number of elements, the
//! marker is the first element of the newest request, and what lies between elements is never
//! asked for.
//!
//! A period of whole pages goes by pages: where in its page an access begins and ends says nothing then.
//! Any other period goes by bytes, because counted in pages its steps would differ.
//!
//! Steps that drift by some bytes make a grid that moves with its reader: each element is where the next one is counted
//! from, the period follows the steps, and elements are asked for with [`SLACK_BYTES`] on both sides. It goes by bytes.

use super::candidate::YOUNG_GAP_PAGES;
use super::fit::Fit;
use super::sparse;
use crate::adaptive::access::Access;
use crate::adaptive::direction::Direction;
use crate::adaptive::moment::Moment;
use crate::adaptive::stream::REGULAR_STEPS;
use crate::adaptive::window::Window;
use crate::decision::Prefetch;
use crate::device::DeviceEstimate;
use crate::steering::steering;
use ahead_units::{ByteRange, PAGE_BYTES};

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

/// One that is read and one that follows.
const ELEMENTS_FEWEST: u64 = 2;

/// Bytes that are asked for on each side of an element where elements are off by something: half a page, so that it costs one page.
/// More, and each element costs several.
const SLACK_BYTES: u64 = PAGE_BYTES / 2;

/// How far an element may begin from where it was expected, either way: a page. What is off by more than a few hundred bytes is never
/// asked for, see [`steady`]; but as long as it belongs to its stride, no other one is seen in the same reads, to break a
/// dozen elements later. Less, and that costs an arm two accesses each time; more, and one that is over goes on.
pub(in crate::adaptive) const OFF_BYTES_MOST: u64 = PAGE_BYTES;

/// Least hole of a grid that drifts: what is asked for on both sides of it leaves a page out.
const DRIFTING_HOLE_BYTES: u64 = 2 * SLACK_BYTES + PAGE_BYTES;

/// Parts in which the period follows a step that is off. 1, and one that is off by chance moves all that is asked for; more, and
/// steps that grow are never caught up with.
const PARTS_FOLLOWED: i64 = 4;

/// Set in a packed period of pages; without it, it is one of bytes.
const IN_PAGES: u32 = 1 << 31;
/// Set in a packed period that drifts.
const DRIFTS: u32 = 1 << 30;

/// A period of so many bytes in 32 bits; `None` where it does not fit: 1 GiB and more that are no whole pages,
/// and 4 TiB.
pub(in crate::adaptive) fn packed(period: u64) -> Option<u32> {
    let exact = u32::try_from(period).ok().filter(|bytes| *bytes < DRIFTS);
    let in_pages = || {
        let pages = u32::try_from(period / PAGE_BYTES).ok();
        pages.filter(|pages| is_multiple(period, PAGE_BYTES) && *pages < DRIFTS)
    };
    exact.or_else(|| Some(in_pages()? | IN_PAGES))
}

/// The bytes of a packed period.
pub(in crate::adaptive) fn unpacked(period: u32) -> u64 {
    let value = u64::from(period & !(IN_PAGES | DRIFTS));
    if period & IN_PAGES == 0 {
        value
    } else {
        value * PAGE_BYTES
    }
}

/// Where elements are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::adaptive) struct Grid {
    /// Which way they follow each other.
    pub(in crate::adaptive) direction: Direction,
    /// Bytes from one to the next.
    pub(in crate::adaptive) period: u64,
    /// Bytes of each.
    pub(in crate::adaptive) length: u64,
    /// Elements are off by some bytes: each is where the next one is counted from.
    pub(in crate::adaptive) drifts: bool,
}

impl Grid {
    /// Elements that begin `period` bytes apart and are as long as `access`.
    pub(in crate::adaptive) fn of(direction: Direction, period: u64, access: &Access) -> Self {
        let grid = Self {
            direction,
            period,
            ..Self::default()
        };
        grid.as_long_as(access)
    }

    /// Elements as these, as long as `access`.
    pub(in crate::adaptive) fn as_long_as(self, access: &Access) -> Self {
        let length = if self.is_of_pages() {
            access.len().get().saturating_mul(PAGE_BYTES)
        } else {
            access.bytes.len().get()
        };
        Self { length, ..self }
    }

    /// Elements as these, as long as `access`, which drift. `None` where too little lies between them, or the period does not fit.
    pub(in crate::adaptive) fn drifting(self, access: &Access) -> Option<Self> {
        let grid = Self {
            drifts: true,
            ..self
        };
        let grid = grid.as_long_as(access);
        let fits = grid.period < u64::from(DRIFTS)
            && grid.period >= grid.length.saturating_add(DRIFTING_HOLE_BYTES);
        fits.then_some(grid)
    }

    /// The grid of a packed period.
    #[inline]
    pub(in crate::adaptive) fn unpacked(direction: Direction, period: u32, length: u64) -> Self {
        Self {
            direction,
            period: unpacked(period),
            length,
            drifts: period & DRIFTS != 0,
        }
    }

    /// The packed period; 0 where it does not fit.
    pub(in crate::adaptive) fn packed(&self) -> u32 {
        let drifts = if self.drifts { DRIFTS } else { 0 };
        packed(self.period).map_or(0, |period| period | drifts)
    }

    /// Bytes that are asked for on each side of an element, in case it is off.
    fn slack(&self) -> u64 {
        if self.drifts { SLACK_BYTES } else { 0 }
    }

    /// Whether every element begins at the same place in its page.
    #[inline]
    pub(in crate::adaptive) fn is_of_pages(&self) -> bool {
        !self.drifts && is_multiple(self.period, PAGE_BYTES)
    }

    /// The place of `access`.
    #[inline]
    pub(in crate::adaptive) fn place(&self, access: &Access) -> u64 {
        let start = if self.is_of_pages() {
            access.start.get().saturating_mul(PAGE_BYTES)
        } else {
            access.bytes.start.get()
        };
        self.direction.byte_place(start)
    }

    /// Pages that every element touches.
    fn pages_min(&self) -> u64 {
        (self.length + 2 * self.slack()).div_ceil(PAGE_BYTES).max(1)
    }

    /// Pages that an element may touch: its first byte may be the last one of its page.
    fn pages_max(&self) -> u64 {
        let can_straddle = !self.is_of_pages() && self.length > 1;
        self.pages_min() + u64::from(can_straddle)
    }

    /// Whether the period is so large that this may be several evenly spaced streams read in turn.
    pub(in crate::adaptive) fn is_wide(&self) -> bool {
        self.period > YOUNG_GAP_PAGES.get() * PAGE_BYTES
    }

    /// Whether an element begins in the page at `start`, behind the reader or ahead.
    pub(in crate::adaptive) fn has_element_in(&self, window: &Window, start: u64) -> bool {
        let border = i128::from(self.direction.byte_place(start.saturating_mul(PAGE_BYTES)));
        // In reading order the first byte of a page is its last one where the stream goes backward.
        let before = match self.direction {
            Direction::Forward => border - 1,
            Direction::Backward => border - i128::from(PAGE_BYTES),
        };
        let elements_up_to = |place: i128| {
            let distance = place - i128::from(window.next);
            distance.div_euclid(i128::from(self.period.max(1)))
        };
        elements_up_to(before) != elements_up_to(before + i128::from(PAGE_BYTES))
    }
}

/// Whether `access` continues the stream.
#[inline]
pub(in crate::adaptive) fn fit(window: &Window, grid: &Grid, access: &Access) -> Fit {
    let place = grid.place(access);
    if place == window.next {
        return Fit::Exact;
    }
    if drift(window, grid, access).is_some() {
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

fn is_multiple(distance: u64, period: u64) -> bool {
    distance.checked_rem(period) == Some(0)
}

/// Whether an element begins at `place`, behind the reader or ahead.
pub(in crate::adaptive) fn has_element(window: &Window, grid: &Grid, place: u64) -> bool {
    is_multiple(place.abs_diff(window.next), grid.period)
}

/// Elements that come one after the other within the slack where each is off by so much. `off` is not 0.
fn steady(off: u64) -> u8 {
    u8::try_from(SLACK_BYTES / off.max(1)).unwrap_or(u8::MAX)
}

/// An element that is off, and what that makes of its stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::adaptive) struct Drift {
    grid: Grid,
    place: u64,
    /// Elements that the reader left out.
    skipped: u64,
    /// Elements of so small a drift that come one after the other within the slack.
    steady: u8,
    /// The stride went by pages: all that was asked for is off by one.
    pub(in crate::adaptive) is_new: bool,
}

/// How `access` is off, if it is an element in spite of that.
pub(in crate::adaptive) fn drift(window: &Window, grid: &Grid, access: &Access) -> Option<Drift> {
    let moving = grid.drifting(access)?;
    let place = moving.place(access);
    if grid.is_of_pages() {
        // Off by one page, which pages that begin at the same place in it never are.
        let is_off = grid.place(access).abs_diff(window.next) == PAGE_BYTES;
        let is_aligned = access.bytes.start.get().is_multiple_of(PAGE_BYTES);
        return (is_off && !is_aligned).then_some(Drift {
            grid: moving,
            place,
            skipped: 0,
            steady: u8::MAX,
            is_new: true,
        });
    }
    let period = moving.period;
    let skipped = (place + OFF_BYTES_MOST).checked_sub(window.next)? / period;
    let expected = window.next.saturating_add(skipped.saturating_mul(period));
    let off = place.abs_diff(expected);
    if off == 0 || off > OFF_BYTES_MOST || skipped > SKIPPED_ELEMENTS_MAX.get() {
        return None;
    }
    let signed = off.cast_signed() * if place > expected { 1 } else { -1 };
    let steps = skipped.cast_signed() + 1;
    let followed = signed / (steps * PARTS_FOLLOWED);
    let period = period.checked_add_signed(followed)?;
    Some(Drift {
        grid: Grid { period, ..moving }.drifting(access)?,
        place,
        skipped,
        steady: steady(off),
        is_new: false,
    })
}

impl Drift {
    /// The grid from now on.
    pub(in crate::adaptive) fn grid(&self) -> Grid {
        self.grid
    }

    /// Elements in a row that it makes of `regular`.
    pub(in crate::adaptive) fn regular(&self, regular: u8) -> u8 {
        if self.is_new {
            return regular.min(REGULAR_STEPS.get());
        }
        regular.saturating_add(1).min(self.steady)
    }

    /// The reader is at the element, and the window moves with it: what was asked for allows for that, or is asked for again.
    /// `before` is the grid that the window had.
    pub(in crate::adaptive) fn move_window(&self, window: &mut Window, before: &Grid) {
        let asked = window.frontier.saturating_sub(window.next);
        let elements = asked.checked_div(before.period).unwrap_or(0);
        move_to(window, &self.grid, self.place);
        if self.is_new {
            begin_again(window);
        } else {
            let frontier = self
                .place
                .saturating_add(elements.saturating_mul(self.grid.period));
            window.frontier = frontier.saturating_sub(self.skipped * self.grid.period);
        }
    }
}

/// The reader is at the element at `place`.
pub(in crate::adaptive) fn move_to(window: &mut Window, grid: &Grid, place: u64) {
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

/// Whether an access at `place` was asked for (judged before the stream moves).
pub(in crate::adaptive) fn covers(window: &Window, grid: &Grid, place: u64) -> bool {
    let slack = grid.slack();
    place.saturating_add(slack) >= window.next && place.saturating_add(slack) < window.frontier
}

/// Pages asked for and not yet reached.
pub(in crate::adaptive) fn unread(window: &Window, grid: &Grid) -> u64 {
    let ahead = window.frontier.saturating_sub(window.next);
    let elements = ahead.checked_div(grid.period).unwrap_or(0);
    elements.saturating_mul(grid.pages_min())
}

/// Pages of the elements before the next one, counted from anywhere.
pub(in crate::adaptive) fn pages_before(window: &Window, grid: &Grid) -> u64 {
    let elements = window.next.checked_div(grid.period).unwrap_or(0);
    elements.saturating_mul(grid.pages_min())
}

/// The reader waited for an element: its next step asks.
pub(in crate::adaptive) fn begin_again(window: &mut Window) {
    (window.frontier, window.tail) = (window.next, 1);
}

/// What the next request may cost.
#[derive(Clone, Copy, Debug)]
pub(in crate::adaptive) struct Extent {
    /// Pages of a request, holes included.
    pub(in crate::adaptive) pages: u64,
    /// Pages of a request, holes left out, at most.
    pub(in crate::adaptive) limit: u64,
    /// Elements that came where they were expected, one after the other.
    pub(in crate::adaptive) seen: u64,
}

/// Whether a stride that `access` begins, `newer`, is this one, whose steps drift: it has about the same period, and its reader is
/// among what was asked for, beside the elements, and beyond the next one, where one that keeps in step is not.
pub(in crate::adaptive) fn is_overtaken(
    window: &Window,
    grid: &Grid,
    access: &Access,
    newer: &Grid,
) -> bool {
    let place = grid.place(access);
    let passed = window.next.saturating_add(grid.period / 2);
    grid.direction == newer.direction
        && grid.period.abs_diff(newer.period) < PAGE_BYTES
        && (passed..window.frontier).contains(&place)
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

/// Most elements that are believed to come: as many as came, because a stride whose steps drift is one for some elements. Of those that
/// are off a quarter: two requests are on their way at once, and what is off adds up.
fn believed(seen: u64, grid: &Grid) -> u64 {
    if grid.drifts {
        (seen / 4).max(1)
    } else {
        seen.max(ELEMENTS_MIN.get())
    }
}

/// Whether elements that are off are read as fast when they are wanted: an arm that has nothing else to do passes by them, waits for none
/// and comes back for one that is off by more than was asked for; and of long ones it is the transfer that takes time, and one
/// more page on each side is a request more.
pub(in crate::adaptive) fn is_drift_left_alone(grid: &Grid, moment: &Moment) -> bool {
    let device = &moment.device;
    let is_alone = !moment.contested && device.is_positioned_for();
    let is_passed_by = is_alone && !is_positioned(grid.period, device);
    grid.drifts && (is_passed_by || grid.length > passed_bytes(device))
}

/// Whether the program's own reads keep the device busy, and elements that are asked for would only wait behind
/// them, or they behind those.
pub(in crate::adaptive) fn is_left_to_program(grid: &Grid, moment: &Moment) -> bool {
    is_positioned(grid.period, &moment.device) && moment.unserved() == 0
}

/// Whether the holes cost less than half a request each, and are not more than is allowed to be read in vain. Under an arm
/// they pass by, read or not.
fn is_read_through(grid: &Grid, moment: &Moment) -> bool {
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
    let Extent { pages, limit, seen } = extent;
    let Grid {
        direction, length, ..
    } = *grid;
    let period = grid.period.max(1);
    let file_bytes = moment.file_pages.get().saturating_mul(PAGE_BYTES);
    // The first element not asked for, or the one being read now.
    let passed = window.next > window.frontier;
    let first = if passed { place } else { window.frontier };
    // Only whole elements: all ranges of a request are equally long.
    let in_file = direction
        .last_element(file_bytes, length)
        .and_then(|last| last.checked_sub(first.saturating_add(grid.slack())))
        .map_or(0, |span| span / period + 1);
    let cheap = pages.max(ELEMENTS_MIN_PAGES.get()) / grid.pages_max();
    let fewest = fewest_at_once(period, moment).min(cheap.max(ELEMENTS_FEWEST));
    let is_read_through = is_read_through(grid, moment);
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
        .min(believed(seen, grid))
        .min(in_file);
    let start = direction.byte_place(first);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_exact_or_do_not_fit() {
        for period in [1, 4095, 9_604_620, (1 << 30) - 1, 1 << 30, 3 << 40] {
            assert_eq!(packed(period).map(unpacked), Some(period));
        }
        assert_eq!(packed((1 << 30) + 1), None);
        assert_eq!(packed(4 << 40), None);
    }

    /// Reads of 1000 bytes at `starts`, the first three of which make the window of a stride whose `elements` next ones are on their way.
    fn moved(starts: &[u64], elements: u64) -> (Window, Grid, u8) {
        let access = |start: u64| Access::from(ByteRange::new(start, start + 1000));
        let begun = Grid::of(
            Direction::Forward,
            starts[2] - starts[1],
            &access(starts[2]),
        );
        let (mut grid, mut regular) = (begun, 6);
        let mut window = Window::default();
        move_to(&mut window, &grid, starts[2]);
        window.frontier = window.next + elements * grid.period;
        for start in &starts[3..] {
            let drift = drift(&window, &grid, &access(*start)).expect("an element");
            drift.move_window(&mut window, &grid);
            (grid, regular) = (drift.grid(), drift.regular(regular));
        }
        (window, grid, regular)
    }

    #[test]
    fn the_window_moves_with_an_element_that_is_off_and_keeps_those_that_are_on_their_way() {
        let (window, grid, regular) = moved(&[5, 50_010, 100_015, 150_060], 7);
        assert_eq!((grid.drifts, grid.period), (true, 50_005 + 10));
        assert_eq!(window.next, 150_060 + 50_015);
        assert_eq!(window.frontier, window.next + 6 * 50_015);
        assert_eq!(regular, 7, "off by 40");
    }

    #[test]
    fn an_element_that_is_off_may_lie_behind_some_that_were_left_out() {
        let (window, grid, regular) = moved(&[5, 50_010, 100_015, 250_430], 7);
        assert_eq!((grid.drifts, grid.period), (true, 50_005 + 400 / 12));
        assert_eq!(window.next, 250_430 + grid.period);
        assert_eq!(window.frontier, window.next + 4 * grid.period);
        assert_eq!(regular, 5, "as many are off by less than half a page");
    }

    #[test]
    fn what_is_off_by_more_than_a_page_is_no_element() {
        let access = |start: u64| Access::from(ByteRange::new(start, start + 1000));
        let grid = Grid::of(Direction::Forward, 50_005, &access(5));
        let window = Window {
            next: 50_010,
            ..Window::default()
        };
        let is_one = |start| drift(&window, &grid, &access(start)).is_some();
        assert!(is_one(50_010 + 4096) && is_one(50_010 - 4096));
        assert!(!is_one(50_010 + 4097) && !is_one(50_010 - 4097));
        assert!(is_one(50_010 + 4 * 50_005 + 1) && !is_one(50_010 + 5 * 50_005 + 1));
        let close = Grid::of(Direction::Forward, 9001, &access(5));
        assert!(
            drift(&window, &close, &access(50_020)).is_none(),
            "no page is left out"
        );
    }

    #[test]
    fn the_pages_in_which_elements_begin_are_found_on_both_sides_of_the_reader() {
        for direction in [Direction::Forward, Direction::Backward] {
            let grid = Grid {
                direction,
                period: 9_604_620,
                length: 800_385,
                drifts: false,
            };
            let at = |element: u64| 2_401_159 + element * 9_604_620;
            let window = Window {
                next: direction.byte_place(at(7)),
                ..Window::default()
            };
            let begun: Vec<u64> = (0..14_000)
                .filter(|page| grid.has_element_in(&window, *page))
                .collect();
            let expected: Vec<u64> = (0..6).map(|element| at(element) / PAGE_BYTES).collect();
            assert_eq!(begun, expected, "{direction:?}");
        }
    }
}
