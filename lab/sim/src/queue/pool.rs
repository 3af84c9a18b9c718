//! Requests that wait: found by where they begin, where they end, and how old they are; merged with
//! their neighbours.
//!
//! A request is a run of bytes on the disk, made of segments: runs of pages of files. Merging never
//! splits and never reorders pages. Who may enter, and who goes next, is not decided here.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ahead_units::PAGE_BYTES;

use super::run::{IoDirection, PageRun};
use ahead_replicas::page_cache::FileId;

/// Pages of one file that were asked for at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) file: FileId,
    pub(super) start: u64,
    pub(super) pages: u64,
    pub(super) submitted_ns: u64,
}

impl PageRun {
    /// The first `pages` of it, asked for at `submitted_ns`.
    pub(super) fn segment(&self, pages: u64, submitted_ns: u64) -> Segment {
        Segment {
            file: self.file,
            start: self.start,
            pages,
            submitted_ns,
        }
    }
}

/// One read of the disk, or one write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// First byte on the disk.
    pub(super) offset: u64,
    pub(super) pages: u64,
    /// When the oldest of its segments came.
    pub(super) arrived_ns: u64,
    /// Number of the request in order of arrival.
    pub(super) sequence: u64,
    /// Ascending on the disk.
    pub(super) segments: VecDeque<Segment>,
    pub(super) direction: IoDirection,
}

impl Request {
    /// One behind its last byte.
    pub(super) const fn end(&self) -> u64 {
        self.offset
            .saturating_add(self.pages.saturating_mul(PAGE_BYTES))
    }

    /// Adds pages at the end; a continuation of the last segment becomes part of it.
    fn push(&mut self, segment: Segment) {
        self.pages += segment.pages;
        match self.segments.back_mut() {
            Some(last)
                if last.file == segment.file
                    && last.submitted_ns == segment.submitted_ns
                    && last.start + last.pages == segment.start =>
            {
                last.pages += segment.pages;
            }
            _ => self.segments.push_back(segment),
        }
    }
}

/// Limits of a merge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) request_pages_max: u64,
    pub(super) unit_pages_max: u64,
}

impl Limits {
    /// Pages that enter the queue whole.
    pub(super) const fn unit(self) -> u64 {
        if self.unit_pages_max < self.request_pages_max {
            self.unit_pages_max
        } else {
            self.request_pages_max
        }
    }

    /// How many of `pages` fit into `space`, in whole units (the last one may be shorter).
    pub(super) fn fitting(self, pages: u64, space: u64) -> u64 {
        if pages <= space {
            return pages;
        }
        space - space % self.unit()
    }
}

/// Waiting requests. A request is named by its first byte and its sequence number, because two may
/// begin at the same byte.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    by_offset: BTreeMap<(u64, u64), Request>,
    /// (end, sequence) → offset.
    by_end: BTreeMap<(u64, u64), u64>,
    /// (sequence, offset): the oldest is first.
    by_age: BTreeSet<(u64, u64)>,
}

impl Pool {
    pub(super) fn len(&self) -> usize {
        self.by_offset.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_offset.is_empty()
    }

    pub(super) fn oldest(&self) -> Option<&Request> {
        let &(sequence, offset) = self.by_age.first()?;
        self.by_offset.get(&(offset, sequence))
    }

    /// The oldest request that begins with pages of `file`.
    pub(super) fn oldest_of(&self, file: FileId) -> Option<&Request> {
        let requests = self.by_age.iter();
        requests
            .filter_map(|&(sequence, offset)| self.by_offset.get(&(offset, sequence)))
            .find(|request| {
                request
                    .segments
                    .front()
                    .is_some_and(|first| first.file == file)
            })
    }

    /// The youngest request.
    pub(super) fn youngest(&self) -> Option<&Request> {
        let &(sequence, offset) = self.by_age.last()?;
        self.by_offset.get(&(offset, sequence))
    }

    /// The first request that begins at `offset` or behind it.
    pub(super) fn first_from(&self, offset: u64) -> Option<&Request> {
        self.by_offset
            .range((offset, 0)..)
            .next()
            .map(|(_, request)| request)
    }

    pub(super) fn lowest(&self) -> Option<&Request> {
        self.by_offset.first_key_value().map(|(_, request)| request)
    }

    pub(super) fn insert(&mut self, request: Request) {
        self.by_end
            .insert((request.end(), request.sequence), request.offset);
        self.by_age.insert((request.sequence, request.offset));
        self.by_offset
            .insert((request.offset, request.sequence), request);
    }

    /// Takes out the request that begins at `offset` and has this sequence number.
    pub(super) fn remove(&mut self, offset: u64, sequence: u64) -> Option<Request> {
        let request = self.by_offset.remove(&(offset, sequence))?;
        self.by_end.remove(&(request.end(), sequence));
        self.by_age.remove(&(sequence, offset));
        Some(request)
    }

