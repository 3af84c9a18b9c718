//! One file: its table of streams, and what one access does to them.
//!
//! An access takes the fast path ([`quick`]), which answers what asks for nothing, or it is looked at by
//! [`FileStreams::on_access`]. What the host learns afterwards comes back through [`feedback`]; what is remembered is in `state`, and strides
//! that are read in rows are followed in `rows`.

mod arrival;
pub(crate) mod feedback;
pub(super) mod outcome;
mod quick;
mod rows;
pub(crate) mod scan;
mod state;
mod strides;
mod through;

pub use self::state::FileStreams;

use self::arrival::{Arrival, Came};
use self::outcome::Outcome;
use super::access::Access;
use super::beginnings::Found;
use super::direction::PAGES_MAX;
use super::id::place8;
use super::matching::{self, Match};
use super::moment::Moment;
use super::observer::{Observer, Report, report};
use super::read_through::ReadOn;
use super::rows::{ELEMENTS_SEEN, NewRow, Rows};
use super::shape::fit::Fit;
use super::shape::grid::Grid;
use super::shape::regular::REGULAR_STEPS;
use super::stream::Stream;
use super::stream::asking::Learned;
use super::stream::moving::Seen;
use super::window::pages32;
use crate::decision::Decision;
use crate::reason::{Pattern, Reason};
use crate::steering::steering;
use ahead_units::{ByteRange, PageRange, Timestamp};
use core::cell::LazyCell;

steering! {
    /// Accesses in a row without a stream after which a file is said to be read at random. It
    /// changes what is reported, not what is asked for.
    /// Evidence: docs/results/evidence/RANDOM_RUN.csv
    RANDOM_RUN: u16 = 64;

    /// Accesses without a wait or a request after which a file counts as being in memory. A new
    /// stream begins with a wait, so nothing is missed on a device; cached random reads cost next to
    /// nothing. It has to be more than a window has requests of a shuffling server: 512 of 4 KiB in
    /// 2 MiB. More, and a program whose files are in memory pays for being looked at.
    /// Evidence: docs/results/evidence/CALM_ACCESSES.csv
    CALM_ACCESSES: u32 = 1024;
}

/// Rounds over all runs in which a run has not moved when it is believed to have ended. Fewer, and a thread that
/// waits looks like one that has gone; more, and runs of few reads are not seen to end.
const ROUNDS_MISSED: u64 = 3;

impl FileStreams {
    /// The place of the stream that followed the newest one the last time.
    #[inline]
    fn hint(&self, streams: &[Stream]) -> u8 {
        streams
            .get(usize::from(self.last))
            .map_or(0, Stream::successor)
    }

    /// Nothing has waited for long, so everything is in memory: only eight accesses of 256 are looked at closely.
    /// Unless nothing waits because `expected`, the stream whose turn it is, moves inside its window.
    #[inline]
    fn is_calm(&self, tick: u32, expected: &Stream) -> bool {
        let is_quiet = |since: u32| tick.wrapping_sub(since) >= CALM_ACCESSES.get();
        is_quiet(self.last_busy)
            && tick & 255 >= 8
            && (expected.is_candidate()
                || is_quiet(expected.last_used())
                || expected.unread().get() == 0)
    }

    /// The program reads `access`, bytes or whole pages, at `now`. Call before the read, so that what
    /// it wants and what comes next reach the device together.
    ///
    /// `streams` is this file's table, always the same one or a longer copy of it, between 1 and
    /// [`STREAMS_MANY`](super::STREAMS_MANY) places.
    /// `now` may stand still where there is no clock: then nothing is concluded from it.
    /// `moment` is only asked for when more than a counter has to change.
    pub fn on_access(
        &mut self,
        streams: &mut [Stream],
        access: impl Into<ByteRange>,
        now: Timestamp,
        moment: impl FnOnce() -> Moment,
    ) -> Outcome {
        self.on_observed_access(streams, access, now, moment, &mut ())
    }

    /// [`Self::on_access`], with a witness.
    pub fn on_observed_access<O: Observer>(
        &mut self,
        streams: &mut [Stream],
        access: impl Into<ByteRange>,
        now: Timestamp,
        moment: impl FnOnce() -> Moment,
        observer: &mut O,
    ) -> Outcome {
        let access = &Access::from(access.into());
        if access.end.get() > PAGES_MAX {
            return Outcome::default();
        }
        self.tick = self.tick.wrapping_add(1);
        self.left = 0;
        let arrival = &mut Arrival {
            access,
            now,
            moment: &LazyCell::new(moment),
            observer,
            begins_run: false,
        };
        let hint = self.hint(streams);
        if let Some(stream) = streams.get(usize::from(hint))
            && !stream.is_candidate()
            && !stream.is_doubtful()
            && stream.fit(access) == Fit::Exact
        {
            if self.last != hint {
                self.runs.on_turn();
            }
            self.last = hint;
            return self.continue_stream(streams, hint, arrival);
        }
        self.search(streams, arrival)
    }

