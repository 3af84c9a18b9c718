//! What the world remembers of descriptors and of tasks between two moments.

use std::collections::VecDeque;

use ahead_replicas::kernel::Read;

use super::observer::WaitFor;
use crate::queue::PageRun;
use ahead_replicas::page_cache::FileId;
use ahead_workload::Step;

use ahead_engine::session::Token;
use ahead_units::Advice;

/// An open file: the state of its algorithm, and who uses it.
#[derive(Debug)]
pub(super) struct Descriptor<A> {
    pub(super) file: FileId,
    pub(super) algorithm: A,
    /// The byte behind the last read.
    pub(super) position: u64,
    /// The program asked for pages itself, so the library leaves it alone.
    pub(super) program_advises: bool,
    /// What the program said about how it reads.
    pub(super) advice: Advice,
    /// What the library sees of it.
    pub(super) watch: Watch,
    /// How the library times its reads.
    pub(super) clock: ReadClock,
    /// Slots and areas that stand for it.
    pub(super) users: u32,
}

/// What the library sees of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watch {
    /// It has not been read yet.
    Fresh,
    /// Its reads are only timed.
    Unwatched,
    /// Its reads go to the session.
    Watched,
}

/// Reads that are timed from their beginning after one that may have waited: as in the library.
const READS_TIMED: u32 = 1024;

/// How the library times the reads of a descriptor: the end of one serves as the beginning of the
/// next. So the first of a steady series that waits is not taken for a wait; the ones behind it are
/// timed from their beginnings.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadClock {
    /// When the last read ended, and whose it was.
    last: Option<(u64, u32)>,
    timed_reads: u32,
}

impl ReadClock {
    /// A read of `task` begins that takes the library's fast path: whether it is timed from here.
    pub(super) fn start(&mut self, task: u32) -> bool {
        let is_steady = self.last.is_some_and(|(_, reader)| reader == task);
        if self.timed_reads == 0 && is_steady {
            return false;
        }
        self.timed_reads = self.timed_reads.saturating_sub(1);
        true
    }

    /// A read that began at `began_ns` ends: how long it took, if that is known or short.
    pub(super) fn stop(
        &mut self,
        task: u32,
        is_timed: bool,
        began_ns: u64,
        now_ns: u64,
        limit_ns: u64,
    ) -> Option<u64> {
        let last = self.last.replace((now_ns, task));
        if is_timed {
            return Some(now_ns.saturating_sub(began_ns));
        }
        let since_ns = last.map_or(began_ns, |(ended_ns, _)| ended_ns);
        let elapsed_ns = now_ns.saturating_sub(since_ns);
        if elapsed_ns > limit_ns {
            self.timed_reads = READS_TIMED;
            return None;
        }
        Some(elapsed_ns)
    }
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
    /// The library times it from its beginning.
    pub(super) is_timed: bool,
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

/// A `write()` under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteWalk {
    pub(super) file: FileId,
    pub(super) page: u64,
    /// First page behind it.
    pub(super) end_page: u64,
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
    /// A write.
    Write(WriteWalk),
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
    /// It waits until less is dirty.
    WriteBack,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wait_of_a_steady_series_is_not_seen_and_the_next_one_is() {
        let mut clock = ReadClock::default();
        let mut read = |began_ns, ended_ns| {
            let is_timed = clock.start(0);
            clock.stop(0, is_timed, began_ns, ended_ns, 100)
        };
        assert_eq!(read(0, 5_000), Some(5_000));
        assert_eq!(read(5_000, 5_010), Some(10));
        assert_eq!(read(5_010, 9_000), None);
        assert_eq!(read(9_000, 14_000), Some(5_000));
        assert!(
            clock.start(1),
            "another task's reads say nothing about this one's"
        );
    }
}
