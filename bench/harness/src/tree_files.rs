//! Trees on real file systems: they are written here, and read by one who knows the list beforehand, which is the
//! ceiling of every program that goes through a tree.
//!
//! The ceiling is a process of its own, twice: once to make the list (kind, inode and place of everything), and, when
//! nothing is in memory any more, to read by it. Inodes are read in their order, as they lie in tables, and then the
//! data in the order of its places.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ahead_sys::extent_map::first_physical_offset;
use ahead_sys::readahead::readahead;
use ahead_workload::random::below;
use ahead_workload::tree::Tree;
use serde::{Deserialize, Serialize};

use crate::content;

/// First argument of the process that does this, behind the program of `ahead`; the rest is [`tree_main`]'s business.
pub const TREE_ARGUMENT: &str = "__tree";

/// Times that a third of a grown tree is removed and written again elsewhere.
const GROWTHS: u64 = 4;
/// Bytes, and files, that the ceiling has requested before it reads the first of them.
const AHEAD_BYTES: u64 = 32 << 20;
const AHEAD_FILES: usize = 256;
/// Bytes of one request: a longer one would be cut to the device's window or its largest request.
const REQUEST_BYTES: u64 = 128 << 10;
/// What is read of a file's head.
const HEAD_BYTES: u64 = 4096;

/// How the files of a tree came to where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// One after another, folder by folder.
    AtOnce,
    /// In a random order, and a third of them removed and written again four times.
    Aged,
}

/// How much of each file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TreePart {
    /// All of it.
    Whole,
    /// Its first page.
    Head,
    /// Nothing: its inode.
    Metadata,
}

/// One thing below a listed folder, or the folder itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ListedFile {
    path: PathBuf,
    inode: u64,
    /// Of a file with data, the place of its first byte on the device.
    place: Option<u64>,
    /// What is to be read of it.
    bytes: u64,
}

/// A tree could not be written, listed or read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct TreeError {
    /// What.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

fn at(path: &Path) -> impl Fn(io::Error) -> TreeError {
    move |source| TreeError {
        path: path.to_owned(),
        source,
    }
}

/// Writes `tree` to `top`, in whose place nothing else is left, and out to the disk.
///
/// # Errors
/// [`TreeError`]; what was written stays.
pub fn write(tree: &Tree, top: &Path, growth: Growth) -> Result<(), TreeError> {
    match fs::remove_dir_all(top) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(top)(error)),
        _ => {}
    }
    fs::create_dir(top).map_err(at(top))?;
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in tree.folders() {
        let parent = folder.parent.and_then(|parent| folders.get(parent));
        let path = parent.map_or(top, |parent| parent).join(&folder.name);
        fs::create_dir(&path).map_err(at(&path))?;
        folders.push(path);
    }
    let files = tree.files();
    let path_of = |number: u64| {
        let file = files.get(usize::try_from(number).ok()?)?;
        Some((folders.get(file.folder)?.join(&file.name), file.bytes))
    };
    let out = || File::open(top).and_then(|top| Ok(rustix::fs::syncfs(top)?));
    let write_all = |numbers: &[u64]| -> Result<(), TreeError> {
        for &number in numbers {
            if let Some((path, bytes)) = path_of(number) {
                write_file(&path, number, bytes).map_err(at(&path))?;
            }
        }
        // Space that was given up can be used again, and space that is used is known, when it is on the disk.
        out().map_err(at(top))
    };
    if growth == Growth::AtOnce {
        return write_all(&(0..u64::from(tree.file_count())).collect::<Vec<_>>());
    }
    let order = tree.grown_order();
    write_all(&order)?;
    for round in 0..GROWTHS {
        let is_renewed = |number: &&u64| below(10 + round, **number, 3) == 0;
        let renewed: Vec<u64> = order.iter().filter(is_renewed).copied().collect();
        for &number in &renewed {
            if let Some((path, _)) = path_of(number) {
                fs::remove_file(&path).map_err(at(&path))?;
            }
        }
        out().map_err(at(top))?;
        write_all(&renewed)?;
    }
    Ok(())
}

