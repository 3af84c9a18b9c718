//! Asks the daemon about a process, a file, or all, for the commands that show what it says.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ahead_daemon::control::{AskError, SOCKET, ask};
use ahead_daemon::protocol::Question;
use ahead_daemon::status::{Believed, DaemonStatus, FileStatus};
use ahead_device::display::harmless;
use ahead_sys::block_queue::DeviceNumber;
use ahead_units::PageCount;

use crate::figures;

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub enum AskingError {
    /// There is no answer.
    #[error(transparent)]
    Daemon(#[from] AskError),
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
#[derive(Debug)]
pub(crate) enum About {
    All,
    Process(u32),
    File {
        device: u64,
        inode: u64,
        path: PathBuf,
    },
}

impl About {
    /// What `target` names: a number is a process, anything else a file.
    pub(crate) fn find(target: &Path) -> Result<Self, AskingError> {
        if let Some(number) = target.to_str().and_then(|text| text.parse().ok()) {
            return Ok(Self::Process(number));
        }
        let looked = target
            .metadata()
            .and_then(|facts| Ok((facts, target.canonicalize()?)));
        let (facts, path) = looked.map_err(|source| AskingError::Target {
            target: target.to_owned(),
            source,
        })?;
        Ok(Self::File {
            device: facts.dev(),
            inode: facts.ino(),
            path,
        })
    }

    /// What the daemon says of it; with `history`, also what was decided.
    pub(crate) fn ask(&self, history: bool) -> Result<DaemonStatus, AskingError> {
        let mut question = Question {
            history,
            ..Question::all()
        };
        match *self {
            Self::All => {}
            Self::Process(process) => question.process = Some(process),
            Self::File { inode, .. } => question.inode = Some(inode),
        }
        let mut status = ask(Path::new(SOCKET), &question)?;
        status.files.retain(|file| self.is(file));
        Ok(status)
    }

    fn is(&self, file: &FileStatus) -> bool {
        let Self::File {
            device,
            inode,
            path,
        } = self
        else {
            return true;
        };
        // Files of btrfs and of overlays have another device than their superblock.
        let is_path = || file.path.as_ref().is_some_and(|one| Path::new(one) == path);
        file.inode == *inode && (file.device == *device || is_path())
    }
}

/// The file as it is called: its path where that is known.
pub(crate) fn name_of(file: &FileStatus) -> String {
    let inode = || format!("inode {}", file.inode);
    file.path.as_deref().map_or_else(inode, harmless)
}

/// The process that read it last: number and name.
pub(crate) fn reader_of(file: &FileStatus) -> String {
    let name = harmless(file.name.as_deref().unwrap_or("(unknown)"));
    format!("{} {name}", file.process)
}

/// How it is read.
pub(crate) fn pattern_of(file: &FileStatus) -> String {
    let mapped = if file.is_mapped { ", mapped" } else { "" };
    format!("{}{mapped}", file.pattern)
}

/// What the kernel calls the device with this number.
pub(crate) fn kernels_name(number: u64) -> Option<String> {
    let number = DeviceNumber::from_dev(number);
    let link = fs::read_link(format!("/sys/dev/block/{number}")).ok()?;
    Some(link.file_name()?.display().to_string())
}

/// A device as it is shown: number, and `name` if it has one.
pub(crate) fn device_of(number: u64, name: Option<&str>) -> String {
    let number = DeviceNumber::from_dev(number);
    name.map_or_else(|| number.to_string(), |name| format!("{number} {name}"))
}

/// What is believed of a device.
pub(crate) fn believed_of(believed: &Believed) -> String {
    format!(
        "an access takes {}, {} MB/s, {} at once, as is believed",
        figures::seconds(believed.access_ns),
        figures::megabytes(believed.bytes_per_second),
        believed.depth,
    )
}

/// So many pages.
pub(crate) fn pages(pages: u64) -> String {
    figures::size(PageCount::new(pages).bytes().get())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A terminal would clear itself, and a line would look like two.
    #[test]
    fn a_name_cannot_give_orders_to_a_terminal() {
        assert_eq!(harmless("/a\u{1b}[2Jb\nc é"), "/a\\u{1b}[2Jb\\nc é");
    }
}
