//! A run in a guest that has no figures, and why.

use std::fmt;

use serde::Serialize;

/// Why a run did not come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unfinished {
    /// The memory was full, and the kernel ended one of its programs.
    OutOfMemory,
    /// The guest was ended.
    TookTooLong {
        /// The run's limit on the host's clock.
        seconds: u64,
    },
}

impl Unfinished {
    /// For a cell of a table.
    pub const fn in_short(self) -> &'static str {
        match self {
            Self::OutOfMemory => "out of memory",
            Self::TookTooLong { .. } => "no end",
        }
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfMemory => f.write_str("out of memory, the kernel ended a program"),
            Self::TookTooLong { seconds } => write!(f, "did not end within {seconds} s"),
        }
    }
}
