//! What the host learns after an access: waits, pages found in memory, refusals, evictions.
//!
//! Each call names the stream that an [`Outcome`](super::outcome::Outcome) named. If that stream was
//! replaced meanwhile, nothing is learned of it.

use super::FileStreams;
use crate::adaptive::id::StreamId;
use crate::adaptive::observer::report;
use crate::adaptive::stream::Stream;
use crate::adaptive::window::pages32;
use crate::steering::steering;
use ahead_units::{PageCount, PageRange};

steering! {
    /// Two waits within so many accesses are the device's doing. Fewer, and a device that makes a
    /// scan wait once in a request is not noticed in a file that counts as being in memory; more,
    /// and a busy processor looks like a device.
    /// Evidence: docs/results/evidence/WAITS_TOGETHER.csv
    WAITS_TOGETHER: u32 = 64;

    /// Candidates pushed out unused after which a file deserves the larger table. Fewer, and some
    /// random lookups cost 4 KiB; more, and the streams of a merge forget each other for longer.
    /// Evidence: docs/results/evidence/CROWDED_EVICTIONS.csv
    CROWDED_EVICTIONS: u8 = 8;

    /// Least number of unread pages that a thrashing threshold is learned from. Lower, and a stream
    /// that lost its last page is silenced; higher, and memory that is shorter than this thrashes
    /// on.
    /// Evidence: docs/results/evidence/THRASH_PAGES_MIN.csv
    THRASH_PAGES_MIN: u32 = 8;
}

/// How a run of a file went when the file was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosedRun {
    /// It reached the end of the file that it went to.
    ToTheEnd,
    /// It stopped before.
    Stopped {
        /// What was read.
        pages: u32,
        /// It went to the front of the file.
        is_backward: bool,
    },
}

/// The stream that `id` names, if it is still there.
fn find(streams: &mut [Stream], id: Option<StreamId>) -> Option<&mut Stream> {
    let id = id?;
    streams
        .get_mut(usize::from(id.place))
        .filter(|stream| stream.is(id))
}

impl FileStreams {
    /// The first page of a file of `file_pages` is about to be read. Runs that reached its end are over then: they have not stopped, so
    /// they say nothing about how far this one goes; and what made one of them go through the file may have it read again, so that the
    /// next accesses are looked at even if nothing has waited for long.
    pub fn on_start(&mut self, streams: &mut [Stream], file_pages: PageCount) {
        for (place, stream) in streams.iter_mut().enumerate() {
            if stream.has_reached(file_pages) {
                stream.vacate(&mut report(place, &mut ()));
                self.last_busy = self.tick;
            }
        }
    }

    /// Whether one of the last reads waited.
    pub(super) fn has_waited_lately(&self) -> bool {
        self.last_wait > 0 && self.tick.wrapping_sub(self.last_wait) <= WAITS_TOGETHER.get()
    }

    /// The read of `access`, which [`Self::on_access`] gave to `stream`, had to wait for the device.
    pub fn on_wait(
        &mut self,
        streams: &mut [Stream],
        stream: Option<StreamId>,
        access: PageRange,
        covered: bool,
    ) {
        // One wait alone may be the processor's; a device makes several wait.
        if self.has_waited_lately() {
            self.last_busy = self.tick;
        }
        self.last_wait = self.tick;
        if let Some(stream) = find(streams, stream) {
            stream.on_wait(access, covered);
        }
    }

    /// All pages of the newest request of `stream` were in memory already.
    pub fn on_cached(&mut self, streams: &mut [Stream], stream: Option<StreamId>) {
        if stream == Some(StreamId::FORESEEN) {
            self.beginnings.on_cached();
        } else if let Some(stream) = find(streams, stream) {
            stream.on_cached();
        }
    }

    /// Pages of the newest request of `stream` had to be read, or that is not known: then they count
    /// as not in memory.
    pub fn on_not_cached(&mut self, streams: &mut [Stream], stream: Option<StreamId>) {
        self.last_busy = self.tick;
        if let Some(stream) = find(streams, stream) {
            stream.on_not_cached();
        }
    }

    /// The newest request of `stream` did not reach the kernel: the window ends where the reader is.
    pub fn on_refused(&mut self, streams: &mut [Stream], stream: Option<StreamId>) {
        if stream == Some(StreamId::FORESEEN) {
            self.beginnings.on_refused();
        } else if let Some(stream) = find(streams, stream) {
            stream.forget_window();
        }
    }

    /// `evicted` pages of the window of `stream` are gone before they were read. The next request
    /// says so.
    pub fn on_thrashed(
        &mut self,
        streams: &mut [Stream],
        stream: Option<StreamId>,
        evicted: PageCount,
    ) {
        // What is found in memory is looked at in part only: what lies between was never asked for.
        let Some(stream) = find(streams, stream).filter(|stream| !stream.finds_in_memory()) else {
            return;
        };
        let least = THRASH_PAGES_MIN.get();
        let held = pages32(stream.unread()).max(least);
        let known = if self.thrash_pages == 0 {
            u32::MAX
        } else {
            self.thrash_pages
        };
        self.thrash_pages = (held / 2).min(known).max(least);
        stream.on_thrashed();
        self.debt.owe(pages32(evicted));
    }

