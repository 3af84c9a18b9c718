//! What the helper asks the kernel: to open folders and list them, and to bring files into memory.
//!
//! Raw system calls, in the helper's own descriptor table. Everything is checked after it was opened: a name may
//! mean something else by now. What blocks, blocks here and not in the program.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};

use ahead_sys::extent_map::first_physical_offset;
use ahead_sys::readahead::readahead;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, Stat};

use super::folders::{EntryKind, Folders};

/// Bytes of the longest path that is followed.
pub(super) const PATH_MAX: usize = 2048;
/// Bytes of names that the kernel hands over at once.
const NAMES_AT_ONCE: usize = 16 << 10;

/// File systems whose folders and files lie on a disk of this machine. On others a look may go through a network,
/// mount something, or run a program.
const LOCAL: [i64; 20] = [
    libc::EXT4_SUPER_MAGIC,
    libc::XFS_SUPER_MAGIC,
    libc::BTRFS_SUPER_MAGIC,
    libc::F2FS_SUPER_MAGIC,
    libc::OVERLAYFS_SUPER_MAGIC,
    libc::REISERFS_SUPER_MAGIC,
    libc::MSDOS_SUPER_MAGIC,
    libc::ISOFS_SUPER_MAGIC,
    libc::MINIX_SUPER_MAGIC,
    libc::NILFS_SUPER_MAGIC,
    libc::ECRYPTFS_SUPER_MAGIC,
    0x7371_7368, // squashfs
    0xe0f5_e1e2, // erofs
    0xca45_1a4e, // bcachefs
    0x2fc1_2fc1, // zfs
    0x2011_bab0, // exfat
    0x7366_746e, // ntfs3
    0x1501_3346, // udf
    0x3153_464a, // jfs
    0x0001_1954, // ufs
];

/// A descriptor of the helper's table. Closed by the raw call: the standard library would call our own hook,
/// which believes that the number is one of the program's.
pub(super) struct Descriptor(RawFd);

impl Drop for Descriptor {
    fn drop(&mut self) {
        close(self.0);
    }
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        borrowed(self.0)
    }
}

impl Descriptor {
    fn new(fd: OwnedFd) -> Self {
        Self(fd.into_raw_fd())
    }

    /// Leaves it open, for whoever closes it by its number.
    pub(super) fn keep(self) -> RawFd {
        std::mem::ManuallyDrop::new(self).0
    }
}

/// Closes a descriptor of the helper.
pub(super) fn close(fd: RawFd) {
    // SAFETY: opened by the helper, which uses it no more.
    unsafe { rustix::io::close(fd) };
}

/// A descriptor of the helper that is open.
pub(super) fn borrowed<'a>(fd: RawFd) -> BorrowedFd<'a> {
    // SAFETY: open in the helper's table, by the caller's bookkeeping; numbers there are only its own.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// A path that is put together; empty: it was too long.
pub(super) struct PathText {
    bytes: [u8; PATH_MAX],
    /// From here on: it is written from its end.
    start: usize,
}

impl PathText {
    pub(super) const fn new() -> Self {
        Self {
            bytes: [0; PATH_MAX],
            start: PATH_MAX - 1,
        }
    }

    fn put_before(&mut self, part: &[u8]) -> Option<()> {
        let start = self.start.checked_sub(part.len())?;
        self.bytes[start..self.start].copy_from_slice(part);
        self.start = start;
        Some(())
    }

    /// As the kernel wants it; `None`: it is empty.
    pub(super) fn c_text(&self) -> Option<&std::ffi::CStr> {
        let text = std::ffi::CStr::from_bytes_with_nul(&self.bytes[self.start..]).ok()?;
        (!text.is_empty()).then_some(text)
    }
}

/// What a folder is, where a descriptor of the program or a path leads.
pub(super) struct Found {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) descriptor: Descriptor,
}

