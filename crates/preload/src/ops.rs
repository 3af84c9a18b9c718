//! What happens around a read, in terms of the engine.
//!
//! The hooks in [`hooks`](crate::hooks) know C; this file knows files, streams and requests. It
//! runs inside somebody else's read, so it never waits, never allocates once the facts about a
//! device are known, and treats every failure as "no hint today". `errno` is kept by the hooks.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use ahead_engine::file::Wait;
use ahead_engine::recording::Kind;
use ahead_engine::report::{flags, header};
use ahead_engine::settings::PolicyChoice;
use ahead_policy::adaptive::{Quick, StreamId};
use ahead_policy::reason::{Pattern, Reason};
use ahead_policy::units::{ByteLength, ByteOffset, PageRange};

use crate::fd_table::{Entry, FileEntry};
use crate::files::Place;
use crate::host::{self, Host};
use crate::identity::{self, Identity};
use crate::record::Happened;
use crate::requests::{account, request, serve_letters};
use crate::shared::RecordPlace;
use crate::ticks;

/// A read that takes longer than this, plus [`COPY_PAGE_NS`] for each page, waited for a device:
/// copying 4 KiB from the cache takes 350 ns, the fastest device 20 µs.
const WAIT_NS: u64 = 20_000;
const COPY_PAGE_NS: u64 = 1_000;

/// Reads between two additions to the shared account.
const ACCOUNT_EVERY: u64 = 4096;

/// What is known about a read while it goes on.
#[derive(Clone, Copy)]
pub(crate) struct Token {
    pub(crate) fd: c_int,
    pub(crate) file: FileEntry,
    stream: Option<StreamId>,
    covered: bool,
    /// The descriptor's own position has to move by what is read.
    pub(crate) moves_position: bool,
    pub(crate) position: u64,
    access: PageRange,
    ticks: u64,
}

impl Token {
    /// For an access that another thread left behind: the same descriptor, but nothing is known of
    /// its position.
    pub(crate) fn of_another_thread(self) -> Self {
        Self {
            moves_position: false,
            ..self
        }
    }
}

/// What a first look at a read shows, without a system call.
pub(crate) enum Glance {
    /// Nothing of interest: not a file, or nobody is there to care.
    Ignore,
    /// One more step of a learned stream, or nothing that needs a look. Noted.
    Quick(Token),
    /// [`before_read`] has to look.
    Closer,
}

/// Looks at a read of `length` bytes that is about to begin at `position`, or where the descriptor
/// stands. Changes no `errno` and cannot panic.
#[inline]
pub(crate) fn glance(fd: c_int, position: Option<u64>, length: usize) -> Glance {
    let Some(host) = host::get() else {
        return Glance::Ignore;
    };
    let file = match host.descriptors.get(fd) {
        // A program that gives advice of its own is left to it.
        Entry::File(file) if file.program_advises => return Glance::Ignore,
        Entry::File(file) => file,
        Entry::Ignored => return Glance::Ignore,
        Entry::Unknown => return Glance::Closer,
    };
    let (moves_position, start) = match position {
        Some(position) => (false, position),
        None if file.shares_position => return Glance::Closer,
        None => (true, host.descriptors.position(fd)),
    };
    let access = PageRange::of_bytes(ByteOffset::new(start), ByteLength::new(length as u64));
    let Some(place) = host.files.place(file.slot) else {
        return Glance::Ignore;
    };
    let Some(mut inside) = host.files.enter(place, file.generation) else {
        return Glance::Closer;
    };
    if inside.has_letters() {
        return Glance::Closer;
    }
    let (state, many) = inside.state();
    let stream = match state.on_quick_access(many, access) {
        Quick::Step(stream) => Some(stream),
        Quick::Calm => None,
        Quick::No => return Glance::Closer,
    };
    drop(inside);
    Glance::Quick(Token {
        fd,
        file,
        stream,
        covered: stream.is_some(),
        moves_position,
        position: start,
        access,
        ticks: ticks::now(),
    })
}

