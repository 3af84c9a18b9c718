//! The formats by name, how a trace's format is recognised, and opening one without knowing it.
//!
//! A format is recognised by what a trace begins with, never by its name: traces are renamed and
//! packed. One format has no mark, oracleGeneral; it is taken when the file is called so, and has
//! to be named otherwise.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use crate::blkparse::{self, Blkparse};
use crate::columns::Columns;
use crate::csv::{self, Csv, CsvEncoder};
use crate::error::{DamagePlace, Problem, TraceError};
use crate::fio::{self, Fio, FioEncoder};
use crate::lines::LineReader;
use crate::msr::{self, Msr};
use crate::oracle::{Objects, OracleEncoder, OracleReader};
use crate::parquet::{self, ParquetReader, ParquetWriter};
use crate::reader::Reader;
use crate::source::Source;
use crate::strace::{self, Strace};
use crate::writer::{Encoded, Sink, WriteError, WriteProblem, Writer};

/// A format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// fio's log, version 2 or 3; version 3 is written.
    Fio,
    /// What `blkparse` prints.
    Blkparse,
    /// What `strace -f -ttt -yy` prints.
    Strace,
    /// The block traces of MSR Cambridge.
    Msr,
    /// libCacheSim's binary form.
    OracleGeneral,
    /// A table as text; our own is the native form of a recording.
    Csv,
    /// A table as Parquet.
    Parquet,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 7] = [
        Self::Fio,
        Self::Blkparse,
        Self::Strace,
        Self::Msr,
        Self::OracleGeneral,
        Self::Csv,
        Self::Parquet,
    ];

    /// The name, as it is typed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fio => "fio",
            Self::Blkparse => "blkparse",
            Self::Strace => "strace",
            Self::Msr => "msr",
            Self::OracleGeneral => "oracle-general",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }

    /// The format of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Whether traces are also written in it.
    #[must_use]
    pub const fn can_be_written(self) -> bool {
        matches!(
            self,
            Self::Fio | Self::OracleGeneral | Self::Csv | Self::Parquet
        )
    }

    /// Whether its records are requests to a disk: what is left of reads after the page cache and a kernel's
    /// read-ahead, so that both would be simulated twice.
    #[must_use]
    pub const fn is_below_page_cache(self) -> bool {
        matches!(self, Self::Blkparse | Self::Msr)
    }

    /// The format that a file of this name is meant to have: `.csv`, `.parquet`, `.fio` and
    /// `.iolog`, and any with `oracleGeneral` in it; each also with `.zst` or `.gz` behind.
    #[must_use]
    pub fn of_file_name(path: &Path) -> Option<Self> {
        let name = unpacked_name(path)?;
        let (_, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        match extension {
            "csv" => Some(Self::Csv),
            "parquet" => Some(Self::Parquet),
            "fio" | "iolog" => Some(Self::Fio),
            // Published ones are called `w01.oracleGeneral.bin.zst`, `x.oracleGeneral.sample10.zst`.
            _ if name.contains("oracleGeneral") => Some(Self::OracleGeneral),
            _ => None,
        }
    }

    /// The format of a recording in a file of this name, which is CSV where it has no ending.
    ///
    /// # Errors
    /// [`RecordingNameError`].
    pub fn of_recording(path: &Path) -> Result<Self, RecordingNameError> {
        if path == Path::new("-") {
            return Err(RecordingNameError::Stream);
        }
        let format = Self::of_file_name(path).filter(|format| format.can_be_written());
        let has_ending = unpacked_name(path).is_some_and(|name| name.contains('.'));
        format
            .or_else(|| (!has_ending).then_some(Self::Csv))
            .ok_or_else(|| RecordingNameError::Ending(path.to_path_buf()))
    }
}

/// Why nothing is recorded to a file of this name.
#[derive(Debug, thiserror::Error)]
pub enum RecordingNameError {
    /// Its ending is of no format that is written: whoever chose it would not find what it says.
    #[error(
        "no format of a recording is known by the ending of '{0}'; the endings are .csv, .parquet and .fio, each \
         also with .zst or .gz behind"
    )]
    Ending(PathBuf),
    /// `-` is a stream everywhere else.
    #[error("a recording is a file and no stream: name one")]
    Stream,
}

