//! File systems of which a server answers, and what it costs to let go of one of their files.
//!
//! To close a descriptor is a request there: FUSE asks its server each time (`fuse_flush`), NFS and SMB write out what was written
//! through it. A daemon that duplicates descriptors closes them, again and again, and waits for the answer. So what was opened for writing
//! is left to the kernel there, and files of a server that a user has started are: it need not answer at all.

use std::collections::HashMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use ahead_device::superblock;
use ahead_sys::block_queue::DeviceNumber;
use ahead_sys::mounts::{Mount, mounts_at};
use ahead_units::Timestamp;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxFlags, openat2, statx};

use crate::recent::Recent;

const PROC: &str = "/proc";

/// Processes whose mounts are remembered.
const PROCESSES_MAX: NonZeroUsize = NonZeroUsize::new(64).unwrap();

/// File systems of servers that the machine's owner has mounted.
const SERVED: [&str; 8] = [
    "nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "afs", "virtiofs",
];

/// Who answers when a file is let go of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnsweredBy {
    /// The kernel, at once.
    Kernel,
    /// A server that the owner of the machine has chosen.
    Server,
    /// Anybody: a user's server, or one that is not known.
    Anybody,
}

/// What files the mount of one has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// Those of its superblock.
    Own,
    /// An overlay: those of its layers.
    ThoseOfLayers,
}

/// Whether the layers of an overlay lie on a superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LayersLie {
    /// One of them at least.
    There,
    /// None of them.
    Elsewhere,
    /// As far as it can be seen from here, they may.
    Perhaps,
}

impl AnsweredBy {
    /// Of a file system that the kernel knows by itself. `is_own_space`: users of the process are those of the machine; in a space of
    /// its own anybody may mount FUSE, and an overlay over it.
    fn of(mount: &Mount, is_own_space: bool) -> Self {
        let kind = mount.file_system.as_str();
        if kind == "fuse" || kind.starts_with("fuse.") {
            let by_owner = mount.options.split(',').any(|option| option == "user_id=0");
            return if by_owner && is_own_space {
                Self::Server
            } else {
                Self::Anybody
            };
        }
        match kind {
            "overlay" if !is_own_space => Self::Anybody,
            _ if SERVED.contains(&kind) => Self::Server,
            _ => Self::Kernel,
        }
    }
}

/// What a process has mounted, as far as it has no block device.
#[derive(Debug, Default)]
struct ProcessMounts {
    answers: HashMap<DeviceNumber, AnsweredBy>,
    /// By the number of the mount.
    superblocks: HashMap<u64, DeviceNumber>,
    /// Those that the kernel answers for, and the folders of their layers.
    overlays: HashMap<DeviceNumber, Vec<PathBuf>>,
}

impl ProcessMounts {
    fn of(process: u32) -> Self {
        let folder = PathBuf::from(PROC).join(process.to_string());
        let is_own_space = users(&folder) == users(&Path::new(PROC).join("self"));
        let mut known = Self::default();
        for mount in mounts_at(&folder).unwrap_or_default() {
            let answer = AnsweredBy::of(&mount, is_own_space);
            if mount.file_system == "overlay" && answer == AnsweredBy::Kernel {
                let folders = superblock::overlay_folders(&mount.options);
                known.overlays.insert(mount.device, folders);
            }
            known.superblocks.insert(mount.id, mount.device);
            known.answers.insert(mount.device, answer);
        }
        known
    }
}

/// Its space of users.
fn users(process: &Path) -> Option<PathBuf> {
    fs::read_link(process.join("ns/user")).ok()
}

/// The mounts of the processes that read.
#[derive(Debug)]
pub(crate) struct Servers {
    known: Recent<u32, ProcessMounts>,
}

impl Servers {
    pub(crate) fn new() -> Self {
        Self {
            known: Recent::new(PROCESSES_MAX),
        }
    }

