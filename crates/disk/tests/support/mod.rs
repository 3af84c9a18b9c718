//! What the tests of real disks share: one at a time, a view of what the machine has, direct reads.
//!
//! These tests need root, FUSE and loop devices. Where they run they must pass: there is no skipping.
#![allow(dead_code, reason = "each test program uses its part of this")]

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ahead_disk::{CreateOptions, SERVER_ARGUMENT};
use ahead_disks::{DiskModel, TimeScale};
use ahead_sys::{loop_device, mounts};

pub const MIB: u64 = 1 << 20;

/// Loop devices and mounts belong to the machine, so the tests of one program take turns. Programs
/// are run one after the other by cargo.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn server_exe() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_ahead-disk-server"))
}

/// A small fast disk, mounted below `folder`.
pub fn small_disk(name: &str, folder: &Path) -> CreateOptions {
    CreateOptions {
        name: name.to_owned(),
        model: DiskModel::ssd(),
        order: None,
        time_scale: TimeScale::new(4, 1).expect("not zero"),
        size_bytes: 64 * MIB,
        mount_dir: folder.join(name),
        server_exe: server_exe(),
    }
}

/// Everything a disk is made of that a careless one would leave behind.
#[derive(Debug, PartialEq, Eq)]
pub struct Machine {
    mounts: Vec<PathBuf>,
    loop_devices: Vec<(u32, Option<PathBuf>)>,
    queue_settings: Vec<(PathBuf, String)>,
    servers: BTreeSet<String>,
    state: BTreeSet<PathBuf>,
}

impl Machine {
    pub fn now() -> Self {
        let sys = Path::new("/sys");
        let numbers = loop_device::numbers(sys).expect("sysfs");
        let files = numbers.iter().flat_map(|number| {
            let names = ["read_ahead_kb", "max_sectors_kb", "rotational", "scheduler"];
            names.map(|name| PathBuf::from(format!("/sys/block/loop{number}/queue/{name}")))
        });
        Self {
            mounts: mounts::mounts(Path::new("/proc"))
                .expect("mountinfo")
                .into_iter()
                .map(|mount| mount.mount_point)
                .collect(),
            queue_settings: files
                .filter_map(|file| fs::read_to_string(&file).ok().map(|value| (file, value)))
                .collect(),
            loop_devices: numbers
                .into_iter()
                .map(|number| (number, loop_device::backing_file(sys, number)))
                .collect(),
            servers: servers(),
            state: entries(Path::new("/run/ahead/disk")),
        }
    }
}

fn entries(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    // The lock file stays, as the folder does.
    paths.filter(|path| !path.ends_with(".lock")).collect()
}

/// Server processes, zombies left out: those wait for the process that runs this test.
fn servers() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir("/proc").expect("procfs").flatten() {
        let line = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        if line.split('\0').nth(1) == Some(SERVER_ARGUMENT) {
            found.insert(line.replace('\0', " "));
        }
    }
    found
}

/// Opens a file or device for reads that go around the page cache.
pub fn open_direct(path: &Path) -> File {
    let flags = rustix::fs::OFlags::DIRECT.bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    opened.expect("the device can be opened")
}

/// Reads `length` bytes from `offset` into memory that is aligned as direct reads need it.
pub fn read_direct(file: &File, offset: u64, length: usize) -> std::io::Result<Vec<u8>> {
    let mut memory = vec![0_u8; length + 4096];
    let start = memory.as_ptr().align_offset(4096);
    let count = rustix::io::pread(file, &mut memory[start..start + length], offset)?;
    Ok(memory[start..start + count].to_vec())
}

/// Bytes that prove their own place: each group of eight is a function of its offset.
pub fn pattern(length: u64) -> Vec<u8> {
    (0..length / 8)
        .flat_map(|index| (index.wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_le_bytes())
        .collect()
}
