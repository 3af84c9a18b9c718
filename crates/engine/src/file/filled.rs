//! What of a file is asked for because its random reads have earned it ([`filling`](crate::filling)).

use ahead_policy::adaptive::Outcome;
use ahead_policy::decision::{Decision, Prefetch};
use ahead_policy::reason::{Pattern, Reason};
use ahead_units::{PageCount, PageRange};

use super::{Around, FileState};
use crate::filling::Piece;
use crate::group::Group;

/// `readahead_ratio` up to which nothing is asked for, or all is left to the kernel.
const RATIO_OF_KERNEL: u32 = 1;

/// `readahead_hit_rate` at which nothing may be brought that may not be read.
const HIT_RATE_OF_NONE: u32 = 1;

impl FileState {
    /// `access` is read, of which this is what its streams make. What is asked for with it to fill the file in; then `outcome` says so.
    pub(super) fn fill_in(
        &mut self,
        access: PageRange,
        outcome: &mut Outcome,
        around: &Around<'_>,
    ) -> Option<Piece> {
        let group = around.group;
        // What a stream or the kernel asks for says nothing about the rest of the file.
        self.filling.is_counted = !outcome.covered
            && outcome.decision.prefetch.count == 0
            && outcome.decision.reason != Reason::KernelAsks;
        if !self.filling.is_counted || !around.sees_all {
            return None;
        }
        let mut filling = group.fillings.get_or_begin(
            &mut self.filling,
            self.file_pages,
            group.budget.memory(),
            around.now,
        )?;
        let device = around.device.estimate();
        let read = filling.on_read(access, &device);
        if read.is_inside {
            let unread = self.filling.unread.get();
            self.filling.unread = PageCount::new(unread.saturating_sub(read.new_pages.get()));
            outcome.covered |= outcome.stream.is_none() && read.new_pages.get() > 0;
        }
        let knobs = &self.knobs;
        let may_ask = outcome.decision.reason != Reason::BudgetUsed
            && knobs.readahead_ratio > RATIO_OF_KERNEL
            && knobs.readahead_hit_rate > HIT_RATE_OF_NONE
            && !around.is_shared
            && !group.guard.is_left_alone();
        if read.is_inside || read.new_pages.get() == 0 || !may_ask {
            return None;
        }
        // The kernel, which reads through the holes of who goes on, does not read backward.
        let backward = outcome.decision.pattern == Pattern::Backward
            && outcome.decision.reason == Reason::LeftToKernel;
        let at_once = device.pipeline_request().max(filling.section());
        let most = at_once.min(group.budget.available());
        let piece = filling.ask(access, backward, &device, most)?;
        drop(filling);
        if piece.new_pages.get() == 0 {
            return None;
        }
        self.filling.unread = self.filling.unread + piece.new_pages;
        around.device.on_filled_in(piece.new_pages, around.now);
        outcome.decision = Decision {
            prefetch: Prefetch::range(piece.pages),
            pattern: Pattern::Random,
            reason: Reason::FilledIn,
        };
        Some(piece)
    }

    /// The calls of its newest request have held up the reader for so long.
    pub(crate) fn on_held(&mut self, held_ns: u64, group: &Group) {
        if self.reason == Reason::FilledIn
            && let Some(mut filling) = group.fillings.get(self.filling)
        {
            filling.on_held(held_ns);
        }
    }

    /// A read of `access` that no stream had asked for waited `waited_ns`.
    pub(super) fn on_unasked_wait(
        &mut self,
        waited_ns: u64,
        covered: bool,
        access: PageRange,
        around: &Around<'_>,
    ) {
        if !self.filling.is_counted {
            return;
        }
        self.filling.on_wait();
        let waited_ns = around.device.waited_once(waited_ns, around.now);
        if let Some(mut filling) = around.group.fillings.get(self.filling)
            && (!covered || filling.is_inside(access))
        {
            filling.on_wait(access, waited_ns);
        }
    }
}
