//! The journal of a sweep: finished cells, one line each, so that an interrupted sweep goes on.
//!
//! The first line says which plans it belongs to; another sweep is refused, because its cells
//! would be other cells under the same names. A line cut short by the interruption is dropped.
//! A file that is no journal is left as it is, and so is one that another sweep is writing.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use ahead_sim::report::WorldReport;
use serde::{Deserialize, Serialize};

use crate::plan::Cell;

/// A journal that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The file.
    #[error("cannot use the journal '{path}': {source}")]
    File {
        /// The journal.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Written for something else.
    #[error(
        "the journal '{path}' belongs to other plans: remove it, or name another with --journal"
    )]
    OtherPlans {
        /// The journal.
        path: PathBuf,
    },
    /// Not written by us.
    #[error("'{path}' is not a journal: name another file with --journal")]
    NoJournal {
        /// The file.
        path: PathBuf,
    },
    /// Two sweeps at a time.
    #[error("the journal '{path}' is in use by another run")]
    InUse {
        /// The journal.
        path: PathBuf,
    },
}

#[derive(Serialize, Deserialize)]
struct Head {
    journal_of: String,
}

#[derive(Serialize, Deserialize)]
struct Line {
    cell: Cell,
    report: WorldReport,
}

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Opens or makes the journal of the plans that `digest` stands for, and returns what is
    /// finished already.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn open(
        path: &Path,
        digest: &str,
    ) -> Result<(Self, BTreeMap<Cell, WorldReport>), JournalError> {
        let failed = |source| JournalError::File {
            path: path.to_owned(),
            source,
        };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let path = path.to_owned();
                return Err(JournalError::InUse { path });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut journal = Self {
            file,
            path: path.to_owned(),
        };
        let head = Head {
            journal_of: digest.to_owned(),
        };
        let head = serde_json::to_string(&head).unwrap_or_default();
        let mut finished = BTreeMap::new();
        let good_bytes = journal.read(&head, &mut finished)?;
        journal.file.set_len(good_bytes).map_err(failed)?;
        journal
            .file
            .seek(SeekFrom::Start(good_bytes))
            .map_err(failed)?;
        if good_bytes == 0 {
            journal.append(&head)?;
        }
        Ok((journal, finished))
    }

    /// Reads what is there and returns how many bytes of it are whole lines.
    fn read(
        &self,
        head: &str,
        finished: &mut BTreeMap<Cell, WorldReport>,
    ) -> Result<u64, JournalError> {
        let path = || self.path.clone();
        let mut reader = BufReader::new(&self.file);
        let mut line = Vec::new();
        let mut good_bytes = 0;
        loop {
            line.clear();
            let length = reader.read_until(b'\n', &mut line);
            let length = length.map_err(|source| JournalError::File {
                path: path(),
                source,
            })?;
            let is_whole = line.pop_if(|last| *last == b'\n').is_some();
            if good_bytes == 0 {
                match (is_whole, serde_json::from_slice::<Head>(&line)) {
                    (true, Ok(_)) if line == head.as_bytes() => {}
                    (true, Ok(_)) => return Err(JournalError::OtherPlans { path: path() }),
                    // Empty, or interrupted while the head was written.
                    (false, _) if head.as_bytes().starts_with(&line) => return Ok(0),
                    _ => return Err(JournalError::NoJournal { path: path() }),
                }
            } else {
                let read = serde_json::from_slice::<Line>(&line);
                match read.ok().filter(|_| is_whole) {
                    Some(Line { cell, report }) => finished.insert(cell, report),
                    None => return Ok(good_bytes),
                };
            }
            good_bytes += length as u64;
        }
    }

    /// Notes a finished cell.
    ///
    /// # Errors
    /// [`JournalError::File`].
    pub fn note(&mut self, cell: &Cell, report: &WorldReport) -> Result<(), JournalError> {
        let line = Line {
            cell: cell.clone(),
            report: report.clone(),
        };
        self.append(&serde_json::to_string(&line).unwrap_or_default())
    }

    fn append(&mut self, line: &str) -> Result<(), JournalError> {
        self.file
            .write_all(format!("{line}\n").as_bytes())
            .map_err(|source| JournalError::File {
                path: self.path.clone(),
                source,
            })
    }
}
