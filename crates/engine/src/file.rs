//! One file as the engine sees it: its streams, its account, and the steps of one access.
//!
//! The host makes sure that one thread at a time is in here; nothing in this file waits. What runs
//! when is the [session](crate::session)'s business.

use ahead_policy::adaptive::{
    ClosedRun, FileStreams, Moment, Outcome, Quick, STREAMS_FEW, Stream, StreamId,
};
use ahead_policy::decision::Decision;
use ahead_policy::knobs::Knobs;
use ahead_policy::reason::{Pattern, Reason};
use ahead_units::{ByteRange, PageCount, PageIndex, PageRange, Timestamp};

use crate::adviser::{Answer, CallsMade, Residency};
use crate::budget::Published;
use crate::device::{Ask, Device, LongRead};
use crate::devices::DevicePlace;
use crate::group::Group;
use crate::guard::Consumed;
use crate::range_lists::ListOf;
use crate::scans::By;
use crate::tally::Tally;
use crate::waiting::Waiting;

mod account;
mod around;
mod facts;
mod filled;
mod host;
mod limits;
mod long_reads;
mod stream_ends;
mod together;

pub use around::Around;
pub use facts::{FileFacts, Wait};

use filled::Filled;
use limits::Limits;
use long_reads::LongReads;
use stream_ends::ReadBefore;
use together::Together;

/// State of one file. The default is a file never read; all zero bytes are one too, for which
/// nothing is asked until it was opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileState {
    streams: FileStreams,
    few: [Stream; STREAMS_FEW],
    knobs: Knobs,
    device: DevicePlace,
    file_pages: PageCount,
    tally: Tally,
    /// What the account counted last.
    counted: PageRange,
    /// Pages that calls were made for and that are neither read nor given up: less than the windows hold where these were in memory.
    outstanding: u64,
    /// How many of those the newest read was of, where it was.
    served: Option<PageCount>,
    published: Published,
    wasted_told: u64,
    /// Pages read up to the newest word of its scans.
    scanned: u64,
    /// What the guard knows of the account.
    guarded: Consumed,
    /// When it asked, waited, or was opened last.
    active: Timestamp,
    /// How many of its reads wait at the same time.
    waiting: Waiting,
    /// Its list of ranges.
    list: ListOf,
    /// Whether elements of its strides come together.
    together: Together,
    /// How far it is filled in.
    filled: Filled,
    /// Reads that are longer than the kernel asks for at once.
    long_reads: LongReads,
    /// Was closed, and not read since.
    closed: bool,
    /// Was read from its start, and not yet to its end.
    from_start: bool,
    /// Was brought whole because that was expected.
    expected: bool,
    /// The program said that it reads the file from front to back.
    is_sequential: bool,
    /// It is copied inside the kernel, without reads.
    is_copied: bool,
    /// The kernel's window of its open file; `None`: that of the device.
    kernel_window: Option<PageCount>,
    /// While it is read from its start: all pages before this one were read.
    read_up_to: u64,
    /// Largest request so far, for the account.
    pub window: PageCount,
    /// The newest decision's pattern, for the account.
    pub pattern: Pattern,
    /// The newest decision's reason, for the account.
    pub reason: Reason,
}

/// A larger table of streams, lent by the host once [`FileState::wants_many`] says so.
pub type Many<'a> = Option<&'a mut [Stream]>;

impl FileState {
    /// The file was opened, or looked at again.
    pub fn on_open(&mut self, facts: &FileFacts, now: Timestamp) {
        if self.device != facts.device {
            (self.together, self.long_reads) = (Together::default(), LongReads::default());
        }
        self.filled.on_open();
        self.file_pages = facts.file_pages;
        self.device = facts.device;
        self.knobs = facts.knobs;
        (self.is_sequential, self.is_copied) = (false, false);
        self.kernel_window = None;
        self.active = now;
    }

    /// The quick half of [`Self::on_access`]. [`Quick::No`] has changed nothing.
    #[inline]
    pub fn on_quick_access(&mut self, many: Many<'_>, access: PageRange) -> Quick {
        if access.end.get() >= self.file_pages.get() || self.is_start(access) {
            // The end of a file says something about the next ones, and its start about the end.
            return Quick::No;
        }
        let quick = self
            .streams
            .on_quick_access(table(&mut self.few, many), access);
        if quick != Quick::No {
            self.count(access, matches!(quick, Quick::Step(_)));
            self.note_progress(access);
        }
        quick
    }

