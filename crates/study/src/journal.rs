//! The journal of a sweep: finished cells, one line each, so that an interrupted sweep goes on.
//!
//! The first line says which plans it belongs to; another sweep is refused, because its cells
//! would be other cells under the same names. A line cut short by the interruption is dropped.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use ahead_sim::report::Report;
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
}

#[derive(Serialize, Deserialize)]
struct Head {
    journal_of: String,
}

#[derive(Serialize, Deserialize)]
struct Line {
    cell: Cell,
    report: Report,
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
    pub fn open(path: &Path, digest: &str) -> Result<(Self, BTreeMap<Cell, Report>), JournalError> {
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
        let mut reader = BufReader::new(&file);
        let mut finished = BTreeMap::new();
        let mut line = String::new();
        let mut good_bytes = 0;
        let mut has_head = false;
        loop {
            line.clear();
            let length = reader.read_line(&mut line).map_err(failed)?;
            if length == 0 || !line.ends_with('\n') {
                break;
            }
            if !has_head {
                match serde_json::from_str::<Head>(&line) {
                    Ok(head) if head.journal_of == digest => has_head = true,
                    _ => {
                        return Err(JournalError::OtherPlans {
                            path: path.to_owned(),
                        });
                    }
                }
            } else if let Ok(Line { cell, report }) = serde_json::from_str(&line) {
                finished.insert(cell, report);
            } else {
                break;
            }
            good_bytes += length as u64;
        }
        let mut journal = Self {
            file,
            path: path.to_owned(),
        };
        journal.file.set_len(good_bytes).map_err(failed)?;
        journal
            .file
            .seek(SeekFrom::Start(good_bytes))
            .map_err(failed)?;
        if !has_head {
            let head = Head {
                journal_of: digest.to_owned(),
            };
            journal.append(&serde_json::to_string(&head).unwrap_or_default())?;
        }
        Ok((journal, finished))
    }

    /// Notes a finished cell.
    ///
    /// # Errors
    /// [`JournalError::File`].
    pub fn note(&mut self, cell: &Cell, report: &Report) -> Result<(), JournalError> {
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
