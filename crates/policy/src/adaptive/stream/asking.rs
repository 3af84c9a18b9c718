//! What a stream asks for, and what it learns from the answers.
//!
//! How large a request becomes is decided in [`request`], how it extends the
//! window in the [shapes](crate::adaptive::shape).

use super::Stream;
use super::moving::Step;
use crate::adaptive::access::Access;
use crate::adaptive::direction::Direction;
use crate::adaptive::moment::Moment;
use crate::adaptive::pace::{Pace, Rate};
use crate::adaptive::read_through;
use crate::adaptive::request::{self, Need};
use crate::adaptive::rows::{Begins, RowPart, Rows};
use crate::adaptive::runs::{Rest, RunLengths};
use crate::adaptive::shape::strided::{ELEMENTS_TIMED, ELEMENTS_TIMED_MOST};
use crate::adaptive::shape::{Shape, run, sparse, strided};
use crate::adaptive::window::{pages16, pages32, place32};
use crate::decision::Prefetch;
use crate::reason::Reason;
use crate::steering::steering;
use ahead_units::{PAGE_BYTES, PageCount, PageRange, Timestamp};

steering! {
    /// Least next request after pages were evicted. Smaller, and a stream in short memory asks for
    /// single pages; larger, and what was evicted is at once.
    /// Evidence: docs/results/evidence/THRASHED_REQUEST_PAGES.csv
    THRASHED_REQUEST_PAGES: u16 = 4;
}

/// What the file has learned, for all of its streams.
#[derive(Clone, Copy, Debug)]
pub(in crate::adaptive) struct Learned<'a> {
    /// More unread pages than this were evicted; 0 if that never happened.
    pub(in crate::adaptive) thrash_pages: u32,
    /// Others of the file were read since its access before.
    pub(in crate::adaptive) in_turn: bool,
    /// How long runs were.
    pub(in crate::adaptive) runs: &'a RunLengths,
    /// The rows that this stride is read in; `None`: it is not known to be read in any.
    pub(in crate::adaptive) rows: Option<&'a Rows>,
}

/// What came of asking.
#[derive(Clone, Copy, Debug)]
pub(in crate::adaptive) struct Asked {
    pub(in crate::adaptive) prefetch: Prefetch,
    pub(in crate::adaptive) reason: Reason,
    /// Pages that might have been asked for, had the run not been expected to end.
    pub(in crate::adaptive) spare: u64,
    /// Where there is something to spare: its reader does little else than to wait for the device, as far as that is known.
    pub(in crate::adaptive) is_bound: bool,
    /// For a scan of which nobody knows how far it goes.
    pub(in crate::adaptive) is_scan: bool,
    /// Which columns of a stride it is the first request for.
    pub(in crate::adaptive) begins: Begins,
}

impl Asked {
    fn nothing(reason: Reason) -> Self {
        Self {
            prefetch: Prefetch::default(),
            reason,
            spare: 0,
            is_bound: false,
            is_scan: false,
            begins: Begins::Nothing,
        }
    }
}

