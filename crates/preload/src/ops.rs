//! What happens around a read, in terms of the engine. What happens to descriptors otherwise is in
//! [`descriptors`](crate::descriptors).
//!
//! The hooks in [`hooks`](crate::hooks) know C; this file knows descriptors and files; the loop is
//! [`ahead_engine::session`]'s. It runs inside the program's read, so it never waits, never
//! allocates, and treats every failure as "no hint today". `errno` is kept by the hooks.

use std::ffi::c_int;
use std::sync::atomic::Ordering::Relaxed;

use ahead_engine::adviser::{Act, Adviser};
use ahead_engine::host::{EnterError, EnteredFile};
use ahead_engine::report::{Aside, flags};
use ahead_engine::session;
use ahead_policy::adaptive::Quick;
use ahead_units::{ByteLength, ByteOffset, ByteRange, PageRange};
use rustix::fs::OFlags;

use crate::adviser::Direct;
use crate::fd_table::{self, Entry, FileEntry, FileRef, Line, line, line_in_use};
use crate::files::{Inside, Place};
use crate::host::{self, Host};
use crate::identity::{self, Identity, Resident};
use crate::recording;
use crate::watch::{self, Timer};
use crate::{aside, ticks, trees, wake};

/// What is known about a read while it goes on.
#[derive(Clone, Copy)]
pub(crate) struct Token {
    pub(crate) fd: c_int,
    line: &'static Line,
    read: session::Token<FileRef>,
    /// The descriptor's own position has to move by what is read.
    moves_position: bool,
    position: u64,
    timer: Timer,
}

/// What is known about a read through a descriptor that is not watched.
#[derive(Clone, Copy)]
pub(crate) struct Unwatched {
    timer: Timer,
}

impl Unwatched {
    /// A read through this number begins now.
    #[inline(always)]
    pub(crate) fn begin(line: &'static Line) -> Self {
        let timer = Timer::start(line);
        Self { timer }
    }

    /// The same through a number that has no line yet.
    #[cold]
    fn begin_without_line() -> Self {
        let timer = Timer::start_exactly(&fd_table::WITHOUT_LINE);
        Self { timer }
    }
}

/// What a first look at a read shows, without a system call.
pub(crate) enum Begin {
    /// Of no interest: not a file, or the program gives advice of its own.
    Ignore,
    /// Not watched: [`Unwatched::has_waited`] after the read.
    Unwatched(Unwatched),
    /// One more step of a learned stream: noted, and the token written.
    Quick,
    /// [`before_read`] has to look.
    Closer,
}

/// The line of a descriptor whose reads are only timed, in a process that is not alert: the shortest
/// way, which most reads of most programs take.
#[inline(always)]
pub(crate) fn only_timed(fd: c_int) -> Option<&'static Line> {
    let line = fd_table::first_lines(fd)?;
    (line.is_unwatched() && !wake::is_over() && !wake::sees_all() && !watch::is_alert())
        .then_some(line)
}

/// Looks at a read of `length` bytes that is about to begin at `position`, or where the descriptor
/// stands. What is known is written to `token`: handed back, it would be on the stack several times, of which a handler
/// of signals has little. Changes no `errno` and cannot panic.
#[inline]
pub(crate) fn begin(
    fd: c_int,
    position: Option<u64>,
    length: usize,
    token: &mut Option<Token>,
) -> Begin {
    let Some(line) = line(fd) else {
        return begin_without_line(fd);
    };
    match line.entry() {
        Entry::File(entry) => begin_watched(fd, line, entry, (position, length), token),
        Entry::Unwatched => begin_unwatched(line),
        Entry::Advised | Entry::Ignored => Begin::Ignore,
    }
}

#[cold]
fn begin_without_line(fd: c_int) -> Begin {
    if wake::is_over() || !fd_table::is_without_line(fd) {
        return Begin::Ignore;
    }
    if wake::sees_all() || watch::is_alert() {
        return Begin::Closer;
    }
    Begin::Unwatched(Unwatched::begin_without_line())
}

