//! Rows of a stride: some elements one after the other, then a step to the next row.
//!
//! So a slice of an array of three axes is read, and a picture tile by tile. A stride that is believed to go on for ever asks for
//! elements behind the end of each row, in vain, and begins anew with each. So it is remembered how many elements the newest rows
//! had, and the gap between each and the next one: once two were alike the row that is read is asked for to its end, and no further,
//! and once two gaps were equal, the elements of the next one before it is reached.
//!
//! One stream of a file is followed, until it has stopped for long or is gone.

use super::access::Access;
use super::shape::grid::Grid;

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

/// What is known of the rows of a stride. All zero: nothing is read in rows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rows {
    /// Bytes from where another element of the newest row that ended would be to the first one of the next row, in reading order.
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
    /// Its elements lie so far apart that it may be a round over streams.
    is_wide: bool,
}

/// What the next request of a stride may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowPart {
    /// Elements, at most.
    pub(super) elements: u64,
    /// They are so many bytes further than the grid says, in reading order: those of the next row are.
    pub(super) gap: i64,
}

/// A row that begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewRow {
    /// Where its elements are.
    pub(super) grid: Grid,
    /// Its first one.
    pub(super) first: u64,
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
        Self { grid, first, come }
    }
}

impl RowPart {
    /// Where no row ends.
    pub(super) const ENDLESS: Self = Self {
        elements: u64::MAX,
        gap: 0,
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

    /// The stream that is followed came to an element and left out some before it. Whether it may have asked for those of the next row.
    pub(super) fn on_left_out(&mut self) -> bool {
        let were_known = self.are_known();
        self.alike = 0;
        self.come = self.come.saturating_add(1);
        were_known
    }

    /// The stream that is followed is no stride any more: its row on `grid` has ended, and it went on `gap` bytes behind where the next element was
    /// expected.
    pub(super) fn on_broken(&mut self, grid: &Grid, gap: i64) {
        self.end(grid, gap);
        self.place = NOWHERE;
    }

    /// How far behind the next element the next row begins, if this one is over and that is known.
    pub(super) fn over(&self) -> Option<i64> {
        let is_over = self.come == self.elements && self.is_next_known();
        is_over.then_some(self.gap)
    }

    /// The stream goes on at the next row, of which no element has come.
    pub(super) fn go_on(&mut self) {
        self.come = 0;
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

    /// The row on `grid` has ended, and the next one begins `gap` bytes behind where its stream expected the next element.
    pub(super) fn end(&mut self, grid: &Grid, gap: i64) {
        // That was at the next row already, where no element of it has come.
        let passed = if self.come == 0 { self.gap } else { 0 };
        let gap = gap.wrapping_add(passed);
        self.count();
        self.is_wide = grid.is_wide();
        if gap == self.gap {
            self.confirm();
        } else if self.is_next_known() {
            // The last one of a plane: the others are as they were.
            self.equal -= 1;
        } else {
            (self.gap, self.equal) = (gap, 1);
        }
    }

    /// The next row began as far from the last one as the one before. One more than is needed, and one that does not is no reason to doubt.
    fn confirm(&mut self) {
        self.equal = self.equal.saturating_add(1).min(self.needed() + 1);
    }

    /// Gaps in a row that have to be equal.
    fn needed(&self) -> u8 {
        if self.gap < 0 && self.is_wide {
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

    /// What is expected behind the next `asked` elements, which are asked for already. `None`: nothing.
    pub(super) fn part(&self, asked: u64) -> Option<RowPart> {
        if !self.are_known() {
            return Some(RowPart::ENDLESS);
        }
        let row = u64::from(self.elements);
        let up_to = u64::from(self.come).saturating_add(asked);
        if up_to < row {
            return Some(RowPart {
                elements: row - up_to,
                gap: 0,
            });
        }
        let left = (2 * row).saturating_sub(up_to);
        (left > 0 && self.is_next_known()).then_some(RowPart {
            elements: left,
            gap: self.gap,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adaptive::direction::Direction;
    use ahead_units::ByteRange;

    const STEP: u64 = 1 << 20;

    fn row(come: u16) -> NewRow {
        let access = Access::from(ByteRange::new(0, 4096));
        let grid = Grid::of(Direction::Forward, STEP, &access);
        NewRow::up_to(&access, grid, come)
    }

    /// Rows of a stream at place 3, of which each has `elements` and the next one is expected `gap` bytes behind it.
    struct Reader {
        rows: Rows,
        elements: u16,
        gap: i64,
    }

    impl Reader {
        fn new(elements: u16, gap: i64) -> Self {
            let mut reader = Self {
                rows: Rows::default(),
                elements,
                gap,
            };
            reader.begins_row();
            reader
        }

        fn begins_row(&mut self) {
            self.rows.begin(3, &row(ELEMENTS_SEEN), false);
            (ELEMENTS_SEEN..self.elements).for_each(|_| self.rows.on_element());
            if self.rows.over().is_some() {
                self.rows.go_on();
            }
        }

        /// The reader comes to the next row, whose gap is `gap`, and reads it. Whether it was foreseen.
        fn reads_row(&mut self, gap: i64) -> bool {
            let was_next_known = self.rows.come == 0;
            let off = if was_next_known { gap - self.gap } else { gap };
            if !was_next_known || off != 0 {
                self.rows.end(&row(0).grid, off);
                self.begins_row();
                return false;
            }
            (0..self.elements).for_each(|_| self.rows.on_element());
            if self.rows.over().is_some() {
                self.rows.go_on();
            }
            true
        }
    }

    #[test]
    fn two_rows_that_are_alike_say_where_the_third_ends_and_two_gaps_where_the_next_begins() {
        let mut reader = Reader::new(10, 7 << 20);
        assert_eq!(reader.rows.part(4), Some(RowPart::ENDLESS));
        let foreseen: Vec<bool> = (0..5).map(|_| reader.reads_row(7 << 20)).collect();
        assert_eq!(foreseen, [false, false, true, true, true]);
        let part = |elements, gap| Some(RowPart { elements, gap });
        assert_eq!(reader.rows.part(4), part(6, 0));
        assert_eq!(reader.rows.part(10), part(10, 7 << 20));
        assert_eq!(reader.rows.part(19), part(1, 7 << 20));
        assert_eq!(reader.rows.part(20), None, "two rows ahead");
    }

    #[test]
    fn one_gap_that_differs_changes_nothing_and_two_do() {
        let mut reader = Reader::new(10, 7 << 20);
        (0..5).for_each(|_| _ = reader.reads_row(7 << 20));
        assert!(!reader.reads_row(90 << 20));
        assert!(reader.reads_row(7 << 20));
        assert!(reader.reads_row(7 << 20));
        reader.reads_row(90 << 20);
        reader.reads_row(80 << 20);
        assert!(!reader.reads_row(7 << 20));
    }

    #[test]
    fn rows_of_other_lengths_are_not_believed() {
        let mut reader = Reader::new(10, 7 << 20);
        for elements in [11, 12, 10, 14, 9] {
            reader.elements = elements;
            reader.reads_row(7 << 20);
            assert_eq!(reader.rows.part(0), Some(RowPart::ENDLESS), "{elements}");
        }
    }

    /// Columns of a hundred thousand elements are counted as 65 535, which says nothing of where they end.
    #[test]
    fn rows_that_are_too_long_to_be_counted_are_not_believed() {
        let mut rows = Rows::default();
        for _ in 0..3 {
            rows.begin(3, &row(ELEMENTS_SEEN), false);
            (0..100_000).for_each(|_| rows.on_element());
        }
        assert_eq!(rows.part(0), Some(RowPart::ENDLESS));
    }

    /// Ten evenly spaced streams, read in turn, a page each.
    #[test]
    fn a_round_over_streams_is_a_row_only_after_six() {
        let back = 4096 - (10 << 20);
        let mut reader = Reader::new(10, back);
        let foreseen: Vec<bool> = (0..8).map(|_| reader.reads_row(back)).collect();
        assert_eq!(
            foreseen,
            [false, false, false, false, false, false, true, true]
        );
    }

    #[test]
    fn another_stride_is_followed_once_this_one_has_stopped_for_two_rows() {
        let reader = Reader::new(10, 7 << 20);
        let access = Access::from(ByteRange::new(0, 4096));
        let other = NewRow::up_to(&access, Grid::of(Direction::Forward, 3 << 20, &access), 3);
        let mut rows = reader.rows;
        rows.begin(5, &other, rows.may_go_on(20));
        assert!(rows.follow(3, &row(0).grid));
        rows.begin(5, &other, rows.may_go_on(21));
        assert!(rows.follow(5, &other.grid));
    }
}
