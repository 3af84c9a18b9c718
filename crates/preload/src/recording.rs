//! What happens to a file, for `ahead run --record`: which facts go into the ring.
//!
//! The ring itself is [`record`](crate::record). Nothing here is done while nothing is recorded.

use std::ffi::c_int;

pub(crate) use ahead_engine::recording::Kind;

use crate::fd_table::{Entry, FileRef, line};
use crate::host::{self, Host};
use crate::record::{Happened, Recorder};
use crate::{identity, ticks};

fn recorder() -> Option<(&'static Host, &'static Recorder)> {
    let host = host::get()?;
    Some((host, host.recorder.as_ref()?))
}

/// Whether reads are recorded that are of no other interest.
#[inline]
pub(crate) fn is_on() -> bool {
    host::get().is_some_and(|host| host.recorder.is_some())
}

/// A read of `file` is over: it began at `start` and took `elapsed` ticks, if that is known.
#[cold]
pub(crate) fn on_read(file: FileRef, start: u64, bytes: u64, elapsed: Option<u64>) {
    let Some((host, recorder)) = recorder() else {
        return;
    };
    let Some(place) = host.session.files.place(file) else {
        return;
    };
    ticks::RATE.settle();
    let mut happened = Happened::now(start, bytes);
    if let Some(elapsed) = elapsed {
        happened.duration_ns = ticks::RATE.ns(elapsed);
        happened.at_ns = happened.at_ns.saturating_sub(happened.duration_ns);
    }
    recorder.on_file(place, Kind::Read, 0, &happened);
}

/// A read that no token stands for is over: it began at `start`, or where the descriptor stands
/// now without what it read.
#[cold]
pub(crate) fn on_untracked_read(fd: c_int, start: Option<u64>, bytes: usize, elapsed: Option<u64>) {
    let bytes = bytes as u64;
    let stood = || identity::position(fd)?.checked_sub(bytes);
    if let Some(Entry::File(entry)) = line(fd).map(|line| line.entry())
        && bytes > 0
        && let Some(start) = start.or_else(stood)
    {
        on_read(entry.file, start, bytes, elapsed);
    }
}

/// Something happened to the file of `fd`, if it is watched.
pub(crate) fn on_descriptor(fd: c_int, kind: Kind, detail: u8, offset: u64, length: u64) {
    if let Some((host, recorder)) = recorder()
        && let Some(Entry::File(entry)) = line(fd).map(|line| line.entry())
        && let Some(place) = host.session.files.place(entry.file)
    {
        recorder.on_file(place, kind, detail, &Happened::now(offset, length));
    }
}

/// A descriptor of `file` was closed.
pub(crate) fn on_close(file: FileRef) {
    if let Some((host, recorder)) = recorder()
        && let Some(place) = host.session.files.place(file)
    {
        recorder.on_file(place, Kind::Close, 0, &Happened::now(0, 0));
    }
}

/// The program gave advice about a range.
pub(crate) fn on_advice(fd: c_int, offset: i64, length: i64, advice: c_int) {
    let range = u64::try_from(offset).ok().zip(u64::try_from(length).ok());
    if let (Some((offset, length)), Ok(advice)) = (range, u8::try_from(advice)) {
        on_descriptor(fd, Kind::Advise, advice, offset, length);
    }
}