#[inline]
fn begin_unwatched(line: &'static Line) -> Begin {
    if wake::is_over() {
        return Begin::Ignore;
    }
    if wake::sees_all() || watch::is_of_interest(line) {
        return Begin::Closer;
    }
    Begin::Unwatched(Unwatched::begin(line))
}

/// Kept out of the hooks, below whose frames real calls are made: it has something to clean up while
/// it lasts, and a frame either has clean-up or has not.
#[inline(never)]
fn begin_watched(
    fd: c_int,
    line: &'static Line,
    entry: FileEntry,
    (position, length): (Option<u64>, usize),
    token: &mut Option<Token>,
) -> Begin {
    let Some(host) = host::get() else {
        return Begin::Ignore;
    };
    // A program that gives advice of its own is left to it.
    if entry.program_advises {
        return Begin::Ignore;
    }
    let (moves_position, start) = match position {
        Some(position) => (false, position),
        None if line.may_others_move(entry)
            && (recording::is_on() || !line.is_position_believed()) =>
        {
            return Begin::Closer;
        }
        None => (true, line.position()),
    };
    let access = bytes(start, length).pages();
    match host.session.on_quick_access(entry.file, access) {
        Ok((Quick::Calm, _)) if !wake::sees_all() => {
            // Nothing has waited for long: the descriptor is looked at again when something does.
            line.set(Entry::Unwatched);
            Begin::Unwatched(Unwatched::begin(line))
        }
        Ok((Quick::Step(_) | Quick::Left(_) | Quick::Calm, read)) => {
            *token = Some(Token {
                fd,
                line,
                read,
                moves_position,
                position: start,
                timer: Timer::start(line),
            });
            Begin::Quick
        }
        Ok((Quick::No, _)) | Err(EnterError::Busy | EnterError::Gone) => Begin::Closer,
    }
}

fn bytes(start: u64, length: usize) -> ByteRange {
    ByteRange::of(ByteOffset::new(start), ByteLength::new(length as u64))
}

impl Unwatched {
    /// The read of `length` bytes returned `result`: whether it seems to have waited for a device.
    /// Then [`on_first_wait`] is due. Changes no `errno` and cannot panic.
    #[inline(always)]
    pub(crate) fn has_waited(&self, length: usize, result: isize) -> bool {
        let limit = watch::wait_limit(length);
        self.timer.stop(limit) > limit && result > 0
    }
}

/// Times a read through a descriptor whose reads are reported when they are over. `None`: it is
/// watched, or of no interest.
#[inline]
pub(crate) fn time_unwatched(fd: c_int) -> Option<Unwatched> {
    let Some(line) = line(fd) else {
        return match begin_without_line(fd) {
            Begin::Unwatched(unwatched) => Some(unwatched),
            _ => None,
        };
    };
    if line.entry() != Entry::Unwatched || wake::is_over() || wake::sees_all() {
        return None;
    }
    if watch::is_of_interest(line) {
        return None;
    }
    Some(Unwatched::begin(line))
}