    /// `pages` were asked for beside the streams, and are given up.
    pub fn on_lost(&mut self, pages: PageCount) {
        self.lose(pages32(pages));
    }

    /// Nothing reads the file any more: its windows are given up. Streams stay, for a reopen.
    pub fn on_idle(&mut self, streams: &mut [Stream]) -> PageCount {
        let mut wasted = PageCount::new(self.beginnings.forget().into());
        for stream in streams {
            let unread = stream.unread();
            if unread.get() > 0 {
                wasted = wasted + unread;
                stream.on_idle();
            }
        }
        self.lose(pages32(wasted));
        wasted
    }

    /// Pages asked for and not yet reached, and how many streams have such pages.
    #[must_use]
    pub fn unread(&self, streams: &[Stream]) -> (PageCount, u32) {
        let foreseen = self.beginnings.unread();
        let first = (PageCount::new(foreseen.into()), u32::from(foreseen > 0));
        streams.iter().fold(first, |(pages, windows), stream| {
            let unread = stream.unread();
            (pages + unread, windows + u32::from(unread.get() > 0))
        })
    }

    /// The asked-for pages nearest to the reader of `stream`: where an eviction would show.
    #[must_use]
    pub fn ahead(&self, streams: &[Stream], stream: Option<StreamId>) -> PageRange {
        stream
            .and_then(|id| {
                let stream = streams.get(usize::from(id.place));
                stream.filter(|stream| stream.is(id))
            })
            .map_or(PageRange::new(0, 0), Stream::ahead)
    }

    /// The file begins to be read, and others like it had runs of these lengths in pages, none of which reached the
    /// end of its file. What is known of this one counts more.
    pub fn expect_runs(&mut self, lengths: impl Iterator<Item = u32>) {
        lengths.for_each(|pages| self.runs.expect(pages));
    }

    /// Whether nothing was read of the file yet.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.tick == 0
    }

    /// The pages of the run that was read last, if it was one towards the end of the file.
    #[must_use]
    pub fn newest_run(&self, streams: &[Stream]) -> Option<PageRange> {
        let stream = streams.get(usize::from(self.last))?;
        let begin = stream.run_begin();
        (stream.goes_on() && stream.is_forward_run())
            .then(|| PageRange::new(begin, begin + u64::from(stream.run_pages())))
    }

    /// The file of `file_pages` is closed: tells how the runs went that were read since it was closed the last time. First those
    /// that are known to have ended, then the others, in the order of their newest reads. Where most of what those have read
    /// belongs to runs that reached the end of the file, that is all that is told.
    pub fn on_closed(
        &mut self,
        streams: &[Stream],
        file_pages: PageCount,
        mut tell: impl FnMut(ClosedRun),
    ) {
        let since = core::mem::replace(&mut self.closed, self.tick);
        let age = |stream: &Stream| stream.last_used().wrapping_sub(since);
        let is_news = |stream: &&Stream| {
            stream.goes_on() && stream.is_run() && (1..1 << 31).contains(&age(stream))
        };
        let read = streams.iter().filter(is_news);
        let (mut to_the_end, mut stopped) = (0, 0);
        for stream in read.clone() {
            if stream.has_gone_through(file_pages) {
                to_the_end += stream.run_pages();
            } else {
                stopped += stream.run_pages();
            }
        }
        if to_the_end > stopped {
            return tell(ClosedRun::ToTheEnd);
        }
        // Of those that ended earlier it is not known: as the newest one.
        let newest = streams.get(usize::from(self.last));
        let is_backward = newest.is_some_and(Stream::is_backward_run);
        self.runs
            .tell(|pages| tell(ClosedRun::Stopped { pages, is_backward }));
        let mut told = 0;
        while let Some(next) = (read.clone())
            .filter(|stream| age(stream) > told)
            .min_by_key(|stream| age(stream))
        {
            told = age(next);
            if !next.has_gone_through(file_pages) {
                tell(ClosedRun::Stopped {
                    pages: next.run_pages(),
                    is_backward: next.is_backward_run(),
                });
            }
        }
    }

    /// Whether enough runs have ended for their lengths to be believed.
    #[must_use]
    pub fn knows_runs(&self) -> bool {
        self.runs.are_believed()
    }

    /// Pages given up unread, ever.
    #[must_use]
    pub fn wasted(&self) -> PageCount {
        PageCount::new(self.wasted.into())
    }

    /// Whether candidates push each other out: the host should copy the streams to a table of
    /// [`STREAMS_MANY`](super::super::STREAMS_MANY) places and pass that one from now on.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        self.evictions >= CROWDED_EVICTIONS.get()
    }
}
