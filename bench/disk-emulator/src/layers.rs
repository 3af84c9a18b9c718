//! Taking a disk apart: ext4, loop device, FUSE, process, folders, from the top down.
//!
//! Works from what the kernel says is there, with the journal only as the list of where to look. So
//! it does not matter how far the making had come, and doing it twice does no harm.
//! Nothing is touched that is not provably ours: a loop device only while the file under it is our
//! image, a process only if it started when ours did.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use ahead_sys::loop_device;
use ahead_sys::mounts::{self, Mount};
use ahead_sys::process_identity::ProcessIdentity;
use rustix::mount::UnmountFlags;
use rustix::process::{PidfdFlags, Signal};

use crate::record::{IMAGE_NAME, Phase, Record, journal_in, log_in};
use crate::state::State;

/// How long the kernel may take to let go of something that is not used any more. It usually takes
/// milliseconds.
const LET_GO: Duration = Duration::from_secs(5);

/// How long a file system may be in use before that is an answer. Device managers that look at new
/// devices hold one for a moment; people do for longer.
const STILL_BUSY: Duration = Duration::from_secs(1);

const LOOK_AGAIN: Duration = Duration::from_millis(2);

const PROC: &str = "/proc";
const SYS: &str = "/sys";

/// The file system is still in use.
#[derive(Debug)]
pub(crate) struct InUse;

/// What could not be taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Leftover {
    LoopDevice(PathBuf),
    Mount(PathBuf),
    Process(i32),
    Folder(PathBuf),
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LoopDevice(node) => write!(f, "{} (something has it open)", node.display()),
            Self::Mount(path) => write!(f, "the mount at {}", path.display()),
            Self::Process(pid) => write!(f, "process {pid}"),
            Self::Folder(path) => write!(f, "the folder {}", path.display()),
        }
    }
}

/// Takes apart what a killed process left half made or half destroyed, and disks whose server died.
/// The lock says that no other process is at it now. What cannot be removed stays for the next time;
/// it is returned, with the name of its disk.
pub(crate) fn clean_up_broken(state: &State) -> Vec<(String, Leftover)> {
    let mut left = Vec::new();
    for folder in state.folders() {
        match Record::read(&folder) {
            Ok(record) if is_working(&record) => {}
            Ok(record) => {
                if let Err(leftover) = remove(&record) {
                    left.push((record.name, leftover));
                }
            }
            // A folder without a journal: its maker died between the two, or its destroyer before
            // the last step. Nothing else can exist.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                journal_in(&folder).remove();
                let _ = fs::remove_dir(&folder);
            }
            // Unreadable: whatever it means, it is not ours to delete.
            Err(_) => {}
        }
    }
    left
}

/// Whether this disk is complete. The mount itself is not looked at, because it cannot be seen from
/// every mount namespace; the loop device goes with it, and can.
fn is_working(record: &Record) -> bool {
    let backing = record
        .loop_device
        .as_ref()
        .and_then(|device| loop_device::backing_file(Path::new(SYS), device.number));
    record.phase == Phase::Ready
        && record.is_served()
        && backing.is_some_and(|file| file.ends_with(IMAGE_NAME))
}

/// Unmounts the file system, or says that it is in use.
pub(crate) fn unmount(record: &Record) -> Result<(), InUse> {
    let is_unmounted = wait_until(STILL_BUSY, || {
        file_system_mounts(record).iter().rev().all(|mount| {
            let unmounted = rustix::mount::unmount(&mount.mount_point, UnmountFlags::NOFOLLOW);
            // Any other error means that it is gone already.
            unmounted != Err(rustix::io::Errno::BUSY)
        })
    });
    if is_unmounted { Ok(()) } else { Err(InUse) }
}

/// Takes a disk apart whatever uses it; files that are open on it fail from now on.
pub(crate) fn remove(record: &Record) -> Result<(), Leftover> {
    if !is_working(record) {
        // Nothing answers, or nothing should: fail what waits, so that unmounting cannot hang on it.
        // `EBUSY` is expected, because the loop device still uses the file.
        let flags = UnmountFlags::FORCE | UnmountFlags::NOFOLLOW;
        let _ = rustix::mount::unmount(record.fuse_dir(), flags);
        end_server(record);
    }
    for mount in file_system_mounts(record).iter().rev() {
        let flags = UnmountFlags::DETACH | UnmountFlags::NOFOLLOW;
        let _ = rustix::mount::unmount(&mount.mount_point, flags);
    }
    release_loop_devices(record)?;
    remove_fuse_dir(record)?;
    // The session ends with its last mount, and the server with the session.
    if let Some(server) = record.server
        && !wait_until(LET_GO, || !server.is_running())
        && !end_server(record)
    {
        return Err(Leftover::Process(server.pid));
    }
    restore_settings(record);
    remove_folders(record)
}

