//! One access after the other into `policy` and into the core, and what became of it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use ahead_policy::adaptive::{
    FileStreams, ListedRange, Moment, Outcome, Quick, STREAMS_FEW, STREAMS_MANY, Stream, StreamId,
};
use ahead_policy::decision::Prefetch;
use ahead_policy::device::DeviceEstimate;
use ahead_policy::knobs::Knobs;
use ahead_policy::reason::Reason;
use ahead_units::{ByteRange, PAGE_BYTES, PageCount, PageRange, Timestamp};

use crate::difference::Difference;
use crate::driver::{CoreAnswer, CoreCall, Driver};

/// What came of many accesses.
#[derive(Clone, Debug, Default)]
pub struct CoreTally {
    /// Accesses looked at.
    pub accesses: u64,
    /// Of which something was asked for, by either.
    pub asked: u64,
    /// Accesses to files that are under a name: nothing is compared there any more.
    pub named: BTreeMap<Difference, u64>,
    /// The first that have no name.
    pub unnamed: Vec<String>,
}

/// What is known of one file by `policy`.
#[derive(Debug)]
struct File {
    policy: FileStreams,
    streams: Vec<Stream>,
}

/// The places of the kernel's tables, and its reasons, in `policy`'s words.
const REASONS: [Reason; 18] = [
    Reason::None,
    Reason::MarkerNotReached,
    Reason::StreamBegan,
    Reason::MarkerCrossed,
    Reason::ReaderWaited,
    Reason::NoPattern,
    Reason::RandomReads,
    Reason::HitRateLimit,
    Reason::BudgetUsed,
    Reason::AlreadyCached,
    Reason::EndOfFile,
    Reason::Thrashed,
    Reason::TurnedOff,
    Reason::LeftToKernel,
    Reason::Reopened,
    Reason::RunEnds,
    Reason::ReadsAreLong,
    Reason::DoesNotPay,
];

fn moment(call: &CoreCall) -> Moment {
    Moment {
        knobs: Knobs {
            readahead_ratio: call.ratio,
            readahead_hit_rate: call.hit_rate,
            request_pages_max: PageCount::new(call.request_max),
        },
        device: DeviceEstimate {
            access_ns: call.access_ns,
            bytes_per_second: call.bytes_per_second,
            depth: call.depth,
        },
        file_pages: PageCount::new(call.file_pages),
        expected: PageCount::new(0),
        threshold: PageCount::new(call.threshold),
        available: PageCount::new(call.available),
        // In the kernel, whoever the core decides for is not asked for by the stock algorithm; nor does a run read on through holes in its place.
        kernel_window: PageCount::new(0),
        scans_are_left: false,
        streams: call.streams,
        contested: call.contested,
        lone_reads: false,
        starved: false,
        waiting: 0,
        listed: ListedRange::default(),
        is_sequential: call.is_sequential,
        is_left_alone: false,
        strides_are_left_alone: false,
    }
}

impl File {
    fn new() -> Self {
        Self {
            policy: FileStreams::default(),
            streams: vec![Stream::default(); STREAMS_FEW],
        }
    }

