//! `read`, `pread`, `readv`, `preadv`, their 64-bit and checked names, and `lseek`.
//!
//! The plain ones are announced before the call, so that what will be wanted next is on its way
//! while the program waits. The vectored ones are told of only afterwards: how much they ask for
//! stands in an array that may be a bad pointer, and the kernel has to find that out, not we.

use super::tell::tell;
use crate::ops::{self, Glance};
use crate::real;
use libc::{c_int, c_void, iovec, off_t, size_t, ssize_t};

/// The most that the kernel moves in one call, whatever is asked for.
pub(super) const CALL_BYTES_MAX: usize = 0x7fff_f000;

/// One read at `position` (`None`: where the descriptor stands), announced and reported.
#[inline]
pub(super) fn noted(
    fd: c_int,
    position: Option<u64>,
    length: usize,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    if fd < 0 || length == 0 {
        return call();
    }
    let length = length.min(CALL_BYTES_MAX);
    // The glance and the end of a read that did not wait change no `errno` and cannot panic, so
    // they need not go through `tell`: nearly all reads of a learned stream end here.
    let token = match ops::glance(fd, position, length) {
        Glance::Ignore => return unnoted(fd, position, call),
        Glance::Quick(token) => Some(token),
        Glance::Closer => tell(|| ops::before_read(fd, position, length)).flatten(),
    };
    let result = call();
    if let Some(token) = token
        && ops::after_read(&token, result)
    {
        tell(|| ops::after_wait(&token));
    }
    result
}

/// A read that is of no interest but to a recording: the program gives advice of its own.
#[inline]
fn unnoted(fd: c_int, position: Option<u64>, call: impl FnOnce() -> ssize_t) -> ssize_t {
    if !ops::is_recording() {
        return call();
    }
    let begun = crate::ticks::now();
    let result = call();
    if let Ok(bytes) = usize::try_from(result) {
        let ticks = crate::ticks::now().saturating_sub(begun);
        tell(|| ops::record_untold(fd, position, bytes, Some(ticks)));
    }
    result
}

/// A read of unknown length from where the descriptor stands: told of when it is over.
pub(super) fn noted_afterwards(fd: c_int, call: impl FnOnce() -> ssize_t) -> ssize_t {
    let start = tell(|| {
        (fd >= 0 && ops::is_watched(fd)).then(|| {
            ops::tracked_position(fd)
                // SAFETY: asks for the position of a descriptor; touches no memory.
                .or_else(|| u64::try_from(unsafe { real::lseek(fd, 0, libc::SEEK_CUR) }).ok())
        })
    });
    let result = call();
    if let (Some(Some(Some(start))), Ok(bytes)) = (start, usize::try_from(result)) {
        tell(|| {
            report(fd, start, bytes);
            ops::set_position(fd, start.saturating_add(bytes as u64));
        });
    }
    result
}

/// A read of unknown length at `offset`: told of when it is over.
fn noted_afterwards_at(fd: c_int, offset: off_t, call: impl FnOnce() -> ssize_t) -> ssize_t {
    let result = call();
    if let (Ok(start), Ok(bytes)) = (u64::try_from(offset), usize::try_from(result)) {
        tell(|| report(fd, start, bytes));
    }
    result
}

