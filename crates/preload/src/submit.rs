//! How a request for pages reaches the kernel: `readahead(2)`, by the reader or by a helper.
//!
//! The reader itself is the default: the call only allocates pages and queues requests, work that
//! the kernel's own read-ahead would do in the same place, and the process stays as it was, with
//! no thread that it did not start. The call can block when the device's queue is full; for
//! programs that mind, `submit=thread` lets one helper thread per process do it.
//! Measured choice: docs/decisions/submit.md.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use ahead_engine::adviser::{Adviser, Asked};
use ahead_units::{ByteOffset, PageCount, PageRange};

use crate::ticks::{self, TickRate};

/// Longest time that a call takes when all its pages are in memory already: 1 µs for the call and
/// 60 ns per page. Measured: 1 MiB in memory 4 µs, from a device 74 µs and more; 64 KiB 0.4 µs and
/// 4 µs. Four times what was measured, as other programs use the processor too.
const CACHED_CALL_NS: u64 = 1000;
const CACHED_PAGE_NS: u64 = 60;

/// Asks through a descriptor of the program, in the calling thread.
pub(crate) struct Direct<'a> {
    pub(crate) fd: c_int,
    pub(crate) rate: &'a TickRate,
    pub(crate) calls: u64,
}

impl Adviser for Direct<'_> {
    fn prefetch(&mut self, range: PageRange) -> Asked {
        self.calls += 1;
        let before = ticks::now();
        if !readahead(self.fd, range) {
            return Asked::Refused;
        }
        let ns = self.rate.ns(ticks::now().saturating_sub(before));
        if ns <= CACHED_CALL_NS + CACHED_PAGE_NS * range.len().get() {
            Asked::WasCached
        } else {
            Asked::OnItsWay
        }
    }
}

/// One call for `range`; false when it is not possible here.
pub(crate) fn readahead(fd: c_int, range: PageRange) -> bool {
    let offset = PageCount::new(range.start.get()).bytes().get();
    let length = range.len().bytes().get();
    let offset = ByteOffset::new(offset).get();
    // SAFETY: a hint about a descriptor; touches no memory of the process. The raw call keeps our
    // own hook out of it.
    unsafe { libc::syscall(libc::SYS_readahead, fd, offset, length) == 0 }
}

/// Requests that can wait for the helper. Beyond, they are dropped and counted.
const QUEUE: usize = 1024;

/// Stack of the helper: it calls `readahead` and nothing else.
const HELPER_STACK_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Default)]
struct Request {
    fd: c_int,
    start: u64,
    end: u64,
}

struct Cell {
    turn: AtomicUsize,
    request: UnsafeCell<Request>,
}

/// A bounded queue with many writers and one reader, and the helper that reads it.
pub(crate) struct Helper {
    cells: [Cell; QUEUE],
    tail: AtomicUsize,
    head: AtomicUsize,
    started: AtomicBool,
    /// 1 while the helper sleeps: a writer has to wake it.
    sleeping: AtomicU32,
    stopped: AtomicBool,
}

// SAFETY: a cell's request is written by the one writer that took its turn and read by the one
// reader after the turn says so.
unsafe impl Sync for Helper {}

