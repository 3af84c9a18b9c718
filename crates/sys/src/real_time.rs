//! `sched_setscheduler`, `prctl(PR_SET_IO_FLUSHER)`, `mlockall` - what a process needs that serves
//! a disk in real time, or readers without being in their way.
//!
//! Each is its own call, and each can be refused; what is worth going on without is the caller's
//! affair. Threads that are started later inherit the first two.

use std::io;

// From <linux/prctl.h>; the libc crate does not have it.
const PR_SET_IO_FLUSHER: libc::c_int = 57;

/// `sched_setscheduler` with `SCHED_FIFO` - this thread runs before all ordinary ones, and its
/// sleeps end without slack. `priority` is 1 to 99. `EPERM` without `CAP_SYS_NICE`.
pub fn set_fifo(priority: i32) -> io::Result<()> {
    set_scheduler(libc::SCHED_FIFO, priority)
}

/// `sched_setscheduler` with `SCHED_BATCH` - this thread takes no processor from another because it was woken: it begins
/// when that one waits or has had its turn. Its niceness stays.
pub fn set_batch() -> io::Result<()> {
    set_scheduler(libc::SCHED_BATCH, 0)
}

fn set_scheduler(scheduler: libc::c_int, priority: i32) -> io::Result<()> {
    // SAFETY: all-zero is a valid sched_param, and the kernel only reads it.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: `parameters` outlives the call; 0 means the calling thread.
    let result = unsafe { libc::sched_setscheduler(0, scheduler, &raw const parameters) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// `prctl(PR_SET_IO_FLUSHER)` - says that the kernel's writes go through this thread, so that its
/// own allocations do not wait for those writes. `EPERM` without `CAP_SYS_RESOURCE`.
pub fn set_io_flusher() -> io::Result<()> {
    // SAFETY: this request takes one number, and the rest must be 0.
    let result = unsafe { libc::prctl(PR_SET_IO_FLUSHER, 1_u64, 0_u64, 0_u64, 0_u64) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// `mlockall` with `MCL_ONFAULT` - memory of this process, also what it maps later, stays once it
/// has been touched. Untouched memory is not filled.
pub fn lock_memory_on_fault() -> io::Result<()> {
    // SAFETY: changes no memory, only whether the kernel may take it away.
    let result =
        unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
