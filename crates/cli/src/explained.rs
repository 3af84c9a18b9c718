//! `--explain`: what was decided, a line each, below process and file.

use std::fmt;

/// What decisions are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The file with this number.
    File(usize),
    /// A file whose name is not known.
    Unnamed,
    /// Files that a program will come to.
    Trees,
}

/// A process, and what decisions are about.
pub type Whose = (u32, Subject);

/// Names process and file where they are others than in the line before.
#[derive(Debug, Default)]
pub struct Headings {
    last: Option<Whose>,
}

impl Headings {
    /// The heading of a line about `whose` file, if it needs one; `path` is its name.
    pub fn before(&mut self, whose: Whose, path: &str) -> String {
        if self.last.replace(whose) == Some(whose) {
            return String::new();
        }
        format!("ahead: [{}] {path}\n", whose.0)
    }
}

/// One line: what happened, so long after the first.
#[must_use]
pub fn line(since_first_ns: u64, what: fmt::Arguments<'_>) -> String {
    let seconds = since_first_ns / 1_000_000_000;
    let micros = since_first_ns / 1_000 % 1_000_000;
    format!("  +{seconds}.{micros:06} {what}\n")
}