/// Opens the folder that `path` leads to: from descriptor `folder` of the program on, or from its working
/// folder.
pub(super) fn find(folder: Option<i32>, path: &[u8]) -> Option<Found> {
    let mut text = PathText::new();
    text.put_before(if path.is_empty() { b"." } else { path })?;
    let base = match folder {
        Some(number) if path.first() != Some(&b'/') => Some(program_folder(number)?),
        _ => None,
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let at = base.as_ref().map_or(CWD, AsFd::as_fd);
    let found = rustix::fs::openat(at, text.c_text()?, flags, Mode::empty()).ok()?;
    let descriptor = Descriptor::new(found);
    let facts = rustix::fs::fstat(&descriptor).ok()?;
    Some(Found {
        device: facts.st_dev,
        inode: facts.st_ino,
        descriptor,
    })
}

/// The folder that a descriptor of the program stands for: the helper has a table of its own, so it goes through
/// the process's.
fn program_folder(number: i32) -> Option<Descriptor> {
    let mut text = PathText::new();
    put_number(&mut text, number.unsigned_abs())?;
    text.put_before(b"/proc/self/fd/")?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let found = rustix::fs::openat(CWD, text.c_text()?, flags, Mode::empty()).ok()?;
    Some(Descriptor::new(found))
}

fn put_number(text: &mut PathText, mut number: u32) -> Option<()> {
    loop {
        let digit = b'0' + u8::try_from(number % 10).unwrap_or(0);
        text.put_before(&[digit])?;
        number /= 10;
        if number == 0 {
            return Some(());
        }
    }
}

/// The path of an open folder, from the root on; `None` for one that cannot be reached from there.
pub(super) fn path_of<'a>(folder: &Descriptor, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut text = PathText::new();
    put_number(&mut text, folder.as_fd().as_raw_fd().unsigned_abs())?;
    text.put_before(b"/proc/thread-self/fd/")?;
    let length = rustix::fs::readlinkat_raw(CWD, text.c_text()?, &mut *buffer).ok()?;
    let path = buffer.get(..length)?;
    (path.first() == Some(&b'/') && path.len() < PATH_MAX).then_some(path)
}

/// The path of a folder that is known; in front of what `text` has already.
fn put_folder(text: &mut PathText, folders: &Folders, folder: usize) -> Option<()> {
    let mut at = folder;
    while folders.path(at).is_empty() {
        let known = folders.folder(at);
        let parent = usize::try_from(known.parent.checked_sub(1)?).ok()?;
        let entry = usize::try_from(known.entry).ok()?;
        text.put_before(folders.name(entry))?;
        text.put_before(b"/")?;
        at = parent;
    }
    text.put_before(folders.path(at))
}

/// Opens a folder that is known. `None`: it is not there any more, or is another one.
fn open(folders: &Folders, folder: usize) -> Option<Descriptor> {
    let mut text = PathText::new();
    put_folder(&mut text, folders, folder)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = rustix::fs::openat(CWD, text.c_text()?, flags, Mode::empty()).ok()?;
    let descriptor = Descriptor::new(found);
    let facts = rustix::fs::fstat(&descriptor).ok()?;
    let known = folders.folder(folder);
    (facts.st_dev == known.device && facts.st_ino == known.inode).then_some(descriptor)
}

/// The path of a file or folder that was listed. What is there now is to be checked: any part of it may be another by now.
pub(super) fn path_of_entry(folders: &Folders, folder: usize, entry: usize) -> Option<PathText> {
    let mut text = PathText::new();
    text.put_before(folders.name(entry))?;
    text.put_before(b"/")?;
    put_folder(&mut text, folders, folder)?;
    Some(text)
}

/// Opens for reading, leaving the access time alone where that is allowed.
fn open_quietly(at: BorrowedFd<'_>, name: &std::ffi::CStr, more: OFlags) -> Option<Descriptor> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | more;
    let open = |flags| rustix::fs::openat(at, name, flags, Mode::empty());
    let found = match open(flags | OFlags::NOATIME) {
        Err(rustix::io::Errno::PERM) => open(flags),
        found => found,
    };
    found.ok().map(Descriptor::new)
}

/// Opens the folder at `path` for reading, if it is the one that was listed with this device and inode. Another device:
/// something is mounted there, or would be if it were opened.
pub(super) fn open_listed_folder(
    path: &std::ffi::CStr,
    device: u64,
    inode: u64,
) -> Option<Descriptor> {
    let is_listed = |facts: Stat| (facts.st_dev == device && facts.st_ino == inode).then_some(());
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    is_listed(rustix::fs::statat(CWD, path, flags).ok()?)?;
    let reader = open_quietly(CWD, path, OFlags::DIRECTORY | OFlags::NOFOLLOW)?;
    is_listed(rustix::fs::fstat(&reader).ok()?)?;
    Some(reader)
}

/// Lists `folder`; `above` is it, if it is open.
pub(super) fn list(folders: &mut Folders, folder: usize, found: Option<&Descriptor>) -> Option<()> {
    let opened = match found {
        Some(_) => None,
        None => Some(open(folders, folder)?),
    };
    let at = found.or(opened.as_ref())?;
    let reader = open_quietly(at.as_fd(), c".", OFlags::DIRECTORY)?;
    list_reader(folders, folder, &reader)
}

