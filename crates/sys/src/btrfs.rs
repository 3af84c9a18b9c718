//! `/sys/fs/btrfs/UUID` - what a btrfs says of itself and of its disks.
//!
//! The number of its superblock is in no other place of sysfs, and its subvolumes have further ones. What `fstatfs` tells of it
//! is a digest of the UUID by which sysfs calls it: `btrfs_statfs` in `fs/btrfs/super.c`. Allocates nothing and asks the
//! kernel past the C library, for a library inside another program.

use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, RawDir};

use crate::block_queue::{DeviceNumber, QueueFacts};
use crate::small_file::{SmallPath, close_by_kernel, number};

/// Names that are read at once; each takes 24 bytes and itself.
const NAMES_BYTES: usize = 1024;

/// Hexadecimal digits of a UUID.
const UUID_DIGITS: usize = 32;

/// The window of the btrfs on which `file` lies, and what its disks say: `rotational` if one of them does. `None` where that
/// cannot be told. Lists two folders.
#[must_use]
pub fn queue_facts(sys_root: &Path, file: BorrowedFd<'_>) -> Option<QueueFacts> {
    let identity = rustix::fs::fstatvfs(file).ok()?.f_fsid;
    let first_half = u32::try_from(identity & u64::from(u32::MAX)).ok()?;
    facts_of(sys_root, first_half)
}

fn facts_of(sys_root: &Path, digest: u32) -> Option<QueueFacts> {
    let mut facts = None;
    for_each_name(&mut path_of(sys_root, &[]), |uuid| {
        if facts.is_none() && digest_of(uuid) == Some(digest) {
            facts = Some(read(sys_root, uuid));
        }
    });
    facts
}

/// The first and the third of the four words of a UUID, one across the other. Subvolumes change the other half of the digest.
fn digest_of(uuid: &[u8]) -> Option<u32> {
    let mut digits = uuid.iter().filter(|byte| **byte != b'-');
    let is_whole = digits.clone().count() == UUID_DIGITS;
    let mut word = || {
        let eight = digits.by_ref().take(8);
        eight
            .map(|digit| char::from(*digit).to_digit(16))
            .try_fold(0, |word: u32, digit| Some(word << 4 | digit?))
    };
    let words = [word()?, word()?, word()?, word()?];
    is_whole.then_some(words[0] ^ words[2])
}

fn read(sys_root: &Path, uuid: &[u8]) -> QueueFacts {
    let mut window = path_of(sys_root, &[uuid, b"bdi/read_ahead_kb"]);
    let mut facts = QueueFacts {
        read_ahead_kb: window.read().ok().and_then(number),
        ..QueueFacts::default()
    };
    for_each_name(&mut path_of(sys_root, &[uuid, b"devices"]), |disk| {
        let mut path = path_of(sys_root, &[uuid, b"devices", disk, b"dev"]);
        let text = path.read().ok().and_then(|text| str::from_utf8(text).ok());
        if let Some(number) = text.and_then(|text| DeviceNumber::parse(text.trim_end())) {
            let queue = QueueFacts::read(sys_root, number);
            facts.rotational = facts.rotational.max(queue.rotational);
            facts.max_sectors_kb = facts.max_sectors_kb.or(queue.max_sectors_kb);
        }
    });
    facts
}

/// What `parts`, one in the other, name below `/sys/fs/btrfs`.
fn path_of(sys_root: &Path, parts: &[&[u8]]) -> SmallPath {
    let mut path = SmallPath::below(sys_root);
    path.push(b"/fs/btrfs");
    for part in parts {
        path.push(b"/").push(part);
    }
    path
}

/// Calls `take` with each name in a folder.
fn for_each_name(folder: &mut SmallPath, mut take: impl FnMut(&[u8])) {
    let Ok((path, _)) = folder.parts() else {
        return;
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(opened) = rustix::fs::open(path, flags, Mode::empty()) else {
        return;
    };
    let mut buffer = [MaybeUninit::<u8>::uninit(); NAMES_BYTES];
    let mut names = RawDir::new(&opened, &mut buffer);
    while let Some(Ok(entry)) = names.next() {
        let name = entry.file_name().to_bytes();
        if !name.starts_with(b".") {
            take(name);
        }
    }
    close_by_kernel(opened);
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    const UUID: &str = "cdedbc04-565d-44fc-b73f-94c88348c1d8";
    const DIGEST: u32 = 0xcded_bc04 ^ 0xb73f_94c8;

    /// One btrfs on a disk and a partition of another one, which has an arm if `has_arm`.
    fn machine(has_arm: bool) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("devices/sda/queue/rotational", "0\n");
        write("devices/sda/queue/max_sectors_kb", "1280\n");
        write(
            "devices/sdb/queue/rotational",
            if has_arm { "1\n" } else { "0\n" },
        );
        write("devices/sda/dev", "8:0\n");
        write("devices/sdb/sdb1/dev", "8:17\n");
        write(&format!("fs/btrfs/{UUID}/bdi/read_ahead_kb"), "4096\n");
        write("fs/btrfs/features/acl", "0\n");
        let devices = root.path().join(format!("fs/btrfs/{UUID}/devices"));
        fs::create_dir_all(&devices).unwrap();
        let numbers = root.path().join("dev/block");
        fs::create_dir_all(&numbers).unwrap();
        for (name, number, place) in [("sda", "8:0", "sda"), ("sdb1", "8:17", "sdb/sdb1")] {
            let place = root.path().join("devices").join(place);
            symlink(&place, devices.join(name)).unwrap();
            symlink(&place, numbers.join(number)).unwrap();
        }
        root
    }

    #[test]
    fn a_btrfs_has_an_arm_where_one_of_its_disks_has_one() {
        for has_arm in [false, true] {
            let root = machine(has_arm);
            let facts = facts_of(root.path(), DIGEST).unwrap();
            assert_eq!(facts.rotational, Some(has_arm));
            assert_eq!(facts.read_ahead_kb, Some(4096));
            assert_eq!(facts.max_sectors_kb, Some(1280));
        }
    }

    #[test]
    fn another_btrfs_says_nothing() {
        let root = machine(true);
        assert_eq!(facts_of(root.path(), DIGEST ^ 1), None);
        let nothing = tempfile::tempdir().unwrap();
        assert_eq!(facts_of(nothing.path(), DIGEST), None);
    }

    #[test]
    fn a_name_that_is_no_uuid_has_no_digest() {
        assert_eq!(digest_of(UUID.as_bytes()), Some(DIGEST));
        for name in [
            "",
            "features",
            "cdedbc04-565d-44fc-b73f-94c88348c1d",
            "cdedbc04-565d-44fc-b73f-94c88348c1dx",
            "cdedbc04-565d-44fc-b73f-94c88348c1d80",
        ] {
            assert_eq!(digest_of(name.as_bytes()), None, "{name}");
        }
    }
}
