//! Rows that are alike, that differ, and that lie side by side.

use super::*;
use crate::adaptive::direction::Direction;
use ahead_units::ByteRange;

const STEP: u64 = 1 << 20;

fn row(come: u16) -> NewRow {
    let access = Access::from(ByteRange::new(0, 4096));
    let grid = Grid::of(Direction::Forward, STEP, &access);
    NewRow::up_to(&access, grid, come)
}

fn grid() -> Grid {
    row(0).grid
}

/// Memory has space for so many pages of a request.
const SPACE: u64 = 1 << 20;

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
        if self.rows.over(&grid()).is_some() {
            self.rows.go_on(&grid());
        }
    }

    /// The reader comes to the next row, whose gap is `gap`, and reads it. Whether it was foreseen.
    fn reads_row(&mut self, gap: i64) -> bool {
        let was_next_known = self.rows.come == 0;
        let off = if was_next_known { gap - self.gap } else { gap };
        if !was_next_known || off != 0 {
            self.rows.end(&grid(), off, 0);
            self.begins_row();
            return false;
        }
        (0..self.elements).for_each(|_| self.rows.on_element());
        if self.rows.over(&grid()).is_some() {
            self.rows.go_on(&grid());
        }
        true
    }
}

#[test]
fn two_rows_that_are_alike_say_where_the_third_ends_and_two_gaps_where_the_next_begins() {
    let mut reader = Reader::new(10, 7 << 20);
    assert_eq!(
        reader.rows.part(4, &grid(), SPACE, 0),
        Some(RowPart::ENDLESS)
    );
    let foreseen: Vec<bool> = (0..5).map(|_| reader.reads_row(7 << 20)).collect();
    assert_eq!(foreseen, [false, false, true, true, true]);
    let part = |elements, gap| {
        Some(RowPart {
            elements,
            gap,
            ..RowPart::ENDLESS
        })
    };
    assert_eq!(reader.rows.part(4, &grid(), SPACE, 0), part(6, 0));
    assert_eq!(reader.rows.part(10, &grid(), SPACE, 0), part(10, 7 << 20));
    assert_eq!(reader.rows.part(19, &grid(), SPACE, 0), part(1, 7 << 20));
    assert_eq!(
        reader.rows.part(20, &grid(), SPACE, 0),
        None,
        "two rows ahead"
    );
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
        assert_eq!(
            reader.rows.part(0, &grid(), SPACE, 0),
            Some(RowPart::ENDLESS),
            "{elements}"
        );
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
    assert_eq!(rows.part(0, &grid(), SPACE, 0), Some(RowPart::ENDLESS));
}

/// Ten evenly spaced streams, read in turn, a page of two each.
#[test]
fn a_round_over_streams_is_a_row_only_after_six() {
    let back = 8192 - (10 << 20);
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
    assert!(rows.follow(3, &grid()));
    rows.begin(5, &other, rows.may_go_on(21));
    assert!(rows.follow(5, &other.grid));
}

/// A reader of columns that are ten pages tall, a page wide each, of which `of_band` lie side by side.
struct ColumnReader {
    reader: Reader,
    /// Elements of the row that is read that were asked for before it began.
    asked: u64,
    /// The same of the first column behind those that were asked for with it.
    ahead: u64,
}

impl ColumnReader {
    fn new() -> Self {
        Self {
            reader: Reader::new(10, 4096 - (10 << 20)),
            asked: 0,
            ahead: 0,
        }
    }

    fn asks(&mut self, space: u64) -> Option<Begins> {
        let rows = &mut self.reader.rows;
        let part = rows.part(self.ahead, &grid(), space, 0)?;
        rows.on_asked(part.begins);
        (part.begins != Begins::Nothing).then_some(part.begins)
    }

    /// Reads the column that begins `gap` bytes behind the last one. With how many columns elements were asked for meanwhile.
    fn reads_column(&mut self, gap: i64, space: u64) -> Vec<Begins> {
        let rows = &mut self.reader.rows;
        let was_next_known = rows.come == 0;
        let expected = rows.passed_gap(&grid());
        let mut begun = Vec::new();
        if was_next_known && gap == expected {
            if self.asked == 0 {
                begun.extend(self.asks(space));
            }
            (0..10).for_each(|_| self.reader.rows.on_element());
        } else {
            let passed = if was_next_known { expected } else { 0 };
            rows.end(&grid(), gap - passed, 0);
            rows.begin(3, &row(ELEMENTS_SEEN), false);
            (ELEMENTS_SEEN..10).for_each(|_| rows.on_element());
        }
        let next = self.asks(space);
        begun.extend(next);
        if next.is_some() {
            self.ahead = 10;
        }
        let rows = &mut self.reader.rows;
        if rows.over(&grid()).is_some() {
            let is_covered = rows.go_on(&grid()).is_some();
            self.asked = if is_covered {
                10
            } else {
                core::mem::take(&mut self.ahead)
            };
        }
        begun
    }
}

/// With how many columns elements were asked for while `bands` of `of_band` columns were read.
fn columns_asked_for(of_band: u32, bands: u32, space: u64) -> Vec<Begins> {
    let to_band = -4096 * i64::from(of_band - 1);
    let mut reader = ColumnReader::new();
    (1..of_band * bands)
        .flat_map(|column| {
            let is_first = column % of_band == 0;
            let gap = if is_first { to_band } else { reader.reader.gap };
            reader.reads_column(gap, space)
        })
        .collect()
}

#[test]
fn columns_are_asked_for_twice_as_many_at_a_time_and_then_by_bands() {
    let asked = columns_asked_for(8, 5, SPACE);
    // One of the four lies beyond the band, whose end is not known yet; of the second one the first column was read alone.
    let expected = [2, 4, 7, 8, 8, 8, 8].map(Begins::Next);
    assert_eq!(asked, expected);
}

#[test]
fn no_more_columns_are_asked_for_than_memory_has_space_for() {
    let asked = columns_asked_for(8, 4, 35);
    let most = |begins: &Begins| match begins {
        Begins::Nothing => 0,
        Begins::This(columns) | Begins::Next(columns) => *columns,
    };
    assert_eq!(asked.iter().map(most).max(), Some(3));
}
