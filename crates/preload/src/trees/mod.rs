//! Trees: a program that lists folders and visits their files, or visits them by a list of names, finds the next ones
//! in memory.
//!
//! ```text
//! program   opendir, open, stat ──► notes and visits (events)
//!                                          │
//! helper    a thread with a descriptor table of its own
//!             notes, visits ──► where the walk is (walk, folders) ──► order, how many (policy::file_order)
//!             list what comes next, stat and open in the order of inodes, ask for places (disk)
//!             readahead in the order of places
//! ```
//!
//! * Nothing is said as long as nothing waits: then a hook here is one look at a word, and for a folder that is
//!   listed a note in fixed memory. A call that takes too long for memory, or a read that waits, begins it;
//!   it ends when what the helper asks for is in memory already.
//! * The helper is made where a program that keeps to the rules cannot be inside an allocator or a signal
//!   handler: in calls that list folders or open streams. It blocks no signal that the C library needs,
//!   allocates nothing, holds no lock, and ends when it has nothing to do.
//! * It opens what lies in folders that the program lists or opens files of by name, in folders below those, and in
//!   folders beside those that it came to by names; only regular files and folders on local file systems, and never
//!   across a mount.

mod ahead;
mod disk;
mod events;
mod folders;
mod helper;
mod look;
mod readers;
mod state;
mod threads;
mod walk;
mod work;

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use ahead_units::PAGE_BYTES;

use crate::fd_table::line;
use crate::guard::guarded;
use crate::{identity, ticks, wake, watch};
use events::{NewNote, Origin, Visit, VisitKind};
use state::State;

/// Calls that are timed from their beginning after one that may have waited.
const CALLS_TIMED: u32 = 64;
/// In a program that only asks, and has no helper, a wait for names or an inode that is shorter than an access by so much was for what the disk had at hand: what it reads
/// ahead by itself while names are asked for in the order in which they lie there. A helper that goes ahead makes an arm
/// go back and forth (`ls -lR` of a tree as it was made, on hdd: three times as long). Less, and what waits for little
/// is left alone on flash too; more, and it is taken for a walk.
const AT_HAND: u64 = 8;
/// Files of one folder opened one after another, each after a wait, that are taken for a list of files. Fewer, and
/// programs that open some files by name (databases, interpreters) get a helper for nothing; more, and a short list
/// is half read.
const OPENED_BY_NAME_MIN: u32 = 8;
/// The program goes through files: it has listed a folder, or opened what looks like a list. Who does neither is no
/// walk, however many files it opens.
static IS_WALK: AtomicBool = AtomicBool::new(false);
/// No name was read yet of the newest listing.
static LISTING_BEGAN: AtomicBool = AtomicBool::new(false);
/// A read has waited: the arm goes back and forth between names and files by itself.
static READ_HAS_WAITED: AtomicBool = AtomicBool::new(false);
/// Something waited since the newest open that was counted.
static HAS_WAITED: AtomicBool = AtomicBool::new(false);
/// Folder and name that were opened last after a wait, and how many names of that folder in a row.
static OPENED_KEY: AtomicU64 = AtomicU64::new(0);
static OPENED_NAME: AtomicU64 = AtomicU64::new(0);
static OPENED_IN_A_ROW: AtomicU32 = AtomicU32::new(0);
/// When the newest call here ended, in ticks.
static CALL_ENDED: AtomicU64 = AtomicU64::new(0);
static CALLS_LEFT: AtomicU32 = AtomicU32::new(0);

/// Trees are of interest: called by the constructor, unless they were turned off.
pub(crate) fn allow() {
    state::set(State::Idle);
}

/// Whether anything here is done at all.
#[inline]
pub(crate) fn is_on() -> bool {
    state::state() != State::Off
}

/// A read waited for a device.
pub(crate) fn on_wait_of_read() {
    if !READ_HAS_WAITED.load(Relaxed) {
        READ_HAS_WAITED.store(true, Relaxed);
        state::count_waits_at_hand();
    }
    on_wait();
}

/// Something waited for a device.
fn on_wait() {
    match state::state() {
        State::Idle => {
            state::count_wait();
            HAS_WAITED.store(true, Relaxed);
            want_if_it_is_a_walk();
        }
        State::Wanted | State::Running => {}
        _ => return,
    }
    events::stay_told();
}

fn want_if_it_is_a_walk() {
    if state::has_waited_enough() && IS_WALK.load(Relaxed) {
        state::want();
    }
}

/// Whether visits are told: so many after each wait, and after what the helper has fetched. Who goes through names
/// that are in memory soon tells nothing any more, and the helper ends.
#[inline]
fn is_told() -> bool {
    matches!(state::state(), State::Wanted | State::Running) && events::are_visits_told()
}

/// A call that opens a file or reads names, while it goes on. Questions for metadata are not timed: inodes lie in few
/// tables, and who only asks waits for names too.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    /// In ticks; 0: since the call before.
    began: u64,
}

