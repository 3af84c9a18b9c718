//! The helper: a thread with a descriptor table of its own, made when something waits, gone when nothing does.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, Ordering::Relaxed};

use ahead_engine::budget::Published;
use ahead_engine::report::header;
use ahead_engine::tree_report::word;
use ahead_policy::file_order::order::Needed;
use ahead_sys::own_usage::own_thread_usage;
use ahead_units::{ByteLength, PageCount};
use rustix::thread::futex;

use super::disk;
use super::events::{self, Note};
use super::folders::FOLDERS;
use super::walk::{HEAD_BYTES, Tally, Walk};
use crate::fd_table::line;
use crate::guard::guarded;
use crate::host::{self, Host};
use crate::memory::zeroed_array;
use crate::{sandbox, symbols, wake};

/// Bytes that may be outstanding, where memory allows. Fewer, and large files leave batches short; more, and a
/// program that stops has wasted them.
const BYTES_MAX: u64 = 128 << 20;
/// Descriptors that stay open from the first pass of a batch to the second; further files are opened again.
const KEPT_OPEN: usize = 56;
/// The stack, beside what the C library takes of it: the longest chain of calls needs 30 KiB.
const STACK_BYTES: usize = 256 << 10;
/// What the C library takes of a stack where it does not say: variables of the program's threads lie there.
const THREAD_BYTES: usize = 1 << 20;
/// How long the end of a helper is waited for. Longer takes only a file system that waits for this program.
const JOIN_S: libc::time_t = 5;
/// Turns that are given up for a helper that is being made, or is joined and not yet gone.
const TURNS: u32 = 10_000;
/// How long a helper waits for something to do. Longer, and a process whose first thread has ended lives so much
/// longer; shorter, and a program that thinks for a while pays for a thread again.
const IDLE_NS: i64 = 500_000_000;
/// A key that is known to mean a folder that is not to be looked at.
const IGNORED: usize = FOLDERS;

/// What there is of the helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum State {
    /// There will be none.
    Off = 0,
    /// Nothing has waited.
    Idle = 1,
    /// It is to be made.
    Wanted = 2,
    Running = 3,
    /// It is to end, and there will be none.
    Stopping = 4,
}

static STATE: AtomicU32 = AtomicU32::new(State::Off as u32);
/// Grows with each reason to look.
static BELL: AtomicU32 = AtomicU32::new(0);
static IS_ASLEEP: AtomicBool = AtomicBool::new(false);
static WALK: AtomicPtr<Walk> = AtomicPtr::new(null_mut());
/// The thread, to be joined; 0: none.
static THREAD: AtomicU64 = AtomicU64::new(0);
static THREAD_ID: AtomicU32 = AtomicU32::new(0);
/// The process that made it. Others find it here that were made by a raw `clone`, and have no helper.
static MAKER: AtomicU32 = AtomicU32::new(0);
/// Threads that are making it.
static MAKERS: AtomicU32 = AtomicU32::new(0);

#[inline]
pub(super) fn state() -> State {
    match STATE.load(Relaxed) {
        1 => State::Idle,
        2 => State::Wanted,
        3 => State::Running,
        4 => State::Stopping,
        _ => State::Off,
    }
}

pub(super) fn set(state: State) {
    STATE.store(state as u32, Ordering::SeqCst);
}

fn change(from: State, to: State) -> bool {
    STATE
        .compare_exchange(from as u32, to as u32, Ordering::SeqCst, Relaxed)
        .is_ok()
}

/// A helper is wanted.
pub(super) fn want() {
    change(State::Idle, State::Wanted);
}

/// There is something to look at.
#[inline]
pub(super) fn wake() {
    std::sync::atomic::fence(Ordering::SeqCst);
    if IS_ASLEEP.load(Ordering::SeqCst) {
        ring();
    }
}

#[cold]
fn ring() {
    IS_ASLEEP.store(false, Ordering::SeqCst);
    BELL.fetch_add(1, Ordering::SeqCst);
    let _ = futex::wake(&BELL, futex::Flags::PRIVATE, 1);
}

