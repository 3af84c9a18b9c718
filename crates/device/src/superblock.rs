//! Which bdi a mounted file system has: that of the block device below, or its own.
//!
//! | file system | name of its bdi | devices below |
//! | --- | --- | --- |
//! | ext4, xfs, … | that of the block device | the block device |
//! | btrfs | `btrfs-N`, by the link in `/sys/fs/btrfs/UUID` | `/sys/fs/btrfs/UUID/devices` |
//! | NFS, FUSE | `0:MINOR` | none |
//! | FUSE over a block device | `MAJOR:MINOR-fuseblk` | the block device |
//! | SMB, 9p, Ceph, bcachefs, ZFS and others | its kind and a number (`zfs-1`); known only while there is one of the kind | none, or the block device |
//! | overlay | none: files are read by the file systems of its folders | those |

use std::fs;
use std::path::{Path, PathBuf};

use ahead_sys::block_queue::DeviceNumber;
use ahead_sys::mounts::{self, Mount};

use crate::block;
use crate::machine::{MachineTree, Unread};

/// What a mounted file system reads through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backing {
    /// Name of the bdi of its own, below `/sys/class/bdi`.
    pub own_bdi: Option<String>,
    /// Folders of the block devices below it.
    pub devices: Vec<PathBuf>,
    /// Folders of other file systems that it reads from.
    pub folders: Vec<PathBuf>,
}

/// File systems whose bdi is always called after them, with a number that is nowhere else.
const NUMBERED: [&str; 5] = ["cifs", "smb3", "9p", "ceph", "bcachefs"];

/// FUSE over a block device has that device's number, and a bdi of its own.
const FUSE_ON_DEVICE: &str = "fuseblk";

/// What `mount` reads through.
#[must_use]
pub fn backing(machine: &MachineTree, mount: &Mount, unread: &mut Vec<Unread>) -> Backing {
    if mount.file_system == "overlay" {
        let folders = overlay_folders(&mount.options);
        return Backing {
            folders,
            ..Backing::default()
        };
    }
    if mount.file_system == "btrfs" {
        return btrfs(machine, mount, unread);
    }
    let number = mount.device;
    let device = block::folder_of(machine, &number.to_string());
    let kind = mount.file_system.as_str();
    let mut numbered = || only_one(machine, &format!("{kind}-"), unread);
    let own = if kind == FUSE_ON_DEVICE {
        bdi_of_fuse(machine, number)
    } else if NUMBERED.contains(&kind) {
        numbered()
    } else if number.major == 0 {
        Some(number.to_string())
            .filter(|name| bdi_folder(machine, name).is_dir())
            .or_else(numbered)
    } else {
        None
    };
    Backing {
        own_bdi: own.filter(|name| bdi_folder(machine, name).is_dir()),
        devices: device.into_iter().collect(),
        folders: Vec::new(),
    }
}

/// What has the window that files of the superblock `number` take over, as a [target](crate::target): the bdi that the file system has of
/// its own, or the block device. `None`: a file system without a block device that is not among the mounts of this process, or whose
/// bdi is not known.
#[must_use]
pub fn window_target(machine: &MachineTree, number: DeviceNumber) -> Option<String> {
    // Also where it is mounted for others only.
    if let Some(of_fuse) = bdi_of_fuse(machine, number) {
        return Some(of_fuse);
    }
    let mounts = mounts::mounts(&machine.proc()).unwrap_or_default();
    let mount = mounts.iter().find(|mount| mount.device == number);
    let own = mount.and_then(|mount| backing(machine, mount, &mut Vec::new()).own_bdi);
    let is_of_device =
        number.major != 0 && mount.is_none_or(|mount| mount.file_system != FUSE_ON_DEVICE);
    own.or_else(|| is_of_device.then(|| number.to_string()))
}

/// The bdi of FUSE over the block device `number`, where that is mounted.
#[must_use]
pub fn bdi_of_fuse(machine: &MachineTree, number: DeviceNumber) -> Option<String> {
    let name = format!("{number}-{FUSE_ON_DEVICE}");
    let is_there = number.major != 0 && bdi_folder(machine, &name).is_dir();
    is_there.then_some(name)
}

