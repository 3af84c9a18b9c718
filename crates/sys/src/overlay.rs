//! `/proc/self/mountinfo`, `fstatfs` - which block device the files of an overlay lie on.
//!
//! An overlay does not say, and the paths of its layers mean nothing inside a container. But what `fstatfs` tells of its blocks and inodes
//! is what the file system of its upper layer tells: `ovl_statfs` in `fs/overlayfs/super.c`. One that is mounted
//! from a block device and tells the same is that one; of a container's it is at least mounted on `/etc/hosts`. Allocates
//! nothing and asks the kernel past the C library, for a library inside another program.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

use crate::block_queue::DeviceNumber;
use crate::mounts::{MountLine, unescaped};
use crate::small_file::{SmallPath, close_by_kernel};

/// As much of a line is looked at: the options behind may be a page.
const LINE_BYTES_MAX: usize = 2048;

/// Devices that are looked at, before the first read of a file: each takes about ten calls. Of more nothing is known.
const DEVICES_MAX: usize = 32;

/// Blocks may be written between two looks.
const TRIES: u32 = 3;

/// File systems that are layers, lie on a block device, and tell at once how full they are: FAT counts first.
const LAYERS: [&[u8]; 7] = [
    b"ext4",
    b"xfs",
    b"ext3",
    b"ext2",
    b"f2fs",
    b"erofs",
    b"squashfs",
];

/// What a file system says of its blocks and inodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Filled {
    block_bytes: u64,
    blocks: u64,
    free: u64,
    inodes: u64,
    free_inodes: u64,
}

impl Filled {
    fn of(file: BorrowedFd<'_>) -> Option<Self> {
        let said = rustix::fs::fstatvfs(file).ok()?;
        Some(Self {
            block_bytes: said.f_bsize,
            blocks: said.f_blocks,
            free: said.f_bfree,
            inodes: said.f_files,
            free_inodes: said.f_ffree,
        })
    }
}

/// The block device below the overlay whose superblock is `device` and on which `file` lies. `None` where none is mounted here, where two could
/// be it, and where the layers lie on several file systems, unless the overlay numbers inodes anew (`xino`): then it is that of
/// the upper layer.
#[must_use]
pub fn device_below(
    proc_root: &Path,
    file: BorrowedFd<'_>,
    device: DeviceNumber,
) -> Option<DeviceNumber> {
    find(proc_root, device, |mount| is_of(file, mount))
}