/// Mounts of the file system on the disk, in the order of mounting.
fn file_system_mounts(record: &Record) -> Vec<Mount> {
    let nodes: Vec<_> = loop_devices(record)
        .into_iter()
        .map(loop_device::node)
        .collect();
    let mut mounts = mounts::mounts(Path::new(PROC)).unwrap_or_default();
    mounts.retain(|mount| nodes.contains(&mount.source));
    mounts
}

/// Loop devices on the image. One at most, in practice.
fn loop_devices(record: &Record) -> Vec<u32> {
    let image = record.image();
    let mut numbers = loop_device::numbers(Path::new(SYS)).unwrap_or_default();
    numbers.retain(|&number| {
        loop_device::backing_file(Path::new(SYS), number).is_some_and(|file| file == image)
    });
    numbers
}

fn release_loop_devices(record: &Record) -> Result<(), Leftover> {
    // They let go by themselves when the file system does; asking is for one that was never mounted.
    let is_released = wait_until(LET_GO, || {
        let left = loop_devices(record);
        for &number in &left {
            if let Ok(device) = loop_device::open(number) {
                let _ = loop_device::clear(&device);
            }
        }
        left.is_empty()
    });
    if !is_released && let Some(&number) = loop_devices(record).first() {
        return Err(Leftover::LoopDevice(loop_device::node(number)));
    }
    if let Some(device) = &record.loop_device
        && device.is_new
        && loop_device::backing_file(Path::new(SYS), device.number).is_none()
    {
        // Busy means that another process took it meanwhile; then it is theirs.
        let _ = loop_device::remove(device.number);
    }
    Ok(())
}

/// Unmounts FUSE and removes its mount point. Both until it is done: a server whose maker was killed
/// may only now get to mounting.
fn remove_fuse_dir(record: &Record) -> Result<(), Leftover> {
    let fuse_dir = record.fuse_dir();
    let is_gone = || match fs::remove_dir(&fuse_dir) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    let unmount = |flags| {
        let _ = rustix::mount::unmount(&fuse_dir, flags | UnmountFlags::NOFOLLOW);
        is_gone()
    };
    if wait_until(LET_GO, || unmount(UnmountFlags::empty())) || unmount(UnmountFlags::DETACH) {
        Ok(())
    } else {
        Err(Leftover::Mount(fuse_dir))
    }
}

/// Ends the server if it is still the process that was written down. Whether it has ended.
fn end_server(record: &Record) -> bool {
    let Some(server) = record.server else {
        return true;
    };
    let proc = Path::new(PROC);
    // The descriptor first, then the check: from here on the number cannot come to mean another.
    let process = rustix::process::Pid::from_raw(server.pid)
        .and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok());
    let is_ours = ProcessIdentity::of(proc, server.pid).is_ok_and(|now| now == server.identity());
    if let Some(process) = process
        && is_ours
    {
        let _ = rustix::process::pidfd_send_signal(&process, Signal::KILL);
    }
    wait_until(LET_GO, || !server.is_running())
}

fn restore_settings(record: &Record) {
    let Some(device) = &record.loop_device else {
        return;
    };
    if loop_device::backing_file(Path::new(SYS), device.number).is_some() {
        // Another process' by now.
        return;
    }
    for setting in &device.settings_before {
        // Fails when the device was removed, which is as good.
        let _ = setting.put_back();
    }
}

fn remove_folders(record: &Record) -> Result<(), Leftover> {
    for folder in record.made_dirs.iter().rev() {
        // Only if empty: whatever was put there is not ours.
        let _ = fs::remove_dir(folder);
    }
    let folder = record.folder();
    let _ = fs::remove_file(log_in(&folder));
    // Late: without a journal nothing else would be looked for.
    journal_in(&folder).remove();
    let _ = fs::remove_dir(&folder);
    if folder.exists() {
        Err(Leftover::Folder(folder))
    } else {
        Ok(())
    }
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
