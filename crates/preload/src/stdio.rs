//! Streams of the C library: knowing from outside when the next call will refill the buffer.
//!
//! The C library refills through its own internal `read`, which nobody can interpose. What can be
//! seen is the head of `FILE`, which is public ABI: old programs inline `getc` as accesses to these
//! very fields, so they can never move. A call that the buffer can serve costs two loads and a
//! comparison here. Before any other one the decisions hear of the read that will come, and
//! afterwards of what it brought: the fields tell how much, or the descriptor's position.
//!
//! The fields are looked at without the stream's lock. Taking it would be wrong (a thread that is
//! cancelled inside the call would leave it locked), and a stale look costs a hint, never a byte.
//!
//! Not seen: wide streams (`getwc`, `fgetws`), formatted input (`fscanf` takes variable arguments,
//! which cannot be passed on) and reads inside the C library itself. The position is asked for
//! now and then, so a stream that mixes them with others is soon back in step.
//! This is the layout of the GNU C library; musl has another one, and is not supported.

#![cfg_attr(
    test,
    allow(dead_code, reason = "the tests' own program is not interposed")
)]

use crate::ops;
use libc::{FILE, c_char, c_int, c_void, off_t};
use std::ptr::{addr_of, null_mut};

/// The head of `struct _IO_FILE`. The same on all 64-bit machines that the GNU C library knows.
#[repr(C)]
struct StreamHead {
    flags: c_int,
    read_ptr: *mut c_char,
    read_end: *mut c_char,
    read_base: *mut c_char,
    write_base: *mut c_char,
    write_ptr: *mut c_char,
    write_end: *mut c_char,
    buffer_base: *mut c_char,
    buffer_end: *mut c_char,
    save_base: *mut c_char,
    backup_base: *mut c_char,
    save_end: *mut c_char,
    markers: *mut c_void,
    chain: *mut c_void,
    fd: c_int,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::offset_of!(StreamHead, fd) == 112);

/// What a stream without a buffer yet will allocate: `st_blksize` of nearly every file.
const BUFFER_BYTES_USUAL: usize = 4096;

/// The most that is announced at once: a call may ask for the whole file, in several reads.
const REFILL_BYTES_MAX: usize = 1 << 30;

/// How often the kernel is asked where a descriptor stands that seems to be read in order. Each
/// time costs a system call; in between, a position moved by others means hints for wrong pages.
const CHECK_BYTES: u64 = 64 << 10;

/// `_IO_NO_WRITES`: a stream that was opened for reading only.
const ONLY_READS: c_int = 0x8;

/// `_IO_IN_BACKUP`: the fields describe pushed-back characters instead of the buffer.
const IN_BACKUP: c_int = 0x100;

/// One field, read once and as it is now: other threads may be changing it.
macro_rules! field {
    ($stream:expr, $name:ident) => {
        // SAFETY: the caller of the hook handed us an open stream, whose head is laid out like
        // this. A volatile read of a word that another thread writes gives the old or new word.
        unsafe { addr_of!((*$stream.cast::<StreamHead>()).$name).read_volatile() }
    };
}

/// Bytes between two pointers into a stream's buffer; 0 when they are out of order.
fn distance(from: *mut c_char, to: *mut c_char) -> usize {
    to.addr().saturating_sub(from.addr())
}

/// Bytes that the stream can give without asking the kernel.
///
/// # Safety
/// `stream` must be an open stream.
#[inline]
pub(crate) unsafe fn buffered(stream: *mut FILE) -> usize {
    distance(field!(stream, read_ptr), field!(stream, read_end))
}

/// Whether the buffer holds a whole line ending in `end`, or `limit` bytes of it.
///
/// # Safety
/// `stream` must be an open stream.
#[inline]
pub(crate) unsafe fn holds_line(stream: *mut FILE, end: c_int, limit: usize) -> bool {
    let start = field!(stream, read_ptr);
    let held = distance(start, field!(stream, read_end));
    if held == 0 {
        return false;
    }
    if held >= limit {
        return true;
    }
    // SAFETY: the bytes from `read_ptr` to `read_end` are the stream's buffer.
    !unsafe { libc::memchr(start.cast(), end, held) }.is_null()
}

/// The stream's descriptor; negative for one that lives in memory or in callbacks.
///
/// # Safety
/// `stream` must be an open stream.
pub(crate) unsafe fn descriptor(stream: *mut FILE) -> c_int {
    field!(stream, fd)
}

/// Bytes that one refill asks the kernel for.
///
/// # Safety
/// `stream` must be an open stream.
pub(crate) unsafe fn refill_bytes(stream: *mut FILE) -> usize {
    match distance(field!(stream, buffer_base), field!(stream, buffer_end)) {
        0 => BUFFER_BYTES_USUAL,
        size => size,
    }
}

