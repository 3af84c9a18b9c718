//! The event machine: requests are submitted, time is told, completions come out.
//!
//! The caller may be late. Whatever happened up to the moment it tells is worked off in order, at
//! the modelled moments and not at the moment of asking, so a late caller sees exactly what a
//! punctual one would have seen. Moments never go back: an earlier one counts as the latest known.

use ahead_policy::units::{ByteLength, ByteOffset, Timestamp};

use crate::arm::Arm;
use crate::flash::Flash;
use crate::model::DiskModel;
use crate::time_scale::TimeScale;
use crate::volume::Volume;

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

/// A modelled disk in motion.
#[derive(Clone, Debug)]
pub struct Disk {
    mechanism: Mechanism,
    /// Latest moment told, in nanoseconds.
    now_ns: u64,
    /// Finished, and not yet handed out.
    finished: Vec<Completion>,
}

#[derive(Clone, Debug)]
enum Mechanism {
    Arm(Arm),
    Flash(Flash),
    Volume(Volume),
}

impl Disk {
    /// An idle disk of `capacity`, at moment 0.
    #[must_use]
    pub fn new(model: &DiskModel, capacity: ByteLength, scale: TimeScale) -> Self {
        let mechanism = match model {
            DiskModel::Arm(arm) => Mechanism::Arm(Arm::new(arm.clone(), capacity.get(), scale)),
            DiskModel::Flash(flash) => Mechanism::Flash(Flash::new(flash, scale)),
            DiskModel::Volume(volume) => Mechanism::Volume(Volume::new(volume, scale)),
        };
        Self {
            mechanism,
            now_ns: 0,
            finished: Vec::new(),
        }
    }

    /// Takes in a request that arrived at `now`.
    pub fn submit(&mut self, now: Timestamp, request: Request) {
        self.run_to(now);
        let now_ns = self.now_ns;
        match &mut self.mechanism {
            Mechanism::Arm(arm) => arm.submit(now_ns, request),
            Mechanism::Flash(flash) => flash.submit(now_ns, request),
            Mechanism::Volume(volume) => volume.submit(now_ns, request),
        }
    }

    /// When the next completion is due; in the past when it waits to be taken with
    /// [`advance`](Self::advance). `None` when the disk is idle: only a request can change that.
    #[must_use]
    pub fn next_event(&self) -> Option<Timestamp> {
        match self.finished.first() {
            Some(first) => Some(first.completed_at),
            None => self.mechanism.next_event_ns().map(Timestamp::new),
        }
    }

    /// Appends to `completions` everything done by `now`, in order of completion.
    pub fn advance(&mut self, now: Timestamp, completions: &mut Vec<Completion>) {
        self.run_to(now);
        completions.append(&mut self.finished);
    }

    /// Nanoseconds up to `now` in which the disk was not idle; at most the time that has passed.
    /// `now` must not be earlier than the latest moment told.
    #[must_use]
    pub fn busy_ns(&self, now: Timestamp) -> u64 {
        let now_ns = now.get().max(self.now_ns);
        match &self.mechanism {
            Mechanism::Arm(arm) => arm.busy_ns(now_ns),
            Mechanism::Flash(flash) => flash.busy_ns(now_ns),
            Mechanism::Volume(volume) => volume.busy_ns(now_ns),
        }
    }

    /// How often the arm had to seek since the start; 0 for a disk without one.
    #[must_use]
    pub fn seeks(&self) -> u64 {
        match &self.mechanism {
            Mechanism::Arm(arm) => arm.seeks(),
            Mechanism::Flash(_) | Mechanism::Volume(_) => 0,
        }
    }

    fn run_to(&mut self, now: Timestamp) {
        self.now_ns = self.now_ns.max(now.get());
        while self
            .mechanism
            .next_event_ns()
            .is_some_and(|due_ns| due_ns <= self.now_ns)
        {
            self.finished.extend(self.mechanism.finish_one());
        }
    }
}

impl Mechanism {
    fn next_event_ns(&self) -> Option<u64> {
        match self {
            Self::Arm(arm) => arm.next_event_ns(),
            Self::Flash(flash) => flash.next_event_ns(),
            Self::Volume(volume) => volume.next_event_ns(),
        }
    }

    fn finish_one(&mut self) -> Option<Completion> {
        match self {
            Self::Arm(arm) => arm.finish_one(),
            Self::Flash(flash) => flash.finish_one(),
            Self::Volume(volume) => volume.finish_one(),
        }
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
