//! The event machine: requests are submitted, time is told, completions come out.
//!
//! The caller may be late. Whatever happened up to the moment it tells is worked off in order, at
//! the modelled moments and not at the moment of asking, so a late caller sees exactly what a
//! punctual one would have seen. Moments never go back: an earlier one counts as the latest known.

use ahead_units::{ByteLength, Timestamp};

use crate::arm::ArmMechanism;
use crate::array::Array;
use crate::drive::Drive;
use crate::fixed::Fixed;
use crate::flash::Flash;
use crate::mechanism::{Completion, Mechanism, Request};
use crate::model::DiskModel;
use crate::ramp::Ramp;
use crate::serial::Serial;
use crate::time_scale::TimeScale;
use crate::volume::Volume;

/// A modelled disk in motion.
#[derive(Clone, Debug)]
pub struct Disk {
    mechanism: AnyMechanism,
    /// Of mechanisms that know real time only; 1 for those that scale their own figures.
    scale: TimeScale,
    /// Latest moment told, in nanoseconds.
    now_ns: u64,
    /// Finished, and not yet handed out.
    finished: Vec<Completion>,
}

#[derive(Clone, Debug)]
enum AnyMechanism {
    Arm(Serial<ArmMechanism>),
    Flash(Flash),
    Volume(Volume),
    Fixed(Serial<Fixed>),
    Drive(Box<Serial<Drive>>),
    Ramp(Ramp),
    Array(Box<Array>),
}

impl Disk {
    /// An idle disk of `capacity`, at moment 0.
    #[must_use]
    pub fn new(model: &DiskModel, capacity: ByteLength, scale: TimeScale) -> Self {
        let capacity = capacity.get();
        let (mechanism, scale) = match model {
            DiskModel::Arm(arm) => {
                let arm = ArmMechanism::with_line(arm.clone(), capacity, scale);
                (AnyMechanism::Arm(arm), TimeScale::REAL)
            }
            DiskModel::Flash(flash) => {
                let flash = Flash::new(flash, scale);
                (AnyMechanism::Flash(flash), TimeScale::REAL)
            }
            DiskModel::Volume(volume) => {
                let volume = Volume::new(volume, scale);
                (AnyMechanism::Volume(volume), TimeScale::REAL)
            }
            DiskModel::Fixed(fixed) => {
                (AnyMechanism::Fixed(Fixed::with_line(fixed.clone())), scale)
            }
            DiskModel::Drive(drive) => {
                let drive = Box::new(Drive::with_line(drive.clone()));
                (AnyMechanism::Drive(drive), scale)
            }
            DiskModel::Ramp(ramp) => (AnyMechanism::Ramp(Ramp::new(ramp.clone())), scale),
            DiskModel::Array(array) => {
                let array = Box::new(Array::new(array.clone(), capacity));
                (AnyMechanism::Array(array), scale)
            }
        };
        Self {
            mechanism,
            scale,
            now_ns: 0,
            finished: Vec::new(),
        }
    }

    /// Takes in a request that arrived at `now`.
    pub fn submit(&mut self, now: Timestamp, request: Request) {
        self.run_to(now);
        let now_ns = self.scale.real_from(self.now_ns);
        self.mechanism.get_mut().submit(now_ns, request);
    }

    /// When the next completion is due; in the past when it waits to be taken with
    /// [`advance`](Self::advance). `None` when the disk is idle: only a request can change that.
    /// Where disks work behind a controller it may be one of theirs, and nothing comes out yet.
    #[must_use]
    pub fn next_event(&self) -> Option<Timestamp> {
        match self.finished.first() {
            Some(first) => Some(first.completed_at),
            None => self.next_event_ns().map(Timestamp::new),
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
        let real_ns = self.mechanism.get().busy_ns(self.scale.real_from(now_ns));
        self.scale.apply(real_ns).min(now_ns)
    }

    /// How often the arm had to seek since the start; 0 for a disk without one, the sum over all
    /// disks of an array.
    #[must_use]
    pub fn seeks(&self) -> u64 {
        self.mechanism.get().seeks()
    }

    fn run_to(&mut self, now: Timestamp) {
        self.now_ns = self.now_ns.max(now.get());
        while self
            .next_event_ns()
            .is_some_and(|due_ns| due_ns <= self.now_ns)
        {
            if let Some(done) = self.mechanism.get_mut().finish_one() {
                self.finished.push(Completion {
                    id: done.id,
                    arrived_at: self.scaled(done.arrived_at),
                    completed_at: self.scaled(done.completed_at),
                });
            }
        }
    }

    fn next_event_ns(&self) -> Option<u64> {
        let real_ns = self.mechanism.get().next_event_ns();
        real_ns.map(|real_ns| self.scale.apply(real_ns))
    }

    fn scaled(&self, real: Timestamp) -> Timestamp {
        Timestamp::new(self.scale.apply(real.get()))
    }
}

impl AnyMechanism {
    fn get(&self) -> &dyn Mechanism {
        match self {
            Self::Arm(arm) => arm,
            Self::Flash(flash) => flash,
            Self::Volume(volume) => volume,
            Self::Fixed(fixed) => fixed,
            Self::Drive(drive) => drive.as_ref(),
            Self::Ramp(ramp) => ramp,
            Self::Array(array) => array.as_ref(),
        }
    }

    fn get_mut(&mut self) -> &mut dyn Mechanism {
        match self {
            Self::Arm(arm) => arm,
            Self::Flash(flash) => flash,
            Self::Volume(volume) => volume,
            Self::Fixed(fixed) => fixed,
            Self::Drive(drive) => drive.as_mut(),
            Self::Ramp(ramp) => ramp,
            Self::Array(array) => array.as_mut(),
        }
    }
}
