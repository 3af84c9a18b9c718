//! oracleGeneral, the binary form of cache traces (libCacheSim): records of 24 bytes.
//!
//! ```text
//! u32 time (seconds)   u64 object   u32 bytes   i64 when the object is next accessed
//! ```
//!
//! All little-endian, nothing between them, no header. The last number counts records from the
//! start of the trace and is -1 for "never again" (some writers: the largest number); it is what
//! an oracle needs, and readers of ours do not.
//!
//! There are no files in it, so the caller must say what an object is, [`Objects`]: a whole file
//! (web and key-value traces), or a block of a certain size (block traces), whose number is its
//! place; in traces that we write, the file's number is above [`FILE_SHIFT`].
//!
//! To write the next access one must know the future: records go to a temporary file first, are
//! completed from its end to its front, and copied. The memory is one entry per object.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

use crate::access::{Access, FileRef, Operation};
use crate::error::{Place, Problem, TraceError};
use crate::files::FileTable;
use crate::reader::Reader;
use crate::source::{Meter, Source};
use crate::writer::{Encode, WriteProblem};

/// Bytes of a record.
pub(crate) const RECORD_BYTES: usize = 24;
/// Records that are read or completed together.
const CHUNK_RECORDS: usize = 4096;
/// Where the number of the file begins in the number of a block.
pub(crate) const FILE_SHIFT: u32 = 40;
const BLOCK_MASK: u64 = (1 << FILE_SHIFT) - 1;
const SECOND_NS: u64 = 1_000_000_000;

/// What an object of a cache trace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objects {
    /// A file of its own, read as a whole.
    Files,
    /// A block of this many bytes; its number says where.
    Blocks(u32),
}

impl Default for Objects {
    fn default() -> Self {
        Self::Blocks(4096)
    }
}

impl std::str::FromStr for Objects {
    type Err = String;

    /// `files`, `blocks` (of 4096 bytes) or `blocks:BYTES`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = match text {
            "files" => return Ok(Self::Files),
            "blocks" => return Ok(Self::default()),
            other => other
                .strip_prefix("blocks:")
                .and_then(|digits| digits.parse().ok()),
        };
        match bytes {
            Some(bytes) if bytes > 0 => Ok(Self::Blocks(bytes)),
            _ => Err(format!(
                "'{text}' is neither 'files' nor 'blocks:BYTES', as in blocks:512"
            )),
        }
    }
}

/// The reader.
pub(crate) struct OracleReader {
    name: String,
    source: Source,
    meter: Meter,
    objects: Objects,
    files: FileTable,
    chunk: Vec<u8>,
    at: usize,
    /// Bytes of the unpacked trace in front of `chunk`.
    before: u64,
    failure: Option<Problem>,
    has_ended: bool,
}

impl OracleReader {
    pub(crate) fn new(name: &str, source: Source, objects: Objects) -> Self {
        Self {
            name: name.to_owned(),
            meter: source.meter(),
            source,
            objects,
            files: FileTable::default(),
            chunk: Vec::new(),
            at: 0,
            before: 0,
            failure: None,
            has_ended: false,
        }
    }

    fn fill(&mut self) {
        self.before += self.chunk.len() as u64;
        self.chunk.clear();
        self.at = 0;
        let wanted = (CHUNK_RECORDS * RECORD_BYTES) as u64;
        // What was read before a failure stays in the chunk.
        if let Err(error) = (&mut self.source).take(wanted).read_to_end(&mut self.chunk) {
            self.failure = Some(Source::problem(error));
        }
    }

    fn access(&mut self, record: &[u8; RECORD_BYTES]) -> Result<Access, Problem> {
        let (time, object, bytes, _) = fields(record);
        let (file, offset) = match self.objects {
            Objects::Files => (self.files.numbered(object)?, 0),
            Objects::Blocks(block) => {
                let file = self.files.numbered(object >> FILE_SHIFT)?;
                let offset = (object & BLOCK_MASK) * u64::from(block);
                (file, offset)
            }
        };
        if self.objects == Objects::Files {
            self.files.set_size(file, u64::from(bytes));
        }
        Ok(Access {
            at_ns: u64::from(time) * SECOND_NS,
            ..Access::read(file, offset, u64::from(bytes))
        })
    }

    fn fail(&mut self, problem: Problem) -> TraceError {
        self.has_ended = true;
        TraceError::new(
            &self.name,
            Place::Byte(self.before + self.at as u64),
            problem,
        )
    }
}

impl Iterator for OracleReader {
    type Item = Result<Access, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        if self.at == self.chunk.len() && self.failure.is_none() {
            self.fill();
        }
        let rest = &self.chunk[self.at..];
        let Some(record) = rest.first_chunk::<RECORD_BYTES>().copied() else {
            let left = rest.len();
            if let Some(problem) = self.failure.take() {
                return Some(Err(self.fail(problem)));
            }
            self.has_ended = true;
            if left == 0 {
                return None;
            }
            let text = format!("the last record has {left} of {RECORD_BYTES} bytes");
            return Some(Err(self.fail(Problem::Truncated(text))));
        };
        match self.access(&record) {
            Ok(access) => {
                self.at += RECORD_BYTES;
                Some(Ok(access))
            }
            Err(problem) => Some(Err(self.fail(problem))),
        }
    }
}

