//! What the commands on traces share: opening one as the command line says, and showing how far
//! the reading is.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ahead_trace::{
    AnyReader, Columns, ColumnsError, Format, Objects, OpenOptions, Reader, TraceError, WriteError,
    from_stream, open,
};
use indicatif::ProgressBar;

use crate::arguments::TraceOptions;
use crate::exit::Exit;
use crate::progress::{self, Shows};

/// A job that is over sooner needs no bar.
const QUIET: Duration = Duration::from_secs(2);
/// Records between two looks at the clock.
const LOOK_EVERY: u64 = 1 << 16;

/// Why a command on a trace did not do all it should.
#[derive(Debug, thiserror::Error)]
pub enum TraceCommandError {
    /// The trace cannot be read, or not to its end.
    #[error(transparent)]
    Read(#[from] TraceError),
    /// The new trace cannot be written.
    #[error("cannot write {0}")]
    Write(#[from] WriteError),
    /// The map of columns.
    #[error(transparent)]
    Columns(#[from] ColumnsError),
    /// Another mistake on the command line.
    #[error("{0}")]
    Usage(String),
    /// A file that is not the trace.
    #[error("cannot use '{path}': {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The result cannot be printed.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

impl TraceCommandError {
    /// How the program ends after this error.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        match self {
            Self::Columns(_) | Self::Usage(_) => Exit::Usage,
            _ => Exit::Failed,
        }
    }
}

/// The options for the reader, from those that were typed.
///
/// # Errors
/// A map of columns, or a kind of objects, that is none.
pub fn options(typed: &TraceOptions) -> Result<OpenOptions, TraceCommandError> {
    Ok(OpenOptions {
        format: typed.from.as_deref().and_then(Format::named),
        columns: typed.columns.as_deref().map(Columns::parse).transpose()?,
        objects: objects(typed)?,
        action: typed.action.bytes().next().unwrap_or(b'Q'),
    })
}

/// What an object of a cache trace is.
///
/// # Errors
/// Neither `files` nor `blocks:BYTES`.
pub fn objects(typed: &TraceOptions) -> Result<Objects, TraceCommandError> {
    typed.objects.parse().map_err(TraceCommandError::Usage)
}

/// Opens a trace; `-` is standard input.
///
/// # Errors
/// It cannot be read, or the command line is wrong.
pub fn reader(path: &Path, typed: &TraceOptions) -> Result<AnyReader, TraceCommandError> {
    let options = options(typed)?;
    if path == Path::new("-") {
        return Ok(from_stream("standard input", io::stdin(), &options)?);
    }
    Ok(open(path, &options)?)
}

/// How far the reading is, shown on a terminal when it takes longer than two seconds.
pub struct ReadingProgress {
    started: Instant,
    size: u64,
    records: u64,
    bar: Option<ProgressBar>,
}

impl ReadingProgress {
    /// Begins to read the trace at `path`.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self {
            started: Instant::now(),
            size: std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
            records: 0,
            bar: None,
        }
    }

    /// One more record was read.
    pub fn on_record(&mut self, reader: &dyn Reader) {
        self.records += 1;
        if self.records.is_multiple_of(LOOK_EVERY) {
            self.look(reader);
        }
    }

    fn look(&mut self, reader: &dyn Reader) {
        if let Some(bar) = &self.bar {
            bar.set_position(reader.bytes_read());
            return;
        }
        if self.started.elapsed() < QUIET || !progress::is_seen() {
            return;
        }
        let is_pipe = self.size == 0;
        let shows = if is_pipe {
            Shows::BytesWithoutEnd
        } else {
            Shows::Bytes
        };
        let bar = progress::bar(shows, self.size);
        bar.set_position(reader.bytes_read());
        self.bar = Some(bar);
    }
}

impl Drop for ReadingProgress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
