//! How a file that another process reads is reached: a duplicate of its own descriptor, or its mapping.
//!
//! A duplicate stands for the same open file, so what is asked through it is asked of the file that the process reads,
//! in whatever namespace or container that is. It is taken for a moment and dropped. Between the fact and the
//! decision the number may have been closed and used again: device and inode of what was duplicated are compared, and
//! only regular files are used. What a process has mapped is asked aside, as it can keep that from being answered (`aside`). To let go of
//! one may be a request to a server, which is not made where it is work or may never be answered (`servers`).

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;

use ahead_observer::observation::FileKey;
use ahead_sys::block_queue::DeviceNumber;
use ahead_sys::process_madvise;
use ahead_sys::process_maps::{FileMapping, mappings_of};
use ahead_units::{ByteLength, PageCount};
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use rustix::thread::CapabilitySet;

use crate::aside::Aside;
use crate::closer::Closer;
use crate::machine_facts::now;
use crate::servers::{AnsweredBy, Holds, LayersLie, Servers, is_for_writing};

const PROC: &str = "/proc";

/// Descriptors of a process that are looked through for a file. More would take milliseconds.
const DESCRIPTORS_MAX: usize = 1024;

/// How a file was reached last. A hint: it is looked at again before it is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Not known.
    #[default]
    Unknown,
    /// By a descriptor of a process.
    Descriptor {
        /// The process.
        process: u32,
        /// The number of the descriptor there.
        number: i32,
    },
    /// Only by what a process has mapped.
    Mapping {
        /// The process.
        process: u32,
    },
}

/// An open file of another process.
#[derive(Debug)]
pub struct OpenFile {
    /// The duplicate of its descriptor.
    pub opened: OwnedFd,
    /// The pages that the file has.
    pub pages: PageCount,
    /// It was opened through an overlay: what is asked for arrives in the memory of the layer's file, but the kernel says of it, whatever is
    /// there, that none of its pages are in memory.
    pub is_of_overlay: bool,
}

/// A file of another process, for a moment.
#[derive(Debug)]
pub enum Reached {
    /// Its open file.
    File(OpenFile),
    /// Its process, and where that has mapped the file.
    Mapped(OwnedFd, Vec<FileMapping>),
}

/// Reaches files.
#[derive(Debug)]
pub struct Reacher {
    aside: Rc<Aside>,
    servers: RefCell<Servers>,
    closer: RefCell<Closer>,
}

impl Default for Reacher {
    fn default() -> Self {
        Self::new()
    }
}

impl Reacher {
    /// One that knows of no mounts yet.
    #[must_use]
    pub fn new() -> Self {
        Self::with(&Rc::default())
    }

    /// One whose questions are asked by `aside`.
    pub(crate) fn with(aside: &Rc<Aside>) -> Self {
        Self {
            aside: Rc::clone(aside),
            servers: RefCell::new(Servers::new()),
            closer: RefCell::default(),
        }
    }

    /// Reaches `file` in `process`: as `hint` says, or by any descriptor that stands for it, or by its mapping. Also says
    /// how. `None` when the process, or its interest in the file, has ended, and where a server that need not answer would be asked.
    #[must_use]
    pub fn reach(&self, file: FileKey, process: u32, hint: Reach) -> Option<(Reached, Reach)> {
        self.aside.count(|| self.look_for(file, process, hint))
    }

    fn look_for(&self, file: FileKey, process: u32, hint: Reach) -> Option<(Reached, Reach)> {
        if let Reach::Descriptor {
            process: of,
            number,
        } = hint
            && of == process
            && let Ok(open) = self.duplicate(file, process, number)
        {
            return Some((Reached::File(open), hint));
        }
        let answered_by = self.answered_by(file, process);
        if answered_by == AnsweredBy::Anybody {
            return None;
        }
        // Where it was only mapped, that is looked at first: a process may have many descriptors.
        if hint == (Reach::Mapping { process })
            && let Some(reached) = self.mapped(file, process)
        {
            return Some(reached);
        }
        let found = find_descriptor(file, process, answered_by);
        if let Some(number) = found
            && let Ok(open) = self.duplicate(file, process, number)
        {
            let reach = Reach::Descriptor { process, number };
            return Some((Reached::File(open), reach));
        }
        self.mapped(file, process)
    }

    /// Whether `number` is the one descriptor of `process` that stands for `file`: of several it is not known which the process has mapped.
    pub(crate) fn is_only_one(&self, file: FileKey, process: u32, number: i32) -> bool {
        let others = || {
            numbers(process)?
                .any(|it| it != number && stands_for(file, process, it))
                .then_some(())
        };
        self.aside.count(|| others().is_none())
    }