    /// Not where it was expected: look at all streams, then for a new one.
    fn search<O: Observer>(
        &mut self,
        streams: &mut [Stream],
        arrival: &mut Arrival<'_, impl FnOnce() -> Moment, O>,
    ) -> Outcome {
        let access = arrival.access;
        if access.pages().is_empty() || streams.is_empty() {
            return Outcome::default();
        }
        let expected = streams.get(usize::from(self.hint(streams)));
        if expected.is_none_or(|stream| self.is_calm(self.tick, stream)) {
            return self.unexplained();
        }
        let newest = (self.unexplained_run == 0).then_some(self.last.into());
        let found = matching::find(streams, newest, access);
        // It may begin so near behind the last one that it would be taken for that one going on with a hole.
        if self.beginnings.awaits()
            && let Some(found) = self.foreseen(streams, found, access)
        {
            return self.begin_foreseen(streams, &found, arrival);
        }
        match found {
            Match::Continues(place) => {
                arrival.begins_run = self.begins_run(&mut streams[place], arrival);
                self.continue_at(streams, place, arrival)
            }
            Match::LiesAhead(place) => self.on_stray(streams, place8(place), arrival),
            Match::Nothing => self.begin(streams, arrival),
        }
    }

    /// `access` lies in the window of the stream at `place`, far ahead of its reader.
    #[inline(never)]
    fn on_stray<O: Observer>(
        &mut self,
        streams: &mut [Stream],
        place: u8,
        arrival: &mut Arrival<'_, impl FnOnce() -> Moment, O>,
    ) -> Outcome {
        let access = arrival.access;
        let stream = &mut streams[usize::from(place)];
        let (start, end) = stream.places_of(access);
        let Some(pages) = self.stray.on_read(place, self.tick, start, end) else {
            let decision = Decision::nothing(stream.pattern(), Reason::MarkerNotReached);
            return Outcome::of(decision, stream.id(place), true);
        };
        self.runs.on_end(stream.run_pages());
        let passed = pages32(stream.jump_to(access, pages));
        self.lose(passed);
        self.last = place;
        arrival.begins_run = true;
        self.continue_stream(streams, place, arrival)
    }

    /// `access` continues the stream at `place`, which is not the one that was expected.
    #[inline(never)]
    fn continue_at<O: Observer>(
        &mut self,
        streams: &mut [Stream],
        place: usize,
        arrival: &mut Arrival<'_, impl FnOnce() -> Moment, O>,
    ) -> Outcome {
        let access = arrival.access;
        let is_turn = usize::from(self.last) != place;
        if let Some(last) = streams.get_mut(usize::from(self.last)) {
            last.set_successor(place8(place));
        }
        self.last = place8(place);
        let candidate = streams[place].is_candidate();
        let began = candidate.then(|| streams[place].candidate_start());
        let goes_on = streams[place].is_gone_on_with(access);
        if let Some(start) = began {
            // Was that an element of a wide stride, it was a round over several streams: none is believed for a while. Not so where it is read
            // again, or another field of a record is read next.
            if goes_on
                && self.give_up_those(streams, arrival.observer, |stream| {
                    stream.is_unmasked_by(start)
                }) > 0
            {
                self.rounds.on_seen(self.tick);
            }
            let others_stopped = matching::others_stopped(streams, place, self.tick);
            self.runs.on_begin(others_stopped);
        } else if is_turn && !streams[place].is_newborn() {
            self.runs.on_turn();
        }
        if streams[place].is_doubtful() {
            self.add_candidate(streams, access, Some(place), arrival.observer);
        }
        let outcome = self.continue_stream(streams, place8(place), arrival);
        if streams[place].is_newborn() {
            self.end_runs(streams, place);
            if let Some(start) = began.filter(|_| streams[place].is_forward_run()) {
                let lost = self.beginnings.on_begin(start);
                self.lose(lost);
            }
        }
        if streams[place].is_newborn()
            && outcome.decision.prefetch.count > 0
            && let Some(leader) = matching::leader(streams, place)
        {
            streams[place].vacate(&mut report(place, arrival.observer));
            return self.follow(&streams[leader], place8(leader));
        }
        outcome
    }

