//! What the program itself tells the kernel, and what it maps: heard so that it can be respected.
//!
//! Only calls that succeeded are passed on; the kernel has then done what the program wanted, and
//! the decisions keep out of its way. Page faults of a mapping cannot be seen from here.

use super::tell::tell;
use crate::{ops, real};
use libc::{c_int, c_void, off_t, size_t, ssize_t};

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn posix_fadvise(
    fd: c_int,
    offset: off_t,
    length: off_t,
    advice: c_int,
) -> c_int {
    // posix_fadvise returns its error instead of setting errno.
    // SAFETY: the caller's arguments, with the contract of posix_fadvise(2).
    let error = unsafe { real::posix_fadvise(fd, offset, length, advice) };
    if error == 0 {
        tell(|| ops::on_fadvise(fd, offset, length, advice));
    }
    error
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn posix_fadvise64(
    fd: c_int,
    offset: off_t,
    length: off_t,
    advice: c_int,
) -> c_int {
    // SAFETY: the caller's arguments, with the contract of posix_fadvise(2).
    unsafe { posix_fadvise(fd, offset, length, advice) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn readahead(fd: c_int, offset: off_t, count: size_t) -> ssize_t {
    // SAFETY: the caller's arguments, with the contract of readahead(2).
    let result = unsafe { real::readahead(fd, offset, count) };
    if result == 0 {
        tell(|| ops::on_readahead(fd, offset, count));
    }
    result
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn madvise(address: *mut c_void, length: size_t, advice: c_int) -> c_int {
    // SAFETY: the caller's arguments, with the contract of madvise(2).
    let result = unsafe { real::madvise(address, length, advice) };
    if result == 0 {
        tell(|| ops::on_madvise(address.addr(), length, advice));
    }
    result
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn posix_madvise(
    address: *mut c_void,
    length: size_t,
    advice: c_int,
) -> c_int {
    // SAFETY: the caller's arguments, with the contract of posix_madvise(3).
    let error = unsafe { real::posix_madvise(address, length, advice) };
    // POSIX_MADV_DONTNEED does nothing in the C library; the other values are those of madvise.
    if error == 0 {
        tell(|| ops::on_madvise(address.addr(), length, advice));
    }
    error
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn mmap(
    address: *mut c_void,
    length: size_t,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: the caller's arguments, with the contract of mmap(2).
    let mapped = unsafe { real::mmap(address, length, protection, flags, fd, offset) };
    // Allocators map memory through here before anything is set up: those calls have no file.
    if fd >= 0 && flags & libc::MAP_ANONYMOUS == 0 && mapped != libc::MAP_FAILED {
        tell(|| ops::on_mmap(fd, length, flags, offset));
    }
    mapped
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn mmap64(
    address: *mut c_void,
    length: size_t,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: the caller's arguments, with the contract of mmap(2).
    unsafe { mmap(address, length, protection, flags, fd, offset) }
}
