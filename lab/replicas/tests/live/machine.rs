//! A disk in memory with a file system on it, that nobody else can see and that goes by itself.
//!
//! A memory file, a loop device on it, ext4 on that, mounted without a mount point. The mount goes
//! when its descriptor is closed, the device lets go of the memory when the mount goes, and the
//! memory goes when the device does: so also when a test fails or is killed. What would stay is a
//! changed setting of the device; [`Scratch`] puts it back.
//!
//! No model of a disk here: answers come as fast as memory can give them, because only what is
//! asked for is of interest.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use ahead_replicas::kernel::folio::FolioRelease;
use ahead_sys::block_queue::{BlockQueue, DeviceNumber};
use ahead_sys::loop_device;
use rustix::fs::MemfdFlags;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};

/// Room for the largest file and the file system's own.
const DISK_BYTES: u64 = 192 << 20;

/// Other processes can be faster in taking a free loop device. This often in a row they are not.
const LOOP_ATTEMPTS: u32 = 32;

/// How often a new file is asked to leave the page cache.
const DROP_ATTEMPTS: u32 = 100_000;

/// How often a loop device is asked to go. The kernel takes some milliseconds after the unmounting.
const REMOVE_ATTEMPTS: u32 = 100_000;

/// How long is waited at once in virtual time, where it costs nothing.
const VIRTUAL_PAUSE: Duration = Duration::from_micros(10);

const SYS: &str = "/sys";

/// A mounted file system that has no place in any folder.
#[derive(Debug)]
pub struct DetachedMount(OwnedFd);

impl DetachedMount {
    /// Mounts a file system of `kind`; `parameters` as in `mount -o`, and `source`.
    pub fn new(kind: &str, parameters: &[(&str, &str)]) -> io::Result<Self> {
        let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
        for (key, value) in parameters {
            rustix::mount::fsconfig_set_string(&context, *key, *value)?;
        }
        rustix::mount::fsconfig_create(&context)?;
        let mount = rustix::mount::fsmount(
            &context,
            FsMountFlags::FSMOUNT_CLOEXEC,
            MountAttrFlags::MOUNT_ATTR_NOATIME,
        )?;
        Ok(Self(mount))
    }

    /// How this process can name something in it.
    pub fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd())).join(name)
    }
}

/// Which folios the page cache may hold for files of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folios {
    /// ext4 as it is made today: up to 2 MiB.
    Large,
    /// ext4 with the feature `encrypt`, which keeps it at single pages (see `fs/ext4/inode.c`).
    Single,
}

impl Folios {
    /// log2 of the pages of the largest folio. The ext4 of 6.12 knows only single pages.
    pub fn order_max(self, release: FolioRelease) -> u8 {
        match (self, release) {
            (Self::Large, FolioRelease::Linux6_18) => 9,
            (Self::Single, _) | (_, FolioRelease::Linux6_12) => 0,
        }
    }

    fn mkfs_options(self) -> &'static [&'static str] {
        match self {
            Self::Large => &["-O", "^has_journal"],
            Self::Single => &["-O", "^has_journal,encrypt"],
        }
    }
}

/// What a file is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Bytes on the disk; reading them takes a moment.
    Written,
    /// Nothing: reading it is over before the call returns that asked for it.
    Holes,
}

/// Where the file system is.
#[derive(Debug)]
enum Place {
    /// Made by us. Taken when the [`Scratch`] is dropped.
    Detached(Option<DetachedMount>),
    /// Mounted before us, in a machine of virtual time: there nothing goes on but while all sleep.
    Virtual(PathBuf),
}

impl Place {
    fn path(&self, name: &str) -> io::Result<PathBuf> {
        match self {
            Self::Detached(mount) => {
                let mount = mount.as_ref().ok_or(io::ErrorKind::NotFound)?;
                Ok(mount.path(name))
            }
            Self::Virtual(folder) => Ok(folder.join(name)),
        }
    }
}

/// The disk, and the file system on it.
#[derive(Debug)]
pub struct Scratch {
    place: Place,
    /// The loop device, if it was made for us: then it goes too.
    new_loop_device: Option<u32>,
    device: DeviceNumber,
    queue: BlockQueue,
    read_ahead_kb_before: u64,
    max_sectors_kb_before: u64,
}

impl Scratch {
    /// Makes it. Needs root, loop devices and `mkfs.ext4`.
    pub fn new(folios: Folios) -> io::Result<Self> {
        let memory = File::from(rustix::fs::memfd_create("ahead", MemfdFlags::CLOEXEC)?);
        memory.set_len(DISK_BYTES)?;
        make_file_system(&memory, folios)?;
        let known = loop_device::numbers(Path::new(SYS))?;
        let (number, node) = attach(&memory)?;
        let source = loop_device::node(number);
        let source = source.to_str().ok_or(io::ErrorKind::InvalidData)?;
        let mount = DetachedMount::new("ext4", &[("source", source)])?;
        // From here on the mount holds the device.
        drop(node);
        let new_loop_device = (!known.contains(&number)).then_some(number);
        Self::at(Place::Detached(Some(mount)), new_loop_device)
    }

    /// Takes a folder in a guest of virtual time, on a disk that is not used otherwise.
    pub fn in_guest(folder: &Path) -> io::Result<Self> {
        Self::at(Place::Virtual(folder.to_owned()), None)
    }

