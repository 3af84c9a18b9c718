//! Reads through a descriptor.
//!
//! They are announced before the call, so that what will be wanted next is on its way
//! while the program waits. How much the vectored ones ask for stands in an array that may be a bad pointer:
//! the kernel copies it for us, who finds that out. Reads
//! through a descriptor that is not watched are only timed ([`watch`](crate::watch)).

use crate::guard::guarded;
use crate::memory::copy_from;
use crate::ops::{self, Begin, Token, Unwatched};
use crate::{identity, recording, ticks, wake};
use libc::{c_int, iovec, off_t, size_t, ssize_t};
use std::ptr::null_mut;

/// The most that the kernel moves in one call, whatever is asked for.
pub(super) const CALL_BYTES_MAX: usize = 0x7fff_f000;

/// Where a read begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// Where the descriptor stands, which the read moves.
    Here,
    /// At this byte; the descriptor stays where it is.
    At(u64),
}

impl Start {
    #[inline]
    fn offset(self) -> Option<u64> {
        match self {
            Self::Here => None,
            Self::At(offset) => Some(offset),
        }
    }

    /// Where the next one begins, after one that returned `result`.
    pub(super) fn after(self, result: ssize_t) -> Self {
        let bytes = u64::try_from(result).unwrap_or(0);
        match self {
            Self::Here => Self::Here,
            Self::At(offset) => Self::At(offset.saturating_add(bytes)),
        }
    }
}

/// A read of `length` bytes, announced and reported.
#[inline]
pub(super) fn announced(
    fd: c_int,
    start: Start,
    length: usize,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    if let Some(line) = ops::only_timed(fd) {
        let unwatched = Unwatched::begin(line);
        let result = call();
        if unwatched.has_waited(length, result) {
            waited(fd, start, result, unwatched);
        }
        return result;
    }
    if fd < 0 || length == 0 {
        return call();
    }
    let length = length.min(CALL_BYTES_MAX);
    // The first look and the end of a read that did not wait change no `errno` and cannot panic,
    // so they need no guard: nearly all reads end here.
    let mut token = None;
    match ops::begin(fd, start.offset(), length, &mut token) {
        Begin::Ignore => return ignored(fd, start, call),
        Begin::Unwatched(unwatched) => {
            let result = call();
            if unwatched.has_waited(length, result) {
                waited(fd, start, result, unwatched);
            }
            return result;
        }
        Begin::Quick => {}
        Begin::Closer => look_closer(fd, start.offset(), length, &mut token),
    }
    let result = call();
    if let Some(token) = &token
        && ops::after_read(token, result)
    {
        guarded(|| ops::after_wait(token));
    }
    result
}

/// Looks at a read at `position` that is over, and writes what is known to `token`.
#[inline]
pub(super) fn over(fd: c_int, position: u64, length: usize, token: &mut Option<Token>) {
    if let Begin::Closer = ops::begin(fd, Some(position), length, token) {
        guarded(|| *token = ops::of_read_that_is_over(fd, position, length));
    }
}

/// Looks at a read that begins at `position` and is reported when it is over, and writes what is known to `token`.
#[inline]
pub(super) fn begun(fd: c_int, position: u64, length: usize, token: &mut Option<Token>) {
    if let Begin::Closer = ops::begin(fd, Some(position), length, token) {
        look_closer(fd, Some(position), length, token);
    }
}

/// [Looks closer](ops::before_read) at a read that is about to begin, and writes what is known to `token`.
#[inline]
fn look_closer(fd: c_int, position: Option<u64>, length: usize, token: &mut Option<Token>) {
    guarded(|| *token = ops::before_read(fd, position, length));
}

/// A read that is of no interest to the decisions; a recording wants those of programs that give
/// advice of their own.
#[inline]
fn ignored(fd: c_int, start: Start, call: impl FnOnce() -> ssize_t) -> ssize_t {
    if !recording::is_on() {
        return call();
    }
    let begun = ticks::now();
    let result = call();
    if let Ok(bytes @ 1..) = usize::try_from(result) {
        let elapsed = ticks::now().saturating_sub(begun);
        guarded(|| recording::on_untracked_read(fd, start.offset(), bytes, Some(elapsed)));
    }
    result
}

/// A read through a descriptor that is not watched seems to have waited.
#[cold]
#[inline(never)]
pub(super) fn waited(fd: c_int, start: Start, result: ssize_t, unwatched: Unwatched) {
    if let Ok(bytes @ 1..) = usize::try_from(result) {
        guarded(|| ops::on_first_wait(fd, start.offset(), bytes, unwatched));
    }
}

/// Reports `bytes` that were read, and how long that took, if it is known. Changes no `errno`.
pub(super) fn report(fd: c_int, start: Start, bytes: usize, elapsed: Option<u64>) {
    if ops::is_ignored(fd) {
        return;
    }
    // Before the descriptor is looked at: that asks the kernel, who has moved it already.
    let tracked = ops::tracked_position(fd);
    let stood = || guarded(|| identity::position(fd)?.checked_sub(bytes as u64)).flatten();
    let Some(offset) = start.offset().or(tracked).or_else(stood) else {
        return;
    };
    let mut token = None;
    over(fd, offset, bytes, &mut token);
    match (token, elapsed) {
        (Some(token), Some(elapsed)) => {
            let token = token.that_took(elapsed);
            if ops::after_read(&token, bytes.cast_signed()) {
                guarded(|| ops::after_wait(&token));
            }
        }
        _ if recording::is_on() => {
            guarded(|| recording::on_untracked_read(fd, Some(offset), bytes, elapsed));
        }
        _ => {}
    }
    if start == Start::Here {
        ops::set_position(fd, offset.saturating_add(bytes as u64));
    }
}

