//! What is remembered of a file beside its streams, and the places of those: who gets one, and what is lost with who gives one up.

use super::arrival::{Arrival, Came};
use crate::adaptive::access::Access;
use crate::adaptive::beginnings::{Beginnings, SLACK_PAGES};
use crate::adaptive::hit_rate::Debt;
use crate::adaptive::matching;
use crate::adaptive::moment::Moment;
use crate::adaptive::observer::{Observer, Report, report};
use crate::adaptive::read_through::ReadThrough;
use crate::adaptive::recent::Recent;
use crate::adaptive::rounds::Rounds;
use crate::adaptive::runs::RunLengths;
use crate::adaptive::stray::Stray;
use crate::adaptive::stream::Stream;
use crate::adaptive::stream::asking::Asked;
use crate::adaptive::window::pages32;
use crate::decision::Prefetch;

/// What the policy remembers of one file, beside its streams. All zero is a file never read.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileStreams {
    /// Accesses so far, wrapping: the clock of this file.
    pub(super) tick: u32,
    /// Pages owed to the hit-rate limit.
    pub(super) debt: Debt,
    /// Accesses in a row that no stream explained.
    pub(super) unexplained_run: u16,
    /// The place of the stream of the newest access.
    pub(super) last: u8,
    /// Candidates that were pushed out before anything continued them.
    pub(super) evictions: u8,
    /// Evenly spaced streams, read in turn, that were taken for one stride.
    pub(super) rounds: Rounds,
    /// When it was closed the last time.
    pub(super) closed: u32,
    /// When accesses last had to wait for the device, or asked it for pages.
    pub(super) last_busy: u32,
    /// When an access last took as long as a wait.
    pub(super) last_wait: u32,
    /// Learned: more unread pages than this per stream were evicted. 0: never happened.
    pub(super) thrash_pages: u32,
    /// Pages given up unread, ever, up to 16 TiB.
    pub(super) wasted: u32,
    /// A scan from page 0 was seen: its request size, for the next scan.
    pub(super) scan_request: u32,
    /// Pages for which the scan of the newest access is left to the kernel, which asks for a window at a time itself; 0: it is
    /// not.
    pub(super) left: u32,
    /// How long runs were.
    pub(super) runs: RunLengths,
    /// Where they began.
    pub(super) beginnings: Beginnings,
    /// Accesses inside a window, far ahead of its reader.
    pub(super) stray: Stray,
    /// What no stream explained.
    pub(super) recent: Recent,
    /// Whether strides are read through.
    pub(super) through: ReadThrough,
}

impl FileStreams {
    /// `pages` were asked for in vain.
    #[inline]
    pub(super) fn lose(&mut self, pages: u32) {
        self.wasted = self.wasted.saturating_add(pages);
        self.debt.owe(pages);
    }

    /// A run ended after so many `pages`, and so many were asked for in vain behind its end.
    pub(super) fn on_run_ended(&mut self, pages: u32, lost: u32) {
        self.runs.on_end(pages);
        self.lose(lost);
        if self.runs.begins_to_be_believed() {
            self.debt.allow_one_more();
        }
    }

    /// Whether a run of `stream` has ended, and the next one begins with an access, ahead of it: then what was asked for from there on is its own.
    pub(super) fn begins_run<O>(
        &mut self,
        stream: &mut Stream,
        arrival: &Arrival<'_, impl FnOnce() -> Moment, O>,
    ) -> bool {
        let access = arrival.access;
        if !stream.is_left_for(access, arrival.moment) {
            return false;
        }
        if stream.has_read_once() {
            stream.begin_at(access);
            return false;
        }
        let pages = stream.run_pages();
        let lost = stream.begin_anew(access);
        let foreseen = self.beginnings.on_begin(access.start.get());
        self.on_run_ended(pages, lost.saturating_add(foreseen));
        true
    }

    /// The begin of the run behind the one that began at page `began`, or of some: what that one, which has `asked`, leaves undone.
    pub(super) fn foresee(
        &mut self,
        began: u64,
        moment: &Moment,
        asked: &Asked,
        came: Came,
    ) -> Option<Prefetch> {
        let device = &moment.device;
        let run_pages = self.runs.next(device)?;
        // No more than one more, or what keeps the device at work.
        let next_run = run_pages.saturating_add(SLACK_PAGES);
        let pages = (asked.spare).min(next_run.max(device.busy_request().get()));
        let file_pages = moment.file_pages.get();
        let goes_along = asked.is_bound && !came.in_turn && moment.has_only_arm();
        (self.beginnings).foresee(began, run_pages, pages, file_pages, goes_along)
    }

    /// Makes a candidate of `access`, not at the place `taken`. `None` when every stream is alive.
    pub(super) fn add_candidate<O: Observer>(
        &mut self,
        streams: &mut [Stream],
        access: &Access,
        taken: Option<usize>,
        observer: &mut O,
    ) -> Option<usize> {
        let place = self.free_place(streams, taken, observer)?;
        let report = &mut report(place, observer);
        streams[place].become_candidate(access.pages(), self.tick, report);
        Some(place)
    }

    /// A vacant place, made by giving a stream up if need be; not the place `taken`.
    pub(super) fn free_place<O: Observer>(
        &mut self,
        streams: &mut [Stream],
        taken: Option<usize>,
        observer: &mut O,
    ) -> Option<usize> {
        let runs_stop = self.runs.stop_before_others();
        let place = matching::place_for_candidate(streams, self.tick, taken, runs_stop);
        let Some(place) = place else {
            self.evictions = self.evictions.saturating_add(1);
            return None;
        };
        if runs_stop && streams[place].is_short_run() {
            self.runs.on_end(streams[place].run_pages());
        }
        self.give_up(&mut streams[place], &mut report(place, observer));
        Some(place)
    }

    /// Gives up the streams of which `is_one` says so; how many they were.
    pub(super) fn give_up_those<O: Observer>(
        &mut self,
        streams: &mut [Stream],
        observer: &mut O,
        is_one: impl Fn(&Stream) -> bool,
    ) -> u8 {
        let mut count = 0;
        for (place, stream) in streams.iter_mut().enumerate() {
            if is_one(stream) {
                self.give_up(stream, &mut report(place, observer));
                count += 1;
            }
        }
        count
    }

    pub(super) fn give_up<O: Observer>(&mut self, stream: &mut Stream, report: &mut Report<'_, O>) {
        let unread = pages32(stream.unread());
        if stream.is_candidate() || stream.is_doubtful() || stream.has_ended() {
            self.evictions = self.evictions.saturating_add(1);
        }
        self.lose(unread);
        stream.vacate(report);
    }
}
