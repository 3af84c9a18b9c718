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
    clock.stop();
    let only_writes = flags & libc::O_ACCMODE == libc::O_WRONLY;
    if fd >= 0 && !only_writes {
        let is_folder = flags & libc::O_DIRECTORY != 0;
        // SAFETY: the kernel has read the path.
        unsafe { trees::on_visit(folder, path, Some(fd), is_folder) };
    }
    fd
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

/// A call that goes on with a listing, or ends it.
#[inline]
pub(super) fn go_on<R>(call: impl FnOnce() -> R) -> R {
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