/// `is_it`: whether what is mounted there is meant; `None` where that cannot be seen, as another mount covers it.
fn find(
    proc_root: &Path,
    device: DeviceNumber,
    mut is_it: impl FnMut(&MountLine<'_>) -> Option<bool>,
) -> Option<DeviceNumber> {
    let mut looked = [None; DEVICES_MAX];
    let (mut is_overlay, mut is_doubtful, mut found) = (false, false, None);
    let mut path = SmallPath::below(proc_root);
    path.push(b"/self/mountinfo");
    for_each_line(&mut path, |line| {
        let Some(mount) = MountLine::parse(line) else {
            return;
        };
        // Files of an overlay over several file systems say other devices than this.
        is_overlay |= mount.device == device && mount.file_system == b"overlay";
        let this = Some(mount.device);
        let is_layer = mount.device.major != 0 && LAYERS.contains(&mount.file_system);
        if !is_layer || looked.contains(&this) {
            return;
        }
        let Some(place) = looked.iter_mut().find(|place| place.is_none()) else {
            is_doubtful = true;
            return;
        };
        if let Some(is_it) = is_it(&mount) {
            *place = this;
            is_doubtful |= is_it && found.is_some();
            found = if is_it { this } else { found };
        }
    });
    found.filter(|_| is_overlay && !is_doubtful)
}

/// Whether what is mounted there says the same as the file system of `file`.
fn is_of(file: BorrowedFd<'_>, mount: &MountLine<'_>) -> Option<bool> {
    let mut path = SmallPath::below(Path::new(""));
    for byte in unescaped(mount.mount_point) {
        path.push(&[byte]);
    }
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // The way there may lead over a server that does not answer: mount points are in memory, and no one is asked.
    let there = rustix::fs::openat2(
        CWD,
        path.parts().ok()?.0,
        flags,
        Mode::empty(),
        ResolveFlags::CACHED,
    )
    .ok()?;
    let is_same = || {
        let seen = rustix::fs::fstat(&there).ok()?.st_dev;
        let mut tries = (DeviceNumber::from_dev(seen) == mount.device).then_some(TRIES)?;
        loop {
            let (own, other) = (Filled::of(file)?, Filled::of(there.as_fd())?);
            tries -= 1;
            if own == other || own.blocks != other.blocks || tries == 0 {
                return Some(own == other);
            }
        }
    };
    let is_same = is_same();
    close_by_kernel(there);
    is_same
}

/// Calls `take` with each line of a file, or with as much of its beginning as is looked at.
fn for_each_line(path: &mut SmallPath, mut take: impl FnMut(&[u8])) {
    let Ok((path, memory)) = path.parts() else {
        return;
    };
    let (line, part) = memory.split_at_mut(LINE_BYTES_MAX);
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let Ok(opened) = rustix::fs::open(path, flags, Mode::empty()) else {
        return;
    };
    let mut length = 0;
    while let Ok(read @ 1..) = rustix::io::read(&opened, &mut *part) {
        for byte in &part[..read] {
            if *byte == b'\n' {
                take(&line[..length]);
                length = 0;
            } else if let Some(place) = line.get_mut(length) {
                *place = *byte;
                length += 1;
            }
        }
    }
    close_by_kernel(opened);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const OVERLAY: DeviceNumber = DeviceNumber {
        major: 0,
        minor: 52,
    };

    /// What a container sees, with a list of layers that is longer than a line may be.
    fn container(more: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("self")).unwrap();
        let layers = "/var/lib/docker/overlay2/l/ABC:".repeat(200);
        let text = format!(
            "1 0 0:52 / / rw,relatime master:1 - overlay overlay rw,lowerdir={layers},upperdir=/u\n\
             2 1 0:55 / /proc rw - proc proc rw\n\
             3 1 8:1 /var/lib/docker/containers/c/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n\
             4 1 8:1 /var/lib/docker/containers/c/hostname /etc/hostname rw - ext4 /dev/sda1 rw\n\
             5 1 8:17 / /data rw - xfs /dev/sdb1 rw\n\
             6 1 8:17 / /data/again rw - xfs /dev/sdb1 rw\n\
             7 1 8:33 / /slow rw - fuseblk /dev/sdc1 rw\n\
             8 1 8:49 / /stick rw - vfat /dev/sdd1 rw\n{more}"
        );
        fs::write(root.path().join("self/mountinfo"), text).unwrap();
        root
    }

    /// What was found, and what was looked at, where only `same` is it and `covered` cannot be seen.
    fn minors(
        root: &Path,
        device: DeviceNumber,
        same: &[u32],
        covered: &[u32],
    ) -> (Option<u32>, Vec<u32>) {
        let mut looked = Vec::new();
        let found = find(root, device, |mount| {
            let minor = mount.device.minor;
            looked.push(minor);
            (!covered.contains(&minor)).then(|| same.contains(&minor))
        });
        (found.map(|device| device.minor), looked)
    }

    #[test]
    fn the_disk_of_a_container_is_found_behind_its_hosts_file() {
        let root = container("");
        let found = minors(root.path(), OVERLAY, &[1], &[]);
        assert_eq!(found, (Some(1), vec![1, 17]), "once each, and no server");
        let covered = minors(root.path(), OVERLAY, &[1], &[17]);
        assert_eq!(
            covered,
            (Some(1), vec![1, 17, 17]),
            "another mount may be seen"
        );
        assert_eq!(minors(root.path(), OVERLAY, &[], &[]).0, None);
        let both = minors(root.path(), OVERLAY, &[1, 17], &[]);
        assert_eq!(both.0, None, "two could be it");
        let other = DeviceNumber {
            minor: 53,
            ..OVERLAY
        };
        let found = minors(root.path(), other, &[1], &[]);
        assert_eq!(found.0, None, "of no overlay that is mounted");
        let nothing = tempfile::tempdir().unwrap();
        assert_eq!(minors(nothing.path(), OVERLAY, &[1], &[]).0, None);
    }

    #[test]
    fn of_more_devices_than_are_looked_at_nothing_is_known() {
        let more = |count: u32| -> String {
            let mounts =
                (100..100 + count).map(|minor| format!("9 1 8:{minor} / /m rw - ext4 /dev/x rw\n"));
            mounts.collect()
        };
        for (count, is_known) in [(30, true), (31, false), (100, false)] {
            let root = container(&more(count));
            let (found, looked) = minors(root.path(), OVERLAY, &[1], &[]);
            assert_eq!(found.is_some(), is_known, "{count}");
            assert!(looked.len() <= DEVICES_MAX);
        }
    }

    /// A file system says the same of itself wherever it is mounted, and another one does not.
    #[test]
    fn what_is_mounted_is_held_against_the_file() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let place = folder.path().join("a b");
        fs::create_dir(&place).unwrap();
        let own = fs::File::open(&place).unwrap();
        let device_of =
            |path: &Path| DeviceNumber::from_dev(rustix::fs::stat(path).unwrap().st_dev);
        let device = device_of(&place);
        let said = |path: &Path, device: DeviceNumber| {
            let path = path.to_str().unwrap().replace(' ', "\\040");
            let line = format!("1 0 {device} / {path} rw - ext4 /dev/sda1 rw");
            is_of(own.as_fd(), &MountLine::parse(line.as_bytes()).unwrap())
        };
        assert_eq!(said(&place, device), Some(true));
        let other = DeviceNumber {
            minor: device.minor + 1,
            ..device
        };
        assert_eq!(said(&place, other), None, "it is covered");
        let proc = Path::new("/proc");
        assert_eq!(said(proc, device_of(proc)), Some(false));
        assert_eq!(said(&folder.path().join("nothing"), device), None);
    }
}
