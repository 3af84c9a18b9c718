//! What a host brings first: a table of its files. The other half is in [`adviser`](crate::adviser).
//!
//! A host has no logic of its own: it says what happened ([`Session`](crate::session::Session)) and
//! carries out what comes back. The process host does so with system calls and a table without
//! locks, the simulator with its own page cache and plain memory. Time is an argument of every
//! fact, so a host with a virtual clock needs nothing else.

use ahead_policy::adaptive::{Stream, StreamId};
use ahead_policy::device::DeviceEstimate;
use ahead_units::{ByteLength, ByteRange, Timestamp};

use crate::adviser::CallsMade;
use crate::estimates::Estimates;
use crate::file::FileState;
use crate::members::Members;

/// Something that could not be said to a file because another thread was busy with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferred {
    /// The program read these bytes.
    Access(ByteRange),
    /// What came of the newest request of a stream.
    Answer(StreamId, CallsMade),
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

    /// Every read of its files is told, also those that find their pages, until none has waited for long. Who hears of others only cannot know
    /// whether what it brings is read.
    const SEES_ALL_READS: bool = true;

    /// A number that tells this file from the others.
    fn number(&self, file: Self::File) -> u64;

    /// Enters a file. Never waits.
    ///
    /// # Errors
    /// [`EnterError`].
    fn enter(&self, file: Self::File) -> Result<Self::Entered<'_>, EnterError>;

    /// Leaves something for the thread inside; whoever enters next takes it in. What finds the
    /// mailbox full is lost: a hint less.
    fn defer(&self, file: Self::File, deferred: Deferred);

    /// Enters every file of the table that is free, one after another.
    fn visit(&self, visit: impl FnMut(&mut Self::Entered<'_>));

    /// The words in which the processes of a group say what they have; none on a host of one process.
    fn members(&self) -> Members<'_> {
        Members::default()
    }

    /// What the processes of a group, or runs, share of what they learned of devices; nothing on a host
    /// that is on its own.
    fn estimates(&self) -> Estimates<'_> {
        Estimates::default()
    }

    /// What is shared of a device has changed by so much that it is worth keeping for later runs.
    fn keep_estimates(&self) {}

    /// The budget left nothing for a request. A host that has not looked at its memory yet has to, now: what others hold may be more
    /// than all that it has allowed itself until then.
    fn on_budget_used(&self) {}

    /// What is believed of the device with this number now. For hosts that report.
    fn note_device(&self, _number: u64, _estimate: DeviceEstimate) {}

    /// What the device with this number has delivered; `None` where that cannot be seen. It is `now` for who asks, which is over where a
    /// host takes accesses in late.
    fn delivered(&self, _number: u64, _now: Timestamp) -> Option<Delivered> {
        None
    }

    /// The account of this file may be taken, if at least `accesses_min` reads are new in it. For
    /// hosts that report.
    fn account(&self, _entered: &mut Self::Entered<'_>, _accesses_min: u64) {}
}

/// What a device has delivered to everybody since it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// So much.
    pub bytes: ByteLength,
    /// When that was read.
    pub at: Timestamp,
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