/// The folder of a bdi.
#[must_use]
pub fn bdi_folder(machine: &MachineTree, name: &str) -> PathBuf {
    machine.sys().join("class/bdi").join(name)
}

/// The file that holds the window of a bdi.
#[must_use]
pub fn window_file(machine: &MachineTree, bdi: &str) -> PathBuf {
    bdi_folder(machine, bdi).join("read_ahead_kb")
}

/// The UUID of the btrfs that has this bdi, by which `/sys/fs/btrfs` knows it.
#[must_use]
pub fn btrfs_uuid(machine: &MachineTree, bdi: &str) -> Option<String> {
    let all = machine.sys().join("fs/btrfs");
    let has = |uuid: &String| {
        let link = fs::read_link(all.join(uuid).join("bdi")).ok();
        link.is_some_and(|link| link.file_name().is_some_and(|name| name == bdi))
    };
    machine.names(&all).into_iter().find(has)
}

/// A number among the options of a superblock, such as `rsize`.
#[must_use]
pub fn option(options: &str, name: &str) -> Option<u64> {
    let values = options.split(',').filter_map(|one| one.split_once('='));
    let mut of_name = values.filter(|(key, _)| *key == name);
    of_name.next()?.1.parse().ok()
}

fn only_one(machine: &MachineTree, start: &str, unread: &mut Vec<Unread>) -> Option<String> {
    let folder = machine.sys().join("class/bdi");
    let mut names = machine.names(&folder);
    names.retain(|name| name.starts_with(start));
    if names.len() > 1 {
        let why = format!(
            "{} of them: which belongs to a mount is not said",
            names.len()
        );
        machine.note(&folder.join(format!("{start}*")), why, unread);
        return None;
    }
    names.pop()
}

/// The folders that an overlay with these options reads from, the uppermost first; without those that are said by no full path.
#[must_use]
pub fn overlay_folders(options: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for (name, value) in options.split(',').filter_map(|one| one.split_once('=')) {
        match name {
            "upperdir" => folders.insert(0, PathBuf::from(value)),
            "lowerdir" => folders.extend(value.split(':').map(PathBuf::from)),
            _ => {}
        }
    }
    folders.retain(|folder| folder.is_absolute());
    folders
}

/// Its device number is made up, but the source of the mount is one of the devices.
fn btrfs(machine: &MachineTree, mount: &Mount, unread: &mut Vec<Unread>) -> Backing {
    let named = block::node(machine, &mount.source);
    let name = named.as_deref().and_then(Path::file_name);
    let all = machine.sys().join("fs/btrfs");
    let uuids = machine.names(&all);
    let found = uuids.iter().find(|uuid| {
        let devices = machine.names(&all.join(uuid).join("devices"));
        devices.iter().any(|one| Some(one.as_ref()) == name)
    });
    let Some(uuid) = found else {
        let own_bdi = only_one(machine, "btrfs-", unread);
        let devices = named.into_iter().collect();
        return Backing {
            own_bdi,
            devices,
            folders: Vec::new(),
        };
    };
    let link = fs::read_link(all.join(uuid).join("bdi")).ok();
    let own_bdi = link
        .and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned()))
        .or_else(|| only_one(machine, "btrfs-", unread));
    let names = machine.names(&all.join(uuid).join("devices"));
    let devices = names
        .iter()
        .filter_map(|name| block::folder_of(machine, name));
    Backing {
        own_bdi,
        devices: devices.collect(),
        folders: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folders_of_an_overlay_are_read_from_the_top() {
        let options = "rw,lowerdir=/a:/b,upperdir=/c/upper,workdir=/c/work,lowerdir=l/X";
        let folders = overlay_folders(options);
        assert_eq!(folders, ["/c/upper", "/a", "/b"].map(PathBuf::from));
    }

    #[test]
    fn an_option_is_a_number_or_nothing() {
        let options = "rw,rsize=1048576,wsize=x,hard";
        assert_eq!(option(options, "rsize"), Some(1 << 20));
        assert_eq!(option(options, "wsize"), None);
        assert_eq!(option(options, "hard"), None);
    }
}