    fn at(place: Place, new_loop_device: Option<u32>) -> io::Result<Self> {
        let device = DeviceNumber::from_dev(fs::metadata(place.path(".")?)?.dev());
        let queue = BlockQueue::open(Path::new(SYS), device)?;
        let read_ahead_kb_before = queue.read_ahead_kb()?;
        let max_sectors_kb_before = queue.max_sectors_kb()?;
        Ok(Self {
            place,
            new_loop_device,
            device,
            queue,
            read_ahead_kb_before,
            max_sectors_kb_before,
        })
    }

    /// The device, as the kernel's events name it.
    pub fn device(&self) -> DeviceNumber {
        self.device
    }

    /// Sets the window of files opened from now on. Only whole pages can be set.
    pub fn set_read_ahead_kb(&self, kib: u64) -> io::Result<()> {
        self.queue.set_read_ahead_kb(kib)?;
        let set = self.queue.read_ahead_kb()?;
        if set == kib {
            Ok(())
        } else {
            Err(io::Error::other(format!("{kib} KiB became {set}")))
        }
    }

    /// Sets the largest request of the device. The kernel raises the window to at least 128 KiB then,
    /// so that one is set afterwards.
    pub fn set_max_sectors_kb(&self, kib: u64) -> io::Result<()> {
        self.queue.set_max_sectors_kb(kib)?;
        let set = self.queue.max_sectors_kb()?;
        if set == kib {
            Ok(())
        } else {
            Err(io::Error::other(format!(
                "requests of {kib} KiB became {set}"
            )))
        }
    }

    /// For whoever waits for I/O to end.
    pub fn let_time_pass(&self) {
        match self.place {
            Place::Detached(_) => thread::yield_now(),
            // Time stands still while anything runs; a sleep makes it jump to the next event.
            Place::Virtual(_) => thread::sleep(VIRTUAL_PAUSE),
        }
    }

    /// Makes a file of `bytes` bytes; none of it is in the page cache afterwards.
    pub fn fresh_file(&self, bytes: u64, content: Content) -> io::Result<FreshFile> {
        let path = self.place.path("file")?;
        let mut file = File::create(&path)?;
        let made = FreshFile {
            path,
            inode: file.metadata()?.ino(),
        };
        match content {
            Content::Holes => file.set_len(bytes)?,
            Content::Written => write(&mut file, bytes)?,
        }
        file.sync_all()?;
        // A page that somebody still holds, as the end of its write-back does, stays.
        for _ in 0..DROP_ATTEMPTS {
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
            if ahead_sys::cachestat::cachestat(&file)?.cached == 0 {
                return Ok(made);
            }
            self.let_time_pass();
        }
        Err(io::Error::other("the pages of a new file stay cached"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // In this order: with the largest request the kernel sets the window anew.
        let _ = self.queue.set_max_sectors_kb(self.max_sectors_kb_before);
        let _ = self.queue.set_read_ahead_kb(self.read_ahead_kb_before);
        if let Place::Detached(mount) = &mut self.place {
            drop(mount.take());
        }
        if let Some(number) = self.new_loop_device {
            // Busy until the kernel has let go of the memory. Whatever happens, we are done.
            let mut attempts = 0..REMOVE_ATTEMPTS;
            while loop_device::remove(number).is_err() && attempts.next().is_some() {
                thread::yield_now();
            }
        }
    }
}

/// A file that goes with this value.
#[derive(Debug)]
pub struct FreshFile {
    path: PathBuf,
    inode: u64,
}

impl FreshFile {
    /// Opens it once more; each descriptor has its own read-ahead state.
    pub fn open(&self) -> io::Result<File> {
        File::options().read(true).write(true).open(&self.path)
    }

    /// Its number in the file system.
    pub fn inode(&self) -> u64 {
        self.inode
    }
}

impl Drop for FreshFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn write(file: &mut File, bytes: u64) -> io::Result<()> {
    static CHUNK: [u8; 1 << 20] = [0x5A; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        let now = usize::try_from(left).map_or(CHUNK.len(), |left| left.min(CHUNK.len()));
        file.write_all(&CHUNK[..now])?;
        left -= now as u64;
    }
    Ok(())
}

fn make_file_system(memory: &File, folios: Folios) -> io::Result<()> {
    let output = Command::new("mkfs.ext4")
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .args(["-q", "-F", "-b", "4096", "-m", "0"])
        .args(folios.mkfs_options())
        .arg(format!(
            "/proc/{}/fd/{}",
            std::process::id(),
            memory.as_raw_fd()
        ))
        .output()?;
    if output.status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!(
            "mkfs.ext4: {}",
            String::from_utf8_lossy(&output.stderr)
        )))
    }
}

/// Puts a loop device on `memory`; it lets go when the last descriptor of it is closed.
fn attach(memory: impl AsFd) -> io::Result<(u32, File)> {
    let mut taken = io::Error::from(io::ErrorKind::ResourceBusy);
    for _ in 0..LOOP_ATTEMPTS {
        let number = loop_device::get_free()?;
        let device = loop_device::open(number)?;
        match loop_device::configure(&device, &memory, "ahead-conform") {
            Ok(()) => return Ok((number, device)),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}