/// Tells of `bytes` that were read at `start`.
pub(super) fn report(fd: c_int, start: u64, bytes: usize) {
    if bytes > 0 {
        ops::before_read(fd, Some(start), bytes);
        if ops::is_recording() {
            ops::record_untold(fd, Some(start), bytes, None);
        }
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn read(fd: c_int, buffer: *mut c_void, count: size_t) -> ssize_t {
    // SAFETY: the caller's arguments, with the contract of read(2).
    noted(fd, None, count, || unsafe { real::read(fd, buffer, count) })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn __read_chk(
    fd: c_int,
    buffer: *mut c_void,
    count: size_t,
    size: size_t,
) -> ssize_t {
    // SAFETY: the caller's arguments, with the contract of the checked read(2).
    noted(fd, None, count, || unsafe {
        real::__read_chk(fd, buffer, count, size)
    })
}

/// A read at `offset`, which the kernel refuses when it is negative.
#[inline]
fn noted_at(fd: c_int, offset: off_t, length: usize, call: impl FnOnce() -> ssize_t) -> ssize_t {
    match u64::try_from(offset) {
        Ok(position) => noted(fd, Some(position), length, call),
        Err(_) => call(),
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn pread(
    fd: c_int,
    buffer: *mut c_void,
    count: size_t,
    offset: off_t,
) -> ssize_t {
    // SAFETY: the caller's arguments, with the contract of pread(2).
    noted_at(fd, offset, count, || unsafe {
        real::pread(fd, buffer, count, offset)
    })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn pread64(
    fd: c_int,
    buffer: *mut c_void,
    count: size_t,
    offset: off_t,
) -> ssize_t {
    // SAFETY: the caller's arguments, with the contract of pread(2).
    noted_at(fd, offset, count, || unsafe {
        real::pread(fd, buffer, count, offset)
    })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn __pread_chk(
    fd: c_int,
    buffer: *mut c_void,
    count: size_t,
    offset: off_t,
    size: size_t,
) -> ssize_t {
    // SAFETY: the caller's arguments, with the contract of the checked pread(2).
    noted_at(fd, offset, count, || unsafe {
        real::__pread_chk(fd, buffer, count, offset, size)
    })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn __pread64_chk(
    fd: c_int,
    buffer: *mut c_void,
    count: size_t,
    offset: off_t,
    size: size_t,
) -> ssize_t {
    // SAFETY: the caller's arguments, with the contract of the checked pread(2).
    noted_at(fd, offset, count, || unsafe {
        real::__pread_chk(fd, buffer, count, offset, size)
    })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn readv(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: the caller's arguments, with the contract of readv(2).
    noted_afterwards(fd, || unsafe { real::readv(fd, parts, count) })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn preadv(
    fd: c_int,
    parts: *const iovec,
    count: c_int,
    offset: off_t,
) -> ssize_t {
    // SAFETY: the caller's arguments, with the contract of preadv(2).
    noted_afterwards_at(fd, offset, || unsafe {
        real::preadv(fd, parts, count, offset)
    })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn preadv64(
    fd: c_int,
    parts: *const iovec,
    count: c_int,
    offset: off_t,
) -> ssize_t {
    // SAFETY: the caller's arguments, with the contract of preadv(2).
    noted_afterwards_at(fd, offset, || unsafe {
        real::preadv(fd, parts, count, offset)
    })
}

/// `preadv2` and its 64-bit name: an offset of -1 means where the descriptor stands.
unsafe fn any_preadv2(
    fd: c_int,
    parts: *const iovec,
    count: c_int,
    offset: off_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the caller's arguments, with the contract of preadv2(2).
    let call = || unsafe { real::preadv2(fd, parts, count, offset, flags) };
    if offset == -1 {
        noted_afterwards(fd, call)
    } else {
        noted_afterwards_at(fd, offset, call)
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn preadv2(
    fd: c_int,
    parts: *const iovec,
    count: c_int,
    offset: off_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the caller's arguments, with the contract of preadv2(2).
    unsafe { any_preadv2(fd, parts, count, offset, flags) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn preadv64v2(
    fd: c_int,
    parts: *const iovec,
    count: c_int,
    offset: off_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the caller's arguments, with the contract of preadv2(2).
    unsafe { any_preadv2(fd, parts, count, offset, flags) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn lseek(fd: c_int, offset: off_t, whence: c_int) -> off_t {
    // SAFETY: the caller's arguments, with the contract of lseek(2).
    let position = unsafe { real::lseek(fd, offset, whence) };
    if position >= 0 {
        tell(|| ops::on_seek(fd, position));
    }
    position
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn lseek64(fd: c_int, offset: off_t, whence: c_int) -> off_t {
    // SAFETY: the caller's arguments, with the contract of lseek(2).
    unsafe { lseek(fd, offset, whence) }
}