fn write_file(path: &Path, number: u64, bytes: u64) -> io::Result<()> {
    let mut text = vec![0; usize::try_from(bytes).unwrap_or(0)];
    content::fill(&mut text, u32::try_from(number).unwrap_or(0), 0);
    fs::write(path, text)
}

/// Writes to `list` what is there below `folders`, for [`read_listed`].
///
/// # Errors
/// [`TreeError`].
pub fn write_list(list: &Path, part: TreePart, folders: &[OsString]) -> Result<(), TreeError> {
    let mut all = Vec::new();
    for folder in folders {
        list_below(Path::new(folder), part, &mut all)?;
    }
    let text = serde_json::to_vec(&all).map_err(|error| at(list)(error.into()))?;
    fs::write(list, text).map_err(at(list))
}

fn list_below(path: &Path, part: TreePart, all: &mut Vec<ListedFile>) -> Result<(), TreeError> {
    let facts = path.symlink_metadata().map_err(at(path))?;
    let is_read = facts.is_file() && facts.len() > 0 && part != TreePart::Metadata;
    let place = if is_read {
        let file = File::open(path).map_err(at(path))?;
        // Without a map the order of inodes has to do.
        let place = first_physical_offset(&file).ok().flatten();
        Some(place.unwrap_or_else(|| facts.ino()))
    } else {
        None
    };
    all.push(ListedFile {
        path: path.to_owned(),
        inode: facts.ino(),
        place,
        bytes: match part {
            TreePart::Head => facts.len().min(HEAD_BYTES),
            _ => facts.len(),
        },
    });
    if facts.is_dir() {
        for entry in fs::read_dir(path).map_err(at(path))? {
            list_below(&entry.map_err(at(path))?.path(), part, all)?;
        }
    }
    Ok(())
}

/// Reads by a list: metadata in the order of inodes, then data in the order of places.
///
/// # Errors
/// [`TreeError`].
pub fn read_listed(list: &Path) -> Result<(), TreeError> {
    let text = fs::read(list).map_err(at(list))?;
    let mut all: Vec<ListedFile> =
        serde_json::from_slice(&text).map_err(|error| at(list)(error.into()))?;
    all.sort_unstable_by_key(|one| one.inode);
    for one in &all {
        one.path.symlink_metadata().map_err(at(&one.path))?;
    }
    all.retain(|one| one.place.is_some());
    all.sort_unstable_by_key(|one| one.place);
    let mut requested = VecDeque::new();
    let mut bytes_ahead = 0;
    for one in &all {
        let file = File::open(&one.path).map_err(at(&one.path))?;
        for offset in (0..one.bytes).step_by(usize::try_from(REQUEST_BYTES).unwrap_or(1)) {
            readahead(&file, offset, REQUEST_BYTES.min(one.bytes - offset))
                .map_err(at(&one.path))?;
        }
        requested.push_back((file, one));
        bytes_ahead += one.bytes;
        while bytes_ahead > AHEAD_BYTES || requested.len() > AHEAD_FILES {
            bytes_ahead -= take_in(requested.pop_front())?;
        }
    }
    while !requested.is_empty() {
        take_in(requested.pop_front())?;
    }
    Ok(())
}

/// Reads what has been requested. Returns how many bytes that were.
fn take_in(requested: Option<(File, &ListedFile)>) -> Result<u64, TreeError> {
    let Some((file, one)) = requested else {
        return Ok(0);
    };
    io::copy(&mut file.take(one.bytes), &mut io::sink()).map_err(at(&one.path))?;
    Ok(one.bytes)
}

