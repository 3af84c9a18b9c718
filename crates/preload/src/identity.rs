//! What the kernel says about a descriptor: raw system calls, no hooks, no allocation, no `errno`.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::path::Path;

use ahead_engine::adviser::Residency;
use ahead_sys::block_queue::{DeviceNumber, QueueFacts};
use ahead_sys::cachestat::cachestat_range;
use ahead_sys::{btrfs, kernel_release, large_folios, overlay};
use ahead_units::{Advice, ByteLength, PageCount, PageRange};
use rustix::fs::{AtFlags, FileType, OFlags, StatxFlags};

use crate::sandbox;

/// A file whose pages can be cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeenFile {
    /// Where it lies.
    pub(crate) device: SeenDevice,
    /// Inode number.
    pub(crate) inode: u64,
    /// When it was made, in nanoseconds; 0 where its file system does not say.
    pub(crate) birth_ns: u64,
    /// Length of the file in bytes.
    pub(crate) length: ByteLength,
    /// Length of the file in pages.
    pub(crate) pages: PageCount,
    /// Flags it was opened with.
    pub(crate) flags: OFlags,
}

/// Which file something is known of. The number of an inode is used again once its file was deleted, and then the file was
/// made at another time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InodeId {
    /// Device number.
    pub(crate) device: u64,
    /// Inode number.
    pub(crate) inode: u64,
    /// As [`SeenFile::birth_ns`].
    pub(crate) birth_ns: u64,
}

impl InodeId {
    /// Where a table has it. Files that had the same inode one after another are found at the same place.
    #[inline]
    pub(crate) fn hash(&self) -> usize {
        let hash = (self.device ^ self.inode.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .wrapping_mul(0xd6e8_feb8_6659_fd93);
        usize::try_from(hash >> 40).unwrap_or(0)
    }
}

impl SeenFile {
    /// Which file it is.
    pub(crate) fn id(&self) -> InodeId {
        InodeId {
            device: self.device.number,
            inode: self.inode,
            birth_ns: self.birth_ns,
        }
    }
}

/// What a descriptor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// A regular file on a file system that reads from somewhere.
    File(SeenFile),
    /// A regular file whose pages are memory already, or are made up as they are read.
    WithoutDevice,
    /// Not a regular file.
    NoFile,
}

/// File systems whose files are memory already, or are made up as they are read.
const WITHOUT_DEVICE: [i64; 12] = [
    libc::TMPFS_MAGIC,
    libc::PROC_SUPER_MAGIC,
    libc::SYSFS_MAGIC,
    libc::DEBUGFS_MAGIC,
    libc::TRACEFS_MAGIC,
    libc::CGROUP_SUPER_MAGIC,
    libc::CGROUP2_SUPER_MAGIC,
    libc::HUGETLBFS_MAGIC,
    libc::SECURITYFS_MAGIC,
    libc::BPF_FS_MAGIC,
    0x8584_58f6, // ramfs
    libc::DEVPTS_SUPER_MAGIC,
];

/// File systems of servers whose files may bypass the page cache although they were opened without `O_DIRECT`. Only those whose
/// pages are their own: what is read of an overlay is in the cache of another file, and the kernel counts none for it.
const MAY_BYPASS_CACHE: [i64; 4] = [
    0x6573_5546, // FUSE, also of virtio
    0x0102_1997, // 9p
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB
];

/// The program's descriptor, for the time of a call. `None` for what cannot be one.
pub(crate) fn borrowed<'a>(fd: c_int) -> Option<BorrowedFd<'a>> {
    // SAFETY: not -1. The program may close it meanwhile; then the number stands for nothing or for
    // something else, which the kernel says, or which makes a hint about another file of the same
    // program.
    (fd >= 0).then(|| unsafe { BorrowedFd::borrow_raw(fd) })
}

/// The device number of a regular file; `None` for anything else. By the call that the loader has
/// used, so that no filter of system calls ends the process for it.
pub(crate) fn device_of_file(fd: c_int) -> Option<u64> {
    let mut facts = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the buffer is ours and as large as the call expects.
    let failed = unsafe { status_of(fd, facts.as_mut_ptr()) } != 0;
    if failed {
        return None;
    }
    // SAFETY: filled by the call that succeeded.
    let facts = unsafe { facts.assume_init() };
    (facts.st_mode & libc::S_IFMT == libc::S_IFREG).then_some(facts.st_dev)
}

