//! Several disks behind a controller: stripes, with or without parity, a cache that reads ahead,
//! and a link to the host.
//!
//! Bytes are dealt out in chunks. Without parity chunk `c` lies on disk `c mod n`; with parity each
//! row of `n` chunks has one of parity, on the last disk in row 0 and one disk further left in each
//! row, and the data begin behind it (left-symmetric RAID 5). Reads never touch parity.
//!
//! A request becomes a fetch: one read on every disk that holds a part of it. When the slowest has
//! answered, the bytes cross the link, one request after another; the controller's own time comes on
//! top and is pipelined. A request that begins where an earlier one ended makes a stream. Of a stream
//! the controller keeps `read_ahead_bytes` ready beyond the last request, and fetches more when half
//! of it has been used; what it has fetched, or is fetching, is not read from the disks again.
//!
//! The twin forgets what lies behind a stream, so re-reading costs the disks again, and its cache
//! counts streams and not bytes.

use std::collections::{BTreeMap, VecDeque};

use ahead_units::{ByteLength, ByteOffset, Timestamp};
use serde::{Deserialize, Serialize};

use crate::disk::Disk;
use crate::limits::{ModelError, within, within_rate, within_us};
use crate::mechanism::{Completion, Mechanism, Request};
use crate::model::DiskModel;
use crate::time_scale::TimeScale;

/// Several disks behind a controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ArrayModel {
    /// How many disks, those for parity included.
    pub disks: u32,
    /// Bytes of a chunk.
    pub chunk_bytes: u64,
    /// Whether each row has a chunk of parity. Needs at least three disks.
    #[serde(default)]
    pub parity: bool,
    /// Microseconds that the controller adds to every request; any number at once.
    pub controller_us: u64,
    /// Bytes per second between controller and host.
    pub link_bytes_per_s: u64,
    /// Bytes that the controller keeps ready for a stream. 0: it does not read ahead.
    #[serde(default)]
    pub read_ahead_bytes: u64,
    /// Streams that it can tell apart.
    #[serde(default)]
    pub streams: u32,
    /// Each of the disks.
    pub member: Box<DiskModel>,
}

impl ArrayModel {
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        let fewest = if self.parity { 3 } else { 1 };
        let expected = "from 1 (with parity 3) to 1024";
        within("disks", self.disks.into(), fewest, 1_024, expected)?;
        within(
            "chunk_bytes",
            self.chunk_bytes,
            512,
            1 << 40,
            "from 512 to 2^40",
        )?;
        within_us("controller_us", self.controller_us)?;
        within_rate("link_bytes_per_s", self.link_bytes_per_s)?;
        within(
            "read_ahead_bytes",
            self.read_ahead_bytes,
            0,
            1 << 40,
            "at most 2^40",
        )?;
        within("streams", self.streams.into(), 0, 65_536, "at most 65536")?;
        if matches!(*self.member, DiskModel::Array(_)) {
            return Err(ModelError::Figure {
                field: "member",
                expected: "a single disk",
            });
        }
        self.member.check()
    }

    /// Disks' worth of data in a row.
    pub(crate) const fn data_disks(&self) -> u64 {
        self.disks as u64 - self.parity as u64
    }

    /// Which disk holds chunk `chunk`, and the row of that chunk.
    fn place(&self, chunk: u64) -> (u64, u64) {
        let (disks, data) = (u64::from(self.disks), self.data_disks());
        let (row, column) = (chunk / data, chunk % data);
        if self.parity {
            let parity = disks - 1 - row % disks;
            ((parity + 1 + column) % disks, row)
        } else {
            (column, row)
        }
    }

    /// The reads that `start..end` takes: (disk, first byte on it, bytes), neighbours joined.
    fn pieces(&self, start: u64, end: u64) -> Vec<(u64, u64, u64)> {
        let mut pieces: Vec<(u64, u64, u64)> = Vec::new();
        let mut at = start;
        while at < end {
            let (disk, row) = self.place(at / self.chunk_bytes);
            let inside = at % self.chunk_bytes;
            let length = (self.chunk_bytes - inside).min(end - at);
            let offset = row * self.chunk_bytes + inside;
            let before = pieces
                .iter_mut()
                .find(|(other, from, bytes)| *other == disk && from + *bytes == offset);
            match before {
                Some((_, _, bytes)) => *bytes += length,
                None => pieces.push((disk, offset, length)),
            }
            at += length;
        }
        pieces
    }
}

