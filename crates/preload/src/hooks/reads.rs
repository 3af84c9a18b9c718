//! Reads through a descriptor.
//!
//! The plain ones are announced before the call, so that what will be wanted next is on its way
//! while the program waits. The vectored ones are reported afterwards: how much they ask for
//! stands in an array that may be a bad pointer, and the kernel has to find that out, not we. So
//! are all reads of a process that sleeps ([`wake`]), until one of them waits.

use super::guard::guarded;
use crate::fd_table::Entry;
use crate::ops::{self, Glance};
use crate::{host, identity, ticks, wake};
use libc::{c_int, off_t, size_t, ssize_t};

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
}

/// What a first look shows. Kept out of the hooks, below whose frames real calls are made: it has
/// something to clean up while it lasts, and a frame either has clean-up or has not.
#[inline(never)]
pub(super) fn first_look(fd: c_int, offset: Option<u64>, length: usize) -> Glance {
    ops::glance(fd, offset, length)
}

/// A read of `length` bytes, announced and reported.
#[inline]
pub(super) fn announced(
    fd: c_int,
    start: Start,
    length: usize,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    if fd < 0 || length == 0 {
        return call();
    }
    let length = length.min(CALL_BYTES_MAX);
    // The first look and the end of a read that did not wait change no `errno` and cannot panic,
    // so they need no guard: nearly all reads of a learned stream end here.
    let token = match first_look(fd, start.offset(), length) {
        Glance::Ignore => return ignored(fd, start, call),
        Glance::Quick(token) => Some(token),
        Glance::Closer => guarded(|| ops::before_read(fd, start.offset(), length)).flatten(),
    };
    let result = call();
    if let Some(token) = token
        && ops::after_read(&token, result)
    {
        guarded(|| ops::after_wait(&token));
    }
    result
}

/// A read that is of no interest to the decisions: but it may be the first that waits, and a
/// recording wants those of programs that give advice of their own.
#[inline]
fn ignored(fd: c_int, start: Start, call: impl FnOnce() -> ssize_t) -> ssize_t {
    let is_asleep = wake::is_asleep();
    if !is_asleep && !ops::is_recording() {
        return call();
    }
    let begun = ticks::now();
    let result = call();
    let elapsed = wake::since(begun);
    if let Ok(bytes @ 1..) = usize::try_from(result) {
        if !is_asleep {
            guarded(|| ops::record_untold(fd, start.offset(), bytes, Some(elapsed)));
        } else if wake::has_waited(elapsed, bytes) || wake::before_read() {
            waited_asleep(fd, start, bytes, elapsed);
        }
    }
    result
}

/// A read in a process that slept took long, or has to be seen whatever it took.
#[cold]
#[inline(never)]
pub(super) fn waited_asleep(fd: c_int, start: Start, bytes: usize, elapsed: u64) {
    if host::get().is_some() || guarded(|| wake::after_wait(fd)) == Some(true) {
        report(fd, start, bytes, Some(elapsed));
    }
}

/// Reports `bytes` that were read, and how long that took, if it is known. Changes no `errno`.
pub(super) fn report(fd: c_int, start: Start, bytes: usize, elapsed: Option<u64>) {
    let Some(host) = host::get() else {
        return;
    };
    if host.descriptors.get(fd) == Entry::Ignored {
        return;
    }
    // Before the descriptor is looked at: that asks the kernel, who has moved it already.
    let tracked = ops::tracked_position(fd);
    let stood = || guarded(|| identity::position(fd)?.checked_sub(bytes as u64)).flatten();
    let Some(offset) = start.offset().or(tracked).or_else(stood) else {
        return;
    };
    let token = match first_look(fd, Some(offset), bytes) {
        Glance::Ignore => None,
        Glance::Quick(token) => Some(token),
        Glance::Closer => guarded(|| ops::before_read(fd, Some(offset), bytes)).flatten(),
    };
    match (token, elapsed) {
        (Some(token), Some(elapsed)) => {
            let token = token.that_took(elapsed);
            if ops::after_read(&token, bytes.cast_signed()) {
                guarded(|| ops::after_wait(&token));
            }
        }
        _ if ops::is_recording() => {
            guarded(|| ops::record_untold(fd, Some(offset), bytes, elapsed));
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
    let begun = ticks::now();
    let result = call();
    if let Ok(bytes @ 1..) = usize::try_from(result) {
        let elapsed = wake::since(begun);
        if !wake::is_asleep() {
            report(fd, start, bytes, Some(elapsed));
        } else if wake::has_waited(elapsed, bytes) || wake::before_read() {
            waited_asleep(fd, start, bytes, elapsed);
        }
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

/// `readv`.
#[inline]
pub(super) fn vectored_here(fd: c_int, call: impl FnOnce() -> ssize_t) -> ssize_t {
    afterwards(fd, Start::Here, call)
}

/// `preadv`.
#[inline]
pub(super) fn vectored_at(fd: c_int, offset: off_t, call: impl FnOnce() -> ssize_t) -> ssize_t {
    match u64::try_from(offset) {
        Ok(offset) => afterwards(fd, Start::At(offset), call),
        Err(_) => call(),
    }
}

/// `preadv2`: an offset of -1 means where the descriptor stands.
#[inline]
pub(super) fn vectored_anywhere(
    fd: c_int,
    offset: off_t,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    if offset == -1 {
        afterwards(fd, Start::Here, call)
    } else {
        vectored_at(fd, offset, call)
    }
}
