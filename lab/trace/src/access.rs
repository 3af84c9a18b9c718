//! One record of a trace: who touched which bytes of which file, when, and how.
//!
//! Only the shape. Names and sizes of files are in [`FileNames`](crate::FileNames); how a record
//! looks on disk is the business of each format.

/// A file of a trace: a place in its [`FileNames`](crate::FileNames), counted from 0 in the order
/// of first mention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileRef(pub u32);

impl FileRef {
    /// As a place in a slice.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a program said it is going to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FileAdvice {
    /// Nothing special.
    #[default]
    Normal,
    /// Reads in order.
    Sequential,
    /// Reads in no order.
    Random,
    /// Wants the range soon: `WILLNEED`, and `readahead(2)`.
    WillNeed,
    /// Will not come back to the range.
    DontNeed,
}

/// A decision of a read-ahead policy, in the codes of the policy that made it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Decided {
    /// The pattern that was seen.
    pub pattern: u8,
    /// Why these pages.
    pub reason: u8,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Bytes from the file; `length` is what was delivered, where the format knows it, and what
    /// was asked for otherwise.
    Read,
    /// Bytes to the file.
    Write,
    /// The file was opened: a reader begins at its front. Offset and length are 0.
    Open,
    /// The last user of an open file went away. Offset and length are 0.
    Close,
    /// A page fault on a mapping, or the mapping itself where the format sees no faults.
    Fault,
    /// A promise of the program; length 0 means to the end of the file.
    Advise(FileAdvice),
    /// Written bytes were forced out.
    Sync,
    /// The range was given back to the device.
    Discard,
    /// Not the program: a policy asked for the range. Readers of a workload skip it.
    Prefetch(Decided),
}

impl Operation {
    /// The program waits for bytes of the file: a read or a fault.
    #[must_use]
    pub const fn is_reading(self) -> bool {
        matches!(self, Self::Read | Self::Fault)
    }

    /// Done by the program, not by a policy that watched it.
    #[must_use]
    pub const fn is_of_program(self) -> bool {
        !matches!(self, Self::Prefetch(_))
    }
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// When it began, in nanoseconds of the trace's own clock. Only differences mean something;
    /// [`Relative`](crate::Relative) makes the first record zero.
    pub at_ns: u64,
    /// The process, 0 where the format does not say.
    pub process: u32,
    /// The thread, 0 where the format does not say.
    pub thread: u32,
    /// The file.
    pub file: FileRef,
    /// What was done.
    pub operation: Operation,
    /// First byte.
    pub offset: u64,
    /// How many bytes.
    pub length: u64,
    /// How long it took, where the format says.
    pub duration_ns: Option<u64>,
}

/// The longest fault that is one: a huge page.
const FAULT_BYTES_MAX: u64 = 2 << 20;

impl Access {
    /// A whole mapping, from a trace that saw no page faults: what of it was read is not known.
    #[must_use]
    pub fn is_mapping(&self) -> bool {
        self.operation == Operation::Fault && self.length > FAULT_BYTES_MAX
    }

    /// A read of which nothing but the range is known.
    #[must_use]
    pub const fn read(file: FileRef, offset: u64, length: u64) -> Self {
        Self {
            at_ns: 0,
            process: 0,
            thread: 0,
            file,
            operation: Operation::Read,
            offset,
            length,
            duration_ns: None,
        }
    }

    /// First byte behind the range.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}
