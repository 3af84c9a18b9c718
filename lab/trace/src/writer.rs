//! What every writer of traces is, and where written traces go.
//!
//! A writer is given records and the table of their files, and finished once. What a format cannot
//! hold is left out and counted: advice in fio's log, for one. A name that ends in `.zst` or `.gz` packs.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::access::Access;
use crate::files::FileNames;

/// Strength of packing: fast, and a quarter of the size for text.
const ZSTD_LEVEL: i32 = 3;

/// What is wrong with a trace that is being written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteProblem {
    /// The system could not write.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The format cannot hold a record. The text says which, and which format can.
    #[error("{0}")]
    Unsupported(String),
}

/// A trace that cannot be written. What was written before is not a whole trace.
#[derive(Debug, thiserror::Error)]
#[error("'{trace}': {problem}")]
pub struct WriteError {
    /// The trace that was to be written.
    pub trace: String,
    /// What is wrong.
    #[source]
    pub problem: WriteProblem,
}

/// What became of the records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Records that are in the trace.
    pub accesses: u64,
    /// Records that the format cannot hold.
    pub left_out: u64,
}

/// A trace that is being written.
pub trait Writer {
    /// Adds a record. `files` is the table that the record's file is in, always the same one.
    ///
    /// # Errors
    /// The system cannot write, or the format cannot hold a name.
    fn write(&mut self, access: &Access, files: &FileNames) -> Result<(), WriteError>;

    /// Hands what was written so far to the system, so that a reader of the file sees it. A format
    /// that must be finished to be read does nothing.
    ///
    /// # Errors
    /// The system cannot write.
    fn flush(&mut self) -> Result<(), WriteError> {
        Ok(())
    }

    /// Writes what is still held back. Nothing may be written afterwards.
    ///
    /// # Errors
    /// The system cannot write.
    fn finish(&mut self, files: &FileNames) -> Result<Written, WriteError>;
}

impl<W: Writer + ?Sized> Writer for Box<W> {
    fn write(&mut self, access: &Access, files: &FileNames) -> Result<(), WriteError> {
        (**self).write(access, files)
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        (**self).flush()
    }

    fn finish(&mut self, files: &FileNames) -> Result<Written, WriteError> {
        (**self).finish(files)
    }
}

/// How records become the bytes of a format.
pub(crate) trait Encode {
    /// Writes one record, or says that the format cannot hold it.
    fn encode(
        &mut self,
        access: &Access,
        files: &FileNames,
        out: &mut dyn Write,
    ) -> Result<bool, WriteProblem>;

    /// Writes what a trace needs even when it has no record, and what was held back.
    fn end(&mut self, files: &FileNames, out: &mut dyn Write) -> Result<(), WriteProblem>;
}

/// A format and the place its bytes go to.
pub(crate) struct Encoded<E> {
    trace: String,
    encoder: E,
    out: Sink,
    written: Written,
}

impl<E: Encode> Encoded<E> {
    pub(crate) fn new(trace: &str, encoder: E, out: Sink) -> Self {
        Self {
            trace: trace.to_owned(),
            encoder,
            out,
            written: Written::default(),
        }
    }

    fn named<T>(&self, result: Result<T, WriteProblem>) -> Result<T, WriteError> {
        result.map_err(|problem| WriteError {
            trace: self.trace.clone(),
            problem,
        })
    }
}

impl<E: Encode> Writer for Encoded<E> {
    fn write(&mut self, access: &Access, files: &FileNames) -> Result<(), WriteError> {
        let encoded = self.encoder.encode(access, files, &mut self.out);
        if self.named(encoded)? {
            self.written.accesses += 1;
        } else {
            self.written.left_out += 1;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        let flushed = self.out.flush();
        self.named(flushed.map_err(WriteProblem::Io))
    }

    fn finish(&mut self, files: &FileNames) -> Result<Written, WriteError> {
        let ended = self.encoder.end(files, &mut self.out);
        self.named(ended)?;
        let finished = self.out.finish();
        self.named(finished.map_err(WriteProblem::Io))?;
        Ok(self.written)
    }
}

/// Where written bytes go, packed or not.
pub struct Sink(Packing);

enum Packing {
    Plain(BufWriter<Box<dyn Write + Send>>),
    Zstd(zstd::stream::write::Encoder<'static, Box<dyn Write + Send>>),
    Gzip(GzEncoder<BufWriter<Box<dyn Write + Send>>>),
}

impl Sink {
    /// A new file; an old one of that name goes.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = File::create(path)?;
        match path.extension().and_then(OsStr::to_str) {
            Some("zst") => {
                let encoder = zstd::stream::write::Encoder::new(boxed(file), ZSTD_LEVEL)?;
                Ok(Self(Packing::Zstd(encoder)))
            }
            Some("gz") => {
                let out = BufWriter::new(boxed(file));
                let encoder = GzEncoder::new(out, Compression::default());
                Ok(Self(Packing::Gzip(encoder)))
            }
            _ => Ok(Self::new(file)),
        }
    }

    /// Any place, unpacked.
    pub fn new(out: impl Write + Send + 'static) -> Self {
        Self(Packing::Plain(BufWriter::with_capacity(
            1 << 18,
            boxed(out),
        )))
    }

    pub(crate) fn finish(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Packing::Plain(out) => out.flush(),
            Packing::Zstd(out) => {
                out.do_finish()?;
                out.get_mut().flush()
            }
            Packing::Gzip(out) => {
                out.try_finish()?;
                out.get_mut().flush()
            }
        }
    }
}

fn boxed(out: impl Write + Send + 'static) -> Box<dyn Write + Send> {
    Box::new(out)
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Packing::Plain(out) => out.write(bytes),
            Packing::Zstd(out) => out.write(bytes),
            Packing::Gzip(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Packing::Plain(out) => out.flush(),
            Packing::Zstd(out) => out.flush(),
            Packing::Gzip(out) => out.flush(),
        }
    }
}