/// Makes the helper. What is in the way turns trees off in this process, silently.
pub(super) fn start() {
    MAKERS.fetch_add(1, Ordering::SeqCst);
    if is_own_thread() && change(State::Wanted, State::Running) {
        MAKER.store(crate::identity::process(), Relaxed);
        if not_cancelled(try_start).is_none() {
            set(State::Off);
        }
    }
    MAKERS.fetch_sub(1, Ordering::SeqCst);
}

/// Does what the C library might leave by cancelling the thread: nothing of ours may be left so.
fn not_cancelled<R>(work: impl FnOnce() -> R) -> R {
    let mut before = 0;
    // SAFETY: the only thing that is changed is put back, and the old value is a local.
    unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &raw mut before) };
    let result = work();
    // SAFETY: as above.
    unsafe { pthread_setcancelstate(before, null_mut()) };
    result
}

const PTHREAD_CANCEL_DISABLE: c_int = 1;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}

/// Bytes that the C library takes of every stack.
fn thread_bytes() -> usize {
    type Least = unsafe extern "C" fn(*const libc::pthread_attr_t) -> usize;
    let least = symbols::next(c"__pthread_get_minstack");
    if least.is_null() {
        return THREAD_BYTES;
    }
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: the function has had this type since it is there; the attributes are a local that the first call
    // fills.
    unsafe {
        let least = std::mem::transmute::<*mut c_void, Least>(least);
        libc::pthread_attr_init(attributes.as_mut_ptr());
        let bytes = least(attributes.as_ptr());
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        bytes
    }
}

/// Tries left to make the helper where a signal handler may be running.
static TRIES_LEFT: AtomicU32 = AtomicU32::new(32);

/// The same in a call that a signal handler may make, and which may have interrupted an allocator: only where
/// no signal is blocked, as the one whose handler runs would be.
#[cold]
pub(super) fn start_outside_of_handlers() {
    let left = TRIES_LEFT.load(Relaxed);
    if left == 0 {
        return;
    }
    TRIES_LEFT.store(left - 1, Relaxed);
    let mut mask = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: asks only; the set is a local.
    let failed = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, null_mut(), mask.as_mut_ptr()) };
    // SAFETY: filled by the call, or all zeroes, which is a set too.
    let mask = unsafe { mask.assume_init() };
    // SAFETY: a valid set, and numbers of signals.
    let is_blocked = |signal| unsafe { libc::sigismember(&raw const mask, signal) } != 0;
    if failed == 0 && !(1..=31).chain(34..=64).any(is_blocked) {
        start();
    }
}

/// False in the child of a `vfork`, which borrows the thread of its parent.
fn is_own_thread() -> bool {
    let mut clock = 0;
    // SAFETY: a local to write to. The clock of a thread is made of the number that the C library knows.
    let failed = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
    failed == 0 && u32::try_from(!(clock >> 3)) == Ok(crate::identity::thread())
}

fn try_start() -> Option<()> {
    let host = wake::host()?;
    if !sandbox::is_known_for_trees() {
        return None;
    }
    let mut walk = WALK.load(Relaxed);
    if walk.is_null() {
        // SAFETY: all-zero bytes are a valid walk, of plain numbers and enums with a variant 0.
        walk = unsafe { zeroed_array::<MaybeUninit<Walk>>(1)? }
            .as_ptr()
            .cast_mut()
            .cast();
        WALK.store(walk, Relaxed);
    }
    host.learn_memory();
    join();
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: locals, each filled by the call before it is used. The C library leaves out of the set the
    // signals that it needs in every thread. The new thread inherits the mask.
    let failed = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_attr_init(attributes.as_mut_ptr());
        let stack_bytes = STACK_BYTES + thread_bytes().next_multiple_of(4096);
        libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), stack_bytes);
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        let failed =
            libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), run, null_mut());
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut());
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        failed
    };
    if failed != 0 {
        return None;
    }
    // SAFETY: filled by the call that succeeded.
    THREAD.store(unsafe { thread.assume_init() }, Relaxed);
    Some(())
}

