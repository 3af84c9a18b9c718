//! What a world tells about itself while it runs.
//!
//! The code paths count nothing: whoever wants a figure observes. All methods do nothing unless
//! implemented, and are resolved when the world is compiled, so an observer that looks away costs
//! nothing. [`RunTotals`](super::RunTotals) makes the standard report.

use ahead_policy::decision::Decision;
use ahead_replicas::kernel::{Call, Class, Read};

use crate::queue::Done;
use ahead_replicas::page_cache::{Evicted, FileId, PageAccess};

/// When, who, and in which file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorldMoment {
    /// Nanoseconds since the start.
    pub now_ns: u64,
    /// The task, counted over all processes.
    pub task: u32,
    /// Its process.
    pub process: u32,
    /// The file it is about; the first one where no file is.
    pub file: FileId,
}

/// How the page was when a read or a fault reached it, before the algorithm looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// In the cache, up to date.
    Unlocked,
    /// In the cache, its I/O under way.
    Locked,
    /// In the cache, its I/O dropped.
    Stale,
    /// Not in the cache.
    Missing,
}

/// What a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitFor {
    /// A page whose I/O is under way.
    Page,
    /// A place in the request queue.
    Queue,
    /// Less that is dirty.
    WriteBack,
}

/// What a processor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A program's own work.
    User,
    /// The kernel's work for a program.
    System,
    /// An interrupt, while a task was running.
    Interrupt,
    /// An interrupt on a processor that was idle; kernels before exact accounting called it idle.
    InterruptInIdle,
}

/// A window that an algorithm has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Started {
    /// First page.
    pub start: u64,
    /// Pages asked for, cut at the end of the file.
    pub pages: u64,
    /// Of those, absent before and started now.
    pub io_pages: u64,
    /// Pages from the look-ahead mark to the end of the window; 0 without a mark.
    pub async_pages: u64,
    /// Why.
    pub class: Class,
    /// The page that the reader had reached was in the cache.
    pub is_asynchronous: bool,
    /// The window reaches the end of the file.
    pub at_end_of_file: bool,
}

/// Hears what happens.
pub trait WorldObserver {
    /// A `read()` begins.
    fn on_read(&mut self, moment: &WorldMoment, read: &Read) {
        let _ = (moment, read);
    }

    /// A read or a fault has reached `page`.
    fn on_page(&mut self, moment: &WorldMoment, page: u64, found: Found) {
        let _ = (moment, page, found);
    }

    /// `page` is delivered.
    fn on_access(&mut self, moment: &WorldMoment, page: u64, access: &PageAccess) {
        let _ = (moment, page, access);
    }

    /// A `read()` has delivered `bytes`, `elapsed_ns` after it began.
    fn on_read_done(&mut self, moment: &WorldMoment, bytes: u64, elapsed_ns: u64) {
        let _ = (moment, bytes, elapsed_ns);
    }

    /// A `write()` of so many pages begins.
    fn on_write(&mut self, moment: &WorldMoment, pages: u64) {
        let _ = (moment, pages);
    }

    /// A fault is over, `elapsed_ns` after it began; it mapped `neighbours` other pages.
    fn on_fault_done(&mut self, moment: &WorldMoment, neighbours: u64, elapsed_ns: u64) {
        let _ = (moment, neighbours, elapsed_ns);
    }

    /// A touch of a mapped page that needed no fault.
    fn on_mapped_access(&mut self, moment: &WorldMoment, page: u64, access: &PageAccess) {
        let _ = (moment, page, access);
    }

    /// The task has waited for `waited_ns`.
    fn on_wait_done(&mut self, moment: &WorldMoment, what: WaitFor, waited_ns: u64) {
        let _ = (moment, what, waited_ns);
    }

    /// An algorithm has started a window. Windows whose pages were all there have 0 I/O pages.
    fn on_started(&mut self, moment: &WorldMoment, started: &Started) {
        let _ = (moment, started);
    }

    /// The library carries out a decision, in the reading task.
    fn on_decision(&mut self, moment: &WorldMoment, decision: &Decision) {
        let _ = (moment, decision);
    }

    /// A call that the kernel's tracepoints show.
    fn on_call(&mut self, moment: &WorldMoment, call: &Call) {
        let _ = (moment, call);
    }

    /// Pages have arrived.
    fn on_arrived(&mut self, now_ns: u64, done: &Done) {
        let _ = (now_ns, done);
    }

    /// Reclaim took a page.
    fn on_evicted(&mut self, now_ns: u64, evicted: &Evicted) {
        let _ = (now_ns, evicted);
    }

