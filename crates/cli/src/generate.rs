//! Manual pages and shell completions, made from the definitions in [`crate::arguments`]. Copies
//! are kept in `docs/man` and `completions`; a test holds them against what is made here.

use std::io;
use std::path::{Path, PathBuf};

use clap::CommandFactory;

use crate::arguments::Arguments;

/// Why pages could not be written.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// Writing failed.
    #[error("cannot write '{path}': {source}; name a writable folder with --dir")]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A page could not be made.
    #[error("cannot make the manual page: {0}")]
    Render(#[from] io::Error),
}

/// The completion script of `shell`.
#[must_use]
pub fn completions(shell: clap_complete::Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "ahead", &mut script);
    script
}

/// The manual page of the program itself.
///
/// # Errors
/// Only when rendering into memory fails.
pub fn manual() -> Result<Vec<u8>, GenerateError> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Arguments::command()).render(&mut page)?;
    Ok(page)
}

/// Writes all manual pages into `folder`, which is created when missing.
///
/// # Errors
/// The folder or a file cannot be written.
pub fn write_manual(folder: &Path) -> Result<(), GenerateError> {
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Arguments::command(), folder))
        .map_err(|source| GenerateError::Write {
            path: folder.to_path_buf(),
            source,
        })
}
