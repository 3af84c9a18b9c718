//! What every reader of traces is: an iterator of records that knows its files.
//!
//! A reader holds what one record needs, never the trace. After an error it is at its end: a
//! damaged tail yields the records before it, one error, then nothing.

use crate::access::Access;
use crate::error::TraceError;
use crate::files::FileNames;

/// A trace that is being read.
pub trait Reader: Iterator<Item = Result<Access, TraceError>> {
    /// The files that were mentioned so far; complete when the iterator has ended.
    fn files(&self) -> &FileNames;

    /// Lines or records that were understood and are no accesses: exits, signals, other calls.
    fn skipped(&self) -> u64 {
        0
    }

    /// Bytes of the trace that were used up, for progress; of the packed form, if it is packed.
    fn bytes_read(&self) -> u64;
}

impl<R: Reader + ?Sized> Reader for Box<R> {
    fn files(&self) -> &FileNames {
        (**self).files()
    }

    fn skipped(&self) -> u64 {
        (**self).skipped()
    }

    fn bytes_read(&self) -> u64 {
        (**self).bytes_read()
    }
}

/// A reader whose clock begins at 0 with the first record.
///
/// Records that a trace holds in the order of their ends may begin before the first one; these
/// begin at 0 too.
#[derive(Debug)]
pub struct Relative<R> {
    reader: R,
    start_ns: Option<u64>,
}

impl<R: Reader> Relative<R> {
    /// Starts the clock of `reader` at its first record.
    pub fn new(reader: R) -> Self {
        Self {
            reader,
            start_ns: None,
        }
    }
}

impl<R: Reader> Iterator for Relative<R> {
    type Item = Result<Access, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.reader.next()?.map(|mut access| {
            let start_ns = *self.start_ns.get_or_insert(access.at_ns);
            access.at_ns = access.at_ns.saturating_sub(start_ns);
            access
        }))
    }
}

impl<R: Reader> Reader for Relative<R> {
    fn files(&self) -> &FileNames {
        self.reader.files()
    }

    fn skipped(&self) -> u64 {
        self.reader.skipped()
    }

    fn bytes_read(&self) -> u64 {
        self.reader.bytes_read()
    }
}

/// A trace in memory, for tests and for traces that are made rather than recorded.
#[derive(Debug, Default)]
pub struct InMemory {
    files: FileNames,
    accesses: std::vec::IntoIter<Access>,
}

impl InMemory {
    /// A trace of `accesses` to `files`.
    #[must_use]
    pub fn new(files: FileNames, accesses: Vec<Access>) -> Self {
        Self {
            files,
            accesses: accesses.into_iter(),
        }
    }
}

impl Iterator for InMemory {
    type Item = Result<Access, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.accesses.next().map(Ok)
    }
}

impl Reader for InMemory {
    fn files(&self) -> &FileNames {
        &self.files
    }

    fn bytes_read(&self) -> u64 {
        0
    }
}
