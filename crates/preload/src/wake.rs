//! When this process comes to life: not when the library is loaded, but when a read waits.
//!
//! Most processes find all they read in memory and are over soon. They should not pay for what
//! they do not use, so until then nothing is made: no table, no mapping, no system call. The clock
//! is read around each read instead, and the first that took too long makes the host.
//! An account or a recording is about all reads, so there the first read does.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use ahead_engine::report::Aside;

use crate::{aside, environment, hooks, host, sandbox, ticks};

/// Nothing was made yet.
const ASLEEP: u8 = 0;
/// The host was made, or is being made, or never will be.
const DECIDED: u8 = 1;

static STATE: AtomicU8 = AtomicU8::new(ASLEEP);

/// Whether an account or a recording is kept: set by the constructor.
static SEES_ALL: AtomicBool = AtomicBool::new(false);

/// A read that takes longer than this and [`COPY_PAGE_NS`] for each of its pages has waited:
/// copying 4 KiB from the cache takes 350 ns, the fastest device 20 µs. Lower, and a process wakes
/// because it lost its processor for a moment; higher, and it misses fast devices.
const WAIT_NS: u64 = 20_000;
const COPY_PAGE_NS: u64 = 1_000;

/// Ticks of the clock in a nanosecond, as long as the rate is not known.
const TICKS_PER_NS: u64 = if cfg!(target_arch = "x86_64") { 3 } else { 1 };

/// Whether nothing was made yet.
#[inline]
pub(crate) fn is_asleep() -> bool {
    STATE.load(Ordering::Relaxed) == ASLEEP
}

/// The first read is reason enough: called by the constructor.
pub(crate) fn see_all() {
    SEES_ALL.store(true, Ordering::Relaxed);
}

/// Nothing will ever be made in this process.
pub(crate) fn never() {
    STATE.store(DECIDED, Ordering::Relaxed);
}

/// A read is about to begin in a process that sleeps. True if it has to be seen: then the host was
/// made. Once it may not be made, it is not tried again.
#[inline]
pub(crate) fn before_read() -> bool {
    SEES_ALL.load(Ordering::Relaxed) && make()
}

/// Whether a read of `bytes` that took `elapsed` ticks has waited for something.
#[inline]
pub(crate) fn has_waited(elapsed: u64, bytes: usize) -> bool {
    let pages = bytes as u64 / 4096 + 1;
    elapsed > (WAIT_NS + COPY_PAGE_NS * pages) * TICKS_PER_NS
}

/// A read of `bytes` through `fd` has waited in a process that sleeps. True if that was for a
/// device, and the host was made.
#[cold]
pub(crate) fn after_wait(fd: i32) -> bool {
    // Most waits are for pipes, terminals and sockets.
    is_regular(fd) && make()
}

/// By the call that the loader has used, so that no filter ends the process for it.
fn is_regular(fd: i32) -> bool {
    let mut facts = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the buffer is ours and as large as the call expects.
    let failed = unsafe { libc::fstat(fd, facts.as_mut_ptr()) } != 0;
    // SAFETY: filled by the call, where that succeeded.
    !failed && unsafe { facts.assume_init() }.st_mode & libc::S_IFMT == libc::S_IFREG
}

#[cold]
fn make() -> bool {
    // One thread makes it. Others go on as before: their next read finds it.
    if STATE.swap(DECIDED, Ordering::Relaxed) != ASLEEP {
        return false;
    }
    hooks::prepare(environment::value(c"AHEAD_STRICT").is_some());
    hooks::guarded(|| {
        if !sandbox::is_known() {
            aside::count(Aside::SandboxInherited);
            return false;
        }
        hooks::own_memory();
        host::make();
        if host::get().is_none() {
            aside::count(Aside::NoAddressSpace);
        }
        host::get().is_some()
    })
    .unwrap_or(false)
}

/// Ticks since `begun`.
#[inline]
pub(crate) fn since(begun: u64) -> u64 {
    ticks::now().saturating_sub(begun)
}
