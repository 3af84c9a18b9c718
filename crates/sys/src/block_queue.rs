//! A block device in sysfs: its queue settings and its counters.
//!
//! Finds the folder by device number and reads or writes single values. What to set, when to put
//! it back and how to survive a crash in between is the business of callers.
//! The root folder (normally `/sys`) is an argument, so that a test can build a small one.
//! [`QueueFacts`] allocates nothing, for a library inside another program.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::small_file::{SmallPath, number};

/// Bytes in one sector of the counters. Always 512, whatever the device's own block size is.
pub const SECTOR_BYTES: u64 = 512;

/// Major and minor number of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceNumber {
    /// Which driver.
    pub major: u32,
    /// Which of the driver's devices, or which partition.
    pub minor: u32,
}

impl DeviceNumber {
    /// Splits `st_dev` of a file, or `st_rdev` of a device node.
    #[must_use]
    pub const fn from_dev(dev: u64) -> Self {
        Self {
            major: libc::major(dev),
            minor: libc::minor(dev),
        }
    }

    /// `8:1`, as `/proc` and `/sys` write it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.split_once(':')?;
        Some(Self {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }
}

impl std::fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// What the queue of a device says about it; `None` for what cannot be read. Where there is no block
/// device (NFS, FUSE), only the read-ahead window of the superblock is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueFacts {
    /// Whether it says that it has an arm.
    pub rotational: Option<bool>,
    /// Largest read-ahead window of files opened from now on, in KiB.
    pub read_ahead_kb: Option<u64>,
    /// Largest request that the block layer builds, in KiB.
    pub max_sectors_kb: Option<u64>,
    /// Bytes of the smallest request that wastes nothing: a chunk of an array. Only read of what says that it has an arm, as
    /// this is the start of every process that waits.
    pub minimum_io_size: Option<u64>,
    /// Bytes of the best request: a row of an array; 0 where it does not say. Only read with the one above.
    pub optimal_io_size: Option<u64>,
}

impl QueueFacts {
    /// Reads them, of the device itself or of the disk that it is a part of.
    #[must_use]
    pub fn read(sys_root: &Path, device: DeviceNumber) -> Self {
        let value = |name: &str| -> Option<u64> {
            // A link to the device; behind a partition's is the disk's folder.
            ["queue", "../queue"].into_iter().find_map(|queue| {
                let mut path = SmallPath::below(sys_root);
                write!(path, "/dev/block/{device}/{queue}/{name}").ok()?;
                number(path.read().ok()?)
            })
        };
        let of_superblock = || {
            let mut path = SmallPath::below(sys_root);
            write!(path, "/class/bdi/{device}/read_ahead_kb").ok()?;
            number(path.read().ok()?)
        };
        let rotational = value("rotational").map(|flag| flag != 0);
        let of_arm = |name| rotational.filter(|flag| *flag).and_then(|_| value(name));
        Self {
            rotational,
            read_ahead_kb: value("read_ahead_kb").or_else(of_superblock),
            max_sectors_kb: value("max_sectors_kb"),
            minimum_io_size: of_arm("minimum_io_size"),
            optimal_io_size: of_arm("optimal_io_size"),
        }
    }
}

/// Whether files of the superblock with this number are read by a server, although that is the number of a block device: FUSE over one,
/// as ntfs-3g, has a read-ahead window of its own.
#[must_use]
pub fn is_fuse_over(sys_root: &Path, device: DeviceNumber) -> bool {
    let mut path = SmallPath::below(sys_root);
    let written = write!(path, "/class/bdi/{device}-fuseblk/read_ahead_kb");
    written.is_ok() && path.read().is_ok()
}

/// One setting of a queue as it was, for whoever notes it before a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueSetting {
    /// The file that holds it.
    pub file: PathBuf,
    /// What to write there to have it back.
    pub value: String,
}

/// Counters since the device appeared. They only grow, except `in_flight`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockStat {
    /// Read requests completed.
    pub reads: u64,
    /// Bytes of completed read requests.
    pub read_bytes: u64,
    /// Write requests completed.
    pub writes: u64,
    /// Bytes of completed write requests.
    pub written_bytes: u64,
    /// Requests handed to the driver and not completed now.
    pub in_flight: u64,
}

/// One block device: a disk, or a partition, whose queue is then that of its disk.
#[derive(Clone, Debug)]
pub struct BlockQueue {
    folder: PathBuf,
    queue: PathBuf,
}

impl BlockQueue {
    /// Finds the device. `NotFound` means that the number belongs to no block device, as for
    /// tmpfs, overlayfs, NFS or btrfs, whose files carry a made-up number.
    pub fn open(sys_root: &Path, device: DeviceNumber) -> io::Result<Self> {
        let folder = fs::canonicalize(sys_root.join("dev/block").join(device.to_string()))?;
        let own = folder.join("queue");
        let queue = if own.is_dir() {
            own
        } else {
            let parent = folder.parent().map(|disk| disk.join("queue"));
            parent
                .filter(|queue| queue.is_dir())
                .ok_or(io::ErrorKind::NotFound)?
        };
        Ok(Self { folder, queue })
    }

