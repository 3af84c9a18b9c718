//! Calls that go by names: opening files, asking for their metadata, listing folders, going to another working
//! folder. They tell [`crate::trees`] which files of a tree the program visits; see there for what that costs.

use super::descriptors::opened;
use crate::trees::{self, Clock};
use libc::{DIR, c_char, c_int};

/// A call that opens `path` from `folder` on.
///
/// # Safety
/// That of the C function: `path` is a C string if the call succeeds.
#[inline]
pub(super) unsafe fn open(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let clock = Clock::start();
    let fd = call();
    opened(fd);
    clock.stop(|| fd);
    if fd >= 0
        && let Some(opening) = opening(flags)
    {
        let opened = (opening != Opening::Question).then_some(fd);
        // SAFETY: the kernel has read the path.
        unsafe { trees::on_visit(folder, path, opened, opening == Opening::Folder) };
    }
    fd
}

/// What a program opens a name for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    Folder,
    File,
    /// No byte can be read through the descriptor.
    Question,
}

/// By the flags of the call that succeeded; `None`: what was there before is not read.
#[inline]
const fn opening(flags: c_int) -> Option<Opening> {
    let is_new = flags & libc::O_EXCL != 0 && flags & libc::O_CREAT != 0
        || flags & libc::O_TRUNC != 0
        // Has the bit of O_DIRECTORY.
        || flags & libc::O_TMPFILE == libc::O_TMPFILE;
    if flags & libc::O_PATH != 0 {
        // The kernel ignores all others.
        return Some(if flags & libc::O_DIRECTORY != 0 {
            Opening::Folder
        } else {
            Opening::Question
        });
    }
    if is_new || flags & libc::O_ACCMODE == libc::O_WRONLY {
        return None;
    }
    Some(if flags & libc::O_DIRECTORY != 0 {
        Opening::Folder
    } else {
        Opening::File
    })
}

/// A call that asks for the metadata of `path` from `folder` on.
///
/// # Safety
/// As [`open`].
#[inline]
pub(super) unsafe fn ask(
    folder: c_int,
    path: *const c_char,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let result = call();
    if result == 0 {
        // SAFETY: the kernel has read the path.
        unsafe { trees::on_visit(folder, path, None, false) };
    }
    result
}

/// `opendir`.
///
/// # Safety
/// As [`open`].
#[inline]
pub(super) unsafe fn list(path: *const c_char, call: impl FnOnce() -> *mut DIR) -> *mut DIR {
    let listing = call();
    if !listing.is_null() {
        // SAFETY: the C library has just made it.
        opened(unsafe { libc::dirfd(listing) });
        // SAFETY: the kernel has read the path.
        unsafe { trees::on_list(libc::AT_FDCWD, path) };
    }
    listing
}

/// `fdopendir`.
///
/// # Safety
/// That of the C function.
#[inline]
pub(super) unsafe fn list_open(folder: c_int, call: impl FnOnce() -> *mut DIR) -> *mut DIR {
    let listing = call();
    if !listing.is_null() {
        // SAFETY: no path.
        unsafe { trees::on_list(folder, std::ptr::null()) };
    }
    listing
}

/// A call that goes on with a listing.
///
/// # Safety
/// That of the C function: `listing` is open.
#[inline]
pub(super) unsafe fn go_on<R>(listing: *mut DIR, call: impl FnOnce() -> R) -> R {
    trees::may_begin();
    let Some(clock) = Clock::start_of_listing() else {
        return call();
    };
    let result = call();
    // SAFETY: by this function's own condition.
    clock.stop(|| unsafe { libc::dirfd(listing) });
    result
}

/// A call that ends a listing.
#[inline]
pub(super) fn end<R>(call: impl FnOnce() -> R) -> R {
    trees::may_begin();
    call()
}

/// `chdir`, `fchdir`, `chroot`.
#[inline]
pub(super) fn go_to(call: impl FnOnce() -> c_int) -> c_int {
    let result = call();
    if result == 0 {
        trees::on_new_working_folder();
    }
    result
}

/// `unshare`, `setns`: what they do may be refused to a process with several threads. `setfsuid`, `setfsgid`, `capset`:
/// they change one thread alone, and the helper's rights would stay what they were. `mount`, `umount`: what the helper
/// has open is in their way.
#[inline]
pub(super) fn alone(call: impl FnOnce() -> c_int) -> c_int {
    trees::stop();
    call()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_made_or_only_pointed_at_are_not_read() {
        let made = libc::O_RDWR | libc::O_CREAT;
        for flags in [
            libc::O_WRONLY,
            made | libc::O_EXCL,
            made | libc::O_TRUNC,
            libc::O_RDWR | libc::O_TMPFILE,
        ] {
            assert_eq!(opening(flags), None, "{flags:o}");
        }
        let pointed = libc::O_PATH | libc::O_NOFOLLOW;
        assert_eq!(opening(pointed), Some(Opening::Question));
        assert_eq!(opening(pointed | libc::O_DIRECTORY), Some(Opening::Folder));
        assert_eq!(opening(libc::O_DIRECTORY), Some(Opening::Folder));
        for flags in [libc::O_RDONLY, libc::O_RDONLY | libc::O_CLOEXEC, made] {
            assert_eq!(opening(flags), Some(Opening::File), "{flags:o}");
        }
    }
}
