//! How fast a reader is: a gigabyte of one format, made in memory and read once.
//!
//! `cargo run --release -p ahead-trace --example speed -- FORMAT|all [MEGABYTES]`
//!
//! Seconds are those of the processor, so a busy machine does not count. The text is a block of some megabytes with 64 files, repeated; what is timed includes copying
//! it into the reader's buffer, as a page cache would.

use std::fmt::Write as _;
use std::io::{self, Read};
use std::sync::Arc;

use ahead_trace::{Columns, Format, OpenOptions, from_stream};

/// Records of the block that is repeated.
const RECORDS: u64 = 50_000;

/// A beginning, then a block again and again, up to a number of bytes.
struct Repeated {
    beginning: Vec<u8>,
    block: Arc<[u8]>,
    at: usize,
    left: usize,
}

impl Read for Repeated {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.beginning.is_empty() {
            let bytes = self.beginning.len().min(buffer.len());
            buffer[..bytes].copy_from_slice(&self.beginning[..bytes]);
            self.beginning.drain(..bytes);
            return Ok(bytes);
        }
        let bytes = buffer.len().min(self.left).min(self.block.len() - self.at);
        buffer[..bytes].copy_from_slice(&self.block[self.at..self.at + bytes]);
        self.at = (self.at + bytes) % self.block.len();
        self.left -= bytes;
        Ok(bytes)
    }
}

/// The first lines and the block of a format.
fn text(format: Format) -> (&'static str, String) {
    let mut block = String::new();
    let mut beginning = "";
    for n in 0..RECORDS {
        let (file, offset, ns) = (n % 64, n * 131_072, n * 12_345);
        let _ = match format {
            Format::Fio => {
                beginning = "fio version 3 iolog\n";
                writeln!(
                    block,
                    "{} /srv/data/file{file}.bin read {offset} 131072",
                    ns / 1000
                )
            }
            Format::Blkparse => writeln!(
                block,
                "  8,{file}    1 {n:8} {:5}.{:09} {:5}  Q   R {} + 256 [reader]",
                ns / 1_000_000_000,
                ns % 1_000_000_000,
                1000 + file,
                offset / 512
            ),
            Format::Strace => writeln!(
                block,
                "{} 17952031{:02}.{:06} pread64(3</srv/data/file{file}.bin>, \
                 \"\\177ELF\\2\\1\\1\\3\\0\\0\\0\\0\\0\\0\\0\\0\"..., 131072, {offset}) = 131072 \
                 <0.000026>",
                1000 + file,
                ns / 1_000_000_000,
                ns / 1000 % 1_000_000
            ),
            Format::Msr => writeln!(
                block,
                "{},usr,{},Read,{offset},131072,41286",
                128_166_372_003_061_629_u64 + n * 123,
                file % 4
            ),
            Format::Csv => {
                beginning = "at_ns,process,thread,operation,file,offset,length,duration_ns,size,\
                             pattern,reason\n";
                writeln!(
                    block,
                    "{ns},1000,{},read,/srv/data/file{file}.bin,{offset},131072,26000,,,",
                    1000 + file
                )
            }
            Format::OracleGeneral | Format::Parquet => Ok(()),
        };
    }
    (beginning, block)
}

/// What this thread has used of a processor.
fn processor_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

fn measure(format: Format, bytes: usize, columns: Option<Columns>, label: &str) {
    let (beginning, block) = text(format);
    let source = Repeated {
        beginning: beginning.into(),
        block: block.into_bytes().into(),
        at: 0,
        left: bytes,
    };
    let options = OpenOptions {
        format: Some(format),
        columns,
        ..OpenOptions::default()
    };
    let mut reader = from_stream("speed", source, &options).expect("known");
    let started = processor_ns();
    let (mut accesses, mut total) = (0_u64, 0_u64);
    for access in &mut reader {
        match access {
            Ok(access) => {
                accesses += 1;
                total = total.wrapping_add(access.length);
            }
            // The end of the gigabyte is inside a line.
            Err(error) => eprintln!("{error}"),
        }
    }
    let elapsed_ns = u128::from(processor_ns().saturating_sub(started)).max(1);
    let per_second = |amount: u64| u128::from(amount) * 1_000_000_000 / elapsed_ns;
    println!(
        "{label:12} {:5} MB/s  {:6} thousand records/s  {accesses} records, {total} bytes asked for",
        per_second(reader.bytes_read()) / 1_000_000,
        per_second(accesses) / 1000,
    );
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let which = arguments.next().unwrap_or_else(|| "all".to_owned());
    let megabytes: usize = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1000);
    let texts = [
        Format::Fio,
        Format::Blkparse,
        Format::Strace,
        Format::Msr,
        Format::Csv,
    ];
    let mut was_found = false;
    for format in texts {
        if which == "all" || which == format.name() {
            was_found = true;
            measure(format, megabytes * 1_000_000, None, format.name());
        }
    }
    if which == "all" || which == "columns" {
        was_found = true;
        // The same table as another tool's: five of its columns, called by place.
        let columns = Columns::parse("at=0,operation=3,file=4,offset=5,length=6").expect("a map");
        measure(Format::Csv, megabytes * 1_000_000, Some(columns), "columns");
    }
    assert!(
        was_found,
        "'{which}' is not one of fio, blkparse, strace, msr, csv, columns, all"
    );
}
