//! The buffer inside a drive: a few segments, each a run of sectors of one stream.
//!
//! A segment keeps the last sectors of its run; when all are taken, the one not used for longest
//! makes space. When the drive reads on behind a request is the [drive](super)'s affair.

use super::model::BufferModel;

/// A run of sectors in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// First sector inside.
    pub(super) start: u64,
    /// One behind the last.
    pub(super) end: u64,
}

/// Segments, most recently used first.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    model: BufferModel,
    segments: Vec<Segment>,
}

impl Buffer {
    pub(super) const fn new(model: BufferModel) -> Self {
        Self {
            model,
            segments: Vec::new(),
        }
    }

    /// Whether all of `start..end` is there. If so, its segment counts as used now.
    pub(super) fn hit(&mut self, start: u64, end: u64) -> bool {
        let found = self
            .segments
            .iter()
            .position(|segment| segment.start <= start && end <= segment.end);
        if let Some(index) = found {
            self.segments[..=index].rotate_right(1);
        }
        found.is_some()
    }

    /// Whether all of `start..end` is there.
    pub(super) fn holds(&self, start: u64, end: u64) -> bool {
        self.segments
            .iter()
            .any(|segment| segment.start <= start && end <= segment.end)
    }

    /// Sectors `start..end` have come from the surface. They continue the segment that ends at
    /// `start` or holds it, or take a segment of their own.
    pub(super) fn store(&mut self, start: u64, end: u64) {
        let continued = self
            .segments
            .iter()
            .position(|segment| segment.start <= start && start <= segment.end);
        let mut segment = Segment { start, end };
        match continued {
            Some(index) => {
                let old = self.segments.remove(index);
                segment.start = old.start;
                segment.end = old.end.max(end);
            }
            None => {
                let most = usize::try_from(self.model.segments).unwrap_or(usize::MAX);
                self.segments.truncate(most.saturating_sub(1));
            }
        }
        let kept = self.model.segment_sectors;
        segment.start = segment.start.max(segment.end.saturating_sub(kept));
        self.segments.insert(0, segment);
    }

    /// How far the drive reads on behind a request that ends at `end`; exclusive.
    pub(super) const fn read_ahead_end(&self, end: u64) -> u64 {
        end.saturating_add(self.model.read_ahead_sectors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer() -> Buffer {
        Buffer::new(BufferModel {
            segments: 2,
            segment_sectors: 100,
            read_ahead_sectors: 50,
        })
    }

    #[test]
    fn a_stream_keeps_its_segment_and_loses_its_oldest_sectors() {
        let mut buffer = buffer();
        buffer.store(0, 80);
        buffer.store(80, 160);
        assert!(buffer.hit(60, 160));
        assert!(!buffer.hit(59, 160));
    }

    #[test]
    fn the_stream_not_used_for_longest_makes_space() {
        let mut buffer = buffer();
        buffer.store(0, 10);
        buffer.store(1_000, 1_010);
        assert!(buffer.hit(0, 10));
        buffer.store(2_000, 2_010);
        assert!(buffer.hit(0, 10));
        assert!(!buffer.hit(1_000, 1_010));
    }
}
