//! Keeping `errno`: the program must find there what the real call left, and nothing of ours.

/// Runs `work` and puts this thread's `errno` back to what it was.
#[inline]
pub(super) fn keeping_errno<R>(work: impl FnOnce() -> R) -> R {
    // SAFETY: the location is this thread's own and lives as long as the thread.
    let location = unsafe { libc::__errno_location() };
    // SAFETY: as above; nobody else writes it while this thread is here.
    let saved = unsafe { location.read() };
    let result = work();
    // SAFETY: as above.
    unsafe { location.write(saved) };
    result
}