/// Asking.
impl Stream {
    /// Asks for the next request; `access` is the newest one.
    pub(in crate::adaptive) fn ask(
        &mut self,
        access: &Access,
        now: Timestamp,
        moment: &Moment,
        learned: &Learned<'_>,
    ) -> Asked {
        let rate = self.rate(now);
        // Who gets what the device can give gets no more by asking for more: what waits have made of the next request is
        // taken back. The newest one of what is in memory is a probe of some pages.
        let is_scan_alone = self.is_forward_run() && !moment.contested;
        let has_arm_alone = is_scan_alone && moment.device.is_positioned_for();
        let is_bound = rate.is_some_and(|rate| rate.is_that_of(&moment.device, has_arm_alone));
        let newest = u64::from(self.window.tail);
        let has_asked = newest > 0 && self.served.cached() == 0;
        if is_bound && has_asked && is_scan_alone {
            let most =
                request::next_size_of_content(newest, u64::MAX, self.run_pages(), has_arm_alone);
            self.request = self.request.min(pages16(u64::from(most)));
        }
        let need = Need {
            is_positioned: self.is_backward_run(),
            length: pages32(access.len()),
            request: u32::from(self.request),
            is_boosted: self.served.is_boosted() && !is_bound,
            // Of one that has waited it is not its own.
            rate: rate.filter(|_| self.shape.is_run() && !self.served.has_waited()),
        };
        let Some(limit) = self.limit(&need, moment, learned.thrash_pages) else {
            return Asked::nothing(Reason::BudgetUsed);
        };
        if access.start.get() >= moment.file_pages.get() {
            return Asked::nothing(Reason::EndOfFile);
        }
        if self.shape == Shape::Strided && strided::is_left_to_program(&self.grid(), moment) {
            return Asked::nothing(Reason::ProgramAsksAhead);
        }
        if self.shape == Shape::Strided && strided::is_drift_left_alone(&self.grid(), moment) {
            return Asked::nothing(Reason::DoesNotPay);
        }
        let row = self.row_part(&need, moment, learned);
        // An arm that goes down each column passes by as often as there are columns.
        let is_wide = row.is_some_and(|row| row.wider > 0);
        let is_left_alone = self.shape == Shape::Strided && moment.strides_are_left_alone;
        if !is_wide && (is_left_alone || self.goes_with_arm(now, moment)) {
            return Asked::nothing(Reason::DoesNotPay);
        }
        let most = if moment.is_left_alone {
            self.cannot_lose()
        } else {
            Some(limit)
        };
        let Some(most) = most else {
            return Asked::nothing(Reason::DoesNotPay);
        };
        let limit = limit.min(most);
        let rest = self.rest(moment, learned.runs);
        let is_scan = self.shape == Shape::Run
            && self.direction == Direction::Forward
            && self.may_reach_end(rest, moment.file_pages);
        if is_scan && request::is_asked_by_kernel(&need, moment, learned.thrash_pages, limit) {
            // What was asked for before is read first.
            self.window.tail = 0;
            return Asked::nothing(Reason::KernelAsks);
        }
        let earned = match rest {
            Rest::Pages(_) | Rest::Likely(_) => u64::MAX,
            Rest::Unknown | Rest::AsFarAgain(_) => self.earned(access, &moment.device),
        };
        if earned < access.len().get() {
            return Asked::nothing(Reason::ReadsAreLong);
        }
        // What the program says of its reads counts for more.
        let is_alone =
            is_scan_alone && self.shape == Shape::Run && !learned.in_turn && !moment.is_sequential;
        let enough = if is_alone {
            self.enough(access, rate, &need, is_bound, moment)
        } else {
            u64::MAX
        };
        let size = request::size(&need, moment, limit).min(earned);
        let size = if self.run_begin() > 0 {
            size.min(enough)
        } else {
            size
        };
        let (pages, least, is_exact) = match rest {
            Rest::Unknown => {
                let most = self.as_far_as_it_came(access, need.is_positioned, moment);
                (size.min(most), 0, false)
            }
            // Not in many small pieces, each of which would be asked for when it is needed.
            Rest::AsFarAgain(pages) => {
                let least = u64::from(self.run_pages() / 2).max(request::FIRST_REQUEST_PAGES.get());
                (pages.min(size), least.min(size), false)
            }
            Rest::Pages(pages) | Rest::Likely(pages) => {
                let most = match rest {
                    Rest::Likely(_) => limit.min(enough),
                    _ => limit,
                };
                let least = request::REQUEST_PAGES_WORTH.get();
                (pages.min(most), least, pages <= most)
            }
        };
        if pages < least {
            return Asked {
                spare: if moment.is_left_alone || moment.unserved() == 0 {
                    0
                } else {
                    limit
                },
                is_bound: is_bound || self.served.has_waited(),
                ..Asked::nothing(Reason::RunEnds)
            };
        }
        let Some(row) = row else {
            return Asked::nothing(Reason::RunEnds);
        };
        let (first, cached) = (self.request == 0, self.served.cached());
        let asked = match self.shape {
            Shape::Run | Shape::Shuffled | Shape::Sparse => {
                self.extend_run(access, pages, rest, is_exact, moment)
            }
            Shape::Strided => self.extend_strided(access, pages, limit, row, moment),
            Shape::Vacant | Shape::Candidate => return Asked::nothing(Reason::NoPattern),
        };
        if moment.starved {
            // What follows what is read now would be read at once, and those who starve wait on.
            self.window.tail = 0;
        }
        // A scan that gets all that the device gives, and one that does not wait, get no more by asking for more, and
        // what lies beyond the end of the run costs it.
        let is_calm = moment.streams <= 1 && !self.served.has_waited() && cached == 0;
        let next = if (is_bound || is_calm) && is_scan_alone {
            request::next_size_of_content(pages, limit, self.run_pages(), has_arm_alone)
        } else {
            request::next_size(pages, limit)
        };
        self.request = pages16(u64::from(next));
        let Some((prefetch, is_probe)) = asked else {
            return Asked::nothing(Reason::EndOfFile);
        };
        let reason = if self.served.has_thrashed() {
            Reason::Thrashed
        } else if first {
            Reason::StreamBegan
        } else if cached > 1 {
            Reason::AlreadyCached
        } else if need.is_boosted {
            Reason::ReaderWaited
        } else {
            Reason::MarkerCrossed
        };
        self.served.on_request(is_probe);
        self.pace.restart(self.pages_before(), now);
        Asked {
            prefetch: prefetch.before(moment.file_pages),
            reason,
            spare: 0,
            is_bound: false,
            is_scan,
            begins: row.begins,
        }
    }

