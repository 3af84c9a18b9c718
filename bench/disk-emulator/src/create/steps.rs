//! Putting the layers on top of each other. What fails is taken apart by the caller.

use std::ffi::CStr;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ahead_device::undo::NotedSetting;
use ahead_sys::block_queue::BlockQueue;
use ahead_sys::loop_device;
use rustix::io::Errno;
use rustix::mount::MountFlags;

use super::checks::mkfs;
use super::options::CreateError;
use super::server_process::ServerBeingMade;
use crate::info::{DiskInfo, StateError};
use crate::record::{LoopDevice, Phase, Record};
use crate::server::REQUEST_BYTES_MAX;

/// Other processes can be faster in taking a free loop device. This often in a row they are not.
const LOOP_ATTEMPTS: u32 = 32;

/// All steps, in order.
pub(super) fn build(record: &mut Record, server_exe: &Path) -> Result<DiskInfo, CreateError> {
    let fuse_dir = record.fuse_dir();
    make_dir(&record.folder())?;
    record.write()?;
    make_dir(&fuse_dir)?;
    for folder in &record.made_dirs {
        DirBuilder::new()
            .create(folder)
            .map_err(|error| CreateError::MountPoint {
                path: folder.clone(),
                reason: error.to_string(),
            })?;
    }
    let mut server = ServerBeingMade::start(record, server_exe)?;
    server.wait_until_ready(record)?;
    // Held until the file system is mounted: a loop device lets go of its file when no process has it
    // open.
    let device = attach(record)?;
    make_file_system(record)?;
    mount(record)?;
    drop(device);
    record.phase = Phase::Ready;
    record.write()?;
    server.let_go();
    record.info().ok_or_else(|| CreateError::Step {
        step: "look at the new block device".into(),
        source: io::ErrorKind::NotFound.into(),
    })
}

fn make_dir(path: &Path) -> Result<(), StateError> {
    let made = DirBuilder::new().mode(0o700).create(path);
    made.map_err(|source| StateError::Io {
        path: path.to_owned(),
        source,
    })
}

/// Puts a loop device on the image and sets its queue up.
fn attach(record: &mut Record) -> Result<File, CreateError> {
    let step = |step: &str| {
        let step = step.to_owned();
        move |source| CreateError::Step { step, source }
    };
    let image = record.image();
    let backing = File::options()
        .read(true)
        .write(true)
        .open(&image)
        .map_err(step("open the image of the disk"))?;
    let sys = Path::new("/sys");
    for _ in 0..LOOP_ATTEMPTS {
        let known = loop_device::numbers(sys).unwrap_or_default();
        let number = loop_device::get_free().map_err(step("find a free loop device"))?;
        let queue = BlockQueue::of_disk(sys, &format!("loop{number}"))
            .map_err(step("find the queue of the loop device"))?;
        let names = ["max_sectors_kb", "rotational", "scheduler", "read_ahead_kb"];
        record.loop_device = Some(LoopDevice {
            number,
            is_new: !known.contains(&number),
            settings_before: names
                .iter()
                .filter_map(|name| queue.setting(name).ok())
                .map(NotedSetting::from)
                .collect(),
        });
        record.write()?;
        let device = loop_device::open(number).map_err(step("open the loop device"))?;
        match loop_device::configure(&device, &backing, &record.name) {
            Ok(()) => {
                set_queue(record, &queue)?;
                return Ok(device);
            }
            // Another process took it between the two calls.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::BUSY.raw_os_error()) => {}
            Err(error) => return Err(step("put a loop device on the image")(error)),
        }
    }
    let busy = io::ErrorKind::ResourceBusy.into();
    Err(step("get a loop device: others take every free one first")(
        busy,
    ))
}

fn set_queue(record: &Record, queue: &BlockQueue) -> Result<(), CreateError> {
    let request_kib_max = (REQUEST_BYTES_MAX / 1024).to_string();
    let rotational = if record.model.is_rotational() {
        "1"
    } else {
        "0"
    };
    // No scheduler: the order of service belongs to the model.
    let values = [
        ("max_sectors_kb", request_kib_max.as_str()),
        ("rotational", rotational),
        ("scheduler", "none"),
    ];
    for (name, value) in values {
        queue.set(name, value).map_err(|source| CreateError::Step {
            step: format!("set {name} of the loop device to {value}"),
            source,
        })?;
    }
    Ok(())
}

fn device_node(record: &Record) -> PathBuf {
    loop_device::node(
        record
            .loop_device
            .as_ref()
            .map_or(0, |device| device.number),
    )
}

/// Makes ext4 without a journal and without initialising tables (memory is zero already), so that
/// nothing but the reads of programs reaches the disk later.
fn make_file_system(record: &Record) -> Result<(), CreateError> {
    let failed = |source| CreateError::Step {
        step: "make a file system (mkfs.ext4)".into(),
        source,
    };
    let output = Command::new(mkfs()?)
        .args([
            "-q",
            "-F",
            "-b",
            "4096",
            "-m",
            "0",
            "-i",
            "32768",
            "-O",
            "^has_journal",
        ])
        .args(["-E", "lazy_itable_init=1,nodiscard,root_owner=0:0"])
        .arg(device_node(record))
        .stdin(Stdio::null())
        .output()
        .map_err(failed)?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(failed(io::Error::other(text)))
}

/// Tables are never initialised in the background, and bitmaps are read when something is written: a read beside those of a
/// program would be read as load. Linux before 5.9 does not know the second, and reads no bitmaps by itself.
const MOUNT_OPTIONS: [&CStr; 2] = [c"noinit_itable,no_prefetch_block_bitmaps", c"noinit_itable"];

fn mount(record: &Record) -> Result<(), CreateError> {
    let flags = MountFlags::NOATIME | MountFlags::NODEV | MountFlags::NOSUID;
    let mounted = MOUNT_OPTIONS.into_iter().find_map(|options| {
        let mounted = rustix::mount::mount(
            device_node(record),
            &record.mount_dir,
            "ext4",
            flags,
            options,
        );
        (mounted != Err(Errno::INVAL)).then_some(mounted)
    });
    let mounted = mounted.unwrap_or(Err(Errno::INVAL));
    mounted.map_err(|errno| CreateError::MountPoint {
        path: record.mount_dir.clone(),
        reason: errno.to_string(),
    })
}