/// `fstat`, as the C library makes it, without asking the C library: what another library puts in its place may hold a lock while it
/// reads (fakeroot-tcp does), and take it again for this.
#[cfg(target_pointer_width = "64")]
unsafe fn status_of(fd: c_int, facts: *mut libc::stat) -> libc::c_long {
    // SAFETY: an empty path stands for the descriptor; the buffer is the caller's affair.
    unsafe {
        libc::syscall(
            libc::SYS_newfstatat,
            fd,
            c"".as_ptr(),
            facts,
            libc::AT_EMPTY_PATH,
        )
    }
}

/// `fstat`. Where `long` is short, the kernel's answer is another structure.
#[cfg(not(target_pointer_width = "64"))]
unsafe fn status_of(fd: c_int, facts: *mut libc::stat) -> c_int {
    // SAFETY: the buffer is the caller's affair.
    unsafe { libc::fstat(fd, facts) }
}

/// Where a file lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeenDevice {
    /// Device number.
    pub(crate) number: u64,
    /// What kind of file system it is, where that lies on no block device; 0 elsewhere.
    pub(crate) file_system: u64,
}

impl SeenDevice {
    /// Whether it is an overlay, whose files have their pages in the memory of its layers' files.
    pub(crate) const fn is_overlay(self) -> bool {
        self.file_system.cast_signed() == libc::OVERLAYFS_SUPER_MAGIC
    }
}

/// Where the file or folder `fd` lies; `None` for what is memory already, or made up.
pub(crate) fn device_of(fd: c_int) -> Option<SeenDevice> {
    let fd = borrowed(fd)?;
    place_of(fd, rustix::fs::fstat(fd).ok()?.st_dev)
}

fn place_of(fd: BorrowedFd<'_>, number: u64) -> Option<SeenDevice> {
    let file_system = match libc::major(number) {
        0 => reads_from_somewhere(fd)?,
        _ => 0,
    };
    Some(SeenDevice {
        number,
        file_system,
    })
}

/// What `fd` is; `None` when it is not a descriptor.
pub(crate) fn look(fd: c_int) -> Option<Identity> {
    let fd = borrowed(fd)?;
    let facts = status(fd)?;
    if FileType::from_raw_mode(facts.mode) != FileType::RegularFile {
        return Some(Identity::NoFile);
    }
    let Some(device) = place_of(fd, facts.id.device) else {
        return Some(Identity::WithoutDevice);
    };
    let length = facts.length;
    Some(Identity::File(SeenFile {
        device,
        inode: facts.id.inode,
        birth_ns: facts.id.birth_ns,
        length,
        pages: PageCount::holding(length),
        flags: rustix::fs::fcntl_getfl(fd).ok()?,
    }))
}

/// What `statx` says of a descriptor, or `fstat`.
struct Status {
    id: InodeId,
    mode: u32,
    length: ByteLength,
}

/// `None` when `fd` is not a descriptor. `fstat` does not say when a file was made: it is asked where the kernel does not
/// know `statx`, or a filter of system calls refuses it.
fn status(fd: BorrowedFd<'_>) -> Option<Status> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let Ok(facts) = rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, wanted) else {
        let facts = rustix::fs::fstat(fd).ok()?;
        return Some(Status {
            id: InodeId {
                device: facts.st_dev,
                inode: facts.st_ino,
                birth_ns: 0,
            },
            mode: facts.st_mode,
            length: ByteLength::new(u64::try_from(facts.st_size).unwrap_or(0)),
        });
    };
    let is_known = facts.stx_mask & StatxFlags::BTIME.bits() != 0;
    let birth_ns = facts
        .stx_btime
        .tv_sec
        .cast_unsigned()
        .wrapping_mul(1_000_000_000)
        .wrapping_add(facts.stx_btime.tv_nsec.into());
    Some(Status {
        id: InodeId {
            device: libc::makedev(facts.stx_dev_major, facts.stx_dev_minor),
            inode: facts.stx_ino,
            birth_ns: if is_known { birth_ns } else { 0 },
        },
        mode: facts.stx_mode.into(),
        length: ByteLength::new(facts.stx_size),
    })
}