    /// A run began at `place`. Others that have not moved for some rounds over all of them have ended.
    fn end_runs(&mut self, streams: &mut [Stream], place: usize) {
        let round = streams.iter().filter(|stream| stream.goes_on()).count() as u64;
        for (other, stream) in streams.iter_mut().enumerate() {
            let idle = self.tick.wrapping_sub(stream.last_used());
            let is_over = u64::from(idle) > round * ROUNDS_MISSED;
            if other != place && stream.goes_on() && is_over {
                let pages = stream.run_pages();
                let unread = pages32(stream.end_run());
                self.on_run_ended(pages, unread);
            }
        }
    }

    /// No stream explains `access`: it becomes a candidate, the third element of a stride, or the
    /// first access of a scan that is expected.
    #[inline(never)]
    fn begin<O: Observer>(
        &mut self,
        streams: &mut [Stream],
        arrival: &mut Arrival<'_, impl FnOnce() -> Moment, O>,
    ) -> Outcome {
        let Arrival {
            access,
            now,
            moment,
            ..
        } = *arrival;
        let observer = &mut *arrival.observer;
        let rounds = self.rounds.are_recent(self.tick);
        let stride = self.recent.stride(access);
        let stride = stride.filter(|stride| !rounds || !stride.grid.is_wide());
        self.recent.remember(access);
        let place = self.add_candidate(streams, access, None, observer);
        if let Some(stride) = stride {
            let (device, grid, tick) = (moment.device, stride.grid, self.tick);
            let row = NewRow::up_to(access, grid, ELEMENTS_SEEN);
            let follows = self.end_row(streams, &row, observer);
            if stride.is_of_arms_of(&device) {
                let is_overtaken = |stream: &Stream| stream.is_overtaken(access, &grid, tick);
                let overtaken = self.give_up_those(streams, observer, is_overtaken);
                self.recent.broken_strides.on_broken(overtaken);
            }
            if let Some(place) = self.free_place(streams, place, observer) {
                let (regular, report) = (stride.regular_on(&device), &mut report(place, observer));
                let stream = &mut streams[place];
                stream.become_strided(access, grid, regular, tick, report);
                self.begin_row(stream, place8(place), &row, follows);
            }
            return self.unexplained();
        }
        let Some(place) = place.filter(|_| access.start.get() == 0) else {
            return self.unexplained();
        };
        let Some(begun) = scan::expected(self.scan_request, access, moment) else {
            return self.unexplained();
        };
        streams[place].become_scan(access.pages(), begun.request, &mut report(place, observer));
        self.last = place8(place);
        let stream = &mut streams[place];
        let mut outcome = self.ask(stream, place8(place), access, now, moment, Came::default());
        if begun.reason == Reason::Reopened {
            outcome.decision.pattern = Pattern::Looping;
        }
        if outcome.decision.prefetch.count > 0 {
            outcome.decision.reason = begun.reason;
        }
        outcome
    }

    /// What was asked for of the run that `access` begins, unless another stream goes on with it.
    #[inline(never)]
    fn foreseen(&mut self, streams: &[Stream], found: Match, access: &Access) -> Option<Found> {
        if self.unexplained_run >= RANDOM_RUN.get() {
            // No run begins any more.
            let lost = self.beginnings.forget();
            self.lose(lost);
        }
        match found {
            Match::Continues(place) if streams[place].goes_on_with(access) => None,
            _ => self.beginnings.on_read(access.start.get()),
        }
    }

    /// `access` begins a run that was foreseen.
    #[inline(never)]
    fn begin_foreseen<O: Observer>(
        &mut self,
        streams: &mut [Stream],
        found: &Found,
        arrival: &mut Arrival<'_, impl FnOnce() -> Moment, O>,
    ) -> Outcome {
        let Arrival {
            access,
            now,
            moment,
            ..
        } = *arrival;
        let observer = &mut *arrival.observer;
        self.lose(found.passed);
        let pages = pages32(PageRange::new(access.start.get(), found.frontier).len());
        let Some(place) = self.add_candidate(streams, access, None, observer) else {
            self.lose(pages);
            return self.unexplained();
        };
        let others_stopped = matching::others_stopped(streams, place, self.tick);
        self.runs.on_begin(others_stopped);
        let stream = &mut streams[place];
        stream.become_scan(access.pages(), pages, &mut report(place, observer));
        stream.begin_inside(access, found.frontier, now);
        self.end_runs(streams, place);
        (self.last, self.unexplained_run) = (place8(place), 0);
        let stream = &mut streams[place];
        let covered = access.end.get() <= found.frontier;
        if !covered {
            return self.ask(stream, place8(place), access, now, moment, Came::default());
        }
        let decision = Decision::nothing(stream.pattern(), Reason::MarkerNotReached);
        Outcome::of(decision, stream.id(place8(place)), covered)
    }