/// The state of the mechanism, in model time.
#[derive(Clone, Debug)]
pub struct Array {
    model: ArrayModel,
    members: Vec<Disk>,
    /// What the disks are reading, by number.
    fetches: BTreeMap<u64, Fetch>,
    fetch_number: u64,
    /// Most recently used first.
    streams: VecDeque<Stream>,
    /// Requests that wait for the disks, in order of arrival.
    waiting: Vec<Waiting>,
    link_free_ns: u64,
    /// Ends ascend, because the link keeps the order and the controller's time is the same for all.
    on_the_way: VecDeque<Completion>,
    answers: Vec<Completion>,
    busy_ns: u64,
    busy_since_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Fetch {
    start: u64,
    end: u64,
    pieces: usize,
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    /// Where the next request begins.
    next: u64,
    /// What has been fetched; exclusive.
    fetched: u64,
}

#[derive(Clone, Debug)]
struct Waiting {
    request: Request,
    arrived_ns: u64,
    fetches: Vec<u64>,
}

impl Array {
    /// Idle disks; together they hold `capacity_bytes`.
    pub(crate) fn new(model: ArrayModel, capacity_bytes: u64) -> Self {
        let rows = capacity_bytes.div_ceil(model.data_disks().max(1) * model.chunk_bytes.max(1));
        let each = ByteLength::new(rows.saturating_mul(model.chunk_bytes));
        let member = Disk::new(&model.member, each, TimeScale::REAL);
        Self {
            members: (0..model.disks).map(|_| member.clone()).collect(),
            model,
            fetches: BTreeMap::new(),
            fetch_number: 0,
            streams: VecDeque::new(),
            waiting: Vec::new(),
            link_free_ns: 0,
            on_the_way: VecDeque::new(),
            answers: Vec::new(),
            busy_ns: 0,
            busy_since_ns: 0,
        }
    }

    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.on_the_way.is_empty()
    }

    /// Sends the reads of `start..end` to the disks. Returns the number of the fetch.
    fn fetch(&mut self, now_ns: u64, start: u64, end: u64) -> u64 {
        let number = self.fetch_number;
        self.fetch_number += 1;
        let pieces = self.model.pieces(start, end);
        let fetch = Fetch {
            start,
            end,
            pieces: pieces.len(),
        };
        self.fetches.insert(number, fetch);
        for (disk, offset, length) in pieces {
            let order = Request {
                id: number,
                offset: ByteOffset::new(offset),
                length: ByteLength::new(length),
            };
            let member = usize::try_from(disk).ok();
            if let Some(member) = member.and_then(|index| self.members.get_mut(index)) {
                member.submit(Timestamp::new(now_ns), order);
            }
        }
        number
    }

    /// Fetches what `start..end` needs, and what its stream should have ready. Returns the numbers of
    /// the fetches to wait for.
    fn fetch_for(&mut self, now_ns: u64, start: u64, end: u64) -> Vec<u64> {
        let known = self.streams.iter().position(|stream| stream.next == start);
        let Some(stream) = known.and_then(|index| self.streams.remove(index)) else {
            let streams = usize::try_from(self.model.streams).unwrap_or(usize::MAX);
            if self.model.read_ahead_bytes > 0 && streams > 0 {
                self.streams.truncate(streams - 1);
                let fetched = end;
                self.streams.push_front(Stream { next: end, fetched });
            }
            return vec![self.fetch(now_ns, start, end)];
        };
        let mut numbers: Vec<u64> = self
            .fetches
            .iter()
            .filter(|(_, fetch)| fetch.start < end && start < fetch.end)
            .map(|(&number, _)| number)
            .collect();
        let mut fetched = stream.fetched;
        if fetched < end {
            numbers.push(self.fetch(now_ns, fetched.max(start), end));
            fetched = end;
        }
        if fetched - end <= self.model.read_ahead_bytes / 2 {
            let ahead = end.saturating_add(self.model.read_ahead_bytes);
            // Row by row, so that the first bytes do not wait for the last.
            let row = self
                .model
                .chunk_bytes
                .saturating_mul(self.model.data_disks());
            while fetched < ahead {
                let row_end = (fetched / row + 1).saturating_mul(row).min(ahead);
                self.fetch(now_ns, fetched, row_end);
                fetched = row_end;
            }
        }
        self.streams.push_front(Stream { next: end, fetched });
        numbers
    }

