//! Whether a device is an arm, or far away: found out by asking for some elements of a stride at once.
//!
//! Waits of reads that come one by one cannot tell: an arm and what lies behind a network take as long for each. A device that says of itself that it
//! has no arm, and takes as long as one, may be either, and as an arm it is not asked for much: that goes the way of a stride by itself, and is as
//! soon at each element without being asked. So some elements are asked for at once, now and then. If they are there together nothing moves,
//! and what came in that time is what the device delivers, at least.

use ahead_policy::adaptive::{Outcome, StreamId};
use ahead_policy::device::DeviceEstimate;
use ahead_policy::reason::{Pattern, Reason};
use ahead_units::{PageCount, PageRange, Timestamp};

use super::around::Around;
use crate::device::{ACCESS_NS_MAX, FASTEST_ARM_MB};
use crate::mean::mean_with;
use crate::throughput::rate;

/// Fewest and most elements that are looked at. Fewer, and one that an arm finds on its way decides.
const ELEMENTS: (u32, u32) = (3, 16);

/// What waits one part in so many of what it would one by one, or less, is served together. An arm that finds elements in a better order than
/// that of their reader takes three parts of four.
const TOGETHER_PARTS: u64 = 2;

/// What waits less by one part in so many comes sooner. Less is chance.
const SOONER_PARTS: u64 = 8;

/// A stride by itself: so many reads of the file in a row were its elements. What is read in between moves an arm as well.
const IN_A_ROW: u8 = 8;

/// What was found out.
#[derive(Clone, Copy, Debug)]
enum Found {
    /// Nothing: there were too few, or they were in memory.
    Nothing,
    /// They come one by one, as they would alone.
    OneByOne,
    /// Sooner, but not together: it pays to ask for them, whatever the device is.
    Sooner,
    /// They come together, from a device like this.
    Together(DeviceEstimate),
}

/// What is being found out. All zero: nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Together {
    /// The stride whose elements are looked at; `None`: none are.
    stream: Option<StreamId>,
    /// Elements asked for at once, ahead of the reader.
    elements: u32,
    /// Of those, read.
    read: u32,
    /// Pages of all of them.
    pages: u32,
    /// Pages that calls were made for.
    made: u32,
    /// They were asked for to find out.
    is_trial: bool,
    /// The device was believed to be an arm, which it does not say.
    may_be_far: bool,
    /// No arm brings them together: it goes the way of their reader, or even the fastest passes by none of them on its way to another.
    is_telling: bool,
    /// It was found out for this file.
    is_known: bool,
    /// The newest read of the file waited.
    has_waited: bool,
    /// The newest stream of the file, and how many of the newest reads were its own.
    newest: Option<StreamId>,
    in_a_row: u8,
    /// The stride that asks for nothing, as its elements come one by one.
    left_alone: Option<StreamId>,
    /// What a read waits that nothing has asked for, in the mean; 0: not known.
    alone_ns: u64,
    /// What all reads waited since they were asked for.
    waited_ns: u64,
    /// When they were, and when the newest was there that was waited for.
    from: Timestamp,
    until: Timestamp,
}

impl Together {
    /// Whether strides ask for nothing: it was found out that it does not pay, or is about to be.
    pub(super) fn are_strides_left_alone(&self) -> bool {
        let is_left_alone = self.left_alone.is_some() && self.left_alone == self.newest;
        is_left_alone || self.stream.is_some() && self.is_trial && self.may_be_far
    }

    /// By what a stride is to ask with the next read, to find out; `None`: by what is believed. `newest` is the newest decision.
    pub(super) fn trial(
        &mut self,
        newest: (Pattern, Reason),
        around: &Around<'_>,
    ) -> Option<DeviceEstimate> {
        let waited = core::mem::take(&mut self.has_waited);
        let is_left_alone = newest == (Pattern::Strided, Reason::DoesNotPay);
        let is_by_itself = self.in_a_row >= IN_A_ROW && !around.is_shared;
        if !is_left_alone || !waited || !is_by_itself || self.stream.is_some() {
            return None;
        }
        around.device.on_left_alone(self.alone_ns)
    }