impl Clock {
    /// The call begins now.
    #[inline]
    pub(crate) fn start() -> Self {
        let left = CALLS_LEFT.load(Relaxed);
        if left == 0 || !is_on() {
            return Self { began: 0 };
        }
        CALLS_LEFT.store(left - 1, Relaxed);
        Self {
            began: ticks::now(),
        }
    }

    /// The same for a call that goes on with a listing: the first one after it began reads the names, the others hardly
    /// ever do.
    #[inline]
    pub(crate) fn start_of_listing() -> Option<Self> {
        if !LISTING_BEGAN.load(Relaxed) {
            return None;
        }
        LISTING_BEGAN.store(false, Relaxed);
        Some(Self::start())
    }

    /// The call is over; `fd` is what it was about, or less than 0. If it waited for a device, that is noted. As in [`watch`], the end of one call is the
    /// beginning of the next, and only what is too long even so is timed.
    #[inline]
    pub(crate) fn stop(self, fd: impl FnOnce() -> c_int) {
        if !is_on() {
            return;
        }
        let now = ticks::now_for_fresh();
        // Not swapped: that would cost threads that open files at once more than the look at the clock.
        let ended = CALL_ENDED.load(Relaxed);
        CALL_ENDED.store(now, Relaxed);
        let began = if self.began == 0 { ended } else { self.began };
        let elapsed = now.saturating_sub(began);
        #[expect(clippy::cast_possible_truncation, reason = "a page fits")]
        if elapsed > watch::wait_limit(PAGE_BYTES as usize) {
            if self.began == 0 {
                CALLS_LEFT.store(CALLS_TIMED, Relaxed);
            } else {
                guarded(|| on_long_call(elapsed, fd()));
            }
        }
    }
}

/// A call for `fd` took so many ticks.
#[cold]
fn on_long_call(elapsed: u64, fd: c_int) {
    if !wake::is_over() && wake::may_act() && watch::has_really_waited(true) {
        watch::stay_alert();
        let only_asks = state::state() == State::Idle && !READ_HAS_WAITED.load(Relaxed);
        if only_asks && was_at_hand(elapsed, fd) == Some(true) {
            state::count_wait_at_hand();
        } else {
            on_wait();
        }
    }
}

/// Whether the disk had at hand what was waited for; `None` where the disk is not known.
fn was_at_hand(elapsed: u64, fd: c_int) -> Option<bool> {
    let host = wake::host()?;
    let device = identity::device_of(fd)?;
    let find = || host.device_facts(device, fd);
    let place = host.session.meet(device.number, ticks::timestamp(), find);
    let access_ns = host.session.devices.get(place).estimate().access_ns;
    ticks::RATE.settle();
    Some(ticks::RATE.ns(elapsed) < access_ns / AT_HAND)
}

/// The bytes of a path that a call has accepted.
///
/// # Safety
/// A C string that the kernel has read just now.
unsafe fn bytes<'a>(path: *const c_char) -> &'a [u8] {
    if path.is_null() {
        return &[];
    }
    // SAFETY: by this function's own condition.
    unsafe { CStr::from_ptr(path) }.to_bytes()
}

/// What a path begins at, if it is not the root: a descriptor and its opening, or the working folder.
fn descriptor(folder: c_int, path: &[u8]) -> (c_int, u32) {
    if path.first() == Some(&b'/') {
        return (libc::AT_FDCWD, 0);
    }
    if folder == libc::AT_FDCWD {
        return (folder, events::working_folder());
    }
    (folder, line(folder).map_or(0, |line| line.openings()))
}

/// The key of the folder that `path` leads to from `folder` on.
fn key(folder: c_int, path: &[u8]) -> u64 {
    let (number, generation) = descriptor(folder, path);
    let known = line(folder).map(|line| line.origin());
    let from = match known {
        Some([above, name]) if above != 0 => events::key_below(above, name),
        _ => events::base_key(number, generation),
    };
    events::path_key(from, path)
}

/// A name was looked at by `path`, from `folder` on; `opened` is the descriptor if it was opened, `is_folder`
/// whether it is known to be a folder.
///
/// # Safety
/// `path` must be a C string.
#[inline]
pub(crate) unsafe fn on_visit(
    folder: c_int,
    path: *const c_char,
    opened: Option<c_int>,
    is_folder: bool,
) {
    if !is_on() {
        return;
    }
    let is_counted = opened.is_some() && HAS_WAITED.load(Relaxed) && !is_folder;
    if is_folder || is_counted || is_told() {
        // SAFETY: by this function's own condition.
        let path = unsafe { bytes(path) };
        if is_counted && state::state() == State::Idle {
            count_open(folder, path);
        }
        if is_folder || is_told() {
            tell(folder, path, opened, is_folder);
        }
    }
}