    /// Most that may be asked for at once. A run that has earned more by waiting keeps what it has where it is not to get more:
    /// requests that become smaller and larger in turn leave an arm idle while the larger ones are read. Flash brings the
    /// first pages of a request early (a table of 5 MB took 1.03 of the kernel's time by keeping it).
    fn limit(&self, need: &Need, moment: &Moment, thrash_pages: u32) -> Option<u64> {
        let limit = request::limit(need, moment, thrash_pages)?;
        let keeps = self.served.is_boosted() && moment.device.is_positioned_for();
        if need.is_boosted || !keeps || !self.shape.is_run() {
            return Some(limit);
        }
        let boosted = Need {
            is_boosted: true,
            ..*need
        };
        let earned = request::limit(&boosted, moment, thrash_pages)?;
        Some(limit.max(earned.min(u64::from(self.window.tail))))
    }

    /// Whether this strides and has not asked yet, and its reader would get nothing by it: an arm that has nothing else to do is as soon at
    /// each element without being asked, unless the reader computes meanwhile. That is seen before anything is asked for, twice: an arm
    /// that is late for one element waits until it comes round again.
    fn goes_with_arm(&mut self, now: Timestamp, moment: &Moment) -> bool {
        let device = &moment.device;
        if !self.is_timed() || !device.has_one_arm() {
            return false;
        }
        let elements = self.elements_timed();
        if elements < ELEMENTS_TIMED {
            return true;
        }
        let time_ns = self.pace.time_since_ns(now);
        if time_ns == 0 {
            // The clock does not advance.
            return false;
        }
        let waiting_ns = strided::waiting_ns(&self.window, &self.grid(), device);
        let is_slow = time_ns > u64::from(elements).saturating_mul(waiting_ns);
        let was_slow = strided::remember_slow(&mut self.window, is_slow);
        if is_slow && !was_slow {
            self.pace.restart(self.elements_before(), now);
        }
        !is_slow || !was_slow
    }

    /// Whether it is seen how fast the reader of this stride is, from the element behind the one with which it became one: nothing was asked
    /// for, as a run either.
    fn is_timed(&self) -> bool {
        let is_forward = self.direction == Direction::Forward;
        let has_asked = self.request > 0 || self.window.frontier >= self.window.next;
        self.shape == Shape::Strided && is_forward && !has_asked && !self.drifts()
    }

    /// Elements by which that is seen.
    fn elements_timed(&self) -> u32 {
        if self.pace.is_unknown() {
            return 0;
        }
        self.pace.places_since(self.elements_before())
    }

    /// What the pace of a stride counts that has not asked: however long they are.
    fn elements_before(&self) -> u64 {
        strided::elements_before(&self.window, &self.grid())
    }

