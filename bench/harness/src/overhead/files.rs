//! The files that the rows read: written when first needed, brought into memory or taken out of it.
//!
//! They live in one folder, which goes with the bench. Taking out of memory is `posix_fadvise` file
//! by file: that needs no root, and the programs of both arms stay in memory, so that a cold run
//! measures the reads and not the start.

use std::cell::OnceCell;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ahead_sys::block_queue::{BlockQueue, DeviceNumber};
use ahead_sys::cachestat::cachestat;
use ahead_sys::mounts::mounts;
use rustix::fs::Advice;

/// Bytes of the file for single reads.
const LARGE_BYTES: usize = 64 << 20;
/// Bytes that a watched program reads in one go: a tenth of a second from memory, so that the start
/// of the program is lost in it.
const WATCHED_BYTES: usize = 256 << 20;
/// Length of a line, its end included.
const LINE_BYTES: usize = 64;
const SMALL_FILES: usize = 500;
/// Two reads of a program that reads 8 KiB at a time: a second read is the first sign of a stream.
const SMALL_BYTES: usize = 16 << 10;
const SORTED_FILES: usize = 12;
const SORTED_BYTES: usize = WATCHED_BYTES / SORTED_FILES / LINE_BYTES * LINE_BYTES;
const TREE_FOLDERS: usize = 20;
const TREE_FILES: usize = 8000;
const TREE_BYTES: usize = 16 << 10;

/// A word that stands in one file of the tree only, so that `grep` finds something.
pub(crate) const NEEDLE: &str = "needle-in-one-file";

/// A folder of test files. What stands in it is written when it is first asked for.
pub(crate) struct Files {
    folder: tempfile::TempDir,
    large: OnceCell<PathBuf>,
    watched: OnceCell<PathBuf>,
    small: OnceCell<PathBuf>,
    sorted: OnceCell<Vec<PathBuf>>,
    tree: OnceCell<(PathBuf, Vec<PathBuf>)>,
}

impl Files {
    /// A fresh folder in `parent`.
    pub(crate) fn new(parent: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("ahead-overhead-")
            .tempdir_in(parent)?;
        Ok(Self {
            folder,
            large: OnceCell::new(),
            watched: OnceCell::new(),
            small: OnceCell::new(),
            sorted: OnceCell::new(),
            tree: OnceCell::new(),
        })
    }

    /// Where everything is.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// One long file of lines, for single reads.
    pub(crate) fn large(&self) -> io::Result<&PathBuf> {
        self.lines(&self.large, "large", LARGE_BYTES)
    }

    /// A longer one, for programs that are watched.
    pub(crate) fn watched(&self) -> io::Result<&PathBuf> {
        self.lines(&self.watched, "watched", WATCHED_BYTES)
    }

    fn lines<'a>(
        &self,
        cell: &'a OnceCell<PathBuf>,
        name: &str,
        bytes: usize,
    ) -> io::Result<&'a PathBuf> {
        written(cell, || {
            let path = self.folder().join(name);
            write_lines(&path, bytes, 0, 1)?;
            Ok(path)
        })
    }

    /// A folder of small files.
    pub(crate) fn small(&self) -> io::Result<&PathBuf> {
        written(&self.small, || {
            let folder = self.folder().join("small");
            fs::create_dir(&folder)?;
            for number in 0..SMALL_FILES {
                write_lines(&folder.join(number.to_string()), SMALL_BYTES, number, 1)?;
            }
            Ok(folder)
        })
    }

    /// Sorted files whose lines lie between each other's.
    pub(crate) fn sorted(&self) -> io::Result<&Vec<PathBuf>> {
        written(&self.sorted, || {
            (0..SORTED_FILES)
                .map(|number| {
                    let path = self.folder().join(format!("sorted-{number}"));
                    write_lines(&path, SORTED_BYTES, number, SORTED_FILES)?;
                    Ok(path)
                })
                .collect()
        })
    }

    /// A tree, and all files in it.
    pub(crate) fn tree(&self) -> io::Result<&(PathBuf, Vec<PathBuf>)> {
        written(&self.tree, || {
            let root = self.folder().join("tree");
            let mut paths = Vec::new();
            for number in 0..TREE_FILES {
                let folder = root.join((number % TREE_FOLDERS).to_string());
                fs::create_dir_all(&folder)?;
                let path = folder.join(number.to_string());
                write_lines(&path, TREE_BYTES, number, 1)?;
                paths.push(path);
            }
            let needle = root.join("needle");
            fs::write(&needle, format!("{NEEDLE}\n"))?;
            paths.push(needle);
            Ok((root, paths))
        })
    }

    /// What the files lie on, for a person.
    pub(crate) fn file_system(&self) -> String {
        describe(self.folder()).unwrap_or_else(|_| "file system unknown".to_owned())
    }
}

