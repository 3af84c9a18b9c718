//! A reader, its file and the plainest page cache there is: sets of page numbers.
//!
//! The cache never evicts on its own and the device answers at once, so what a test sees is the
//! policy alone. [`Reader::read`] checks the promises that hold for every access.
#![allow(dead_code, unreachable_pub, reason = "each test uses another part")]

use std::collections::BTreeSet;

use ahead_policy::adaptive::{
    FileStreams, ListedRange, Moment, Observer, Outcome, Quick, STREAMS_FEW, STREAMS_MANY, Stream,
    StreamId, Transition,
};
use ahead_policy::device::DeviceEstimate;
use ahead_policy::knobs::Knobs;
use ahead_units::{ByteRange, PageCount, PageRange, Timestamp};

/// Keeps what streams did.
#[derive(Debug, Default)]
pub struct Witness(pub Vec<Transition>);

impl Observer for Witness {
    fn on_transition(&mut self, transition: Transition) {
        self.0.push(transition);
    }
}

/// Eight arms.
pub const ARRAY: DeviceEstimate = DeviceEstimate {
    depth: 8,
    ..DeviceEstimate::ARM
};

/// One file and everything the policy knows of it.
pub struct Reader {
    /// What the policy learns from outside.
    pub moment: Moment,
    /// The time of the next read; stands still unless a test moves it.
    pub now: Timestamp,
    policy: FileStreams,
    streams: Vec<Stream>,
    /// Whether all that is asked for is in memory already.
    pub in_memory: bool,
    /// Pages asked for, ever.
    pub asked: BTreeSet<u64>,
    /// Pages read, ever.
    pub read: BTreeSet<u64>,
    /// Pages asked for, counted as often as asked.
    pub asked_total: u64,
    /// Pages read, counted as often as read.
    pub read_total: u64,
    /// Calls that asked for something.
    pub requests: u64,
    /// Ranges that they asked for, each a request of the device.
    pub ranges: u64,
    /// Changes of shape, ever.
    pub seen: Witness,
}

impl Reader {
    /// A reader of a file of `pages` pages on an arm, with the knobs at their defaults.
    pub fn new(pages: u64) -> Self {
        Self {
            moment: Moment {
                knobs: Knobs::default(),
                device: DeviceEstimate::ARM,
                file_pages: PageCount::new(pages),
                expected: PageCount::new(0),
                threshold: PageCount::new(131_072),
                available: PageCount::new(65_536),
                kernel_window: PageCount::new(32),
                scans_are_left: false,
                streams: 1,
                contested: false,
                lone_reads: false,
                starved: false,
                waiting: 0,
                listed: ListedRange::default(),
                is_sequential: false,
                is_left_alone: false,
                strides_are_left_alone: false,
            },
            now: Timestamp::new(0),
            policy: FileStreams::default(),
            streams: vec![Stream::default(); STREAMS_FEW],
            in_memory: false,
            asked: BTreeSet::new(),
            read: BTreeSet::new(),
            asked_total: 0,
            read_total: 0,
            requests: 0,
            ranges: 0,
            seen: Witness::default(),
        }
    }

    /// The same on `device`.
    pub fn on(pages: u64, device: DeviceEstimate) -> Self {
        let mut reader = Self::new(pages);
        reader.moment.device = device;
        reader
    }

    /// Reads `length` pages from `start`, keeps the books, checks the promises.
    pub fn read(&mut self, start: u64, length: u64) -> Outcome {
        self.read_bytes(PageRange::new(start, start + length).into())
    }

    /// Whether the quick half answers a read of `length` pages from `start`.
    pub fn read_quickly(&mut self, start: u64, length: u64) -> Quick {
        let access = PageRange::new(start, start + length);
        self.policy.on_quick_access(&mut self.streams, access)
    }

    /// What is settled for this stream.
    pub fn settled(&self, stream: StreamId) -> Option<PageRange> {
        self.streams[usize::from(stream.place)].settled()
    }

