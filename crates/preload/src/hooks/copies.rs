//! `sendfile`, `copy_file_range` and `splice`: reads that never pass through the program.
//!
//! The kernel copies all of a huge request in one call, during which nothing could look ahead.
//! Between two files such a request is made in pieces, and the result is that of one call:
//!
//! * A short piece ends the copy, an error after some bytes is the count of these bytes: so does
//!   the kernel. When the first piece brings nothing, the whole request is made after all, and its
//!   answer, whatever it is, is the program's.
//! * Requests whose checks look at the whole length are not cut: inside one file (overlaps are
//!   refused), under a file size limit (reaching it sends a signal), with lengths near the end of
//!   the number range.
//! * `offset` pointers are passed on as they are; the kernel writes through them after each piece.
//!   We read one only after the kernel has done so, or let it [copy](copy_from) what stands there.

use super::reads::{
    CALL_BYTES_MAX, Start, afterwards, announced, is_watched, over, report, waited,
};
use crate::guard::guarded;
use crate::identity::borrowed;
use crate::memory::copy_from;
use crate::real::Errno;
use crate::{ops, ticks};
use libc::{c_int, c_uint, off_t, size_t, ssize_t};
use rustix::fs::{FileType, OFlags, Stat};
use rustix::process::Resource;
use std::cell::Cell;

/// Bytes of one piece. Smaller, and the calls show (a piece costs about a microsecond beside a
/// millisecond of copying); larger, and the disk idles while the next piece is not yet asked for.
const PIECE_BYTES: usize = 4 << 20;

/// Bytes that are announced of what goes to a socket from where a pointer says, which waits until it has taken all: as of a piece. Less, and a
/// server that sends long pieces is not followed; more, and what was not taken, as the other side had gone, is announced in vain.
const SENT_BYTES: usize = PIECE_BYTES;

/// The same of a pipe, which takes what it has space for: so much, unless its program has said otherwise.
const PIPE_BYTES: usize = 64 << 10;

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

/// What the target of a copy takes of it.
enum Taken {
    /// A file.
    All,
    /// A pipe or a socket that waits until it has space.
    UpTo(usize),
    /// One that does not wait, or nobody knows.
    WhatFits,
}

/// What a descriptor is, or `None` if it is nothing.
fn facts(fd: c_int) -> Option<Stat> {
    rustix::fs::fstat(borrowed(fd)?).ok()
}

fn is_regular(facts: &Stat) -> bool {
    FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile
}

/// Whether a process may write files of any size.
fn is_unlimited() -> bool {
    rustix::process::getrlimit(Resource::Fsize)
        .current
        .is_none()
}

/// Whether an error may be about the length of the whole request, so that a piece of it met the
/// wrong one. All others would be the same for the whole, and an interruption must not be repeated.
fn is_about_length(error: c_int) -> bool {
    matches!(error, libc::EINVAL | libc::EFBIG | libc::EOVERFLOW)
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
        is_regular(&source)
            && is_regular(&target)
            && (source.st_dev, source.st_ino) != (target.st_dev, target.st_ino)
            && is_unlimited()
    }

    /// Where it starts; `None`: that stands behind a pointer, and is not known before the kernel has said so.
    fn start(&self) -> Option<Start> {
        if self.source_offset.is_null() {
            return Some(Start::Here);
        }
        let mut offset = [0];
        // SAFETY: a number.
        let copied = guarded(|| unsafe { copy_from(self.source_offset, &mut offset) });
        copied.flatten()?;
        u64::try_from(offset[0]).ok().map(Start::At)
    }

    /// Makes the copy with `call`, which is given the length of the piece.
    fn run(&self, call: impl Fn(usize) -> ssize_t) -> ssize_t {
        guarded(|| ops::on_copied(self.source));
        let Some(start) = self.start() else {
            return self.run_from_anywhere(call);
        };
        if guarded(|| self.can_be_cut()) != Some(true) {
            return self.run_whole(start, call);
        }
        let at = Cell::new(start);
        let piece = |length| {
            let result = announced(self.source, at.get(), length, || call(length));
            at.set(at.get().after(result));
            result
        };
        let first = piece(PIECE_BYTES);
        match usize::try_from(first) {
            Ok(PIECE_BYTES) => self.go_on(PIECE_BYTES, piece),
            Ok(0) => call(self.length),
            Ok(_) => first,
            Err(_) => self.after_error(first, call),
        }
    }

    /// The whole request at once. A target that takes what it has space for, or nothing, is not known to take what is announced.
    fn run_whole(&self, start: Start, call: impl Fn(usize) -> ssize_t) -> ssize_t {
        let Start::At(begin) = start else {
            return announced(self.source, start, self.length, || call(self.length));
        };
        let length = match guarded(|| self.taken()) {
            Some(Taken::All) | None => self.length,
            Some(Taken::UpTo(bytes)) => self.length.min(bytes),
            Some(Taken::WhatFits) => return self.run_from_anywhere(call),
        };
        let was_file = ops::is_file(self.source);
        let result = announced(self.source, start, length, || call(self.length));
        let taken = usize::try_from(result).unwrap_or(0);
        // A recording has it all, and so has who began to be watched by it.
        if taken > length && was_file {
            let rest = begin.saturating_add(length as u64);
            over(self.source, rest, taken - length, &mut None);
        }
        result
    }

    /// What its target takes of it.
    fn taken(&self) -> Taken {
        let Some(kind) = facts(self.target).map(|target| FileType::from_raw_mode(target.st_mode))
        else {
            return Taken::WhatFits;
        };
        let flags = borrowed(self.target).map(rustix::fs::fcntl_getfl);
        let waits = matches!(flags, Some(Ok(flags)) if !flags.contains(OFlags::NONBLOCK));
        match kind {
            FileType::RegularFile => Taken::All,
            _ if !waits => Taken::WhatFits,
            FileType::Fifo => Taken::UpTo(PIPE_BYTES),
            _ => Taken::UpTo(SENT_BYTES),
        }
    }

    /// The whole request at once, which is reported when it is over.
    fn run_from_anywhere(&self, call: impl Fn(usize) -> ssize_t) -> ssize_t {
        let begun = ticks::now();
        let result = call(self.length);
        if let Ok(done @ 1..) = usize::try_from(result)
            && let Some(start) = moved(self.source_offset, done)
        {
            let elapsed = ticks::now().saturating_sub(begun);
            report(self.source, Start::At(start), done, Some(elapsed));
        }
        result
    }

    /// The first piece met an error and moved nothing: the program gets what the whole would meet.
    fn after_error(&self, result: ssize_t, call: impl Fn(usize) -> ssize_t) -> ssize_t {
        if Errno::keep().is_some_and(|errno| is_about_length(errno.value())) {
            call(self.length)
        } else {
            result
        }
    }

    /// Copies piece by piece what is left after `done` bytes. Returns the bytes of all. The error
    /// that a later piece may meet does not concern the program, so `errno` stays.
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
        if let Some(errno) = errno {
            errno.put_back();
        }
        done.cast_signed()
    }
}

