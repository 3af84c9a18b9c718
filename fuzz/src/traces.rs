//! Traces of every format, damaged in every way: a reader yields records, then at most one error,
//! then nothing, and what it yielded can be counted and written.

use std::io::{Cursor, Write};

use ahead_trace::{
    Access, Columns, FileNames, Format, Objects, OpenOptions, Reader, Sink, Statistics, Writer,
    from_stream, open, writer,
};

use crate::Feed;

/// Records that are looked at; a reader may make many from few bytes, if they were packed.
const RECORDS_MAX: usize = 20_000;
const TABLES: [&str; 3] = [
    "at=0:us,offset=3:512,length=4,operation=2",
    "offset=lba:sectors,at=time:s,file=name,separator=tab",
    "offset=0,length=1:M,operation=2:read=0,separator=bar",
];

/// One trace: the first bytes choose how it is read, the others are it.
///
/// # Panics
/// When a reader breaks a promise.
pub fn traces(data: &[u8]) {
    let mut feed = Feed(data);
    let way = feed.byte();
    let columns = TABLES.get(usize::from(feed.byte() % 8)).copied();
    let format = Format::ALL.get(usize::from(way % 8)).copied();
    let options = OpenOptions {
        format: format.filter(|format| *format != Format::Parquet),
        columns: columns.map(|map| Columns::parse(map).expect("a map")),
        objects: if feed.byte().is_multiple_of(2) {
            Objects::Files
        } else {
            Objects::Blocks(512)
        },
        action: b'Q',
    };
    let text = feed.0;
    let bytes = match way / 8 % 4 {
        0 => damaged(zstd_frame(text), &mut feed),
        _ => text.to_vec(),
    };
    match from_stream("fuzz", Cursor::new(bytes), &options) {
        Ok(reader) => follow(reader),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A Parquet file that was sound, with some of its bytes changed or its end cut off.
///
/// # Panics
/// When the reader breaks a promise.
pub fn parquet(data: &[u8]) {
    let mut feed = Feed(data);
    let mut files = FileNames::default();
    let names = [files.named(b"/a"), files.named(b"/b\n\xff")];
    let accesses: Vec<Access> = (0..u64::from(feed.byte()) * 8)
        .filter_map(|n| {
            let file = names[usize::try_from(n % 2).ok()?].ok()?;
            Some(Access::read(file, n * 4096, 4096))
        })
        .collect();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t");
    let sound = written(Format::Parquet, &files, &accesses);
    std::fs::write(&path, damaged(sound, &mut feed)).expect("it fits");
    if let Ok(reader) = open(&path, &OpenOptions::default()) {
        follow(reader);
    }
}

/// Reads to the end and does with the records what commands do.
fn follow(mut reader: impl Reader) {
    let mut statistics = Statistics::new();
    let mut accesses = Vec::new();
    for access in reader.by_ref().take(RECORDS_MAX) {
        let Ok(access) = access else { break };
        statistics.add(&access);
        accesses.push(access);
    }
    if accesses.len() < RECORDS_MAX {
        assert!(reader.next().is_none(), "a reader stays at its end");
    }
    statistics.finish();
    let files = reader.files();
    for access in &accesses {
        assert!(access.file.index() < files.len());
    }
    let table = written(Format::Csv, files, &accesses);
    let again = from_stream("fuzz", Cursor::new(table), &OpenOptions::default());
    let mut again = again.expect("our own table is recognised");
    let back: Vec<_> = again
        .by_ref()
        .map(|access| access.expect("sound"))
        .collect();
    assert_eq!(back.len(), accesses.len());
    for (one, other) in accesses.iter().zip(&back) {
        assert_eq!(files.name(one.file), again.files().name(other.file));
        let nameless = |access: &Access| Access {
            file: ahead_trace::FileRef(0),
            ..*access
        };
        assert_eq!(nameless(one), nameless(other));
    }
    // These may refuse a name or a length, in words. Blocks of a long read are many records.
    accesses.retain(|access| access.length < 1 << 20);
    for format in [Format::Fio, Format::OracleGeneral, Format::Parquet] {
        let _ = try_written(format, files, &accesses);
    }
}

fn written(format: Format, files: &FileNames, accesses: &[Access]) -> Vec<u8> {
    try_written(format, files, accesses).expect("memory takes everything")
}

fn try_written(
    format: Format,
    files: &FileNames,
    accesses: &[Access],
) -> Result<Vec<u8>, ahead_trace::WriteError> {
    let out = Shared::default();
    let sink = Sink::new(out.clone());
    let mut to = writer("fuzz", format, sink, Objects::default())?;
    for access in accesses {
        to.write(access, files)?;
    }
    to.finish(files)?;
    drop(to);
    let bytes = out.0.lock().expect("no thread panicked").clone();
    Ok(bytes)
}

/// Memory that a writer owns and the caller reads.
#[derive(Clone, Default)]
struct Shared(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0
            .lock()
            .expect("no thread panicked")
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A Zstandard frame of raw blocks (RFC 8878): as good as a packed one for damaging it.
fn zstd_frame(text: &[u8]) -> Vec<u8> {
    // Magic, then a header without a checksum, of a single segment whose length has four bytes.
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0b1010_0000];
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    frame.extend_from_slice(&length.to_le_bytes());
    let mut blocks = text.chunks(1 << 16).peekable();
    while let Some(block) = blocks.next() {
        let size = u32::try_from(block.len()).unwrap_or(0);
        let header = size << 3 | u32::from(blocks.peek().is_none());
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.extend_from_slice(block);
    }
    frame
}

/// Some bytes changed, or the end cut off.
fn damaged(mut bytes: Vec<u8>, feed: &mut Feed<'_>) -> Vec<u8> {
    for _ in 0..feed.byte() % 8 {
        let place = usize::try_from(feed.number(3)).unwrap_or(0) % bytes.len().max(1);
        if let Some(byte) = bytes.get_mut(place) {
            *byte ^= feed.byte();
        }
    }
    if feed.byte().is_multiple_of(4) {
        let length = usize::try_from(feed.number(3)).unwrap_or(0) % bytes.len().max(1);
        bytes.truncate(length);
    }
    bytes
}