    /// Reads `bytes`.
    pub fn read_bytes(&mut self, access: ByteRange) -> Outcome {
        let pages = access.pages();
        let (start, length) = (pages.start.get(), pages.len().get());
        let moment = self.moment;
        let outcome = self.policy.on_observed_access(
            &mut self.streams,
            access,
            self.now,
            || moment,
            &mut self.seen,
        );
        self.check_promises(&outcome);
        if outcome.decision.prefetch.count > 0 {
            self.requests += 1;
            self.ranges += u64::from(outcome.decision.prefetch.count);
            if self.in_memory {
                self.policy.on_cached(&mut self.streams, outcome.asker());
            } else {
                self.policy
                    .on_not_cached(&mut self.streams, outcome.asker());
            }
            for range in outcome.decision.prefetch.ranges() {
                self.asked_total += range.len().get();
                self.asked.extend(range.start.get()..range.end.get());
            }
        }
        self.read_total += length;
        self.read.extend(start..start + length);
        if self.policy.is_crowded() && self.streams.len() < STREAMS_MANY {
            self.streams.resize(STREAMS_MANY, Stream::default());
        }
        outcome
    }

    fn check_promises(&self, outcome: &Outcome) {
        let prefetch = &outcome.decision.prefetch;
        for range in prefetch.ranges() {
            assert!(
                range.end.get() <= self.moment.file_pages.get(),
                "beyond the end: {outcome:?}"
            );
        }
        assert!(
            prefetch.pages() <= self.moment.available,
            "over the budget: {outcome:?}"
        );
        let window_max = self.moment.knobs.request_pages_max;
        let demand = prefetch.first.len().get() + 4096;
        assert!(
            prefetch.pages().get() <= window_max.get().max(demand),
            "too large: {outcome:?}"
        );
    }

    /// The read before waited.
    pub fn wait(&mut self, start: u64, length: u64, outcome: &Outcome) {
        let access = PageRange::new(start, start + length);
        self.policy
            .on_wait(&mut self.streams, outcome.stream, access, outcome.covered);
    }

    /// Reads `access`, and waits for it unless all of it was asked for; whether it was.
    pub fn read_or_wait(&mut self, access: ByteRange) -> bool {
        let pages = access.pages();
        let (start, end) = (pages.start.get(), pages.end.get());
        let was_asked = (start..end).all(|page| self.asked.contains(&page));
        let outcome = self.read_bytes(access);
        if !was_asked {
            self.wait(start, end - start, &outcome);
        }
        was_asked
    }

    /// Reads the file from its front, `reads` times `length` pages; each eighth read waits. The newest outcome, and
    /// the pages of the largest request.
    pub fn scan_that_waits(&mut self, reads: u64, length: u64) -> (Outcome, u64) {
        let mut outcome = self.read(0, length);
        let mut largest = 0;
        for i in 1..reads {
            outcome = self.read(i * length, length);
            largest = largest.max(outcome.decision.prefetch.pages().get());
            if i % 8 == 0 {
                self.wait(i * length, length, &outcome);
            }
        }
        (outcome, largest)
    }

    /// The asked-for pages nearest to the reader of `stream`.
    pub fn ahead(&self, stream: Option<StreamId>) -> PageRange {
        self.policy.ahead(&self.streams, stream)
    }

    /// The newest request did not reach the kernel.
    pub fn refuse(&mut self, outcome: &Outcome) {
        self.policy.on_refused(&mut self.streams, outcome.stream);
    }

    /// The newest request found all its pages in memory.
    pub fn found_cached(&mut self, outcome: &Outcome) {
        self.policy.on_cached(&mut self.streams, outcome.stream);
    }

    /// Pages were evicted before use.
    pub fn thrash(&mut self, outcome: &Outcome, pages: u64) {
        self.policy
            .on_thrashed(&mut self.streams, outcome.stream, PageCount::new(pages));
    }

    /// Nothing is read for a while.
    pub fn idle(&mut self) -> u64 {
        self.policy.on_idle(&mut self.streams).get()
    }

    /// Pages in windows, as the policy counts them.
    pub fn unread(&self) -> u64 {
        self.policy.unread(&self.streams).0.get()
    }

    /// Runs `accesses` and says which share of them, in percent, was asked for before it came;
    /// the first `warm_up` accesses do not count.
    pub fn coverage(
        &mut self,
        accesses: impl IntoIterator<Item = (u64, u64)>,
        warm_up: usize,
    ) -> u64 {
        let (mut seen, mut covered) = (0, 0);
        for (number, (start, length)) in accesses.into_iter().enumerate() {
            let was_asked = self.read_or_wait(PageRange::new(start, start + length).into());
            if number >= warm_up {
                seen += 1;
                covered += u64::from(was_asked);
            }
        }
        covered * 100 / u64::max(seen, 1)
    }
}

/// Numbers that look random and are the same in every run.
pub struct Numbers(pub u64);

impl Numbers {
    /// The next number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}
