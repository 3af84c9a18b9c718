//! What the world remembers of descriptors and of tasks between two moments.

use std::collections::VecDeque;

use ahead_replicas::kernel::Read;

use super::observer::WaitFor;
use crate::queue::PageRun;
use ahead_replicas::page_cache::FileId;
use ahead_workload::Step;

use ahead_engine::session::Token;

/// An open file: the state of its algorithm, and who uses it.
#[derive(Debug)]
pub(super) struct Descriptor<A> {
    pub(super) file: FileId,
    pub(super) algorithm: A,
    /// The byte behind the last read.
    pub(super) position: u64,
    /// The program asked for pages itself, so the library leaves it alone.
    pub(super) program_advises: bool,
    /// Slots and areas that stand for it.
    pub(super) users: u32,
}

/// How far a page of a read or of a fault has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The algorithm has not seen it yet.
    Look,
    /// The algorithm has seen it; if it is absent still, it is read alone.
    Fetch,
    /// Wait until it is up to date.
    Settle,
    /// Deliver it.
    Deliver,
}

/// A `read()` under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadWalk {
    pub(super) descriptor: u32,
    pub(super) read: Read,
    pub(super) page: u64,
    /// First page behind the request, cut at the end of the file.
    pub(super) end_page: u64,
    /// First byte behind what will be copied.
    pub(super) end: u64,
    pub(super) phase: Phase,
    pub(super) began_ns: u64,
    pub(super) token: Option<Token<u32>>,
}

/// Touches of mapped pages under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct TouchWalk {
    pub(super) area: u32,
    pub(super) page: u64,
    pub(super) end_page: u64,
    pub(super) phase: Phase,
    /// The current page's fault began then.
    pub(super) began_ns: u64,
    /// Pages that it has mapped, its own included.
    pub(super) neighbours: u64,
    /// It looks around once more when its page is there.
    pub(super) begins_again: bool,
}

/// What a task is in the middle of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Activity {
    /// Nothing: the next step comes.
    Between,
    /// A read.
    Read(ReadWalk),
    /// Touches.
    Touch(TouchWalk),
    /// User work of so many nanoseconds.
    Compute(u64),
}

/// Why a task does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// It does.
    Go,
    /// It waits for a page in flight.
    Page(FileId, u64),
    /// It waits for a place in the queue.
    Queue,
    /// It sleeps.
    Until(u64),
    /// It waits for another task to end.
    Task(u32),
    /// It has ended.
    End,
}

/// One task.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) process: u32,
    pub(super) group: u32,
    /// Descriptors: the process's first, then its own.
    pub(super) slots: Vec<Option<u32>>,
    pub(super) areas: Vec<Option<u32>>,
    pub(super) activity: Activity,
    /// Steps of the unit that it has taken from its thread group.
    pub(super) unit: VecDeque<Step>,
    /// The rest of a long step.
    pub(super) rest: Option<Step>,
    /// Runs of pages that have to be submitted before it goes on.
    pub(super) unsubmitted: VecDeque<PageRun>,
    /// What it waits for since when.
    pub(super) waiting: Option<(WaitFor, u64)>,
    /// It waited, and has not been given a processor yet.
    pub(super) was_woken: bool,
    /// It cannot go on after its newest piece of work, but other events are due before that.
    pub(super) stopping: Option<Flow>,
    pub(super) is_done: bool,
    /// Tasks that wait for its end.
    pub(super) joiners: Vec<u32>,
}

/// A number as an index.
#[inline]
pub(super) fn at(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
