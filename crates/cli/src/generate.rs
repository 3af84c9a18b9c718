//! Manual pages and shell completions, made from the definitions in [`crate::arguments`]. Copies
//! are kept in `docs/man` and `completions`; a test holds them against what is made here.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};

use crate::arguments::{Arguments, Examples, of_page};

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
    let mut command = Arguments::command();
    command.build();
    Ok(page(command)?)
}

/// Writes all manual pages into `folder`, which is created when missing.
///
/// # Errors
/// The folder or a file cannot be written.
pub fn write_manual(folder: &Path) -> Result<(), GenerateError> {
    let mut command = Arguments::command();
    command.build();
    std::fs::create_dir_all(folder)
        .and_then(|()| write_pages(&command, folder))
        .map_err(|source| GenerateError::Write {
            path: folder.to_path_buf(),
            source,
        })
}

fn write_pages(command: &Command, folder: &Path) -> io::Result<()> {
    for below in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        write_pages(below, folder)?;
    }
    let file = folder.join(format!("{}.1", page_name(command)));
    std::fs::write(file, page(command.clone())?)
}

fn page_name(command: &Command) -> &str {
    command
        .get_display_name()
        .unwrap_or_else(|| command.get_name())
}

/// One page: what `clap_mangen` makes of the definitions, with a section of examples. Its name for
/// the text behind the options is "EXTRA"; manual pages call it "NOTES".
fn page(command: Command) -> io::Result<Vec<u8>> {
    let examples = of_page(page_name(&command));
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    let page = String::from_utf8(page).map_err(io::Error::other)?;
    let page = page.replace("\n.SH EXTRA\n", "\n.SH NOTES\n");
    let section = examples.map(section).unwrap_or_default();
    let (above, below) = match page.find(".SH VERSION\n") {
        Some(place) => page.split_at(place),
        None => (page.as_str(), ""),
    };
    Ok(format!("{above}{section}{below}").into_bytes())
}

/// Examples in roff.
fn section(examples: &Examples) -> String {
    let mut section = String::from(".SH EXAMPLES\n");
    for (typed, about) in examples.lines {
        section += &format!(".TP\n\\fB{}\\fR\n{}\n", roff(typed), roff(about));
    }
    section
}

/// Text in which roff finds nothing to interpret.
fn roff(text: &str) -> String {
    text.replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('~', "\\(ti")
}