/// Waits for the end of a helper that has ended, or is about to.
fn join() {
    let thread = THREAD.swap(0, Relaxed);
    if thread == 0 {
        return;
    }
    let mut until = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a local; and a thread that was made by us and not joined yet.
    unsafe {
        libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut until);
        until.tv_sec += JOIN_S;
        libc::pthread_timedjoin_np(thread, null_mut(), &raw const until);
    }
}

/// Ends the helper, and waits until the kernel does not count it any more.
pub(super) fn stop() {
    if state() == State::Off {
        return;
    }
    let maker = MAKER.load(Relaxed);
    if maker != 0 && maker != crate::identity::process() {
        // Here is none. If this is the child of a `vfork`, that of its parent ends by itself.
        set(State::Off);
        return;
    }
    // Also where it has just ended by itself, or another thread stops it: it may not be gone yet.
    set(State::Stopping);
    for _ in 0..TURNS {
        if MAKERS.load(Ordering::SeqCst) == 0 {
            break;
        }
        rustix::thread::sched_yield();
    }
    BELL.fetch_add(1, Ordering::SeqCst);
    let _ = futex::wake(&BELL, futex::Flags::PRIVATE, 1);
    not_cancelled(join);
    let thread = THREAD_ID.load(Relaxed);
    // Joined is a little earlier than gone. A number that is in use again ends this all the same.
    for _ in 0..TURNS {
        if thread == 0 || !disk::is_thread(thread) {
            break;
        }
        rustix::thread::sched_yield();
    }
    set(State::Off);
}

/// The child of a fork has no helper, and nothing that was said is about it.
pub(super) fn after_fork_in_child() {
    if matches!(state(), State::Running | State::Wanted) {
        set(State::Idle);
    }
    THREAD.store(0, Relaxed);
    THREAD_ID.store(0, Relaxed);
    MAKER.store(0, Relaxed);
    MAKERS.store(0, Relaxed);
    IS_ASLEEP.store(false, Relaxed);
    events::forget_all();
}

extern "C" fn run(_: *mut c_void) -> *mut c_void {
    THREAD_ID.store(crate::identity::thread(), Relaxed);
    let done = guarded(|| {
        if !disk::leave_table_of_program() {
            return false;
        }
        let walk = WALK.load(Relaxed);
        // SAFETY: made before this thread, and only ever used by the one helper.
        match (unsafe { walk.as_mut() }, host::get()) {
            (Some(walk), Some(host)) => {
                Helper {
                    walk,
                    host,
                    published: Published::default(),
                    told: Tally::default(),
                }
                .work();
                true
            }
            _ => false,
        }
    });
    if done == Some(true) {
        // What the program wants next it has to wait for again.
        change(State::Running, State::Idle);
    } else {
        change(State::Running, State::Off);
    }
    null_mut()
}

struct Helper {
    walk: &'static mut Walk,
    host: &'static Host,
    published: Published,
    /// What the account has.
    told: Tally,
}

impl Helper {
    fn work(&mut self) {
        let budget = &self.host.session.group.budget;
        let bytes = budget.available().bytes().get() / 2;
        self.walk.begin(bytes.min(BYTES_MAX));
        events::forget_keys();
        while state() == State::Running {
            let heard = self.take_in();
            let acted = self.act();
            self.tell();
            if !heard && !acted && !sleep() {
                break;
            }
        }
        self.walk.forget_folders();
        self.tell();
    }

    /// Takes in what the program has said. Whether it has.
    fn take_in(&mut self) -> bool {
        let mut heard = self.take_notes();
        while let Some(visit) = events::next_visit() {
            heard = true;
            let mut folder = self.walk.folders.find_key(visit.key);
            if folder.is_none() {
                self.take_notes();
                folder = self.walk.folders.find_key(visit.key);
            }
            match folder {
                None => events::ask_for_note(visit.key),
                Some(IGNORED) => {}
                Some(folder) => self.walk.on_visit(folder, visit.hash, visit.kind),
            }
        }
        heard
    }

