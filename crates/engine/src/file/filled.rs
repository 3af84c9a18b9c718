//! What of a file is asked for because its random reads have earned it ([`filling`](crate::filling)).

use ahead_policy::adaptive::Outcome;
use ahead_policy::decision::{Decision, Prefetch};
use ahead_policy::device::DeviceEstimate;
use ahead_policy::knobs::{HIT_RATE_OF_NONE, Knobs, RATIO_OF_KERNEL};
use ahead_policy::reason::{Pattern, Reason};
use ahead_units::{PageCount, PageIndex, PageRange, Timestamp};

use super::around::Around;
use super::limits::Limits;
use super::stream_ends::{ReadBefore, StreamEnds};
use crate::adviser::{Answer, CallsMade};
use crate::filling::fillings::{FillingOf, Place};
use crate::filling::{FilledRead, Filling, Waited, Want};
use crate::group::Group;

/// What a file knows of being filled in. All zero: it is not.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Filled {
    of: FillingOf,
    /// What the newest read is to that.
    filled_read: Option<FilledRead>,
    /// It would be if there is more memory than is known.
    looks_at_memory: bool,
    /// Whether its streams end where they are left.
    streams: StreamEnds,
    /// Pages that were asked for and given up unread.
    given_up: u64,
}

impl Filled {
    /// The file was opened: who reads it now has left no stream.
    pub(super) fn on_open(&mut self) {
        self.streams = StreamEnds::default();
    }

    /// Of the newest read, what it is to the file, if that may be filled in.
    pub(super) fn filled_read(&self) -> Option<FilledRead> {
        self.filled_read
    }

    /// Whether there is to be a look at the memory; once.
    pub(super) fn takes_look_at_memory(&mut self) -> bool {
        core::mem::take(&mut self.looks_at_memory)
    }

    /// Pages that were asked for and given up unread, so far.
    pub(super) fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Whether the newest read is the first one of pages that were asked for to fill the file in.
    pub(super) fn has_found(&self) -> bool {
        self.filled_read
            .is_some_and(|filled_read| filled_read.is_found())
    }

    /// Pages that were asked for and not read.
    pub(super) fn unread(&self, group: &Group) -> PageCount {
        group.fillings.unread_of(self.of)
    }

    /// `access` is read, of which this is what its streams make. If something is asked for with it to fill the file in, `outcome` says so.
    /// Whether it does. Its frame is no part of its caller's, which goes on without it: handlers of signals read on two pages of stack.
    #[inline(never)]
    pub(super) fn on_read(
        &mut self,
        access: PageRange,
        before: ReadBefore,
        outcome: &mut Outcome,
        limits: &Limits,
        around: &Around<'_>,
    ) -> bool {
        let access = access.before(PageIndex::new(limits.file_pages.get()));
        let is_asked_for = outcome.covered
            || outcome.decision.prefetch.count > 0
            || outcome.decision.reason == Reason::KernelAsks;
        self.filled_read = None;
        // What the kernel asks for ends with what it brought in for nothing.
        let in_stream = is_asked_for && outcome.decision.reason != Reason::KernelAsks;
        let has_ended = self.streams.on_read(access, in_stream, before);
        if !around.sees_all || access.is_empty() {
            self.on_late_read(access, around);
            return false;
        }
        if is_asked_for {
            self.filled_read = self.on_read_asked_for(access, around);
            return false;
        }
        self.filled_read = Some(FilledRead::default());
        let fillings = &around.group.fillings;
        let memory = around.group.budget.memory();
        let mut filling =
            match fillings.get_or_begin(&mut self.of, limits.file_pages, memory, around.now) {
                Place::Has(filling) => filling,
                Place::None => return false,
                Place::Look => {
                    self.looks_at_memory = true;
                    return false;
                }
            };
        let device = around.device.estimate();
        // Of threads it may be another one that reads elsewhere.
        let is_elsewhere = outcome.stream.is_none() && limits.waiting.is_alone(around.now);
        let window = (around.device).kernel_window(access.len(), limits.kernel_window);
        let ended = (has_ended && is_elsewhere).then_some(window);
        let section = filling.section();
        let want = want(
            &outcome.decision,
            &limits.knobs,
            &device,
            section,
            ended,
            around,
        );
        let (filled_read, piece) = filling.on_read(access, &device, want, around.now);
        self.note(&filling, around);
        drop(filling);
        self.filled_read = Some(filled_read);
        outcome.covered |= outcome.stream.is_none() && filled_read.is_found();
        let Some(piece) = piece else {
            return false;
        };
        around.device.on_other_ask(piece.new_pages, around.now);
        outcome.decision = Decision {
            prefetch: Prefetch::range(piece.pages),
            pattern: Pattern::Random,
            reason: Reason::FilledIn,
        };
        true
    }

