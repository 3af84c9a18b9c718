//! Descriptors that come, go and are copied: a number used again must not inherit anything.
//!
//! Files are recognised when they are first read; opening is noted only so that a number whose
//! closing could not be seen (inside the C library, by a raw system call) starts afresh. Closing
//! is told of before it happens: afterwards another thread may own the number already. Copies are
//! told of after they succeeded.
//!
//! The child of a `vfork` opens, closes and copies descriptors of its own, but in the memory of its
//! parent. That a number is forgotten costs the parent another look; that it became a copy would
//! be wrong there, so copies are told of only by the owner: see [`process::is_borrowed`].

use super::process;
use super::tell::tell;
use crate::{ops, real};
use libc::{c_char, c_int, c_uint, mode_t};

/// Tells that `fd`, if it is one, is new. Returns it.
pub(super) fn opened(fd: c_int) -> c_int {
    if fd >= 0 {
        tell(|| ops::on_open(fd));
    }
    fd
}

/// Tells that `fd` is about to be closed.
pub(super) fn closing(fd: c_int) {
    if fd >= 0 {
        tell(|| ops::on_close(fd));
    }
}

/// Tells that `new` is now the same open file as `old`. Returns it.
fn copied(old: c_int, new: c_int) -> c_int {
    if new >= 0 && new != old {
        tell(|| {
            if !process::is_borrowed() {
                ops::on_dup(old, new);
            }
        });
    }
    new
}

// The mode is a variable argument in C. Here it is always there: on the machines that the GNU C
// library serves, a variable argument that was not passed is a register with some value, and the
// real function does not look at it unless the flags say so.

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the caller's arguments, with the contract of open(2).
    opened(unsafe { real::open(path, flags, mode) })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the caller's arguments, with the contract of open(2).
    opened(unsafe { real::open(path, flags, mode) })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn openat(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> c_int {
    // SAFETY: the caller's arguments, with the contract of openat(2).
    opened(unsafe { real::openat(folder, path, flags, mode) })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn openat64(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> c_int {
    // SAFETY: the caller's arguments, with the contract of openat(2).
    opened(unsafe { real::openat(folder, path, flags, mode) })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn creat(path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: the caller's arguments, with the contract of creat(2).
    opened(unsafe { real::creat(path, mode) })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn creat64(path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: the caller's arguments, with the contract of creat(2).
    opened(unsafe { real::creat(path, mode) })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn __open_2(path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the caller's arguments, with the contract of the checked open(2).
    opened(unsafe { real::__open_2(path, flags) })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn __open64_2(path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the caller's arguments, with the contract of the checked open(2).
    opened(unsafe { real::__open_2(path, flags) })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn __openat_2(folder: c_int, path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the caller's arguments, with the contract of the checked openat(2).
    opened(unsafe { real::__openat_2(folder, path, flags) })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn __openat64_2(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's arguments, with the contract of the checked openat(2).
    opened(unsafe { real::__openat_2(folder, path, flags) })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn close(fd: c_int) -> c_int {
    closing(fd);
    // SAFETY: the caller's argument, with the contract of close(2).
    unsafe { real::close(fd) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    // With CLOSE_RANGE_CLOEXEC the descriptors stay open until the next exec. A call that fails
    // closes nothing: then the files are only recognised once more.
    if flags.cast_unsigned() & libc::CLOSE_RANGE_CLOEXEC == 0 && first <= last {
        tell(|| ops::on_close_range(first, last));
    }
    // SAFETY: the caller's arguments, with the contract of close_range(2).
    unsafe { real::close_range(first, last, flags) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn closefrom(first: c_int) {
    tell(|| ops::on_close_range(first.max(0).cast_unsigned(), c_uint::MAX));
    // SAFETY: the caller's argument, with the contract of closefrom(3).
    unsafe { real::closefrom(first) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn dup(fd: c_int) -> c_int {
    // SAFETY: the caller's argument, with the contract of dup(2).
    copied(fd, unsafe { real::dup(fd) })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn dup2(old: c_int, new: c_int) -> c_int {
    // SAFETY: the caller's arguments, with the contract of dup2(2).
    copied(old, unsafe { real::dup2(old, new) })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's arguments, with the contract of dup3(2).
    copied(old, unsafe { real::dup3(old, new, flags) })
}

/// Tells of a copy when that is what `command` makes. Returns what `fcntl` returned.
fn commanded(fd: c_int, command: c_int, result: c_int) -> c_int {
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => copied(fd, result),
        _ => result,
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int {
    // SAFETY: the caller's arguments, with the contract of fcntl(2).
    commanded(fd, command, unsafe { real::fcntl(fd, command, argument) })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int {
    // SAFETY: the caller's arguments, with the contract of fcntl(2).
    commanded(fd, command, unsafe { real::fcntl64(fd, command, argument) })
}
