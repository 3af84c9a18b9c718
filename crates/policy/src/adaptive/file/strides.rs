//! Strides that begin, and what they say of those before.

use super::FileStreams;
use super::outcome::Outcome;
use crate::adaptive::access::Access;
use crate::adaptive::direction::Direction;
use crate::adaptive::observer::{Observer, report};
use crate::adaptive::recent::SeenStride;
use crate::adaptive::shape::drift;
use crate::adaptive::shape::grid::Grid;
use crate::adaptive::shape::regular::REGULAR_STEPS;
use crate::adaptive::stream::Stream;
use crate::device::DeviceEstimate;

/// Elements that count as seen of a stride that arms pass by, if only the pages of its steps are equal: five more have to come as
/// expected. Among eight accesses that are off by some kilobytes there are three such again and again, and what is asked for by them
/// sends the arms away. More than this, and two or three of those come as expected: 64 KiB of every 525 311 bytes, off by up to 8 KiB, take
/// a stripe of eight disks 2.6 times as long with 4 as with the kernel alone, 1.1 times with 1.
const SEEN_BY_PAGES_ALONE: u8 = 1;

impl FileStreams {
    /// `access` is the third element of `stride`, which gets the place `place`, or another one.
    pub(super) fn begin_stride<O: Observer>(
        &mut self,
        streams: &mut [Stream],
        place: Option<usize>,
        access: &Access,
        stride: &SeenStride,
        device: &DeviceEstimate,
        observer: &mut O,
    ) -> Outcome {
        let (grid, tick) = (stride.grid, self.tick);
        // Arms that are not sent away are soon at what follows, be they one or several.
        let passes_by = device.is_slow_to_access() && grid.direction == Direction::Forward;
        if passes_by || device.is_positioned_for() {
            let is_overtaken = |stream: &Stream| stream.is_overtaken(access, &grid, tick);
            let overtaken = self.give_up_those(streams, observer, is_overtaken);
            self.recent.broken_strides.on_broken(overtaken);
        }
        if self.end_columns(streams, access, &grid, observer) {
            return self.unexplained();
        }
        let regular = if stride.is_by_pages_alone && passes_by {
            SEEN_BY_PAGES_ALONE
        } else if grid.drifts {
            // Off by something from the first on: that they are not off by more has to be seen.
            drift::SEEN
        } else {
            REGULAR_STEPS.get()
        };
        if let Some(place) = self.free_place(streams, place, observer) {
            streams[place].become_strided(
                access,
                grid,
                regular,
                tick,
                &mut report(place, observer),
            );
        }
        self.unexplained()
    }

    /// Whether the stride at `grid`, of which `access` is the newest element, is the next column of rows that are read a piece each in
    /// turn, as tiles of a picture are. Then those before it were none either, and are given up: each row is a run of its own, and how
    /// far one is read by columns, which begin anew at each tile, is not how far the others are.
    pub(super) fn end_columns<O: Observer>(
        &mut self,
        streams: &mut [Stream],
        access: &Access,
        grid: &Grid,
        observer: &mut O,
    ) -> bool {
        let tick = self.tick;
        let is_before = |stream: &Stream| stream.is_column_before(access, grid, tick);
        let columns = self.give_up_those(streams, observer, is_before);
        if columns > 0 {
            self.rounds_seen = tick.max(1);
        }
        columns > 0
    }
}
