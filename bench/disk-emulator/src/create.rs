//! Making a disk: server process, loop device, file system, mount, in this order.
//!
//! Each step is in the journal before it is taken. A step that fails takes everything apart
//! again; a process that is killed leaves that to the next one (see `layers`).
//!
//! [`options`] says what to make, [`checks`] finds what is wrong before anything is changed, [`steps`] does the work,
//! [`server_process`] holds the server until it can stand alone.

mod checks;
mod options;
mod server_process;
mod steps;

use std::fs;
use std::path::Path;

use crate::info::{DiskInfo, STATE_ROOT};
use crate::layers;
use crate::record::{Phase, Record};
use crate::state::State;
pub use options::{CreateError, CreateOptions};

/// Makes a disk and mounts it.
///
/// # Errors
/// [`CreateError`]; nothing is left of the disk then.
pub fn create(options: &CreateOptions) -> Result<DiskInfo, CreateError> {
    let size_bytes = checks::check(options)?;
    let state = State::lock()?;
    let left = layers::clean_up_broken(&state);
    if fs::symlink_metadata(Path::new(STATE_ROOT).join(&options.name)).is_ok() {
        let name = options.name.clone();
        return Err(match left.into_iter().find(|(left, _)| *left == name) {
            Some((_, leftover)) => CreateError::Leftover {
                name,
                leftover: leftover.to_string(),
            },
            None => CreateError::NameInUse(name),
        });
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
