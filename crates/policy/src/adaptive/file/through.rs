//! Strides of a file that are [read through](crate::adaptive::read_through), and holes that the kernel may have read through.

use super::arrival::Arrival;
use super::state::FileStreams;
use crate::adaptive::moment::Moment;
use crate::adaptive::observer::{Observer, report};
use crate::adaptive::read_through::ReadOn;
use crate::adaptive::rows::Rows;
use crate::adaptive::shape::sparse;
use crate::adaptive::stream::Stream;
use ahead_units::Timestamp;

impl FileStreams {
    /// What is read through of holes of so many pages. Where a stride broke while its elements were on their way the kernel, which may have read
    /// through all of it, has lost the reader, and there is none to be asked for.
    pub(super) fn reads_on(&self, hole: u64, moment: &Moment) -> ReadOn {
        if !sparse::is_short(hole, moment) {
            ReadOn::None
        } else if self.through.is_on() {
            ReadOn::Any
        } else if self.recent.broken_strides.are_some() && !self.through.is_refused() {
            ReadOn::Forward
        } else {
            ReadOn::None
        }
    }

    /// The stream at `place` reads on through a hole.
    pub(super) fn on_read_through(&mut self, stream: &mut Stream, place: u8, now: Timestamp) {
        if self.through.on_read(place, now) {
            stream.begin_small();
        }
    }

    /// If each element of the stride at `place`, of which the newest arrives, is waited for longer than all up to the next one takes, it is read
    /// through. Not on the stack while it asks.
    #[inline(never)]
    pub(super) fn read_through_if_slow<O: Observer>(
        &mut self,
        stream: &mut Stream,
        place: u8,
        arrival: &mut Arrival<'_, impl FnOnce() -> Moment, O>,
    ) {
        if self.through.is_refused() || self.debt.is_at_limit() {
            return;
        }
        let Some(element_ns) = stream.slower_than_all_ns(arrival.now, arrival.moment) else {
            return;
        };
        if self.rows_of(stream, place).is_some_and(Rows::are_known) {
            return;
        }
        self.through.begin(place, element_ns, arrival.now);
        let mut report = report(usize::from(place), arrival.observer);
        stream.become_run_of_stride(arrival.access, &mut report);
    }
}