    /// This came of a read of `access`, which was to find out if `is_trial`. Not on the stack while it is decided what to ask for.
    #[inline(never)]
    pub(super) fn on_outcome(
        &mut self,
        access: PageRange,
        outcome: &Outcome,
        is_trial: bool,
        around: &Around<'_>,
    ) {
        let prefetch = &outcome.decision.prefetch;
        let asks = prefetch.count > 0;
        if is_trial && !asks {
            around.device.on_not_tried();
        }
        let is_other = outcome.stream.is_some() && outcome.stream != self.newest;
        if is_other {
            self.in_a_row = 0;
            if self.stream.take().is_some() && self.is_trial && self.may_be_far {
                self.left_alone = self.newest;
            }
            self.newest = outcome.stream;
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        if self.stream.is_some() && self.stream == outcome.stream {
            self.read += u32::from(outcome.covered);
            if !outcome.covered || self.read > self.elements.min(ELEMENTS.1) {
                self.conclude(around);
            }
        }
        let is_first = outcome.decision.reason == Reason::StreamBegan && !self.is_known;
        if asks && self.stream.is_none() && (is_trial || is_first && !around.is_shared) {
            self.begin(access, outcome, is_trial, around);
        }
    }

    /// Elements are asked for at once.
    fn begin(&mut self, access: PageRange, outcome: &Outcome, is_trial: bool, around: &Around<'_>) {
        let prefetch = &outcome.decision.prefetch;
        (self.is_trial, self.may_be_far) = (is_trial, around.device.may_be_far());
        if prefetch.period == 0 {
            // With their holes: nothing can be told.
            self.left_alone = outcome.stream.filter(|_| is_trial && self.may_be_far);
            return;
        }
        if !is_trial && !self.may_be_far {
            return;
        }
        let first = prefetch.first.pages();
        let is_read_now = first.start < access.end && access.start < first.end;
        self.stream = outcome.stream;
        self.elements = prefetch.count - u32::from(is_read_now);
        self.pages = u32::try_from(prefetch.pages().get()).unwrap_or(u32::MAX);
        (self.read, self.made, self.waited_ns) = (0, 0, 0);
        (self.from, self.until) = (around.now, around.now);
        let passed_ns = prefetch.period.unsigned_abs().saturating_mul(1000) / FASTEST_ARM_MB;
        self.is_telling = prefetch.period > 0 || passed_ns >= self.alone_ns;
    }

    /// Calls were made for so many pages of `stream`.
    pub(super) fn on_answer(&mut self, stream: Option<StreamId>, made: PageCount) {
        if self.stream.is_some() && self.stream == stream {
            let made = u32::try_from(made.get()).unwrap_or(u32::MAX);
            self.made = self.made.saturating_add(made);
        }
    }

    /// A read waited `waited_ns`; `covered` if it had been asked for.
    pub(super) fn on_wait(&mut self, waited_ns: u64, covered: bool, around: &Around<'_>) {
        self.has_waited = true;
        if self.stream.is_some() {
            self.waited_ns = self.waited_ns.saturating_add(waited_ns);
            self.until = around.now;
        } else if !covered && !around.is_shared && around.device.was_idle(waited_ns, around.now) {
            let waited_ns = waited_ns.min(ACCESS_NS_MAX);
            self.alone_ns = mean_with(self.alone_ns, waited_ns);
        }
    }

    fn conclude(&mut self, around: &Around<'_>) {
        let found = self.found(around);
        let stream = self.stream.take();
        match found {
            Found::Together(seen) if self.is_telling => around.device.on_together(Some(seen)),
            Found::OneByOne | Found::Sooner => {
                around.device.on_together(None);
                self.is_known = true;
            }
            Found::Together(_) | Found::Nothing => {}
        }
        let pays = matches!(found, Found::Together(_) | Found::Sooner);
        let is_left = self.is_trial && self.may_be_far && !pays;
        self.left_alone = stream.filter(|_| is_left);
    }

    fn found(&self, around: &Around<'_>) -> Found {
        let elements = self.read.min(self.elements).min(ELEMENTS.1);
        let was_in_memory = self.made < self.pages - self.pages / 4;
        let has_waited = self.alone_ns > 0 && self.waited_ns > 0;
        if elements < ELEMENTS.0 || was_in_memory || !has_waited || around.is_shared {
            return Found::Nothing;
        }
        // And the one with which they were asked for, which an arm may come to last.
        let one_by_one_ns = self.alone_ns.saturating_mul(u64::from(elements) + 1);
        if self.waited_ns > one_by_one_ns - one_by_one_ns / SOONER_PARTS {
            return Found::OneByOne;
        }
        // An arm comes to them one by one while their reader computes.
        let time_ns = self.waited_ns.max(around.now.since(self.from));
        if time_ns.saturating_mul(TOGETHER_PARTS) > one_by_one_ns {
            return Found::Sooner;
        }
        let pages = PageCount::new(self.pages.into());
        let time_ns = self.until.since(self.from).max(self.alone_ns).max(1);
        let seen = DeviceEstimate {
            bytes_per_second: rate(pages.get(), time_ns).unwrap_or_default(),
            ..DeviceEstimate::FLASH
        };
        let element = PageCount::new(pages.get() / u64::from(self.elements));
        let access_ns = self.alone_ns.saturating_sub(seen.transfer_ns(element));
        Found::Together(DeviceEstimate {
            access_ns: access_ns.max(self.alone_ns / 2),
            ..seen
        })
    }
}
