//! The reader that knows its future: direct reads, a full queue, in the order of the disk.
//!
//! It shows what the device can give for a pattern, so that every other reader has a measure. It
//! is no prefetcher: what arrives is checked and counted, and no program waits for it in order.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Instant;

use ahead_sys::direct_reader::DirectReader;
use ahead_sys::extent_map::first_physical_offset;
use ahead_workload::wanted::future;
use ahead_workload::{Job, WantedRange};

use crate::ceiling::{CeilingRequest, Pricing, merge};
use crate::content;
use crate::read_error::{ReadError, io_error};
use crate::tally::{Run, Tally, Timed};

pub(crate) fn read(run: &Run<'_>, job: &Job, pricing: &Pricing) -> Result<Timed, ReadError> {
    let mut files = Vec::new();
    let mut rank = Vec::new();
    for source in run.sources {
        let direct = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).unwrap_or(0);
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(direct)
            .open(&source.path);
        let file = file.map_err(io_error("cannot open for direct reading", &source.path))?;
        // Without a map the order of the list has to do.
        rank.push(first_physical_offset(&file).ok().flatten().unwrap_or(0));
        files.push(file);
    }
    let buffer_bytes = usize::try_from(pricing.request_bytes_max).map_err(|_| ReadError::Empty)?;
    let ring = DirectReader::new(pricing.depth, buffer_bytes).map_err(ReadError::Ring)?;
    let plan = Plan {
        future: future(job),
        rank,
        pricing,
        queue: Vec::new(),
        wanted: Vec::new(),
    };
    Reading {
        run,
        files,
        ring,
        tally: Tally::new(),
        failure: None,
    }
    .run(plan)
}

/// The requests to come, a horizon at a time.
struct Plan<'a, F> {
    future: F,
    rank: Vec<u64>,
    pricing: &'a Pricing,
    /// The requests of this horizon, the next one last.
    queue: Vec<CeilingRequest>,
    wanted: Vec<WantedRange>,
}

impl<F: Iterator<Item = WantedRange>> Iterator for Plan<'_, F> {
    type Item = CeilingRequest;

    fn next(&mut self) -> Option<CeilingRequest> {
        if self.queue.is_empty() {
            self.wanted.clear();
            let mut bytes = 0;
            while bytes < self.pricing.horizon_bytes {
                let Some(range) = self.future.next() else {
                    break;
                };
                bytes += range.length;
                self.wanted.push(range);
            }
            self.queue = merge(&mut self.wanted, &self.rank, self.pricing);
            self.queue.reverse();
        }
        self.queue.pop()
    }
}

struct Reading<'a> {
    run: &'a Run<'a>,
    files: Vec<File>,
    ring: DirectReader,
    tally: Tally,
    failure: Option<ReadError>,
}

impl Reading<'_> {
    fn run(mut self, mut plan: impl Iterator<Item = CeilingRequest>) -> Result<Timed, ReadError> {
        // The first horizon is planned before the clock starts, as any knowledge of the future is.
        let mut next = plan.next();
        let mut pending: Vec<Option<(CeilingRequest, Instant)>> = Vec::new();
        let mut free_tags: Vec<u32> = Vec::new();
        let bytes_max = self.run.assignment.bytes_max.unwrap_or(u64::MAX);
        let start = Instant::now();
        let deadline = self.run.deadline(start);
        let mut now = start;
        let mut asked = 0;
        loop {
            while let Some(request) = next
                && self.ring.free_slots() > 0
                && asked < bytes_max
                && deadline.is_none_or(|deadline| now < deadline)
            {
                let tag = match free_tags.pop() {
                    Some(tag) => tag,
                    None => {
                        pending.push(None);
                        u32::try_from(pending.len() - 1).map_err(|_| ReadError::Empty)?
                    }
                };
                self.push(request, tag)?;
                if let Some(place) = usize::try_from(tag).ok().and_then(|at| pending.get_mut(at)) {
                    *place = Some((request, Instant::now()));
                }
                asked += request.useful;
                next = plan.next();
            }
            if self.ring.in_flight() == 0 {
                break;
            }
            let (run, tally, failure) = (self.run, &mut self.tally, &mut self.failure);
            let waited = self.ring.wait(|completion| {
                let at = usize::try_from(completion.tag).unwrap_or(usize::MAX);
                let Some((request, since)) = pending.get_mut(at).and_then(Option::take) else {
                    return;
                };
                free_tags.push(completion.tag);
                now = Instant::now();
                match check(run, request, completion.bytes) {
                    Ok(()) => {
                        tally.count(request.useful, now - since);
                        run.counter.add(request.useful);
                    }
                    Err(error) => *failure = Some(error),
                }
            });
            waited.map_err(ReadError::Ring)?;
            if let Some(error) = self.failure.take() {
                return Err(error);
            }
        }
        Ok(Timed::new(self.tally, start, now))
    }

    fn push(&mut self, request: CeilingRequest, tag: u32) -> Result<(), ReadError> {
        let file = usize::try_from(request.file)
            .ok()
            .and_then(|at| self.files.get(at));
        let file = file.ok_or(ReadError::Empty)?;
        let length = usize::try_from(request.length).map_err(|_| ReadError::Empty)?;
        self.ring
            .push(file, request.offset, length, tag)
            .map_err(ReadError::Ring)
    }
}

fn check(
    run: &Run<'_>,
    request: CeilingRequest,
    bytes: std::io::Result<&[u8]>,
) -> Result<(), ReadError> {
    let source = run.source(request.file)?;
    let bytes = bytes.map_err(io_error("cannot read", &source.path))?;
    // The last request of a file may be longer than it.
    let there = source.bytes.saturating_sub(request.offset);
    if u64::try_from(bytes.len()).is_ok_and(|bytes| bytes < request.length.min(there)) {
        let short = std::io::ErrorKind::UnexpectedEof.into();
        return Err(io_error("cannot read", &source.path)(short));
    }
    match content::first_mismatch(bytes, source.id, request.offset) {
        None => Ok(()),
        Some(offset) => Err(ReadError::Mismatch {
            path: source.path.clone(),
            offset,
        }),
    }
}
