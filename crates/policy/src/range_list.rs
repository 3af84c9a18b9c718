//! The list of ranges that a file was read by, for when it is read by it again.
//!
//! A reader that follows an index, or goes through records in an order that was shuffled once, jumps from range to
//! range in no order that could be foreseen, until it does the same again. So the ranges of a file are written down as
//! they come, each with the page where it begins and the pages that were read before the next one began. What
//! comes again is found by its begin; once three in a row have come as they did before, those behind them are
//! asked for, some ahead of the reader.
//!
//! ```text
//!  ranges   a b c d e f g h i …            written down as they come
//!  reader           d e f                  three as before: followed
//!                         g h i j          asked for, as many as are wanted
//! ```
//!
//! The list begins again where the first range that came again lies, so a loop is followed round and round. Ranges that
//! are left out are passed over, and some others in between change nothing. What fails is tried less and less: each
//! time twice as many have to come as before. A list that is full and followed no more is written anew.
//!
//! A range that was read in several reads towards the end of the file is as long as that run was, and a stream that reads
//! it again asks for nothing behind its end. Ranges too long for one request, and those that were read in another way, are
//! not asked for, and neither is what comes behind them: streams read those, and what comes next would be read in between.

use crate::adaptive::{ListedRange, Moment};
use crate::decision::Prefetch;
use ahead_units::{ByteRange, PAGE_BYTES, PageRange};

/// Ranges of a list. More are more memory for each file that is read at random, 10 bytes a range; fewer, and what
/// is read again is in memory still.
pub const RANGES_MAX: usize = 2048;

/// Places of the index, by the hash of a begin: half of them stay free.
const INDEX_PLACES: usize = 2 * RANGES_MAX;

/// Places that are looked at for one begin.
const PROBES: usize = 8;

/// Ranges that are asked for ahead of the reader, at least: an arm goes through them in the order of their places. Fewer,
/// and it goes to and fro; more, and more is in vain when the list ends (64 made a difference of one per cent, either
/// way).
const RANGES_SORTED: u64 = 16;

/// Ranges in a row that have to come as before. Two come by chance where few pages are read over and over.
const MATCHES_BELIEVED: u32 = 3;

/// Ranges that a reader may leave out and still be on its list.
const SKIPPED_MAX: usize = 8;

/// Ranges in a row that are not on the list at this place before it is followed no more.
const OTHERS_MAX: u8 = 4;

/// Longest range that is asked for: 2 MiB. It is asked for whole, and longer ones are streams after their second
/// read.
const RANGE_PAGES_MAX: u16 = 512;

/// Requests in a row that found everything in memory, after which it is a failure.
const CACHED_MAX: u8 = 8;

/// After so many failures in a row it is not tried less than before: one range in 8192.
const FAILURES_MAX: u8 = 10;

/// So many ranges have to come as before after the first failure, in powers of two.
const PENANCE_BITS: u8 = 3;

/// Requests that reached the device, for which a failure is forgiven.
const FORGIVEN_AFTER: u8 = 16;

/// Ranges that a list which is complete may miss before it is written anew, and how many of them one is worth that came
/// as before: a list stays as long as one range in five is on it.
const MISSED_MAX: u32 = 4 * 2048;
const MISSED_PER_MATCH: u32 = 4;

/// What a range was that began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Begun {
    /// It, as long as it was the last time; empty where the list is not followed, or does not know.
    pub listed: ListedRange,
    /// Pages of ranges that were asked for and are given up.
    pub lost: u32,
}

/// How much may be asked for.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    /// Ranges in front of the reader, at most.
    ranges: u64,
    /// Pages of all of them, at most.
    pages: u64,
    /// Pages of the file.
    file_pages: u64,
}

