//! One block device in sysfs: what kind of layer it is, its limits, and the devices below it.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use ahead_sys::block_queue::{DeviceNumber, SECTOR_BYTES};
use serde::Serialize;

use crate::machine::{MachineTree, Unread};

/// What a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayerKind {
    /// A mounted file system.
    FileSystem,
    /// A logical volume of LVM.
    LogicalVolume,
    /// An encrypted device (dm-crypt).
    Crypt,
    /// Several ways to one disk (dm-multipath).
    Multipath,
    /// Any other mapped device.
    Mapped,
    /// A software array.
    Md,
    /// A file as a device.
    Loop,
    /// Compressed memory as a device.
    Zram,
    /// A partition; it has no window of its own.
    Partition,
    /// A disk, or what looks like one.
    Disk,
}

impl LayerKind {
    /// The word for it in tables.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::FileSystem => "file system",
            Self::LogicalVolume => "logical volume",
            Self::Crypt => "crypt",
            Self::Multipath => "multipath",
            Self::Mapped => "mapped",
            Self::Md => "md",
            Self::Loop => "loop",
            Self::Zram => "zram",
            Self::Partition => "partition",
            Self::Disk => "disk",
        }
    }
}

/// What the queue of a device says; `None` for what it does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueueLimits {
    /// Largest request that the block layer builds, in KiB.
    pub max_sectors_kb: Option<u64>,
    /// What the hardware allows of it, in KiB.
    pub max_hw_sectors_kb: Option<u64>,
    /// Requests that may wait.
    pub nr_requests: Option<u64>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Smallest addressable unit, in bytes.
    pub logical_block_bytes: Option<u64>,
    /// What the device calls its optimal request, in bytes; 0 when it names none.
    pub optimal_io_bytes: Option<u64>,
    /// Whether it says that it has an arm.
    pub rotational: Option<bool>,
    /// Zoned model: none, host-aware, host-managed.
    pub zoned: Option<String>,
}

/// A block device as sysfs shows it.
#[derive(Clone, Debug)]
pub struct BlockFacts {
    /// The kernel's name, as below `/dev`.
    pub name: String,
    /// What kind of layer it is.
    pub kind: LayerKind,
    /// Its number.
    pub number: Option<DeviceNumber>,
    /// A name that people gave it: that of the mapped device, the file of a loop device.
    pub label: Option<String>,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// Its queue; that of the disk for a partition.
    pub limits: QueueLimits,
    /// Its window; that of the disk for a partition.
    pub read_ahead_kb: Option<u64>,
    /// The file that holds the window.
    pub window_file: Option<PathBuf>,
    /// Folders of the devices directly below.
    pub below: Vec<PathBuf>,
    /// The file that a loop device is made of.
    pub backing_file: Option<PathBuf>,
    /// Whether it is a disk that a hypervisor made up.
    pub is_virtual: bool,
}

/// Disks that hypervisors make up, by what they say of their maker or, behind an ATA controller, of their model.
const MAKERS_OF_VIRTUAL: [&str; 7] = [
    "Msft", "VMware", "QEMU", "Google", "Nutanix", "XENSRC", "VBOX",
];

/// What a device is called below `/dev` that has this name in sysfs, where an exclamation mark stands for a slash.
#[must_use]
pub fn name_in_dev(name: &str) -> String {
    name.replace('!', "/")
}

/// The folder of the device with this number or, for a name, of the device called so.
#[must_use]
pub fn folder_of(machine: &MachineTree, device: &str) -> Option<PathBuf> {
    // A name with a slash in it, as of a controller's disk, has an exclamation mark in sysfs.
    let name = device.replace('/', "!");
    if name.starts_with('.') || name.is_empty() {
        return None;
    }
    let place = if name.contains(':') { "dev" } else { "class" };
    let link = match place {
        "dev" => machine.sys().join("dev/block").join(name),
        _ => machine.sys().join("class/block").join(name),
    };
    fs::canonicalize(link).ok().filter(|folder| folder.is_dir())
}

/// The folder in sysfs of the device behind a node such as `/dev/sda1` or `/dev/mapper/vg-home`.
#[must_use]
pub fn node(machine: &MachineTree, node: &Path) -> Option<PathBuf> {
    let real = fs::metadata(machine.below(node)).ok();
    if let Some(found) = real.filter(|found| found.file_type().is_block_device()) {
        let number = DeviceNumber::from_dev(found.rdev());
        return folder_of(machine, &number.to_string());
    }
    let name = node.strip_prefix("/dev").ok()?.to_str()?;
    if let Some(folder) = folder_of(machine, name) {
        return Some(folder);
    }
    let mapped = name.strip_prefix("mapper/")?;
    let folders = machine.names(&machine.sys().join("class/block"));
    let mut folders = folders
        .iter()
        .filter(|name| name.starts_with("dm-"))
        .filter_map(|name| folder_of(machine, name));
    folders.find(|folder| {
        let name = fs::read_to_string(folder.join("dm/name"));
        name.is_ok_and(|name| name.trim_end() == mapped)
    })
}

