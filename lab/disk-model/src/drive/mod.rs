//! A mechanical drive: zones, a seek curve, a surface that turns, and a buffer that reads ahead.
//!
//! A request is served in one of three ways:
//!
//! 1. **From the buffer.** All of it is there: hit overhead, then the bytes at interface speed.
//! 2. **From the running read-ahead.** After a request the drive reads on, up to a limit, until
//!    another request needs the arm. A request that begins in what has been read ahead, or ahead of
//!    it, may wait for the surface to get there; if the read-ahead had stopped at its limit, it
//!    goes on from there, and has to wait for the angle.
//! 3. **From the surface.** Miss overhead, seek (or a change of heads), the wait for the true angle
//!    of its first sector, then sector after sector.
//!
//! Of 2 and 3 the drive takes what ends first. Reading along costs a change of heads at the end of
//! a track and a seek at the end of a cylinder; tracks begin later by their skew, so that the first
//! sector arrives just behind the head. What comes from the surface passes the interface meanwhile:
//! the request ends with the later of the two.
//!
//! ```text
//!   miss:  |overhead| seek | wait for the angle |#### track ####|skew|## next track ##|
//!   hit:   |overhead|## interface ##|
//!   then:                                                        |~~ read-ahead ~~ … limit
//! ```
//!
//! Not modelled: writes, defects and spare sectors, thermal recalibration, a second command's
//! overhead hidden behind the first. A disk larger than the drive starts again from its first
//! sector; a smaller one lies on the outer cylinders.

mod buffer;
mod geometry;
mod model;
mod seek;
pub(crate) mod sets;

pub use model::{BufferModel, DriveModel, SECTOR_BYTES, Zone};
pub use seek::SeekCurve;

use crate::mechanism::Request;
use crate::serial::{Serial, Served, Service};
use crate::time_scale::TimeScale;
use buffer::Buffer;
use geometry::Geometry;

/// The state of the mechanism, in model time.
#[derive(Clone, Debug)]
pub struct Drive {
    model: DriveModel,
    geometry: Geometry,
    buffer: Option<Buffer>,
    /// The sector behind the last one that was read; the arm stands there.
    at: u64,
    read_ahead: Option<ReadAhead>,
    /// Where the last request ended, in bytes.
    head: u64,
}

/// Reading on behind a request.
#[derive(Clone, Copy, Debug)]
struct ReadAhead {
    /// First sector.
    from: u64,
    /// When the head stood in front of it.
    since_ns: u64,
    /// Where it stops; exclusive.
    limit: u64,
}

impl Drive {
    /// An idle drive with its waiting requests. The arm stands at the first sector, which passes at
    /// moment 0.
    pub(crate) fn with_line(model: DriveModel) -> Serial<Self> {
        let order = model.order;
        Serial::new(Self::new(model), order, |real_ns| real_ns)
    }

    fn new(model: DriveModel) -> Self {
        Self {
            geometry: Geometry::new(&model),
            buffer: model.buffer.map(Buffer::new),
            model,
            at: 0,
            read_ahead: None,
            head: 0,
        }
    }

    /// First sector of a request and the one behind its last, on the drive.
    fn sectors(&self, request: &Request) -> (u64, u64) {
        let start = request.offset.get() / SECTOR_BYTES;
        let end = request.offset.get().saturating_add(request.length.get());
        let count = end.div_ceil(SECTOR_BYTES).saturating_sub(start).max(1);
        let all = self.geometry.sectors();
        let count = count.min(all);
        let start = (start % all).min(all - count);
        (start, start + count)
    }

    /// Reads along from sector `from`, with its head in place at `now_ns`, until all before `end`
    /// has been read or `until_ns` has come. Returns the sector behind the last, and the moment.
    fn read(&self, now_ns: u64, from: u64, end: u64, until_ns: u64) -> (u64, u64) {
        let (mut now_ns, mut next) = (now_ns, from);
        while next < end {
            let place = self.geometry.locate(next);
            let begins_ns = self.geometry.passes_ns(now_ns, &place);
            let sectors = place.sectors_left().min(end - next);
            let passing_ns = self.geometry.passing_ns(sectors, place.track_sectors);
            let ends_ns = begins_ns.saturating_add(passing_ns);
            if ends_ns > until_ns {
                let passed_ns = until_ns.saturating_sub(begins_ns);
                let passed = self.geometry.passed_in(passed_ns, place.track_sectors);
                return (next + passed.min(sectors), until_ns);
            }
            next += sectors;
            now_ns = ends_ns;
            if next < end {
                now_ns = now_ns.saturating_add(self.moving_ns(next - 1, next));
            }
        }
        (next, now_ns)
    }

    /// From the track of one sector to the track of another.
    fn moving_ns(&self, from: u64, to: u64) -> u64 {
        let last = self.geometry.sectors() - 1;
        let from = self.geometry.locate(from.min(last));
        let to = self.geometry.locate(to.min(last));
        let distance = from.cylinder.abs_diff(to.cylinder);
        let seek_ns = self.model.seek.ns(distance, self.geometry.cylinders());
        if from.surface == to.surface {
            seek_ns
        } else {
            seek_ns.max(self.model.head_switch_us.saturating_mul(1_000))
        }
    }

    fn interface_ns(&self, sectors: u64) -> u64 {
        let bytes = sectors.saturating_mul(SECTOR_BYTES);
        TimeScale::REAL.time_for(bytes, self.model.interface_bytes_per_s)
    }

