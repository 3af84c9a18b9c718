//! The reader of mapped files: touches the first and the last word of each page.

use std::fs::File;
use std::time::Instant;

use ahead_sys::mapped_file::MappedFile;

use crate::content::{self, PAGE_BYTES, WORD_BYTES};
use crate::job::Measured;
use crate::reader::{ReadError, Run, Tally, io_error};

pub(crate) fn read(run: &Run<'_>) -> Result<Measured, ReadError> {
    let source = run.sources.first().ok_or(ReadError::Empty)?;
    let file = File::open(&source.path).map_err(io_error("cannot open", &source.path))?;
    let mapped = MappedFile::map(&file).map_err(io_error("cannot map", &source.path))?;
    let bytes_max = run.job.bytes_max.unwrap_or(u64::MAX);
    let mut tally = Tally::new();
    let mut list = run.operations(0);
    let start = Instant::now();
    let deadline = run.deadline(start);
    let mut now = start;
    loop {
        let Some(operation) = list.next() else {
            if !run.job.repeat || tally.reads == 0 {
                break;
            }
            list = run.operations(0);
            continue;
        };
        let first = operation.offset;
        let last = first + PAGE_BYTES - WORD_BYTES;
        let before = Instant::now();
        let words = [first, last].map(|offset| (offset, mapped.word_at(offset)));
        now = Instant::now();
        for (offset, found) in words {
            if found != Some(content::word(source.id, offset)) {
                return Err(ReadError::Mismatch {
                    path: source.path.clone(),
                    offset,
                });
            }
        }
        tally.count(operation.length, now - before);
        run.counter.add(operation.length);
        if tally.useful_bytes >= bytes_max || deadline.is_some_and(|deadline| now >= deadline) {
            break;
        }
    }
    Ok(tally.measured(now - start))
}