/// Reads a device by its folder.
#[must_use]
pub fn read(machine: &MachineTree, folder: &Path, unread: &mut Vec<Unread>) -> BlockFacts {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let name = name_in_dev(&name);
    let number = machine
        .text(&folder.join("dev"), unread)
        .and_then(|text| DeviceNumber::parse(text.trim()));
    let kind = kind(machine, folder, &name, unread);
    let queue = match kind {
        LayerKind::Partition => folder.parent().unwrap_or(folder).join("queue"),
        _ => folder.join("queue"),
    };
    let backing_file = machine
        .text(&folder.join("loop/backing_file"), unread)
        .map(PathBuf::from);
    let mapped = machine.text(&folder.join("dm/name"), unread);
    let label = mapped.or_else(|| {
        let file = backing_file.as_ref()?;
        Some(file.to_string_lossy().into_owned())
    });
    let below = match kind {
        LayerKind::Partition => folder.parent().map(Path::to_path_buf).into_iter().collect(),
        _ => slaves(machine, folder, unread),
    };
    let is_virtual = kind == LayerKind::Disk && is_virtual(machine, folder, &name);
    let window_file = Some(queue.join("read_ahead_kb")).filter(|file| file.exists());
    BlockFacts {
        kind,
        number,
        label,
        size_bytes: machine
            .number(&folder.join("size"), unread)
            .map(|sectors| sectors.saturating_mul(SECTOR_BYTES)),
        limits: limits(machine, &queue, unread),
        read_ahead_kb: machine.number(&queue.join("read_ahead_kb"), unread),
        window_file,
        below,
        backing_file,
        is_virtual,
        name,
    }
}

fn kind(machine: &MachineTree, folder: &Path, name: &str, unread: &mut Vec<Unread>) -> LayerKind {
    if folder.join("partition").exists() {
        return LayerKind::Partition;
    }
    if folder.join("dm").is_dir() {
        let uuid = machine.text(&folder.join("dm/uuid"), unread);
        let uuid = uuid.unwrap_or_default();
        let kinds = [
            ("LVM-", LayerKind::LogicalVolume),
            ("CRYPT-", LayerKind::Crypt),
            ("mpath-", LayerKind::Multipath),
        ];
        let known = kinds.into_iter().find(|(start, _)| uuid.starts_with(start));
        return known.map_or(LayerKind::Mapped, |(_, kind)| kind);
    }
    if folder.join("md").is_dir() {
        return LayerKind::Md;
    }
    // A loop device without a file has no such folder.
    if folder.join("loop").is_dir() || is_numbered(name, "loop") {
        return LayerKind::Loop;
    }
    if is_numbered(name, "zram") {
        return LayerKind::Zram;
    }
    LayerKind::Disk
}

/// Whether a disk says that it is one of a hypervisor.
fn is_virtual(machine: &MachineTree, folder: &Path, name: &str) -> bool {
    let by_name = ["vd", "xvd"].iter().any(|start| name.starts_with(start));
    by_name
        || ["device/vendor", "device/model"].iter().any(|file| {
            let says = machine.text(&folder.join(file), &mut Vec::new());
            let says = says.unwrap_or_default().to_ascii_lowercase();
            let maker = says.split_whitespace().next().unwrap_or_default();
            let mut makers = MAKERS_OF_VIRTUAL.iter();
            makers.any(|one| one.eq_ignore_ascii_case(maker))
        })
}

fn is_numbered(name: &str, start: &str) -> bool {
    let rest = name.strip_prefix(start);
    rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

fn slaves(machine: &MachineTree, folder: &Path, unread: &mut Vec<Unread>) -> Vec<PathBuf> {
    let slaves = folder.join("slaves");
    let mut found = Vec::new();
    for name in machine.names(&slaves) {
        match fs::canonicalize(slaves.join(&name)) {
            Ok(folder) => found.push(folder),
            Err(error) => machine.note(&slaves.join(name), error.kind().to_string(), unread),
        }
    }
    found
}

fn limits(machine: &MachineTree, queue: &Path, unread: &mut Vec<Unread>) -> QueueLimits {
    let mut number = |name: &str| machine.number(&queue.join(name), unread);
    let max_sectors_kb = number("max_sectors_kb");
    let max_hw_sectors_kb = number("max_hw_sectors_kb");
    let nr_requests = number("nr_requests");
    let logical_block_bytes = number("logical_block_size");
    let optimal_io_bytes = number("optimal_io_size");
    QueueLimits {
        max_sectors_kb,
        max_hw_sectors_kb,
        nr_requests,
        logical_block_bytes,
        optimal_io_bytes,
        scheduler: machine.choice(&queue.join("scheduler"), unread),
        rotational: machine.flag(&queue.join("rotational"), unread),
        zoned: machine.text(&queue.join("zoned"), unread),
    }
}