/// The name of a file without what says that it is packed.
fn unpacked_name(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    let packed = [".zst", ".gz"];
    let name_of = |ending: &str| name.strip_suffix(ending);
    Some(packed.into_iter().find_map(name_of).unwrap_or(name))
}

/// How a trace is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    /// The format; recognised when it is not given.
    pub format: Option<Format>,
    /// Which column of a table means what; our own table when it is not given.
    pub columns: Option<Columns>,
    /// What an object of a cache trace is.
    pub objects: Objects,
    /// The action of a request that counts in `blkparse`'s text: `Q`, `D` or `C`.
    pub action: u8,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            format: None,
            columns: None,
            objects: Objects::default(),
            action: b'Q',
        }
    }
}

/// A reader of any format.
pub type AnyReader = Box<dyn Reader + Send>;

/// Opens the trace in a file.
///
/// # Errors
/// The file cannot be read, or its format not be recognised.
pub fn open(path: &Path, options: &OpenOptions) -> Result<AnyReader, TraceError> {
    let name = path.to_string_lossy();
    let fail = |error| TraceError::new(&name, DamagePlace::Whole, Problem::Io(error));
    let mut file = File::open(path).map_err(fail)?;
    let mut options = options.clone();
    // Parquet is read from its end, so it needs the file itself, where that is not packed.
    let mut head = Vec::new();
    (&mut file).take(4).read_to_end(&mut head).map_err(fail)?;
    let is_meant = options
        .format
        .is_none_or(|format| format == Format::Parquet);
    if head == parquet::MAGIC && is_meant {
        let columns = options.columns.unwrap_or_else(Columns::native);
        return Ok(Box::new(ParquetReader::new(&name, file, columns)?));
    }
    // Not opened anew: it may be a pipe with a name.
    let source = unpacked(&name, io::Cursor::new(head).chain(file))?;
    if options.format.is_none() {
        options.format = recognise(source.head(), &options)
            .or_else(|| Format::of_file_name(path).filter(|format| *format != Format::Csv));
    }
    from_source(&name, source, &options)
}

/// The format of the trace in a file; `None` if it cannot be told without reading the trace, as that of a pipe.
#[must_use]
pub fn format_of(path: &Path, options: &OpenOptions) -> Option<Format> {
    if options.format.is_some() || !path.is_file() {
        return options.format;
    }
    let source = Source::new(File::open(path).ok()?).ok()?;
    recognise(source.head(), options).or_else(|| Format::of_file_name(path))
}

/// Reads a trace from a pipe or from memory. `name` stands for it in errors.
///
/// # Errors
/// Its format cannot be recognised, or needs a file.
pub fn from_stream(
    name: &str,
    stream: impl Read + Send + 'static,
    options: &OpenOptions,
) -> Result<AnyReader, TraceError> {
    from_source(name, unpacked(name, stream)?, options)
}

fn unpacked(name: &str, stream: impl Read + Send + 'static) -> Result<Source, TraceError> {
    Source::new(stream)
        .map_err(|error| TraceError::new(name, DamagePlace::Whole, Source::problem(error)))
}

fn from_source(name: &str, source: Source, options: &OpenOptions) -> Result<AnyReader, TraceError> {
    let format = options.format.or_else(|| recognise(source.head(), options));
    Ok(match format {
        Some(Format::Fio) => Box::new(LineReader::new(name, source, Fio::default())),
        Some(Format::Blkparse) => {
            Box::new(LineReader::new(name, source, Blkparse::new(options.action)))
        }
        Some(Format::Strace) => Box::new(LineReader::new(name, source, Strace::default())),
        Some(Format::Msr) => Box::new(LineReader::new(name, source, Msr::default())),
        Some(Format::OracleGeneral) => Box::new(OracleReader::new(name, source, options.objects)),
        Some(Format::Csv) => {
            let columns = options.columns.clone().unwrap_or_else(Columns::native);
            Box::new(LineReader::new(name, source, Csv::new(columns)))
        }
        Some(Format::Parquet) => {
            let file = unpacked_file(source)
                .map_err(|problem| TraceError::new(name, DamagePlace::Whole, problem))?;
            let columns = options.columns.clone().unwrap_or_else(Columns::native);
            Box::new(ParquetReader::new(name, file, columns)?)
        }
        None => return Err(unknown(name, source.head())),
    })
}