/// A read of `length` bytes is about to begin at `position`, or where the descriptor stands.
/// `None`: it is of no interest.
pub(crate) fn before_read(fd: c_int, position: Option<u64>, length: usize) -> Option<Token> {
    let host = host::get()?;
    let file = match host.descriptors.get(fd) {
        Entry::File(file) if file.program_advises => return None,
        Entry::File(file) => file,
        Entry::Ignored => return None,
        Entry::Unknown => look_at(host, fd)?,
    };
    let (moves_position, start) = match position {
        Some(position) => (false, position),
        None if file.shares_position => (false, identity::position(fd)?),
        None => (true, host.descriptors.position(fd)),
    };
    let access = PageRange::of_bytes(ByteOffset::new(start), ByteLength::new(length as u64));
    let place = host.files.place(file.slot)?;
    let mut token = Token {
        fd,
        file,
        stream: None,
        covered: false,
        moves_position,
        position: start,
        access,
        ticks: 0,
    };
    match host.files.enter(place, file.generation) {
        Some(mut inside) => {
            let (state, many) = inside.state();
            let device = host.device(place.device_place.load(Ordering::Relaxed));
            let asker = u64::from(file.slot);
            let now = host.rate.since_start();
            let outcome = state.on_access(many, access, now, &host.engine, device, asker);
            (token.stream, token.covered) = (outcome.stream, outcome.covered);
            if outcome.decision.prefetch.count > 0 || inside.has_letters() {
                drop(inside);
                request(host, place, &token, outcome);
                serve_letters(host, place, &token);
            }
        }
        None if place.generation() == file.generation => place.leave(access),
        // Another file took the place: look again at the next read.
        None => host.descriptors.set(fd, Entry::Unknown),
    }
    token.ticks = ticks::now();
    Some(token)
}

/// The read that `token` stands for returned `result`. True if it seems to have waited for the
/// device: then [`after_wait`] is due. Changes no `errno` and cannot panic.
#[inline]
pub(crate) fn after_read(token: &Token, result: isize) -> bool {
    if result <= 0 {
        return false;
    }
    let elapsed = ticks::now().saturating_sub(token.ticks);
    let Some(host) = host::get() else {
        return false;
    };
    let bytes = result.unsigned_abs() as u64;
    if token.moves_position {
        let position = token.position.saturating_add(bytes);
        host.descriptors.set_position(token.fd, position);
    }
    if host.recorder.is_some() {
        record_read(host, token.file, token.position, bytes, Some(elapsed));
    }
    let limit_ns = WAIT_NS + COPY_PAGE_NS * token.access.len().get();
    elapsed > limit_ns.saturating_mul(host.rate.per_us()) / 1000
}

/// Records a read that is over. Changes no `errno` and cannot panic.
#[cold]
fn record_read(host: &Host, file: FileEntry, start: u64, bytes: u64, elapsed: Option<u64>) {
    let (Some(recorder), Some(place)) = (&host.recorder, host.files.place(file.slot)) else {
        return;
    };
    host.rate.settle();
    let mut happened = Happened::now(start, bytes);
    if let Some(elapsed) = elapsed {
        happened.duration_ns = host.rate.ns(elapsed);
        happened.at_ns = happened.at_ns.saturating_sub(happened.duration_ns);
    }
    recorder.on_file(place, Kind::Read, 0, &happened);
}

/// Whether reads are recorded that are of no other interest.
#[inline]
pub(crate) fn is_recording() -> bool {
    host::get().is_some_and(|host| host.recorder.is_some())
}

/// A read that no token stands for is over: it began at `start`, or where the descriptor stands
/// now without what it read, and took `ticks`, if that is known.
#[cold]
pub(crate) fn record_untold(fd: c_int, start: Option<u64>, bytes: usize, ticks: Option<u64>) {
    let Some(host) = host::get() else {
        return;
    };
    let bytes = bytes as u64;
    let stood = || identity::position(fd)?.checked_sub(bytes);
    if let Entry::File(file) = host.descriptors.get(fd)
        && bytes > 0
        && let Some(start) = start.or_else(stood)
    {
        record_read(host, file, start, bytes, ticks);
    }
}

/// Records what happened to the file of `fd`, if it is one that is looked at.
fn record(fd: c_int, kind: Kind, detail: u8, offset: u64, length: u64) {
    if let Some(host) = host::get()
        && let Some(recorder) = &host.recorder
        && is_watched(fd)
        && let Entry::File(file) = host.descriptors.get(fd)
        && let Some(place) = host.files.place(file.slot)
    {
        recorder.on_file(place, kind, detail, &Happened::now(offset, length));
    }
}

/// The read waited for the device until now.
#[cold]
pub(crate) fn after_wait(token: &Token) {
    let Some(host) = host::get() else {
        return;
    };
    let elapsed = ticks::now().saturating_sub(token.ticks);
    host.rate.settle();
    let Some(place) = host.files.place(token.file.slot) else {
        return;
    };
    let device = host.device(place.device_place.load(Ordering::Relaxed));
    if let Some(mut inside) = host.files.enter(place, token.file.generation) {
        let (state, many) = inside.state();
        let residency = identity::CacheStat { fd: token.fd };
        let waited = host.rate.ns(elapsed);
        let wait = Wait {
            stream: token.stream,
            covered: token.covered,
            waited_ns: waited,
        };
        state.on_wait(many, wait, token.access, device, &residency);
        place
            .active_ns
            .store(ticks::monotonic_ns(), Ordering::Relaxed);
        account(host, place, &mut inside, ACCOUNT_EVERY);
    }
}

