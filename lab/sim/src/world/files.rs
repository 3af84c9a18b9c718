//! The files of a world: how long they are, and where their pages lie on the disk.

use std::sync::Arc;

use ahead_units::PAGE_BYTES;

use super::error::WorldError;
use crate::queue::{IoDirection, PageRun};
use ahead_replicas::page_cache::FileId;
use ahead_workload::{FileSpec, Layout, Piece};

#[derive(Clone, Debug)]
struct Place {
    bytes: u64,
    /// Where it lies, if that follows no rule; then the rest does not count.
    pieces: Option<Arc<[Piece]>>,
    /// First byte on the disk.
    offset: u64,
    /// Pages of one piece, and from the start of one to the start of the next.
    piece_pages: u64,
    period_pages: u64,
}

/// All files.
#[derive(Clone, Debug)]
pub(super) struct Files {
    places: Vec<Place>,
    next_offset: u64,
    capacity: u64,
}

impl Files {
    pub(super) fn new(capacity: u64) -> Self {
        Self {
            places: Vec::new(),
            next_offset: 0,
            capacity,
        }
    }

    /// Gives a file its place.
    pub(super) fn add(&mut self, spec: &FileSpec) -> Result<(), WorldError> {
        let pages = spec.bytes.div_ceil(PAGE_BYTES);
        if let Layout::Pieces { pieces } = &spec.layout {
            return self.add_pieces(spec.bytes, pieces);
        }
        let (offset, piece_pages, period_pages) = match spec.layout {
            Layout::Contiguous | Layout::Pieces { .. } => (self.next_offset, u64::MAX, u64::MAX),
            Layout::At { offset } => (offset, u64::MAX, u64::MAX),
            Layout::Fragmented {
                extent_pages,
                gap_pages,
            } => {
                let piece = extent_pages.max(1);
                (self.next_offset, piece, piece.saturating_add(gap_pages))
            }
        };
        let gaps = (pages / piece_pages).saturating_mul(period_pages - piece_pages);
        let end = pages
            .saturating_add(gaps)
            .saturating_mul(PAGE_BYTES)
            .saturating_add(offset);
        if end > self.capacity {
            return Err(WorldError::DiskFull {
                file: self.places.len(),
                needed: end,
                capacity: self.capacity,
            });
        }
        if !matches!(spec.layout, Layout::At { .. }) {
            self.next_offset = end;
        }
        self.places.push(Place {
            bytes: spec.bytes,
            pieces: None,
            offset,
            piece_pages,
            period_pages,
        });
        Ok(())
    }

    fn add_pieces(&mut self, bytes: u64, pieces: &[Piece]) -> Result<(), WorldError> {
        let mut left = bytes.div_ceil(PAGE_BYTES);
        let mut needed = 0;
        for (number, piece) in pieces.iter().enumerate() {
            let is_last = number + 1 == pieces.len();
            let pages = if is_last { left } else { piece.pages.min(left) };
            needed = needed.max(
                piece
                    .offset
                    .saturating_add(pages.saturating_mul(PAGE_BYTES)),
            );
            left -= pages;
        }
        if needed > self.capacity {
            return Err(WorldError::DiskFull {
                file: self.places.len(),
                needed,
                capacity: self.capacity,
            });
        }
        self.places.push(Place {
            bytes,
            pieces: Some(pieces.into()),
            offset: 0,
            piece_pages: u64::MAX,
            period_pages: u64::MAX,
        });
        Ok(())
    }

    pub(super) fn count(&self) -> usize {
        self.places.len()
    }

    fn place(&self, file: FileId) -> &Place {
        &self.places[usize::try_from(file.0).unwrap_or(0)]
    }

    /// Bytes in a file.
    pub(super) fn bytes(&self, file: FileId) -> u64 {
        self.place(file).bytes
    }

    /// Pages in a file; the last may be a part of one.
    pub(super) fn pages(&self, file: FileId) -> u64 {
        self.bytes(file).div_ceil(PAGE_BYTES)
    }