/// All bytes of a trace that came packed or from a pipe, in a file without a name: Parquet has its index at the end.
/// It goes with its last reader.
fn unpacked_file(mut source: Source) -> Result<File, Problem> {
    let mut file = tempfile::tempfile()
        .map_err(|error| Problem::Unsupported(format!("cannot unpack it: {error}; set TMPDIR")))?;
    // Written through a buffer of its own, so that what fails can be told apart: the trace, or the folder.
    let mut buffer = vec![0; 1 << 16];
    loop {
        let bytes = match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // Without its end there is nothing that can be read.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let reason =
                    "the packed trace is cut short, and the index of Parquet stands at its end";
                return Err(Problem::Malformed(reason.to_owned()));
            }
            Err(error) => return Err(Source::problem(error)),
        };
        file.write_all(&buffer[..bytes]).map_err(|error| {
            let folder = std::env::temp_dir();
            let folder = folder.display();
            Problem::Unsupported(format!("cannot unpack it to {folder}: {error}; set TMPDIR"))
        })?;
    }
    Ok(file)
}

fn unknown(name: &str, head: &[u8]) -> TraceError {
    let problem = if head.is_empty() {
        Problem::Malformed("the trace is empty".to_owned())
    } else {
        let names: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
        Problem::Unsupported(format!(
            "not recognised; name its format with --from ({}), and the columns of a table with \
             --columns",
            names.join(", ")
        ))
    };
    TraceError::new(name, DamagePlace::Whole, problem)
}

/// The format of a trace that begins with `head`.
fn recognise(head: &[u8], options: &OpenOptions) -> Option<Format> {
    if head.starts_with(parquet::MAGIC) {
        return Some(Format::Parquet);
    }
    if head.starts_with(fio::BEGINNING) {
        return Some(Format::Fio);
    }
    // Only tables have columns.
    if options.columns.is_some() {
        return Some(Format::Csv);
    }
    let lines = || {
        // The last line of the head may be cut.
        let whole = memchr::memrchr(b'\n', head).map_or(head, |end| &head[..end]);
        whole
            .split(|byte| *byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
            .filter(|line| !line.is_empty())
            .take(20)
    };
    let first = lines().next()?;
    if csv::looks_native(first) {
        return Some(Format::Csv);
    }
    if msr::looks_like(first) {
        return Some(Format::Msr);
    }
    if lines().any(blkparse::looks_like) {
        return Some(Format::Blkparse);
    }
    if lines().any(strace::looks_like) {
        return Some(Format::Strace);
    }
    None
}

/// Begins a trace of this format. `trace` stands for it in errors.
///
/// # Errors
/// Nothing is written in this format, or the sink fails.
pub fn writer(
    trace: &str,
    format: Format,
    out: Sink,
    objects: Objects,
) -> Result<Box<dyn Writer>, WriteError> {
    Ok(match format {
        Format::Fio => Box::new(Encoded::new(trace, FioEncoder::default(), out)),
        Format::OracleGeneral => Box::new(Encoded::new(trace, OracleEncoder::new(objects), out)),
        Format::Csv => Box::new(Encoded::new(trace, CsvEncoder::default(), out)),
        Format::Parquet => Box::new(ParquetWriter::new(trace, out)?),
        Format::Blkparse | Format::Strace | Format::Msr => {
            return Err(WriteError {
                trace: trace.to_owned(),
                problem: WriteProblem::Unsupported(format!(
                    "{} is only read; written are fio, oracle-general, csv and parquet",
                    format.name()
                )),
            });
        }
    })
}

/// Begins a trace in a new file; an old one of that name goes.
///
/// # Errors
/// The file cannot be created, or nothing is written in this format.
pub fn create(
    path: &Path,
    format: Format,
    objects: Objects,
) -> Result<Box<dyn Writer>, WriteError> {
    let trace = path.to_string_lossy();
    let sink = Sink::create(path).map_err(|error: io::Error| WriteError {
        trace: trace.to_string(),
        problem: WriteProblem::Io(error),
    })?;
    writer(&trace, format, sink, objects)
}
