//! What the kernel says about a descriptor: raw system calls, no hooks, no allocation.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use ahead_engine::adviser::Residency;
use ahead_units::{ByteLength, PageCount, PageRange};

/// A file whose pages can be cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeenFile {
    /// Device number.
    pub(crate) device: u64,
    /// Inode number.
    pub(crate) inode: u64,
    /// Length of the file in bytes.
    pub(crate) length: ByteLength,
    /// Length of the file in pages.
    pub(crate) pages: PageCount,
    /// Flags it was opened with.
    pub(crate) flags: c_int,
}

/// What a descriptor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// A regular file on a file system that reads from somewhere.
    File(SeenFile),
    /// Anything else.
    Other,
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

/// What `fd` is; `None` when it is not a descriptor.
pub(crate) fn look(fd: c_int) -> Option<Identity> {
    let mut facts = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the buffer is ours and as large as the call expects.
    if unsafe { libc::fstat(fd, facts.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: filled by the call that succeeded.
    let facts = unsafe { facts.assume_init() };
    if facts.st_mode & libc::S_IFMT != libc::S_IFREG {
        return Some(Identity::Other);
    }
    if libc::major(facts.st_dev) == 0 && has_no_device(fd) {
        return Some(Identity::Other);
    }
    let length = ByteLength::new(u64::try_from(facts.st_size).unwrap_or(0));
    Some(Identity::File(SeenFile {
        device: facts.st_dev,
        inode: facts.st_ino,
        length,
        pages: PageCount::holding(length),
        // SAFETY: asks for flags, touches no memory.
        flags: c_int::try_from(unsafe { libc::syscall(libc::SYS_fcntl, fd, libc::F_GETFL) })
            .unwrap_or(0),
    }))
}

fn has_no_device(fd: c_int) -> bool {
    let mut facts = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the buffer is ours and as large as the call expects.
    if unsafe { libc::fstatfs(fd, facts.as_mut_ptr()) } != 0 {
        return true;
    }
    // SAFETY: filled by the call that succeeded.
    let kind = unsafe { facts.assume_init() }.f_type;
    WITHOUT_DEVICE.contains(&kind)
}

/// Where `fd` stands.
pub(crate) fn position(fd: c_int) -> Option<u64> {
    // SAFETY: asks for a number. The raw call keeps our own hook out of it.
    let position = unsafe { libc::syscall(libc::SYS_lseek, fd, 0, libc::SEEK_CUR) };
    u64::try_from(position).ok()
}

/// This process.
pub(crate) fn process() -> u32 {
    // SAFETY: asks for a number.
    u32::try_from(unsafe { libc::getpid() }).unwrap_or(0)
}

/// This thread.
pub(crate) fn thread() -> u32 {
    // SAFETY: asks for a number.
    u32::try_from(unsafe { libc::syscall(libc::SYS_gettid) }).unwrap_or(0)
}

/// Turns the kernel's read-ahead off for what `fd` stands for.
pub(crate) fn advise_random(fd: c_int) {
    // SAFETY: a hint about a descriptor; touches no memory.
    unsafe { libc::syscall(libc::SYS_fadvise64, fd, 0, 0, libc::POSIX_FADV_RANDOM) };
}

/// `cachestat(2)`, since Linux 6.5: the same number on every architecture.
const SYS_CACHESTAT: libc::c_long = 451;

#[repr(C)]
struct CacheStatRange {
    offset: u64,
    length: u64,
}

#[repr(C)]
#[derive(Default)]
struct CacheStatAnswer {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Asks the kernel what became of pages of `fd`. Older kernels and files of others do not answer.
pub(crate) struct CacheStat {
    pub(crate) fd: c_int,
}

impl Residency for CacheStat {
    fn evicted(&self, range: PageRange) -> Option<PageCount> {
        let range = CacheStatRange {
            offset: PageCount::new(range.start.get()).bytes().get(),
            length: range.len().bytes().get(),
        };
        let mut answer = CacheStatAnswer::default();
        // SAFETY: both buffers are ours and have the layout that the call expects.
        let failed = unsafe {
            libc::syscall(SYS_CACHESTAT, self.fd, &raw const range, &raw mut answer, 0) != 0
        };
        (!failed).then_some(PageCount::new(answer.evicted))
    }
}
