//! What the program itself says to the kernel, and what it maps: heard so that it can be respected.
//!
//! Only calls that succeeded are passed on; the kernel has then done what the program wanted, and
//! the decisions keep out of its way. Page faults of a mapping cannot be seen from here.

use crate::guard::guarded;
use libc::{c_int, c_void, off_t, size_t, ssize_t};

/// Advice about a range of a file. Such a call returns its error instead of setting `errno`.
#[inline]
pub(super) fn on_range(
    fd: c_int,
    offset: off_t,
    length: off_t,
    advice: c_int,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let error = call();
    if error == 0 {
        guarded(|| crate::descriptors::on_fadvise(fd, offset, length, advice));
    }
    error
}

/// The program reads ahead itself.
#[inline]
pub(super) fn ahead(
    fd: c_int,
    offset: off_t,
    count: size_t,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let result = call();
    if result == 0 {
        guarded(|| crate::descriptors::on_readahead(fd, offset, count));
    }
    result
}

/// A mapping. Allocators map memory through here before anything is set up: those calls have no
/// file.
#[inline]
pub(super) fn map(
    length: size_t,
    flags: c_int,
    fd: c_int,
    offset: off_t,
    call: impl FnOnce() -> *mut c_void,
) -> *mut c_void {
    let mapped = call();
    if fd >= 0 && flags & libc::MAP_ANONYMOUS == 0 && mapped != libc::MAP_FAILED {
        crate::trees::on_unseen_reads(fd);
        if crate::wake::sees_all() {
            guarded(|| crate::descriptors::on_mmap(fd, length, offset));
        }
    }
    mapped
}
