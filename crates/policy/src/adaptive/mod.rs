//! The shipped policy: decides per file and per stream, from what the program read so far.
//!
//! One could implement it from this page.
//!
//! **Streams first.** A file has a small table of streams. An access goes to the stream that
//! expected it (`matching`); what no stream expected becomes a candidate, and two candidates that
//! touch, or three that are evenly spaced, become a stream. So several scans over one descriptor,
//! a parallel server whose requests arrive shuffled, and a scan with random lookups in between
//! are each seen for what they are. Streams belong to the file, not to the descriptor: they
//! outlive close and reopen.
//!
//! **Windows** (`window`). A stream that is trusted asks for a request, and for the next one
//! when the reader reaches the first page of the newest (the marker). Requests double from
//! 128 KiB up to what the device estimate says: enough to cover an access where the stream has
//! the device to itself, a·b·u/(1−u) where each request has to be positioned for.
//!
//! **Feedback.** A reader that waits inside its window earns a larger one. Windows found in
//! memory already are asked for less and less. Evicted pages halve the window and are remembered
//! as the thrashing threshold.
//!
//! **The hit rate is a limit** (`hit_rate`). Pages that were brought in and given up unread, and pages of
//! holes that were read through, are a debt. Each accessed page pays `readahead_hit_rate` pages
//! of it, or one less when it was prefetched itself. A file in debt gets nothing. With the
//! default of 1, holes cannot be paid for: sparse streams are left to the kernel, which reads
//! through them.
//!
//! **Random costs nothing.** Accesses without a stream ask for nothing; while no access waits for
//! the device only eight accesses of 256 are looked at closely.

mod hit_rate;
mod matching;
mod stream;
mod window;

use crate::decision::Decision;
use crate::reason::{Pattern, Reason};
use crate::stock;
use ahead_units::{PageCount, PageRange};
use hit_rate::Debt;
use matching::{RECENT, Unexplained};
pub use stream::Stream;
/// Place of a stream in its table.
pub type StreamId = u8;
use stream::{Fit, Shape, pages32};
pub use window::Moment;

/// Pages of the longest possible file: offsets have 63 bits. Accesses beyond are nobody's, so
/// that page arithmetic has room on both sides.
const PAGES_MAX: u64 = 1 << 51;

/// Streams of a file that has few.
pub const STREAMS_FEW: usize = 4;
/// Streams of a file that has many.
pub const STREAMS_MANY: usize = 64;

/// Accesses in a row without a stream after which a file counts as random.
const RANDOM_RUN: u16 = 64;

/// Accesses for which no wide comb is believed after one turned out to be a round over streams.
const ROUNDS_REMEMBERED: u32 = 1 << 16;

/// First request of a repeated scan, at most: 1 MiB. The header of a file is read more often than
/// the file.
const SCAN_AGAIN_PAGES_MAX: u32 = 256;

/// Accesses without a wait or a request after which a file counts as being in memory. A new stream
/// begins with a wait, so nothing is missed on a device; cached random reads cost next to nothing. It
/// has to be more than a window has requests of a shuffling server: 512 of 4 KiB in 2 MiB.
const CALM_ACCESSES: u32 = 1024;

/// Two waits within so many accesses are the device's doing.
const WAITS_TOGETHER: u32 = 64;

/// Candidates pushed out unused after which a file deserves the larger table.
const CROWDED_EVICTIONS: u8 = 8;

/// What the host is told about one access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What to do.
    pub decision: Decision,
    /// The stream it belongs to, for the feedback calls; `None` when no stream explains it.
    pub stream: Option<u8>,
    /// The access lies inside what was asked for earlier.
    pub covered: bool,
}

/// What [`FileStreams::on_quick_access`] could do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quick {
    /// One more step of this stream, inside its window.
    Step(u8),
    /// Nothing that needs a look.
    Calm,
    /// Nothing was done: [`FileStreams::on_access`] has to look.
    No,
}

/// A scan that is expected.
#[derive(Clone, Copy, Debug)]
struct Begun {
    /// Pages of its first request.
    window: u32,
    /// Why it is expected.
    reason: Reason,
}

