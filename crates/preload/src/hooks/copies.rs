//! `sendfile`, `copy_file_range` and `splice`: reads that never pass through the program.
//!
//! The kernel copies all of a huge request in one call, which would leave nobody to look ahead.
//! Between two files such a request is made in pieces, and the result is that of one call:
//!
//! * A short piece ends the copy, an error after some bytes is the count of these bytes: so does
//!   the kernel. When the first piece brings nothing, the whole request is made after all, and its
//!   answer, whatever it is, is the program's.
//! * Requests whose checks look at the whole length are not cut: inside one file (overlaps are
//!   refused), under a file size limit (reaching it sends a signal), with lengths near the end of
//!   the number range.
//! * `offset` pointers are passed on as they are; the kernel writes through them after each piece.
//!   We read one only after the kernel has done so.

use super::reads::{CALL_BYTES_MAX, noted, noted_afterwards, report};
use super::tell::{Errno, tell};
use crate::{ops, real};
use libc::{c_int, c_uint, off_t, size_t, ssize_t, stat};
use std::mem::MaybeUninit;

/// Bytes of one piece. Smaller, and the calls show (a piece costs about a microsecond beside a
/// millisecond of copying); larger, and the disk idles while the next piece is not yet asked for.
const PIECE_BYTES: usize = 4 << 20;

/// Bytes of the first piece when the start stands behind a pointer: only after it do we know where
/// in the file we are.
const PIECE_BYTES_FIRST: usize = 256 << 10;

/// Longest `sendfile` that is cut. Beyond, the kernel checks that position and length do not
/// overflow together, which pieces would pass.
const SENDFILE_BYTES_MAX: usize = 1 << 62;

/// Longest `copy_file_range` that is cut. Here the length is first shortened to what the file has,
/// and `cp` asks for nearly all there is.
const COPY_BYTES_MAX: usize = isize::MAX.cast_unsigned();

/// The two sides of a copy.
struct Copy {
    source: c_int,
    target: c_int,
    /// Where the start in the source stands; null: the descriptor's own position.
    source_offset: *const off_t,
    length: usize,
    /// Longest request that may be cut.
    length_max: usize,
}

/// What a descriptor is, or `None` if it is nothing.
fn facts(fd: c_int) -> Option<stat> {
    let mut facts = MaybeUninit::uninit();
    // SAFETY: the buffer is ours and of the right size.
    let result = unsafe { libc::fstat(fd, facts.as_mut_ptr()) };
    // SAFETY: filled by the call that succeeded.
    (result == 0).then(|| unsafe { facts.assume_init() })
}

/// Whether a process may write files of any size.
fn is_unlimited() -> bool {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the buffer is ours and of the right type.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    result == 0 && limit.rlim_cur == libc::RLIM_INFINITY
}

impl Copy {
    /// Whether pieces are sure to give what one call would.
    fn can_be_cut(&self) -> bool {
        if self.length <= PIECE_BYTES || self.length > self.length_max {
            return false;
        }
        let (Some(source), Some(target)) = (facts(self.source), facts(self.target)) else {
            return false;
        };
        let is_regular = |facts: &stat| facts.st_mode & libc::S_IFMT == libc::S_IFREG;
        is_regular(&source)
            && is_regular(&target)
            && (source.st_dev, source.st_ino) != (target.st_dev, target.st_ino)
            && is_unlimited()
    }

    /// Makes the copy with `call`, which is given the length of the piece.
    fn run(&self, call: impl Fn(usize) -> ssize_t) -> ssize_t {
        if !self.source_offset.is_null() {
            return self.run_at_offset(call);
        }
        if tell(|| self.can_be_cut()) != Some(true) {
            return noted(self.source, None, self.length, || call(self.length));
        }
        let piece = |length| noted(self.source, None, length, || call(length));
        match usize::try_from(piece(PIECE_BYTES)) {
            Ok(PIECE_BYTES) => self.go_on(PIECE_BYTES, piece),
            Err(_) | Ok(0) => call(self.length),
            Ok(done) => done.cast_signed(),
        }
    }