/// Where `done` bytes began that the kernel has moved from before `offset`.
fn moved(offset: *const off_t, done: usize) -> Option<u64> {
    if offset.is_null() {
        return None;
    }
    // SAFETY: the kernel has just written the new offset there.
    u64::try_from(unsafe { offset.read() })
        .ok()?
        .checked_sub(done as u64)
}

/// Whether copying inside this file's file system reads it. Some only share the blocks, and some
/// let the server copy: looking ahead there would read what is not wanted.
fn is_copied_through_memory(fd: c_int) -> bool {
    const EXT: u64 = 0xef53;
    const F2FS: u64 = 0xf2f5_2010;
    let kind = borrowed(fd).and_then(|fd| rustix::fs::fstatfs(fd).ok());
    kind.and_then(|facts| u64::try_from(facts.f_type).ok())
        .is_some_and(|kind| kind == EXT || kind == F2FS)
}

/// A copy that is only timed.
fn unwatched(source: c_int, offset: *const off_t, call: impl FnOnce() -> ssize_t) -> ssize_t {
    if offset.is_null() {
        return afterwards(source, Start::Here, call);
    }
    let Some(unwatched) = ops::time_unwatched(source) else {
        return call();
    };
    let result = call();
    if let Ok(done @ 1..) = usize::try_from(result)
        && unwatched.has_waited(done, result)
        && let Some(start) = moved(offset, done)
    {
        waited(source, Start::At(start), result, unwatched);
    }
    result
}

/// `sendfile`.
pub(super) fn sendfile(
    target: c_int,
    source: c_int,
    offset: *mut off_t,
    count: size_t,
    call: impl Fn(size_t) -> ssize_t,
) -> ssize_t {
    if !is_watched(source) {
        return unwatched(source, offset, || call(count));
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

/// `copy_file_range`.
pub(super) fn copy_file_range(
    source: c_int,
    source_offset: *mut off_t,
    target: c_int,
    count: size_t,
    call: impl Fn(size_t) -> ssize_t,
) -> ssize_t {
    if !is_watched(source) || guarded(|| is_copied_through_memory(source)) != Some(true) {
        return unwatched(source, source_offset, || call(count));
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

/// `splice`.
pub(super) fn splice(
    source: c_int,
    source_offset: *mut off_t,
    target: c_int,
    count: size_t,
    flags: c_uint,
    call: impl Fn(size_t) -> ssize_t,
) -> ssize_t {
    if source_offset.is_null() {
        return afterwards(source, Start::Here, || call(count));
    }
    if !is_watched(source) {
        return unwatched(source, source_offset, || call(count));
    }
    let copy = Copy {
        source,
        target,
        source_offset,
        length: count,
        // As much as a pipe has space for, which is no piece.
        length_max: 0,
    };
    if flags & libc::SPLICE_F_NONBLOCK != 0 {
        return copy.run_from_anywhere(call);
    }
    copy.run(call)
}