    /// A young stream ran inside the window of `leader`: two threads of one reader, or a second one close behind.
    /// Overlapping windows would bring the same pages in twice, so the young one is gone.
    fn follow(&mut self, leader: &Stream, place: u8) -> Outcome {
        self.last = place;
        let decision = Decision::nothing(leader.pattern(), Reason::MarkerNotReached);
        Outcome::of(decision, leader.id(place), false)
    }

    fn unexplained(&mut self) -> Outcome {
        self.unexplained_run = self.unexplained_run.saturating_add(1);
        let random = self.unexplained_run >= RANDOM_RUN.get();
        let (pattern, reason) = if random {
            (Pattern::Random, Reason::RandomReads)
        } else {
            (Pattern::Unknown, Reason::NoPattern)
        };
        Outcome {
            decision: Decision::nothing(pattern, reason),
            ..Outcome::default()
        }
    }

    fn continue_stream<O: Observer>(
        &mut self,
        streams: &mut [Stream],
        place: u8,
        arrival: &mut Arrival<'_, impl FnOnce() -> Moment, O>,
    ) -> Outcome {
        let access = arrival.access;
        let stream = &streams[usize::from(place)];
        let came = Came {
            covered: stream.covers(access),
            in_turn: self.tick.wrapping_sub(stream.last_used()) > 1,
            hole: stream.hole_before(access),
        };
        if !self.move_on(streams, place, arrival, came) {
            let stream = &streams[usize::from(place)];
            let decision = Decision::nothing(stream.pattern(), Reason::MarkerNotReached);
            return Outcome::of(decision, stream.id(place), came.covered);
        }
        let stream = &mut streams[usize::from(place)];
        if came.covered {
            self.read_through_if_slow(stream, place, arrival);
        }
        let outcome = self.ask(stream, place, access, arrival.now, arrival.moment, came);
        if outcome.decision.prefetch.count > 0 {
            self.end_strides_inside(streams, place, arrival.observer);
        }
        outcome
    }

    /// The stream at `place` goes on with an access. Returns whether it is to ask. Not on the stack while it asks: the
    /// two are the deepest that a read in a handler of signals goes.
    #[inline(never)]
    fn move_on<O: Observer>(
        &mut self,
        streams: &mut [Stream],
        place: u8,
        arrival: &mut Arrival<'_, impl FnOnce() -> Moment, O>,
        came: Came,
    ) -> bool {
        let Arrival {
            access,
            now,
            moment,
            begins_run,
            ..
        } = *arrival;
        let observer = &mut *arrival.observer;
        let may_take_turns = streams[usize::from(place)].may_take_turns()
            && matching::is_alone(streams, place.into(), self.tick);
        let stream = &mut streams[usize::from(place)];
        if !begins_run && stream.has_ended() && stream.resume(access) {
            self.runs.on_resumed();
        } else if stream.continues_the_one_before(access) {
            stream.begin_at(access);
            self.runs.take_back();
        }
        let is_followed = self.rows_of(stream, place).is_some();
        let expected = is_followed.then(|| stream.expected_element());
        let mut report = Report {
            place,
            observer: &mut *observer,
        };
        // By pages the steps of most strides differ, by one.
        let goes_by_bytes = access.is_unaligned() && stream.may_stride_to(access);
        let stride = (goes_by_bytes || may_take_turns)
            .then(|| (self.recent).stride_of_run(access, stream.step_in_turn()))
            .flatten();
        // From there on was read before: nothing is asked for.
        let is_long_passed = stream.has_passed_long(access);
        // Not every access has to know how its device is.
        let read_on = (came.hole > 0)
            .then(|| self.reads_on(came.hole, moment))
            .filter(|how| stream.reads_on(came.hole, moment, *how));
        if read_on.is_some() && !moment.contested {
            self.on_read_through(stream, place, now);
        }
        let has_others = |grid: &Grid| self.recent.in_turn(access, grid).next().is_some();
        let takes_turns = may_take_turns && stride.as_ref().is_some_and(has_others);
        let seen = Seen {
            takes_turns,
            stride: stride.filter(|_| goes_by_bytes || takes_turns),
            waits: self.has_waited_lately(),
            is_read_on: read_on.is_some(),
            steps_needed: match read_on {
                None => Some(REGULAR_STEPS.get()),
                Some(ReadOn::Forward) => Some(self.recent.broken_strides.elements_needed()),
                Some(ReadOn::Any | ReadOn::None) => None,
            },
        };
        if stream.is_longer_than_asked(access) {
            self.recent.remember(access);
        }
        let elements = stream.elements_in_a_row();
        let mut step = stream.advance(access, &seen, self.tick, &mut report);
        let lost = pages32(step.lost);
        self.lose(lost);
        (self.recent.broken_strides).on_step(lost > 0 && step.has_broken, stream);
        if step.takes_turns {
            self.begin_others(streams, place, access, observer);
        }
        step.begins_row = self.on_row_step(streams, place, expected, access, observer);
        if streams[usize::from(place)].is_no_round(elements) {
            Self::end_candidates(streams, place, observer);
        }
        let stream = &mut streams[usize::from(place)];
        stream.time(now, step);
        self.unexplained_run = 0;
        let crossed = stream.marker_crossed() && !is_long_passed;
        if crossed || !self.debt.is_zero() || stream.has_holes() {
            self.debt
                .settle(step, access.pages(), came.covered, &moment.knobs);
        }
        crossed
    }

