//! What the daemon says of itself: figures, and the files that it knows, the most recently read first.

use ahead_policy::device::DeviceEstimate;
use serde::{Deserialize, Serialize};

/// The version of these words. A reader of another version says so and shows nothing.
pub const STATUS_VERSION: u32 = 2;

/// Files that are named in one answer.
pub const STATUS_FILES_MAX: usize = 256;

/// The daemon now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonStatus {
    /// [`STATUS_VERSION`].
    pub version: u32,
    /// The version of the program that the daemon is.
    pub program: String,
    /// The daemon's process.
    pub process: u32,
    /// observe, advise or full.
    pub mode: String,
    /// Now, in nanoseconds of CLOCK_MONOTONIC: the clock of all times here.
    pub now_ns: u64,
    /// When it began.
    pub began_ns: u64,
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
    /// What was seen and done on each device, also for files that are not known any more; only for who may see all.
    pub devices: Vec<DeviceStatus>,
    /// Files, the most recently read first; those of the asker's own processes, unless that may see all.
    pub files: Vec<FileStatus>,
}

/// One that has done nothing.
impl Default for DaemonStatus {
    fn default() -> Self {
        Self {
            version: STATUS_VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            process: 0,
            mode: String::new(),
            now_ns: 0,
            began_ns: 0,
            facts: 0,
            misses: 0,
            decisions: 0,
            calls: 0,
            facts_lost: 0,
            watched: 0,
            narrowed: 0,
            unread_pages: 0,
            devices: Vec::new(),
            files: Vec::new(),
        }
    }
}

/// Pages that were read and requested, and what became of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageAccount {
    /// Accesses.
    pub accesses: u64,
    /// Pages of them.
    pub pages: u64,
    /// Pages requested: those that calls were made for. What was in memory as a whole, or could not be reached, is not among them.
    pub requested: u64,
    /// Of those, pages that were read.
    pub useful: u64,
    /// Of those, pages that had to be waited for.
    pub late: u64,
    /// Requested pages that were given up unread.
    pub wasted: u64,
    /// Requested pages that were evicted before they were read.
    pub thrashed: u64,
}

impl PageAccount {
    /// This, and another one.
    pub const fn add(&mut self, other: &Self) {
        self.accesses += other.accesses;
        self.pages += other.pages;
        self.requested += other.requested;
        self.useful += other.useful;
        self.late += other.late;
        self.wasted += other.wasted;
        self.thrashed += other.thrashed;
    }

    /// Pages requested for each of them that was read, in thousandths: 1000 is perfect. `None` while none was read.
    #[must_use]
    pub fn amplification_permille(&self) -> Option<u64> {
        self.requested.saturating_mul(1000).checked_div(self.useful)
    }
}

/// What is believed of a device, from what it says of itself and from how long reads waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Believed {
    /// Time of one isolated small read, in nanoseconds.
    pub access_ns: u64,
    /// Bytes per second of one long read.
    pub bytes_per_second: u64,
    /// Requests that it serves at the same time.
    pub depth: u32,
}

impl From<DeviceEstimate> for Believed {
    fn from(estimate: DeviceEstimate) -> Self {
        let DeviceEstimate {
            access_ns,
            bytes_per_second,
            depth,
        } = estimate;
        Self {
            access_ns,
            bytes_per_second,
            depth,
        }
    }
}

/// One device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceStatus {
    /// Number of the device of its superblocks; 0 stands for all that are too many to be told apart.
    pub device: u64,
    /// What is believed of it now; `None` for those that are too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub believed: Option<Believed>,
    /// What happened there.
    #[serde(flatten)]
    pub account: PageAccount,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStatus {
    /// Number of the device of its superblock.
    pub device: u64,
    /// Number of the inode.
    pub inode: u64,
    /// Its path when it was reached first, as far as that could be seen.
    pub path: Option<String>,
    /// The process that read it last.
    pub process: u32,
    /// Its name then.
    pub name: Option<String>,
    /// The control group of that process, of the unified hierarchy where there is one.
    pub cgroup: Option<String>,
    /// It is read through a mapping.
    pub is_mapped: bool,
    /// How it is read.
    pub pattern: String,
    /// Why the newest decision about it is what it is.
    pub reason: String,
    /// The largest request so far, in pages.
    pub window_pages: u64,
    /// When it was read last.
    pub read_ns: u64,
    /// What happened to it since it is known.
    #[serde(flatten)]
    pub account: PageAccount,
    /// What was decided about it, oldest first, if that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryEntry>,
    /// Decisions before those.
    #[serde(default)]
    pub history_forgotten: u64,
}

/// Something that was decided about a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// When.
    pub at_ns: u64,
    /// For which process.
    pub process: u32,
    /// Pages requested.
    pub pages: u64,
    /// The decision in words, as `ahead run --explain` has them, and what became of it.
    pub what: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amplification_is_unknown_until_something_was_read() {
        let mut account = PageAccount {
            requested: 30,
            ..PageAccount::default()
        };
        assert_eq!(account.amplification_permille(), None);
        account.useful = 20;
        assert_eq!(account.amplification_permille(), Some(1500));
    }
}
