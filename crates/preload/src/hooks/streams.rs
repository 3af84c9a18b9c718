//! The stream functions of the C library: reading characters, lines and records, seeking, opening
//! and closing. What can be seen of a stream's buffer is in [`crate::stdio`].
//!
//! A call that the buffer can serve costs a comparison. One that finds it empty is sure to read,
//! so it is announced like any read. In between lie lines, which may or may not be complete in the
//! buffer: these calls are made, and if the buffer was refilled meanwhile, that is reported
//! afterwards. The clock is read for them only where little is left in the buffer.

use super::descriptors::{closing, opened};
use super::reads::{Start, begun, is_watched, report, waited};
use crate::guard::guarded;
use crate::ops::{self, Token, Unwatched};
use crate::{identity, stdio, ticks, trees, wake, watch};
use libc::{FILE, c_char, c_int, size_t, ssize_t};

/// The most that is announced at once: a call may ask for the whole file, in several reads.
const REFILL_BYTES_MAX: usize = 1 << 30;

/// With fewer bytes than this left in the buffer the next line may well need a refill, so the
/// clock is read before it. Lower, and the waits of refills inside long lines are not noticed;
/// higher, and more calls that need no refill pay for the clock (20 ns). Lines of text have less
/// than a hundred bytes, and a buffer has 4096.
const LITTLE_BYTES: usize = 512;

/// A refill that is about to happen.
struct Refill {
    fd: c_int,
    /// Where the descriptor stands, if that is known.
    start: Option<u64>,
    held: usize,
    token: Option<Token>,
    unwatched: Option<Unwatched>,
}

impl Refill {
    /// Announces that `stream` will read about `length` bytes. `None`: that is of no interest.
    ///
    /// # Safety
    /// `stream` must be an open stream.
    unsafe fn announce(stream: *mut FILE, length: usize) -> Option<Self> {
        // SAFETY: by this function's own condition.
        let (fd, held) = unsafe {
            let held = stdio::end(stream).saturating_sub(stdio::next(stream));
            (stdio::descriptor(stream), held)
        };
        if fd < 0 {
            return None;
        }
        let mut refill = Self {
            fd,
            start: None,
            held,
            token: None,
            unwatched: ops::time_unwatched(fd),
        };
        if refill.unwatched.is_some() {
            return Some(refill);
        }
        if ops::is_ignored(fd) {
            return None;
        }
        let length = length.min(REFILL_BYTES_MAX);
        let start = match ops::tracked_position(fd) {
            Some(start) => start,
            None if guarded(|| ops::is_watched(fd)) != Some(true) => return None,
            None => ops::tracked_position(fd).or_else(|| identity::position(fd))?,
        };
        refill.start = Some(start);
        begun(fd, start, length, &mut refill.token);
        Some(refill)
    }

    /// Reports what the refill has brought. `consumed`: the bytes that the program got, if known.
    ///
    /// # Safety
    /// `stream` must be the stream that was announced, and still be open.
    unsafe fn report(self, stream: *mut FILE, consumed: Option<usize>) {
        if let Some(unwatched) = self.unwatched {
            // SAFETY: by this function's own condition.
            unsafe { refilled_unwatched(stream, unwatched) };
        }
        let Some(start) = self.start else {
            return;
        };
        // SAFETY: as above.
        let end = unsafe { stdio::position_after(stream, start, self.held, consumed) };
        let Some(end) = end else {
            return;
        };
        let read = end
            .checked_sub(start)
            .and_then(|read| isize::try_from(read).ok());
        if let Some(token) = self.token
            && ops::after_read(&token, read.unwrap_or(0))
        {
            guarded(|| ops::after_wait(&token));
        }
        ops::set_position(self.fd, end);
    }
}