/// What the policy remembers of one file, beside its streams. All zero is a file never read.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileStreams {
    /// Accesses so far, wrapping: the clock of this file.
    tick: u32,
    /// Pages owed to the hit-rate limit.
    debt: Debt,
    /// Accesses in a row that no stream explained.
    unexplained_run: u16,
    /// The stream of the newest access.
    last: u8,
    /// Candidates that were pushed out before anything continued them.
    evictions: u8,
    /// Place of the newest entry in `recent`.
    newest: u8,
    /// When evenly spaced streams, read in turn, were last taken for a comb. 0: never.
    rounds_seen: u32,
    /// When accesses last had to wait for the device, or asked it for pages.
    last_busy: u32,
    /// When an access last took as long as a wait.
    last_wait: u32,
    /// Learned: more unread pages than this per stream were evicted. 0: never happened.
    thrash_pages: u32,
    /// Pages given up unread, ever.
    wasted: u64,
    /// A scan from page 0 was seen: its request size, for the next scan.
    scan_window: u32,
    recent: [Unexplained; RECENT],
}

impl FileStreams {
    /// The quick half of [`Self::on_access`], for callers that count nanoseconds. It answers what
    /// asks for nothing: the exact step of a learned stream inside its window, and most reads of
    /// a file in which nobody waits. [`Quick::No`] has changed nothing.
    #[inline]
    pub fn on_quick_access(&mut self, streams: &mut [Stream], access: PageRange) -> Quick {
        let tick = self.tick.wrapping_add(1);
        let hint = streams
            .get(usize::from(self.last))
            .map_or(0, |last| last.successor);
        if let Some(stream) = streams.get_mut(usize::from(hint))
            && stream.is_settled()
            && stream.step(access, tick)
        {
            self.tick = tick;
            self.last = hint;
            self.unexplained_run = 0;
            return Quick::Step(hint);
        }
        if self.is_calm(tick) {
            // A stream that would have to ask must not be missed.
            let awaited = streams
                .get(usize::from(hint))
                .map_or(Fit::None, |s| s.fit(access));
            if awaited == Fit::None {
                self.tick = tick;
                return Quick::Calm;
            }
        }
        Quick::No
    }

    /// Nobody has waited for long, so everything is in memory: only eight accesses of 256 are
    /// looked at closely.
    fn is_calm(&self, tick: u32) -> bool {
        tick.wrapping_sub(self.last_busy) >= CALM_ACCESSES && tick & 255 >= 8
    }

    /// The program reads `access`. Call before the read, so that what it wants and what comes
    /// next reach the device together.
    ///
    /// `streams` is this file's table, always the same one or a longer copy of it, between 1 and
    /// [`STREAMS_MANY`] places.
    /// `moment` is only asked for when more than a counter has to change.
    pub fn on_access(
        &mut self,
        streams: &mut [Stream],
        access: PageRange,
        moment: impl FnOnce() -> Moment,
    ) -> Outcome {
        if access.end.get() > PAGES_MAX {
            return Outcome::default();
        }
        self.tick = self.tick.wrapping_add(1);
        let hint = streams
            .get(usize::from(self.last))
            .map_or(0, |last| last.successor);
        if let Some(stream) = streams.get_mut(usize::from(hint))
            && stream.shape != Shape::Candidate
            && !stream.is_doubtful()
            && stream.fit(access) == Fit::Exact
        {
            self.last = hint;
            return self.continue_stream(stream, hint, access, moment);
        }
        self.search(streams, access, moment)
    }

