//! Where the files of a run lie on their disk, for who wants to do the same reads on a model of it.
//!
//! Looking that up brings the file system's tables of these files into memory, and an open file
//! keeps them there: a run behind it reads data and nothing else.

use std::fs::File;
use std::io;

use ahead_sys::direct_reader::DirectReader;
use ahead_sys::extent_map::extents;
use ahead_units::PAGE_BYTES;
use ahead_workload::{FileSpec, Layout, Piece, Scenario};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use crate::assignment::Sources;
use crate::read_error::{ReadError, io_error};
use crate::reader::listed;

/// The files of one scenario, in the order of its sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedFiles {
    /// Which.
    pub scenario: Scenario,
    /// Its files.
    pub files: Vec<PlacedFile>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedFile {
    /// How many of its bytes take part.
    pub used_bytes: u64,
    /// How long it is, and where it lies.
    pub spec: FileSpec,
}

/// Files that are open, and where they lie.
#[derive(Debug)]
pub(crate) struct Known {
    /// Only to be open.
    _open: Vec<File>,
    pub(crate) files: Vec<PlacedFile>,
}

/// Looks up all of `sources`.
pub(crate) fn look_up(sources: &Sources) -> Result<Known, ReadError> {
    let sources = listed(sources)?;
    let wanted = u64::try_from(sources.len()).unwrap_or(u64::MAX);
    allow_open(wanted);
    let (mut open, mut files) = (Vec::new(), Vec::new());
    for source in sources {
        let failed = |what| io_error(what, &source.path);
        let file = File::open(&source.path).map_err(failed("cannot open"))?;
        let spec = placed(&file).map_err(failed("cannot find the place of"))?;
        files.push(PlacedFile {
            used_bytes: source.bytes,
            spec,
        });
        open.push(file);
    }
    Ok(Known { _open: open, files })
}

fn placed(file: &File) -> io::Result<FileSpec> {
    let bytes = file.metadata()?.len();
    let mut pieces: Vec<Piece> = Vec::new();
    for extent in extents(file)? {
        pieces.push(Piece {
            pages: extent.bytes.div_ceil(PAGE_BYTES),
            offset: extent.offset,
        });
    }
    Ok(FileSpec {
        bytes,
        layout: Layout::Pieces { pieces },
    })
}

/// Reads the first page of the disk `name`, past the page cache: its arm is where the arm of a model
/// begins.
pub(crate) fn park(name: &str) -> io::Result<()> {
    let page = usize::try_from(PAGE_BYTES).unwrap_or(4096);
    let disk = rustix::fs::open(
        format!("/dev/{name}"),
        OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let mut reader = DirectReader::new(1, page)?;
    reader.push(&disk, 0, page, 0)?;
    reader.wait(|_| {})
}

/// Two thousand small files are more than a process may have open by default. Where more is not
/// allowed, opening says so.
fn allow_open(files: u64) {
    let limit = getrlimit(Resource::Nofile);
    let current = files.saturating_add(64);
    if limit.current.is_some_and(|now| now < current) {
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(current),
                maximum: limit.maximum,
            },
        );
    }
}