    /// All bytes of a request are with the controller.
    fn send(&mut self, now_ns: u64, request: Request, arrived_ns: u64) {
        let length = request.length.get();
        let link_ns = TimeScale::REAL.time_for(length, self.model.link_bytes_per_s);
        self.link_free_ns = self.link_free_ns.max(now_ns).saturating_add(link_ns);
        let controller_ns = self.model.controller_us.saturating_mul(1_000);
        self.on_the_way.push_back(Completion {
            id: request.id,
            arrived_at: Timestamp::new(arrived_ns),
            completed_at: Timestamp::new(self.link_free_ns.saturating_add(controller_ns)),
        });
    }

    /// The disk that has something next, and when.
    fn next_member(&self) -> Option<(u64, usize)> {
        let events = self.members.iter().enumerate();
        events
            .filter_map(|(index, member)| Some((member.next_event()?.get(), index)))
            .min()
    }

    fn answered(&mut self, number: u64, now_ns: u64) {
        let Some(fetch) = self.fetches.get_mut(&number) else {
            return;
        };
        fetch.pieces -= 1;
        if fetch.pieces > 0 {
            return;
        }
        self.fetches.remove(&number);
        for waiting in &mut self.waiting {
            waiting.fetches.retain(|&other| other != number);
        }
        let ready: Vec<Waiting> = self
            .waiting
            .extract_if(.., |waiting| waiting.fetches.is_empty())
            .collect();
        for waiting in ready {
            self.send(now_ns, waiting.request, waiting.arrived_ns);
        }
    }
}

impl Mechanism for Array {
    fn submit(&mut self, now_ns: u64, request: Request) {
        if self.is_idle() {
            self.busy_since_ns = now_ns;
        }
        let start = request.offset.get();
        let end = start.saturating_add(request.length.get().max(1));
        let fetches = self.fetch_for(now_ns, start, end);
        if fetches.is_empty() {
            self.send(now_ns, request, now_ns);
        } else {
            self.waiting.push(Waiting {
                request,
                arrived_ns: now_ns,
                fetches,
            });
        }
    }

    fn next_event_ns(&self) -> Option<u64> {
        let answer_ns = self
            .on_the_way
            .front()
            .map(|first| first.completed_at.get());
        let member_ns = self.next_member().map(|(due_ns, _)| due_ns);
        answer_ns.into_iter().chain(member_ns).min()
    }

    /// Either an answer of a disk, after which nothing may be finished yet, or a request.
    fn finish_one(&mut self) -> Option<Completion> {
        let answer_ns = self
            .on_the_way
            .front()
            .map(|first| first.completed_at.get());
        if let Some((due_ns, index)) = self.next_member()
            && answer_ns.is_none_or(|answer_ns| due_ns < answer_ns)
        {
            let mut answers = std::mem::take(&mut self.answers);
            if let Some(member) = self.members.get_mut(index) {
                member.advance(Timestamp::new(due_ns), &mut answers);
            }
            for answer in answers.drain(..) {
                self.answered(answer.id, due_ns);
            }
            self.answers = answers;
            return None;
        }
        let done = self.on_the_way.pop_front()?;
        if self.is_idle() {
            let ended_ns = done.completed_at.get();
            self.busy_ns += ended_ns.saturating_sub(self.busy_since_ns);
        }
        Some(done)
    }

    fn busy_ns(&self, now_ns: u64) -> u64 {
        let running_ns = if self.is_idle() {
            0
        } else {
            now_ns.saturating_sub(self.busy_since_ns)
        };
        self.busy_ns.saturating_add(running_ns)
    }

