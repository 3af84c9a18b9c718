//! Whether the filters of system calls that this process runs under let the interposed library's
//! own calls pass: tried in a child, which may not survive it.
//!
//! The answer "not permitted" is fine, the library lives with it. What must not happen is that a
//! call ends the process. This is the list of the library's calls; a call that it makes and that is
//! not here is a mistake.

use std::fs;
use std::path::Path;

/// The variable that hands over how many filters the library's system calls are known to survive.
pub const FILTERS_VARIABLE: &str = "AHEAD_FILTERS";

/// The value of [`FILTERS_VARIABLE`] for programs started from here. 0 where nothing is known: then
/// the library works only where there are no filters at all.
///
/// A filter may end a process for a call that its author did not think of, and it is inherited. In a
/// container there always is one, and it lets the library's calls pass; this is tried here, and the
/// number of filters is handed over. The library trusts that many, and keeps out of processes that
/// have more. Only for a process with one thread, as [`survives_calls_of_library`].
#[must_use]
pub fn vouched_for() -> u64 {
    match filters(Path::new("/proc")) {
        Some(filters) if filters > 0 && survives_calls_of_library() => filters,
        _ => 0,
    }
}

/// The variable that hands over the same for the calls of the helper that goes ahead through trees.
pub const TREE_FILTERS_VARIABLE: &str = "AHEAD_TREE_FILTERS";

/// The value of [`TREE_FILTERS_VARIABLE`]. A filter that ends the process at one of these calls turns off only trees.
/// Conditions as of [`vouched_for`].
#[must_use]
pub fn vouched_for_trees() -> u64 {
    match filters(Path::new("/proc")) {
        Some(filters) if filters > 0 && survives(try_calls_of_helper) => filters,
        _ => 0,
    }
}

/// Filters that the process runs under whose /proc is at `root`; `None` when the kernel does not
/// count them (before 5.9, and where it was built without filters).
#[must_use]
pub fn filters(root: &Path) -> Option<u64> {
    let status = fs::read_to_string(root.join("self/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Seccomp_filters:"))?;
    line.trim().parse().ok()
}

/// Makes every call of the library in a child process. True if that survived.
///
/// Only for a process with one thread: the child of another one could find a lock taken.
#[must_use]
pub fn survives_calls_of_library() -> bool {
    survives(try_calls)
}

fn survives(calls: impl FnOnce()) -> bool {
    // SAFETY: the child makes system calls and ends, without returning to its caller.
    let child = unsafe { libc::fork() };
    if child == 0 {
        calls();
        // SAFETY: ends this process without running anything else of it.
        unsafe { libc::_exit(0) };
    }
    if child < 0 {
        return false;
    }
    let mut status = 0;
    loop {
        // SAFETY: our own child, and a local buffer.
        let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
        if waited == child {
            return libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
        }
        if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return false;
        }
    }
}

/// `cachestat(2)`: the same number on every architecture.
const SYS_CACHESTAT: libc::c_long = 451;

fn try_calls() {
    let path = c"/proc/self/status".as_ptr();
    let mut buffer = [0_u64; 64];
    let bytes = buffer.as_mut_ptr();
    // SAFETY: every pointer is to the local buffer, which is larger than what the calls write, or
    // to a constant; descriptors are our own, and the new mapping is not looked at.
    unsafe {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        let file = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags, 0);
        libc::syscall(libc::SYS_read, file, bytes, 8_usize);
        libc::syscall(libc::SYS_lseek, file, 0_i64, libc::SEEK_CUR);
        libc::syscall(libc::SYS_fstat, file, bytes);
        libc::syscall(
            libc::SYS_newfstatat,
            file,
            c"".as_ptr(),
            bytes,
            libc::AT_EMPTY_PATH,
        );
        libc::syscall(
            libc::SYS_statx,
            file,
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            libc::STATX_BASIC_STATS | libc::STATX_BTIME,
            bytes,
        );
        libc::syscall(libc::SYS_fstatfs, file, bytes);
        libc::syscall(libc::SYS_fcntl, file, libc::F_GETFL, 0_usize);
        libc::syscall(
            libc::SYS_fadvise64,
            file,
            0_i64,
            0_i64,
            libc::POSIX_FADV_NORMAL,
        );
        libc::syscall(libc::SYS_readahead, file, 0_i64, 0_usize);
        libc::syscall(libc::SYS_pwrite64, file, bytes, 0_usize, 0_i64);
        libc::syscall(SYS_CACHESTAT, file, bytes, bytes, 0);
        libc::syscall(libc::SYS_close, file);
        let link = c"/proc/self/exe".as_ptr();
        libc::syscall(libc::SYS_readlinkat, libc::AT_FDCWD, link, bytes, 8_usize);
        let own = libc::syscall(libc::SYS_getpid);
        libc::syscall(
            libc::SYS_process_vm_readv,
            own,
            bytes,
            0_usize,
            bytes,
            0_usize,
            0_usize,
        );
        libc::syscall(libc::SYS_gettid);
        libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, bytes);
        libc::syscall(libc::SYS_prlimit64, 0, libc::RLIMIT_FSIZE, 0_usize, bytes);
        libc::syscall(libc::SYS_getrusage, libc::RUSAGE_SELF, bytes);
        let mapped = libc::syscall(
            libc::SYS_mmap,
            0_usize,
            4096_usize,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0_usize,
        );
        libc::syscall(libc::SYS_madvise, mapped, 4096_usize, libc::MADV_NOHUGEPAGE);
        libc::syscall(libc::SYS_munmap, mapped, 4096_usize);
    }
}