/// The buffer of `stream`, whose descriptor is not watched, was refilled.
unsafe fn refilled_unwatched(stream: *mut FILE, unwatched: Unwatched) {
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    let (fd, filled) = unsafe { (stdio::descriptor(stream), stdio::filled(stream)) };
    let result = filled.cast_signed();
    if unwatched.has_waited(filled, result) {
        waited(fd, Start::Here, result, unwatched);
    }
}

/// The buffer of `stream`, whose descriptor is watched, was refilled in a call that took `elapsed`
/// ticks, if that is known, and began with `held` bytes in the buffer.
#[inline(never)]
unsafe fn refilled(stream: *mut FILE, held: usize, elapsed: Option<u64>, consumed: Option<usize>) {
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    let (fd, filled) = unsafe { (stdio::descriptor(stream), stdio::filled(stream)) };
    if fd < 0 {
        return;
    }
    // What is not known yet stands behind what the buffer has.
    let Some(start) = ops::tracked_position(fd) else {
        report(fd, Start::Here, filled, elapsed);
        return;
    };
    // SAFETY: as above.
    let end = unsafe { stdio::position_after(stream, start, held, consumed) };
    let read = end.and_then(|end| usize::try_from(end.checked_sub(start)?).ok());
    if let (Some(end), Some(read)) = (end, read) {
        if read > 0 {
            report(fd, Start::At(start), read, elapsed);
        }
        ops::set_position(fd, end);
    }
}

/// The least that a refill can be about: one buffer.
const ONE_REFILL: usize = 1;

/// Makes a call that finds the buffer empty, or too short for what it wants, and so will read
/// `length` bytes from the kernel, in whole buffers. `consumed` says from its result how many bytes
/// it took from the stream, where that can be said.
#[cold]
#[inline(never)]
unsafe fn refilling<R>(
    stream: *mut FILE,
    length: usize,
    call: impl FnOnce() -> R,
    consumed: impl FnOnce(&R) -> Option<usize>,
) -> R {
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    let refill = unsafe {
        let length = length
            .checked_next_multiple_of(stdio::refill_bytes(stream))
            .unwrap_or(length);
        Refill::announce(stream, length)
    };
    let result = call();
    if let Some(refill) = refill {
        // SAFETY: as above.
        unsafe { refill.report(stream, consumed(&result)) };
    }
    result
}

/// Whether the buffer has a character left.
#[inline(always)]
pub(super) unsafe fn holds_one(stream: *mut FILE) -> bool {
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    unsafe { stdio::next(stream) < stdio::end(stream) }
}

/// Whether the buffer has all that `fgets` could put into `size` bytes.
#[inline(always)]
pub(super) unsafe fn holds_text(stream: *mut FILE, size: c_int) -> bool {
    // For that nothing is read, and the stream may be none.
    let Ok(size @ 2..) = usize::try_from(size) else {
        return true;
    };
    // SAFETY: as for `holds_one`.
    let held = unsafe { stdio::end(stream).wrapping_sub(stdio::next(stream)) };
    held >= size
}

/// Whether the buffer has `count` records of `size` bytes. The C library multiplies like this, and
/// looks at the stream only if there is work.
#[inline(always)]
pub(super) unsafe fn holds_records(stream: *mut FILE, size: size_t, count: size_t) -> bool {
    let wanted = size.wrapping_mul(count);
    if wanted == 0 {
        return true;
    }
    // SAFETY: as for `holds_one`.
    let held = unsafe { stdio::end(stream).saturating_sub(stdio::next(stream)) };
    held >= wanted
}

/// Reads one character, or looks at it (`takes` is 0).
#[inline(always)]
pub(super) unsafe fn character(
    stream: *mut FILE,
    takes: usize,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let consumed = |result: &c_int| Some(if *result == libc::EOF { 0 } else { takes });
    // SAFETY: as for the caller.
    unsafe { refilling(stream, ONE_REFILL, call, consumed) }
}