    /// Finds the disk that the device is a part of, or is: its counters are those of all its partitions.
    pub fn open_whole(sys_root: &Path, device: DeviceNumber) -> io::Result<Self> {
        let mut found = Self::open(sys_root, device)?;
        if let Some(disk) = found.queue.parent() {
            found.folder = disk.to_owned();
        }
        Ok(found)
    }

    /// The disk that the kernel calls `name`.
    pub fn of_disk(sys_root: &Path, name: &str) -> io::Result<Self> {
        let folder = fs::canonicalize(sys_root.join("block").join(name))?;
        let queue = folder.join("queue");
        Ok(Self { folder, queue })
    }

    /// The kernel's name of the device, as below `/dev`.
    #[must_use]
    pub fn name(&self) -> String {
        let name = self.folder.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// A setting as it is now. Of a choice (`[none] mq-deadline`) the value is the one in use.
    pub fn setting(&self, name: &str) -> io::Result<QueueSetting> {
        let file = self.queue.join(name);
        let text = fs::read_to_string(&file)?;
        let chosen = text
            .split_once('[')
            .and_then(|(_, rest)| rest.split_once(']'));
        let value = chosen.map_or_else(|| text.trim(), |(value, _)| value);
        Ok(QueueSetting {
            value: value.to_owned(),
            file,
        })
    }

    /// Changes a setting.
    pub fn set(&self, name: &str, value: &str) -> io::Result<()> {
        fs::write(self.queue.join(name), value)
    }

    /// Largest read-ahead window of files opened from now on, in KiB.
    pub fn read_ahead_kb(&self) -> io::Result<u64> {
        self.number("read_ahead_kb")
    }

    /// Sets the read-ahead window, in KiB. Files that are already open keep theirs.
    pub fn set_read_ahead_kb(&self, kib: u64) -> io::Result<()> {
        self.set("read_ahead_kb", &kib.to_string())
    }

    /// Largest request that the block layer builds, in KiB.
    pub fn max_sectors_kb(&self) -> io::Result<u64> {
        self.number("max_sectors_kb")
    }

    /// Sets the largest request, in KiB. The kernel refuses more than `max_hw_sectors_kb`.
    pub fn set_max_sectors_kb(&self, kib: u64) -> io::Result<()> {
        self.set("max_sectors_kb", &kib.to_string())
    }

    fn number(&self, name: &str) -> io::Result<u64> {
        let mut path = SmallPath::below(&self.queue.join(name));
        number(path.read()?).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// The counters now.
    pub fn stat(&self) -> io::Result<BlockStat> {
        let text = fs::read(self.folder.join("stat"))?;
        BlockStat::parse(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

impl BlockStat {
    /// The counters of a device now; `None` where it is no block device, or does not say. Allocates nothing.
    #[must_use]
    pub fn read(sys_root: &Path, device: DeviceNumber) -> Option<Self> {
        let mut path = SmallPath::below(sys_root);
        write!(path, "/dev/block/{device}/stat").ok()?;
        Self::parse(path.read().ok()?)
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let text = str::from_utf8(text).ok()?;
        let mut fields = text.split_ascii_whitespace().map(str::parse::<u64>);
        let mut field = |skip: usize| fields.nth(skip).and_then(Result::ok);
        // reads, reads merged, sectors read, ms reading, writes, writes merged, sectors written,
        // ms writing, in flight, …
        let reads = field(0)?;
        let sectors = field(1)?;
        let writes = field(1)?;
        let written_sectors = field(1)?;
        let in_flight = field(1)?;
        Some(Self {
            reads,
            read_bytes: sectors.saturating_mul(SECTOR_BYTES),
            writes,
            written_bytes: written_sectors.saturating_mul(SECTOR_BYTES),
            in_flight,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small_sysfs() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let disk = root.path().join("devices/disk0");
        fs::create_dir_all(disk.join("queue")).unwrap();
        fs::create_dir_all(disk.join("disk0p1")).unwrap();
        fs::create_dir_all(root.path().join("dev/block")).unwrap();
        fs::write(disk.join("queue/read_ahead_kb"), "128\n").unwrap();
        let stat = "  10 2 800 5 7 0 64 1 3 4 5 0 0 0 0 0 0\n";
        fs::write(disk.join("stat"), stat).unwrap();
        fs::write(disk.join("disk0p1/stat"), stat.replace("800", "16")).unwrap();
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(root.path().join(to), root.path().join(name)).unwrap();
        };
        link("devices/disk0", "dev/block/8:0");
        link("devices/disk0/disk0p1", "dev/block/8:1");
        root
    }

    #[test]
    fn a_partition_has_its_own_counters_and_the_queue_of_its_disk() {
        let root = small_sysfs();
        let part = BlockQueue::open(root.path(), DeviceNumber { major: 8, minor: 1 }).unwrap();
        assert_eq!(
            part.stat().unwrap(),
            BlockStat {
                reads: 10,
                read_bytes: 16 * 512,
                writes: 7,
                written_bytes: 64 * 512,
                in_flight: 3
            }
        );
        let whole = BlockQueue::open_whole(root.path(), DeviceNumber { major: 8, minor: 1 });
        assert_eq!(whole.unwrap().stat().unwrap().read_bytes, 800 * 512);
        part.set_read_ahead_kb(512).unwrap();
        let disk = BlockQueue::open(root.path(), DeviceNumber { major: 8, minor: 0 }).unwrap();
        assert_eq!(disk.read_ahead_kb().unwrap(), 512);
        assert_eq!(disk.stat().unwrap().read_bytes, 800 * 512);
    }

    #[test]
    fn the_facts_of_a_partition_are_those_of_its_disk() {
        let root = small_sysfs();
        let queue = root.path().join("devices/disk0/queue");
        fs::write(queue.join("rotational"), "1\n").unwrap();
        fs::write(queue.join("minimum_io_size"), "65536\n").unwrap();
        fs::write(queue.join("optimal_io_size"), "327680\n").unwrap();
        let known = QueueFacts {
            rotational: Some(true),
            read_ahead_kb: Some(128),
            max_sectors_kb: None,
            minimum_io_size: Some(65_536),
            optimal_io_size: Some(327_680),
        };
        for minor in [0, 1] {
            let device = DeviceNumber { major: 8, minor };
            assert_eq!(QueueFacts::read(root.path(), device), known);
        }
        let other = DeviceNumber { major: 0, minor: 9 };
        assert_eq!(QueueFacts::read(root.path(), other), QueueFacts::default());
    }

    /// NFS and FUSE.
    #[test]
    fn a_superblock_without_a_block_device_has_a_window_of_its_own() {
        let root = small_sysfs();
        let superblock = root.path().join("class/bdi/0:44");
        fs::create_dir_all(&superblock).unwrap();
        fs::write(superblock.join("read_ahead_kb"), "15360\n").unwrap();
        let facts = |minor| QueueFacts::read(root.path(), DeviceNumber { major: 0, minor });
        let known = QueueFacts {
            read_ahead_kb: Some(15360),
            ..QueueFacts::default()
        };
        assert_eq!((facts(44), facts(45)), (known, QueueFacts::default()));
    }

    /// ntfs-3g: the number is that of the disk, but its server reads.
    #[test]
    fn fuse_over_a_block_device_is_known_by_its_window() {
        let root = small_sysfs();
        let superblock = root.path().join("class/bdi/8:1-fuseblk");
        fs::create_dir_all(&superblock).unwrap();
        fs::write(superblock.join("read_ahead_kb"), "128\n").unwrap();
        let is_fuse = |minor| is_fuse_over(root.path(), DeviceNumber { major: 8, minor });
        assert!(is_fuse(1) && !is_fuse(0));
    }

    /// LVM, md, loop: a queue of its own, not that of the disk below.
    #[test]
    fn the_facts_of_a_mapped_device_are_its_own() {
        let root = small_sysfs();
        let mapped = root.path().join("devices/virtual/block/dm-0");
        fs::create_dir_all(mapped.join("queue")).unwrap();
        fs::create_dir_all(mapped.join("slaves")).unwrap();
        let disk = root.path().join("devices/disk0");
        std::os::unix::fs::symlink(&disk, mapped.join("slaves/disk0")).unwrap();
        std::os::unix::fs::symlink(&mapped, root.path().join("dev/block/253:0")).unwrap();
        fs::write(disk.join("queue/rotational"), "1\n").unwrap();
        fs::write(mapped.join("queue/rotational"), "0\n").unwrap();
        fs::write(mapped.join("queue/read_ahead_kb"), "4096\n").unwrap();
        let device = DeviceNumber {
            major: 253,
            minor: 0,
        };
        let facts = QueueFacts::read(root.path(), device);
        assert_eq!(facts.rotational, Some(false));
        assert_eq!(facts.read_ahead_kb, Some(4096));
    }

    #[test]
    fn of_a_choice_the_one_in_use_is_noted() {
        let root = small_sysfs();
        let file = root.path().join("devices/disk0/queue/scheduler");
        fs::write(&file, "none [mq-deadline] bfq\n").unwrap();
        let disk = BlockQueue::open(root.path(), DeviceNumber { major: 8, minor: 0 }).unwrap();
        assert_eq!(disk.name(), "disk0");
        let before = disk.setting("scheduler").unwrap();
        assert_eq!(before.value, "mq-deadline");
        disk.set("scheduler", "none").unwrap();
        assert_eq!(fs::read_to_string(before.file).unwrap(), "none");
    }

    #[test]
    fn a_number_without_a_block_device_is_not_found() {
        let root = small_sysfs();
        let missing = BlockQueue::open(
            root.path(),
            DeviceNumber {
                major: 0,
                minor: 44,
            },
        );
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