    /// Takes out the oldest request.
    pub(super) fn remove_oldest(&mut self) -> Option<Request> {
        let &(sequence, offset) = self.by_age.first()?;
        self.remove(offset, sequence)
    }

    /// Puts the beginning of `run` behind a request that ends where it starts, or its first unit in
    /// front of one that starts where the unit ends. Returns how many pages found a place, and how
    /// many requests were lost by growing together.
    pub(super) fn merge(&mut self, run: &PageRun, now_ns: u64, limits: Limits) -> Merged {
        let merged = self.merge_back(run, now_ns, limits);
        if merged.pages > 0 {
            return merged;
        }
        self.merge_front(run, now_ns, limits)
    }

    fn merge_back(&mut self, run: &PageRun, now_ns: u64, limits: Limits) -> Merged {
        let ending_here = (run.disk_offset, 0)..=(run.disk_offset, u64::MAX);
        let found = self.by_end.range(ending_here).find_map(|(&key, &offset)| {
            let request = self.by_offset.get(&(offset, key.1))?;
            let space = limits.request_pages_max.saturating_sub(request.pages);
            let pages = limits.fitting(run.pages, space);
            (pages > 0).then_some((offset, key.1, pages))
        });
        let Some((offset, sequence, pages)) = found else {
            return Merged::default();
        };
        let Some(request) = self.by_offset.get_mut(&(offset, sequence)) else {
            return Merged::default();
        };
        self.by_end.remove(&(request.end(), sequence));
        request.push(run.segment(pages, now_ns));
        self.by_end.insert((request.end(), sequence), offset);
        let requests = u64::from(self.join_follower(offset, sequence, limits));
        Merged { pages, requests }
    }

    fn merge_front(&mut self, run: &PageRun, now_ns: u64, limits: Limits) -> Merged {
        let pages = run.pages.min(limits.unit());
        let unit_end = run
            .disk_offset
            .saturating_add(pages.saturating_mul(PAGE_BYTES));
        let starting_there = (unit_end, 0)..=(unit_end, u64::MAX);
        let found = self
            .by_offset
            .range(starting_there)
            .find(|(_, request)| request.pages.saturating_add(pages) <= limits.request_pages_max)
            .map(|(&key, _)| key);
        let Some(mut request) = found.and_then(|(offset, sequence)| self.remove(offset, sequence))
        else {
            return Merged::default();
        };
        request.offset = run.disk_offset;
        request.pages += pages;
        request.segments.push_front(run.segment(pages, now_ns));
        self.insert(request);
        Merged { pages, requests: 0 }
    }

    /// Makes one request of this one and the one that begins where it ends, if both fit. The older
    /// of the two lends its age. Returns whether that happened.
    fn join_follower(&mut self, offset: u64, sequence: u64, limits: Limits) -> bool {
        let Some(request) = self.by_offset.get(&(offset, sequence)) else {
            return false;
        };
        let (end, space) = (
            request.end(),
            limits.request_pages_max.saturating_sub(request.pages),
        );
        let found = self
            .by_offset
            .range((end, 0)..=(end, u64::MAX))
            .find(|(_, follower)| follower.pages <= space)
            .map(|(&key, _)| key);
        let Some(follower) = found.and_then(|(offset, sequence)| self.remove(offset, sequence))
        else {
            return false;
        };
        let Some(mut joined) = self.remove(offset, sequence) else {
            return false;
        };
        joined.sequence = joined.sequence.min(follower.sequence);
        joined.arrived_ns = joined.arrived_ns.min(follower.arrived_ns);
        for segment in follower.segments {
            joined.push(segment);
        }
        self.insert(joined);
        true
    }

    /// Puts a request in and joins it with its neighbours. Returns how many requests were lost.
    pub(super) fn insert_joined(&mut self, request: Request, limits: Limits) -> u64 {
        let (mut offset, mut sequence) = (request.offset, request.sequence);
        self.insert(request);
        let mut joined = 0;
        let before = (offset, 0)..=(offset, u64::MAX);
        let predecessor = self
            .by_end
            .range(before)
            .next()
            .map(|(&key, &at)| (at, key.1));
        if let Some((before_offset, before_sequence)) = predecessor
            && self.join_follower(before_offset, before_sequence, limits)
        {
            joined += 1;
            (offset, sequence) = (before_offset, before_sequence.min(sequence));
        }
        joined + u64::from(self.join_follower(offset, sequence, limits))
    }
}

/// What a merge did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Merged {
    /// Pages that found a place; 0: none did.
    pub(super) pages: u64,
    /// Requests that grew together with another and gave their slots back.
    pub(super) requests: u64,
}
