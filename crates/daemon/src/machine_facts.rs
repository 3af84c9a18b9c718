//! What the machine says to the daemon: its clock and its devices.

use std::path::Path;

use ahead_device::machine::MachineTree;
use ahead_device::{block, superblock};
use ahead_engine::device_facts::DeviceFacts;
use ahead_engine::host::Delivered;
use ahead_engine::settings::Settings;
use ahead_sys::block_queue::{BlockStat, DeviceNumber, QueueFacts};
use ahead_sys::mounts::{self, Mount};
use ahead_sys::{device_identity, kernel_release, large_folios};
use ahead_units::{ByteLength, PageCount, Timestamp};

/// Now, on the clock of the facts.
#[must_use]
pub fn now() -> Timestamp {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let ns = now.tv_sec.saturating_mul(1_000_000_000) + now.tv_nsec;
    Timestamp::new(u64::try_from(ns).unwrap_or(0))
}

/// What a device has delivered until now; `None` where it is no block device.
pub(crate) fn delivered(device: u64) -> Option<Delivered> {
    let stat = BlockStat::read(Path::new("/sys"), DeviceNumber::from_dev(device))?;
    let bytes = ByteLength::new(stat.read_bytes);
    Some(Delivered { bytes, at: now() })
}

/// A file system on `device` that this process sees mounted; those of a container it may not see.
fn mounted_on(device: DeviceNumber) -> Option<Mount> {
    let mounts = mounts::mounts(Path::new("/proc")).unwrap_or_default();
    mounts.into_iter().find(|mount| mount.device == device)
}

/// Whether a file system keeps files in large folios.
fn has_large_folios(mount: &Mount) -> bool {
    let since = large_folios::since(&mount.file_system);
    since.is_some_and(|since| kernel_release::is_since(Path::new("/proc"), since))
}

/// Whether one of the disks below a file system that has a device number of its own says that it has an arm.
fn has_arm_below(mount: &Mount) -> Option<bool> {
    let (machine, mut unread) = (MachineTree::at(Path::new("/")), Vec::new());
    let disks = superblock::backing(&machine, mount, &mut unread).devices;
    let says = disks
        .iter()
        .filter_map(|disk| block::read(&machine, disk, &mut unread).limits.rotational);
    says.reduce(|one, other| one || other)
}

/// What sysfs says about a device. `window` is that of an open file there: the number of a superblock's device need not be
/// known to sysfs, as with btrfs, and a call is cut at the window. Then its disks say whether there is an arm.
pub(crate) fn device_facts(
    device: u64,
    window: Option<PageCount>,
    settings: &Settings,
) -> DeviceFacts {
    let (sys, proc) = (Path::new("/sys"), Path::new("/proc"));
    let number = DeviceNumber::from_dev(device);
    let identity = device_identity::of_block_device(sys, proc, number);
    let queue = QueueFacts::read(sys, number);
    let mount = mounted_on(number);
    let mount = mount.as_ref();
    let of_file = || window.map(|window| window.bytes().get() / 1024);
    let window_kib = queue.read_ahead_kb.or_else(of_file);
    DeviceFacts {
        identity: identity.unwrap_or(0),
        rotational: queue.rotational.or_else(|| has_arm_below(mount?)),
        has_large_folios: mount.is_some_and(has_large_folios),
        ..DeviceFacts::configured(settings)
            .with_queue(queue.max_sectors_kb, window_kib)
            .with_stripes(queue.minimum_io_size, queue.optimal_io_size)
    }
}