    fn ask(
        &mut self,
        stream: &mut Stream,
        place: u8,
        access: &Access,
        now: Timestamp,
        moment: &Moment,
        came: Came,
    ) -> Outcome {
        let pattern = stream.pattern();
        let id = stream.id(place);
        let outcome = |decision| Outcome::of(decision, id, came.covered);
        let rows = self.rows_of(stream, place);
        if let Some(reason) = self.refusal(stream, rows, moment, came.hole) {
            return outcome(Decision::nothing(pattern, reason));
        }
        if moment.device.has_one_arm() && self.looks_between(stream, access) {
            return outcome(Decision::nothing(pattern, Reason::DoesNotPay));
        }
        let learned = Learned {
            thrash_pages: self.thrash_pages,
            in_turn: came.in_turn,
            runs: &self.runs,
            rows,
        };
        let asked = stream.ask(access, now, moment, &learned);
        self.recent.rows.on_asked(asked.begins);
        if asked.reason == Reason::KernelAsks {
            self.left = pages32(moment.kernel_window);
        }
        if access.start.get() < u64::from(stream.request()) && stream.is_forward_run() {
            self.scan_request = stream.request();
        }
        if self.thrash_pages > 0 {
            // Memory may have come back: creep up, as the thresholds of 2006 did.
            self.thrash_pages = self
                .thrash_pages
                .saturating_add(self.thrash_pages / 128 + 1);
        }
        if asked.spare > 0
            && stream.is_forward_run()
            && let Some(prefetch) = self.foresee(stream.run_begin(), moment, &asked, came)
        {
            return outcome(Decision {
                prefetch,
                pattern,
                reason: Reason::BeginningForeseen,
            });
        }
        if self.beginnings.begins_in(asked.prefetch.first.pages()) {
            // The run goes on to there.
            self.beginnings.forget();
        }
        let decision = Decision {
            prefetch: asked.prefetch,
            pattern,
            reason: asked.reason,
        };
        Outcome {
            is_scan: asked.is_scan,
            ..outcome(decision)
        }
    }

    /// Why `stream` may not ask now.
    fn refusal(
        &self,
        stream: &Stream,
        rows: Option<&Rows>,
        moment: &Moment,
        hole: u64,
    ) -> Option<Reason> {
        let needed = match rows {
            Some(rows) if rows.are_known() => 0,
            _ => self.recent.broken_strides.elements_needed(),
        };
        match moment.knobs.readahead_ratio {
            0 => Some(Reason::TurnedOff),
            1 => Some(Reason::LeftToKernel),
            _ if !stream.is_trusted(needed) => Some(Reason::NoPattern),
            _ if self.debt.is_at_limit() => Some(Reason::HitRateLimit),
            _ if stream.is_left_to_kernel(hole, moment, |hole| self.reads_on(hole, moment)) => {
                Some(Reason::LeftToKernel)
            }
            _ => None,
        }
    }
}
