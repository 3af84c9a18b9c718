//! Where the kernel's core decides otherwise than `policy`, and why it may.

use std::fmt;

/// A named difference. Whatever has no name here is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// `policy` asks for the begins of runs that begin in step, before they begin. The core leaves that out: it is the
    /// longest part of `policy`, and in the kernel a stream's first miss costs no system call. From the first such
    /// request on, what the two know of a file is not the same, so all its later decisions count under this name.
    Beginnings,
    /// `policy` knows the bytes of reads, and sees strides whose period is no whole number of pages. The kernel's page
    /// cache is asked for pages. Only counted where accesses are given to `policy` in bytes.
    Bytes,
}

/// All of them, with the share of accesses (in parts per million) that may count under each. Of those under bytes two thirds are strides of
/// few pages, which by pages alone have steps that differ.
pub const BUDGETS: &[(Difference, u64)] =
    &[(Difference::Beginnings, 20_000), (Difference::Bytes, 4_000)];

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Beginnings => "beginnings",
            Self::Bytes => "bytes",
        })
    }
}
