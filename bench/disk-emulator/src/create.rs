//! Making a disk: server process, loop device, file system, mount, in this order.
//!
//! Each step is in the journal before it is taken. A step that fails takes everything apart
//! again; a process that is killed leaves that to the next one (see `layers`).
//!
//! [`checks`] finds what is wrong before anything is changed, [`steps`] does the work,
//! [`server_process`] holds the server until it can stand alone.

mod checks;
mod server_process;
mod steps;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ahead_disk_model::{DiskModel, ModelError, ServiceOrder, TimeScale};
use serde::{Deserialize, Serialize};

use crate::layers;
use crate::record::{Phase, Record};
use crate::state::{self, DiskInfo, State, StateError};
use checks::SIZE_BYTES_MIN;

/// What to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateOptions {
    /// Name of the disk: 1 to 64 letters, digits, dots, dashes and underscores.
    pub name: String,
    /// How it takes its time.
    pub model: DiskModel,
    /// Order of service, if not that of the model.
    pub order: Option<ServiceOrder>,
    /// How much faster than real.
    pub time_scale: TimeScale,
    /// Size of the block device. Memory is taken as the disk is written, not before.
    pub size_bytes: u64,
    /// Where to mount it: an empty folder, or one that does not exist and is then made.
    pub mount_dir: PathBuf,
    /// Program that calls [`serve`](crate::serve) when started with
    /// [`SERVER_ARGUMENT`](crate::SERVER_ARGUMENT).
    pub server_exe: PathBuf,
}

/// Why a disk could not be made. Nothing is left of it then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The state folder cannot be used, the name is wrong, or the caller is not root.
    #[error(transparent)]
    State(#[from] StateError),
    /// The model makes no sense.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// There is a disk of this name.
    #[error("there is a disk called {0:?} already: destroy it first, or use another name")]
    NameInUse(String),
    /// Less than ext4 needs.
    #[error("a disk of {size_bytes} bytes is too small: use at least {SIZE_BYTES_MIN}")]
    TooSmall {
        /// Size asked for.
        size_bytes: u64,
    },
    /// More than the memory that is free.
    #[error(
        "a disk of {size_bytes} bytes does not fit: it is kept in memory, and at most {} bytes can \
         be spared",
        size_bytes_max
    )]
    TooLarge {
        /// Size asked for.
        size_bytes: u64,
        /// Largest size that would do.
        size_bytes_max: u64,
    },
    /// Something that has to be on the machine is not.
    #[error("{what} is missing: {remedy}")]
    Missing {
        /// What.
        what: &'static str,
        /// How to get it.
        remedy: &'static str,
    },
    /// The mount point cannot be used.
    #[error("cannot mount at {}: {reason}", path.display())]
    MountPoint {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The server did not come up.
    #[error("the disk server ({}) did not start: {reason}", exe.display())]
    Server {
        /// Program that was started.
        exe: PathBuf,
        /// What it wrote, or what went wrong.
        reason: String,
    },
    /// A step of putting the layers on top of each other failed.
    #[error("cannot {step}: {source}")]
    Step {
        /// What was attempted.
        step: String,
        /// What went wrong.
        source: io::Error,
    },
}

/// Makes a disk and mounts it.
///
/// # Errors
/// [`CreateError`]; nothing is left of the disk then.
pub fn create(options: &CreateOptions) -> Result<DiskInfo, CreateError> {
    let size_bytes = checks::check(options)?;
    let state = State::lock()?;
    layers::clean_up_broken(&state);
    if fs::symlink_metadata(Path::new(state::STATE_ROOT).join(&options.name)).is_ok() {
        return Err(CreateError::NameInUse(options.name.clone()));
    }
    let (mount_dir, made_dirs) = checks::mount_point(&options.mount_dir)?;
    let mut record = Record {
        name: options.name.clone(),
        phase: Phase::Creating,
        model: match options.order {
            Some(order) => options.model.clone().with_order(order),
            None => options.model.clone(),
        },
        time_scale: options.time_scale,
        size_bytes,
        mount_dir,
        made_dirs,
        server: None,
        loop_device: None,
    };
    let made = steps::build(&mut record, &options.server_exe);
    if made.is_err() {
        // What failed is the news; what is left of it, if anything, is for the next `list`.
        let _ = layers::remove(&record);
    }
    made
}