/// A process that works on trees: `write NAME PERCENT FOLDER at-once|aged`, `list PART FILE FOLDER…`, or `read FILE`.
/// Returns what is wrong, in one line.
///
/// # Errors
/// The line.
pub fn tree_main(arguments: &[OsString]) -> Result<(), String> {
    let text = |at: usize| arguments.get(at).and_then(|one: &OsString| one.to_str());
    let path = |at: usize| arguments.get(at).map(Path::new);
    let usage =
        || "trees: write NAME PERCENT FOLDER at-once|aged, list PART FILE FOLDER…, read FILE";
    let done = match (text(0), path(1), arguments.len()) {
        (Some("write"), ..) => {
            let name = text(1).unwrap_or_default();
            let tree = Tree::find(name).ok_or_else(|| format!("there is no tree '{name}'"))?;
            let percent = text(2).and_then(|percent| percent.parse().ok());
            let growth = match text(4) {
                Some("at-once") => Some(Growth::AtOnce),
                Some("aged") => Some(Growth::Aged),
                _ => None,
            };
            let (Some(percent), Some(top), Some(growth)) = (percent, path(3), growth) else {
                return Err(usage().to_owned());
            };
            write(&tree.scaled(percent), top, growth)
        }
        (Some("list"), Some(part), 4..) => {
            let part = match part.as_os_str().as_bytes() {
                b"whole" => TreePart::Whole,
                b"head" => TreePart::Head,
                b"metadata" => TreePart::Metadata,
                _ => return Err(usage().to_owned()),
            };
            let folders = arguments.get(3..).unwrap_or_default();
            write_list(path(2).unwrap_or_else(|| Path::new("")), part, folders)
        }
        (Some("read"), Some(list), 2) => read_listed(list),
        _ => return Err(usage().to_owned()),
    };
    done.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        Tree {
            folders: 2,
            folders_each: 2,
            files_each: 3,
            ..Tree::find("small").unwrap()
        }
    }

    /// Path and length of every file, sorted.
    fn found(top: &Path) -> Vec<(PathBuf, u64)> {
        let mut all = Vec::new();
        list_below(top, TreePart::Whole, &mut all).unwrap();
        let mut files: Vec<_> = all
            .into_iter()
            .filter(|one| one.path.is_file())
            .map(|one| (one.path.strip_prefix(top).unwrap().to_owned(), one.bytes))
            .collect();
        files.sort();
        files
    }

    #[test]
    fn a_grown_tree_has_the_files_of_one_that_was_written_at_once() {
        let place = tempfile::tempdir().unwrap();
        let (whole, aged) = (place.path().join("whole"), place.path().join("aged"));
        write(&tree(), &whole, Growth::AtOnce).unwrap();
        // What is there already goes.
        fs::create_dir_all(aged.join("00/old")).unwrap();
        write(&tree(), &aged, Growth::Aged).unwrap();
        assert_eq!(found(&whole).len(), 12);
        assert_eq!(found(&whole), found(&aged));
        for (file, _) in found(&whole) {
            let read = |top: &Path| fs::read(top.join(&file)).unwrap();
            assert_eq!(read(&whole), read(&aged));
        }
    }

    #[test]
    fn a_list_has_all_folders_and_no_more_bytes_than_are_read() {
        let place = tempfile::tempdir().unwrap();
        let (top, list) = (place.path().join("top"), place.path().join("list"));
        write(&tree(), &top, Growth::AtOnce).unwrap();
        let listed = |part| -> Vec<ListedFile> {
            write_list(&list, part, &[top.clone().into()]).unwrap();
            read_listed(&list).unwrap();
            serde_json::from_slice(&fs::read(&list).unwrap()).unwrap()
        };
        assert_eq!(listed(TreePart::Whole).len(), 1 + 2 + 4 + 12);
        let placed = |all: &[ListedFile]| all.iter().filter(|one| one.place.is_some()).count();
        assert_eq!(placed(&listed(TreePart::Whole)), 12);
        assert_eq!(placed(&listed(TreePart::Metadata)), 0);
        let heads = listed(TreePart::Head);
        let sum: u64 = heads
            .iter()
            .filter(|one| one.place.is_some())
            .map(|one| one.bytes)
            .sum();
        assert!((12 * 3_000..=12 * HEAD_BYTES).contains(&sum), "{sum}");
        fs::remove_dir_all(top.join("00")).unwrap();
        let error = read_listed(&list).unwrap_err().to_string();
        assert!(error.contains("top/00"), "{error}");
    }

    #[test]
    fn what_cannot_be_done_is_said_in_one_line() {
        let said = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            tree_main(&words).unwrap_err()
        };
        assert!(said(&["write", "forest", "1", "/nowhere", "at-once"]).contains("'forest'"));
        assert!(said(&["list", "tail", "a", "b"]).contains("PART"));
        assert!(said(&["read", "/nowhere/list"]).contains("/nowhere/list: "));
        assert!(said(&[]).contains("write NAME"));
    }
}