/// Reads a line with `getline`, which returns how many bytes it took. An error may have taken some. Where the place for the
/// line is missing too, the C library says so before it looks at the stream, which may be none.
#[inline(always)]
pub(super) unsafe fn line(stream: *mut FILE, call: impl FnOnce() -> ssize_t) -> ssize_t {
    if stream.is_null() {
        return call();
    }
    let consumed = |result: &ssize_t| usize::try_from(*result).ok();
    // SAFETY: as for the caller.
    unsafe { reading_line(stream, usize::MAX, call, consumed) }
}

/// Reads a line with `fgets` into a buffer of `size` bytes, of which the last is for the final
/// zero. How many it took cannot be said, as there may be zeros in the line.
#[inline(always)]
pub(super) unsafe fn text<R>(stream: *mut FILE, size: c_int, call: impl FnOnce() -> R) -> R {
    let limit = usize::try_from(size).map_or(0, |size| size.saturating_sub(1));
    // SAFETY: as for the caller.
    unsafe { reading_line(stream, limit, call, |_| None) }
}

#[inline(always)]
unsafe fn reading_line<R>(
    stream: *mut FILE,
    limit: usize,
    call: impl FnOnce() -> R,
    consumed: impl FnOnce(&R) -> Option<usize>,
) -> R {
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    let next = unsafe { stdio::next(stream) };
    // SAFETY: as above.
    if next.wrapping_add(LITTLE_BYTES) >= unsafe { stdio::end(stream) } {
        // SAFETY: as above.
        return unsafe { reading_with_little_left(stream, limit, call, consumed) };
    }
    let result = call();
    // SAFETY: as above.
    if unsafe { stdio::next(stream) } < next {
        // SAFETY: as above.
        unsafe { wrapped(stream, next, consumed(&result)) };
    }
    result
}

/// A line that was thought to be in the buffer was not: the next byte lies before what was `next`.
/// When the call began is not known. Whether the process has waited since it was asked last is.
#[cold]
#[inline(never)]
unsafe fn wrapped(stream: *mut FILE, next: usize, consumed: Option<usize>) {
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    let fd = unsafe { stdio::descriptor(stream) };
    if let Some(unwatched) = ops::time_unwatched(fd) {
        // SAFETY: as above.
        let filled = unsafe { stdio::filled(stream) }.cast_signed();
        if watch::is_sample() {
            waited(fd, Start::Here, filled, unwatched);
        }
        return;
    }
    // A refill ends where the one before it ended, unless the file does.
    // SAFETY: as above.
    unsafe {
        let held = stdio::end(stream).saturating_sub(next);
        refilled(stream, held, None, consumed);
    }
}

#[inline(never)]
unsafe fn reading_with_little_left<R>(
    stream: *mut FILE,
    limit: usize,
    call: impl FnOnce() -> R,
    consumed: impl FnOnce(&R) -> Option<usize>,
) -> R {
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    let (next, end) = unsafe { (stdio::next(stream), stdio::end(stream)) };
    let held = end.saturating_sub(next);
    if held >= limit || wake::is_over() {
        return call();
    }
    if held == 0 {
        // SAFETY: as above.
        return unsafe { refilling(stream, ONE_REFILL, call, consumed) };
    }
    // SAFETY: as above.
    let unwatched = ops::time_unwatched(unsafe { stdio::descriptor(stream) });
    let begun = if unwatched.is_none() { ticks::now() } else { 0 };
    let result = call();
    // SAFETY: as above.
    let is_served = unsafe { stdio::end(stream) == end && stdio::next(stream) >= next };
    if !is_served {
        // SAFETY: as above.
        unsafe {
            match unwatched {
                Some(unwatched) => refilled_unwatched(stream, unwatched),
                None => {
                    let elapsed = ticks::now().saturating_sub(begun);
                    refilled(stream, held, Some(elapsed), consumed(&result));
                }
            }
        }
    }
    result
}

