//! The table as CSV after RFC 4180, with line ends of this system.

use csv::{Terminator, WriterBuilder};

use super::columns::{COLUMNS, Value, rows};
use crate::results::CellGroup;

/// The runs as CSV: a line of names, then a line for each. What is not known is empty.
#[must_use]
pub fn csv(groups: &[CellGroup<'_>]) -> String {
    let mut writer = WriterBuilder::new()
        .terminator(Terminator::Any(b'\n'))
        .from_writer(Vec::new());
    let names = COLUMNS.iter().map(|(name, _)| (*name).to_owned());
    let mut lines: Vec<Vec<String>> = vec![names.collect()];
    for (run, standing) in rows(groups) {
        let cell = |value: Value| match value {
            Value::Text(text) => text,
            Value::Number(number) => number.map(|number| number.to_string()).unwrap_or_default(),
        };
        let cells = COLUMNS.iter().map(|(_, value)| cell(value(run, &standing)));
        lines.push(cells.collect());
    }
    // Writing lines of equal length into memory has nothing to fail at.
    let written = lines.iter().try_for_each(|line| writer.write_record(line));
    let bytes = written.ok().and_then(|()| writer.into_inner().ok());
    String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default()
}