/// Makes a thread, which makes the calls of the helper.
fn try_calls_of_helper() {
    try_calls();
    let mut thread = std::mem::MaybeUninit::uninit();
    // SAFETY: locals, filled by the calls before they are used; the thread is joined.
    unsafe {
        let mut mask = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigfillset(mask.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, mask.as_ptr(), std::ptr::null_mut());
        let nothing = std::ptr::null_mut();
        if libc::pthread_create(thread.as_mut_ptr(), std::ptr::null(), helper, nothing) == 0 {
            libc::pthread_join(thread.assume_init(), std::ptr::null_mut());
        }
    }
}

extern "C" fn helper(_: *mut libc::c_void) -> *mut libc::c_void {
    let mut buffer = [0_u64; 512];
    let bytes = buffer.as_mut_ptr();
    let word = 0_u32;
    // SAFETY: every pointer is to a local buffer, which is larger than what the calls write, or to a constant;
    // descriptors are those of this thread's own table.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            0,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_UNSHARE,
        );
        let open = |flags: libc::c_int| {
            let flags = libc::O_CLOEXEC | libc::O_DIRECTORY | flags;
            libc::syscall(libc::SYS_openat, libc::AT_FDCWD, c"/".as_ptr(), flags, 0)
        };
        libc::syscall(libc::SYS_close, open(libc::O_PATH));
        libc::syscall(libc::SYS_close, open(libc::O_NOATIME));
        // A `struct open_how`, of which only the flags are not zero.
        buffer[..3].fill(0);
        buffer[0] = (libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC) as u64;
        buffer[2] = libc::RESOLVE_CACHED;
        let cached = libc::syscall(
            libc::SYS_openat2,
            libc::AT_FDCWD,
            c"/".as_ptr(),
            bytes,
            24_usize,
        );
        libc::syscall(libc::SYS_close, cached);
        let folder = open(libc::O_NOFOLLOW);
        libc::syscall(libc::SYS_fstatfs, folder, bytes);
        libc::syscall(libc::SYS_getdents64, folder, bytes, size_of_val(&buffer));
        // Space for no extent: only how many there are is answered.
        buffer[..4].fill(0);
        libc::syscall(libc::SYS_ioctl, folder, 0xC020_660B_u64, bytes);
        libc::syscall(libc::SYS_close, folder);
        let name = c"/".as_ptr();
        libc::syscall(
            libc::SYS_newfstatat,
            libc::AT_FDCWD,
            name,
            bytes,
            libc::AT_SYMLINK_NOFOLLOW,
        );
        let wake = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        libc::syscall(libc::SYS_futex, &raw const word, wake, 1);
        let wait = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        // Not the value that is there: it does not wait.
        libc::syscall(libc::SYS_futex, &raw const word, wait, 1, 0_usize);
        libc::syscall(libc::SYS_sched_yield);
        libc::syscall(libc::SYS_getrusage, libc::RUSAGE_THREAD, bytes);
    }
    std::ptr::null_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_counted_where_the_kernel_counts_them() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("self")).unwrap();
        let status = folder.path().join("self/status");
        fs::write(&status, "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t3\n").unwrap();
        assert_eq!(filters(folder.path()), Some(3));
        fs::write(&status, "Name:\tx\nSeccomp:\t2\n").unwrap();
        assert_eq!(filters(folder.path()), None);
    }

    #[test]
    fn the_calls_of_the_helper_are_survived_here() {
        assert!(survives(try_calls_of_helper));
    }

    #[test]
    fn the_calls_of_the_library_are_survived_here() {
        assert!(survives_calls_of_library());
    }
}