    /// Whether the file begins to be read with `access`, or begins again after its end.
    #[inline]
    fn is_start(&self, access: PageRange) -> bool {
        access.start.get() == 0 && !self.from_start
    }

    #[inline]
    fn note_progress(&mut self, access: PageRange) {
        if access.start.get() <= self.read_up_to {
            self.read_up_to = self.read_up_to.max(access.end.get());
        }
    }

    /// The program reads `bytes`. `asker` is any number that tells this file from others.
    pub fn on_access(
        &mut self,
        mut many: Many<'_>,
        bytes: impl Into<ByteRange>,
        around: &Around<'_>,
        asker: u64,
    ) -> Outcome {
        let bytes = bytes.into();
        let access = bytes.pages();
        let Around {
            group,
            device,
            has_lone_reads,
            now,
            ..
        } = *around;
        let (file_pages, knobs, is_sequential) = (self.file_pages, self.knobs, self.is_sequential);
        // Copies reach the kernel's read-ahead in pieces of a pipe (`splice_direct_to_actor`).
        let kernel_reads = if self.is_copied {
            PageCount::new(0)
        } else {
            access.len()
        };
        let (waiting, listed) = (self.waiting, self.list.listed);
        let window_of_file = self.kernel_window;
        let streams = group.budget.streams();
        self.closed = false;
        let is_start = self.is_start(access);
        if is_start {
            (self.from_start, self.read_up_to) = (true, 0);
            group.expectation.on_begun();
        }
        self.note_progress(access);
        let trial = self.together.trial((self.pattern, self.reason), around);
        let strides_are_left_alone = trial.is_none() && self.together.are_strides_left_alone();
        let moment = || Moment {
            knobs,
            device: trial.unwrap_or_else(|| device.estimate_to_ask_by()),
            file_pages,
            expected: group.expectation.pages(),
            threshold: group.budget.threshold(),
            available: group.budget.available(),
            kernel_window: device.kernel_window(kernel_reads, window_of_file),
            scans_are_left: device.scans().are_left(),
            streams,
            contested: around.is_contested(),
            lone_reads: has_lone_reads || device.has_lone_reads(),
            starved: device.is_starved(now),
            waiting: waiting.reads(now),
            listed,
            is_sequential,
            is_left_alone: group.guard.is_left_alone(),
            strides_are_left_alone,
        };
        if self.streams.is_new()
            && let Some(lengths) = group.closed_runs.expected(is_start)
        {
            self.streams.expect_runs(lengths);
        }
        let table = table(&mut self.few, many.as_deref_mut());
        if is_start {
            self.streams.on_start(table, file_pages);
        }
        let mut outcome = self.streams.on_access(table, bytes, now, moment);
        if outcome.stream.is_none() {
            let run = self.streams.newest_run(table);
            self.on_range(access, run, &mut outcome, around, moment);
        }
        (self.together).on_outcome(access, &outcome, trial.is_some(), around);
        self.on_outcome(many, access, &mut outcome, around, asker);
        outcome
    }

