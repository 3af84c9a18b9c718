//! The one look of all tables: a rule under the titles, no frame, numbers to the right.

use comfy_table::{CellAlignment, LineStyle, Table, presets};

/// An empty table with `titles`; the columns numbered in `numeric` are aligned to the right.
pub(crate) fn with_titles(titles: &[&str], numeric: std::ops::Range<usize>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
    table.set_header(titles.iter().copied());
    for column in numeric {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