    /// Who answers for files of the superblock `device` that `process` reads.
    pub(crate) fn answer(
        &mut self,
        device: DeviceNumber,
        process: u32,
        now: Timestamp,
    ) -> AnsweredBy {
        // Block devices have numbers of their own, and whoever mounts one is the owner.
        if device.major != 0 {
            return AnsweredBy::Kernel;
        }
        let answer = self.find(process, now, |mounts| mounts.answers.get(&device).copied());
        answer.unwrap_or(AnsweredBy::Anybody)
    }

    /// How a file that `process` has opened through its mount `mount` may be one of the superblock `device`; `None`: it is none.
    pub(crate) fn holds(
        &mut self,
        mount: u64,
        device: DeviceNumber,
        process: u32,
        now: Timestamp,
    ) -> Option<Holds> {
        self.find(process, now, |mounts| {
            let of_mount = mounts.superblocks.get(&mount)?;
            let is_overlay = || mounts.overlays.contains_key(of_mount);
            Some(if *of_mount == device {
                Some(Holds::Own)
            } else {
                is_overlay().then_some(Holds::ThoseOfLayers)
            })
        })?
    }

    /// Whether the layers of the overlay `overlay` lie on the superblock `device`; `None`: it is no overlay that the kernel answers for, as
    /// far as `process` or this one sees.
    pub(crate) fn layers(
        &mut self,
        overlay: DeviceNumber,
        device: DeviceNumber,
        process: u32,
        now: Timestamp,
    ) -> Option<LayersLie> {
        let of_overlay = |mounts: &ProcessMounts| mounts.overlays.get(&overlay).cloned();
        let folders = self.find(process, now, of_overlay)?;
        let superblocks = folders.iter().map(|folder| {
            let mount = mount_of(folder)?;
            let of_mount = |mounts: &ProcessMounts| mounts.superblocks.get(&mount).copied();
            self.find(std::process::id(), now, of_mount)
        });
        Some(lie_on(device, superblocks))
    }

    /// What is known by the mounts that `process` sees, or by ours: below a root that was changed it does not see the one that it is on.
    fn find<T>(
        &mut self,
        process: u32,
        now: Timestamp,
        known: impl Fn(&ProcessMounts) -> Option<T>,
    ) -> Option<T> {
        let both = [process, std::process::id()];
        both.into_iter().find_map(|process| {
            let mounts = || ProcessMounts::of(process);
            known(self.known.get(process, now, mounts))
        })
    }
}

/// Whether one of these superblocks is `device`; of some it may not be known which they are, nor of any.
fn lie_on(
    device: DeviceNumber,
    superblocks: impl Iterator<Item = Option<DeviceNumber>>,
) -> LayersLie {
    let (mut count, mut unknown) = (0, 0);
    for superblock in superblocks {
        count += 1;
        match superblock {
            Some(superblock) if superblock == device => return LayersLie::There,
            Some(_) => {}
            None => unknown += 1,
        }
    }
    match count == 0 || unknown > 0 {
        true => LayersLie::Perhaps,
        false => LayersLie::Elsewhere,
    }
}

/// The mount that a folder lies on, as this process sees it. What is not in memory is not looked for: the way there may lead over a server
/// that does not answer, and a layer is there as long as its overlay.
fn mount_of(folder: &Path) -> Option<u64> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = openat2(CWD, folder, flags, Mode::empty(), ResolveFlags::CACHED).ok()?;
    let how = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let found = statx(&opened, c"", how, StatxFlags::MNT_ID).ok()?;
    (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
}