    /// The same for a start that stands behind a pointer.
    fn run_at_offset(&self, call: impl Fn(usize) -> ssize_t) -> ssize_t {
        let is_cut = tell(|| self.can_be_cut()) == Some(true);
        let first = if is_cut {
            PIECE_BYTES_FIRST
        } else {
            self.length
        };
        let result = call(first);
        let Ok(done) = usize::try_from(result) else {
            return if is_cut { call(self.length) } else { result };
        };
        if done == 0 {
            return if is_cut { call(self.length) } else { result };
        }
        // SAFETY: the kernel has just written the new offset there.
        let end = unsafe { self.source_offset.read() };
        let start = u64::try_from(end)
            .ok()
            .and_then(|end| end.checked_sub(done as u64));
        if let Some(start) = start {
            tell(|| report(self.source, start, done));
        }
        if !is_cut || done < first {
            return result;
        }
        let position = std::cell::Cell::new(u64::try_from(end).ok());
        self.go_on(done, |length| {
            let result = noted(self.source, position.get(), length, || call(length));
            let moved = u64::try_from(result).unwrap_or(0);
            position.set(
                position
                    .get()
                    .map(|position| position.saturating_add(moved)),
            );
            result
        })
    }

    /// Copies piece by piece what is left after `done` bytes. Returns the bytes of all. The error
    /// that a later piece may meet is nobody's business, so `errno` stays.
    fn go_on(&self, mut done: usize, piece: impl Fn(usize) -> ssize_t) -> ssize_t {
        let length = self.length.min(CALL_BYTES_MAX);
        let errno = Errno::keep();
        while done < length {
            let wanted = PIECE_BYTES.min(length - done);
            let moved = usize::try_from(piece(wanted)).unwrap_or(0);
            done += moved;
            if moved < wanted {
                break;
            }
        }
        errno.put_back();
        done.cast_signed()
    }
}

/// Whether copying inside this file's file system reads it. Some only share the blocks, and some
/// let the server copy: looking ahead there would read what nobody wants.
fn is_copied_through_memory(fd: c_int) -> bool {
    const EXT: u64 = 0xef53;
    const F2FS: u64 = 0xf2f5_2010;
    let mut facts = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the buffer is ours and of the right size.
    let result = unsafe { libc::fstatfs(fd, facts.as_mut_ptr()) };
    // SAFETY: filled by the call that succeeded.
    let kind = (result == 0).then(|| unsafe { facts.assume_init() }.f_type);
    kind.and_then(|kind| u64::try_from(kind).ok())
        .is_some_and(|kind| kind == EXT || kind == F2FS)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn sendfile(
    target: c_int,
    source: c_int,
    offset: *mut off_t,
    count: size_t,
) -> ssize_t {
    // SAFETY: the caller's arguments, with the contract of sendfile(2).
    let call = |count| unsafe { real::sendfile(target, source, offset, count) };
    if source < 0 || tell(|| ops::is_watched(source)) != Some(true) {
        return call(count);
    }
    let copy = Copy {
        source,
        target,
        source_offset: offset,
        length: count,
        length_max: SENDFILE_BYTES_MAX,
    };
    copy.run(call)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn sendfile64(
    target: c_int,
    source: c_int,
    offset: *mut off_t,
    count: size_t,
) -> ssize_t {
    // SAFETY: the caller's arguments, with the contract of sendfile(2).
    unsafe { sendfile(target, source, offset, count) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn copy_file_range(
    source: c_int,
    source_offset: *mut off_t,
    target: c_int,
    target_offset: *mut off_t,
    count: size_t,
    flags: c_uint,
) -> ssize_t {
    let call = |count| {
        // SAFETY: the caller's arguments, with the contract of copy_file_range(2).
        unsafe { real::copy_file_range(source, source_offset, target, target_offset, count, flags) }
    };
    let is_noted = source >= 0
        && tell(|| ops::is_watched(source) && is_copied_through_memory(source)) == Some(true);
    if !is_noted {
        return call(count);
    }
    let copy = Copy {
        source,
        target,
        source_offset,
        length: count,
        length_max: COPY_BYTES_MAX,
    };
    copy.run(call)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn splice(
    source: c_int,
    source_offset: *mut off_t,
    target: c_int,
    target_offset: *mut off_t,
    count: size_t,
    flags: c_uint,
) -> ssize_t {
    // SAFETY: the caller's arguments, with the contract of splice(2).
    let call =
        || unsafe { real::splice(source, source_offset, target, target_offset, count, flags) };
    if source < 0 || tell(|| ops::is_watched(source)) != Some(true) {
        return call();
    }
    if source_offset.is_null() {
        return noted_afterwards(source, call);
    }
    let result = call();
    if let Ok(moved @ 1..) = usize::try_from(result) {
        // SAFETY: the kernel has just written the new offset there.
        let end = unsafe { source_offset.read() };
        if let Some(start) = u64::try_from(end)
            .ok()
            .and_then(|end| end.checked_sub(moved as u64))
        {
            tell(|| report(source, start, moved));
        }
    }
    result
}
