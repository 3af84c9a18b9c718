//! What the daemon says of itself: figures, and the files that it knows, the most recently read first.

use serde::{Deserialize, Serialize};

/// The version of these words. A reader of another version says so and shows nothing.
pub const STATUS_VERSION: u32 = 1;

/// Files that are named in one answer.
pub const STATUS_FILES_MAX: usize = 256;

/// The daemon now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonStatus {
    /// [`STATUS_VERSION`].
    pub version: u32,
    /// The daemon's process.
    pub process: u32,
    /// observe, advise or full.
    pub mode: String,
    /// Facts that the kernel told.
    pub facts: u64,
    /// Of those, misses of files that were not watched.
    pub misses: u64,
    /// Decisions carried out.
    pub decisions: u64,
    /// Calls that they took.
    pub calls: u64,
    /// Facts that were lost.
    pub facts_lost: u64,
    /// Files whose accesses are told now.
    pub watched: u64,
    /// Open files that have no window because of us.
    pub narrowed: u64,
    /// Pages that were requested and not read yet.
    pub unread_pages: u64,
    /// Files, the most recently read first; those of the asker's own processes, unless root asks.
    pub files: Vec<FileStatus>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStatus {
    /// Number of the device of its superblock.
    pub device: u64,
    /// Number of the inode.
    pub inode: u64,
    /// Its path as far as it can be seen now.
    pub path: Option<String>,
    /// The process that read it last.
    pub process: u32,
    /// Its name.
    pub name: Option<String>,
    /// It is read through a mapping.
    pub is_mapped: bool,
    /// How it is read.
    pub pattern: String,
    /// Why the newest decision about it is what it is.
    pub reason: String,
    /// The largest request so far, in pages.
    pub window_pages: u64,
    /// Accesses, and pages of them.
    pub accesses: u64,
    /// Pages read.
    pub pages: u64,
    /// Pages requested.
    pub requested: u64,
    /// Pages read inside a window.
    pub useful: u64,
    /// Of those, pages that had to be waited for.
    pub late: u64,
    /// Requested pages that were given up unread.
    pub wasted: u64,
    /// Requested pages that were evicted before they were read.
    pub thrashed: u64,
}
