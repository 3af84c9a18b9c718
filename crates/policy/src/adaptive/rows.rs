//! Rows of a stride: some elements one after the other, then a step to the next row.
//!
//! So a slice of an array of three axes is read, and a picture tile by tile. A stride that is believed to go on for ever asks for
//! elements behind the end of each row, in vain, and begins anew with each. So it is remembered how many elements the newest rows
//! had, and the gap between each and the next one: once two were alike the row that is read is asked for to its end, and no further,
//! and once two gaps were equal, the elements of the next one before it is reached.
//!
//! One stream of a file is followed, until it has stopped for long or is gone.

use super::access::Access;
use super::columns::Columns;
use super::shape::grid::Grid;
use ahead_units::PAGE_BYTES;

/// Rows that have to be alike, and gaps between them, before the next one is believed to be so. One, and any two strides that broke
/// after as many elements bound a third; three, and a slice of eight rows is half over.
const ALIKE: u8 = 2;

/// Gaps that have to be equal where they go back and elements lie far apart: streams that lie evenly spaced and are read in turn look the same,
/// and are better asked for one by one, which some rounds tell. Fewer, and four strides in turn are taken for rows of four.
const RETURNING: u8 = 6;

/// Elements with which a stride is seen; a row has as many at least.
pub(super) const ELEMENTS_SEEN: u16 = 3;

/// No place of a stream.
const NOWHERE: u8 = u8::MAX;

/// Where a row is, seen from the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Next {
    /// Nowhere in particular.
    #[default]
    Elsewhere,
    /// It goes back, and elements lie far apart: it may be the next round over streams.
    Back,
    /// Its elements begin in those of the one before, or where they end: both are columns.
    Column,
}

/// What is known of the rows of a stride. All zero: nothing is read in rows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rows {
    /// Bytes from where another element of the newest row that ended would begin to the first one of the next row, in reading order.
    gap: i64,
    /// Packed period of its elements.
    step: u32,
    /// How many it had.
    elements: u16,
    /// Elements that have come of the row that is read.
    come: u16,
    /// The place of its stream.
    place: u8,
    /// Rows in a row that had as many elements.
    alike: u8,
    /// Gaps in a row that were as large.
    equal: u8,
    /// Where the next row is, seen from the last one.
    next: Next,
    /// How many lie side by side.
    columns: Columns,
    /// Bytes from the place of an element to its first byte.
    inside: i16,
}

/// What the next request of a stride may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowPart {
    /// Elements, at most.
    pub(super) elements: u64,
    /// They are so many bytes further than the grid says, in reading order: those of the next row are.
    pub(super) gap: i64,
    /// Bytes that are asked for behind each, as columns lie there that are read next.
    pub(super) wider: u64,
    /// Which columns it is the first request for.
    pub(super) begins: Begins,
}

/// Which columns a request is the first one for, and how many of them its elements are as wide as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begins {
    /// None: it goes on with what was asked for, or no column is known.
    Nothing,
    /// The column that is read, and those behind it.
    This(u8),
    /// The next one, and those behind it.
    Next(u8),
}

/// A row that begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewRow {
    /// Where its elements are.
    pub(super) grid: Grid,
    /// Its first one.
    pub(super) first: u64,
    /// Bytes from the place of each to its first byte.
    pub(super) inside: i64,
    /// Elements that have come.
    pub(super) come: u16,
}

impl NewRow {
    /// Of which `come` elements on `grid` have come, `access` being the newest.
    pub(super) fn up_to(access: &Access, grid: Grid, come: u16) -> Self {
        let passed = grid
            .period
            .saturating_mul(u64::from(come.saturating_sub(1)));
        let first = grid.place(access).wrapping_sub(passed);
        Self {
            grid,
            first,
            inside: grid.inside(access),
            come,
        }
    }
}

/// Bytes inside of a page.
fn inside16(bytes: i64) -> i16 {
    i16::try_from(bytes).unwrap_or(0)
}

/// How far behind the next element of a column the next band begins, with `before` columns of `shift` bytes before this one.
fn gap_to_band(before: u8, shift: u64) -> i64 {
    let way = shift.saturating_mul(before.into());
    0_i64.saturating_sub_unsigned(way)
}

impl RowPart {
    /// Where no row ends.
    pub(super) const ENDLESS: Self = Self {
        elements: u64::MAX,
        gap: 0,
        wider: 0,
        begins: Begins::Nothing,
    };

    /// How many elements are believed to come; `None` where no row says it.
    pub(super) fn believed(&self) -> Option<u64> {
        (self.elements < u64::MAX).then_some(self.elements)
    }
}

impl Rows {
    /// The stream at `place` begins `row`. Nothing changes where this is of another stride than the one that is followed, which `goes_on`.
    pub(super) fn begin(&mut self, place: u8, row: &NewRow, goes_on: bool) {
        let step = row.grid.packed();
        if step != self.step {
            if goes_on {
                return;
            }
            *self = Self {
                step,
                ..Self::default()
            };
        }
        self.count();
        (self.place, self.come) = (place, row.come);
        self.inside = inside16(row.inside);
    }

