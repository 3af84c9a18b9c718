//! What comes of one access.

use crate::adaptive::id::StreamId;
use crate::decision::Decision;
use crate::reason::Reason;

/// What the host learns about one access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What to do.
    pub decision: Decision,
    /// The stream it belongs to, for the feedback calls; `None` when no stream explains it.
    pub stream: Option<StreamId>,
    /// The access lies inside what was asked for earlier.
    pub covered: bool,
    /// A scan whose end is not known came to where it asks: its next pages can be left to the kernel.
    pub is_scan: bool,
}

impl Outcome {
    /// What comes of an access of that stream.
    pub(super) const fn of(decision: Decision, stream: StreamId, covered: bool) -> Self {
        Self {
            decision,
            stream: Some(stream),
            covered,
            is_scan: false,
        }
    }

    /// Whom the answer to this request is for: what was foreseen belongs to no stream yet, and what is listed or filled in to none.
    #[must_use]
    pub fn asker(&self) -> Option<StreamId> {
        match self.decision.reason {
            Reason::BeginningForeseen => Some(StreamId::FORESEEN),
            Reason::SameAsLastTime => Some(StreamId::LISTED),
            Reason::FilledIn => Some(StreamId::FILLED_IN),
            Reason::LongRead => Some(StreamId::OWN_READ),
            _ => self.stream,
        }
    }
}

/// What [`FileStreams::on_quick_access`](super::FileStreams::on_quick_access) could do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quick {
    /// One more step of this stream, inside its window.
    Step(StreamId),
    /// One more step of this stream, inside what is left to the kernel.
    Left(StreamId),
    /// Nothing that needs a look.
    Calm,
    /// Nothing was done: [`FileStreams::on_access`](super::FileStreams::on_access) has to look.
    No,
}