    /// What the drive has read on by `now_ns` goes into the buffer.
    fn catch_up(&mut self, now_ns: u64) {
        let Some(ahead) = self.read_ahead else {
            return;
        };
        let (reached, _) = self.read(ahead.since_ns, ahead.from, ahead.limit, now_ns);
        if let Some(buffer) = self.buffer.as_mut().filter(|_| reached > self.at) {
            buffer.store(self.at, reached);
        }
        self.at = self.at.max(reached);
        if reached >= ahead.limit {
            self.read_ahead = None;
        }
    }

    /// `end` has been asked for and was there: the drive may read on further than it meant to.
    fn extend_read_ahead(&mut self, now_ns: u64, end: u64) {
        let Some(buffer) = &self.buffer else { return };
        let limit = buffer.read_ahead_end(end).min(self.geometry.sectors());
        if limit <= self.at || !buffer.holds(end.min(self.at), self.at) {
            return;
        }
        match &mut self.read_ahead {
            Some(ahead) => ahead.limit = ahead.limit.max(limit),
            None => self.start_read_ahead(now_ns, limit),
        }
    }

    /// Reads on from where the arm stands.
    fn start_read_ahead(&mut self, now_ns: u64, limit: u64) {
        if limit > self.at {
            let moving_ns = self.moving_ns(self.at.saturating_sub(1), self.at);
            self.read_ahead = Some(ReadAhead {
                from: self.at,
                since_ns: now_ns.saturating_add(moving_ns),
                limit,
            });
        }
    }

    /// The way of reading on, if it leads to `start..end`.
    fn by_reading_on(&self, now_ns: u64, start: u64, end: u64) -> Option<Reading> {
        let buffer = self.buffer.as_ref()?;
        let begins_inside = start <= self.at && buffer.holds(start, self.at);
        let read_ns = match self.read_ahead {
            Some(ahead) if begins_inside || (self.at..=ahead.limit).contains(&start) => {
                self.read(ahead.since_ns, ahead.from, end, u64::MAX).1
            }
            None if begins_inside => {
                let overhead_ns = self.model.miss_overhead_us.saturating_mul(1_000);
                let moving_ns = self.moving_ns(self.at.saturating_sub(1), self.at);
                let ready_ns = now_ns.saturating_add(overhead_ns).saturating_add(moving_ns);
                self.read(ready_ns, self.at, end, u64::MAX).1
            }
            _ => return None,
        };
        let hit_ns = self.model.hit_overhead_us.saturating_mul(1_000);
        let through_ns = now_ns
            .saturating_add(hit_ns)
            .saturating_add(self.interface_ns(end - start));
        Some(Reading {
            from: self.at.min(start),
            read_ns,
            ends_ns: read_ns.max(through_ns),
            is_seek: false,
        })
    }

    /// The way over the surface.
    fn by_positioning(&self, now_ns: u64, start: u64, end: u64) -> Reading {
        let seek_ns = self.moving_ns(self.at, start);
        let overhead_ns = self.model.miss_overhead_us.saturating_mul(1_000);
        let ready_ns = now_ns.saturating_add(overhead_ns).saturating_add(seek_ns);
        let place = self.geometry.locate(start);
        let first_ns = self.geometry.passes_ns(ready_ns, &place);
        let read_ns = self.read(ready_ns, start, end, u64::MAX).1;
        let through_ns = first_ns.saturating_add(self.interface_ns(end - start));
        let last = self.geometry.locate(self.last_sector());
        Reading {
            from: start,
            read_ns,
            ends_ns: read_ns.max(through_ns),
            is_seek: place.cylinder != last.cylinder,
        }
    }

    /// The sector that the arm stands at; behind the end of the drive, its last.
    fn last_sector(&self) -> u64 {
        self.at.min(self.geometry.sectors() - 1)
    }
}

/// How a request comes from the surface.
#[derive(Clone, Copy, Debug)]
struct Reading {
    /// First sector that is read for it.
    from: u64,
    /// When its last sector has been read.
    read_ns: u64,
    /// When its last byte has passed the interface.
    ends_ns: u64,
    is_seek: bool,
}

impl Service for Drive {
    fn serve(&mut self, start_ns: u64, request: &Request) -> Served {
        let (start, end) = self.sectors(request);
        self.catch_up(start_ns);
        self.head = request.offset.get().saturating_add(request.length.get());
        let is_hit = self
            .buffer
            .as_mut()
            .is_some_and(|buffer| buffer.hit(start, end));
        if is_hit {
            self.extend_read_ahead(start_ns, end);
            let hit_ns = self.model.hit_overhead_us.saturating_mul(1_000);
            return Served {
                ns: hit_ns.saturating_add(self.interface_ns(end - start)),
                is_seek: false,
            };
        }
        let fresh = self.by_positioning(start_ns, start, end);
        let reading = self
            .by_reading_on(start_ns, start, end)
            .filter(|going_on| going_on.ends_ns <= fresh.ends_ns)
            .unwrap_or(fresh);
        self.at = end;
        self.read_ahead = None;
        if let Some(buffer) = &mut self.buffer {
            buffer.store(reading.from, end);
            let limit = buffer.read_ahead_end(end).min(self.geometry.sectors());
            self.start_read_ahead(reading.read_ns, limit);
        }
        Served {
            ns: reading.ends_ns.saturating_sub(start_ns),
            is_seek: reading.is_seek,
        }
    }

    fn head(&self) -> u64 {
        self.head
    }
}

#[cfg(test)]
mod tests;