    /// `access` was read, and what it waited is not told of.
    fn on_late_read(&self, access: PageRange, around: &Around<'_>) {
        if let Some(mut filling) = around.group.fillings.get(self.of) {
            filling.on_late_read(access);
            self.note(&filling, around);
        }
    }

    /// A stream or the kernel asks for `access`.
    fn on_read_asked_for(&self, access: PageRange, around: &Around<'_>) -> Option<FilledRead> {
        let mut filling = around.group.fillings.get(self.of)?;
        let read = filling.on_read_asked_for(access, &around.device.estimate());
        self.note(&filling, around);
        Some(read)
    }

    /// The group hears how much is not read.
    fn note(&self, filling: &Filling, around: &Around<'_>) {
        let group = around.group;
        group.fillings.note(self.of, filling);
        group.budget.set_filled(group.fillings.unread(around.now));
    }

    /// Of the request for `pages` to fill the file in this is what came; its calls have held up the reader for so long.
    pub(super) fn on_answer(
        &self,
        pages: PageRange,
        asked: CallsMade,
        held_ns: u64,
        around: &Around<'_>,
    ) {
        let Some(mut filling) = around.group.fillings.get(self.of) else {
            return;
        };
        filling.on_held(held_ns);
        match asked.answer {
            Answer::WasCached => filling.on_not_asked(pages, true),
            Answer::Refused | Answer::NotHere if asked.pages.get() == 0 => {
                filling.on_not_asked(pages, false);
            }
            _ => {}
        }
        self.note(&filling, around);
    }

    /// A read of `access`, which is this to the file that it may fill in, waited `waited_ns`. `is_alone`: no other one of the file does.
    pub(super) fn on_wait(
        &mut self,
        filled_read: FilledRead,
        access: PageRange,
        waited_ns: u64,
        is_alone: bool,
        around: &Around<'_>,
    ) {
        self.of.on_wait();
        let now = around.now;
        let waited = Waited {
            once_ns: around.device.waited_once(waited_ns, now),
            is_long: waited_ns >= around.device.estimate().access_ns / 2,
            began: Timestamp::new(now.get().saturating_sub(waited_ns)),
            is_alone,
        };
        if let Some(mut filling) = around.group.fillings.get(self.of) {
            filling.on_wait(access, filled_read, waited);
            self.note(&filling, around);
        }
    }

    /// What was asked for to fill it in and is not read is given up.
    pub(super) fn give_up(&mut self, group: &Group) {
        if let Some(mut filling) = group.fillings.get(self.of) {
            let given_up = filling.give_up();
            self.given_up += given_up.get();
            group.fillings.note(self.of, &filling);
            group.budget.give_back_filled(given_up);
        }
    }
}

/// What may be asked for with a read of which streams decide so, on a file with sections of so many pages. `ended`: as [`Want::ended`].
fn want(
    decision: &Decision,
    knobs: &Knobs,
    device: &DeviceEstimate,
    section: PageCount,
    ended: Option<PageCount>,
    around: &Around<'_>,
) -> Option<Want> {
    let group = around.group;
    let is_refused = matches!(decision.reason, Reason::BudgetUsed | Reason::HitRateLimit);
    let may_ask = !is_refused
        && knobs.readahead_ratio > RATIO_OF_KERNEL
        && knobs.readahead_hit_rate > HIT_RATE_OF_NONE
        && !around.is_shared
        && !group.guard.is_left_alone();
    // The kernel, which reads through the holes of who goes on, does not read backward.
    let backward = decision.pattern == Pattern::Backward && decision.reason == Reason::LeftToKernel;
    let available = group.budget.available_to_fill();
    let at_once = device.pipeline_request().max(section);
    may_ask.then_some(Want {
        backward,
        ended,
        pages_max: at_once.min(available).min(knobs.request_pages_max),
    })
}