    fn mapped(&self, file: FileKey, process: u32) -> Option<(Reached, Reach)> {
        let mappings = self.aside.ask(process, move || mappings(file, process))??;
        let device = DeviceNumber::from_dev(file.device);
        let mut servers = self.servers.borrow_mut();
        let layers = |overlay| servers.layers(overlay, device, process, now());
        let mappings = showing(mappings, device, layers);
        if mappings.is_empty() {
            return None;
        }
        let handle = handle(process).ok()?;
        Some((
            Reached::Mapped(handle, mappings),
            Reach::Mapping { process },
        ))
    }

    /// Asks for `bytes` bytes from `address` of `process`, for which `handle` stands.
    pub(crate) fn will_need(
        &self,
        (process, handle): (u32, &OwnedFd),
        address: u64,
        bytes: u64,
    ) -> io::Result<u64> {
        let handle = handle.try_clone()?;
        let ask = move || process_madvise::will_need(handle, address, bytes);
        (self.aside.ask(process, ask)).unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))
    }

    /// A duplicate of descriptor `number` of `process`, if that is `file`.
    ///
    /// # Errors
    /// `NotFound` when it is another file, `PermissionDenied` where to let go of it is more than that; otherwise the kernel's.
    pub fn duplicate(&self, file: FileKey, process: u32, number: i32) -> io::Result<OpenFile> {
        let may_reach = match self.answered_by(file, process) {
            AnsweredBy::Kernel => true,
            AnsweredBy::Server => !is_for_writing(process, number),
            AnsweredBy::Anybody => false,
        };
        if !may_reach || self.closer.borrow().is_full() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let opened = pidfd_getfd(handle(process)?, number, PidfdGetfdFlags::empty())?;
        match self.look_at(&opened, file, process) {
            Ok(Some((pages, is_of_overlay))) => Ok(OpenFile {
                opened,
                pages,
                is_of_overlay,
            }),
            is_other => {
                self.closer.borrow_mut().close(opened);
                Err(is_other
                    .err()
                    .unwrap_or_else(|| io::ErrorKind::NotFound.into()))
            }
        }
    }

    /// The path of what was reached as its process sees it, or, for an open file, as this one does.
    pub(crate) fn path_of(&self, reached: &Reached, process: u32) -> Option<PathBuf> {
        let link = match reached {
            Reached::File(open) => format!("{PROC}/self/fd/{}", open.opened.as_raw_fd()),
            Reached::Mapped(_, mappings) => {
                let FileMapping {
                    address, length, ..
                } = mappings.first()?;
                let end = address + length;
                let link = format!("{PROC}/{process}/map_files/{address:x}-{end:x}");
                return self.aside.ask(process, || fs::read_link(link).ok())?;
            }
        };
        fs::read_link(link).ok()
    }

    /// The path of `file` as its process sees it, or, where that has it open, as this one does; where it is not reached, as its descriptor seems to say.
    #[must_use]
    pub fn path(&self, file: FileKey, process: u32, hint: Reach) -> Option<PathBuf> {
        if let Some((reached, _)) = self.reach(file, process, hint) {
            return self.path_of(&reached, process);
        }
        let number = (self.aside).count(|| find_descriptor(file, process, AnsweredBy::Kernel))?;
        fs::read_link(format!("{PROC}/{process}/fd/{number}")).ok()
    }

    fn answered_by(&self, file: FileKey, process: u32) -> AnsweredBy {
        let device = DeviceNumber::from_dev(file.device);
        (self.servers.borrow_mut()).answer(device, process, now())
    }

    /// Pages of what is open, and whether that was opened through an overlay, if it is `file`. A server is not asked: what it would say
    /// late is not waited for. An overlay that numbers inodes anew (`xino`), or has copied the file up from a lower layer, names another
    /// inode than the one that is read: such a file is not reached.
    fn look_at(
        &self,
        opened: &OwnedFd,
        file: FileKey,
        process: u32,
    ) -> io::Result<Option<(PageCount, bool)>> {
        let found = rustix::fs::statx(
            opened,
            c"",
            AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC,
            StatxFlags::BASIC_STATS | StatxFlags::MNT_ID,
        )?;
        let is_regular = FileType::from_raw_mode(found.stx_mode.into()) == FileType::RegularFile;
        if !is_regular || found.stx_ino != file.inode {
            return Ok(None);
        }
        let device = rustix::fs::makedev(found.stx_dev_major, found.stx_dev_minor);
        // Files of subvolumes of btrfs, and of overlays, do not say the device that the page cache knows them by.
        let mut holds = Holds::Own;
        if device != file.device {
            let of = DeviceNumber::from_dev(file.device);
            let mut servers = self.servers.borrow_mut();
            let Some(mount) = servers.holds(found.stx_mnt_id, of, process, now()) else {
                return Ok(None);
            };
            holds = mount;
        }
        let pages = PageCount::holding(ByteLength::new(found.stx_size));
        Ok(Some((pages, holds == Holds::ThoseOfLayers)))
    }
}

