//! The words patterns of use are written in: what a program does with one file.

use std::ops::Range;

use ahead_replicas::kernel::Advice;
pub use ahead_sys::mapped_area::Protection;

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// One call of the program, or one page it touches. Ends are exclusive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `open`: descriptors are numbered from 0 in the order of opening.
    Open,
    /// `pread`.
    Read {
        /// Number of the descriptor.
        file: usize,
        /// First byte.
        offset: u64,
        /// Bytes asked for, also behind the end of the file.
        bytes: u64,
    },
    /// `mmap`: areas are numbered from 0 in the order of mapping.
    Map {
        /// Number of the descriptor.
        file: usize,
        /// Pages of the file.
        pages: Range<u64>,
        /// What the memory is for.
        protection: Protection,
    },
    /// A byte of a mapped page is read.
    Touch {
        /// Number of the area.
        area: usize,
        /// Page of the file.
        page: u64,
    },
    /// A byte of a page of an area mapped for writing is written: the process gets a copy of the
    /// page.
    Write {
        /// Number of the area.
        area: usize,
        /// Page of the file.
        page: u64,
    },
    /// `madvise` HUGEPAGE for a whole area.
    AdviseAreaHuge {
        /// Number of the area.
        area: usize,
    },
    /// `madvise` NORMAL, SEQUENTIAL or RANDOM for a whole area.
    AdviseArea {
        /// Number of the area.
        area: usize,
        /// What is said.
        advice: Advice,
    },
    /// `madvise` WILLNEED.
    WillNeedArea {
        /// Number of the area.
        area: usize,
        /// Pages of the file.
        pages: Range<u64>,
    },
    /// `posix_fadvise` NORMAL, SEQUENTIAL or RANDOM.
    Advise {
        /// Number of the descriptor.
        file: usize,
        /// What is said.
        advice: Advice,
    },
    /// `posix_fadvise` WILLNEED.
    WillNeed {
        /// Number of the descriptor.
        file: usize,
        /// First byte.
        offset: u64,
        /// Bytes; 0 reaches to the end.
        bytes: u64,
    },
    /// `readahead(2)`.
    ReadAhead {
        /// Number of the descriptor.
        file: usize,
        /// First byte.
        offset: u64,
        /// Bytes.
        bytes: u64,
    },
    /// `posix_fadvise` DONTNEED.
    Evict {
        /// Pages of the file.
        pages: Range<u64>,
    },
    /// The device gets another `read_ahead_kb`.
    SetReadAheadKb(u64),
}

/// What a program does with a file that is not cached, and whose name says it.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// A sentence or less.
    pub name: String,
    /// Of the device when the pattern begins.
    pub read_ahead_kb: u64,
    /// Largest request of the device.
    pub max_sectors_kb: u64,
    /// Length of the file.
    pub file_bytes: u64,
    /// In order; each is over, and so is its I/O, before the next begins.
    pub operations: Vec<Operation>,
}

