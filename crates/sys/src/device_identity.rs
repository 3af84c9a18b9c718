//! What identifies a device: a number that stays the same when devices are numbered anew.
//!
//! A disk is known by what its maker wrote into it, a mapped or assembled one by its own UUID, a loop
//! device by its file. None of them is known by the disks below it. A partition is its disk. Where there
//! is only a place in the machine, that and the size must do; where there is not even that, and for
//! superblocks without a block device, the number holds until the machine is started again.
//!
//! The root folders (`/sys`, `/proc`) are arguments, so that a test can build small ones. Allocates
//! nothing, for a library inside another program.

use std::fmt::Write as _;
use std::path::Path;

use rustix::fs::CWD;

use crate::block_queue::DeviceNumber;
use crate::small_file::SmallPath;

/// Longest value that is read: the path of a loop device's file. A longer one counts as absent.
const VALUE_BYTES_MAX: usize = 1024;

/// What some kind of devices has of its own, in the order in which it is looked for.
pub const OWN: [&str; 4] = ["dm/uuid", "dm/name", "md/uuid", "loop/backing_file"];
/// What a maker wrote into a disk; which of these there are depends on its driver.
pub const MADE: [&str; 4] = ["wwid", "device/wwid", "serial", "device/serial"];

/// The identity of a block device; `None` where there is none with this number. Never 0.
#[must_use]
pub fn of_block_device(sys: &Path, proc: &Path, device: DeviceNumber) -> Option<u64> {
    let mut digest = Digest::new();
    let folder = |disk: &str, name: &str| {
        let mut path = SmallPath::below(sys);
        write!(path, "/dev/block/{device}{disk}/{name}").map(|()| path)
    };
    let value = |digest: &mut Digest, disk: &str, name: &str| {
        let path = folder(disk, name).ok();
        path.is_some_and(|mut path| digest.add_file(name, &mut path))
    };
    let is_part = value(&mut Digest::new(), "", "partition");
    // A link to the device; behind a partition's is the disk's folder.
    let disk = if is_part { "/.." } else { "" };
    if !value(&mut digest, disk, "size") {
        return None;
    }
    if OWN.iter().any(|name| value(&mut digest, disk, name)) {
        value(&mut digest, disk, "loop/offset");
        return Some(digest.number());
    }
    value(&mut digest, disk, "device/model");
    let is_made = MADE
        .iter()
        .fold(false, |made, name| value(&mut digest, disk, name) | made);
    if is_made {
        return Some(digest.number());
    }
    let mut path = SmallPath::below(sys);
    write!(path, "/dev/block/{device}").ok()?;
    let (link, place) = path.parts().ok()?;
    let length = rustix::fs::readlinkat_raw(CWD, link, &mut place[..VALUE_BYTES_MAX]).ok()?;
    let place = &place[..length];
    let end = place.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    digest.add("place", if is_part { &place[..end] } else { place });
    let is_virtual = place.windows(9).any(|part| part == b"/virtual/");
    if is_virtual {
        value(&mut digest, disk, "diskseq");
        digest.add_boot(proc)?;
    }
    Some(digest.number())
}

/// The identity of a superblock without a block device, which its files call `device`, of a file system
/// whose kind is `magic`: until the machine is started again. `None` where that cannot be
/// told. Never 0.
#[must_use]
pub fn of_superblock(proc: &Path, device: u64, magic: u64) -> Option<u64> {
    let mut digest = Digest::new();
    digest.add("device", &device.to_ne_bytes());
    digest.add("magic", &magic.to_ne_bytes());
    digest.add_boot(proc)?;
    Some(digest.number())
}

/// A number for a text that stands for an identity, the same on every machine. Never 0.
#[must_use]
pub fn of_text(text: &str) -> u64 {
    let mut digest = Digest::new();
    digest.add("text", text.as_bytes());
    digest.number()
}

/// FNV-1a with 64 bits: whoever can write to /sys needs no collision.
struct Digest(u64);