/// First look at a descriptor: what is it, and does its file have a place?
#[cold]
fn look_at(host: &Host, fd: c_int) -> Option<FileEntry> {
    let seen = match identity::look(fd) {
        Some(Identity::File(seen)) => seen,
        Some(Identity::Other) => {
            host.descriptors.set(fd, Entry::Ignored);
            return None;
        }
        // Not a descriptor: the read will say so.
        None => return None,
    };
    let (slot, is_new) = host.files.find(seen.device, seen.inode, &host.engine)?;
    let place = host.files.place(slot)?;
    let bypasses_cache = seen.flags & libc::O_DIRECT != 0;
    if is_new {
        let device = host.device_place(seen.device);
        place.device_place.store(device, Ordering::Relaxed);
        if let Some(shared) = &host.shared {
            let record = shared.claim(fd, seen.device, seen.inode);
            place
                .record
                .store(RecordPlace::to_word(record), Ordering::Relaxed);
        }
    }
    if bypasses_cache {
        flag(host, place, flags::DIRECT);
        host.descriptors.set(fd, Entry::Ignored);
        return None;
    }
    if let Some(mut inside) = host.files.enter(place, place.generation()) {
        inside.state().0.file_pages = seen.pages;
    }
    if host.settings.policy == PolicyChoice::Off {
        identity::advise_random(fd);
    }
    let entry = FileEntry {
        slot,
        generation: place.generation(),
        shares_position: false,
        program_advises: false,
    };
    host.descriptors
        .set_position(fd, identity::position(fd).unwrap_or(0));
    host.descriptors.set(fd, Entry::File(entry));
    host.highest_fd
        .fetch_max(fd.unsigned_abs(), Ordering::Relaxed);
    if let Some(recorder) = &host.recorder {
        recorder.on_open(fd, seen.device, seen.inode, seen.length.get());
    }
    Some(entry)
}

fn flag(host: &Host, place: &Place, bits: u64) {
    let record = RecordPlace::from_word(place.record.load(Ordering::Relaxed));
    if let (Some(shared), Some(record)) = (&host.shared, record) {
        shared.flag(record, bits);
    }
}

/// Whether reads of `fd` are of interest.
pub(crate) fn is_watched(fd: c_int) -> bool {
    host::get().is_some_and(|host| match host.descriptors.get(fd) {
        Entry::File(_) => true,
        Entry::Ignored => false,
        Entry::Unknown => look_at(host, fd).is_some(),
    })
}

/// Where `fd` stands, if that was counted.
pub(crate) fn tracked_position(fd: c_int) -> Option<u64> {
    let host = host::get()?;
    match host.descriptors.get(fd) {
        Entry::File(file) if !file.shares_position => Some(host.descriptors.position(fd)),
        _ => None,
    }
}

/// `fd` stands at `position` now.
pub(crate) fn set_position(fd: c_int, position: u64) {
    if let Some(host) = host::get() {
        host.descriptors.set_position(fd, position);
    }
}

/// A descriptor was opened: the number means something new.
pub(crate) fn on_open(fd: c_int) {
    forget(fd);
}

/// A descriptor was closed.
pub(crate) fn on_close(fd: c_int) {
    forget(fd);
}

fn forget(fd: c_int) {
    let Some(host) = host::get() else {
        return;
    };
    if let Entry::File(file) = host.descriptors.get(fd)
        && let Some(place) = host.files.place(file.slot)
    {
        if let Some(mut inside) = host.files.enter(place, file.generation) {
            account(host, place, &mut inside, 1);
        }
        if let Some(recorder) = &host.recorder {
            recorder.on_file(place, Kind::Close, 0, &Happened::now(0, 0));
        }
    }
    host.descriptors.set(fd, Entry::Unknown);
}

/// Descriptors `first` to `last`, both inclusive, were closed.
pub(crate) fn on_close_range(first: u32, last: u32) {
    if let Some(host) = host::get() {
        host.descriptors.forget_range(first, last);
    }
}