/// A read of unknown length, reported when it is over.
#[inline]
pub(super) fn afterwards(fd: c_int, start: Start, call: impl FnOnce() -> ssize_t) -> ssize_t {
    // The clock may be forbidden by then.
    if wake::is_over() {
        return call();
    }
    if let Some(unwatched) = ops::time_unwatched(fd) {
        let result = call();
        if unwatched.has_waited(usize::try_from(result).unwrap_or(0), result) {
            waited(fd, start, result, unwatched);
        }
        return result;
    }
    let begun = ticks::now();
    let result = call();
    if let Ok(bytes @ 1..) = usize::try_from(result) {
        let elapsed = ticks::now().saturating_sub(begun);
        report(fd, start, bytes, Some(elapsed));
    }
    result
}

/// `read`.
#[inline]
pub(super) fn here(fd: c_int, count: size_t, call: impl FnOnce() -> ssize_t) -> ssize_t {
    announced(fd, Start::Here, count, call)
}

/// `pread`. The kernel refuses a negative offset.
#[inline]
pub(super) fn at(
    fd: c_int,
    offset: off_t,
    count: size_t,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    match u64::try_from(offset) {
        Ok(offset) => announced(fd, Start::At(offset), count, call),
        Err(_) => call(),
    }
}

/// Whether reads of `fd` are watched, which is found out here where they may be. The kernel's own read-ahead is good enough for a
/// first long copy; when it waits, the next ones are cut.
pub(super) fn is_watched(fd: c_int) -> bool {
    !wake::is_over() && ops::may_be_watched(fd) && guarded(|| ops::is_watched(fd)) == Some(true)
}

/// Parts of a vectored read that are copied at once. Its array is longer where a program gathers small pieces.
const PARTS_COPIED: usize = 16;

/// Copies of parts, at most: a longer array is not looked at before the kernel does.
const COPIES_MAX: usize = 4;

/// Bytes that a vectored read through `fd` asks for, if its descriptor is watched. `None`: it is not, or the array is none, empty, or
/// long.
#[inline]
fn asked_by_parts(fd: c_int, parts: *const iovec, count: c_int) -> Option<usize> {
    let count = usize::try_from(count).ok()?;
    let is_short = (1..=PARTS_COPIED * COPIES_MAX).contains(&count);
    if !is_short || !is_watched(fd) {
        return None;
    }
    guarded(|| bytes_of_parts(parts, count))
        .flatten()
        .filter(|bytes| *bytes > 0)
}

/// Bytes that these `count` parts have space for; `None`: they cannot be read.
#[inline(never)]
fn bytes_of_parts(parts: *const iovec, count: usize) -> Option<usize> {
    let none = iovec {
        iov_base: null_mut(),
        iov_len: 0,
    };
    let mut total = 0_usize;
    let mut first = 0;
    while first < count {
        let mut copied = [none; PARTS_COPIED];
        let copied = &mut copied[..PARTS_COPIED.min(count - first)];
        // SAFETY: a part is a pointer that is not followed, and a number.
        unsafe { copy_from(parts.wrapping_add(first), copied) }?;
        total = (copied.iter()).fold(total, |total, part| total.saturating_add(part.iov_len));
        first += PARTS_COPIED;
    }
    Some(total)
}

/// A read into these parts.
#[inline]
fn vectored(
    fd: c_int,
    start: Start,
    parts: *const iovec,
    count: c_int,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    match asked_by_parts(fd, parts, count) {
        Some(length) => announced(fd, start, length, call),
        None => afterwards(fd, start, call),
    }
}

/// `readv`.
#[inline]
pub(super) fn vectored_here(
    fd: c_int,
    parts: *const iovec,
    count: c_int,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    vectored(fd, Start::Here, parts, count, call)
}

/// `preadv`.
#[inline]
pub(super) fn vectored_at(
    fd: c_int,
    parts: *const iovec,
    count: c_int,
    offset: off_t,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    match u64::try_from(offset) {
        Ok(offset) => vectored(fd, Start::At(offset), parts, count, call),
        Err(_) => call(),
    }
}

/// `preadv2`: an offset of -1 means where the descriptor stands. One that may come back with nothing, as it does not wait or asks for what
/// there is not, is reported when it has not.
#[inline]
pub(super) fn vectored_anywhere(
    fd: c_int,
    parts: *const iovec,
    count: c_int,
    offset: off_t,
    flags: c_int,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let start = match u64::try_from(offset) {
        Ok(offset) => Start::At(offset),
        Err(_) if offset == -1 => Start::Here,
        Err(_) => return call(),
    };
    if flags & !libc::RWF_HIPRI == 0 {
        vectored(fd, start, parts, count, call)
    } else {
        afterwards(fd, start, call)
    }
}