/// Whether descriptor `number` of `process` was opened for writing; what is not known may be.
pub(crate) fn is_for_writing(process: u32, number: i32) -> bool {
    let text = fs::read_to_string(format!("{PROC}/{process}/fdinfo/{number}"));
    let flags = text.ok().and_then(|text| {
        let mut lines = text.lines();
        let flags = lines.find_map(|line| line.strip_prefix("flags:"))?;
        i32::from_str_radix(flags.trim(), 8).ok()
    });
    const ACCESS_MODE: i32 = 0o3;
    flags.is_none_or(|flags| flags & ACCESS_MODE != 0)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd as _;

    use super::*;

    fn mount(file_system: &str, options: &str) -> Mount {
        Mount {
            id: 36,
            mount_point: PathBuf::from("/mnt"),
            file_system: file_system.into(),
            source: PathBuf::from("any"),
            device: DeviceNumber {
                major: 0,
                minor: 50,
            },
            options: options.into(),
        }
    }

    #[test]
    fn servers_of_users_are_anybody() {
        use AnsweredBy::{Anybody, Kernel, Server};
        let ours = "rw,user_id=0,group_id=0,allow_other";
        let theirs = "rw,user_id=1000,group_id=1000";
        for (kind, options, at_home, in_a_space) in [
            ("fuse", ours, Server, Anybody),
            ("fuse.sshfs", theirs, Anybody, Anybody),
            ("fuse.sshfs", "rw", Anybody, Anybody),
            ("nfs4", "rw,vers=4.2", Server, Server),
            ("cifs", "rw", Server, Server),
            ("virtiofs", "rw", Server, Server),
            ("overlay", "rw,lowerdir=/l", Kernel, Anybody),
            ("btrfs", "rw,subvol=/", Kernel, Kernel),
            ("tmpfs", "rw", Kernel, Kernel),
        ] {
            let mount = mount(kind, options);
            assert_eq!(AnsweredBy::of(&mount, true), at_home, "{kind} {options}");
            assert_eq!(
                AnsweredBy::of(&mount, false),
                in_a_space,
                "{kind} {options}"
            );
        }
    }

    #[test]
    fn what_is_mounted_is_known_and_what_is_not_is_anybodys() {
        let (me, now) = (std::process::id(), Timestamp::new(0));
        let mut servers = Servers::new();
        let number = |minor| DeviceNumber { major: 0, minor };
        let proc = mounts_at(&Path::new(PROC).join("self")).unwrap();
        let proc = proc
            .iter()
            .find(|mount| mount.file_system == "proc")
            .unwrap();
        assert_eq!(servers.answer(proc.device, me, now), AnsweredBy::Kernel);
        assert_eq!(
            servers.holds(proc.id, proc.device, me, now),
            Some(Holds::Own)
        );
        assert_eq!(servers.holds(proc.id, number(1 << 19), me, now), None);
        assert_eq!(
            servers.answer(number(1 << 19), me, now),
            AnsweredBy::Anybody
        );
        // Who sees no mounts, as below another root, may be on one of ours.
        assert_eq!(
            servers.answer(proc.device, u32::MAX, now),
            AnsweredBy::Kernel
        );
        assert_eq!(
            servers.holds(proc.id, proc.device, u32::MAX, now),
            Some(Holds::Own)
        );
        let disk = DeviceNumber { major: 8, minor: 1 };
        assert_eq!(servers.answer(disk, u32::MAX, now), AnsweredBy::Kernel);
    }

    #[test]
    fn the_layers_of_an_overlay_lie_where_one_of_them_does() {
        use LayersLie::{Elsewhere, Perhaps, There};
        let on = |minor| DeviceNumber { major: 8, minor };
        for (superblocks, expected) in [
            (vec![Some(on(2)), None, Some(on(1))], There),
            (vec![Some(on(2)), Some(on(3))], Elsewhere),
            (vec![Some(on(2)), None], Perhaps),
            (vec![], Perhaps),
        ] {
            assert_eq!(lie_on(on(1), superblocks.into_iter()), expected);
        }
        let proc = mounts_at(&Path::new(PROC).join("self")).unwrap();
        let mount = mount_of(Path::new(PROC)).unwrap();
        let found = proc.iter().find(|one| one.id == mount).unwrap();
        assert_eq!(found.file_system, "proc");
        assert_eq!(mount_of(Path::new("/no/such/folder")), None);
    }

    #[test]
    fn descriptors_say_whether_they_are_for_writing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let me = std::process::id();
        assert!(is_for_writing(me, file.as_file().as_raw_fd()));
        let reader = File::open(file.path()).unwrap();
        assert!(!is_for_writing(me, reader.as_raw_fd()));
        assert!(is_for_writing(u32::MAX, 0), "not known");
    }
}
