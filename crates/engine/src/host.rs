//! What a host brings: a table of its files, a way to act, and what it knows of pages.
//!
//! A host has no logic of its own: it says what happened ([`Session`](crate::session::Session)) and
//! carries out what comes back. The process host does so with system calls and a table without
//! locks, the simulator with its own page cache and plain memory. Time is an argument of every
//! fact, so a host with a virtual clock needs nothing else.

use ahead_policy::adaptive::{Stream, StreamId};
use ahead_policy::decision::{Decision, Prefetch};
use ahead_units::{Advice, PageCount, PageRange};

use crate::file::FileState;

/// One thing to do about an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Act {
    /// Bring these pages in, without waiting for them.
    Prefetch(PageRange),
    /// Tell the kernel how the file is going to be read.
    Advise(Advice),
}

/// What is known right after acting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    /// At least one page has to be read from the device.
    OnItsWay,
    /// All pages were in memory already.
    WasCached,
    /// Not known (yet).
    #[default]
    Unknown,
    /// The kernel, or whoever stands between, said no.
    Refused,
    /// The file cannot be reached any more the way it was: closed, or replaced.
    NotHere,
}

/// Carries out decisions.
pub trait Adviser {
    /// A decision is about to be carried out. The pages of the file as of now; `None` when the
    /// file cannot be reached, which ends the decision as [`Answer::NotHere`].
    fn prepare(&mut self, decision: &Decision) -> Option<PageCount>;

    /// Acts. A hint: what came of it may be wrong, and must not be waited for.
    fn act(&mut self, act: Act) -> Answer;

    /// The decision was carried out, with this answer. For records and reports.
    fn finish(&mut self, _decision: &Decision, _answer: Answer) {}
}

/// Knows what became of pages.
pub trait Residency {
    /// Pages of `range` that were in memory and have been evicted; `None` when nobody can say.
    fn evicted(&self, range: PageRange) -> Option<PageCount>;
}

/// Something that could not be said to a file because another thread was busy with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferred {
    /// The program read these pages.
    Access(PageRange),
    /// What came of the newest request of a stream.
    Answer(StreamId, Answer),
}

/// Why a file could not be entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnterError {
    /// Another thread is inside. What is to be said can be [deferred](FileTable::defer).
    Busy,
    /// The file is not in the table any more.
    Gone,
}

/// The files of a host.
pub trait FileTable {
    /// A file as the host names it.
    type File: Copy;
    /// The right to change the state of one file, until dropped.
    type Entered<'a>: EnteredFile
    where
        Self: 'a;

    /// A number that tells this file from the others.
    fn number(&self, file: Self::File) -> u64;

    /// Enters a file. Never waits.
    ///
    /// # Errors
    /// [`EnterError`].
    fn enter(&self, file: Self::File) -> Result<Self::Entered<'_>, EnterError>;

    /// Leaves something for the thread inside; whoever enters next takes it in. What finds no room
    /// is lost: a hint less.
    fn defer(&self, file: Self::File, deferred: Deferred);

    /// Enters every file of the table that is free, one after another.
    fn visit(&self, visit: impl FnMut(&mut Self::Entered<'_>));

    /// The account of this file may be taken, if at least `accesses_min` reads are new in it. For
    /// hosts that report.
    fn account(&self, _entered: &mut Self::Entered<'_>, _accesses_min: u64) {}
}

/// A file that was entered.
pub trait EnteredFile {
    /// Its state, and its large table of streams if it has one.
    fn state(&mut self) -> (&mut FileState, Option<&mut [Stream]>);

    /// Whether another thread left something here.
    fn has_deferred(&self) -> bool;

    /// The next of what other threads left here.
    fn next_deferred(&mut self) -> Option<Deferred>;

    /// Gives the file a large table of streams if it has none and there is one left.
    fn grow(&mut self);
}

/// Applies `prefetch`, cut into calls of at most `call_pages_max` pages, in reading order within
/// a range. Stops at the first call that could not be made.
pub(crate) fn apply(
    prefetch: &Prefetch,
    call_pages_max: u64,
    adviser: &mut impl Adviser,
) -> Answer {
    let mut summary = Answer::Unknown;
    for range in prefetch.ranges() {
        let mut start = range.start.get();
        while start < range.end.get() {
            let end = start
                .saturating_add(call_pages_max.max(1))
                .min(range.end.get());
            match adviser.act(Act::Prefetch(PageRange::new(start, end))) {
                answer @ (Answer::Refused | Answer::NotHere) => return answer,
                Answer::OnItsWay => summary = Answer::OnItsWay,
                Answer::WasCached if summary == Answer::Unknown => summary = Answer::WasCached,
                Answer::WasCached | Answer::Unknown => {}
            }
            start = end;
        }
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Log(Vec<(u64, u64)>, Answer);

    impl Adviser for Log {
        fn prepare(&mut self, _decision: &Decision) -> Option<PageCount> {
            Some(PageCount::new(1 << 20))
        }

        fn act(&mut self, act: Act) -> Answer {
            if let Act::Prefetch(range) = act {
                self.0.push((range.start.get(), range.end.get()));
            }
            self.1
        }
    }

    #[test]
    fn a_window_is_cut_where_the_kernel_would_cut_it_silently() {
        let mut log = Log(Vec::new(), Answer::OnItsWay);
        let window = Prefetch::range(PageRange::new(10, 610));
        assert_eq!(apply(&window, 256, &mut log), Answer::OnItsWay);
        assert_eq!(log.0, [(10, 266), (266, 522), (522, 610)]);
    }

    #[test]
    fn a_refusal_ends_the_window() {
        let mut log = Log(Vec::new(), Answer::Refused);
        let strided = Prefetch {
            first: PageRange::new(0, 4),
            period: 16,
            count: 9,
        };
        assert_eq!(apply(&strided, 256, &mut log), Answer::Refused);
        assert_eq!(log.0.len(), 1);
    }
}