/// A read of `length` bytes at `position`, or up to where the descriptor stands now, seems to have waited,
/// and its descriptor is not watched. If that was for a device, it is from now on.
#[cold]
pub(crate) fn on_first_wait(fd: c_int, position: Option<u64>, length: usize, unwatched: Unwatched) {
    let elapsed = ticks::now().saturating_sub(unwatched.timer.began());
    let Some(line) = line_in_use(fd) else {
        return;
    };
    // Most waits are for pipes, terminals and sockets.
    let Some(device) = identity::device_of_file(fd) else {
        line.set(Entry::Ignored);
        return;
    };
    let counts_sectors = libc::major(device) != 0;
    if !wake::may_act() || !watch::has_really_waited(counts_sectors) {
        return;
    }
    let stood = || identity::position(fd)?.checked_sub(length as u64);
    let Some(start) = position.or_else(stood) else {
        return;
    };
    match uncached(fd, line, device, bytes(start, length).pages()) {
        Some(Uncached::Always) => return ignore_uncached(line),
        Some(Uncached::Once) => return,
        None => {}
    }
    let Some(host) = wake::host() else {
        return;
    };
    let Some(entry) = look_at(host, fd, line) else {
        return;
    };
    watch::stay_alert();
    trees::on_wait_of_read();
    let mut adviser = Direct::new(host, line, fd, entry, None);
    adviser.is_over = true;
    let read = host.session.read(
        entry.file,
        bytes(start, length),
        ticks::timestamp(),
        &mut adviser,
    );
    if let Ok(read) = read {
        ticks::RATE.settle();
        let waited_ns = ticks::RATE.ns(elapsed);
        let resident = resident(host, fd, entry.file);
        host.session
            .on_wait(&read, waited_ns, ticks::timestamp(), &resident);
    }
}

/// Who says what became of pages of `file`, through its descriptor `fd`.
fn resident(host: &Host, fd: c_int, file: FileRef) -> Resident {
    let place = host.session.files.place(file);
    Resident {
        fd,
        is_of_overlay: place.is_some_and(Place::is_of_overlay),
    }
}

/// A read has left no pages in the page cache.
enum Uncached {
    /// It was the first one.
    Once,
    /// They never do.
    Always,
}

/// The read of `access` had to wait and nothing was asked for it: are its pages there now? Where a server of files wants no cache
/// (FUSE with `FOPEN_DIRECT_IO`, 9p with `cache=none`), pages that we ask for are read once more by the program. Is asked until they
/// once were, and not on a block device, where only `O_DIRECT` does that. `None`: they were, or it cannot be said.
fn uncached(fd: c_int, line: &Line, device: u64, access: PageRange) -> Option<Uncached> {
    if libc::major(device) != 0 || !line.wonders_about_cache() || access.is_empty() {
        return None;
    }
    // An overlay, of whose files nothing is there, is no file system that may bypass the cache.
    let seen = Resident {
        fd,
        is_of_overlay: false,
    };
    let left = seen.has_left(access) != Some(false) || !identity::may_bypass_cache(fd);
    let bypasses = line.on_pages_left(left);
    (!left).then_some(if bypasses {
        Uncached::Always
    } else {
        Uncached::Once
    })
}

#[cold]
fn ignore_uncached(line: &Line) {
    aside::count(Aside::Uncached);
    line.set(Entry::Ignored);
}

/// The file of `fd` is copied inside the kernel, without reads.
pub(crate) fn on_copied(fd: c_int) {
    if let (Some(host), Some(line)) = (host::get(), line(fd))
        && let Entry::File(entry) = line.entry()
    {
        host.session.on_copied(entry.file);
    }
}

/// A read of `length` bytes is about to begin at `position`, or where the descriptor stands.
/// `None`: it is of no interest.
pub(crate) fn before_read(fd: c_int, position: Option<u64>, length: usize) -> Option<Token> {
    look_at_read(fd, position, length, false)
}

/// The same of one that is over already.
pub(crate) fn of_read_that_is_over(fd: c_int, position: u64, length: usize) -> Option<Token> {
    look_at_read(fd, Some(position), length, true)
}