impl Ahead {
    /// As much as keeps the device at work, and waits in memory for the reader. `None`: nothing.
    fn of(moment: &Moment) -> Option<Self> {
        let ratio = u64::from(moment.knobs.readahead_ratio);
        let is_wanted = ratio >= 2 && !moment.is_left_alone && moment.unserved() > 0;
        // Where page numbers wrap, it is not known where a range lies.
        if !is_wanted || moment.file_pages.get() > u64::from(u32::MAX) {
            return None;
        }
        let device = &moment.device;
        let held = moment.threshold.get().saturating_mul(ratio) / 100;
        let pages = device.busy_request();
        Some(Self {
            ranges: moment.unserved().max(RANGES_SORTED),
            pages: pages.get().min(held / 2).min(moment.available.get()),
            file_pages: moment.file_pages.get(),
        })
    }
}

/// The ranges of one file, of which those of more than 16 TiB are not asked for.
#[derive(Clone, Debug)]
pub struct RangeList {
    starts: [u32; RANGES_MAX],
    pages: [u16; RANGES_MAX],
    /// Ranges by the hash of their begins, counted from 1.
    index: [u16; INDEX_PLACES],
    /// Ranges that were written down.
    known: usize,
    /// Where the list begins again behind its last range; `None` while it is written down.
    again: Option<usize>,
    /// The range whose length is not known yet.
    open: Option<usize>,
    /// Where what is followed was found, and how many ranges were known then.
    first: usize,
    known_before: usize,
    /// The range that is expected.
    next: usize,
    /// Ranges in a row that came as before, not counting others in between. 0: the list is not followed.
    matched: u32,
    /// Others in a row.
    others: u8,
    /// The range that is read now is one that is asked for.
    is_short: bool,
    /// Ranges from `next` on that were asked for, and their pages.
    asked: usize,
    asked_pages: u32,
    /// Of these, the ones of the newest request.
    newest: usize,
    /// Requests in a row that found everything in memory.
    cached: u8,
    failures: u8,
    /// Ranges that have to come as before until it is tried again.
    penance: u32,
    /// Requests since the newest failure that reached the device.
    useful: u8,
    /// Ranges that came and were not on the list.
    missed: u32,
}

impl Default for RangeList {
    fn default() -> Self {
        Self::new()
    }
}

fn hash(start: u32) -> usize {
    (start.wrapping_mul(0x9e37_79b9) >> 16) as usize
}

#[expect(clippy::cast_possible_truncation, reason = "it wraps")]
const fn wrapped(page: u64) -> u32 {
    page as u32
}

