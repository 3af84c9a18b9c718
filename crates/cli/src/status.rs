//! `ahead status`: asks the daemon, and shows what it says of the files that it knows.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ahead_daemon::control::{SOCKET, ask};
use ahead_daemon::status::{DaemonStatus, FileStatus};
use ahead_study::table;
use ahead_units::PageCount;

use crate::arguments;
use crate::figures;
use crate::output::to_json;

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// No daemon.
    #[error("no daemon runs here: `sudo ahead daemon` starts one")]
    NoDaemon,
    /// One of another version.
    #[error("the daemon is of another version than this program: start it anew")]
    OtherVersion,
    /// It does not answer.
    #[error("the daemon does not answer: {0}")]
    NoAnswer(io::Error),
    /// What was named is neither.
    #[error("'{}' is no file that can be looked at, and no number of a process: {source}", target.display())]
    Target {
        /// What was typed.
        target: PathBuf,
        /// Why it is no file.
        source: io::Error,
    },
}

/// What one asks about.
enum About {
    All,
    Process(u32),
    File { device: u64, inode: u64 },
}

impl About {
    fn find(target: Option<&Path>) -> Result<Self, StatusError> {
        let Some(target) = target else {
            return Ok(Self::All);
        };
        if let Some(number) = target.to_str().and_then(|text| text.parse().ok()) {
            return Ok(Self::Process(number));
        }
        let facts = target.metadata().map_err(|source| StatusError::Target {
            target: target.to_owned(),
            source,
        })?;
        Ok(Self::File {
            device: facts.dev(),
            inode: facts.ino(),
        })
    }

    fn is(&self, file: &FileStatus) -> bool {
        match *self {
            Self::All => true,
            Self::Process(process) => file.process == process,
            Self::File { device, inode } => file.device == device && file.inode == inode,
        }
    }
}

/// What the daemon says, as text.
///
/// # Errors
/// [`StatusError`].
pub fn status(arguments: &arguments::Status) -> Result<String, StatusError> {
    let about = About::find(arguments.target.as_deref())?;
    let mut status = ask(Path::new(SOCKET)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => StatusError::NoDaemon,
        io::ErrorKind::InvalidData => StatusError::OtherVersion,
        _ => StatusError::NoAnswer(error),
    })?;
    status.files.retain(|file| about.is(file));
    Ok(if arguments.json {
        to_json(&status)
    } else {
        shown(&status)
    })
}

fn shown(status: &DaemonStatus) -> String {
    let mut text = format!(
        "process {}, mode {}: {} facts ({} lost), {} decisions in {} calls; {} files watched, {} without a window, {} requested and unread\n",
        status.process,
        status.mode,
        status.facts,
        status.facts_lost,
        status.decisions,
        status.calls,
        status.watched,
        status.narrowed,
        pages(status.unread_pages)
    );
    if status.files.is_empty() {
        text.push_str("no file of this is known\n");
        return text;
    }
    let titles = [
        "file",
        "process",
        "pattern",
        "read",
        "requested",
        "useful",
        "wasted",
        "why",
    ];
    let mut table = table::with_titles(&titles, 3..7);
    for file in &status.files {
        let inode = || format!("inode {}", file.inode);
        let mapped = if file.is_mapped { ", mapped" } else { "" };
        table.add_row([
            file.path.clone().unwrap_or_else(inode),
            format!(
                "{} {}",
                file.process,
                file.name.as_deref().unwrap_or("(ended)")
            ),
            format!("{}{mapped}", file.pattern),
            pages(file.pages),
            pages(file.requested),
            pages(file.useful),
            pages(file.wasted + file.thrashed),
            file.reason.clone(),
        ]);
    }
    format!("{text}{table}\n")
}

fn pages(pages: u64) -> String {
    figures::size(PageCount::new(pages).bytes().get())
}
