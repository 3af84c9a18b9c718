//! What the tests of real disks share: one at a time, a view of what the machine has, direct reads.
//!
//! These tests need root, FUSE and loop devices. Where they run they must pass: there is no skipping.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test program has its own copy of this and uses a part of it"
)]

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ahead_disk_emulator::{CreateOptions, DiskInfo, SERVER_ARGUMENT};
use ahead_disk_model::{DiskModel, TimeScale};
use ahead_sys::{loop_device, mounts};

pub const MIB: u64 = 1 << 20;

/// Loop devices and mounts belong to the machine, so the tests of one program take turns. Programs
/// are run one after the other by cargo.
pub fn alone() -> Turn {
    static TURN: Mutex<()> = Mutex::new(());
    Turn(TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The right of one test to make disks. A test that fails half way leaves its disk; it goes here, so
/// that the next test does not find it.
pub struct Turn(#[expect(dead_code, reason = "held until dropped")] MutexGuard<'static, ()>);

impl Drop for Turn {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for disk in ahead_disk_emulator::list().unwrap_or_default() {
                if disk.name.starts_with("t-") {
                    let _ = ahead_disk_emulator::destroy(&disk.name);
                }
            }
        }
    }
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

/// Makes a disk and waits until the device manager, where there is one, has finished looking at it;
/// its reads would be counted.
pub fn create_settled(options: &CreateOptions) -> DiskInfo {
    let info = ahead_disk_emulator::create(options).expect("the disk can be made");
    // Fails where there is no device manager, and then there is nothing to wait for.
    let _ = Command::new("udevadm")
        .args(["settle", "--timeout=10"])
        .output();
    info
}

/// What the machine has that a careless disk would leave behind. Disks whose names do not start
/// with `t-` are somebody else's and left out.
#[derive(Debug, PartialEq, Eq)]
pub struct Machine {
    mounts: Vec<PathBuf>,
    servers: Vec<String>,
    folders: Vec<PathBuf>,
    loop_devices: Vec<(u32, PathBuf)>,
    /// Queue settings of each loop device without a file.
    unused: BTreeMap<u32, Vec<String>>,
}

impl Machine {
    pub fn now() -> Self {
        let sys = Path::new("/sys");
        let numbers = loop_device::numbers(sys).expect("sysfs");
        let (mut loop_devices, mut unused) = (Vec::new(), BTreeMap::new());
        for number in numbers {
            match loop_device::backing_file(sys, number) {
                Some(file) if is_of_test(&file) => loop_devices.push((number, file)),
                Some(_) => {}
                None => {
                    unused.insert(number, queue_settings(number));
                }
            }
        }
        let mounts = mounts::mounts(Path::new("/proc")).expect("mountinfo");
        let mounts = mounts.into_iter().map(|mount| mount.mount_point);
        let folders = fs::read_dir("/run/ahead/disk")
            .into_iter()
            .flatten()
            .flatten();
        Self {
            mounts: mounts.filter(|path| is_of_test(path)).collect(),
            servers: servers(),
            folders: folders
                .map(|entry| entry.path())
                .filter(|path| is_of_test(path))
                .collect(),
            loop_devices,
            unused,
        }
    }

    /// Whether nothing was left behind since `before`.
    pub fn is_as(&self, before: &Self) -> bool {
        // A device that somebody else uses in one of the two moments says nothing.
        let settings = self.unused.iter().all(|(number, settings)| {
            before
                .unused
                .get(number)
                .is_none_or(|settings_before| settings == settings_before)
        });
        let nothing = |machine: &Self| {
            machine.mounts.is_empty()
                && machine.servers.is_empty()
                && machine.folders.is_empty()
                && machine.loop_devices.is_empty()
        };
        settings && nothing(self)
    }

    /// Fails, showing both, unless nothing was left behind since `before`.
    #[track_caller]
    pub fn assert_nothing_left(before: &Self) {
        let now = Self::now();
        assert!(
            now.is_as(before),
            "left behind: {now:#?}\nbefore: {before:#?}"
        );
    }
}

fn is_of_test(path: &Path) -> bool {
    path.components()
        .any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"t-"))
}

fn queue_settings(number: u32) -> Vec<String> {
    let names = ["read_ahead_kb", "max_sectors_kb", "rotational", "scheduler"];
    let file = |name| format!("/sys/block/loop{number}/queue/{name}");
    names
        .map(|name| fs::read_to_string(file(name)).unwrap_or_default())
        .to_vec()
}

/// Server processes, zombies left out: those wait for the process that runs this test.
fn servers() -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("procfs").flatten();
    let lines =
        processes.map(|entry| fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default());
    lines
        .filter(|line| {
            let mut words = line.split('\0').skip(1);
            words.next() == Some(SERVER_ARGUMENT)
                && words
                    .next()
                    .is_some_and(|folder| is_of_test(Path::new(folder)))
        })
        .collect()
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