    /// Not where it was expected: look at all streams, then for a new one.
    fn search(
        &mut self,
        streams: &mut [Stream],
        access: PageRange,
        moment: impl FnOnce() -> Moment,
    ) -> Outcome {
        if access.is_empty() || streams.is_empty() {
            return Outcome::default();
        }
        if self.is_calm(self.tick) {
            return self.unexplained(Reason::NoPattern);
        }
        if let Some((place, _)) = matching::best(streams, access) {
            let place8 = u8::try_from(place).unwrap_or(0);
            if let Some(last) = streams.get_mut(usize::from(self.last)) {
                last.successor = place8;
            }
            self.last = place8;
            if streams[place].shape == Shape::Candidate {
                self.unmask_rounds(streams, streams[place].frontier);
            } else if streams[place].is_doubtful() {
                self.add_candidate(streams, Stream::candidate(access, self.tick), Some(place));
            }
            let outcome = self.continue_stream(&mut streams[place], place8, access, moment);
            if streams[place].hits == 1
                && outcome.decision.prefetch.count > 0
                && let Some(leader) = matching::leader(streams, place)
            {
                return self.follow(streams, place, leader);
            }
            return outcome;
        }
        if let Some(leader) = streams.iter().position(|stream| stream.holds(access)) {
            let stream = Some(u8::try_from(leader).unwrap_or(0));
            let decision = Decision::nothing(streams[leader].pattern(), Reason::MarkerNotReached);
            return Outcome {
                decision,
                stream,
                covered: true,
            };
        }
        let newest = usize::from(self.newest);
        let rounds =
            self.tick.wrapping_sub(self.rounds_seen) < ROUNDS_REMEMBERED && self.rounds_seen != 0;
        let comb = matching::comb_period(&self.recent, newest, access)
            .filter(|period| !rounds || period.unsigned_abs() <= stream::YOUNG_GAP_PAGES);
        self.newest =
            u8::try_from(matching::remember(&mut self.recent, newest, access)).unwrap_or(0);
        let place = self.add_candidate(streams, Stream::candidate(access, self.tick), None);
        if let Some(period) = comb {
            let comb = Stream::strided(access, period, self.tick);
            self.add_candidate(streams, comb, place);
        } else if let Some(place) = place
            && access.start.get() == 0
        {
            let moment = moment();
            let place8 = u8::try_from(place).unwrap_or(0);
            // Where the kernel's first window holds the file, a call of ours brings nothing.
            let first = stock::first_window(access.len().get(), window::FIRST_WINDOW_PAGES);
            let small = moment.file_pages <= moment.expected && moment.file_pages.get() > first;
            if self.scan_window > 0 {
                let window = self.scan_window.min(SCAN_AGAIN_PAGES_MAX);
                let begun = Begun {
                    window,
                    reason: Reason::Reopened,
                };
                return self.begin_scan(&mut streams[place], place8, access, &moment, begun);
            } else if small {
                let begun = Begun {
                    window: pages32(moment.file_pages),
                    reason: Reason::ExpectedWhole,
                };
                return self.begin_scan(&mut streams[place], place8, access, &moment, begun);
            }
        }
        self.unexplained(Reason::NoPattern)
    }

    /// The young stream at `place` runs inside the window of `leader`: two threads of one parallel
    /// reader, or a second reader close behind. Overlapping windows would bring the same pages in
    /// twice, so the young one goes.
    fn follow(&mut self, streams: &mut [Stream], place: usize, leader: usize) -> Outcome {
        streams[place] = Stream::default();
        let leader8 = u8::try_from(leader).unwrap_or(0);
        self.last = leader8;
        let decision = Decision::nothing(streams[leader].pattern(), Reason::MarkerNotReached);
        Outcome {
            decision,
            stream: Some(leader8),
            covered: false,
        }
    }

    /// Something continues the access at `start`. If that was an element of a wide comb, the comb
    /// was a round over several streams: it goes, and none is believed for a while.
    fn unmask_rounds(&mut self, streams: &mut [Stream], start: u64) {
        for stream in streams {
            if stream.is_wide_comb() && stream.has_element(start) {
                self.rounds_seen = self.tick.max(1);
                self.give_up(stream);
            }
        }
    }

    /// Puts `stream` into the table, not at `taken`. `None` when every stream there is alive.
    fn add_candidate(
        &mut self,
        streams: &mut [Stream],
        stream: Stream,
        taken: Option<usize>,
    ) -> Option<usize> {
        let Some(place) = matching::place_for_candidate(streams, self.tick, taken) else {
            self.evictions = self.evictions.saturating_add(1);
            return None;
        };
        self.give_up(&mut streams[place]);
        streams[place] = stream;
        streams[place].successor = u8::try_from(place).unwrap_or(0);
        Some(place)
    }

    fn unexplained(&mut self, reason: Reason) -> Outcome {
        self.unexplained_run = self.unexplained_run.saturating_add(1);
        let random = self.unexplained_run >= RANDOM_RUN;
        let (pattern, reason) = if random {
            (Pattern::Random, Reason::RandomReads)
        } else {
            (Pattern::Unknown, reason)
        };
        Outcome {
            decision: Decision::nothing(pattern, reason),
            ..Outcome::default()
        }
    }