fn written<T>(cell: &OnceCell<T>, make: impl FnOnce() -> io::Result<T>) -> io::Result<&T> {
    if let Some(made) = cell.get() {
        return Ok(made);
    }
    let made = make()?;
    Ok(cell.get_or_init(|| made))
}

/// Lines in ascending order: the numbers `first`, `first + step`, … in fixed width.
fn write_lines(path: &Path, bytes: usize, first: usize, step: usize) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut line = String::with_capacity(LINE_BYTES);
    for number in 0..bytes / LINE_BYTES {
        line.clear();
        let key = first + number * step;
        let _ = write!(line, "{key:016} ");
        while line.len() < LINE_BYTES - 1 {
            line.push_str("and so on ");
        }
        line.truncate(LINE_BYTES - 1);
        line.push('\n');
        file.write_all(line.as_bytes())?;
    }
    file.flush()
}

/// Writes everything back that waits to be written: only clean pages can be taken out of memory.
pub(crate) fn settle(folder: &Path) -> io::Result<()> {
    rustix::fs::syncfs(File::open(folder)?)?;
    Ok(())
}

/// Takes `paths` out of memory.
///
/// # Errors
/// A file that cannot be opened, or that stays (`Unsupported`), as on tmpfs.
pub(crate) fn evict(paths: &[PathBuf]) -> io::Result<()> {
    for path in paths {
        let file = File::open(path)?;
        rustix::fs::fadvise(&file, 0, None, Advice::DontNeed)?;
        // Before Linux 6.5 there is no way to look; then the advice has to be believed.
        if cachestat(&file).is_ok_and(|stat| stat.cached > 0) {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "files here cannot be taken out of memory (tmpfs?): name a folder on a disk with --on",
            ));
        }
    }
    Ok(())
}

/// Brings `paths` into memory.
pub(crate) fn warm(paths: &[PathBuf]) -> io::Result<()> {
    for path in paths {
        io::copy(&mut File::open(path)?, &mut io::sink())?;
    }
    Ok(())
}

/// Kind of file system and device below `folder`, and the device's read-ahead.
fn describe(folder: &Path) -> io::Result<String> {
    let device = DeviceNumber::from_dev(fs::metadata(folder)?.dev());
    let mount = mounts(Path::new("/proc"))?
        .into_iter()
        .find(|mount| mount.device == device)
        .ok_or(io::ErrorKind::NotFound)?;
    let mut text = format!("{} on {}", mount.file_system, mount.source.display());
    if let Ok(kib) =
        BlockQueue::open(Path::new("/sys"), device).and_then(|queue| queue.read_ahead_kb())
    {
        let _ = write!(text, ", read-ahead {kib} KiB");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_files_can_be_merged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        write_lines(&path, 10 * LINE_BYTES, 3, 12).unwrap();
        let text = fs::read_to_string(path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(text.len(), 10 * LINE_BYTES);
        assert!(lines.is_sorted() && lines[1].starts_with("0000000000000015 "));
    }

    #[test]
    fn a_file_in_tmpfs_cannot_be_evicted_and_the_error_says_what_to_do() {
        let file = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
        fs::write(file.path(), [7; 8192]).unwrap();
        let error = evict(&[file.path().to_owned()]).unwrap_err().to_string();
        assert!(error.contains("--on"), "{error}");
    }
}
