//! The commands that work on traces.

use std::path::PathBuf;

use clap::{ArgAction, Args};

const FORMATS: [&str; 7] = [
    "fio",
    "blkparse",
    "strace",
    "msr",
    "oracle-general",
    "csv",
    "parquet",
];
const WRITTEN: [&str; 4] = ["fio", "oracle-general", "csv", "parquet"];

/// How to read a trace, for every command that reads one.
#[derive(Clone, Debug, Default, Args)]
pub struct TraceOptions {
    /// Format of the trace (default: recognised by its first bytes)
    #[arg(long, value_name = "FORMAT", value_parser = FORMATS)]
    pub from: Option<String>,
    /// What the columns of a table mean: at=0:us,offset=lba:512,length=4,operation=3:read=0
    #[arg(
        long,
        value_name = "MAP",
        long_help = "What the columns of a CSV or Parquet table mean: FIELD=COLUMN[:UNIT], comma \
        separated. Fields are at, process, thread, operation, file, offset, length, duration and \
        size; a column is a place counted from 0, or a name from the header. Units of time are ns, \
        us, ms, s, ticks (100 ns); of sizes K, M, sectors, pages or a number of bytes; \
        operation=3:read=0 says that 0 reads and everything else writes. separator=comma, \
        semicolon, tab, space or bar stands between the cells of a CSV."
    )]
    pub columns: Option<String>,
    /// What an object of a cache trace is: files, or blocks:BYTES
    #[arg(long, value_name = "KIND", default_value = "blocks:4096")]
    pub objects: String,
    /// Which action of a block request counts in blkparse text: Q queued, D issued, C completed
    #[arg(long, value_name = "ACTION", default_value = "Q", value_parser = ["Q", "D", "C"])]
    pub action: String,
}

/// `ahead record`.
#[derive(Debug, Args)]
#[command(
    after_help = "A file is in the trace from the first time on that a part of it had to be fetched from a device, with all \
    its reads and page faults then, in whole pages. Pages that the kernel maps around a fault count as touched; where it \
    maps a large folio at once, not all of them are told. Files that are only read from memory are not. For one command and \
    what it starts there is `ahead run --record`, which also has opens and advice.\n\
    It needs what `ahead daemon` needs, and runs beside that or without.\n\
    Exit codes: 0 recorded, 1 could not begin or go on, 2 wrong usage."
)]
pub struct Record {
    /// Of all processes
    #[arg(long, required = true)]
    pub system: bool,
    /// How long, as in 30s or 5m [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = crate::duration::parse)]
    pub duration_ns: Option<u64>,
    /// The trace: .csv, .parquet, .fio, each also with .zst or .gz
    #[arg(value_name = "FILE")]
    pub trace_file: PathBuf,
}

/// `ahead convert`.
#[derive(Debug, Args)]
#[command(
    after_help = "Traces are read packed (.zst, .gz) or not. '-' is standard input or output. \
    A damaged trace is converted up to the damage."
)]
pub struct Convert {
    /// The trace to read
    pub input: PathBuf,
    /// The trace to write; .zst or .gz behind the name packs it
    pub output: PathBuf,
    /// Format to write (default: by the extension of OUTPUT: .csv, .parquet, .fio, …)
    #[arg(long, value_name = "FORMAT", value_parser = WRITTEN)]
    pub to: Option<String>,
    /// How to read the trace
    #[command(flatten)]
    pub trace: TraceOptions,
}

/// `ahead stat`.
#[derive(Debug, Args)]
pub struct Stat {
    /// The trace; '-' is standard input
    pub trace_file: PathBuf,
    /// How to read the trace
    #[command(flatten)]
    pub trace: TraceOptions,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `ahead replay`.
#[derive(Debug, Args)]
#[command(
    after_help = "Only reads and advice are issued: nothing is ever written to a file that \
    exists. Mappings of a trace that saw no page faults are left out; a message says so."
)]
pub struct Replay {
    /// The trace; '-' is standard input
    pub trace_file: PathBuf,
    /// Folder that takes the place of / in the recorded names
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Read as fast as possible, without the recorded pauses
    #[arg(long, action = ArgAction::SetTrue, conflicts_with = "timing")]
    pub fast: bool,
    /// At the recorded times (the default)
    #[arg(long, action = ArgAction::SetTrue)]
    pub timing: bool,
    /// Create missing files below --root, sparse and as large as the trace needs them
    #[arg(long, requires = "root")]
    pub create: bool,
    /// Drop each file from the page cache before its first read
    #[arg(long)]
    pub cold: bool,
    /// How to read the trace
    #[command(flatten)]
    pub trace: TraceOptions,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use ahead_trace::Format;

    #[test]
    fn every_format_can_be_typed() {
        assert_eq!(FORMATS, Format::ALL.map(Format::name));
        for name in FORMATS {
            let format = Format::named(name).expect("a format");
            assert_eq!(format.can_be_written(), WRITTEN.contains(&name));
        }
    }
}
