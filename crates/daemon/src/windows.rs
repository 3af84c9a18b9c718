//! The windows that files take over as they are opened: of block devices, and of file systems that have one of their own, as btrfs has.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use ahead_device::machine::MachineTree;
use ahead_device::{superblock, window};
use ahead_sys::block_queue::DeviceNumber;
use ahead_units::Timestamp;
use lru::LruCache;

use crate::machine_facts::now;

/// Superblocks whose window was found. To find one all mounts are read, which may be thousands.
const FOUND_MAX: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

/// One that has none is looked for again after so long.
const NONE_FOR_NS: u64 = 10_000_000_000;

/// Where the windows are.
#[derive(Debug)]
pub(crate) struct DeviceWindows {
    machine: MachineTree,
    /// The file of each, by the number of the superblock; of which none was found, when that was.
    files: RefCell<LruCache<u64, Result<PathBuf, Timestamp>>>,
}

impl DeviceWindows {
    pub(crate) fn new(machine: &MachineTree) -> Self {
        Self {
            machine: machine.clone(),
            files: RefCell::new(LruCache::new(FOUND_MAX)),
        }
    }

    /// The window of files of the superblock `device`, in KiB; `None` where they have none, or where it is not known here.
    pub(crate) fn kib(&self, device: u64) -> Option<u64> {
        let known = self.files.borrow_mut().get(&device).cloned();
        match known {
            Some(Err(since)) if now().since(since) < NONE_FOR_NS => return None,
            Some(Ok(file)) => {
                let kib = self.machine.number(&file, &mut Vec::new());
                if kib.is_some() {
                    return kib;
                }
            }
            _ => {}
        }
        // A bdi that is gone may have made way for another.
        let target = superblock::window_target(&self.machine, DeviceNumber::from_dev(device));
        let file = target.and_then(|target| window::file_of(&self.machine, &target).ok());
        let kib = (file.as_ref()).and_then(|file| self.machine.number(file, &mut Vec::new()));
        self.files.borrow_mut().put(device, file.ok_or_else(now));
        kib
    }
}
