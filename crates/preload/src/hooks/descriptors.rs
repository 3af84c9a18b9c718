//! Descriptors that come, go and are copied: a number used again must not inherit anything.
//!
//! Files are recognised when they are read; opening is noted only so that a number whose closing
//! could not be seen (inside the C library, by a raw system call) starts afresh. Closing is
//! reported before it happens: afterwards another thread may own the number already. Copies are
//! reported after they succeeded.
//!
//! The child of a `vfork` opens, closes and copies descriptors of its own, but in the memory of its
//! parent. That a number is forgotten costs the parent another look; that it became a copy would
//! be wrong there, so copies are reported only by the owner: see [`process::is_borrowed`].
//!
//! As long as nothing was made in this process, all of this is nothing but the real call.

use super::guard::guarded;
use super::process;
use crate::fd_table::Entry;
use crate::{host, ops};
use libc::{c_int, c_uint, off_t};
use std::sync::atomic::Ordering;

/// Reports that `fd`, if it is one, is new.
#[inline]
pub(super) fn opened(fd: c_int) {
    if fd >= 0 && is_known(fd) {
        guarded(|| ops::on_open(fd));
    }
}

/// Reports that `fd` is about to be closed.
#[inline]
pub(super) fn closing(fd: c_int) {
    if fd >= 0 && is_known(fd) {
        guarded(|| ops::on_close(fd));
    }
}

/// Whether anything is remembered of this number.
#[inline]
fn is_known(fd: c_int) -> bool {
    host::get().is_some_and(|host| host.descriptors.get(fd) != Entry::Unknown)
}

/// Reports that `new` is now the same open file as `old`.
#[inline]
fn copied(old: c_int, new: c_int) {
    if new >= 0 && new != old && (is_known(old) || is_known(new)) {
        guarded(|| {
            if !process::is_borrowed() {
                ops::on_dup(old, new);
            }
        });
    }
}

/// A call that opens a descriptor.
#[inline]
pub(super) fn open(call: impl FnOnce() -> c_int) -> c_int {
    let fd = call();
    opened(fd);
    fd
}

/// The end of `fd`.
#[inline]
pub(super) fn close(fd: c_int, call: impl FnOnce() -> c_int) -> c_int {
    closing(fd);
    call()
}

/// The end of `first` to `last`. With CLOSE_RANGE_CLOEXEC the descriptors stay open until the next
/// exec. A call that fails closes nothing: then the files are only recognised once more.
/// Programs that start others close all numbers that there are, each time, in the child of a
/// `vfork`: so nothing is looked at beyond the highest number that was ever seen.
#[inline]
pub(super) fn close_range<R>(
    first: c_uint,
    last: c_uint,
    flags: c_int,
    call: impl FnOnce() -> R,
) -> R {
    if flags.cast_unsigned() & libc::CLOSE_RANGE_CLOEXEC == 0
        && let Some(host) = host::get()
    {
        let last = last.min(host.highest_fd.load(Ordering::Relaxed));
        if first <= last {
            guarded(|| {
                if !process::is_borrowed() {
                    ops::on_close_range(first, last);
                }
            });
        }
    }
    call()
}

/// A call that returns a copy of `old`.
#[inline]
pub(super) fn copy(old: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let new = call();
    copied(old, new);
    new
}

/// `fcntl`: some commands copy a descriptor. F_SETFL may have turned O_DIRECT on or off, so the
/// descriptor is looked at again when it is next read.
#[inline]
pub(super) fn command(fd: c_int, command: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let result = call();
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => copied(fd, result),
        libc::F_SETFL if result >= 0 => opened(fd),
        _ => {}
    }
    result
}

/// A seek that ended at the position that it returned.
#[inline]
pub(super) fn seek(fd: c_int, call: impl FnOnce() -> off_t) -> off_t {
    let position = call();
    if position >= 0 && is_known(fd) {
        guarded(|| ops::on_seek(fd, position));
    }
    position
}