impl RangeList {
    /// Of a file that was not read.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            starts: [0; RANGES_MAX],
            pages: [0; RANGES_MAX],
            index: [0; INDEX_PLACES],
            known: 0,
            again: None,
            open: None,
            first: 0,
            known_before: 0,
            next: 0,
            matched: 0,
            others: 0,
            is_short: false,
            asked: 0,
            asked_pages: 0,
            newest: 0,
            cached: 0,
            failures: 0,
            penance: 0,
            useful: 0,
            missed: 0,
        }
    }

    /// A range begins with the read of `access`. `read` pages were read since the one before it began, and `run` is the
    /// run towards the end of the file that was read last, if there was one.
    pub fn on_begin(&mut self, access: PageRange, read: u64, run: Option<PageRange>) -> Begun {
        if let Some(open) = self.open.take()
            && read > u64::from(self.pages[open])
        {
            let run = run.filter(|run| wrapped(run.start.get()) == self.starts[open]);
            let pages = run.map_or(u64::MAX, |run| run.len().get());
            self.pages[open] = u16::try_from(pages).unwrap_or(u16::MAX);
        }
        let start = wrapped(access.start.get());
        let mut begun = Begun::default();
        if self.matched > 0 {
            if let Some(skipped) = self.expected(start) {
                begun = self.move_on(skipped, access);
            } else if self.is_believed() && self.others < OTHERS_MAX {
                self.others += 1;
                return begun;
            } else {
                begun.lost = self.stop();
            }
        }
        if self.matched == 0
            && let Some(found) = self.find(start)
        {
            (self.first, self.known_before) = (found, self.known);
            (self.next, self.matched, self.others) = (self.behind(found, 1), 1, 0);
        }
        self.write_down(start, access.len().get());
        begun
    }

    /// How many of the ranges that come next are left out if this begin is one of them.
    fn expected(&self, start: u32) -> Option<usize> {
        // Of some hundred ranges one of the next nine comes by chance too often.
        let most = if self.is_believed() { SKIPPED_MAX } else { 0 };
        (0..=most.min(self.known)).find(|skipped| {
            let place = self.behind(self.next, *skipped);
            place < self.known && self.starts[place] == start
        })
    }

    /// The range `count` behind the one at `place`; none is at [`Self::known`].
    fn behind(&self, place: usize, count: usize) -> usize {
        let end = self.known;
        match self.again {
            Some(again) if place + count >= end && again < end => {
                again + (place + count - end) % (end - again)
            }
            _ => (place + count).min(end),
        }
    }

    fn is_believed(&self) -> bool {
        self.matched >= MATCHES_BELIEVED
    }

    fn move_on(&mut self, skipped: usize, access: PageRange) -> Begun {
        let passed = skipped.min(self.asked);
        let is_covered = skipped < self.asked;
        let lost = self.take_asked(passed);
        self.next = self.behind(self.next, skipped);
        if is_covered {
            self.take_asked(1);
        }
        let pages = u64::from(self.pages[self.next]);
        self.next = self.behind(self.next, 1);
        self.others = 0;
        self.matched = self.matched.saturating_add(1);
        self.penance = self.penance.saturating_sub(1);
        if self.matched == MATCHES_BELIEVED && self.again.is_none() {
            self.close();
        }
        let start = access.start.get();
        self.is_short = pages <= RANGE_PAGES_MAX.into();
        let is_known = self.is_believed() && self.is_short;
        let end = if is_known { start + pages } else { start };
        let range = PageRange::new(start, end);
        let listed = ListedRange { range, is_covered };
        Begun { listed, lost }
    }

    /// The newest ranges are the begin of what is followed: the list ends in front of them, and begins again where
    /// they were before. Of one that is full it is not known what follows.
    fn close(&mut self) {
        if self.known_before == RANGES_MAX {
            self.again = Some(RANGES_MAX);
            return;
        }
        (self.known, self.again, self.open) = (self.known_before, Some(self.first), None);
        self.next = self.behind(self.next.min(self.known), 0);
    }

    /// Follows the list no more. Returns the pages that were asked for and are given up.
    fn stop(&mut self) -> u32 {
        if self.asked > 0 {
            self.fail();
        }
        self.matched = 0;
        self.take_asked(self.asked)
    }

    fn fail(&mut self) {
        self.useful = 0;
        self.failures = (self.failures + 1).min(FAILURES_MAX);
        self.penance = 1 << (self.failures + PENANCE_BITS);
    }

    /// The next `count` ranges are asked for no more. Returns their pages.
    fn take_asked(&mut self, count: usize) -> u32 {
        let pages = (0..count)
            .map(|step| u32::from(self.pages[self.behind(self.next, step) % RANGES_MAX]))
            .sum();
        self.asked -= count;
        self.newest = self.newest.min(self.asked);
        self.asked_pages = self.asked_pages.saturating_sub(pages);
        pages
    }

    fn find(&self, start: u32) -> Option<usize> {
        let probes = (0..PROBES).map(|probe| self.index[(hash(start) + probe) % INDEX_PLACES]);
        let mut taken = probes.take_while(|place| *place > 0);
        let found = taken.find(|place| self.starts[usize::from(*place) - 1] == start)?;
        Some(usize::from(found) - 1).filter(|place| *place < self.known)
    }

    fn write_down(&mut self, start: u32, pages: u64) {
        if self.is_believed() {
            self.missed = self.missed.saturating_sub(MISSED_PER_MATCH);
            return;
        }
        self.missed += 1;
        let is_full = self.known == RANGES_MAX || self.again.is_some();
        if is_full && self.missed > MISSED_MAX {
            *self = Self {
                failures: self.failures,
                ..Self::new()
            };
        } else if is_full {
            return;
        }
        let place = self.known;
        self.starts[place] = start;
        self.pages[place] = u16::try_from(pages).unwrap_or(u16::MAX);
        (self.known, self.open) = (place + 1, Some(place));
        if self.find(start).is_none() {
            let mut probes = (0..PROBES).map(|probe| (hash(start) + probe) % INDEX_PLACES);
            if let Some(free) = probes.find(|probe| self.index[*probe] == 0) {
                self.index[free] = u16::try_from(place + 1).unwrap_or(0);
            }
        }
    }

    /// What to ask for now: one range or two that come next.
    pub fn ask(&mut self, moment: &Moment) -> Option<Prefetch> {
        self.ask_ahead(&Ahead::of(moment)?)
    }

    fn ask_ahead(&mut self, ahead: &Ahead) -> Option<Prefetch> {
        let is_on_list = self.is_believed() && self.is_short && self.others == 0;
        if !is_on_list || self.penance > 0 {
            return None;
        }
        let first = self.next_range(0, ahead)?;
        let second = self
            .next_range(1, ahead)
            .filter(|second| is_alike(first, *second))
            .filter(|second| {
                let pages = first.1.max(second.1);
                let (start, end) = (u64::from(second.0), u64::from(second.0) + pages);
                start != u64::from(first.0)
                    && end <= ahead.file_pages
                    && u64::from(self.asked_pages) + 2 * pages <= ahead.pages
            });
        let (pages, period, count) = match second {
            Some(second) => {
                let period = i64::from(second.0) - i64::from(first.0);
                (first.1.max(second.1), period, 2)
            }
            None => (first.1, 0, 1),
        };
        for _ in 0..count {
            let place = self.behind(self.next, self.asked);
            self.asked_pages += u32::from(self.pages[place]);
            self.asked += 1;
        }
        self.newest = count;
        let start = u64::from(first.0);
        Some(Prefetch {
            first: ByteRange::from(PageRange::new(start, start + pages)),
            period: period * PAGE_BYTES.cast_signed(),
            count: u32::try_from(count).unwrap_or(1),
        })
    }

    /// Begin and pages of the range `further` behind those that were asked for, if it may be asked for.
    fn next_range(&self, further: usize, ahead: &Ahead) -> Option<(u32, u64)> {
        let count = self.asked + further;
        let place = self.behind(self.next, count);
        if place >= self.known || count as u64 >= ahead.ranges || count + 1 >= self.known {
            return None;
        }
        let (start, pages) = (self.starts[place], u64::from(self.pages[place]));
        let is_short = self.pages[place] <= RANGE_PAGES_MAX;
        let fits = u64::from(self.asked_pages) + pages <= ahead.pages
            && u64::from(start) + pages <= ahead.file_pages;
        (is_short && fits && pages > 0).then_some((start, pages))
    }

    /// All of the newest request was in memory.
    pub fn on_cached(&mut self) {
        self.cached += 1;
        if self.cached >= CACHED_MAX {
            self.cached = 0;
            self.fail();
        }
    }

    /// Some of the newest request was not in memory, or that is not known.
    pub fn on_not_cached(&mut self) {
        self.cached = 0;
        self.useful += 1;
        if self.useful >= FORGIVEN_AFTER {
            self.useful = 0;
            self.failures = self.failures.saturating_sub(1);
        }
    }

    /// The newest request did not reach the device.
    pub fn on_refused(&mut self) {
        for _ in 0..self.newest {
            self.asked -= 1;
            let place = self.behind(self.next, self.asked);
            let pages = u32::from(self.pages[place]);
            self.asked_pages = self.asked_pages.saturating_sub(pages);
        }
        self.newest = 0;
    }

    /// Nothing that was asked for is wanted any more. Returns its pages.
    pub fn forget_asked(&mut self) -> u32 {
        self.take_asked(self.asked)
    }

    /// Pages asked for of ranges that have not begun.
    #[must_use]
    pub fn unread(&self) -> u32 {
        self.asked_pages
    }
}

/// Whether two ranges may be asked for as ranges of one length.
fn is_alike(first: (u32, u64), second: (u32, u64)) -> bool {
    let (least, most) = (first.1.min(second.1), first.1.max(second.1));
    most - least <= least / 4
}

#[cfg(test)]
mod tests;
