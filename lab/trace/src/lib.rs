//! The recorded form of accesses and decisions, and the formats that people have.
//!
//! A trace is a stream of [`Access`] records and a [`FileNames`]. A [`Reader`] turns bytes of one
//! format into them without holding more than one record; a writer does the reverse. Nothing here
//! knows what a trace is used for: the simulator replays it in virtual time, the program on a real
//! file system.
#![forbid(unsafe_code)]

mod access;
mod blkparse;
mod columns;
mod csv;
mod error;
mod files;
mod fio;
mod format;
mod lines;
mod msr;
mod name;
mod oracle;
mod parquet;
mod reader;
mod row;
mod source;
mod statistics;
mod strace;
mod text;
mod word;
mod writer;

pub use access::{Access, Decided, FileAdvice, FileRef, Operation};
pub use columns::{Columns, ColumnsError};
pub use error::{DamagePlace, Problem, TraceError};
pub use files::{FileNames, FullError, NAME_BYTES_MAX, NamesLimit};
pub use format::{
    AnyReader, Format, OpenOptions, RecordingNameError, create, format_of, from_stream, open,
    writer,
};
pub use oracle::Objects;
pub use reader::{InMemory, Reader, Relative};
pub use statistics::{Spread, Statistics};
pub use writer::{Sink, WriteError, WriteProblem, Writer, Written};