/// `new` stands for the same open file as `old`.
pub(crate) fn on_dup(old: c_int, new: c_int) {
    let Some(host) = host::get() else {
        return;
    };
    if old == new {
        return;
    }
    let entry = match host.descriptors.get(old) {
        Entry::File(file) => Entry::File(FileEntry {
            shares_position: true,
            ..file
        }),
        other => other,
    };
    host.descriptors.set(old, entry);
    host.descriptors.set(new, entry);
    host.highest_fd
        .fetch_max(new.unsigned_abs(), Ordering::Relaxed);
}

/// The position of `fd` was set.
pub(crate) fn on_seek(fd: c_int, position: i64) {
    if let Ok(position) = u64::try_from(position) {
        set_position(fd, position);
    }
}

/// The program gave advice. Its word on random reads and on pages it wants is respected: no
/// requests of ours through this descriptor until it takes that back.
pub(crate) fn on_fadvise(fd: c_int, offset: i64, length: i64, advice: c_int) {
    record_advice(fd, offset, length, advice);
    match advice {
        libc::POSIX_FADV_RANDOM | libc::POSIX_FADV_WILLNEED => set_program_advises(fd, true),
        libc::POSIX_FADV_NORMAL | libc::POSIX_FADV_SEQUENTIAL => set_program_advises(fd, false),
        _ => {}
    }
}

/// The program reads ahead itself.
pub(crate) fn on_readahead(fd: c_int, offset: i64, count: usize) {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    record_advice(fd, offset, count, libc::POSIX_FADV_WILLNEED);
    set_program_advises(fd, true);
}

fn record_advice(fd: c_int, offset: i64, length: i64, advice: c_int) {
    let range = u64::try_from(offset).ok().zip(u64::try_from(length).ok());
    if let (Some((offset, length)), Ok(advice)) = (range, u8::try_from(advice)) {
        record(fd, Kind::Advise, advice, offset, length);
    }
}

fn set_program_advises(fd: c_int, program_advises: bool) {
    let Some(host) = host::get() else {
        return;
    };
    if !is_watched(fd) {
        return;
    }
    if let Entry::File(file) = host.descriptors.get(fd) {
        let entry = FileEntry {
            program_advises,
            ..file
        };
        host.descriptors.set(fd, Entry::File(entry));
        if program_advises && let Some(place) = host.files.place(file.slot) {
            flag(host, place, flags::PROGRAM_ADVISES);
            let record = RecordPlace::from_word(place.record.load(Ordering::Relaxed));
            if let (Some(shared), Some(record)) = (&host.shared, record) {
                let reason = Reason::ProgramAdvises.code();
                shared.set_pattern(record, Pattern::Unknown.code(), reason);
            }
        }
    }
}

/// The program advised about a mapping. Faults cannot be seen from here, so there is nothing of
/// ours to take back.
pub(crate) fn on_madvise(_address: usize, _length: usize, _advice: c_int) {}

/// The program mapped a file: its faults will be missing in the account, which says so.
pub(crate) fn on_mmap(fd: c_int, length: usize, _flags: c_int, offset: i64) {
    if let (0.., Ok(offset)) = (fd, u64::try_from(offset)) {
        record(fd, Kind::Map, 0, offset, length as u64);
    }
    let Some(host) = host::get() else {
        return;
    };
    let Some(shared) = &host.shared else {
        return;
    };
    if fd >= 0 && is_watched(fd) {
        shared
            .header(header::MAPPINGS)
            .fetch_add(1, Ordering::Relaxed);
        if let Entry::File(file) = host.descriptors.get(fd)
            && let Some(place) = host.files.place(file.slot)
        {
            flag(host, place, flags::MAPPED);
        }
    }
}

/// This is the child of a fork: the other threads are gone, positions are shared.
pub(crate) fn after_fork_in_child() {
    let Some(host) = host::get() else {
        return;
    };
    host.files.release_all();
    let highest = usize::try_from(host.highest_fd.load(Ordering::Relaxed)).unwrap_or(0);
    host.descriptors.share_all(highest);
    host.helper.store(std::ptr::null_mut(), Ordering::Relaxed);
    if let Some(shared) = &host.shared {
        shared
            .header(header::PROCESSES)
            .fetch_add(1, Ordering::Relaxed);
    }
}

/// The process is about to forbid itself system calls: ours could end it, so there will be none.
pub(crate) fn on_sandbox() {
    host::retire();
}

/// The process ends: what is not in the account yet goes there.
pub(crate) fn at_exit() {
    let Some(host) = host::get() else {
        return;
    };
    if host.shared.is_none() {
        return;
    }
    for place in host.files.used() {
        if let Some(mut inside) = host.files.enter(place, place.generation()) {
            let (state, many) = inside.state();
            state.on_idle(many, &host.engine);
            account(host, place, &mut inside, 0);
        }
    }
}