fn look_at_read(fd: c_int, position: Option<u64>, length: usize, is_over: bool) -> Option<Token> {
    let (host, line) = (wake::host()?, line_in_use(fd)?);
    let mut is_fresh = false;
    let entry = match line.entry() {
        Entry::File(entry) if entry.program_advises => return None,
        Entry::File(entry) => entry,
        Entry::Advised | Entry::Ignored => return None,
        Entry::Unwatched => {
            is_fresh = true;
            look_at(host, fd, line)?
        }
    };
    let is_asked = position.is_none() && line.may_others_move(entry);
    if is_asked {
        line.on_position(identity::position(fd)?);
    }
    let moves_position = position.is_none();
    let start = position.unwrap_or_else(|| line.position());
    let access = bytes(start, length);
    let counted = (moves_position && !is_asked).then_some(start);
    let mut adviser = Direct::new(host, line, fd, entry, counted);
    adviser.is_over = is_over;
    let mut read = || {
        if line.checks_cache() {
            return Ok(session::Token::new(entry.file, access.pages()));
        }
        let now = ticks::timestamp();
        host.session.read(entry.file, access, now, &mut adviser)
    };
    let read = match read() {
        Ok(read) => read,
        Err(_) => {
            // Another file took the place: look again at the next read.
            line.set(Entry::Unwatched);
            session::Token::new(entry.file, access.pages())
        }
    };
    if host.session.files.was_budget_used() {
        host.learn_memory();
    }
    if is_fresh && host.session.is_read_ahead(&read) {
        // A server opens its file for each request.
        watch::stay_alert();
    }
    Some(Token {
        fd,
        line,
        read,
        moves_position,
        position: start,
        timer: Timer::start_exactly(line),
    })
}

impl Token {
    /// For a read that is over already, and took `elapsed` ticks.
    pub(crate) fn that_took(self, elapsed: u64) -> Self {
        Self {
            timer: self.timer.began_earlier(elapsed),
            ..self
        }
    }
}

/// The read that `token` stands for returned `result`. True if it seems to have waited for the
/// device: then [`after_wait`] is due. Changes no `errno` and cannot panic.
#[inline]
pub(crate) fn after_read(token: &Token, result: isize) -> bool {
    if result <= 0 {
        return false;
    }
    let bytes = result.unsigned_abs();
    if token.moves_position {
        let position = token.position.saturating_add(bytes as u64);
        token.line.set_position(position);
    }
    let limit = watch::wait_limit(bytes);
    let elapsed = token.timer.stop(limit);
    if recording::is_on() {
        recording::on_read(token.read.file, token.position, bytes as u64, Some(elapsed));
    }
    elapsed > limit
}

/// The read waited for the device until now.
#[cold]
pub(crate) fn after_wait(token: &Token) {
    let Some(host) = host::get() else {
        return;
    };
    let elapsed = ticks::now().saturating_sub(token.timer.began());
    ticks::RATE.settle();
    if !token.read.covered
        && let Some(place) = host.session.files.place(token.read.file)
        && let (device, _) = place.file()
        && let Some(Uncached::Always) = uncached(token.fd, token.line, device, token.read.access)
    {
        ignore_uncached(token.line);
    }
    watch::stay_alert();
    trees::on_wait_of_read();
    let resident = resident(host, token.fd, token.read.file);
    host.session.on_wait(
        &token.read,
        ticks::RATE.ns(elapsed),
        ticks::timestamp(),
        &resident,
    );
}