impl Pattern {
    /// A file of 4096 pages, opened once, on a device with the usual window of 128 KiB and the usual
    /// largest request.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            read_ahead_kb: 128,
            max_sectors_kb: 1280,
            file_bytes: 4096 * PAGE,
            operations: vec![Operation::Open],
        }
    }

    /// Another window.
    pub fn read_ahead_kb(mut self, kib: u64) -> Self {
        self.read_ahead_kb = kib;
        self
    }

    /// Another largest request.
    pub fn max_sectors_kb(mut self, kib: u64) -> Self {
        self.max_sectors_kb = kib;
        self
    }

    /// Another file length, in bytes.
    pub fn file_bytes(mut self, bytes: u64) -> Self {
        self.file_bytes = bytes;
        self
    }

    /// One more operation.
    pub fn then(mut self, operation: Operation) -> Self {
        self.operations.push(operation);
        self
    }

    /// Opens the file once more.
    pub fn open(self) -> Self {
        self.then(Operation::Open)
    }

    /// One read of whole pages through descriptor `file`.
    pub fn read_pages(self, file: usize, start: u64, pages: u64) -> Self {
        self.read_bytes(file, start * PAGE, pages * PAGE)
    }

    /// One read.
    pub fn read_bytes(self, file: usize, offset: u64, bytes: u64) -> Self {
        self.then(Operation::Read {
            file,
            offset,
            bytes,
        })
    }

    /// `count` reads of `pages` pages through descriptor 0, the first at `start`, each `step` pages
    /// behind the start of the one before.
    pub fn reads(mut self, start: u64, pages: u64, step: u64, count: u64) -> Self {
        for number in 0..count {
            self = self.read_pages(0, start + number * step, pages);
        }
        self
    }

    /// The same, towards the start of the file.
    pub fn reads_backward(mut self, start: u64, pages: u64, step: u64, count: u64) -> Self {
        for number in 0..count {
            self = self.read_pages(0, start - number * step, pages);
        }
        self
    }

    /// Reads through descriptor 0, of these sizes in pages, one behind the other from page 0.
    pub fn read_sizes(mut self, sizes: &[u64]) -> Self {
        let mut start = 0;
        for &pages in sizes {
            self = self.read_pages(0, start, pages);
            start += pages;
        }
        self
    }

    /// `count` reads of `pages` pages through descriptor `file`, one behind the other.
    pub fn read_from(mut self, file: usize, start: u64, pages: u64, count: u64) -> Self {
        for number in 0..count {
            self = self.read_pages(file, start + number * pages, pages);
        }
        self
    }

    /// Streams in turn, `rounds` times: each a descriptor and a first page, reads of `pages` pages
    /// every `step`.
    pub fn in_turns(
        mut self,
        streams: &[(usize, u64)],
        pages: u64,
        step: u64,
        rounds: u64,
    ) -> Self {
        for round in 0..rounds {
            for &(file, start) in streams {
                self = self.read_pages(file, start + round * step, pages);
            }
        }
        self
    }

    /// What `more` adds.
    pub fn and(self, more: impl FnOnce(Self) -> Self) -> Self {
        more(self)
    }

    /// Maps pages through descriptor 0.
    pub fn map(self, pages: Range<u64>) -> Self {
        self.map_as(pages, Protection::Read)
    }

    /// Maps pages through descriptor 0, for other things than reading.
    pub fn map_as(self, pages: Range<u64>, protection: Protection) -> Self {
        self.then(Operation::Map {
            file: 0,
            pages,
            protection,
        })
    }

    /// Whether it maps anything.
    pub fn has_maps(&self) -> bool {
        let mut operations = self.operations.iter();
        operations.any(|operation| matches!(operation, Operation::Map { .. }))
    }

    /// Whether it asks for huge pages.
    pub fn advises_huge(&self) -> bool {
        let mut operations = self.operations.iter();
        operations.any(|operation| matches!(operation, Operation::AdviseAreaHuge { .. }))
    }

    /// Touches pages of an area, in this order.
    pub fn touch(mut self, area: usize, pages: impl IntoIterator<Item = u64>) -> Self {
        for page in pages {
            self = self.then(Operation::Touch { area, page });
        }
        self
    }

    /// Writes to pages of an area, in this order.
    pub fn write(mut self, area: usize, pages: impl IntoIterator<Item = u64>) -> Self {
        for page in pages {
            self = self.then(Operation::Write { area, page });
        }
        self
    }

    /// `madvise` for an area.
    pub fn advise_area(self, area: usize, advice: Advice) -> Self {
        self.then(Operation::AdviseArea { area, advice })
    }

    /// `posix_fadvise` for a descriptor.
    pub fn advise(self, file: usize, advice: Advice) -> Self {
        self.then(Operation::Advise { file, advice })
    }

    /// `posix_fadvise` WILLNEED through descriptor 0.
    pub fn will_need(self, offset: u64, bytes: u64) -> Self {
        self.then(Operation::WillNeed {
            file: 0,
            offset,
            bytes,
        })
    }

    /// `readahead(2)` through descriptor 0.
    pub fn read_ahead(self, offset: u64, bytes: u64) -> Self {
        self.then(Operation::ReadAhead {
            file: 0,
            offset,
            bytes,
        })
    }

    /// Takes pages out of the cache.
    pub fn evict(self, pages: Range<u64>) -> Self {
        self.then(Operation::Evict { pages })
    }
}