    fn seeks(&self) -> u64 {
        self.members.iter().map(Disk::seeks).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixed::FixedModel;

    const KIB: u64 = 1 << 10;

    /// Four disks of 1 ms and 100 kB/ms behind a link of 1000 kB/ms.
    fn stripe() -> ArrayModel {
        ArrayModel {
            disks: 4,
            chunk_bytes: 100_000,
            parity: false,
            controller_us: 500,
            link_bytes_per_s: 1_000_000_000,
            read_ahead_bytes: 0,
            streams: 0,
            member: Box::new(DiskModel::Fixed(FixedModel {
                access_us: 1_000,
                bytes_per_s: 100_000_000,
                contiguous_is_free: false,
            })),
        }
    }

    /// One synchronous reader: milliseconds · 1000 that each request took.
    fn took_us(model: ArrayModel, requests: &[(u64, u64)]) -> Vec<u64> {
        let mut array = Array::new(model, 1 << 40);
        let mut now_ns = 0;
        let mut took = Vec::new();
        for &(offset, length) in requests {
            let request = Request {
                id: 0,
                offset: ByteOffset::new(offset),
                length: ByteLength::new(length),
            };
            array.submit(now_ns, request);
            while array.next_event_ns().is_some() {
                if let Some(done) = array.finish_one() {
                    took.push((done.completed_at.get() - now_ns) / 1_000);
                    now_ns = done.completed_at.get();
                    break;
                }
            }
        }
        took
    }

    #[test]
    fn a_full_stripe_is_read_by_all_disks_at_once() {
        // 1 ms + 1 ms on each disk, then 400 kB over the link, then the controller.
        assert_eq!(
            took_us(stripe(), &[(0, 400_000)]),
            [1_000 + 1_000 + 400 + 500]
        );
        // One chunk: one disk.
        assert_eq!(
            took_us(stripe(), &[(100_000, 100_000)]),
            [1_000 + 1_000 + 100 + 500]
        );
        // Two rows: each disk reads two chunks in one go.
        assert_eq!(
            took_us(stripe(), &[(0, 800_000)]),
            [1_000 + 2_000 + 800 + 500]
        );
    }

    #[test]
    fn parity_moves_left_and_data_begin_behind_it() {
        let model = ArrayModel {
            disks: 3,
            parity: true,
            ..stripe()
        };
        let places: Vec<(u64, u64)> = (0..6).map(|chunk| model.place(chunk)).collect();
        assert_eq!(places, [(0, 0), (1, 0), (2, 1), (0, 1), (1, 2), (2, 2)]);
        assert_eq!(model.check(), Ok(()));
        assert!(ArrayModel { disks: 2, ..model }.check().is_err());
    }

    #[test]
    fn every_byte_is_read_from_one_place_only() {
        for parity in [false, true] {
            let model = ArrayModel {
                parity,
                chunk_bytes: 7,
                ..stripe()
            };
            let pieces = model.pieces(3, 200);
            let bytes: u64 = pieces.iter().map(|&(_, _, length)| length).sum();
            assert_eq!(bytes, 197);
            let mut taken = std::collections::BTreeSet::new();
            for (disk, offset, length) in pieces {
                assert!((offset..offset + length).all(|byte| taken.insert((disk, byte))));
            }
        }
    }

    /// A stream that thinks long enough finds everything ready: link and controller are left.
    #[test]
    fn what_the_controller_has_read_ahead_costs_the_link_only() {
        let model = ArrayModel {
            read_ahead_bytes: 1_000_000,
            streams: 2,
            ..stripe()
        };
        let requests: Vec<(u64, u64)> = (0..4).map(|index| (index * 100_000, 100_000)).collect();
        let took = took_us(model, &requests);
        // A stream is known from its second request on.
        assert_eq!(took, [2_600, 2_600, 600, 600]);
    }

    #[test]
    fn an_eva_gives_one_synchronous_stream_what_was_measured() {
        let DiskModel::Array(model) = DiskModel::eva() else {
            unreachable!("the EVA preset is an array")
        };
        // (KiB of a window, KB/s measured with 2 to 16 readers, each at its mean)
        for (kib, measured) in [(128, 131_950), (512, 185_380)] {
            let requests: Vec<(u64, u64)> = (0..400)
                .map(|index| (index * kib * KIB, kib * KIB))
                .collect();
            let took: u64 = took_us(model.clone(), &requests)[100..].iter().sum();
            let kb_per_s = 300 * kib * 1_000_000 / took;
            let percent = kb_per_s.abs_diff(measured) * 100 / measured;
            assert!(percent <= 3, "{kb_per_s} for {measured} KB/s");
        }
    }
}