    fn take_notes(&mut self) -> bool {
        let mut heard = false;
        while let Some(note) = events::next_note() {
            heard = true;
            if self.walk.folders.is_nearly_full() {
                self.walk.forget_folders();
                events::forget_keys();
            }
            if self.take_note(&note).is_none() {
                self.walk.folders.set_key(note.key, IGNORED);
            }
        }
        heard
    }

    fn take_note(&mut self, note: &Note) -> Option<()> {
        let path = note.path.get(..note.length)?;
        // Where the folder above is known, no call is needed, and the descriptor may be closed by now.
        if let Some(folder) = self.below(note) {
            self.walk.folders.set_key(note.key, folder);
            if note.lists {
                self.walk.on_folder(folder);
            }
            return Some(());
        }
        if let Some(folder) = self.walk.folders.find_key(note.key)
            && folder != IGNORED
        {
            return self.on_folder(folder, None, note.lists);
        }
        let at = descriptor(note)?;
        let found = disk::find(at, path)?;
        // The number may have been opened anew meanwhile.
        if descriptor(note)? != at {
            return None;
        }
        let folders = &mut self.walk.folders;
        let folder = folders.find_or_make(found.device, found.inode)?;
        folders.set_key(note.key, folder);
        let mut buffer = [0; 1024];
        let path = disk::path_of(&found.descriptor, &mut buffer)?;
        folders.set_path(folder, path);
        folders.set_key(events::path_key(0, path), folder);
        if folders.folder(folder).parent == 0
            && let Some((above, name)) = events::split(path)
            && let Some(parent) = folders.find_key(events::path_key(0, above))
            && parent != IGNORED
            && let Some(entry) = folders.find_name(parent, events::name_hash(name))
        {
            folders.link(parent, entry, folder);
        }
        self.on_folder(folder, Some(&found.descriptor), note.lists)
    }

    /// The program came to `folder`, and `lists` it.
    fn on_folder(
        &mut self,
        folder: usize,
        open: Option<&disk::Descriptor>,
        lists: bool,
    ) -> Option<()> {
        if lists {
            if !self.walk.folders.folder(folder).is_listed {
                disk::list(&mut self.walk.folders, folder, open)?;
            }
            self.walk.on_folder(folder);
        }
        Some(())
    }

    /// The folder that a note means, found from the one above; listed.
    fn below(&mut self, note: &Note) -> Option<usize> {
        let folders = &mut self.walk.folders;
        let parent = folders
            .find_key(note.origin.above)
            .filter(|parent| *parent != IGNORED && note.origin.above != 0)?;
        let entry = folders.find_name(parent, note.origin.name)?;
        if !folders.entry(entry).is_folder {
            return None;
        }
        let child = |folders: &super::folders::Folders| {
            let child = usize::try_from(folders.entry(entry).child)
                .ok()?
                .checked_sub(1)?;
            folders.folder(child).is_listed.then_some(child)
        };
        child(folders).or_else(|| {
            disk::list_ahead(folders, &[entry]);
            child(folders)
        })
    }

    /// Requests what comes next. Whether there was anything.
    fn act(&mut self) -> bool {
        let before = own_thread_usage().sectors_read;
        self.walk.plan(&mut disk::list_ahead);
        if self.walk.item_count > 0 {
            self.carry_out();
        }
        if own_thread_usage().sectors_read > before {
            events::stay_told();
        }
        self.walk.item_count > 0
    }

