//! What was changed on the machine, written down before it is changed.
//!
//! One file per bench process. It is removed when everything is as before; one that is found
//! without its process was left by a crash, and the next start puts things back from it.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use ahead_sys::block_queue::{BlockQueue, QueueSetting};
use ahead_sys::cgroup::MemoryController;
use ahead_sys::process_identity::ProcessIdentity;
use serde::{Deserialize, Serialize};

use crate::assignment::{read_json, write_json};

/// Groups that belong to bench process 12 are called `ahead-bench-12`.
pub(crate) const GROUP_PREFIX: &str = "ahead-bench-";

/// One process' changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    pid: u32,
    /// Start of the process in clock ticks after boot: a number is given again, this is not.
    start_ticks: u64,
    /// A file of sysfs and what was in it.
    read_ahead: Option<(PathBuf, String)>,
    /// An emulated disk of ours.
    disk: Option<String>,
}

/// The journal of this process. Dropping it puts everything back.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: PathBuf,
    entry: Entry,
}

impl Journal {
    /// Opens the journal in `state_folder`, after clearing up what dead processes left there.
    /// Returns the names of emulated disks that are to be destroyed.
    pub(crate) fn open(state_folder: &Path) -> io::Result<(Self, Vec<String>)> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(state_folder)?;
        let orphans = clear_up(state_folder)?;
        let pid = std::process::id();
        let entry = Entry {
            pid,
            start_ticks: start_ticks(pid).unwrap_or(0),
            read_ahead: None,
            disk: None,
        };
        let journal = Self {
            folder: state_folder.join(pid.to_string()),
            entry,
        };
        let _ = fs::remove_dir_all(&journal.folder);
        DirBuilder::new().mode(0o700).create(&journal.folder)?;
        journal.write()?;
        Ok((journal, orphans))
    }

    /// A folder of our own for small files; gone with the journal.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Notes the device's read-ahead before it is changed. `ResourceBusy` when another bench that
    /// is alive changes the same device.
    pub(crate) fn note_read_ahead(&mut self, queue: &BlockQueue) -> io::Result<()> {
        let QueueSetting { file, value } = queue.setting("read_ahead_kb")?;
        for (_, other) in entries(self.folder.parent().unwrap_or(&self.folder))? {
            let same = other
                .read_ahead
                .as_ref()
                .is_some_and(|(path, _)| *path == file);
            if same && other.pid != self.entry.pid {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
        }
        self.entry.read_ahead = Some((file, value));
        self.write()
    }

    /// Notes an emulated disk before it is created, or that there is none any more.
    pub(crate) fn note_disk(&mut self, name: Option<String>) -> io::Result<()> {
        self.entry.disk = name;
        self.write()
    }

    /// Puts the device's read-ahead back and forgets it.
    pub(crate) fn restore_read_ahead(&mut self) -> io::Result<()> {
        if let Some((file, before)) = &self.entry.read_ahead {
            fs::write(file, before)?;
            self.entry.read_ahead = None;
            self.write()?;
        }
        Ok(())
    }

    fn write(&self) -> io::Result<()> {
        // Written aside and renamed: a crash in between leaves the old entry.
        let aside = self.folder.join("journal.new");
        write_json(&aside, &self.entry)?;
        fs::rename(aside, self.folder.join("journal.json"))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // What cannot be put back stays in the journal for the next start.
        if self.restore_read_ahead().is_ok() && self.entry.disk.is_none() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

fn entries(state_folder: &Path) -> io::Result<Vec<(PathBuf, Entry)>> {
    let mut found = Vec::new();
    for folder in fs::read_dir(state_folder)? {
        let folder = folder?.path();
        if let Ok(entry) = read_json::<Entry>(&folder.join("journal.json")) {
            found.push((folder, entry));
        }
    }
    Ok(found)
}

/// Puts back what dead processes changed; returns the names of their emulated disks.
fn clear_up(state_folder: &Path) -> io::Result<Vec<String>> {
    let mut disks = Vec::new();
    for (folder, entry) in entries(state_folder)? {
        if start_ticks(entry.pid) == Some(entry.start_ticks) {
            continue;
        }
        if let Some((file, before)) = entry.read_ahead {
            // The device may be gone with its disk.
            let _ = fs::write(file, before);
        }
        disks.extend(entry.disk);
        fs::remove_dir_all(folder)?;
    }
    if let Some(controller) = MemoryController::find(Path::new("/sys/fs/cgroup")) {
        for (name, group) in controller.groups_named(GROUP_PREFIX).unwrap_or_default() {
            let pid = name
                .strip_prefix(GROUP_PREFIX)
                .and_then(|pid| pid.parse().ok());
            if pid.is_none_or(|pid| start_ticks(pid).is_none()) {
                let _ = group.remove();
            }
        }
    }
    Ok(disks)
}

/// When process `pid` started, in clock ticks after boot; `None` when there is none.
fn start_ticks(pid: u32) -> Option<u64> {
    let pid = i32::try_from(pid).ok()?;
    let process = ProcessIdentity::of(Path::new("/proc"), pid).ok()?;
    Some(process.start_ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_dead_process_changed_is_put_back_by_the_next_start() {
        let state = tempfile::tempdir().unwrap();
        let setting = state.path().join("read_ahead_kb");
        fs::write(&setting, "4096").unwrap();
        let old = state.path().join("old");
        fs::create_dir(&old).unwrap();
        let entry = Entry {
            pid: 1,
            start_ticks: u64::MAX,
            read_ahead: Some((setting.clone(), "128".into())),
            disk: Some("bench-hdd-1".into()),
        };
        write_json(&old.join("journal.json"), &entry).unwrap();
        let (journal, orphans) = Journal::open(state.path()).unwrap();
        assert_eq!(fs::read_to_string(&setting).unwrap(), "128");
        assert_eq!(orphans, ["bench-hdd-1"]);
        assert!(!old.exists());
        let folder = journal.folder().to_owned();
        drop(journal);
        assert!(!folder.exists());
    }

    #[test]
    fn our_own_start_is_known() {
        assert!(start_ticks(std::process::id()).is_some());
        assert_eq!(start_ticks(u32::MAX), None);
    }
}
