//! What goes into the queue and what comes out: runs of pages.

use ahead_units::PAGE_BYTES;

use ahead_replicas::page_cache::FileId;

/// Pages of a file that lie one after another on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRun {
    /// Whose pages.
    pub file: FileId,
    /// First page.
    pub start: u64,
    /// How many.
    pub pages: u64,
    /// Where the first page lies on the disk, in bytes.
    pub disk_offset: u64,
    /// Which way they go.
    pub direction: IoDirection,
}

/// Whether pages come from the disk or go to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IoDirection {
    /// From the disk.
    #[default]
    Read,
    /// To the disk.
    Write,
}

impl PageRun {
    /// What is left behind the first `pages`.
    pub(crate) fn skip(&self, pages: u64) -> Self {
        Self {
            file: self.file,
            start: self.start + pages,
            pages: self.pages - pages,
            disk_offset: self
                .disk_offset
                .saturating_add(pages.saturating_mul(PAGE_BYTES)),
            direction: self.direction,
        }
    }
}

/// Pages that have been read, or written. A submitted run may come back in several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Whose pages.
    pub file: FileId,
    /// First page.
    pub start: u64,
    /// How many.
    pub pages: u64,
    /// When they were submitted, in nanoseconds.
    pub submitted_ns: u64,
    /// When the disk had read or written them, in nanoseconds.
    pub completed_ns: u64,
    /// Which way they went.
    pub direction: IoDirection,
}
