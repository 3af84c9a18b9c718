//! The stream functions of the C library: reading characters, lines and records, seeking, opening
//! and closing. What can be seen of a stream's buffer is in [`crate::stdio`].
//!
//! A call that the buffer can serve costs a comparison. One that finds it empty is sure to read,
//! so it is announced like any read. In between lie lines, which may or may not be complete in the
//! buffer: these calls are made, and if the buffer was refilled meanwhile, that is reported
//! afterwards. The clock is read for them only where little is left in the buffer.

use super::descriptors::{closing, opened};
use super::guard::guarded;
use super::reads::{Start, first_look, report, waited_asleep};
use crate::ops::{self, Glance, Token};
use crate::{host, stdio, ticks, wake};
use libc::{FILE, c_int, size_t, ssize_t};

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
    begun: u64,
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
            begun: 0,
        };
        if wake::is_asleep() && !wake::before_read() {
            refill.begun = ticks::now();
            return Some(refill);
        }
        host::get()?;
        let length = length.min(REFILL_BYTES_MAX);
        let start = match ops::tracked_position(fd) {
            Some(start) => start,
            None if guarded(|| ops::is_watched(fd)) != Some(true) => return None,
            None => ops::tracked_position(fd).or_else(|| stdio::kernel_position(fd))?,
        };
        refill.start = Some(start);
        refill.token = match first_look(fd, Some(start), length) {
            Glance::Ignore => None,
            Glance::Quick(token) => Some(token),
            Glance::Closer => guarded(|| ops::before_read(fd, Some(start), length)).flatten(),
        };
        Some(refill)
    }

    /// Reports what the refill has brought. `consumed`: the bytes that the program got, if known.
    ///
    /// # Safety
    /// `stream` must be the stream that was announced, and still be open.
    unsafe fn report(self, stream: *mut FILE, consumed: Option<usize>) {
        let Some(start) = self.start else {
            // SAFETY: by this function's own condition.
            unsafe { refilled(stream, self.held, Some(self.begun), consumed) };
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

/// The buffer of `stream` was refilled in a call that began at `begun` with `held` bytes in it.
#[inline(never)]
unsafe fn refilled(stream: *mut FILE, held: usize, begun: Option<u64>, consumed: Option<usize>) {
    let elapsed = begun.map(wake::since);
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    let (fd, filled) = unsafe { (stdio::descriptor(stream), stdio::filled(stream)) };
    if fd < 0 {
        return;
    }
    if wake::is_asleep() {
        let has_waited = elapsed.is_some_and(|elapsed| wake::has_waited(elapsed, filled));
        if (has_waited || wake::before_read()) && filled > 0 {
            waited_asleep(fd, Start::Here, filled, elapsed.unwrap_or(0));
        }
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
    // SAFETY: as for `holds_one`.
    let held = unsafe { stdio::end(stream).wrapping_sub(stdio::next(stream)) };
    // A negative size, for which nothing is read, is sign-extended and so a large number.
    held >= (size as isize).cast_unsigned()
}

/// Whether the buffer has `count` records of `size` bytes. The C library multiplies like this, and
/// looks at the stream only if there is work.
#[inline(always)]
pub(super) unsafe fn holds_records(stream: *mut FILE, size: size_t, count: size_t) -> bool {
    // SAFETY: as for `holds_one`.
    let held = unsafe { stdio::end(stream).saturating_sub(stdio::next(stream)) };
    held >= size.wrapping_mul(count)
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

/// Reads a line with `getline`, which returns how many bytes it took. An error may have taken some.
#[inline(always)]
pub(super) unsafe fn line(stream: *mut FILE, call: impl FnOnce() -> ssize_t) -> ssize_t {
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
#[cold]
#[inline(never)]
unsafe fn wrapped(stream: *mut FILE, next: usize, consumed: Option<usize>) {
    // A refill ends where the one before it ended, unless the file does.
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
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
    if held >= limit {
        return call();
    }
    if held == 0 {
        // SAFETY: as above.
        return unsafe { refilling(stream, ONE_REFILL, call, consumed) };
    }
    let begun = ticks::now();
    let result = call();
    // SAFETY: as above.
    let is_served = unsafe { stdio::end(stream) == end && stdio::next(stream) >= next };
    if !is_served {
        // SAFETY: as above.
        unsafe { refilled(stream, held, Some(begun), consumed(&result)) };
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
    let begun = ticks::now();
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    let before = unsafe { stdio::known_position(stream) };
    let result = call();
    // SAFETY: as above.
    unsafe { sought(stream, before, begun) };
    result
}

#[inline(never)]
unsafe fn sought(stream: *mut FILE, before: Option<u64>, begun: u64) {
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    let (fd, after) = unsafe { (stdio::descriptor(stream), stdio::known_position(stream)) };
    // The C library asked the kernel for nothing.
    if fd < 0 || (after.is_some() && after == before) {
        return;
    }
    let elapsed = wake::since(begun);
    // SAFETY: as above.
    let filled = unsafe { stdio::filled(stream) };
    if wake::is_asleep() {
        if filled > 0 && (wake::has_waited(elapsed, filled) || wake::before_read()) {
            waited_asleep(fd, Start::Here, filled, elapsed);
        }
        return;
    }
    if host::get().is_none() || guarded(|| ops::is_watched(fd)) != Some(true) {
        return;
    }
    let Some(end) = after.or_else(|| stdio::kernel_position(fd)) else {
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

/// Opens another file in the place of `stream`. The old one is closed even if that fails.
#[inline]
pub(super) unsafe fn open_again(stream: *mut FILE, call: impl FnOnce() -> *mut FILE) -> *mut FILE {
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    unsafe {
        closing(stdio::descriptor(stream));
        open(call)
    }
}

/// Closes a stream. The C library closes its descriptor by itself.
#[inline]
pub(super) unsafe fn close(stream: *mut FILE, call: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    closing(unsafe { stdio::descriptor(stream) });
    call()
}