impl Reader for OracleReader {
    fn files(&self) -> &FileTable {
        &self.files
    }

    fn bytes_read(&self) -> u64 {
        self.meter.bytes()
    }
}

/// Time in seconds, object, bytes, next access.
fn fields(record: &[u8; RECORD_BYTES]) -> (u32, u64, u32, i64) {
    let word = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&record[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    let half = |at: usize| {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&record[at..at + 4]);
        u32::from_le_bytes(bytes)
    };
    (half(0), word(4), half(12), word(16).cast_signed())
}

/// Writes reads and faults, one record per object that they touch.
#[derive(Debug)]
pub(crate) struct OracleEncoder {
    objects: Objects,
    start_ns: Option<u64>,
    /// Complete but for the next accesses.
    records: Option<io::BufWriter<File>>,
    count: u64,
}

/// Objects of one access: 64 GiB in blocks of 4 KiB. More is a damaged length.
const OBJECTS_MAX: u64 = 1 << 24;

impl OracleEncoder {
    pub(crate) const fn new(objects: Objects) -> Self {
        Self {
            objects,
            start_ns: None,
            records: None,
            count: 0,
        }
    }

    fn push(&mut self, seconds: u32, object: u64, bytes: u32) -> io::Result<()> {
        let records = match &mut self.records {
            Some(records) => records,
            None => self
                .records
                .insert(io::BufWriter::new(tempfile::tempfile()?)),
        };
        let mut record = [0; RECORD_BYTES];
        record[..4].copy_from_slice(&seconds.to_le_bytes());
        record[4..12].copy_from_slice(&object.to_le_bytes());
        record[12..16].copy_from_slice(&bytes.to_le_bytes());
        records.write_all(&record)?;
        self.count += 1;
        Ok(())
    }
}

impl Encode for OracleEncoder {
    fn encode(
        &mut self,
        access: &Access,
        files: &FileTable,
        _out: &mut dyn Write,
    ) -> Result<bool, WriteProblem> {
        // Cache traces have no operation: everything in them is asked for.
        let is_transfer = access.operation.is_reading() || access.operation == Operation::Write;
        if !is_transfer || access.length == 0 {
            return Ok(false);
        }
        let start_ns = *self.start_ns.get_or_insert(access.at_ns);
        let seconds = access.at_ns.saturating_sub(start_ns) / SECOND_NS;
        let seconds = u32::try_from(seconds).map_err(|_| {
            WriteProblem::Unsupported("oracleGeneral holds 136 years of seconds".to_owned())
        })?;
        let Objects::Blocks(block) = self.objects else {
            let bytes = u32::try_from(access.length).map_err(|_| {
                WriteProblem::Unsupported(
                    "an object of oracleGeneral has less than 4 GiB; try --objects blocks:4096"
                        .to_owned(),
                )
            })?;
            let object = files
                .number(access.file)
                .unwrap_or_else(|| u64::from(access.file.0));
            self.push(seconds, object, bytes)?;
            return Ok(true);
        };
        let size = u64::from(block);
        let (first, last) = (access.offset / size, (access.end() - 1) / size);
        if last > BLOCK_MASK || last - first >= OBJECTS_MAX {
            return Err(WriteProblem::Unsupported(format!(
                "{} bytes at offset {} are more blocks than a block's number can hold; the \
                 offset is damaged, or needs larger blocks: --objects blocks:BYTES",
                access.length, access.offset
            )));
        }
        let above = file_number(access.file, files) << FILE_SHIFT;
        for place in first..=last {
            self.push(seconds, above | place, block)?;
        }
        Ok(true)
    }

    fn end(&mut self, _files: &FileTable, out: &mut dyn Write) -> Result<(), WriteProblem> {
        let Some(records) = self.records.take() else {
            return Ok(());
        };
        let mut file = records
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        complete(&file, self.count)?;
        file.seek(SeekFrom::Start(0))?;
        io::copy(&mut file, out)?;
        Ok(())
    }
}

/// The number of a file in the numbers of its blocks: its own where it has a small one.
fn file_number(file: FileRef, files: &FileTable) -> u64 {
    files
        .number(file)
        .filter(|number| *number < 1 << (64 - FILE_SHIFT))
        .unwrap_or_else(|| u64::from(file.0) & ((1 << (64 - FILE_SHIFT)) - 1))
}

