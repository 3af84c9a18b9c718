//! The stream functions of the C library: `fread`, `fgets`, `getline`, `getc`, seeking, opening
//! and closing. Whether a call will refill the buffer, and what that means, is [`crate::stdio`].

use super::descriptors::{closing, opened};
use super::tell::tell;
use crate::real::{self, StreamPosition};
use crate::stdio::{self, Refill};
use libc::{FILE, c_char, c_int, c_long, c_void, off_t, size_t, ssize_t};

/// Makes a call that will read about `length` bytes from the kernel. `consumed` tells from its
/// result how many bytes it took from the stream, where that can be told.
#[cold]
#[inline(never)]
unsafe fn refilling<R>(
    stream: *mut FILE,
    length: usize,
    call: impl FnOnce() -> R,
    consumed: impl FnOnce(&R) -> Option<usize>,
) -> R {
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    let refill = tell(|| unsafe { Refill::announce(stream, length) });
    let result = call();
    if let Some(Some(refill)) = refill {
        // SAFETY: as above.
        tell(|| unsafe { refill.report(stream, consumed(&result)) });
    }
    result
}

/// Reads one character, or looks at it (`takes` is 0).
#[inline]
unsafe fn reading_one(stream: *mut FILE, takes: usize, call: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    if unsafe { stdio::buffered(stream) } > 0 {
        return call();
    }
    let consumed = |result: &c_int| Some(if *result == libc::EOF { 0 } else { takes });
    // SAFETY: as above.
    unsafe { refilling(stream, stdio::refill_bytes(stream), call, consumed) }
}

/// Reads a line that ends with `end` and has at most `limit` bytes.
#[inline]
unsafe fn reading_line<R>(
    stream: *mut FILE,
    end: c_int,
    limit: usize,
    call: impl FnOnce() -> R,
    consumed: impl FnOnce(&R) -> Option<usize>,
) -> R {
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    if limit == 0 || unsafe { stdio::holds_line(stream, end, limit) } {
        return call();
    }
    // SAFETY: as above.
    unsafe { refilling(stream, stdio::refill_bytes(stream), call, consumed) }
}

/// Bytes that a `getline` took: all that it returned. An error may have taken some.
fn counted(result: &ssize_t) -> Option<usize> {
    usize::try_from(*result).ok()
}

/// Bytes that an `fgets` took: it does not say, as there may be zeros in the line.
fn uncounted(_: &*mut c_char) -> Option<usize> {
    None
}

