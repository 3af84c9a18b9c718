//! Taking a disk apart: ext4, loop device, FUSE, process, folders, from the top down.
//!
//! Works from what the kernel says is there, with the journal only as the list of where to look. So
//! it does not matter how far the making had come, and doing it twice does no harm.
//! Nothing is touched that is not provably ours: a loop device only while the file under it is our
//! image, a process only if it started when ours did.

use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use ahead_sys::loop_device;
use ahead_sys::mounts::{self, Mount};
use ahead_sys::process_identity::ProcessIdentity;
use rustix::mount::UnmountFlags;
use rustix::process::{PidfdFlags, Signal};

use crate::state::{Phase, Record, State};

/// How long the kernel may take to let go of something that nobody uses any more. It usually takes
/// milliseconds; device managers that look at new devices can hold one for a while.
const LET_GO: Duration = Duration::from_secs(5);

const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Somebody still uses the file system.
#[derive(Debug)]
pub(crate) struct InUse;

/// Takes apart what a killed process left half made, and disks whose server died.
/// The lock says that nobody is making one now.
pub(crate) fn clean_up_broken(state: &State) {
    for folder in state.folders() {
        match Record::read(&folder) {
            Ok(record) if record.phase == Phase::Ready && record.is_served() => {}
            Ok(record) => remove(&record),
            // A folder without a journal: the process died between the two, so nothing else exists.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let _ = fs::remove_file(folder.join("disk.new"));
                let _ = fs::remove_dir(&folder);
            }
            // Unreadable: whatever it means, it is not ours to delete.
            Err(_) => {}
        }
    }
}

/// Takes a working disk apart, unless its file system is in use.
pub(crate) fn unmount_and_remove(record: &Record) -> Result<(), InUse> {
    let is_unmounted = wait_until(LET_GO, || {
        let mounts = file_system_mounts(record);
        mounts.iter().rev().all(|mount| {
            // Gone already is as good.
            !matches!(
                rustix::mount::unmount(&mount.mount_point, UnmountFlags::NOFOLLOW),
                Err(rustix::io::Errno::BUSY)
            )
        })
    });
    if !is_unmounted {
        return Err(InUse);
    }
    remove(record);
    Ok(())
}

/// Takes a disk apart whatever uses it; files that are open on it fail from now on.
pub(crate) fn remove(record: &Record) {
    let fuse_dir = record.fuse_dir();
    if !record.is_served() || record.phase == Phase::Creating {
        // Nobody answers, or nobody should: fail what waits, so that unmounting cannot hang on it.
        // `EBUSY` is expected, because the loop device still uses the file.
        let _ = rustix::mount::unmount(&fuse_dir, UnmountFlags::FORCE | UnmountFlags::NOFOLLOW);
        end_server(record);
    }
    for mount in file_system_mounts(record).iter().rev() {
        let flags = UnmountFlags::DETACH | UnmountFlags::NOFOLLOW;
        let _ = rustix::mount::unmount(&mount.mount_point, flags);
    }
    release_loop_devices(record);
    // The session ends with its last mount, and the server with the session.
    unmount_fuse(&fuse_dir);
    if let Some(server) = record.server
        && !wait_until(LET_GO, || !server.identity().is_running(Path::new("/proc")))
    {
        end_server(record);
    }
    restore_settings(record);
    remove_folders(record);
}

/// Mounts of the file system on the disk, in the order of mounting.
fn file_system_mounts(record: &Record) -> Vec<Mount> {
    let nodes: Vec<_> = loop_devices(record)
        .into_iter()
        .map(loop_device::node)
        .collect();
    let mut mounts = mounts::mounts(Path::new("/proc")).unwrap_or_default();
    mounts.retain(|mount| nodes.contains(&mount.source));
    mounts
}

/// Loop devices on the image. One, unless a process died while trying several.
fn loop_devices(record: &Record) -> Vec<u32> {
    let sys = Path::new("/sys");
    let image = record.image();
    let mut numbers = loop_device::numbers(sys).unwrap_or_default();
    numbers
        .retain(|&number| loop_device::backing_file(sys, number).is_some_and(|file| file == image));
    numbers
}

fn release_loop_devices(record: &Record) {
    // They let go by themselves when the file system does; this is for one that was never mounted,
    // or that somebody else opened.
    let is_released = wait_until(LET_GO, || {
        let left = loop_devices(record);
        for &number in &left {
            if let Ok(device) = loop_device::open(number) {
                let _ = loop_device::clear(&device);
            }
        }
        left.is_empty()
    });
    if let Some(device) = &record.loop_device
        && device.is_new
        && is_released
        && loop_device::backing_file(Path::new("/sys"), device.number).is_none()
    {
        // Busy means that another process took it meanwhile; then it is theirs.
        let _ = loop_device::remove(device.number);
    }
}

fn unmount_fuse(fuse_dir: &Path) {
    let is_gone = |dir: &Path| {
        let mounts = mounts::mounts(Path::new("/proc")).unwrap_or_default();
        !mounts.iter().any(|mount| mount.mount_point == dir)
    };
    let unmounted = wait_until(LET_GO, || {
        let _ = rustix::mount::unmount(fuse_dir, UnmountFlags::NOFOLLOW);
        is_gone(fuse_dir)
    });
    if !unmounted {
        let flags = UnmountFlags::DETACH | UnmountFlags::NOFOLLOW;
        let _ = rustix::mount::unmount(fuse_dir, flags);
    }
}

/// Ends the server if it is still the process that was written down.
fn end_server(record: &Record) {
    let Some(server) = record.server else { return };
    let proc = Path::new("/proc");
    let Some(pid) = rustix::process::Pid::from_raw(server.pid) else {
        return;
    };
    // The descriptor first, then the check: from here on the number cannot come to mean another.
    let Ok(process) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    if ProcessIdentity::of(proc, server.pid).is_ok_and(|now| now == server.identity()) {
        let _ = rustix::process::pidfd_send_signal(&process, Signal::KILL);
        wait_until(LET_GO, || !server.identity().is_running(proc));
    }
}

fn restore_settings(record: &Record) {
    let Some(device) = &record.loop_device else {
        return;
    };
    if loop_device::backing_file(Path::new("/sys"), device.number).is_some() {
        // Somebody else's by now.
        return;
    }
    for setting in &device.settings_before {
        // Fails when the device was removed, which is as good.
        let is_different =
            fs::read_to_string(&setting.file).is_ok_and(|now| now.trim() != setting.value);
        if is_different {
            let _ = fs::write(&setting.file, &setting.value);
        }
    }
}

fn remove_folders(record: &Record) {
    for folder in record.made_dirs.iter().rev() {
        // Only if empty: whatever was put there is not ours.
        let _ = fs::remove_dir(folder);
    }
    let folder = record.folder();
    // The journal goes last but one: without it nobody would look here again.
    let _ = fs::remove_dir(record.fuse_dir());
    let _ = fs::remove_file(crate::server::log_path(&folder));
    let _ = fs::remove_file(folder.join("disk.new"));
    let _ = fs::remove_file(folder.join("disk.json"));
    let _ = fs::remove_dir(&folder);
}

/// Tries until it is done or the time is over; says which.
fn wait_until(limit: Duration, mut is_done: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if is_done() {
            return true;
        }
        if start.elapsed() > limit {
            return false;
        }
        thread::sleep(LOOK_AGAIN);
    }
}