    /// Gives `call` to `policy`, as `c/driver.c` gives it to the core. `bytes`: what was read, to the byte.
    fn answer(&mut self, call: &CoreCall, bytes: ByteRange) -> (CoreAnswer, Outcome) {
        let pages = PageRange::new(call.start, call.end);
        let quick = if call.is_quick {
            self.policy.on_quick_access(&mut self.streams, pages)
        } else {
            Quick::No
        };
        let was_quick = quick != Quick::No;
        let outcome = if was_quick {
            Outcome::default()
        } else {
            let now = Timestamp::new(call.now_ns);
            if call.start == 0 {
                let file_pages = moment(call).file_pages;
                self.policy.on_start(&mut self.streams, file_pages);
            }
            self.policy
                .on_access(&mut self.streams, bytes, now, || moment(call))
        };
        let prefetch = outcome.decision.prefetch;
        if prefetch.count > 0 {
            let asker = outcome.asker();
            if call.is_refused {
                self.policy.on_refused(&mut self.streams, asker);
            } else if call.is_cached {
                self.policy.on_cached(&mut self.streams, asker);
            } else {
                self.policy.on_not_cached(&mut self.streams, asker);
            }
        }
        if call.waits {
            let (stream, covered) = (outcome.stream, outcome.covered);
            self.policy
                .on_wait(&mut self.streams, stream, pages, covered);
        }
        if let Some(evicted) = call.thrashes {
            let evicted = PageCount::new(evicted.into());
            self.policy
                .on_thrashed(&mut self.streams, outcome.stream, evicted);
        }
        if call.is_last {
            self.policy.on_idle(&mut self.streams);
        }
        if self.policy.is_crowded() && self.streams.len() < STREAMS_MANY {
            self.streams.resize(STREAMS_MANY, Stream::default());
        }
        (to_answer(&outcome, prefetch, was_quick), outcome)
    }
}

fn to_answer(outcome: &Outcome, prefetch: Prefetch, was_quick: bool) -> CoreAnswer {
    let reason = REASONS
        .iter()
        .position(|known| *known == outcome.decision.reason);
    let name = |id: StreamId| (u64::from(id.place), u64::from(id.generation));
    let mut answer = CoreAnswer {
        count: prefetch.count.into(),
        // A reason that the core does not have.
        reason: reason.map_or(u64::MAX, |place| place as u64),
        stream: outcome.stream.map(name),
        covered: outcome.covered,
        was_quick,
        ..CoreAnswer::default()
    };
    if prefetch.count > 0 {
        let first = prefetch.first.pages();
        (answer.start, answer.end) = (first.start.get(), first.end.get());
        answer.period = prefetch.period / PAGE_BYTES.cast_signed();
    }
    answer
}

/// Gives all `calls` to both and compares. `bytes`: the same accesses, to the byte; empty: whole pages.
///
/// # Errors
/// The core's program ended early.
pub fn compare(
    driver: &Driver,
    calls: &[CoreCall],
    bytes: &[ByteRange],
    tally: &mut CoreTally,
) -> io::Result<()> {
    let answers = driver.answers(calls)?;
    if answers.len() != calls.len() {
        return Err(io::Error::other("the core left calls without an answer"));
    }
    hold_against(&answers, calls, bytes, tally);
    Ok(())
}

/// Gives all `calls` to `policy` and compares what it decides with `answers`.
pub fn hold_against(
    answers: &[CoreAnswer],
    calls: &[CoreCall],
    bytes: &[ByteRange],
    tally: &mut CoreTally,
) {
    let mut files: BTreeMap<u64, File> = BTreeMap::new();
    let mut under: BTreeMap<u64, Difference> = BTreeMap::new();
    let mut broken: BTreeSet<u64> = BTreeSet::new();
    for (index, (call, core)) in calls.iter().zip(answers).enumerate() {
        tally.accesses += 1;
        let file = files.entry(call.file).or_insert_with(File::new);
        let pages = || PageRange::new(call.start, call.end).into();
        let range = bytes.get(index).copied().unwrap_or_else(pages);
        let (policy, outcome) = file.answer(call, range);
        tally.asked += u64::from(policy.count > 0 || core.count > 0);
        if let Some(name) = under.get(&call.file) {
            *tally.named.entry(*name).or_default() += 1;
            continue;
        }
        if broken.contains(&call.file) || policy == *core {
            continue;
        }
        let name = if outcome.decision.reason == Reason::BeginningForeseen {
            Some(Difference::Beginnings)
        } else if bytes.is_empty() {
            None
        } else {
            Some(Difference::Bytes)
        };
        if let Some(name) = name {
            under.insert(call.file, name);
            *tally.named.entry(name).or_default() += 1;
        } else {
            broken.insert(call.file);
            let reason = outcome.decision.reason;
            tally.unnamed.push(format!(
                "call {index}: {call:?}\n  policy {policy:?} ({reason:?})\n  core   {core:?}"
            ));
        }
    }
}