/// Reads `count` records of `size` bytes.
#[inline]
unsafe fn reading_records(
    stream: *mut FILE,
    size: size_t,
    count: size_t,
    call: impl FnOnce() -> size_t,
) -> size_t {
    // The C library multiplies like this, and looks at the stream only if there is work.
    let wanted = size.wrapping_mul(count);
    if wanted == 0 {
        return call();
    }
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    let held = unsafe { stdio::buffered(stream) };
    if held >= wanted {
        return call();
    }
    // SAFETY: as above.
    let refill_bytes = unsafe { stdio::refill_bytes(stream) };
    let length = (wanted - held)
        .checked_next_multiple_of(refill_bytes)
        .unwrap_or(wanted);
    // Fewer records than wanted may hide a part of one that was taken as well.
    let consumed = |result: &size_t| (*result == count || size == 1).then(|| result * size);
    // SAFETY: as above.
    unsafe { refilling(stream, length, call, consumed) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn fread(
    buffer: *mut c_void,
    size: size_t,
    count: size_t,
    stream: *mut FILE,
) -> size_t {
    // SAFETY: the caller's arguments, with the contract of fread(3).
    unsafe {
        reading_records(stream, size, count, || {
            real::fread(buffer, size, count, stream)
        })
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn fread_unlocked(
    buffer: *mut c_void,
    size: size_t,
    count: size_t,
    stream: *mut FILE,
) -> size_t {
    // SAFETY: the caller's arguments, with the contract of fread_unlocked(3).
    unsafe {
        reading_records(stream, size, count, || {
            real::fread_unlocked(buffer, size, count, stream)
        })
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn __fread_chk(
    buffer: *mut c_void,
    length: size_t,
    size: size_t,
    count: size_t,
    stream: *mut FILE,
) -> size_t {
    // SAFETY: the caller's arguments, with the contract of the checked fread(3).
    unsafe {
        reading_records(stream, size, count, || {
            real::__fread_chk(buffer, length, size, count, stream)
        })
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn __fread_unlocked_chk(
    buffer: *mut c_void,
    length: size_t,
    size: size_t,
    count: size_t,
    stream: *mut FILE,
) -> size_t {
    // SAFETY: the caller's arguments, with the contract of the checked fread_unlocked(3).
    unsafe {
        reading_records(stream, size, count, || {
            real::__fread_unlocked_chk(buffer, length, size, count, stream)
        })
    }
}

/// Bytes that `fgets` reads at most into a buffer of `size`: the last one is for the final zero.
fn line_limit(size: c_int) -> usize {
    usize::try_from(size).map_or(0, |size| size.saturating_sub(1))
}

const LINE_END: c_int = b'\n' as c_int;

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn fgets(
    line: *mut c_char,
    size: c_int,
    stream: *mut FILE,
) -> *mut c_char {
    // SAFETY: the caller's arguments, with the contract of fgets(3).
    unsafe {
        reading_line(
            stream,
            LINE_END,
            line_limit(size),
            || real::fgets(line, size, stream),
            uncounted,
        )
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn fgets_unlocked(
    line: *mut c_char,
    size: c_int,
    stream: *mut FILE,
) -> *mut c_char {
    // SAFETY: the caller's arguments, with the contract of fgets_unlocked(3).
    unsafe {
        reading_line(
            stream,
            LINE_END,
            line_limit(size),
            || real::fgets_unlocked(line, size, stream),
            uncounted,
        )
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn __fgets_chk(
    line: *mut c_char,
    length: size_t,
    size: c_int,
    stream: *mut FILE,
) -> *mut c_char {
    // SAFETY: the caller's arguments, with the contract of the checked fgets(3).
    unsafe {
        reading_line(
            stream,
            LINE_END,
            line_limit(size),
            || real::__fgets_chk(line, length, size, stream),
            uncounted,
        )
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn __fgets_unlocked_chk(
    line: *mut c_char,
    length: size_t,
    size: c_int,
    stream: *mut FILE,
) -> *mut c_char {
    // SAFETY: the caller's arguments, with the contract of the checked fgets_unlocked(3).
    unsafe {
        reading_line(
            stream,
            LINE_END,
            line_limit(size),
            || real::__fgets_unlocked_chk(line, length, size, stream),
            uncounted,
        )
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn getline(
    line: *mut *mut c_char,
    size: *mut size_t,
    stream: *mut FILE,
) -> ssize_t {
    // SAFETY: the caller's arguments, with the contract of getline(3).
    unsafe {
        reading_line(
            stream,
            LINE_END,
            usize::MAX,
            || real::getline(line, size, stream),
            counted,
        )
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn getdelim(
    line: *mut *mut c_char,
    size: *mut size_t,
    end: c_int,
    stream: *mut FILE,
) -> ssize_t {
    // SAFETY: the caller's arguments, with the contract of getdelim(3).
    unsafe {
        reading_line(
            stream,
            end,
            usize::MAX,
            || real::getdelim(line, size, end, stream),
            counted,
        )
    }
}

/// What `getline` becomes when a program is compiled with inlining.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn __getdelim(
    line: *mut *mut c_char,
    size: *mut size_t,
    end: c_int,
    stream: *mut FILE,
) -> ssize_t {
    // SAFETY: the caller's arguments, with the contract of getdelim(3).
    unsafe { getdelim(line, size, end, stream) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn fgetc(stream: *mut FILE) -> c_int {
    // SAFETY: the caller's argument, with the contract of fgetc(3).
    unsafe { reading_one(stream, 1, || real::fgetc(stream)) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn getc(stream: *mut FILE) -> c_int {
    // SAFETY: the caller's argument, with the contract of getc(3).
    unsafe { fgetc(stream) }
}

/// The name of `getc` in programs from before 2018.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(
    non_snake_case,
    reason = "the C library's name; exported ones are not looked at"
)]
unsafe extern "C-unwind" fn _IO_getc(stream: *mut FILE) -> c_int {
    // SAFETY: the caller's argument, with the contract of getc(3).
    unsafe { fgetc(stream) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn getchar() -> c_int {
    // SAFETY: the standard input is a stream, or closed by a program that must not read it.
    unsafe { fgetc(stdio::standard_input()) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn fgetc_unlocked(stream: *mut FILE) -> c_int {
    // SAFETY: the caller's argument, with the contract of fgetc_unlocked(3).
    unsafe { reading_one(stream, 1, || real::fgetc_unlocked(stream)) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn getc_unlocked(stream: *mut FILE) -> c_int {
    // SAFETY: the caller's argument, with the contract of getc_unlocked(3).
    unsafe { fgetc_unlocked(stream) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn getchar_unlocked() -> c_int {
    // SAFETY: as in `getchar`.
    unsafe { fgetc_unlocked(stdio::standard_input()) }
}

/// What an inlined `getc_unlocked` calls when the buffer is empty.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn __uflow(stream: *mut FILE) -> c_int {
    // SAFETY: called by code that the C library's headers put into the program.
    unsafe { reading_one(stream, 1, || real::__uflow(stream)) }
}

/// The same without taking the character.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn __underflow(stream: *mut FILE) -> c_int {
    // SAFETY: called by code that the C library's headers put into the program.
    unsafe { reading_one(stream, 0, || real::__underflow(stream)) }
}

/// Makes a call that may move the position, and tells where it went.
unsafe fn seeking<R>(stream: *mut FILE, call: impl FnOnce() -> R) -> R {
    let result = call();
    // SAFETY: the stream is open, as the caller of the hook promised to the C library.
    tell(|| unsafe { stdio::report_seek(stream) });
    result
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn fseek(stream: *mut FILE, offset: c_long, whence: c_int) -> c_int {
    // SAFETY: the caller's arguments, with the contract of fseek(3).
    unsafe { seeking(stream, || real::fseek(stream, offset, whence)) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn fseeko(stream: *mut FILE, offset: off_t, whence: c_int) -> c_int {
    // SAFETY: the caller's arguments; `long` and `off_t` are the same here.
    unsafe { fseek(stream, offset, whence) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn fseeko64(stream: *mut FILE, offset: off_t, whence: c_int) -> c_int {
    // SAFETY: the caller's arguments; `long` and `off64_t` are the same here.
    unsafe { fseek(stream, offset, whence) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn fsetpos(stream: *mut FILE, position: *const StreamPosition) -> c_int {
    // SAFETY: the caller's arguments, with the contract of fsetpos(3).
    unsafe { seeking(stream, || real::fsetpos(stream, position)) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn fsetpos64(stream: *mut FILE, position: *const StreamPosition) -> c_int {
    // SAFETY: the caller's arguments; both kinds of position are the same here.
    unsafe { fsetpos(stream, position) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn rewind(stream: *mut FILE) {
    // SAFETY: the caller's argument, with the contract of rewind(3).
    unsafe { seeking(stream, || real::rewind(stream)) }
}

/// Tells of the descriptor of a stream that was opened. Returns the stream.
unsafe fn stream_opened(stream: *mut FILE) -> *mut FILE {
    if !stream.is_null() {
        // SAFETY: the C library has just opened it.
        opened(unsafe { stdio::descriptor(stream) });
    }
    stream
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn fopen(path: *const c_char, mode: *const c_char) -> *mut FILE {
    // SAFETY: the caller's arguments, with the contract of fopen(3).
    unsafe { stream_opened(real::fopen(path, mode)) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn fopen64(path: *const c_char, mode: *const c_char) -> *mut FILE {
    // SAFETY: the caller's arguments, with the contract of fopen(3).
    unsafe { stream_opened(real::fopen(path, mode)) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn freopen(
    path: *const c_char,
    mode: *const c_char,
    stream: *mut FILE,
) -> *mut FILE {
    // The old file is closed even if the new one cannot be opened.
    // SAFETY: the caller's arguments, with the contract of freopen(3).
    unsafe {
        closing(stdio::descriptor(stream));
        stream_opened(real::freopen(path, mode, stream))
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn freopen64(
    path: *const c_char,
    mode: *const c_char,
    stream: *mut FILE,
) -> *mut FILE {
    // SAFETY: the caller's arguments, with the contract of freopen(3).
    unsafe { freopen(path, mode, stream) }
}

/// The C library closes the descriptor of a stream by itself.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn fclose(stream: *mut FILE) -> c_int {
    // SAFETY: the caller's argument, with the contract of fclose(3).
    unsafe {
        closing(stdio::descriptor(stream));
        real::fclose(stream)
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn pclose(stream: *mut FILE) -> c_int {
    // SAFETY: the caller's argument, with the contract of pclose(3).
    unsafe {
        closing(stdio::descriptor(stream));
        real::pclose(stream)
    }
}