    /// Takes in what came of an access: counts, tells others, and fills in where nothing is asked for. Not on the stack
    /// while that is found out, which a handler of signals has little of.
    #[inline(never)]
    fn on_outcome(
        &mut self,
        many: Many<'_>,
        access: PageRange,
        outcome: &mut Outcome,
        around: &Around<'_>,
        asker: u64,
    ) {
        let Around {
            group,
            device,
            is_shared,
            now,
            ..
        } = *around;
        let limits = Limits {
            file_pages: self.file_pages,
            knobs: self.knobs,
            kernel_window: self.kernel_window,
            is_copied: self.is_copied,
            waiting: self.waiting,
        };
        let before = ReadBefore::counted(self.counted, &self.tally);
        let fills_in = (self.filled).on_read(access, before, outcome, &limits, around);
        if fills_in {
            self.active = now;
        }
        let in_file = access.before(PageIndex::new(limits.file_pages.get()));
        self.count(in_file, outcome.covered || self.filled.has_found());
        if outcome.decision.reason != Reason::MarkerNotReached {
            self.pattern = outcome.decision.pattern;
            self.reason = outcome.decision.reason;
        }
        let is_whole = (self.long_reads).on_read(access, asker, outcome, &limits, around);
        // Of a stride that is left alone it is found out by that reason whether it is better asked for.
        if is_whole && self.reason != Reason::DoesNotPay {
            self.reason = Reason::LongRead;
        }
        let asks = outcome.decision.prefetch.count > 0 && !fills_in && !is_whole;
        if asks {
            self.active = now;
            device.on_ask(&Ask {
                asker: asker << 8 | outcome.stream.map_or(0, |stream| stream.place.into()),
                is_first: outcome.decision.reason == Reason::StreamBegan,
                pages: outcome.decision.prefetch.pages(),
                place: outcome.decision.prefetch.one_range(),
                at: access.start,
                unread: group.budget.unread(),
                is_shared,
                now,
            });
            if outcome.decision.reason == Reason::ExpectedWhole {
                self.expected = true;
                group.expectation.on_asked();
            }
        }
        let at_end = access.end.get() >= limits.file_pages.get();
        // What is refused may be held by what this file has read since it asked last.
        let is_refused = outcome.decision.reason == Reason::BudgetUsed;
        let is_left = outcome.decision.reason == Reason::KernelAsks;
        if asks || at_end || is_refused || is_left {
            self.publish(many, group);
        }
        self.tell_scan(access, outcome, at_end, around);
        if at_end {
            self.end_scan(group);
        }
        self.tell_guard(group, now);
    }

    /// How far a scan has come, and who reads it ahead.
    fn tell_scan(
        &mut self,
        access: PageRange,
        outcome: &Outcome,
        at_end: bool,
        around: &Around<'_>,
    ) {
        if outcome.stream.is_none() {
            // What is read elsewhere is none.
            self.scanned = self.tally.pages;
        }
        let asks = outcome.is_scan && outcome.decision.prefetch.count > 0;
        let is_covered =
            at_end && outcome.covered && outcome.decision.pattern == Pattern::Sequential;
        let by = match outcome.decision.reason {
            Reason::KernelAsks => By::Kernel,
            _ if asks || is_covered => By::Requests,
            _ => return,
        };
        let read = self.tally.pages.wrapping_sub(self.scanned);
        let read = read.min(self.file_pages.get());
        self.scanned = self.tally.pages;
        if by == By::Kernel {
            let opening = around.device.scans().opening();
            opening.on_read(access, read, around.now);
        }
        let unread = around.group.budget.unread();
        around.device.on_scan(read, by, unread, around.now);
    }

    /// `access` belongs to no stream: it begins a range, which may be one of a list. `run` is the one that was read
    /// last.
    #[inline(never)]
    fn on_range(
        &mut self,
        access: PageRange,
        run: Option<PageRange>,
        outcome: &mut Outcome,
        around: &Around<'_>,
        moment: impl FnOnce() -> Moment,
    ) {
        let lists = &around.group.range_lists;
        let read = self.tally.pages.wrapping_sub(self.list.begun);
        self.list.begun = self.tally.pages;
        let Some(mut list) = lists.get_or_claim(&mut self.list, around.now) else {
            return;
        };
        let begun = list.on_begin(access, read, run);
        self.list.listed = begun.listed;
        outcome.covered = begun.listed.is_covered;
        if let Some(prefetch) = list.ask(&moment()) {
            outcome.decision = Decision {
                prefetch,
                pattern: Pattern::Looping,
                reason: Reason::SameAsLastTime,
            };
        }
        self.list.unread = list.unread();
        self.streams.on_lost(PageCount::new(begun.lost.into()));
    }

    /// What the account has of what the guard is to know.
    fn consumed(&self) -> Consumed {
        Consumed {
            read: self.tally.pages,
            useful: self.tally.inside,
            vain: self.streams.wasted().get(),
        }
    }

    fn tell_guard(&mut self, group: &Group, now: Timestamp) {
        let all = self.consumed();
        let news = all.since(core::mem::replace(&mut self.guarded, all));
        group.guard.on_consumed(news, &group.budget, now);
    }

