//! What was changed on the machine, written down before it is changed.
//!
//! Notes of the kind that [`undo`](ahead_device::undo) keeps, one file per bench process. It
//! is removed when everything is as before; one that is found without its process was left by a
//! crash, and the next start puts things back from it.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use ahead_device::undo::{NotedProcess, NotedSetting, UndoFile};
use ahead_sys::block_queue::BlockQueue;
use ahead_sys::cgroup::MemoryController;
use serde::{Deserialize, Serialize};

/// Groups that belong to bench process 12 are called `ahead-bench-12`.
pub(crate) const GROUP_PREFIX: &str = "ahead-bench-";

/// One process' changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    #[serde(flatten)]
    owner: NotedProcess,
    read_ahead: Option<NotedSetting>,
    /// An emulated disk of ours.
    disk: Option<String>,
}

fn journal_in(folder: &Path) -> UndoFile {
    UndoFile::new(folder, "journal")
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
            owner: NotedProcess::of(pid)?,
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
        let before = NotedSetting::from(queue.setting("read_ahead_kb")?);
        for (_, other) in entries(self.folder.parent().unwrap_or(&self.folder))? {
            let same = other
                .read_ahead
                .as_ref()
                .is_some_and(|setting| setting.file == before.file);
            if same && other.owner != self.entry.owner {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
        }
        self.entry.read_ahead = Some(before);
        self.write()
    }

    /// Notes an emulated disk before it is created, or that there is none any more.
    pub(crate) fn note_disk(&mut self, name: Option<String>) -> io::Result<()> {
        self.entry.disk = name;
        self.write()
    }

    /// Puts the device's read-ahead back and forgets it.
    pub(crate) fn restore_read_ahead(&mut self) -> io::Result<()> {
        if let Some(before) = &self.entry.read_ahead {
            before.put_back()?;
            self.entry.read_ahead = None;
            self.write()?;
        }
        Ok(())
    }

    fn write(&self) -> io::Result<()> {
        journal_in(&self.folder).write(&self.entry)
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
        if let Ok(entry) = journal_in(&folder).read() {
            found.push((folder, entry));
        }
    }
    Ok(found)
}

/// Puts back what dead processes changed; returns the names of their emulated disks.
fn clear_up(state_folder: &Path) -> io::Result<Vec<String>> {
    let mut disks = Vec::new();
    for (folder, entry) in entries(state_folder)? {
        if entry.owner.is_running() {
            continue;
        }
        if let Some(before) = entry.read_ahead {
            // The device may be gone with its disk.
            let _ = before.put_back();
        }
        disks.extend(entry.disk);
        fs::remove_dir_all(folder)?;
    }
    if let Some(controller) = MemoryController::find(Path::new("/sys/fs/cgroup")) {
        for (name, group) in controller.groups_named(GROUP_PREFIX).unwrap_or_default() {
            let pid = name
                .strip_prefix(GROUP_PREFIX)
                .and_then(|pid| pid.parse().ok());
            if pid.is_none_or(|pid| NotedProcess::of(pid).is_err()) {
                let _ = group.remove();
            }
        }
    }
    Ok(disks)
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
            owner: NotedProcess {
                pid: 1,
                start_ticks: u64::MAX,
            },
            read_ahead: Some(NotedSetting {
                file: setting.clone(),
                value: "128".into(),
            }),
            disk: Some("bench-hdd-1".into()),
        };
        journal_in(&old).write(&entry).unwrap();
        let (journal, orphans) = Journal::open(state.path()).unwrap();
        assert_eq!(fs::read_to_string(&setting).unwrap(), "128");
        assert_eq!(orphans, ["bench-hdd-1"]);
        assert!(!old.exists());
        let folder = journal.folder().to_owned();
        drop(journal);
        assert!(!folder.exists());
    }
}
