//! The disks that work.

use crate::info::{DiskInfo, StateError};
use crate::layers;
use crate::record::Record;
use crate::state::State;

/// Why the disks could not be listed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// The state folder cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
}

/// The disks that work, by name. Cleans up after those that do not: half made by a process
/// that was killed, or with a server that died.
///
/// # Errors
/// [`ListError`].
pub fn list() -> Result<Vec<DiskInfo>, ListError> {
    let state = State::lock()?;
    let _ = layers::clean_up_broken(&state);
    Ok(state.records().iter().filter_map(Record::info).collect())
}