/// The kind of file system; `None` for one whose files are memory already.
fn reads_from_somewhere(fd: BorrowedFd<'_>) -> Option<u64> {
    let magic = kind_of_file_system(fd)?;
    (!WITHOUT_DEVICE.contains(&magic)).then_some(magic.cast_unsigned())
}

fn kind_of_file_system(fd: BorrowedFd<'_>) -> Option<i64> {
    rustix::fs::fstatfs(fd).ok().map(|system| system.f_type)
}

/// Whether reads of `fd` may bypass the page cache without `O_DIRECT`.
pub(crate) fn may_bypass_cache(fd: c_int) -> bool {
    let kind = borrowed(fd).and_then(kind_of_file_system);
    kind.is_some_and(|kind| MAY_BYPASS_CACHE.contains(&(kind & 0xffff_ffff)))
}

/// Whether `fd` lies on a file system that keeps files in large folios.
pub(crate) fn has_large_folios(fd: c_int) -> bool {
    let kind = borrowed(fd).and_then(kind_of_file_system);
    let is_there = |since| kernel_release::is_since(Path::new("/proc"), since);
    kind.and_then(large_folios::since_of).is_some_and(is_there)
}

/// What is said of the disks below a btrfs or an overlay, on which `fd` lies. `None` for other file systems, where it cannot be
/// told, and where the calls that look for it are not known to be safe.
pub(crate) fn queue_below(
    sys: &Path,
    proc: &Path,
    fd: c_int,
    seen: SeenDevice,
) -> Option<QueueFacts> {
    let kind = seen.file_system.cast_signed();
    let is_layered = matches!(kind, libc::BTRFS_SUPER_MAGIC | libc::OVERLAYFS_SUPER_MAGIC);
    if !is_layered || sandbox::is_known_for_trees() != Some(true) {
        return None;
    }
    let file = borrowed(fd)?;
    if kind == libc::BTRFS_SUPER_MAGIC {
        return btrfs::queue_facts(sys, file);
    }
    let below = overlay::device_below(proc, file, DeviceNumber::from_dev(seen.number))?;
    Some(QueueFacts::read(sys, below))
}

/// Where `fd` stands.
pub(crate) fn position(fd: c_int) -> Option<u64> {
    rustix::fs::tell(borrowed(fd)?).ok()
}

/// This process.
pub(crate) fn process() -> u32 {
    rustix::process::getpid()
        .as_raw_nonzero()
        .get()
        .unsigned_abs()
}

/// This thread.
pub(crate) fn thread() -> u32 {
    rustix::thread::gettid()
        .as_raw_nonzero()
        .get()
        .unsigned_abs()
}

/// Tells the kernel how `fd` is going to be read.
pub(crate) fn advise(fd: c_int, advice: Advice) -> bool {
    let advice = match advice {
        Advice::Normal => rustix::fs::Advice::Normal,
        Advice::Sequential => rustix::fs::Advice::Sequential,
        Advice::Random => rustix::fs::Advice::Random,
    };
    borrowed(fd).is_some_and(|fd| rustix::fs::fadvise(fd, 0, None, advice).is_ok())
}

/// Asks the kernel what became of pages of `fd`. Older kernels and files of others do not answer. Of a file of an overlay the kernel says,
/// whatever is there, that none of its pages are in memory: it is not asked.
pub(crate) struct Resident {
    pub(crate) fd: c_int,
    pub(crate) is_of_overlay: bool,
}

impl Resident {
    fn count(&self, range: PageRange) -> Option<ahead_sys::cachestat::CacheStat> {
        if self.is_of_overlay {
            return None;
        }
        let offset = PageCount::new(range.start.get()).bytes().get();
        let length = range.len().bytes().get();
        cachestat_range(borrowed(self.fd)?, offset, length).ok()
    }

    /// Whether any page of `range` is in memory or was evicted from there; `None` when the kernel does not say.
    pub(crate) fn has_left(&self, range: PageRange) -> Option<bool> {
        let pages = self.count(range)?;
        Some(pages.cached > 0 || pages.evicted > 0)
    }

    /// Whether all pages of `range` are in memory, or on their way; `None` when the kernel does not
    /// say.
    pub(crate) fn holds(&self, range: PageRange) -> Option<bool> {
        Some(self.count(range)?.cached >= range.len().get())
    }
}

impl Residency for Resident {
    fn evicted(&self, range: PageRange) -> Option<PageCount> {
        Some(PageCount::new(self.count(range)?.evicted))
    }
}