    /// The end of the file was reached.
    fn end_scan(&mut self, group: &Group) {
        if !self.from_start {
            return;
        }
        if self.read_up_to >= self.file_pages.get() {
            group.expectation.on_whole(self.file_pages, self.expected);
            group.closed_runs.on_run(ClosedRun::ToTheEnd);
        } else {
            group.expectation.on_part(self.file_pages);
        }
        (self.from_start, self.expected) = (false, false);
    }

    /// Whether something that its streams asked for, or that it was filled in with, is not read yet.
    pub fn has_unread(&mut self, many: Many<'_>, group: &Group) -> bool {
        let (unread, _) = self.streams.unread(table(&mut self.few, many));
        unread.get() > 0 || self.filled.unread(group).get() > 0
    }

    /// Counts a read of `access`, none of which is behind the end of the file. Small reads share pages with the one before, which
    /// are read once.
    #[inline]
    fn count(&mut self, access: PageRange, is_covered: bool) {
        let before = core::mem::replace(&mut self.counted, access);
        let pages = access.len().get() - access.shared(before).get();
        self.tally.on_read(pages, is_covered);
        let useful = pages.min(self.outstanding);
        // What has no page of its own is as the read before it.
        let is_served = is_covered && (useful > 0 || pages == 0 && self.served.is_some());
        self.served = is_served.then_some(PageCount::new(useful));
        if is_served {
            self.outstanding -= useful;
            self.tally.on_served(useful);
        }
    }

    /// Calls were made for so many pages.
    fn count_asked(&mut self, pages: PageCount) {
        self.tally.prefetched += pages.get();
        self.outstanding += pages.get();
        self.window = self.window.max(pages);
    }

    /// So many pages ahead of a reader are gone: of these, calls were made for no more than are outstanding.
    fn count_thrashed(&mut self, evicted: PageCount) {
        let thrashed = evicted.get().min(self.outstanding);
        self.outstanding -= thrashed;
        self.tally.thrashed += thrashed;
    }

    /// Windows hold no more than `unread`: what else was outstanding was read with the access that asked for it, or is forgotten.
    fn limit_outstanding(&mut self, unread: PageCount) {
        let given_up = self.wasted().saturating_sub(self.wasted_told);
        self.outstanding = self.outstanding.min(unread.get() + given_up);
    }

    /// Pages that calls were made for and that were given up unread, so far.
    fn wasted(&self) -> u64 {
        self.streams.wasted().get() + self.filled.given_up()
    }

    /// Says to the budget what the windows of this file hold now.
    fn publish(&mut self, many: Many<'_>, group: &Group) {
        let (unread, windows) = self.streams.unread(table(&mut self.few, many));
        let listed = PageCount::new(self.list.unread.into());
        let windows = windows + u32::from(self.list.unread > 0);
        group
            .budget
            .publish(&mut self.published, unread + listed, windows);
        self.limit_outstanding(unread + listed + self.filled.unread(group));
    }

    /// What asking for the newest request of `stream` showed.
    pub fn on_answer(
        &mut self,
        mut many: Many<'_>,
        stream: Option<StreamId>,
        asked: CallsMade,
        group: &Group,
        device: &Device,
    ) {
        if stream == Some(StreamId::OWN_READ) {
            device.long_reads().on_answer(asked.answer);
            // Its own pages are read with it.
            self.tally.prefetched += asked.pages.get();
            self.tally.useful += asked.pages.min(self.counted.len()).get();
            self.window = self.window.max(asked.pages);
            return;
        }
        self.count_asked(asked.pages);
        self.together.on_answer(stream, asked.pages);
        let answer = asked.answer;
        if self.expected && self.reason == Reason::ExpectedWhole {
            group.expectation.on_found(answer == Answer::WasCached);
        }
        if stream == Some(StreamId::LISTED)
            && let Some(mut list) = group.range_lists.get(self.list)
        {
            match answer {
                Answer::WasCached => list.on_cached(),
                Answer::OnItsWay | Answer::Unknown => list.on_not_cached(),
                Answer::Refused | Answer::NotHere => list.on_refused(),
            }
            self.list.unread = list.unread();
        }
        let streams = table(&mut self.few, many.as_deref_mut());
        match answer {
            Answer::WasCached => self.streams.on_cached(streams, stream),
            Answer::OnItsWay | Answer::Unknown => self.streams.on_not_cached(streams, stream),
            Answer::Refused | Answer::NotHere => self.streams.on_refused(streams, stream),
        }
        self.publish(many, group);
    }