    /// The reader came to an element by `step` at `now`. If others were read before, what was timed in a row ends there, as the arm comes
    /// back first: unless it is sent from one reader to the next, which is a part of what each waits for.
    #[inline]
    pub(in crate::adaptive) fn time(&mut self, now: Timestamp, step: Step) {
        if !self.is_timed() {
            return;
        }
        let has_returned = step.others > 0 || step.begins_row;
        let takes_turns = strided::count_in_row(&mut self.window, step.others, has_returned);
        if has_returned && !takes_turns {
            self.pace = Pace::default();
        } else if self.pace.is_unknown() || self.elements_timed() > ELEMENTS_TIMED_MOST {
            self.pace.restart(self.elements_before(), now);
        }
    }

    fn extend_run(
        &mut self,
        access: &Access,
        pages: u64,
        rest: Rest,
        is_exact: bool,
        moment: &Moment,
    ) -> Option<(Prefetch, bool)> {
        let extent = run::Extent {
            pages,
            space: (moment.available.get().saturating_sub(access.len().get()))
                .min(moment.knobs.request_pages_max.get()),
            is_exact,
            // What lies in front of a backward run is the begin of a file, to which few go.
            takes_the_rest: !is_exact && self.direction == Direction::Forward,
            rest: match rest {
                Rest::Pages(rest) | Rest::Likely(rest) => rest,
                Rest::AsFarAgain(_) | Rest::Unknown => u64::MAX,
            },
            cached: self.served.cached(),
            is_positioned_for: moment.device.is_positioned_for(),
            end_of_file: self.direction.end_of_file(moment.file_pages.get()),
        };
        let span = self.span(access);
        let extended = run::extend(&mut self.window, span, extent)?;
        let range = self.direction.pages(extended.ask);
        Some((Prefetch::range(range), extended.is_probe))
    }

    fn extend_strided(
        &mut self,
        access: &Access,
        pages: u64,
        limit: u64,
        row: RowPart,
        moment: &Moment,
    ) -> Option<(Prefetch, bool)> {
        let extent = strided::Extent {
            pages,
            limit,
            row,
            seen: match self.elements_in_a_row() {
                u8::MAX => u64::MAX,
                elements => elements.into(),
            },
        };
        let grid = self.grid();
        let place = grid.place(access);
        let ranges = strided::extend(&mut self.window, &grid, place, extent, moment)?;
        Some((ranges, false))
    }

    /// What is expected behind the window of a stride that is read in rows. `None`: nothing.
    fn row_part(&self, need: &Need, moment: &Moment, learned: &Learned<'_>) -> Option<RowPart> {
        learned.rows.map_or(Some(RowPart::ENDLESS), |rows| {
            let grid = self.grid();
            // An arm comes to each element of a column anew: with those of the next band, columns are all that memory has space for.
            let requests = if moment.device.is_slow_to_access() {
                1
            } else {
                2
            };
            let space = request::space_in(requests, need, moment, learned.thrash_pages);
            let ahead = strided::elements_ahead(&self.window, &grid);
            rows.part(ahead, &grid, space, sparse::worth_reading(moment))
        })
    }

    /// All `elements` of the row that begins were asked for; if those behind them `are_due` they are asked for from the next one on.
    pub(in crate::adaptive) fn cover_row(&mut self, elements: u16, are_due: bool) {
        let grid = self.grid();
        strided::cover(&mut self.window, &grid, elements, are_due);
    }

    /// The row has ended, and the next one is expected `gap` bytes behind where another element would have been. False: no place is there.
    pub(in crate::adaptive) fn go_on(&mut self, gap: i64) -> bool {
        let count = |stream: &Self| {
            if stream.is_timed() {
                stream.elements_before()
            } else {
                stream.pages_before()
            }
        };
        let before = place32(count(self));
        let goes_on = strided::go_on(&mut self.window, gap);
        let passed = place32(count(self)).wrapping_sub(before);
        self.pace.pass_over(passed);
        goes_on
    }

    /// The rate of the reader since the last request; `None` before the first, and where places do not say how many elements there were
    /// since.
    fn rate(&self, now: Timestamp) -> Option<Rate> {
        let is_known = self.request > 0 && !self.drifts();
        is_known.then(|| self.pace.rate(self.pages_before(), now))?
    }

