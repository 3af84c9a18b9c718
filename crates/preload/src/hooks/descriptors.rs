//! Descriptors that come, go and are copied: a number used again must not inherit anything.
//!
//! Files are recognised when they are read; opening is noted only so that a number whose closing
//! could not be seen (inside the C library, by a raw system call) starts afresh. Closing is
//! reported before it happens: afterwards another thread may own the number already. Copies are
//! reported after they succeeded.
//!
//! The child of a `vfork` opens, closes and copies descriptors of its own, but in the memory of its
//! parent. All that can come of it is that a number is forgotten, or counts as shared: the parent
//! looks at it again when it waits. Of what it gave advice about, nothing is forgotten for its child.

use crate::guard::guarded;
use crate::ops;
use crate::trees;
use libc::{c_int, c_uint, off_t};

/// Reports that `fd`, if it is one, is new.
#[inline]
pub(super) fn opened(fd: c_int) {
    crate::descriptors::on_open(fd);
}

/// Reports that `fd` is about to be closed; `is_stream`: by the C library.
#[inline]
pub(super) fn closing(fd: c_int, is_stream: bool) {
    trees::on_close(fd, is_stream);
    if ops::is_file(fd) {
        guarded(|| crate::descriptors::on_close(fd));
    } else {
        ops::on_close(fd);
    }
}

/// Reports that `new`, if it is a descriptor, is now the same open file as `old`.
#[inline]
fn copied(old: c_int, new: c_int) {
    if new >= 0 {
        crate::descriptors::on_dup(old, new);
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
    closing(fd, false);
    call()
}

/// The end of `first` to `last`. With CLOSE_RANGE_CLOEXEC the descriptors stay open until the next
/// exec. A call that fails closes nothing: then the files are only recognised once more.
#[inline]
pub(super) fn close_range<R>(
    first: c_uint,
    last: c_uint,
    flags: c_int,
    call: impl FnOnce() -> R,
) -> R {
    let stays_open = flags.cast_unsigned() & libc::CLOSE_RANGE_CLOEXEC != 0;
    if !stays_open && first <= last {
        crate::descriptors::on_close_range(first, last);
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
    if command == libc::F_SETLEASE {
        // The helper's opening a file would break the lease, for which the program may get a signal that ends it.
        trees::stop();
    }
    let result = call();
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => copied(fd, result),
        libc::F_SETFL if result >= 0 => ops::on_flags(fd),
        _ => {}
    }
    result
}

/// A seek that ended at the position that it returned.
#[inline]
pub(super) fn seek(fd: c_int, call: impl FnOnce() -> off_t) -> off_t {
    let position = call();
    if position >= 0 {
        crate::descriptors::on_seek(fd, position);
    }
    position
}