    /// A scan is expected from the first access on: do not wait for the second.
    fn begin_scan(
        &mut self,
        stream: &mut Stream,
        place: u8,
        access: PageRange,
        moment: &Moment,
        begun: Begun,
    ) -> Outcome {
        stream.shape = Shape::Forward;
        stream.hits = 1;
        stream.frontier = access.start.get();
        stream.marker = access.start.get();
        stream.window = begun.window;
        self.last = place;
        let mut outcome = self.ask(stream, place, access, moment, false);
        if begun.reason == Reason::Reopened {
            outcome.decision.pattern = Pattern::Looping;
        }
        if outcome.decision.prefetch.count > 0 {
            outcome.decision.reason = begun.reason;
        }
        outcome
    }

    fn continue_stream(
        &mut self,
        stream: &mut Stream,
        place: u8,
        access: PageRange,
        moment: impl FnOnce() -> Moment,
    ) -> Outcome {
        let covered = stream.covers(access);
        let before = stream.next;
        let (shape, unread) = (stream.shape, stream.unread());
        stream.advance(access, self.tick);
        if stream.shape != shape {
            // The holes of a window that became a comb, the comb of a rule that broke.
            let lost = pages32(unread - stream.unread() - access.len());
            self.wasted += u64::from(lost);
            self.debt.owe(lost);
        }
        self.unexplained_run = 0;
        let crossed = stream.marker_crossed();
        if crossed || !self.debt.is_zero() || stream.has_holes() {
            let moment = moment();
            self.debt
                .settle(stream, before, access, covered, &moment.knobs);
            if crossed {
                return self.ask(stream, place, access, &moment, covered);
            }
        }
        let decision = Decision::nothing(stream.pattern(), Reason::MarkerNotReached);
        Outcome {
            decision,
            stream: Some(place),
            covered,
        }
    }

    fn ask(
        &mut self,
        stream: &mut Stream,
        place: u8,
        access: PageRange,
        moment: &Moment,
        covered: bool,
    ) -> Outcome {
        let pattern = stream.pattern();
        let refused = |reason| Outcome {
            decision: Decision::nothing(pattern, reason),
            stream: Some(place),
            covered,
        };
        match moment.knobs.readahead_ratio {
            0 => return refused(Reason::TurnedOff),
            1 => return refused(Reason::LeftToKernel),
            _ => {}
        }
        if !stream.is_trusted() {
            return refused(Reason::NoPattern);
        }
        if self.debt.is_at_limit() {
            return refused(Reason::HitRateLimit);
        }
        if stream.shape != Shape::Strided
            && stream.has_holes()
            && !window::holes_pay(stream, moment)
        {
            return refused(Reason::LeftToKernel);
        }
        let first = stream.window == 0;
        let asked = window::ask(stream, access, moment, self.thrash_pages);
        if access.start.get() < u64::from(stream.window) && stream.shape == Shape::Forward {
            self.scan_window = stream.window;
        }
        if self.thrash_pages > 0 {
            // Memory may have come back: creep up, as the thresholds of 2006 did.
            self.thrash_pages = self
                .thrash_pages
                .saturating_add(self.thrash_pages / 128 + 1);
        }
        let reason = match asked.reason {
            Reason::MarkerCrossed if first => Reason::StreamBegan,
            Reason::MarkerCrossed if stream.cached > 1 => Reason::AlreadyCached,
            Reason::MarkerCrossed if stream.boost > 0 => Reason::ReaderWaited,
            reason => reason,
        };
        let decision = Decision {
            prefetch: asked.prefetch,
            pattern,
            reason,
        };
        Outcome {
            decision,
            stream: Some(place),
            covered,
        }
    }

    fn give_up(&mut self, stream: &mut Stream) {
        let unread = pages32(stream.unread());
        if stream.shape == Shape::Candidate || stream.is_doubtful() {
            self.evictions = self.evictions.saturating_add(1);
        }
        self.wasted += u64::from(unread);
        self.debt.owe(unread);
        *stream = Stream::default();
    }

