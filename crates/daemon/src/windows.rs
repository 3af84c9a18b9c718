//! The windows that files take over as they are opened: of block devices, and of file systems that have one of their own, as btrfs has.
//!
//! All of the daemon that reads or sets such a window finds it here, so that one and the same is looked at, held and put back.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use ahead_device::machine::MachineTree;
use ahead_device::undo::NotedProcess;
use ahead_device::{superblock, window};
use ahead_sys::block_queue::DeviceNumber;
use ahead_units::Timestamp;
use lru::LruCache;

use crate::machine_facts::now;

/// Superblocks whose window was found. To find one all mounts are read, which may be thousands.
const FOUND_MAX: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

/// One that has none is looked for again after so long.
const NONE_FOR_NS: u64 = 10_000_000_000;

/// What has the window of a superblock's files.
#[derive(Clone, Debug)]
struct FoundWindow {
    /// As a [target](ahead_device::target).
    target: String,
    /// The file that says it.
    file: PathBuf,
}

/// Where the windows are.
#[derive(Debug)]
pub(crate) struct DeviceWindows {
    machine: MachineTree,
    /// By the number of the superblock; of which none was found, when that was.
    found: RefCell<LruCache<u64, Result<FoundWindow, Timestamp>>>,
}

impl DeviceWindows {
    pub(crate) fn new(machine: &MachineTree) -> Self {
        Self {
            machine: machine.clone(),
            found: RefCell::new(LruCache::new(FOUND_MAX)),
        }
    }

    /// The window of files of the superblock `device`, in KiB; `None` where they have none, or where it is not known here.
    pub(crate) fn kib(&self, device: u64) -> Option<u64> {
        Some(self.find(device)?.1)
    }

    /// What has that window, as a [target](ahead_device::target).
    pub(crate) fn target(&self, device: u64) -> Option<String> {
        Some(self.find(device)?.0.target)
    }

    /// Whether another process than `me` that lives has set that window for a while. What one that was killed has left is put back.
    pub(crate) fn is_held_by_another(&self, device: u64, me: NotedProcess) -> bool {
        let holder = (self.target(device))
            .and_then(|target| window::holder(&self.machine, &target).ok().flatten());
        holder.is_some_and(|holder| holder != me)
    }

    fn find(&self, device: u64) -> Option<(FoundWindow, u64)> {
        let known = self.found.borrow_mut().get(&device).cloned();
        match known {
            Some(Err(since)) if now().since(since) < NONE_FOR_NS => return None,
            Some(Ok(found)) if self.is_still_of(device, &found) => {
                if let Some(kib) = self.read(&found) {
                    return Some((found, kib));
                }
            }
            _ => {}
        }
        // A bdi that is gone may have made way for another.
        let target = superblock::window_target(&self.machine, DeviceNumber::from_dev(device));
        let found = target.and_then(|target| {
            let file = window::file_of(&self.machine, &target).ok()?;
            Some(FoundWindow { target, file })
        });
        let kib = found.as_ref().and_then(|found| self.read(found));
        let kept = found.clone().ok_or_else(now);
        self.found.borrow_mut().put(device, kept);
        Some((found?, kib?))
    }

    /// Whether FUSE was not mounted over the block device since, nor unmounted: the device has its number and its window all the while.
    fn is_still_of(&self, device: u64, found: &FoundWindow) -> bool {
        let of_fuse = superblock::bdi_of_fuse(&self.machine, DeviceNumber::from_dev(device));
        of_fuse.is_none_or(|of_fuse| of_fuse == found.target)
    }

    fn read(&self, found: &FoundWindow) -> Option<u64> {
        self.machine.number(&found.file, &mut Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The one that is looked at is the one that is held for a moment.
    #[test]
    fn what_has_a_window_and_what_it_is_are_found_together() {
        let root = tempfile::tempdir().unwrap();
        let below = |path: &str| root.path().join(path);
        let (disk, bdi) = (
            below("sys/class/block/sdb"),
            below("sys/class/bdi/8:16-fuseblk"),
        );
        for folder in [&disk.join("queue"), &below("sys/dev/block"), &below("proc")] {
            fs::create_dir_all(folder).unwrap();
        }
        std::os::unix::fs::symlink(&disk, below("sys/dev/block/8:16")).unwrap();
        fs::write(disk.join("dev"), "8:16\n").unwrap();
        fs::write(disk.join("queue/read_ahead_kb"), "128\n").unwrap();
        let windows = DeviceWindows::new(&MachineTree::at(root.path()));
        let device = rustix::fs::makedev(8, 16);
        assert_eq!(windows.target(device).as_deref(), Some("8:16"));
        assert_eq!(windows.kib(device), Some(128));
        assert_eq!(windows.target(rustix::fs::makedev(8, 32)), None);
        // Another file system is mounted from the device, with a bdi of its own: that of the device was taken for it, and stays.
        fs::create_dir_all(&bdi).unwrap();
        fs::write(bdi.join("read_ahead_kb"), "64\n").unwrap();
        assert_eq!(windows.kib(device), Some(64));
        assert_eq!(windows.target(device).as_deref(), Some("8:16-fuseblk"));
        fs::remove_dir_all(&bdi).unwrap();
        assert_eq!(windows.target(device).as_deref(), Some("8:16"));
        assert_eq!(windows.kib(device), Some(128));
    }
}