/// First look at a descriptor: what is it, and does its file have a place?
#[cold]
fn look_at(host: &'static Host, fd: c_int, line: &'static Line) -> Option<FileEntry> {
    let ignore = |reason| {
        aside::count(reason);
        line.set(Entry::Ignored);
        None
    };
    let seen = match identity::look(fd) {
        Some(Identity::File(seen)) => seen,
        Some(Identity::NoFile) => return ignore(Aside::NoFile),
        Some(Identity::WithoutDevice) => return ignore(Aside::NoDevice),
        // Not a descriptor: the read will say so.
        None => return None,
    };
    let session = &host.session;
    let settle = |inside: &mut Inside<'_>| {
        let (state, many) = inside.state();
        state.on_idle(many, &session.group);
    };
    let Some((file, is_new)) = session.files.find(seen.id(), settle) else {
        aside::count(Aside::TableFull);
        // Its reads are not timed, and yet it was read: see [`Line::what_was_read`].
        line.read_ended.store(ticks::now(), Relaxed);
        return None;
    };
    let place = session.files.place(file)?;
    place.set_of_overlay(seen.device.is_overlay());
    if is_new && let Some(account) = host.account() {
        place.set_record(account.claim(fd, seen.id()));
    }
    if seen.flags.contains(OFlags::DIRECT) {
        flag(host, place, flags::DIRECT);
        return ignore(Aside::Direct);
    }
    let entry = FileEntry {
        file,
        // What is written through the descriptor moves its position, and is not seen.
        shares_position: seen.flags.contains(OFlags::RDWR),
        program_advises: false,
    };
    let find = || host.device_facts(seen.device, fd);
    let act = session.on_open(
        file,
        seen.device.number,
        seen.pages,
        &host.settings,
        ticks::timestamp(),
        find,
    );
    session.on_advice(file, line.advice());
    if let Some((act @ Act::Advise(_), _)) = act {
        Direct::new(host, line, fd, entry, None).act(act);
    }
    line.set_position(identity::position(fd).unwrap_or(0));
    line.doubt_position();
    line.set(Entry::File(entry));
    fd_table::note_use(fd);
    if let Some(recorder) = &host.recorder {
        recorder.on_open(fd, seen.device.number, seen.inode, seen.length.get());
    }
    Some(entry)
}

/// Sets bits of a file's flags in the account.
pub(crate) fn flag(host: &Host, place: &Place, bits: u64) {
    if let (Some(account), Some(record)) = (host.account(), place.record()) {
        account.flag(record, bits);
    }
}

/// Whether reads of `fd` are watched, after a look at it if it is of interest.
pub(crate) fn is_watched(fd: c_int) -> bool {
    let is_of_interest = || line(fd).map_or_else(watch::is_alert, watch::is_of_interest);
    match fd_table::entry(fd) {
        Some(Entry::File(entry)) => !entry.program_advises || recording::is_on(),
        Some(Entry::Unwatched) if wake::sees_all() || is_of_interest() => {
            let look = |host| look_at(host, fd, line_in_use(fd)?);
            wake::host().and_then(look).is_some()
        }
        _ => false,
    }
}

/// Whether `fd` is a file that was looked at.
#[inline]
pub(crate) fn is_file(fd: c_int) -> bool {
    line(fd).is_some_and(|line| matches!(line.entry(), Entry::File(_)))
}

/// Whether reads of `fd` are of no interest.
#[inline]
pub(crate) fn is_ignored(fd: c_int) -> bool {
    fd_table::entry(fd).is_none_or(|entry| match entry {
        Entry::Advised | Entry::Ignored => true,
        Entry::File(entry) => entry.program_advises && !recording::is_on(),
        Entry::Unwatched => wake::is_over(),
    })
}

/// Whether [`is_watched`] is worth asking. Changes no `errno` and cannot panic.
#[inline]
pub(crate) fn may_be_watched(fd: c_int) -> bool {
    fd_table::entry(fd).is_some_and(|entry| match entry {
        Entry::File(_) => true,
        Entry::Advised | Entry::Ignored => false,
        Entry::Unwatched => wake::sees_all() || watch::is_alert(),
    })
}

/// `fd` is about to be closed.
#[inline]
pub(crate) fn on_close(fd: c_int) {
    if let Some(line) = line(fd) {
        line.on_close();
    }
}

/// The flags of `fd` were changed.
pub(crate) fn on_flags(fd: c_int) {
    if let Some(line) = line(fd) {
        line.on_flags();
    }
}

/// Where `fd` stands, if that was counted.
pub(crate) fn tracked_position(fd: c_int) -> Option<u64> {
    line(fd)?.tracked_position()
}

/// `fd` stands at `position` now.
pub(crate) fn set_position(fd: c_int, position: u64) {
    if let Some(line) = line(fd) {
        line.set_position(position);
    }
}

#[cfg(test)]
mod tests;
