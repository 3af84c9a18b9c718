//! Tables as Parquet: our own, and others whose columns are named with a map of columns.
//!
//! Our own has the columns of the native CSV, small and quick to search, for traces that are kept.
//! It is not the form of a recording: what describes the columns stands at the end, so a file
//! whose writer died has nothing that can be read.
//!
//! Rows are read and written in batches, so the memory is a batch and one row group's pages.

mod guard;
mod read;
mod write;

pub(crate) use read::ParquetReader;
pub(crate) use write::ParquetWriter;

/// How every Parquet file begins, and ends.
pub(crate) const MAGIC: &[u8] = b"PAR1";
