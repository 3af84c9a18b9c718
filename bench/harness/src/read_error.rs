//! Why a reader could not do its assignment.

use std::io;
use std::path::{Path, PathBuf};

/// A run went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A call failed.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// What was tried, ending in a preposition.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Wrong bytes.
    #[error("{} holds wrong bytes at offset {offset}", path.display())]
    Mismatch {
        /// Which file.
        path: PathBuf,
        /// Position of the first wrong word looked at.
        offset: u64,
    },
    /// A reader that knows the future needs io_uring.
    #[error("cannot read with io_uring, which the ceiling needs: {0}")]
    Ring(io::Error),
    /// Nothing to read, or nothing that can be measured.
    #[error("the pattern had nothing to read")]
    Empty,
    /// One of several processes did not do its part.
    #[error("one of the readers failed: {reason}")]
    Process {
        /// What it said.
        reason: String,
    },
    /// A step that only a simulator can take.
    #[error("the bench's reader cannot {step}; `ahead simulate` can")]
    Step {
        /// What was to be done.
        step: &'static str,
    },
    /// A step that names what is not there.
    #[error("the workload uses {what} {number}, which is not open")]
    Unknown {
        /// A slot, a file or an area.
        what: &'static str,
        /// Its number.
        number: u32,
    },
}

pub(crate) fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ReadError {
    move |source| ReadError::Io {
        what,
        path: path.to_owned(),
        source,
    }
}