/// Fills in when each object is accessed next, from the end of the file to its front.
fn complete(file: &File, count: u64) -> io::Result<()> {
    let mut next_of: HashMap<u64, u64> = HashMap::new();
    let mut chunk = vec![0; CHUNK_RECORDS * RECORD_BYTES];
    let mut end = count;
    while end > 0 {
        let begin = end.saturating_sub(CHUNK_RECORDS as u64);
        let bytes = usize::try_from(end - begin).map_or(0, |records| records * RECORD_BYTES);
        let chunk = &mut chunk[..bytes];
        let at = begin * RECORD_BYTES as u64;
        file.read_exact_at(chunk, at)?;
        let (records, _) = chunk.as_chunks_mut::<RECORD_BYTES>();
        for (place, record) in (begin..end).rev().zip(records.iter_mut().rev()) {
            let (_, object, _, _) = fields(record);
            let next = next_of
                .insert(object, place)
                .map_or(-1, |place| i64::try_from(place).unwrap_or(i64::MAX));
            record[16..].copy_from_slice(&next.to_le_bytes());
        }
        file.write_all_at(chunk, at)?;
        end = begin;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(accesses: &[Access], files: &FileTable, objects: Objects) -> Vec<u8> {
        let mut out = Vec::new();
        let mut encoder = OracleEncoder::new(objects);
        for access in accesses {
            encoder.encode(access, files, &mut out).expect("it fits");
        }
        encoder.end(files, &mut out).expect("it fits");
        out
    }

    fn read(bytes: &[u8], objects: Objects) -> (Vec<Access>, Option<String>) {
        let source = Source::plain(io::Cursor::new(bytes.to_vec()));
        let mut reader = OracleReader::new("t", source, objects);
        let mut accesses = Vec::new();
        let mut problem = None;
        for access in &mut reader {
            match access {
                Ok(access) => accesses.push(access),
                Err(error) => problem = Some(error.to_string()),
            }
        }
        (accesses, problem)
    }

    #[test]
    fn a_record_is_24_bytes_and_knows_the_next_access() {
        let mut files = FileTable::default();
        let file = files.numbered(0).expect("it fits");
        let accesses = [
            Access::read(file, 0, 8192),
            Access {
                at_ns: 3 * SECOND_NS,
                ..Access::read(file, 4096, 1)
            },
        ];
        let bytes = written(&accesses, &files, Objects::Blocks(4096));
        let records: Vec<_> = bytes
            .as_chunks::<RECORD_BYTES>()
            .0
            .iter()
            .map(fields)
            .collect();
        assert_eq!(
            records,
            [(0, 0, 4096, -1), (0, 1, 4096, 2), (3, 1, 4096, -1)]
        );
    }

    #[test]
    fn objects_are_files_or_blocks_as_one_likes() {
        let mut record = [0; RECORD_BYTES];
        record[..4].copy_from_slice(&7_u32.to_le_bytes());
        record[4..12].copy_from_slice(&(5_u64 << FILE_SHIFT | 3).to_le_bytes());
        record[12..16].copy_from_slice(&1000_u32.to_le_bytes());
        let (as_block, _) = read(&record, Objects::Blocks(512));
        assert_eq!((as_block[0].offset, as_block[0].length), (1536, 1000));
        let (as_file, _) = read(&record, Objects::Files);
        assert_eq!((as_file[0].offset, as_file[0].at_ns), (0, 7 * SECOND_NS));
    }

    #[test]
    fn a_record_that_is_cut_short_is_reported_with_its_byte() {
        let mut files = FileTable::default();
        let file = files.numbered(0).expect("it fits");
        let bytes = written(
            &[Access::read(file, 0, 8192)],
            &files,
            Objects::Blocks(4096),
        );
        let (accesses, problem) = read(&bytes[..47], Objects::default());
        assert_eq!(accesses.len(), 1);
        assert_eq!(
            problem.as_deref(),
            Some("'t' byte 24: the last record has 23 of 24 bytes; what comes before is good")
        );
    }

    #[test]
    fn next_accesses_are_right_across_chunks() {
        let mut files = FileTable::default();
        let file = files.numbered(0).expect("it fits");
        let count = CHUNK_RECORDS as u64 + 10;
        let accesses: Vec<_> = (0..count)
            .map(|place| Access::read(file, place % (count - 5) * 4096, 4096))
            .collect();
        let bytes = written(&accesses, &files, Objects::default());
        let (records, _) = bytes.as_chunks::<RECORD_BYTES>();
        assert_eq!(
            fields(&records[0]).3,
            i64::try_from(count - 5).expect("small")
        );
        assert_eq!(fields(&records[5]).3, -1);
    }

    #[test]
    fn a_length_that_no_read_has_is_refused() {
        let mut files = FileTable::default();
        let file = files.numbered(0).expect("it fits");
        let mut encoder = OracleEncoder::new(Objects::default());
        let access = Access::read(file, 0, u64::MAX);
        assert!(encoder.encode(&access, &files, &mut Vec::new()).is_err());
    }
}