    /// Whether a stream that is followed, and has not moved for `idle` accesses of its file, may go on with the row that it reads, or the next.
    pub(super) fn may_go_on(&self, idle: u32) -> bool {
        idle <= 2 * u32::from(self.elements.max(self.come))
    }

    /// Whether the stream at `place` is followed, whose elements are on `grid`.
    pub(super) fn follow(&self, place: u8, grid: &Grid) -> bool {
        self.step != 0 && self.place == place && self.step == grid.packed()
    }

    /// The place of the stream that is followed.
    pub(super) fn place(&self) -> u8 {
        self.place
    }

    /// Whether the newest element was the first one of its row.
    pub(super) fn is_at_first(&self) -> bool {
        self.come == 1
    }

    /// The stream that is followed came to the next element of its row.
    pub(super) fn on_element(&mut self) {
        if self.come == 0 {
            self.confirm();
        }
        self.come = self.come.saturating_add(1);
    }

    /// The stream that is followed came to an element on `grid` and left out some before it. Pages of further columns that were asked for in vain;
    /// `None`: it cannot have asked for elements of the next row.
    pub(super) fn on_left_out(&mut self, grid: &Grid) -> Option<u64> {
        let lost = self.are_known().then(|| self.lose_columns(grid, None));
        self.alike = 0;
        self.come = self.come.saturating_add(1);
        lost
    }

    /// The stream that is followed is no stride any more: its row on `grid` has ended, and it went on `gap` bytes behind where the next element was
    /// expected. Pages of further columns that were asked for in vain.
    pub(super) fn on_broken(&mut self, grid: &Grid, gap: i64, inside: i64) -> u64 {
        let lost = self.end(grid, gap, inside);
        self.place = NOWHERE;
        lost
    }

    /// How far behind the next element on `grid` the next row begins, if this one is over and that is known.
    pub(super) fn over(&self, grid: &Grid) -> Option<i64> {
        let is_over = self.come == self.elements && self.is_next_known();
        is_over.then(|| self.way_behind(grid, 0).0)
    }

    /// The way from where the next element on `grid` is expected to the row behind the next `passed` ones, which are columns of its band: to the
    /// place of its first element, and from there to the first byte of that.
    fn way_behind(&self, grid: &Grid, passed: u8) -> (i64, i64) {
        let gap = match self.shift(grid) {
            Some(shift) if self.columns.is_band_over_after(passed) => {
                gap_to_band(self.columns.before(), shift)
            }
            Some(shift) => (self.gap).saturating_add_unsigned(shift.saturating_mul(passed.into())),
            None => self.gap,
        };
        grid.split(gap.wrapping_add(self.inside.into()))
    }

    /// How far behind the next element on `grid` the row that is read now was expected, seen from the one before.
    fn passed_gap(&self, grid: &Grid) -> i64 {
        match (self.shift(grid), self.columns.before_this_band()) {
            (Some(shift), Some(before)) => gap_to_band(before, shift),
            _ => self.gap,
        }
    }

    /// The stream goes on at the next row on `grid`, of which no element has come. If that is a column of which all elements were asked for: how
    /// many it has.
    pub(super) fn go_on(&mut self, grid: &Grid) -> Option<u16> {
        self.inside = inside16(self.way_behind(grid, 0).1);
        self.come = 0;
        self.columns.on_next().then_some(self.elements)
    }

    /// Whether the columns behind those of which all elements were asked for may be asked for.
    pub(super) fn are_next_columns_due(&self) -> bool {
        self.columns.are_next_due()
    }

    /// What `begins` says was asked for.
    pub(super) fn on_asked(&mut self, begins: Begins) {
        match begins {
            Begins::Nothing => {}
            Begins::This(columns) => self.columns.begin(columns),
            Begins::Next(columns) => self.columns.on_next_asked(columns),
        }
    }

    /// Whether rows are columns.
    pub(super) fn are_columns(&self) -> bool {
        self.next == Next::Column
    }

    /// Bytes from an element of a row to the one beside it of the next row, if that begins in it or at its end: then they are columns.
    fn shift(&self, grid: &Grid) -> Option<u64> {
        if !self.are_columns() {
            return None;
        }
        let row = grid.period.checked_mul(self.elements.into())?;
        row.checked_add_signed(self.gap).filter(|shift| *shift > 0)
    }

    /// Where the next row is on `grid`, by the gap to it.
    fn seen_next(&self, grid: &Grid) -> Next {
        let row = grid.period.saturating_mul(self.elements.into());
        let shift = row.checked_add_signed(self.gap).unwrap_or(0);
        if (1..=grid.length).contains(&shift) {
            Next::Column
        } else if self.gap < 0 && grid.is_wide() {
            Next::Back
        } else {
            Next::Elsewhere
        }
    }

    /// Pages of a column whose elements are `shift` bytes wide.
    fn column_pages(&self, shift: u64) -> u64 {
        let bytes = shift.saturating_mul(self.elements.into());
        bytes.div_ceil(PAGE_BYTES).max(1)
    }

