//! A decision that the host carries out, and what came of it.

use ahead_policy::adaptive::StreamId;
use ahead_policy::decision::Decision;
use ahead_policy::reason::Reason;
use ahead_units::{PageCount, PageRange, Timestamp};

use crate::adviser::{Adviser, Answer, Calls, CallsMade, apply};
use crate::file::Around;

/// First piece of a small file that is brought whole, 128 KiB at least: what the kernel lets a reader wait for at most. Less, and
/// files of 20 KiB become two requests each (half as long again on a network volume); all at once, and a reader that computes
/// between its reads waits for what it could have computed beside (generated seed 16014 on hdd: 1.27 of the kernel's time).
const FIRST_PIECE_PAGES: PageCount = PageCount::new(32);

/// The same of what says that it has an arm: 32 KiB. It takes longer to transfer, and files that lie in a row are one request
/// for it, however fast it seems by them (generated seed 60045: files of 65 KiB in reads of 8 took 1.24 of the kernel's time,
/// and take 1.09; on flash as small pieces cost 1.02).
const FIRST_PIECE_PAGES_OF_ARM: PageCount = PageCount::new(8);

/// The first request of a run is not waited for as a whole up to here: 1 MiB. On one arm, which is slow to transfer: the 472 KiB behind
/// the first read of small files came all at once (generated seed 62143 on hdd: 1.07 of the kernel's time, in pieces 1.00). Several
/// arms are kept at work by it (970043 on an array: 1.05, in pieces 1.39), and one that is shared, also with other
/// processes, goes to others between pieces (40043: 1.21, in one 1.04); eight threads that begin at once in one file of 256 MiB, before that is known, take 1.05 times as long.
const BEGIN_PAGES_MAX: PageCount = PageCount::new(256);

/// A decision that waits for the host to carry it out.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    /// What, and why.
    pub decision: Decision,
    pub(crate) stream: Option<StreamId>,
    pub(crate) calls: Calls,
    pub(crate) at: Timestamp,
}

/// What came of a [`Pending`] decision.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    pub(crate) stream: Option<StreamId>,
    /// What the calls came to.
    pub asked: CallsMade,
    pub(crate) file_pages: Option<PageCount>,
    /// How long the calls have held up the reader.
    pub(crate) held_ns: u64,
    /// How much later than the access they were made, where that is known.
    pub(crate) late_ns: Option<u64>,
    /// The first range of what was to be asked for.
    pub(crate) pages: PageRange,
    /// Pages of the read that it was decided with.
    pub(crate) read: PageCount,
    /// When that was decided.
    pub(crate) at: Timestamp,
}

impl Pending {
    /// Carries the decision out, call by call.
    pub fn carry_out(&self, adviser: &mut impl Adviser) -> Carried {
        let held_before_ns = adviser.held_ns();
        let file_pages = adviser.prepare(&self.decision);
        let asked = match file_pages {
            Some(pages) => apply(&self.decision.prefetch, &self.calls, pages, adviser),
            None => CallsMade::nothing(Answer::NotHere),
        };
        adviser.finish(&self.decision, &asked);
        Carried {
            stream: self.stream,
            asked,
            file_pages,
            held_ns: adviser.held_ns().saturating_sub(held_before_ns),
            late_ns: adviser.late_ns(),
            pages: self.decision.prefetch.first.pages(),
            read: self.calls.access.len(),
            at: self.at,
        }
    }
}

/// Pages of the first piece of a request, at least, where a reader is not to wait for all of it: where runs
/// end and begin often, where a small file is brought whole, which ends with the first piece for most, and where a run begins that
/// has an arm to itself.
pub(crate) fn first_piece(
    knows_runs: bool,
    decision: &Decision,
    around: &Around<'_>,
) -> Option<PageCount> {
    let device = around.device;
    let is_short = decision.prefetch.pages() <= BEGIN_PAGES_MAX;
    let has_one_arm = device.estimate().depth <= 1;
    match decision.reason {
        Reason::ExpectedWhole if device.says_arm() => Some(FIRST_PIECE_PAGES_OF_ARM),
        Reason::ExpectedWhole => Some(FIRST_PIECE_PAGES),
        Reason::StreamBegan if is_short && has_one_arm && !around.is_contested() => {
            Some(PageCount::new(0))
        }
        _ if knows_runs => Some(PageCount::new(0)),
        _ => None,
    }
}
