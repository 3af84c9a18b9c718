//! Where whole measurements are kept, by what identifies the device: one is measured, and later asked about by
//! its name, by another of its names, or by a file on it.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use ahead_device::block;
use ahead_device::machine::MachineTree;
use ahead_device::target::{self, DeviceTargetError, Target};
use ahead_device::whole_file;
use ahead_sys::block_queue::DeviceNumber;
use ahead_sys::device_identity;

use crate::cache;

/// The file of the device with this identity, which may not be there.
fn file_of(identity: u64) -> io::Result<PathBuf> {
    let folder = cache::folder()?.join("measurements");
    Ok(folder.join(format!("{identity:016x}.json")))
}

/// Keeps a measurement. Our folder in the cache is there already.
///
/// # Errors
/// It cannot be written.
pub(super) fn keep(identity: u64, json: &str) -> io::Result<()> {
    let path = file_of(identity)?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let aside = path.with_extension("new");
    whole_file::replace(&path, &aside, json.as_bytes(), 0o600)
}

/// The measurement that is kept of a device, or of that which a file or folder lies on; `None` without one.
pub(super) fn measurement_of(text: &str) -> Option<PathBuf> {
    let machine = MachineTree::at(Path::new("/"));
    let path = path_of(&machine, text).ok().flatten()?;
    let file = file_of(identity_of(&machine, &path)?).ok()?;
    file.is_file().then_some(file)
}

/// The node of a device that is named as `ahead device list` names it; any other text is a path, which is made whole.
/// `None` for what has no node.
///
/// # Errors
/// It stands for nothing.
pub(super) fn path_of(
    machine: &MachineTree,
    text: &str,
) -> Result<Option<PathBuf>, DeviceTargetError> {
    let path = Path::new(text);
    if text.contains('/') || path.exists() {
        // A file that is called as a device is must not become that device behind this.
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        return Ok(Some(whole));
    }
    Ok(match target::find(machine, text)? {
        Target::Device(folder) => {
            let name = block::read(machine, &folder, &mut Vec::new()).name;
            Some(Path::new("/dev").join(name))
        }
        _ => None,
    })
}

/// What identifies a device, or that which a file lies on.
pub(super) fn identity_of(machine: &MachineTree, path: &Path) -> Option<u64> {
    let facts = fs::metadata(path).ok()?;
    let is_device = facts.file_type().is_block_device();
    let device = if is_device { facts.rdev() } else { facts.dev() };
    let (sys, proc) = (machine.sys(), machine.proc());
    let number = DeviceNumber::from_dev(device);
    let of_superblock = || {
        let kind = rustix::fs::statfs(path).ok()?.f_type;
        device_identity::of_superblock(&proc, device, kind.cast_unsigned())
    };
    let of_block = device_identity::of_block_device(&sys, &proc, number);
    of_block.or_else(|| if is_device { None } else { of_superblock() })
}
