//! What can be wrong with a trace: where, what, and what to do about it.

use std::fmt;
use std::io;

use crate::files::FullError;

/// Where in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamagePlace {
    /// A line, counted from 1.
    Line(u64),
    /// A byte, counted from 0.
    Byte(u64),
    /// A row of a table, counted from 0.
    Row(u64),
    /// The trace as a whole.
    Whole,
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The system could not read or write.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Not a record of this format. The text says what was expected and what to do.
    #[error("{0}")]
    Malformed(String),
    /// The trace stops inside a record.
    #[error("{0}; what comes before is good")]
    Truncated(String),
    /// A limit that keeps a damaged trace from filling the memory.
    #[error("{0}")]
    TooMuch(String),
    /// The format is not known, or cannot do this.
    #[error("{0}")]
    Unsupported(String),
}

/// A trace that cannot be read further, or cannot be written. What was read before stands.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct TraceError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    trace: String,
    place: DamagePlace,
    problem: Problem,
}

impl TraceError {
    /// An error at a place of `trace`, which is a file's name or what stands for it.
    #[must_use]
    pub fn new(trace: &str, place: DamagePlace, problem: Problem) -> Self {
        Self(Box::new(Inner {
            trace: trace.to_owned(),
            place,
            problem,
        }))
    }

    /// Where it is.
    #[must_use]
    pub fn place(&self) -> DamagePlace {
        self.0.place
    }

    /// What it is.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.0.problem
    }
}

impl fmt::Display for Inner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "'{}'", self.trace)?;
        match self.place {
            DamagePlace::Line(line) => write!(out, " line {line}")?,
            DamagePlace::Byte(byte) => write!(out, " byte {byte}")?,
            DamagePlace::Row(row) => write!(out, " row {row}")?,
            DamagePlace::Whole => {}
        }
        write!(out, ": {}", self.problem)
    }
}

impl std::error::Error for Inner {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<FullError> for Problem {
    fn from(error: FullError) -> Self {
        Self::TooMuch(format!(
            "{error}; if the trace is sound, name its format with --from"
        ))
    }
}
