//! What disk to make, and why it could not be made.

use std::io;
use std::path::PathBuf;

use ahead_disk_model::{DiskModel, ModelError, ServiceOrder, TimeScale};
use serde::{Deserialize, Serialize};

use crate::info::StateError;

/// ext4 needs some space for itself; below this there is little left for files.
pub(super) const SIZE_BYTES_MIN: u64 = 16 << 20;

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
    /// There was a disk of this name, it is broken, and something of it could not be removed.
    #[error(
        "what is left of a broken disk called {name:?} cannot be removed: {leftover}; free it, or use \
         another name"
    )]
    Leftover {
        /// Name of the disk.
        name: String,
        /// What is left.
        leftover: String,
    },
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