/// Whether files that other processes have open can be reached at all. Tried on a child, with a number that it cannot have, so that nothing
/// is duplicated: the kernel looks at the right first. The right to do so with processes that are no children of ours is a capability.
///
/// # Errors
/// `PermissionDenied` where they cannot; that no child can be started.
pub(crate) fn may_reach() -> io::Result<()> {
    const NO_NUMBER: i32 = i32::MAX;
    let capabilities = rustix::thread::capabilities(None)?;
    if !capabilities.effective.contains(CapabilitySet::SYS_PTRACE) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    // It may have ended by then: until it is waited for it has its number.
    let mut child = Command::new("/proc/self/exe")
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let reached = handle(child.id()).map(|child| {
        let flags = PidfdGetfdFlags::empty();
        pidfd_getfd(child, NO_NUMBER, flags)
    });
    child.wait()?;
    Ok(has_right(reached?)?)
}

/// The right is looked at before it is seen that there is no such number, or no process any more.
fn has_right(reached: Result<OwnedFd, Errno>) -> Result<(), Errno> {
    match reached {
        Ok(_) | Err(Errno::BADF | Errno::SRCH) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Where `process` has mapped a file with the inode of `file`.
fn mappings(file: FileKey, process: u32) -> Option<Vec<FileMapping>> {
    let pid = i32::try_from(process).ok()?;
    mappings_of(Path::new(PROC), pid, file.inode).ok()
}

/// Those of `mappings`, which are of files with the same inode number, that show the one of the superblock `device`: its own. Since Linux 6.8
/// the mapping of an overlay's file is not one of the file below; then those of an overlay whose `layers` lie there, or of the only
/// one whose layers may. `layers`: `None` for what is no overlay.
fn showing(
    mut mappings: Vec<FileMapping>,
    device: DeviceNumber,
    mut layers: impl FnMut(DeviceNumber) -> Option<LayersLie>,
) -> Vec<FileMapping> {
    if mappings.iter().any(|mapping| mapping.device == device) {
        mappings.retain(|mapping| mapping.device == device);
        return mappings;
    }
    let all: HashSet<_> = mappings.iter().map(|mapping| mapping.device).collect();
    let lying: Vec<_> = (all.into_iter())
        .filter_map(|overlay| Some((overlay, layers(overlay)?)))
        .collect();
    let such = |wanted| {
        let such = lying.iter().filter(move |(_, lie)| *lie == wanted);
        such.map(|(overlay, _)| *overlay).collect::<Vec<_>>()
    };
    let mut shown = such(LayersLie::There);
    if shown.is_empty() {
        shown = such(LayersLie::Perhaps);
        if shown.len() > 1 {
            shown.clear();
        }
    }
    mappings.retain(|mapping| shown.contains(&mapping.device));
    mappings
}

fn handle(process: u32) -> io::Result<OwnedFd> {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::NotFound)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// A descriptor of `process` that seems to stand for `file`.
fn find_descriptor(file: FileKey, process: u32, answered_by: AnsweredBy) -> Option<i32> {
    let may_reach =
        |number: &i32| answered_by == AnsweredBy::Kernel || !is_for_writing(process, *number);
    // Whether it is this file is seen when it was duplicated.
    numbers(process)?.find(|number| stands_for(file, process, *number) && may_reach(number))
}

/// The descriptors of `process`; of many the first ones.
fn numbers(process: u32) -> Option<impl Iterator<Item = i32>> {
    let entries = fs::read_dir(format!("{PROC}/{process}/fd")).ok()?;
    let numbers = entries.take(DESCRIPTORS_MAX);
    Some(numbers.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()))
}

/// Whether a descriptor seems to stand for `file`.
fn stands_for(file: FileKey, process: u32, number: i32) -> bool {
    let path = format!("{PROC}/{process}/fd/{number}");
    let found = rustix::fs::statx(CWD, path, AtFlags::STATX_DONT_SYNC, StatxFlags::INO);
    found.is_ok_and(|found| found.stx_ino == file.inode)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;

    use super::*;

    fn key(file: &File) -> FileKey {
        FileKey::of(&file.metadata().unwrap())
    }

    fn scratch(pages: usize) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&vec![7; pages * 4096]).unwrap();
        file
    }

    /// A number that was closed and used again between the fact and the decision.
    #[test]
    fn a_descriptor_that_stands_for_another_file_now_is_not_used() {
        let (me, reacher) = (std::process::id(), Reacher::new());
        let (one, other) = (scratch(3), scratch(5));
        let number = one.as_file().as_raw_fd();
        let open = reacher.duplicate(key(one.as_file()), me, number).unwrap();
        assert_eq!((open.pages.get(), open.is_of_overlay), (3, false));
        let other_number = other.as_file().as_raw_fd();
        let refused = reacher
            .duplicate(key(one.as_file()), me, other_number)
            .unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::NotFound);
        // It is found where it is now.
        let wrong = Reach::Descriptor {
            process: me,
            number: other_number,
        };
        let (_, reach) = reacher.reach(key(one.as_file()), me, wrong).unwrap();
        assert_eq!(
            reach,
            Reach::Descriptor {
                process: me,
                number
            }
        );
    }

    /// A child that had ended before it was asked seemed to be out of reach.
    #[test]
    fn only_a_missing_right_keeps_files_from_being_reached() {
        assert_eq!(has_right(Err(Errno::BADF)), Ok(()));
        assert_eq!(has_right(Err(Errno::SRCH)), Ok(()));
        assert_eq!(has_right(Err(Errno::PERM)), Err(Errno::PERM));
    }

    /// The window was taken from the first of them, which may be that of a scan.
    #[test]
    fn of_several_descriptors_of_a_file_none_is_the_only_one() {
        let (me, reacher) = (std::process::id(), Reacher::new());
        let one = scratch(1);
        let number = one.as_file().as_raw_fd();
        let is_only = || reacher.is_only_one(key(one.as_file()), me, number);
        assert!(is_only());
        let other = File::open(one.path()).unwrap();
        assert!(!is_only());
        drop(other);
        assert!(is_only());
    }

    #[test]
    fn a_file_that_is_only_mapped_is_reached_by_its_mapping() {
        let file = scratch(4);
        let opened = File::open(file.path()).unwrap();
        let of = key(&opened);
        let (path, _) = file.keep().map(|(_, path)| (path, ())).unwrap();
        let mapped = ahead_sys::mapped_file::MappedFile::map(&opened).unwrap();
        drop(opened);
        let reacher = Reacher::new();
        let reached = reacher.reach(of, std::process::id(), Reach::Unknown);
        let seen = reached
            .as_ref()
            .and_then(|(one, _)| reacher.path_of(one, std::process::id()));
        fs::remove_file(&path).unwrap();
        drop(mapped);
        assert_eq!(seen, Some(path));
        let (Reached::Mapped(_, mappings), Reach::Mapping { .. }) = reached.unwrap() else {
            panic!("a mapping");
        };
        assert_eq!(mappings[0].length, 4 * 4096);
    }

    /// That of any overlay was taken for the file, also beside its own.
    #[test]
    fn of_files_with_the_same_inode_number_the_one_that_is_meant_is_reached() {
        use LayersLie::{Elsewhere, Perhaps, There};
        let number = |major, minor| DeviceNumber { major, minor };
        let disk = number(8, 1);
        let shown = |devices: &[DeviceNumber], lie: &[Option<LayersLie>]| {
            let mapping = |device: &DeviceNumber| FileMapping {
                address: 4096,
                length: 4096,
                offset: 0,
                device: *device,
            };
            let mappings = devices.iter().map(mapping).collect();
            let found = showing(mappings, disk, |overlay| {
                let place = devices.iter().position(|one| *one == overlay)?;
                lie[place]
            });
            let minors = found.iter().map(|one| one.device.minor);
            minors.collect::<Vec<_>>()
        };
        let (one, other) = (number(0, 50), number(0, 51));
        let both = [one, other];
        assert_eq!(shown(&[one, disk], &[Some(There), None]), [1], "its own");
        assert_eq!(shown(&[one], &[Some(Perhaps)]), [50]);
        assert_eq!(shown(&[one], &[Some(Elsewhere)]), [0_u32; 0]);
        assert_eq!(shown(&[one], &[None]), [0_u32; 0], "no overlay");
        assert_eq!(shown(&both, &[Some(Perhaps), Some(There)]), [51]);
        assert_eq!(shown(&both, &[Some(Elsewhere), Some(Perhaps)]), [51]);
        assert_eq!(shown(&both, &[Some(Perhaps), Some(Perhaps)]), [0_u32; 0]);
        assert_eq!(shown(&[one, one], &[Some(There), None]), [50, 50]);
    }

    #[test]
    fn what_is_no_file_and_who_has_ended_is_not_reached() {
        let (reader, _writer) = io::pipe().unwrap();
        let of = FileKey {
            device: 0,
            inode: 1,
        };
        let me = std::process::id();
        let reacher = Reacher::new();
        assert!(reacher.duplicate(of, me, reader.as_raw_fd()).is_err());
        assert!(reacher.reach(of, u32::MAX, Reach::Unknown).is_none());
    }
}