    /// The band is over, and the further columns that were asked for with it; `gap` leads to what is read next. Their pages.
    fn lose_columns(&mut self, grid: &Grid, gap: Option<i64>) -> u64 {
        let Some(shift) = self.shift(grid) else {
            self.columns.on_band(false);
            return 0;
        };
        let before = self.columns.before();
        let expected = gap_to_band(before, shift);
        // A stride that was seen by its pages is off by some bytes in each line.
        let follows = gap.is_some_and(|gap| before > 0 && gap.abs_diff(expected) <= PAGE_BYTES);
        u64::from(self.columns.on_band(follows)).saturating_mul(self.column_pages(shift))
    }

    /// The row has ended, if one had begun: how many elements it had is known now.
    fn count(&mut self) {
        if self.come == 0 {
            return;
        }
        let is_alike = self.come == self.elements;
        self.alike = if is_alike {
            self.alike.saturating_add(1).min(ALIKE)
        } else {
            1
        };
        (self.elements, self.come) = (self.come, 0);
    }

    /// The row on `grid` has ended, and the next one begins at a place `gap` bytes behind the one where its stream expected the next element,
    /// `inside` bytes from there. Pages of further columns that were asked for in vain.
    pub(super) fn end(&mut self, grid: &Grid, gap: i64, inside: i64) -> u64 {
        // That was at the next row already, where no element of it has come.
        let was_at_next = self.come == 0;
        let passed = if was_at_next {
            self.passed_gap(grid)
        } else {
            0
        };
        let further = inside - i64::from(self.inside);
        let gap = gap.wrapping_add(passed).wrapping_add(further);
        self.count();
        let mut lost = 0;
        if gap != self.gap {
            lost = self.lose_columns(grid, Some(gap));
            if self.is_next_known() {
                // The last one of a plane: the others are as they were.
                self.equal -= 1;
                return lost;
            }
            (self.gap, self.equal) = (gap, 0);
        } else if !was_at_next {
            self.columns.on_next();
        }
        self.next = self.seen_next(grid);
        self.confirm();
        lost
    }

    /// The next row began as far from the last one as the one before. One more than is needed, and one that does not is no reason to doubt.
    fn confirm(&mut self) {
        self.equal = self.equal.saturating_add(1).min(self.needed() + 1);
    }

    /// Gaps in a row that have to be equal.
    fn needed(&self) -> u8 {
        if self.next == Next::Back {
            RETURNING
        } else {
            ALIKE
        }
    }

    /// Whether it is known where the next row begins.
    fn is_next_known(&self) -> bool {
        self.are_known() && self.equal >= self.needed()
    }

    /// Whether it is known how many elements a row has.
    pub(super) fn are_known(&self) -> bool {
        let elements = ELEMENTS_SEEN..u16::MAX;
        self.alike >= ALIKE && elements.contains(&self.elements) && self.come <= self.elements
    }

    /// What is expected behind the next `asked` elements on `grid`, which are asked for already, where memory has space for so many
    /// pages, and `cheap` of them cost an element less than itself. `None`: nothing.
    pub(super) fn part(&self, asked: u64, grid: &Grid, space: u64, cheap: u64) -> Option<RowPart> {
        if !self.are_known() {
            return Some(RowPart::ENDLESS);
        }
        let shift = self.shift(grid);
        let wider =
            |columns: u8, inside: i64| shift.map_or(0, |shift| grid.wider(columns, shift, inside));
        let wanted = |begun: u64| {
            shift.map(|shift| {
                let affordable = space / self.column_pages(shift);
                let cheap = cheap.saturating_mul(PAGE_BYTES) / shift;
                self.columns
                    .wanted(begun, grid.period / shift, affordable, cheap)
            })
        };
        let row = u64::from(self.elements);
        let up_to = u64::from(self.come).saturating_add(asked);
        if up_to < row {
            let is_untouched = up_to == 0 && self.columns.are_over() && self.is_next_known();
            let begun = is_untouched.then(|| self.columns.before().into());
            let begins = begun.and_then(wanted);
            let columns = begins.unwrap_or_else(|| self.columns.left());
            return Some(RowPart {
                elements: row - up_to,
                gap: 0,
                wider: wider(columns, self.inside.into()),
                begins: begins.map_or(Begins::Nothing, Begins::This),
            });
        }
        let left = (2 * row).saturating_sub(up_to);
        let is_expected = left > 0 && self.is_next_known() && self.columns.are_next_due();
        let passed = self.columns.rest();
        let asked_of_next = self.columns.asked_of_next();
        let columns = asked_of_next.or_else(|| wanted(self.columns.before_after(passed)));
        let (gap, inside) = self.way_behind(grid, passed);
        is_expected.then(|| RowPart {
            elements: left,
            gap,
            wider: wider(columns.unwrap_or(1), inside),
            begins: columns.map_or(Begins::Nothing, Begins::Next),
        })
    }
}

#[cfg(test)]
mod tests;