    /// A page was dropped on request.
    fn on_dropped(&mut self, now_ns: u64, dropped: &Evicted) {
        let _ = (now_ns, dropped);
    }

    /// A processor worked for `ns` from `from_ns` on, for `process` if for anybody.
    fn on_work(&mut self, work: Work, process: u32, from_ns: u64, ns: u64) {
        let _ = (work, process, from_ns, ns);
    }

    /// `idle` processors had no task for `ns` from `from_ns` on; `io_wait` if some task waited
    /// for pages or for the queue in that time. Contains [`Work::InterruptInIdle`].
    fn on_idle(&mut self, idle: u32, io_wait: bool, from_ns: u64, ns: u64) {
        let _ = (idle, io_wait, from_ns, ns);
    }

    /// A program begins a phase.
    fn on_label(&mut self, moment: &WorldMoment, label: u32) {
        let _ = (moment, label);
    }

    /// A task has ended.
    fn on_task_done(&mut self, moment: &WorldMoment) {
        let _ = moment;
    }
}

impl WorldObserver for () {}

/// Both hear everything, the first one first.
impl<A: WorldObserver, B: WorldObserver> WorldObserver for (A, B) {
    fn on_read(&mut self, moment: &WorldMoment, read: &Read) {
        self.0.on_read(moment, read);
        self.1.on_read(moment, read);
    }

    fn on_page(&mut self, moment: &WorldMoment, page: u64, found: Found) {
        self.0.on_page(moment, page, found);
        self.1.on_page(moment, page, found);
    }

    fn on_access(&mut self, moment: &WorldMoment, page: u64, access: &PageAccess) {
        self.0.on_access(moment, page, access);
        self.1.on_access(moment, page, access);
    }

    fn on_read_done(&mut self, moment: &WorldMoment, bytes: u64, elapsed_ns: u64) {
        self.0.on_read_done(moment, bytes, elapsed_ns);
        self.1.on_read_done(moment, bytes, elapsed_ns);
    }

    fn on_write(&mut self, moment: &WorldMoment, pages: u64) {
        self.0.on_write(moment, pages);
        self.1.on_write(moment, pages);
    }

    fn on_fault_done(&mut self, moment: &WorldMoment, neighbours: u64, elapsed_ns: u64) {
        self.0.on_fault_done(moment, neighbours, elapsed_ns);
        self.1.on_fault_done(moment, neighbours, elapsed_ns);
    }

    fn on_mapped_access(&mut self, moment: &WorldMoment, page: u64, access: &PageAccess) {
        self.0.on_mapped_access(moment, page, access);
        self.1.on_mapped_access(moment, page, access);
    }

    fn on_wait_done(&mut self, moment: &WorldMoment, what: WaitFor, waited_ns: u64) {
        self.0.on_wait_done(moment, what, waited_ns);
        self.1.on_wait_done(moment, what, waited_ns);
    }

    fn on_started(&mut self, moment: &WorldMoment, started: &Started) {
        self.0.on_started(moment, started);
        self.1.on_started(moment, started);
    }

    fn on_decision(&mut self, moment: &WorldMoment, decision: &Decision) {
        self.0.on_decision(moment, decision);
        self.1.on_decision(moment, decision);
    }

    fn on_call(&mut self, moment: &WorldMoment, call: &Call) {
        self.0.on_call(moment, call);
        self.1.on_call(moment, call);
    }

    fn on_arrived(&mut self, now_ns: u64, done: &Done) {
        self.0.on_arrived(now_ns, done);
        self.1.on_arrived(now_ns, done);
    }

    fn on_evicted(&mut self, now_ns: u64, evicted: &Evicted) {
        self.0.on_evicted(now_ns, evicted);
        self.1.on_evicted(now_ns, evicted);
    }

    fn on_dropped(&mut self, now_ns: u64, dropped: &Evicted) {
        self.0.on_dropped(now_ns, dropped);
        self.1.on_dropped(now_ns, dropped);
    }

    fn on_work(&mut self, work: Work, process: u32, from_ns: u64, ns: u64) {
        self.0.on_work(work, process, from_ns, ns);
        self.1.on_work(work, process, from_ns, ns);
    }

    fn on_idle(&mut self, idle: u32, io_wait: bool, from_ns: u64, ns: u64) {
        self.0.on_idle(idle, io_wait, from_ns, ns);
        self.1.on_idle(idle, io_wait, from_ns, ns);
    }

    fn on_label(&mut self, moment: &WorldMoment, label: u32) {
        self.0.on_label(moment, label);
        self.1.on_label(moment, label);
    }

    fn on_task_done(&mut self, moment: &WorldMoment) {
        self.0.on_task_done(moment);
        self.1.on_task_done(moment);
    }
}
