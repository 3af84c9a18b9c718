//! Strides of a file that others explain: those that take turns with one, and those that are a part of a run.

use super::state::FileStreams;
use crate::adaptive::access::Access;
use crate::adaptive::direction::Direction;
use crate::adaptive::matching::STREAMS_FEW;
use crate::adaptive::observer::{Observer, report};
use crate::adaptive::shape::grid::is_multiple;
use crate::adaptive::stream::Stream;
use crate::adaptive::window::pages32;

/// Elements that are looked at for other reads among them: as far as is asked for ahead, some times over. Fewer, and of reads that are
/// seldom none is seen; more, and a reader that has looked there once is not followed for longer.
const ELEMENTS_LOOKED_AT: u64 = 64;

/// Elements with which a stride begins: what was read among them may be those of others that take turns with it and are not known yet.
const ELEMENTS_OF_BEGIN: u64 = 4;

impl FileStreams {
    /// The run at `place` became a stride, of which `access` is an element: so are those that were read since the one before that of others.
    #[inline(never)]
    pub(super) fn begin_others<O: Observer>(
        &mut self,
        streams: &mut [Stream],
        place: u8,
        access: &Access,
        observer: &mut O,
    ) {
        let (grid, _) = streams[usize::from(place)].expected_element();
        let mut others: [Option<Access>; STREAMS_FEW - 1] = [None; STREAMS_FEW - 1];
        let mut count = 0;
        for other in self.recent.in_turn(access, &grid) {
            // One that was read again is no other one.
            let is_taken = |taken: &Access| {
                let way = grid.place(taken).abs_diff(grid.place(&other));
                is_multiple(way, grid.period)
            };
            let is_again = other.start == access.start;
            if is_again || others.iter().flatten().any(is_taken) {
                continue;
            }
            let Some(place) = others.get_mut(count) else {
                break;
            };
            (*place, count) = (Some(other), count + 1);
        }
        for other in others.into_iter().flatten() {
            let Some(free) = self.free_place(streams, Some(place.into()), observer) else {
                return;
            };
            let (grid, report) = (grid.as_long_as(&other), &mut report(free, observer));
            let stream = &mut streams[free];
            stream.become_strided(&other, grid, 0, self.tick, report);
            stream.believe();
        }
    }

    /// The stride at `place` has more elements than there can be streams: what touches its first ones begins no run there, it is the next column.
    pub(super) fn end_candidates<O: Observer>(streams: &mut [Stream], place: u8, observer: &mut O) {
        let stride = streams[usize::from(place)];
        for (inside, stream) in streams.iter_mut().enumerate() {
            if stride.explains(stream) {
                stream.vacate(&mut report(inside, observer));
            }
        }
    }

    /// The stream at `place` has asked: if it is a run, strides inside of what it reads are parts of it.
    pub(super) fn end_strides_inside<O: Observer>(
        &mut self,
        streams: &mut [Stream],
        place: u8,
        observer: &mut O,
    ) {
        let run = streams[usize::from(place)];
        if !run.may_read_through() {
            return;
        }
        for (inside, stream) in streams.iter_mut().enumerate() {
            if run.reads_through(stream) {
                self.lose(pages32(run.unread_behind(stream)));
                stream.vacate(&mut report(inside, observer));
            }
        }
    }

    /// Whether the reader of this stride, `access` being its newest element, reads other things among its elements. An arm would come back for
    /// each of them from what was asked for ahead of it.
    pub(super) fn looks_between(&self, stream: &Stream, access: &Access) -> bool {
        let elements = u64::from(stream.elements_in_a_row()).saturating_sub(ELEMENTS_OF_BEGIN);
        let grid = stream.steady_grid().filter(|_| elements > 0);
        grid.is_some_and(|grid| {
            grid.direction == Direction::Forward
                && (self.recent).is_among(access, &grid, elements.min(ELEMENTS_LOOKED_AT))
        })
    }
}