    /// The read of `access` had to wait. Evicted pages are looked for with `residency`.
    pub fn on_wait(
        &mut self,
        mut many: Many<'_>,
        wait: Wait,
        access: PageRange,
        around: &Around<'_>,
        residency: &impl Residency,
    ) {
        let Around {
            group,
            device,
            is_shared,
            now,
            ..
        } = *around;
        let Wait {
            stream,
            covered,
            served,
            filled_read,
            long_read,
            waited_ns,
        } = wait;
        self.active = now;
        self.waiting
            .on_wait(waited_ns, now, device.estimate().access_ns);
        self.tally.waits += 1;
        let in_file = access.before(PageIndex::new(self.file_pages.get()));
        (device.long_reads()).on_wait(long_read, in_file.len(), waited_ns);
        if long_read == LongRead::Whole {
            let late = self.tally.late + in_file.len().get();
            self.tally.late = late.min(self.tally.useful);
        } else {
            self.together.on_wait(waited_ns, covered, around);
        }
        let is_filled_in = filled_read.is_some_and(|filled_read| filled_read.is_filled_in());
        if let Some(filled_read) = filled_read {
            let is_alone = self.waiting.is_alone(now);
            self.filled
                .on_wait(filled_read, in_file, waited_ns, is_alone, around);
        }
        let streams = table(&mut self.few, many.as_deref_mut());
        self.streams.on_wait(streams, stream, access, covered);
        if let Some(pages) = served {
            self.tally.late += pages.get();
            self.tally.covered_waits += 1;
        }
        if is_filled_in {
            // It is behind what was asked for, and says nothing else.
            return;
        }
        if !covered {
            if stream.is_none() {
                device.on_lone_wait(waited_ns, access, is_shared, now);
            } else if self.reason == Reason::KernelAsks {
                // What the kernel has asked for is in front of those.
                device.scans().opening().on_wait(access, waited_ns);
            } else {
                device.on_first_wait(waited_ns, access, is_shared, now);
            }
            return;
        }
        device.on_late(waited_ns, now);
        // Late, or evicted before use? The pages that come next can tell.
        let ahead = self.streams.ahead(streams, stream);
        if ahead.is_empty() {
            return;
        }
        if let Some(evicted) = residency.evicted(ahead).filter(|pages| pages.get() > 0) {
            self.count_thrashed(evicted);
            let streams = table(&mut self.few, many.as_deref_mut());
            self.streams.on_thrashed(streams, stream, evicted);
            self.publish(many, group);
        }
    }

    /// A descriptor of the file was closed. Windows stay: many readers come back.
    pub fn on_close(&mut self, mut many: Many<'_>, group: &Group, now: Timestamp) {
        self.closed = true;
        self.active = now;
        self.publish(many.as_deref_mut(), group);
        group.budget.leave(&mut self.published);
        self.tell_guard(group, now);
        let table = table(&mut self.few, many);
        (self.streams).on_closed(table, self.file_pages, |run| group.closed_runs.on_run(run));
        if self.from_start && self.read_up_to < self.file_pages.get() {
            group.expectation.on_part(self.file_pages);
            (self.from_start, self.expected) = (false, false);
        }
    }

    /// The file is not read any more: its windows are given up and returned to the budget.
    pub fn on_idle(&mut self, many: Many<'_>, group: &Group) {
        self.streams.on_idle(table(&mut self.few, many));
        if let Some(mut list) = group.range_lists.get(self.list) {
            let lost = PageCount::new(list.forget_asked().into());
            self.streams.on_lost(lost);
        }
        self.list.unread = 0;
        self.filled.give_up(group);
        group
            .budget
            .publish(&mut self.published, PageCount::new(0), 0);
        self.limit_outstanding(PageCount::new(0));
    }
}

fn table<'a>(few: &'a mut [Stream; STREAMS_FEW], many: Many<'a>) -> &'a mut [Stream] {
    match many {
        Some(many) => many,
        None => few,
    }
}