/// A file is opened, the first one after a wait.
#[cold]
fn count_open(folder: c_int, path: &[u8]) {
    HAS_WAITED.store(false, Relaxed);
    let Some((parent, name)) = events::split(path) else {
        return;
    };
    let (key, name) = (key(folder, parent), events::name_hash(name));
    let is_here = OPENED_KEY.swap(key, Relaxed) == key;
    let is_same = OPENED_NAME.swap(name, Relaxed) == name;
    let in_a_row = match (is_here, is_same) {
        (true, true) => return,
        (true, false) => OPENED_IN_A_ROW.load(Relaxed) + 1,
        (false, _) => 1,
    };
    OPENED_IN_A_ROW.store(in_a_row, Relaxed);
    if in_a_row >= OPENED_BY_NAME_MIN && !IS_WALK.swap(true, Relaxed) {
        want_if_it_is_a_walk();
    }
}

fn tell(folder: c_int, path: &[u8], opened: Option<c_int>, is_folder: bool) {
    let opened_line = opened.and_then(line);
    let Some((parent, name)) = events::split(path) else {
        if path == b"."
            && let (Some(opened), Some(folder)) = (opened_line, line(folder))
        {
            opened.set_origin(folder.origin());
        }
        return;
    };
    let key = key(folder, parent);
    let hash = events::name_hash(name);
    if let Some(line) = opened_line {
        line.set_origin([key, hash]);
    }
    if is_folder {
        // That it is listed is said when it is; by then nothing may be known of how it was reached.
        let own = events::key_below(key, hash);
        if !events::is_noted(own) {
            note(own, folder, false, path);
        }
        return;
    }
    if !events::is_noted(key) {
        note(key, folder, false, parent);
    }
    let kind = match opened {
        Some(_) => VisitKind::Open,
        None => VisitKind::Stat,
    };
    events::push_visit(Visit { key, hash, kind });
    state::wake_for_visit();
    // Allocators open files of these folders, with their locks held.
    let is_of_system = [&b"/proc/"[..], b"/sys/", b"/etc/", b"/dev/"]
        .iter()
        .any(|folder| path.starts_with(folder));
    if opened.is_some()
        && !is_of_system
        && let Some(make) = what_is_wanted()
    {
        guarded(|| helper::outside_of_handlers(make));
    }
}

/// What makes the threads that are wanted and not there.
#[inline]
fn what_is_wanted() -> Option<fn()> {
    match state::state() {
        State::Wanted => Some(helper::start),
        State::Running if readers::are_wanted() => Some(helper::start_readers),
        _ => None,
    }
}

/// A descriptor is about to be closed; `is_stream`: by the C library, whose own reads are not all seen.
#[inline]
pub(crate) fn on_close(fd: c_int, is_stream: bool) {
    if is_told()
        && let Some(line) = line(fd)
        && let [key, hash] = line.origin()
        && key != 0
        && let Some(read) = line.what_was_read()
        && !(is_stream && read == Some(0))
    {
        let kind = VisitKind::Close(read);
        events::push_visit(Visit { key, hash, kind });
    }
}

/// What is read through a descriptor from now on is not seen: it was mapped, or goes into a pipe inside the kernel.
#[inline]
pub(crate) fn on_unseen_reads(fd: c_int) {
    if is_told()
        && let Some(line) = line(fd)
    {
        line.set_origin([0; 2]);
    }
}

fn note(key: u64, folder: c_int, lists: bool, path: &[u8]) {
    let origin = match events::split(path) {
        Some((above, name)) => Origin {
            above: self::key(folder, above),
            name: events::name_hash(name),
        },
        None if path.is_empty() => line(folder).map_or_else(Origin::default, |line| {
            let [above, name] = line.origin();
            Origin { above, name }
        }),
        None => Origin::default(),
    };
    let (folder, generation) = descriptor(folder, path);
    events::push_note(&NewNote {
        key,
        folder,
        generation,
        origin,
        lists,
        path,
    });
}

/// The program lists the folder that `path` leads to from `folder` on; an empty path is `folder` itself.
///
/// # Safety
/// `path` must be null or a C string.
pub(crate) unsafe fn on_list(folder: c_int, path: *const c_char) {
    if !is_on() || wake::is_over() {
        return;
    }
    LISTING_BEGAN.store(true, Relaxed);
    // SAFETY: by this function's own condition.
    let path = unsafe { bytes(path) };
    let key = key(folder, path);
    events::is_noted(key);
    note(key, folder, true, path);
    if !IS_WALK.swap(true, Relaxed) {
        want_if_it_is_a_walk();
    }
    if is_told() {
        state::wake();
    }
    may_begin();
}

/// A call that no signal handler may make, and no allocator does: the helper is made here if it is wanted.
#[inline]
pub(crate) fn may_begin() {
    if let Some(make) = what_is_wanted() {
        guarded(make);
    }
}

/// The working folder has changed.
pub(crate) fn on_new_working_folder() {
    events::on_new_working_folder();
}

/// The helper ends now, and there is never another one: the process enters a sandbox, or does what only a
/// process with one thread may do.
pub(crate) fn stop() {
    if is_on() {
        guarded(helper::stop);
    }
}

/// The child of a fork has no helper.
pub(crate) fn after_fork_in_child() {
    helper::after_fork_in_child();
}
