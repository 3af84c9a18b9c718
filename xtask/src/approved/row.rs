//! A row of approved numbers: a name, which may hold commas, and two columns behind it.

use std::io;

/// The rows of a file with titles above them: name, last column but one, last column.
pub(super) fn rows(text: &str) -> io::Result<Vec<(&str, &str, &str)>> {
    let lines = text.lines().skip(1);
    lines
        .map(|line| row(line).ok_or_else(|| broken(line)))
        .collect()
}

fn row(line: &str) -> Option<(&str, &str, &str)> {
    let (rest, last) = line.rsplit_once(',')?;
    let (name, first) = rest.rsplit_once(',')?;
    Some((name, first, last))
}

/// What is said of a row that is none.
pub(super) fn broken(line: &str) -> io::Error {
    io::Error::other(format!("this is no row of approved numbers: {line}"))
}
