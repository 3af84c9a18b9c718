//! What a text stands for: a file or folder, a mount, a device by name or number, a bdi.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use ahead_sys::block_queue::DeviceNumber;
use ahead_sys::mounts::{self, Mount};

use crate::block;
use crate::machine::MachineTree;
use crate::superblock;

/// What was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A file, folder or mount point, and the mount that it lies in.
    Mounted(Box<Mount>),
    /// A block device, by its folder in sysfs.
    Device(PathBuf),
    /// A bdi that belongs to no block device.
    Bdi(String),
}

/// It stands for nothing.
#[derive(Debug, thiserror::Error)]
pub enum DeviceTargetError {
    /// Nothing of this name.
    #[error(
        "'{0}' is no file, mount, block device or bdi here; `ahead device list` names the devices"
    )]
    Nothing(String),
    /// There is such a file, and it cannot be looked at.
    #[error("cannot look at '{path}': {source}")]
    Denied {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A device of characters, a socket or the like.
    #[error("'{0}' is no block device, file or folder: nothing is read ahead there")]
    NotRead(String),
    /// A regular file, where a window is to be changed.
    #[error(
        "'{path}' is a file, and no file has a window of its own: name '{mount_point}' to change that of its whole \
         file system"
    )]
    File {
        /// Which.
        path: String,
        /// What holds it.
        mount_point: String,
    },
    /// The list of mounts cannot be read.
    #[error("cannot read the mounts (/proc/self/mountinfo): {0}")]
    Mounts(std::io::Error),
}

impl DeviceTargetError {
    /// Whether what was typed is wrong, not what was found.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        !matches!(self, Self::Denied { .. } | Self::Mounts(_))
    }
}

/// Finds what `text` stands for. A path wins over a name.
///
/// # Errors
/// [`DeviceTargetError`].
pub fn find(machine: &MachineTree, text: &str) -> Result<Target, DeviceTargetError> {
    if !text.contains('/') {
        if let Some(folder) = block::folder_of(machine, text) {
            return Ok(Target::Device(folder));
        }
        if is_name(text) && superblock::bdi_folder(machine, text).is_dir() {
            return Ok(Target::Bdi(text.to_owned()));
        }
    }
    let path = Path::new(text);
    match fs::metadata(place_of(machine, path)) {
        Ok(found) if found.file_type().is_block_device() => {
            let number = DeviceNumber::from_dev(found.rdev()).to_string();
            let folder = block::folder_of(machine, &number);
            return folder.map_or_else(|| Err(nothing(text)), |folder| Ok(Target::Device(folder)));
        }
        Ok(found) if !found.is_file() && !found.is_dir() => {
            return Err(DeviceTargetError::NotRead(text.to_owned()));
        }
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            let path = text.to_owned();
            return Err(DeviceTargetError::Denied {
                path,
                source: error,
            });
        }
        found => {
            if found.is_err()
                && let Some(folder) = block::node(machine, path)
            {
                return Ok(Target::Device(folder));
            }
            let mounts = mounts::mounts(&machine.proc()).map_err(DeviceTargetError::Mounts)?;
            let here = if found.is_ok() {
                absolute(machine, path)
            } else {
                path.to_path_buf()
            };
            let is_mount = mounts.iter().any(|mount| mount.mount_point == here);
            if found.is_ok() || is_mount {
                let mount = mount_of(&mounts, &here).ok_or_else(|| nothing(text))?;
                return Ok(Target::Mounted(Box::new(mount.clone())));
            }
        }
    }
    Err(nothing(text))
}

/// Finds what `text` stands for, where its window is to be changed. A file is refused: who names one means this file,
/// and every file beside it would change too. A folder stands for what is mounted there.
///
/// # Errors
/// [`DeviceTargetError`].
pub fn find_to_change(machine: &MachineTree, text: &str) -> Result<Target, DeviceTargetError> {
    let found = find(machine, text)?;
    match file_system_of(machine, &found, text) {
        None => Ok(found),
        Some(mount_point) => Err(DeviceTargetError::File {
            path: text.to_owned(),
            mount_point,
        }),
    }
}

/// What is to be named in order to change the window of `text`: of a file its mount point.
#[must_use]
pub fn name_to_change(machine: &MachineTree, text: &str) -> String {
    let found = find(machine, text).ok();
    let mount_point = found.and_then(|found| file_system_of(machine, &found, text));
    mount_point.unwrap_or_else(|| text.to_owned())
}

/// `text` as it is to be kept: the same in any folder, and for a file system where it is.
#[must_use]
pub fn name_to_keep(machine: &MachineTree, text: &str) -> String {
    let path = Path::new(text);
    let Ok(found) = find(machine, text) else {
        return text.to_owned();
    };
    let whole = match &found {
        Target::Mounted(_) => absolute(machine, path),
        // The last part can be a link of udev, which says more than where it leads.
        Target::Device(_) if path.is_relative() && text.contains('/') => {
            let folder = path.parent().unwrap_or(path);
            absolute(machine, folder).join(path.file_name().unwrap_or_default())
        }
        _ => return text.to_owned(),
    };
    let whole = whole.display().to_string();
    // A path that leads out of the machine's root has no other that means the same.
    let is_same = find(machine, &whole).is_ok_and(|again| again == found);
    if is_same { whole } else { text.to_owned() }
}

/// The mount point of what `text` names, if that is a file in it.
fn file_system_of(machine: &MachineTree, found: &Target, text: &str) -> Option<String> {
    let Target::Mounted(mount) = found else {
        return None;
    };
    let path = Path::new(text);
    let is_file = fs::metadata(place_of(machine, path)).is_ok_and(|found| found.is_file());
    // A file can be mounted over another one, as those of containers are.
    let is_mount_point = mount.mount_point == absolute(machine, path);
    (is_file && !is_mount_point).then(|| mount.mount_point.display().to_string())
}

fn nothing(text: &str) -> DeviceTargetError {
    DeviceTargetError::Nothing(text.to_owned())
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('.')
}

/// Where `path` is to be looked for: below the machine's root, and a relative one from the working folder on.
fn place_of(machine: &MachineTree, path: &Path) -> PathBuf {
    if path.is_absolute() {
        machine.below(path)
    } else {
        path.to_path_buf()
    }
}

fn absolute(machine: &MachineTree, path: &Path) -> PathBuf {
    let path = place_of(machine, path);
    let real = fs::canonicalize(&path).unwrap_or(path);
    PathBuf::from(machine.seen(&real))
}

/// The mount that `path` lies in: the deepest, and of several at one place the last.
#[must_use]
pub fn mount_of<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let around = mounts
        .iter()
        .filter(|mount| path.starts_with(&mount.mount_point));
    around.max_by_key(|mount| mount.mount_point.components().count())
}
