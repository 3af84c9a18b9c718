//! The one look of all tables: a rule under the titles, no frame, numbers to the right.
//!
//! A table is as wide as what is in it, and where that is too wide, text is broken between words: at
//! the width of the terminal, or at [`COLUMNS_MAX`] in a file or a pipe. Numbers are never broken, so a
//! table of many numbers has few words, and titles of two lines.

use std::ops::Range;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Width, presets};

pub use comfy_table::Table;

/// What a page of a document or a window beside another one shows without breaking lines.
pub const COLUMNS_MAX: u16 = 100;

/// A narrower terminal breaks the lines of a table itself: squeezed further, names would stand one character below
/// the other. Some consoles know no width at all.
const COLUMNS_MIN: u16 = 80;

/// An empty table with `titles`; the columns numbered in `numeric` are aligned to the right.
#[must_use]
pub fn with_titles(titles: &[&str], numeric: Range<usize>) -> Table {
    let mut table = as_wide_as_it_is(titles, numeric.clone());
    for (number, title) in titles.iter().enumerate() {
        if let Some(column) = table.column_mut(number) {
            column.set_constraint(if numeric.contains(&number) {
                ColumnConstraint::ContentWidth
            } else {
                no_narrower_than(title)
            });
        }
    }
    table.set_content_arrangement(ContentArrangement::Dynamic);
    if !table.is_tty() {
        table.set_width(COLUMNS_MAX);
    } else if table.width().is_none_or(|columns| columns < COLUMNS_MIN) {
        table.set_width(COLUMNS_MIN);
    }
    table
}

/// Columns of the terminal, as tables take it; `None` in a file or a pipe.
#[must_use]
pub fn terminal_columns() -> Option<u16> {
    let table = Table::new();
    let columns = table.width().unwrap_or(COLUMNS_MIN).max(COLUMNS_MIN);
    table.is_tty().then_some(columns)
}

/// A column of words whose title stays whole.
fn no_narrower_than(title: &str) -> ColumnConstraint {
    let words = title.split_whitespace().map(|word| word.chars().count());
    let longest = u16::try_from(words.max().unwrap_or(0)).unwrap_or(COLUMNS_MIN);
    // One character of padding on either side.
    ColumnConstraint::LowerBoundary(Width::Fixed(longest.saturating_add(2)))
}

/// As [`with_titles`], as wide as a page of a document whatever the terminal is; the last column has short
/// words of up to `word` characters, which are not broken.
#[must_use]
pub fn document(titles: &[&str], word: u16) -> Table {
    let mut table = as_wide_as_it_is(titles, 0..0);
    if let Some(column) = table.column_mut(titles.len().saturating_sub(1)) {
        // One character of padding on either side.
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(word + 2)));
    }
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.force_no_tty();
    table.set_width(COLUMNS_MAX);
    table
}

/// As [`with_titles`], without a limit: for text that other programs compare line by line.
#[must_use]
pub fn as_wide_as_it_is(titles: &[&str], numeric: Range<usize>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
    table.set_header(titles.iter().copied());
    align(&mut table, numeric);
    table
}

/// As a table of a Markdown document, which is as wide as it is.
#[must_use]
pub fn markdown(titles: &[&str], numeric: Range<usize>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(titles.iter().copied());
    align(&mut table, numeric);
    table
}

fn align(table: &mut Table, numeric: Range<usize>) {
    for column in numeric {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of `compare` on a terminal of 80 columns names stood one character below the other.
    #[test]
    fn names_beside_many_numbers_are_no_narrower_than_their_title() {
        let titles = ["workload", "a", "b", "c", "d", "e", "f"];
        let mut table = with_titles(&titles, 1..7);
        table.set_width(COLUMNS_MIN);
        let numbers = ["1 234 567.891"; 6];
        table.add_row(std::iter::once("odd reads of a file").chain(numbers));
        let text = table.to_string();
        for word in ["workload", "odd", "reads"] {
            assert!(text.contains(word), "{text}");
        }
    }

    #[test]
    fn a_table_in_a_pipe_is_no_wider_than_a_page_and_breaks_no_number() {
        let mut table = with_titles(&["name", "meaning", "time"], 2..3);
        table.set_width(COLUMNS_MAX);
        table.add_row(["adaptive", &"word ".repeat(60), "416.625 ms"]);
        let text = table.to_string();
        let widths = text.lines().map(|line| line.chars().count());
        assert!(widths.max() <= Some(100), "{text}");
        assert_eq!(text.matches("word").count(), 60);
        assert!(text.contains(" 416.625 ms "), "{text}");
    }
}
