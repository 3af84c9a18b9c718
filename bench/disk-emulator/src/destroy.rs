//! Destroying a disk on request. The taking apart itself is in `layers`.

use std::path::PathBuf;

use crate::info::StateError;
use crate::layers;
use crate::state::State;

/// Why a disk could not be destroyed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DestroyError {
    /// No such disk, or no access to its state.
    #[error(transparent)]
    State(#[from] StateError),
    /// Files on it are open, or something works in it.
    #[error(
        "disk {name:?} is in use: close what is open below {} (`fuser -vm` shows it), then try again",
        mount_dir.display()
    )]
    InUse {
        /// Name of the disk.
        name: String,
        /// Where it is mounted.
        mount_dir: PathBuf,
    },
    /// Something of it could not be removed.
    #[error("disk {name:?} is destroyed, but for {leftover}; `list` tries again")]
    Incomplete {
        /// Name of the disk.
        name: String,
        /// What is left.
        leftover: String,
    },
}

/// Destroys disk `name` with everything on it.
///
/// A disk whose server has died is taken apart even while files are open on it, because nothing
/// can be read from them any more.
///
/// # Errors
/// [`DestroyError`]. The disk is as it was, except after [`DestroyError::Incomplete`].
pub fn destroy(name: &str) -> Result<(), DestroyError> {
    let state = State::lock()?;
    let record = state.record(name)?;
    if record.is_served() {
        layers::unmount(&record).map_err(|layers::InUse| DestroyError::InUse {
            name: record.name.clone(),
            mount_dir: record.mount_dir.clone(),
        })?;
    }
    layers::remove(&record).map_err(|leftover| DestroyError::Incomplete {
        name: record.name.clone(),
        leftover: leftover.to_string(),
    })
}
