//! Streams of the C library: what can be seen of their buffers from outside.
//!
//! The C library refills through its own internal `read`, which nothing can interpose. What can be
//! seen is the head of `FILE`, which is public ABI: old programs inline `getc` as accesses to these
//! very fields, so they can never move. The fields say how much of the buffer is left, so a refill
//! that is certain is known before the call; one that happens in the middle of a line is seen
//! afterwards by a position in the buffer that went back.
//!
//! Only the fields are looked at, never what they point to: another thread may be closing the
//! stream or pushing a character back, and its buffer may be freed. They are looked at without the
//! stream's lock. Taking it would be wrong (a thread that is cancelled inside the call would leave
//! it locked), and a stale look costs a hint, never a byte.
//!
//! Not seen: wide streams (`getwc`, `fgetws`), formatted input (`fscanf` takes variable arguments,
//! which cannot be passed on) and reads inside the C library itself. The position is asked for
//! now and then, so a stream that mixes them with others is soon back in step.
//! This is the layout of the GNU C library; musl has another one, and is not supported.

#![cfg_attr(
    test,
    allow(dead_code, reason = "the tests' own program is not interposed")
)]

use crate::identity;
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
    flags2: c_int,
    old_offset: libc::c_long,
    column: libc::c_ushort,
    vtable_offset: libc::c_schar,
    short_buffer: c_char,
    lock: *mut c_void,
    offset: off_t,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(
    std::mem::offset_of!(StreamHead, fd) == 112 && std::mem::offset_of!(StreamHead, offset) == 144
);

/// What a stream without a buffer yet will allocate: `st_blksize` of nearly every file.
const BUFFER_BYTES_USUAL: usize = 4096;

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

/// The address of the next byte that the stream will give.
///
/// # Safety
/// `stream` must be an open stream.
#[inline(always)]
pub(crate) unsafe fn next(stream: *mut FILE) -> usize {
    field!(stream, read_ptr).addr()
}

/// The address where the bytes end that the stream can give without asking the kernel.
///
/// # Safety
/// `stream` must be an open stream.
#[inline(always)]
pub(crate) unsafe fn end(stream: *mut FILE) -> usize {
    field!(stream, read_end).addr()
}

/// The stream's descriptor; negative for one that lives in memory or in callbacks.
///
/// # Safety
/// `stream` must be an open stream.
#[inline]
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

/// Bytes that the last refill has brought.
///
/// # Safety
/// `stream` must be an open stream.
pub(crate) unsafe fn filled(stream: *mut FILE) -> usize {
    distance(field!(stream, read_base), field!(stream, read_end))
}

/// Where the C library believes that the descriptor stands; `None` until it has once asked.
///
/// # Safety
/// `stream` must be an open stream.
pub(crate) unsafe fn known_position(stream: *mut FILE) -> Option<u64> {
    u64::try_from(field!(stream, offset)).ok()
}

/// Where the descriptor of `stream` stands after a call that began with `held` bytes in the buffer
/// and the descriptor at `start`. The C library may know. Otherwise, with the bytes that the
/// program got, if that is known, it is a matter of arithmetic: what was taken and what lies in
/// the buffer now came from there or from the buffer as it was. If it is not known, one refill is
/// assumed. At each boundary of [`CHECK_BYTES`] the kernel is asked, in case something else moved
/// the position. Changes no `errno`.
///
/// # Safety
/// `stream` must be an open stream.
pub(crate) unsafe fn position_after(
    stream: *mut FILE,
    start: u64,
    held: usize,
    consumed: Option<usize>,
) -> Option<u64> {
    // SAFETY: by this function's own condition.
    if let Some(position) = unsafe { known_position(stream) } {
        return Some(position);
    }
    let flags = field!(stream, flags);
    let read = match consumed {
        _ if flags & ONLY_READS == 0 || flags & IN_BACKUP != 0 => None,
        Some(consumed) => {
            let holds = distance(field!(stream, read_ptr), field!(stream, read_end));
            consumed
                .checked_add(holds)
                .and_then(|all| all.checked_sub(held))
        }
        // SAFETY: by this function's own condition.
        None => Some(unsafe { filled(stream) }),
    };
    read.and_then(|read| start.checked_add(read as u64))
        .filter(|end| start / CHECK_BYTES == end / CHECK_BYTES)
        .or_else(|| identity::position(field!(stream, fd)))
}

/// The stream that `getchar` reads: the program may have assigned another one.
#[inline]
pub(crate) fn standard_input() -> *mut FILE {
    unsafe extern "C" {
        static stdin: *mut FILE;
    }
    // SAFETY: the C library defines `stdin` for the life of the process.
    let stream = unsafe { addr_of!(stdin).read_volatile() };
    if stream.is_null() { null_mut() } else { stream }
}