    fn carry_out(&mut self) {
        let walk = &mut *self.walk;
        // Inodes lie in tables: in their order these are read once, and forwards.
        let mut order = [0_u16; super::walk::ITEMS];
        let order = &mut order[..walk.item_count];
        for (at, place) in order.iter_mut().zip(0..) {
            *at = place;
        }
        order.sort_unstable_by_key(|at| walk.items[usize::from(*at)].inode);
        let mut kept = 0;
        for at in &*order {
            let item = &mut walk.items[usize::from(*at)];
            if item.needed == Needed::Metadata {
                disk::look_at_metadata(&walk.folders, item.folder, item.entry);
            } else if let Some(seen) = disk::look_at(&walk.folders, item.folder, item.entry) {
                item.bytes = match item.needed {
                    Needed::Head => seen.bytes.min(HEAD_BYTES),
                    _ => seen.bytes,
                };
                let kib = u32::try_from(seen.length >> 10).unwrap_or(u32::MAX);
                walk.folders.entry_mut(item.entry).kib = kib;
                item.place = seen.place.unwrap_or(item.inode);
                if kept < KEPT_OPEN {
                    kept += 1;
                    item.descriptor = Some(seen.descriptor.keep());
                }
            }
            if state() != State::Running {
                break;
            }
        }
        walk.settle();
        order.sort_unstable_by_key(|at| walk.items[usize::from(*at)].place);
        self.take_in();
        let walk = &mut *self.walk;
        for at in &*order {
            let item = walk.items[usize::from(*at)];
            let is_wanted = item.bytes > 0 && !walk.is_visited(&item) && state() == State::Running;
            if let Some(fd) = item.descriptor {
                if is_wanted {
                    disk::request(disk::borrowed(fd), item.bytes);
                }
                disk::close(fd);
            } else if is_wanted
                && let Some(seen) = disk::look_at(&walk.folders, item.folder, item.entry)
            {
                disk::request(std::os::fd::AsFd::as_fd(&seen.descriptor), item.bytes);
            }
        }
    }

    /// Says what happened: to the budget, and to the account.
    fn tell(&mut self) {
        let outstanding = ByteLength::new(self.walk.policy.bytes_outstanding());
        let budget = &self.host.session.group.budget;
        budget.publish(&mut self.published, PageCount::holding(outstanding), 0);
        let (now, before) = (self.walk.tally, self.told);
        if let Some(account) = self.host.account() {
            for (place, now, before) in [
                (word::FOLDERS, now.folders, before.folders),
                (word::FILES, now.requested, before.requested),
                (word::BYTES, now.bytes, before.bytes),
                (word::USED, now.used, before.used),
                (word::WASTED, now.wasted, before.wasted),
            ] {
                account
                    .header(header::TREES + place)
                    .fetch_add(now.wrapping_sub(before), Relaxed);
            }
            if let Some(order) = self.walk.policy.order() {
                let bit = 1 << order.index();
                account
                    .header(header::TREES + word::ORDERS)
                    .fetch_or(bit, Relaxed);
            }
        }
        self.told = now;
    }
}

/// The descriptor that a note means, if it still does: the inner `None` is the working folder, or the root.
fn descriptor(note: &Note) -> Option<Option<c_int>> {
    if note.path[..note.length.min(1)] == *b"/" {
        return Some(None);
    }
    if note.folder == libc::AT_FDCWD {
        return (events::working_folder() == note.generation).then_some(None);
    }
    let openings = line(note.folder).map_or(0, |line| line.openings());
    (openings == note.generation).then_some(Some(note.folder))
}

/// Waits until there is something to look at. False: there was nothing for long.
fn sleep() -> bool {
    let bell = BELL.load(Ordering::SeqCst);
    IS_ASLEEP.store(true, Ordering::SeqCst);
    std::sync::atomic::fence(Ordering::SeqCst);
    let mut goes_on = true;
    if events::is_empty() && state() == State::Running {
        let limit = rustix::time::Timespec {
            tv_sec: 0,
            tv_nsec: IDLE_NS,
        };
        let waited = futex::wait(&BELL, futex::Flags::PRIVATE, bell, Some(&limit));
        goes_on = waited != Err(rustix::io::Errno::TIMEDOUT);
    }
    IS_ASLEEP.store(false, Ordering::SeqCst);
    goes_on
}
