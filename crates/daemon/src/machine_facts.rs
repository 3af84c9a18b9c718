//! What the machine says to the daemon: its clock and its devices.

use std::path::Path;

use ahead_engine::device_facts::DeviceFacts;
use ahead_engine::host::Delivered;
use ahead_engine::settings::Settings;
use ahead_sys::block_queue::{BlockStat, DeviceNumber, QueueFacts};
use ahead_sys::{device_identity, kernel_release, large_folios, mounts};
use ahead_units::{ByteLength, PageCount, Timestamp};

/// Now, on the clock of the facts.
#[must_use]
pub fn now() -> Timestamp {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let ns = now.tv_sec.saturating_mul(1_000_000_000) + now.tv_nsec;
    Timestamp::new(u64::try_from(ns).unwrap_or(0))
}

/// The window of a device, in KiB; `None` where it has none of its own.
pub(crate) fn window_kib(device: u64) -> Option<u64> {
    QueueFacts::read(Path::new("/sys"), DeviceNumber::from_dev(device)).read_ahead_kb
}

/// What a device has delivered until now; `None` where it is no block device.
pub(crate) fn delivered(device: u64) -> Option<Delivered> {
    let stat = BlockStat::read(Path::new("/sys"), DeviceNumber::from_dev(device))?;
    let bytes = ByteLength::new(stat.read_bytes);
    Some(Delivered { bytes, at: now() })
}

/// Whether a file system on `device` that this process sees mounted keeps files in large folios. Others, such as those of a
/// container, are taken to have none.
fn has_large_folios(device: DeviceNumber) -> bool {
    let proc = Path::new("/proc");
    let mounts = mounts::mounts(proc).unwrap_or_default();
    let here = mounts.iter().find(|mount| mount.device == device);
    let since = here.and_then(|mount| large_folios::since(&mount.file_system));
    since.is_some_and(|since| kernel_release::is_since(proc, since))
}

/// What sysfs says about a device. `window` is that of an open file there: the number of a superblock's device need not be
/// known to sysfs, as with btrfs, and a call is cut at the window.
pub(crate) fn device_facts(
    device: u64,
    window: Option<PageCount>,
    settings: &Settings,
) -> DeviceFacts {
    let (sys, proc) = (Path::new("/sys"), Path::new("/proc"));
    let number = DeviceNumber::from_dev(device);
    let identity = device_identity::of_block_device(sys, proc, number);
    let queue = QueueFacts::read(sys, number);
    let of_file = || window.map(|window| window.bytes().get() / 1024);
    let window_kib = queue.read_ahead_kb.or_else(of_file);
    DeviceFacts {
        identity: identity.unwrap_or(0),
        rotational: queue.rotational,
        has_large_folios: has_large_folios(number),
        ..DeviceFacts::configured(settings)
            .with_queue(queue.max_sectors_kb, window_kib)
            .with_stripes(queue.minimum_io_size, queue.optimal_io_size)
    }
}