impl Digest {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, name: &str, value: &[u8]) {
        for byte in [name.as_bytes(), b"=", value, b"\n"].into_iter().flatten() {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Whether there is such a file and it holds anything.
    fn add_file(&mut self, name: &str, path: &mut SmallPath) -> bool {
        let value = path.read().unwrap_or_default();
        let fits = value.len() < VALUE_BYTES_MAX;
        let value = if fits { value.trim_ascii() } else { &[] };
        if !value.is_empty() {
            self.add(name, value);
        }
        !value.is_empty()
    }

    fn add_boot(&mut self, proc: &Path) -> Option<()> {
        let mut path = SmallPath::below(proc);
        path.push(b"/sys/kernel/random/boot_id");
        self.add_file("boot", &mut path).then_some(())
    }

    fn number(&self) -> u64 {
        self.0.max(1)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A small /sys and /proc.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new() -> Self {
            let machine = Self(tempfile::tempdir().unwrap());
            machine.boot("first");
            machine
        }

        fn boot(&self, id: &str) {
            self.file("proc/sys/kernel/random/boot_id", id);
        }

        fn file(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }

        /// A device below `/devices` with these values.
        fn device(&self, minor: u32, place: &str, values: &[(&str, &str)]) {
            for (name, value) in values {
                self.file(&format!("devices/{place}/{name}"), value);
            }
            let links = self.0.path().join("dev/block");
            fs::create_dir_all(&links).unwrap();
            let link = links.join(format!("8:{minor}"));
            let _ = fs::remove_file(&link);
            symlink(format!("../../devices/{place}"), link).unwrap();
        }

        fn identity(&self, minor: u32) -> u64 {
            let device = DeviceNumber { major: 8, minor };
            let proc = self.0.path().join("proc");
            of_block_device(self.0.path(), &proc, device).expect("a device")
        }
    }

    const DISK: [(&str, &str); 3] = [
        ("size", "1000"),
        ("device/model", "X1"),
        ("device/wwid", "naa.5000"),
    ];

    #[test]
    fn a_disk_is_the_same_at_another_place_under_another_number_after_a_restart() {
        let machine = Machine::new();
        machine.device(0, "pci0/a/block/sda", &DISK);
        machine.device(16, "pci0/b/block/sdb", &DISK);
        let before = machine.identity(0);
        assert_eq!(machine.identity(16), before);
        machine.boot("second");
        assert_eq!(machine.identity(0), before);
        let other = [DISK[0], DISK[1], ("device/wwid", "naa.5001")];
        machine.device(16, "pci0/b/block/sdb", &other);
        assert_ne!(machine.identity(16), before);
    }

    #[test]
    fn a_partition_is_its_disk() {
        let machine = Machine::new();
        machine.device(0, "pci0/a/block/sda", &DISK);
        let part = [("size", "10"), ("partition", "1")];
        machine.device(1, "pci0/a/block/sda/sda1", &part);
        assert_eq!(machine.identity(1), machine.identity(0));
        let nameless = [("size", "1000")];
        machine.device(32, "pci0/c/block/vda", &nameless);
        machine.device(33, "pci0/c/block/vda/vda1", &part);
        assert_eq!(machine.identity(33), machine.identity(32));
    }

    #[test]
    fn without_a_serial_number_the_place_and_the_size_count() {
        let machine = Machine::new();
        let disk = |place, size| {
            machine.device(0, place, &[("size", size), ("serial", "")]);
            machine.identity(0)
        };
        let first = disk("pci0/virtio1/block/vda", "1000");
        assert_ne!(disk("pci0/virtio2/block/vda", "1000"), first);
        assert_ne!(disk("pci0/virtio1/block/vda", "2000"), first);
        machine.boot("second");
        assert_eq!(disk("pci0/virtio1/block/vda", "1000"), first);
    }

    /// Whatever is below them, and however they are numbered.
    #[test]
    fn mapped_assembled_and_loop_devices_are_known_by_what_is_their_own() {
        let machine = Machine::new();
        let kinds = [
            ("dm/uuid", "LVM-abc", "LVM-abd"),
            ("dm/name", "test", "test2"),
            ("md/uuid", "0:1:2", "0:1:3"),
            ("loop/backing_file", "/a b", "/a c"),
        ];
        for (name, one, other) in kinds {
            let identity = |place, value| {
                machine.device(0, place, &[("size", "1000"), (name, value)]);
                let found = machine.identity(0);
                fs::remove_dir_all(machine.0.path().join("devices")).unwrap();
                found
            };
            let first = identity("virtual/block/x0", one);
            assert_eq!(identity("virtual/block/x1", one), first, "{name}");
            assert_ne!(identity("virtual/block/x0", other), first, "{name}");
            machine.boot(one);
            assert_eq!(identity("virtual/block/x0", one), first, "{name}");
        }
    }

    #[test]
    fn a_device_that_only_has_a_number_is_known_until_the_next_start() {
        let machine = Machine::new();
        let identity = |sequence| {
            let values = [("size", "1000"), ("diskseq", sequence)];
            machine.device(0, "virtual/block/nbd0", &values);
            machine.identity(0)
        };
        let first = identity("7");
        assert_ne!(identity("8"), first, "connected again");
        machine.boot("second");
        assert_ne!(identity("7"), first);
    }

    #[test]
    fn a_superblock_is_known_by_number_and_kind_until_the_next_start() {
        let machine = Machine::new();
        let proc = machine.0.path().join("proc");
        let nfs = of_superblock(&proc, 44, 0x6969).unwrap();
        assert_eq!(of_superblock(&proc, 44, 0x6969), Some(nfs));
        assert_ne!(of_superblock(&proc, 45, 0x6969), Some(nfs));
        assert_ne!(of_superblock(&proc, 44, 0x6573_5546), Some(nfs), "FUSE");
        machine.boot("second");
        assert_ne!(of_superblock(&proc, 44, 0x6969), Some(nfs));
        assert_eq!(of_superblock(machine.0.path(), 44, 0x6969), None);
        let number = DeviceNumber {
            major: 0,
            minor: 44,
        };
        assert_eq!(of_block_device(machine.0.path(), &proc, number), None);
    }
}