/// Reads `count` records of `size` bytes.
#[inline(always)]
pub(super) unsafe fn records(
    stream: *mut FILE,
    size: size_t,
    count: size_t,
    call: impl FnOnce() -> size_t,
) -> size_t {
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    let held = unsafe { stdio::end(stream).saturating_sub(stdio::next(stream)) };
    let missing = size.wrapping_mul(count).saturating_sub(held);
    // Fewer records than wanted may hide a part of one that was taken as well.
    let consumed = |result: &size_t| (*result == count || size == 1).then(|| result * size);
    // SAFETY: as above.
    unsafe { refilling(stream, missing, call, consumed) }
}

/// Moves the position of a stream. Seeking also reads: the library aligns the position to the
/// buffer and fills it, unless the target was in the buffer already.
#[inline]
pub(super) unsafe fn seek<R>(stream: *mut FILE, call: impl FnOnce() -> R) -> R {
    if wake::is_over() {
        return call();
    }
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    let (fd, before) = unsafe { (stdio::descriptor(stream), stdio::known_position(stream)) };
    let unwatched = ops::time_unwatched(fd);
    let begun = if unwatched.is_none() { ticks::now() } else { 0 };
    let result = call();
    // SAFETY: as above.
    let after = unsafe { stdio::known_position(stream) };
    // Else the C library asked the kernel for nothing.
    if after.is_none() || after != before {
        // SAFETY: as above.
        unsafe {
            match unwatched {
                Some(unwatched) => refilled_unwatched(stream, unwatched),
                None => sought(stream, after, begun),
            }
        }
    }
    result
}

#[inline(never)]
unsafe fn sought(stream: *mut FILE, after: Option<u64>, begun: u64) {
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    let (fd, filled) = unsafe { (stdio::descriptor(stream), stdio::filled(stream)) };
    let elapsed = ticks::now().saturating_sub(begun);
    if !is_watched(fd) {
        return;
    }
    let Some(end) = after.or_else(|| identity::position(fd)) else {
        return;
    };
    if ops::tracked_position(fd) == Some(end) {
        return;
    }
    match end.checked_sub(filled as u64) {
        Some(start) if filled > 0 => report(fd, Start::At(start), filled, Some(elapsed)),
        _ => {}
    }
    ops::set_position(fd, end);
}

/// Opens a stream.
#[inline]
pub(super) unsafe fn open(call: impl FnOnce() -> *mut FILE) -> *mut FILE {
    let stream = call();
    if !stream.is_null() {
        // SAFETY: the C library has just opened it.
        opened(unsafe { stdio::descriptor(stream) });
    }
    stream
}

/// Opens a stream by a path. As it allocates, no signal handler may call it.
#[inline]
pub(super) unsafe fn open_name(
    path: *const c_char,
    mode: *const c_char,
    call: impl FnOnce() -> *mut FILE,
) -> *mut FILE {
    trees::may_begin();
    let clock = trees::Clock::start();
    // SAFETY: as the caller of the hook promised to the C library.
    let stream = unsafe { open(call) };
    clock.stop(|| {
        if stream.is_null() {
            return -1;
        }
        // SAFETY: the C library has just opened it.
        unsafe { stdio::descriptor(stream) }
    });
    // SAFETY: the C library has read both.
    if !stream.is_null() && unsafe { mode.cast::<u8>().read() } == b'r' {
        // SAFETY: as above, and the stream is open.
        unsafe {
            let fd = stdio::descriptor(stream);
            trees::on_visit(libc::AT_FDCWD, path, Some(fd), false);
        }
    }
    stream
}

/// Opens another file in the place of `stream`. The old one is closed even if that fails.
#[inline]
pub(super) unsafe fn open_again(stream: *mut FILE, call: impl FnOnce() -> *mut FILE) -> *mut FILE {
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    unsafe {
        closing(stdio::descriptor(stream), true);
        open(call)
    }
}

/// Closes a stream. The C library closes its descriptor by itself.
#[inline]
pub(super) unsafe fn close(stream: *mut FILE, call: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    closing(unsafe { stdio::descriptor(stream) }, true);
    call()
}