    /// The read of `access`, which [`Self::on_access`] gave to `stream`, had to wait for the device.
    pub fn on_wait(
        &mut self,
        streams: &mut [Stream],
        stream: Option<u8>,
        access: PageRange,
        covered: bool,
    ) {
        // One wait alone may be the processor's; a device makes several wait.
        if self.tick.wrapping_sub(self.last_wait) <= WAITS_TOGETHER {
            self.last_busy = self.tick;
        }
        self.last_wait = self.tick;
        let Some(stream) = stream.and_then(|place| streams.get_mut(usize::from(place))) else {
            return;
        };
        if stream.cached > 0 {
            // The part that was in memory is over: back to work, from here.
            stream.cached = 0;
            stream.window = 0;
            match stream.shape {
                Shape::Forward => {
                    stream.frontier = access.end.get();
                    stream.marker = access.start.get();
                }
                Shape::Backward => {
                    stream.frontier = access.start.get();
                    stream.marker = access.end.get();
                }
                _ => {
                    stream.frontier = stream.next;
                    stream.marker = access.start.get();
                }
            }
        } else if covered {
            window::grow_after_wait(stream);
        }
    }

    /// All pages of the newest request of `stream` were in memory already.
    pub fn on_cached(&mut self, streams: &mut [Stream], stream: Option<u8>) {
        if let Some(stream) = stream.and_then(|place| streams.get_mut(usize::from(place))) {
            stream.cached = stream.cached.saturating_add(1).min(8);
        }
    }

    /// Pages of the newest request of `stream` had to be read, or nobody knows: it counts as not in
    /// memory.
    pub fn on_not_cached(&mut self, streams: &mut [Stream], stream: Option<u8>) {
        self.last_busy = self.tick;
        if let Some(stream) = stream.and_then(|place| streams.get_mut(usize::from(place))) {
            stream.cached = 0;
        }
    }

    /// The newest request of `stream` did not reach the kernel: the window ends where the reader is.
    pub fn on_refused(&mut self, streams: &mut [Stream], stream: Option<u8>) {
        if let Some(stream) = stream.and_then(|place| streams.get_mut(usize::from(place))) {
            stream.forget_window();
        }
    }

    /// `evicted` pages of the window of `stream` are gone before they were read.
    pub fn on_thrashed(&mut self, streams: &mut [Stream], stream: Option<u8>, evicted: PageCount) {
        let Some(stream) = stream.and_then(|place| streams.get_mut(usize::from(place))) else {
            return;
        };
        let held = pages32(stream.unread()).max(8);
        let known = if self.thrash_pages == 0 {
            u32::MAX
        } else {
            self.thrash_pages
        };
        self.thrash_pages = (held / 2).min(known).max(8);
        stream.window = (stream.window / 2).max(4);
        stream.boost = 0;
        self.debt.owe(pages32(evicted));
        // Ask again from where the reader is.
        stream.forget_window();
    }

    /// Nobody reads the file any more: its windows are given up. Streams stay, for a reopen.
    pub fn on_idle(&mut self, streams: &mut [Stream]) -> PageCount {
        let mut wasted = 0;
        for stream in streams {
            let unread = stream.unread().get();
            if unread > 0 {
                wasted += unread;
                stream.forget_window();
                stream.window = 0;
            }
        }
        self.wasted += wasted;
        self.debt.owe(u32::try_from(wasted).unwrap_or(u32::MAX));
        PageCount::new(wasted)
    }

    /// Pages asked for and not yet reached, and how many streams have such pages.
    #[must_use]
    pub fn unread(&self, streams: &[Stream]) -> (PageCount, u32) {
        streams
            .iter()
            .fold((PageCount::new(0), 0), |(pages, windows), stream| {
                let unread = stream.unread();
                (pages + unread, windows + u32::from(unread.get() > 0))
            })
    }

    /// The asked-for pages nearest to the reader of `stream`: where an eviction would show.
    #[must_use]
    pub fn ahead(&self, streams: &[Stream], stream: Option<u8>) -> PageRange {
        stream
            .and_then(|place| streams.get(usize::from(place)))
            .map_or(PageRange::new(0, 0), Stream::ahead)
    }

    /// Pages given up unread, ever.
    #[must_use]
    pub fn wasted(&self) -> PageCount {
        PageCount::new(self.wasted)
    }

    /// Whether candidates push each other out: the host should copy the streams to a table of
    /// [`STREAMS_MANY`] places and pass that one from now on.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        self.evictions >= CROWDED_EVICTIONS
    }
}