    /// The byte of the disk where a page begins.
    pub(super) fn disk_offset(&self, file: FileId, page: u64) -> u64 {
        self.place(file).disk_offset(page)
    }

    /// The pages `[start, start + pages)` as pieces that are contiguous on the disk.
    pub(super) fn runs(&self, file: FileId, start: u64, pages: u64) -> Runs {
        Runs {
            place: self.place(file).clone(),
            file,
            next: start,
            end: start + pages,
        }
    }
}

impl Place {
    /// The byte of the disk where `page` begins, and how many pages lie there one after another.
    fn at(&self, page: u64) -> (u64, u64) {
        let Some(pieces) = &self.pieces else {
            let together = self.piece_pages - page % self.piece_pages;
            return (self.disk_offset(page), together);
        };
        let mut inside = page;
        for (number, piece) in pieces.iter().enumerate() {
            if number + 1 == pieces.len() {
                return (piece.offset + inside * PAGE_BYTES, u64::MAX);
            }
            if inside < piece.pages {
                return (piece.offset + inside * PAGE_BYTES, piece.pages - inside);
            }
            inside -= piece.pages;
        }
        (0, u64::MAX)
    }

    fn disk_offset(&self, page: u64) -> u64 {
        if self.pieces.is_some() {
            return self.at(page).0;
        }
        let (piece, inside) = (page / self.piece_pages, page % self.piece_pages);
        let page = piece.saturating_mul(self.period_pages) + inside;
        self.offset + page * PAGE_BYTES
    }
}

/// Pieces of a range of pages, ascending.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    place: Place,
    file: FileId,
    next: u64,
    end: u64,
}

impl Iterator for Runs {
    type Item = PageRun;

    fn next(&mut self) -> Option<PageRun> {
        let left = self.end.checked_sub(self.next).filter(|left| *left > 0)?;
        let (disk_offset, together) = self.place.at(self.next);
        let run = PageRun {
            file: self.file,
            start: self.next,
            pages: left.min(together),
            disk_offset,
            direction: IoDirection::Read,
        };
        self.next += run.pages;
        Some(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_lie_behind_each_other_and_pieces_apart() {
        let mut files = Files::new(1 << 30);
        files.add(&FileSpec::contiguous(10_000)).unwrap();
        let layout = Layout::Fragmented {
            extent_pages: 4,
            gap_pages: 2,
        };
        let bytes = 10 * PAGE_BYTES;
        files.add(&FileSpec { bytes, layout }).unwrap();
        files.add(&FileSpec::contiguous(1)).unwrap();
        assert_eq!(files.pages(FileId(0)), 3);
        let runs: Vec<_> = files
            .runs(FileId(1), 2, 7)
            .map(|run| (run.start, run.pages, run.disk_offset / PAGE_BYTES))
            .collect();
        assert_eq!(runs, [(2, 2, 5), (4, 4, 9), (8, 1, 15)]);
        assert_eq!(files.disk_offset(FileId(2), 0) / PAGE_BYTES, 3 + 10 + 4);
    }

    #[test]
    fn a_file_in_listed_pieces_lies_there_and_goes_on_behind_the_last() {
        let mut files = Files::new(1 << 30);
        let piece = |pages, place| Piece {
            pages,
            offset: place * PAGE_BYTES,
        };
        let layout = Layout::Pieces {
            pieces: vec![piece(4, 100), piece(2, 50)],
        };
        let bytes = 8 * PAGE_BYTES;
        files.add(&FileSpec { bytes, layout }).unwrap();
        let runs: Vec<_> = files
            .runs(FileId(0), 2, 6)
            .map(|run| (run.start, run.pages, run.disk_offset / PAGE_BYTES))
            .collect();
        assert_eq!(runs, [(2, 2, 102), (4, 4, 50)]);
        assert_eq!(files.disk_offset(FileId(0), 7) / PAGE_BYTES, 53);
    }

    #[test]
    fn a_full_disk_is_said() {
        let mut files = Files::new(8192);
        let error = files.add(&FileSpec::contiguous(8193)).unwrap_err();
        assert!(matches!(error, WorldError::DiskFull { file: 0, .. }));
    }
}
