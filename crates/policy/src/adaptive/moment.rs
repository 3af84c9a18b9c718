//! What holds at the moment of an access, all of it from outside.

use crate::device::DeviceEstimate;
use crate::knobs::Knobs;
use ahead_units::{PageCount, PageRange};

/// What holds at the moment of an access, all of it from outside.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The knobs.
    pub knobs: Knobs,
    /// The device under the file.
    pub device: DeviceEstimate,
    /// Pages of the file; nothing beyond is asked for.
    pub file_pages: PageCount,
    /// A file of at most so many pages that begins to be read is expected to be read whole; 0:
    /// nothing is expected.
    pub expected: PageCount,
    /// Thrashing threshold as far as known: pages that this stream can leave unread before
    /// reclaim takes them back.
    pub threshold: PageCount,
    /// Pages of the memory budget that no window uses.
    pub available: PageCount,
    /// Most that the kernel asks for at once by itself for a reader of the file from front to back in reads like this one; 0: it asks
    /// for nothing, or that is not known.
    pub kernel_window: PageCount,
    /// It was measured that the kernel reads scans ahead better by itself here, or that is being measured. It holds for windows of
    /// 128 KiB and more.
    pub scans_are_left: bool,
    /// Streams that have a window, this one included; at least 1.
    pub streams: u32,
    /// Others made the device move since this stream asked last.
    pub contested: bool,
    /// Reads that no window covers wait for the device, and would wait behind what is prefetched.
    pub lone_reads: bool,
    /// Page faults that no stream explains wait behind what is prefetched for many times as long as an access takes: each
    /// stream asks for little, and not before its reader has come to the end of that.
    pub starved: bool,
    /// Reads of this file that wait for the device at the same time, in the mean of the last while. More than
    /// one: the program asks ahead by itself.
    pub waiting: u32,
    /// The range of a list that is read now.
    pub listed: ListedRange,
    /// The program said that it reads the file from front to back: SEQUENTIAL.
    pub is_sequential: bool,
    /// Reading ahead did not pay here, or it is being measured whether it does: a run asks for no more
    /// than a sixteenth of what it has read in front of it, and nothing else asks.
    pub is_left_alone: bool,
    /// Strides of this file ask for nothing, as their elements come no sooner for it, or it is being found out whether they do.
    pub strides_are_left_alone: bool,
}

/// A range of a [list](crate::range_list) that is followed: it ends where it did the last time. Empty: none is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListedRange {
    /// Its pages.
    pub range: PageRange,
    /// All of it was asked for before it began.
    pub is_covered: bool,
}

impl ListedRange {
    /// How far it goes on for a reader at page `next`, who has asked for all up to page `frontier`. `None`: it is not
    /// this range that is read.
    pub(super) fn rest(&self, next: u64, frontier: u64) -> Option<u64> {
        let Self { range, is_covered } = *self;
        let end = range.end.get();
        let is_inside = range.start.get() < next && next <= end;
        let rest = end.saturating_sub(next.max(frontier));
        is_inside.then_some(if is_covered { 0 } else { rest })
    }
}

impl Moment {
    /// Whether one reader has the only arm of the device to itself: it is where he is already, and goes his way.
    pub(crate) fn has_only_arm(&self) -> bool {
        self.device.has_one_arm() && !self.contested
    }

    /// Requests that would keep the device at work beside the reads of this file that wait anyway, of which one is
    /// the reader's own.
    pub(crate) fn unserved(&self) -> u64 {
        let beside = u64::from(self.waiting.saturating_sub(1));
        self.device.served_at_once().saturating_sub(beside)
    }
}