    /// Time for each element of this stride, if its reader waits for them, more than for all up to the next one to be transferred. Not where arms
    /// pass by, which takes them that time anyway.
    pub(in crate::adaptive) fn slower_than_all_ns(
        &self,
        now: Timestamp,
        moment: &Moment,
    ) -> Option<u64> {
        let waits = self.served.is_boosted() && self.served.has_waited();
        let is_alone = !moment.contested && !moment.is_left_alone && !moment.strides_are_left_alone;
        let device = &moment.device;
        if self.shape != Shape::Strided || !waits || !is_alone || device.is_slow_to_access() {
            return None;
        }
        let grid = self.grid();
        let (read, period) = (grid.pages_min(), grid.period.div_ceil(PAGE_BYTES));
        let hole = period.saturating_sub(read);
        let may_read_on = grid.density().is_read_on(moment) && sparse::is_short(hole, moment);
        if hole == 0 || !may_read_on || strided::is_read_through(&grid, moment) {
            return None;
        }
        let (element_ns, elements) = self.rate(now)?.of_each(read);
        // What pauses looks as if it waited: each of them alone would take no longer than this.
        let transfer_ns = device.transfer_ns(PageCount::new(read));
        let alone_ns = device.access_ns.saturating_add(transfer_ns);
        let element_ns = element_ns.min(alone_ns);
        let all_ns = device.transfer_ns(PageCount::new(period));
        let is_slower = elements >= read_through::ELEMENTS_WAITED
            && element_ns > all_ns.saturating_mul(read_through::SLOWER_TIMES);
        is_slower.then_some(element_ns)
    }

    /// Pages that the stream has read up to here, counted from anywhere: a distance of two places is what was read
    /// in between. Holes between elements are no part of it.
    fn pages_before(&self) -> u64 {
        if self.shape == Shape::Strided {
            strided::pages_before(&self.window, &self.grid())
        } else {
            self.window.next
        }
    }
}

/// Feedback.
impl Stream {
    /// The read of `access` had to wait; `covered` if it had been asked for.
    pub(in crate::adaptive) fn on_wait(&mut self, access: PageRange, covered: bool) {
        self.served.on_wait();
        if self.finds_in_memory() {
            // The part that was in memory is over: back to work, from here.
            self.served.on_not_cached();
            self.begin_requests();
            if self.shape.is_run() {
                let span = self.direction.span(access);
                run::begin_at(&mut self.window, span);
            } else {
                strided::begin_again(&mut self.window);
            }
        } else if covered {
            let request = request::size_after_wait(u32::from(self.request));
            self.request = pages16(u64::from(request));
            self.served.boost();
        }
    }

    /// All pages of the newest request were in memory already.
    pub(in crate::adaptive) fn on_cached(&mut self) {
        self.served.on_cached();
    }

    /// Pages of the newest request had to be read. If that was a probe, what it skipped was never
    /// asked for: the window goes back to the reader.
    pub(in crate::adaptive) fn on_not_cached(&mut self) {
        if self.served.is_probing() {
            self.forget_window();
        }
        self.served.on_not_cached();
    }

    /// Pages of the window are gone before they were read: half as much is asked for, again from
    /// where the reader is.
    pub(in crate::adaptive) fn on_thrashed(&mut self) {
        self.request = (self.request / 2).max(THRASHED_REQUEST_PAGES.get());
        self.served.on_thrashed();
        self.forget_window();
    }

    /// Nothing reads the file any more.
    pub(in crate::adaptive) fn on_idle(&mut self) {
        self.forget_window();
        self.begin_requests();
    }

    /// The next request is the first one again.
    fn begin_requests(&mut self) {
        self.request = 0;
        self.pace = Pace::default();
    }

    /// As if nothing was asked for yet.
    pub(in crate::adaptive) fn begin_small(&mut self) {
        self.begin_requests();
        self.window.forget();
    }

    /// What was asked for is gone, or never came: the window ends where the reader is.
    pub(in crate::adaptive) fn forget_window(&mut self) {
        if self.shape.is_run() || self.shape == Shape::Strided {
            self.window.forget();
        }
    }
}