impl Helper {
    /// A queue without a helper yet.
    pub(crate) fn new() -> Self {
        Self {
            cells: std::array::from_fn(|turn| Cell {
                turn: AtomicUsize::new(turn),
                request: UnsafeCell::new(Request::default()),
            }),
            tail: AtomicUsize::new(0),
            head: AtomicUsize::new(0),
            started: AtomicBool::new(false),
            sleeping: AtomicU32::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    /// Whether requests will be served: starts the helper on first use.
    pub(crate) fn is_ready(&'static self) -> bool {
        if self.stopped.load(Ordering::Relaxed) {
            return false;
        }
        if !self.started.swap(true, Ordering::AcqRel) && !start_thread(self) {
            self.stopped.store(true, Ordering::Relaxed);
            return false;
        }
        true
    }

    fn push(&self, request: Request) -> bool {
        let mut tail = self.tail.load(Ordering::Relaxed);
        loop {
            let cell = &self.cells[tail % QUEUE];
            let turn = cell.turn.load(Ordering::Acquire);
            if turn == tail {
                match self.tail.compare_exchange_weak(
                    tail,
                    tail.wrapping_add(1),
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => {
                        // SAFETY: this writer took the turn; the reader waits for the next value.
                        unsafe { *cell.request.get() = request };
                        cell.turn.store(tail.wrapping_add(1), Ordering::Release);
                        return true;
                    }
                    Err(now) => tail = now,
                }
            } else if turn.wrapping_sub(tail).cast_signed() < 0 {
                return false;
            } else {
                tail = self.tail.load(Ordering::Relaxed);
            }
        }
    }

    fn pop(&self) -> Option<Request> {
        let head = self.head.load(Ordering::Relaxed);
        let cell = &self.cells[head % QUEUE];
        if cell.turn.load(Ordering::Acquire) != head.wrapping_add(1) {
            return None;
        }
        // SAFETY: the writer has released this cell, and there is one reader.
        let request = unsafe { *cell.request.get() };
        cell.turn.store(head.wrapping_add(QUEUE), Ordering::Release);
        self.head.store(head.wrapping_add(1), Ordering::Relaxed);
        Some(request)
    }

    /// Wakes the helper if it sleeps.
    pub(crate) fn wake(&self) {
        if self.sleeping.swap(0, Ordering::AcqRel) == 1 {
            futex(&self.sleeping, libc::FUTEX_WAKE, 1);
        }
    }

    fn serve(&self) {
        loop {
            while let Some(request) = self.pop() {
                readahead(request.fd, PageRange::new(request.start, request.end));
            }
            self.sleeping.store(1, Ordering::SeqCst);
            let waiting = self.cells[self.head.load(Ordering::Relaxed) % QUEUE]
                .turn
                .load(Ordering::SeqCst);
            if waiting == self.head.load(Ordering::Relaxed).wrapping_add(1) {
                self.sleeping.store(0, Ordering::SeqCst);
                continue;
            }
            futex(&self.sleeping, libc::FUTEX_WAIT, 1);
        }
    }
}

/// Asks through the helper thread.
pub(crate) struct Queued {
    pub(crate) fd: c_int,
    pub(crate) helper: &'static Helper,
    pub(crate) calls: u64,
    pub(crate) dropped: u64,
}

impl Adviser for Queued {
    fn prefetch(&mut self, range: PageRange) -> Asked {
        let request = Request {
            fd: self.fd,
            start: range.start.get(),
            end: range.end.get(),
        };
        if self.helper.push(request) {
            self.calls += 1;
            Asked::Unknown
        } else {
            self.dropped += 1;
            Asked::Refused
        }
    }
}

fn futex(word: &AtomicU32, operation: c_int, value: u32) {
    // SAFETY: the word outlives the call; the kernel only compares it.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            operation | libc::FUTEX_PRIVATE_FLAG,
            value,
            std::ptr::null::<libc::timespec>(),
        );
    }
}

extern "C" fn helper_main(helper: *mut c_void) -> *mut c_void {
    // SAFETY: the pointer that `start_thread` passed: a helper that lives for ever.
    let helper = unsafe { &*helper.cast_const().cast::<Helper>() };
    helper.serve();
    std::ptr::null_mut()
}

/// Starts the helper with all signals blocked, so that the program's handlers keep running on the
/// program's threads.
fn start_thread(helper: &'static Helper) -> bool {
    // SAFETY: plain calls on local buffers; the thread only gets a pointer to a static.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        if libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before) != 0 {
            return false;
        }
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        libc::pthread_attr_init(&raw mut attributes);
        libc::pthread_attr_setdetachstate(&raw mut attributes, libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_attr_setstacksize(&raw mut attributes, HELPER_STACK_BYTES);
        let mut thread: libc::pthread_t = 0;
        let made = libc::pthread_create(
            &raw mut thread,
            &raw const attributes,
            helper_main,
            std::ptr::from_ref(helper).cast_mut().cast(),
        );
        libc::pthread_attr_destroy(&raw mut attributes);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        made == 0
    }
}