/// A refill that is about to happen, or may be.
pub(crate) struct Refill {
    fd: c_int,
    start: u64,
    held: usize,
    token: Option<ops::Token>,
}

/// The kernel's own position of `fd`: `None` for what has none.
fn kernel_position(fd: c_int) -> Option<u64> {
    // The raw call: the C library's one would be our own hook, which reports it as a seek.
    // SAFETY: moves nothing, touches no memory.
    let position = unsafe { libc::syscall(libc::SYS_lseek, fd, 0 as off_t, libc::SEEK_CUR) };
    u64::try_from(position).ok()
}

impl Refill {
    /// Announces that `stream` will read about `length` bytes. `None`: a stream that is no file.
    ///
    /// # Safety
    /// `stream` must be an open stream.
    pub(crate) unsafe fn announce(stream: *mut FILE, length: usize) -> Option<Self> {
        // SAFETY: by this function's own condition.
        let fd = unsafe { descriptor(stream) };
        if fd < 0 || !ops::is_watched(fd) {
            return None;
        }
        let start = match ops::tracked_position(fd) {
            Some(position) => position,
            None => kernel_position(fd)?,
        };
        let token = ops::before_read(fd, Some(start), length.min(REFILL_BYTES_MAX));
        Some(Self {
            fd,
            start,
            // SAFETY: as above.
            held: unsafe { buffered(stream) },
            token,
        })
    }

    /// Reports what the refill has brought. With the number of bytes that the program got, if it
    /// is known, that is a matter of arithmetic; otherwise, and now and then, the kernel is asked.
    ///
    /// # Safety
    /// `stream` must be the stream that was announced, and still be open.
    pub(crate) unsafe fn report(self, stream: *mut FILE, consumed: Option<usize>) {
        // SAFETY: by this function's own condition.
        let counted = consumed.and_then(|consumed| unsafe { self.count(stream, consumed) });
        let end = counted.or_else(|| kernel_position(self.fd));
        let read = end.and_then(|end| end.checked_sub(self.start));
        let read = read.and_then(|read| isize::try_from(read).ok());
        if let Some(token) = self.token
            && ops::after_read(&token, read.unwrap_or(0))
        {
            ops::after_wait(&token);
        }
        if let Some(end) = end {
            ops::set_position(self.fd, end);
        }
    }

    /// Where the descriptor must stand after `consumed` bytes were taken from the stream: what was
    /// taken and what lies in the buffer now came from there or from the buffer as it was. `None`
    /// where that does not hold, and at each boundary of [`CHECK_BYTES`], to be corrected by the
    /// kernel if somebody else moved the position.
    ///
    /// # Safety
    /// `stream` must be an open stream.
    unsafe fn count(&self, stream: *mut FILE, consumed: usize) -> Option<u64> {
        let flags = field!(stream, flags);
        if flags & ONLY_READS == 0 || flags & IN_BACKUP != 0 {
            return None;
        }
        // SAFETY: by this function's own condition.
        let holds = unsafe { buffered(stream) };
        let read = consumed.checked_add(holds)?.checked_sub(self.held)?;
        let end = self.start.checked_add(u64::try_from(read).ok()?)?;
        (self.start / CHECK_BYTES == end / CHECK_BYTES).then_some(end)
    }
}

/// Reports a seek, after it. Seeking also reads: the library aligns the position to the buffer
/// and fills it, unless the target was in the buffer already.
///
/// # Safety
/// `stream` must be an open stream.
pub(crate) unsafe fn report_seek(stream: *mut FILE) {
    // SAFETY: by this function's own condition.
    let fd = unsafe { descriptor(stream) };
    if fd < 0 || !ops::is_watched(fd) {
        return;
    }
    let Some(end) = kernel_position(fd) else {
        return;
    };
    if ops::tracked_position(fd) == Some(end) {
        return;
    }
    let filled = distance(field!(stream, read_base), field!(stream, read_end));
    let start = u64::try_from(filled)
        .ok()
        .and_then(|filled| end.checked_sub(filled));
    match start {
        Some(start) if filled > 0 => {
            ops::before_read(fd, Some(start), filled);
            if ops::is_recording() {
                ops::record_untold(fd, Some(start), filled, None);
            }
            ops::set_position(fd, end);
        }
        _ => ops::on_seek(fd, i64::try_from(end).unwrap_or(0)),
    }
}

/// The stream that `getchar` reads: the program may have assigned another one.
pub(crate) fn standard_input() -> *mut FILE {
    unsafe extern "C" {
        static stdin: *mut FILE;
    }
    // SAFETY: the C library defines `stdin` for the life of the process.
    let stream = unsafe { addr_of!(stdin).read_volatile() };
    if stream.is_null() { null_mut() } else { stream }
}
