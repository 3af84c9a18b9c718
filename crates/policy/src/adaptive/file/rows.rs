//! Strides of a file that are read in [rows](crate::adaptive::rows).

use super::state::FileStreams;
use crate::adaptive::access::Access;
use crate::adaptive::observer::Observer;
use crate::adaptive::rows::{NewRow, Rows};
use crate::adaptive::shape::grid::Grid;
use crate::adaptive::stream::Stream;
use crate::adaptive::window::pages32;
use ahead_units::PageCount;

/// What a row follows that was seen to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follows {
    /// Nothing that is followed.
    Nothing,
    /// The last row of its stride.
    Row,
    /// The same, or it is the next round over streams that lie evenly spaced.
    Round,
    /// Beside it another stride is read.
    Beside,
    /// Another stride has stopped before it, and may go on.
    After,
}

impl FileStreams {
    /// The rows that `stream`, at `place`, is read in, if it is the one that is followed.
    pub(super) fn rows_of(&self, stream: &Stream, place: u8) -> Option<&Rows> {
        let grid = stream.steady_grid()?;
        let rows = &self.recent.rows;
        rows.follow(place, &grid).then_some(rows)
    }

    /// The stream at `place` took a step to `access`, from where it expected an element `before`, if it is one that is followed. Whether that
    /// is the first one of a row.
    #[inline(never)]
    pub(super) fn on_row_step<O: Observer>(
        &mut self,
        streams: &mut [Stream],
        place: u8,
        before: Option<(Grid, u64)>,
        access: &Access,
        observer: &mut O,
    ) -> bool {
        let stream = &mut streams[usize::from(place)];
        let Some((grid, expected)) = before else {
            if let Some(row) = stream.new_row(access) {
                let follows = self.end_row(streams, &row, observer);
                self.begin_row(&mut streams[usize::from(place)], place, &row, follows);
            }
            return false;
        };
        let gap = grid.place(access).wrapping_sub(expected).cast_signed();
        let rows = &mut self.recent.rows;
        if stream
            .steady_grid()
            .is_none_or(|now| now.period != grid.period)
        {
            let lost = rows.on_broken(&grid, gap, grid.inside(access));
            self.lose(pages32(PageCount::new(lost)));
            return false;
        }
        if gap == 0 {
            rows.on_element();
        } else if let Some(columns) = rows.on_left_out(&grid) {
            let lost = pages32(stream.unread() + PageCount::new(columns));
            stream.forget_window();
            self.lose(lost);
        }
        let is_first = self.recent.rows.is_at_first();
        self.go_on_at_next_row(stream);
        is_first
    }

    /// `row` was seen to begin: where the stride that is followed has stopped, it is its next one.
    pub(super) fn end_row<O: Observer>(
        &mut self,
        streams: &mut [Stream],
        row: &NewRow,
        observer: &mut O,
    ) -> Follows {
        let last = self.recent.rows.place();
        let Some(stream) = streams.get(usize::from(last)) else {
            return Follows::Nothing;
        };
        if self.rows_of(stream, last).is_none() {
            return Follows::Nothing;
        }
        let (tick, are_columns) = (self.tick, self.recent.rows.are_columns());
        let Some(gap) = stream.gap_to(row, tick, are_columns) else {
            let idle = tick.wrapping_sub(stream.last_used());
            return match self.recent.rows.may_go_on(idle) {
                true if idle < u32::from(row.come) => Follows::Beside,
                true => Follows::After,
                false => Follows::Nothing,
            };
        };
        let lost = self.recent.rows.end(&row.grid, gap, row.inside);
        self.lose(pages32(PageCount::new(lost)));
        // Else it may be another reader, and this one comes back.
        if self.recent.rows.are_known() {
            let has_ended = |stream: &Stream| stream.gap_to(row, tick, are_columns).is_some();
            self.give_up_those(streams, observer, has_ended);
        }
        if gap < 0 && row.grid.is_wide() {
            Follows::Round
        } else {
            Follows::Row
        }
    }

    /// `stream`, at `place`, begins `row`.
    pub(super) fn begin_row(
        &mut self,
        stream: &mut Stream,
        place: u8,
        row: &NewRow,
        follows: Follows,
    ) {
        if matches!(follows, Follows::Row | Follows::After) {
            self.recent.forget_elements(row);
        }
        let goes_on = matches!(follows, Follows::Beside | Follows::After);
        self.recent.rows.begin(place, row, goes_on);
        if self.rows_of(stream, place).is_some() {
            self.go_on_at_next_row(stream);
        }
    }

    /// Where the row that `stream` reads is over, and it is known where the next one begins, it goes on there.
    fn go_on_at_next_row(&mut self, stream: &mut Stream) {
        if let Some(grid) = stream.steady_grid()
            && let Some(gap) = self.recent.rows.over(&grid)
            && stream.go_on(gap)
            && let Some(elements) = self.recent.rows.go_on(&grid)
        {
            stream.cover_row(elements, self.recent.rows.are_next_columns_due());
        }
    }
}
