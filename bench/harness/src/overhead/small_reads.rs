//! The loops of the smallest reads: nothing between two calls of the C library but the loop itself.
//!
//! Runs in a process of its own, with the library or without. A pass is so many operations; after
//! one pass that brings everything into memory and lets a policy learn, the fastest counts:
//! everything slower was disturbed.

use std::ffi::OsString;
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ahead_sys::standard_io::ReadStream;

use crate::results::approximate;

/// Passes that are timed, unless another number is asked for.
pub(super) const PASSES: u64 = 10;
const PAGE_BYTES: u64 = 4096;
/// Bytes of a line and of a record.
const RECORD_BYTES: usize = 64;

/// What can be asked for; the names are those of the rows.
pub const KINDS: [&str; 6] = [
    "open-read-close",
    "pread-steady",
    "pread-random",
    "getc",
    "fgets",
    "fread",
];

/// Does `KIND PATH COUNT [PASSES]`: passes of COUNT operations on the file PATH, or on the files of
/// the folder PATH for `open-read-close`: one, and PASSES (10) that are timed. Returns nanoseconds
/// for one operation.
///
/// # Errors
/// A word that is missing or unknown (`InvalidInput`), a file that cannot be read or is too short.
pub fn small_reads(mut words: impl Iterator<Item = OsString>) -> io::Result<f64> {
    let expected = "expected: KIND PATH COUNT [PASSES]";
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, expected);
    let number = |word: OsString| {
        let number = word.to_str()?.parse::<u64>().ok();
        number.filter(|&number| number > 0)
    };
    let kind = words.next().ok_or_else(invalid)?;
    let path = PathBuf::from(words.next().ok_or_else(invalid)?);
    let count = words.next().and_then(number).ok_or_else(invalid)?;
    let passes = match words.next() {
        Some(word) => number(word).ok_or_else(invalid)?,
        None => PASSES,
    };
    let amount = Amount { count, passes };
    match kind.to_str().unwrap_or_default() {
        "open-read-close" => open_read_close(&path, amount),
        "pread-steady" => pread(&path, amount, |at, pages, _| at % pages),
        "pread-random" => pread(&path, amount, |_, pages, chance| chance.u64(..pages)),
        "getc" => stdio(&path, amount, |stream| stream.getc().is_some()),
        "fgets" => {
            let mut line = [0; 2 * RECORD_BYTES];
            stdio(&path, amount, |stream| stream.fgets(&mut line))
        }
        "fread" => {
            let mut record = [0; RECORD_BYTES];
            stdio(&path, amount, |stream| stream.fread(&mut record) > 0)
        }
        _ => Err(invalid()),
    }
}

/// How much is done.
#[derive(Clone, Copy)]
struct Amount {
    /// Operations of one pass.
    count: u64,
    /// Passes that are timed.
    passes: u64,
}

/// The fastest pass, in nanoseconds for one of its operations.
fn fastest(amount: Amount, mut pass: impl FnMut() -> io::Result<()>) -> io::Result<f64> {
    let mut best_ns = u128::MAX;
    pass()?;
    for _ in 0..amount.passes {
        let start = Instant::now();
        pass()?;
        best_ns = best_ns.min(start.elapsed().as_nanos());
    }
    Ok(approximate(u64::try_from(best_ns).unwrap_or(u64::MAX)) / approximate(amount.count))
}

fn open_read_close(folder: &Path, amount: Amount) -> io::Result<f64> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    let mut bytes = [0; 8192];
    fastest(amount, || {
        let mut done = 0;
        while done < amount.count {
            let before = done;
            for path in paths
                .iter()
                .take(usize::try_from(amount.count - done).unwrap_or(0))
            {
                let mut file = File::open(path)?;
                while black_box(file.read(&mut bytes)?) > 0 {}
                done += 1;
            }
            if done == before {
                return Err(io::ErrorKind::NotFound.into());
            }
        }
        Ok(())
    })
}

fn pread(
    path: &Path,
    amount: Amount,
    mut next_page: impl FnMut(u64, u64, &mut fastrand::Rng) -> u64,
) -> io::Result<f64> {
    let file = File::open(path)?;
    let pages = file.metadata()?.len() / PAGE_BYTES;
    if pages == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut page = [0; 4096];
    rehearse(&mut page)?;
    let mut chance = fastrand::Rng::with_seed(1);
    fastest(amount, || {
        for at in 0..amount.count {
            let offset = next_page(at, pages, &mut chance) * PAGE_BYTES;
            if black_box(file.read_at(&mut page, offset)?) == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    })
}

/// A few reads of another file. The first call of anything takes long: symbols are bound, and where
/// instructions are counted, code is translated. To a library that watches the time that looks like
/// a wait, which should not be remembered of the file in question.
fn rehearse(page: &mut [u8]) -> io::Result<()> {
    let own = File::open(std::env::current_exe()?)?;
    for at in 0..64 {
        black_box(own.read_at(page, at * PAGE_BYTES)?);
    }
    Ok(())
}

fn stdio(
    path: &Path,
    amount: Amount,
    mut call: impl FnMut(&mut ReadStream) -> bool,
) -> io::Result<f64> {
    let mut stream = ReadStream::open(path)?;
    fastest(amount, || {
        stream.rewind();
        for _ in 0..amount.count {
            if !black_box(call(&mut stream)) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(words: &[&str]) -> io::Result<f64> {
        small_reads(words.iter().map(OsString::from))
    }

    #[test]
    fn every_kind_reads_what_it_is_given() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("small")).unwrap();
        let line = format!("{}\n", "x".repeat(RECORD_BYTES - 1));
        for name in ["small/1", "small/2", "large"] {
            std::fs::write(folder.path().join(name), line.repeat(200)).unwrap();
        }
        for kind in KINDS {
            let name = if kind == "open-read-close" {
                "small"
            } else {
                "large"
            };
            let path = folder.path().join(name);
            let ns = done(&[kind, path.to_str().unwrap(), "150"]).unwrap();
            assert!(ns > 0.0, "{kind}: {ns}");
            let ns = done(&[kind, path.to_str().unwrap(), "150", "1"]).unwrap();
            assert!(ns > 0.0, "{kind}, once: {ns}");
        }
    }

    #[test]
    fn a_file_that_is_too_short_and_words_that_are_wrong_are_errors() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        for words in [
            &["getc", path, "1"][..],
            &["pread-steady", path, "1"],
            &["getc", path, "0"],
            &["getc", path, "1", "0"],
            &["getc", path, "1", "all"],
            &["gets", path, "1"],
            &["getc", path],
            &["getc"],
        ] {
            assert!(done(words).is_err(), "{words:?}");
        }
    }
}
