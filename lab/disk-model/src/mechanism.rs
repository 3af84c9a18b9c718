//! What every mechanism takes and gives: requests, completions, moments of events, busy time.

use ahead_units::{ByteLength, ByteOffset, Timestamp};

/// One read, as the disk sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Comes back in the [`Completion`]; the caller's choice.
    pub id: u64,
    /// First byte.
    pub offset: ByteOffset,
    /// How many bytes.
    pub length: ByteLength,
}

/// A request that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The id of its request.
    pub id: u64,
    /// When the request came in.
    pub arrived_at: Timestamp,
    /// When the model has finished it.
    pub completed_at: Timestamp,
}

/// What every mechanism can do. Moments are nanoseconds and never go back.
pub(crate) trait Mechanism {
    /// Takes in a request.
    fn submit(&mut self, now_ns: u64, request: Request);

    /// When something happens next by itself; `None`: only a request can change anything.
    fn next_event_ns(&self) -> Option<u64>;

    /// Lets that happen. `None`: it was something inside, and no request is done.
    fn finish_one(&mut self) -> Option<Completion>;

    /// Nanoseconds up to `now_ns` in which it was not idle.
    fn busy_ns(&self, now_ns: u64) -> u64;

    /// How often an arm had to move.
    fn seeks(&self) -> u64 {
        0
    }
}

/// Time covered by spans of service that may overlap and whose ends never go back.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Busy {
    total_ns: u64,
    covered_until_ns: u64,
}

impl Busy {
    /// Adds the span from `start_ns` to `end_ns`. It must not leave an idle hole in the future, or
    /// [`until`](Self::until) would take the hole for work.
    pub(crate) fn cover(&mut self, start_ns: u64, end_ns: u64) {
        let new_from_ns = start_ns.max(self.covered_until_ns);
        self.total_ns = self
            .total_ns
            .saturating_add(end_ns.saturating_sub(new_from_ns));
        self.covered_until_ns = self.covered_until_ns.max(end_ns);
    }

    /// What of it lies before `now_ns`.
    pub(crate) fn until(self, now_ns: u64) -> u64 {
        self.total_ns
            .saturating_sub(self.covered_until_ns.saturating_sub(now_ns))
    }
}