/// Lists it through a descriptor that is open for reading.
pub(super) fn list_reader(folders: &mut Folders, folder: usize, reader: &Descriptor) -> Option<()> {
    if !is_local(reader) {
        return None;
    }
    folders.begin_listing();
    for_each_name(reader, |name, inode, kind| folders.list(name, inode, kind));
    folders.end_listing(folder);
    Some(())
}

/// Whether it lies on a disk of this machine.
pub(super) fn is_local(reader: &Descriptor) -> bool {
    rustix::fs::fstatfs(reader).is_ok_and(|system| LOCAL.contains(&system.f_type))
}

/// Calls `take` with name, inode and kind of each file and folder, until it returns false.
pub(super) fn for_each_name(
    reader: &Descriptor,
    mut take: impl FnMut(&[u8], u64, EntryKind) -> bool,
) {
    let mut buffer = [MaybeUninit::<u8>::uninit(); NAMES_AT_ONCE];
    let mut names = RawDir::new(reader, &mut buffer);
    while let Some(Ok(entry)) = names.next() {
        let kind = match entry.file_type() {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Folder,
            _ => continue,
        };
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        if !take(name, entry.ino(), kind) {
            break;
        }
    }
}

/// What opening a file has shown.
pub(super) struct SeenFile {
    /// Its length in bytes.
    pub(super) length: u64,
    /// Where its first byte lies on the device.
    pub(super) place: Option<u64>,
    pub(super) descriptor: Descriptor,
}

/// Opens the file `entry` of `folder`. `None`: it is not what was listed.
pub(super) fn look_at(folders: &Folders, folder: usize, entry: usize) -> Option<SeenFile> {
    let path = path_of_entry(folders, folder, entry)?;
    let path = path.c_text()?;
    // A FIFO or a device that has taken the file's name is not opened for it: the kind is asked first.
    let facts = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    if !is_listed_file(folders, folder, entry, &facts) {
        return None;
    }
    let descriptor = open_quietly(CWD, path, OFlags::NOFOLLOW)?;
    let facts = rustix::fs::fstat(&descriptor).ok()?;
    if !is_listed_file(folders, folder, entry, &facts) {
        return None;
    }
    let length = length_of(&facts);
    let place = match length {
        0 => None,
        _ => first_physical_offset(&descriptor).ok().flatten(),
    };
    Some(SeenFile {
        length,
        place,
        descriptor,
    })
}

/// Asks for the metadata of a file alone. Its length in bytes; `None`: it is not what was listed.
pub(super) fn look_at_metadata(folders: &Folders, folder: usize, entry: usize) -> Option<u64> {
    let path = path_of_entry(folders, folder, entry)?;
    let facts = rustix::fs::statat(CWD, path.c_text()?, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    is_listed_file(folders, folder, entry, &facts).then(|| length_of(&facts))
}

/// Whether these are the facts of the file `entry` of `folder`, as it was listed.
fn is_listed_file(folders: &Folders, folder: usize, entry: usize, facts: &Stat) -> bool {
    FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile
        && facts.st_dev == folders.folder(folder).device
        && facts.st_ino == folders.entry(entry).inode
}

fn length_of(facts: &Stat) -> u64 {
    u64::try_from(facts.st_size).unwrap_or(0)
}

/// Asks for the first `bytes` bytes of a file, `most` with each call: the kernel leaves out what is beyond.
pub(super) fn request(file: BorrowedFd<'_>, bytes: u64, most: u64) {
    let mut at = 0;
    while at < bytes {
        let _ = readahead(file, at, most.min(bytes - at));
        at += most;
    }
}

/// Gives the calling thread a descriptor table of its own, with nothing in it: what the program has open is
/// closed when the program closes it. False: the kernel does not do that (before 5.9).
pub(super) fn leave_table_of_program() -> bool {
    // SAFETY: descriptors of this thread alone are concerned, and it has opened none.
    let result = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            0,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_UNSHARE,
        )
    };
    result == 0
}

/// Whether the process has a thread with this number.
pub(super) fn is_thread(thread: u32) -> bool {
    let mut text = PathText::new();
    let put = put_number(&mut text, thread).and_then(|()| text.put_before(b"/proc/self/task/"));
    put.and_then(|()| text.c_text())
        .is_some_and(|path| rustix::fs::statat(CWD, path, AtFlags::empty()).is_ok())
}
