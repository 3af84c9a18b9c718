//! A memory limit for a few processes: one folder in the memory controller, version 1 or 2.
//!
//! Creates the folder, sets the limit, says where a process writes its number to join, removes the
//! folder. Who joins and how large the limit is, callers decide. The root folder (normally
//! `/sys/fs/cgroup`) is an argument, so that a test can build a small one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Which interface the memory controller has on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryInterface {
    /// `memory/` with `memory.limit_in_bytes`.
    V1,
    /// One tree with `memory.max`.
    V2,
}

/// The memory controller of a machine.
#[derive(Clone, Debug)]
pub struct MemoryController {
    folder: PathBuf,
    interface: MemoryInterface,
}

impl MemoryController {
    /// Finds the controller below `root`; `None` when this machine limits no memory that way.
    #[must_use]
    pub fn find(root: &Path) -> Option<Self> {
        let v1 = root.join("memory");
        if v1.join("memory.limit_in_bytes").exists() || v1.join("cgroup.procs").exists() {
            return Some(Self {
                folder: v1,
                interface: MemoryInterface::V1,
            });
        }
        let controllers = fs::read_to_string(root.join("cgroup.controllers")).ok()?;
        controllers
            .split_ascii_whitespace()
            .any(|name| name == "memory")
            .then(|| Self {
                folder: root.to_path_buf(),
                interface: MemoryInterface::V2,
            })
    }

    /// Which interface was found.
    #[must_use]
    pub const fn interface(&self) -> MemoryInterface {
        self.interface
    }

    /// Creates the group `name` directly below the controller's root, limited to `bytes_max`.
    pub fn create(&self, name: &str, bytes_max: u64) -> io::Result<MemoryGroup> {
        let limit = match self.interface {
            MemoryInterface::V1 => "memory.limit_in_bytes",
            MemoryInterface::V2 => {
                // Fails where it is on already and cannot be written; the limit file then decides.
                let _ = fs::write(self.folder.join("cgroup.subtree_control"), "+memory");
                "memory.max"
            }
        };
        let folder = self.folder.join(name);
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let group = MemoryGroup { folder };
        if let Err(error) = fs::write(group.folder.join(limit), bytes_max.to_string()) {
            let _ = group.remove();
            return Err(error);
        }
        Ok(group)
    }

    /// Groups directly below the root whose name begins with `prefix`; for clearing up after a
    /// crash.
    pub fn groups_named(&self, prefix: &str) -> io::Result<Vec<(String, MemoryGroup)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().into_string()
                && name.starts_with(prefix)
                && entry.file_type()?.is_dir()
            {
                found.push((
                    name,
                    MemoryGroup {
                        folder: entry.path(),
                    },
                ));
            }
        }
        Ok(found)
    }
}

/// One limited group. Dropping the value leaves the folder; call [`MemoryGroup::remove`].
#[derive(Clone, Debug)]
pub struct MemoryGroup {
    folder: PathBuf,
}

impl MemoryGroup {
    /// The file into which a process writes its number to move itself, with all its threads, here.
    #[must_use]
    pub fn members_file(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }

    /// Bytes that are charged to the group and hold no contents of files: memory, stacks and tables of
    /// its processes. `None` where the kernel does not say, as in version 1.
    pub fn own_bytes(&self) -> io::Result<Option<u64>> {
        let text = fs::read_to_string(self.folder.join("memory.stat"))?;
        let value = |name: &str| -> Option<u64> {
            let mut lines = text.lines().filter_map(|line| line.split_once(' '));
            lines.find(|(key, _)| *key == name)?.1.trim().parse().ok()
        };
        let Some(anonymous) = value("anon") else {
            return Ok(None);
        };
        let kernel = ["kernel_stack", "pagetables", "percpu", "sock"];
        let kernel: u64 = kernel.iter().filter_map(|name| value(name)).sum();
        Ok(Some(anonymous + kernel))
    }

    /// How many of its processes the kernel has ended as there was no memory left. `None` where it does not say, as
    /// version 1 did not before Linux 4.13.
    pub fn killed(&self) -> io::Result<Option<u64>> {
        let file = match self.folder.join("memory.events") {
            events if events.exists() => events,
            _ => self.folder.join("memory.oom_control"),
        };
        let text = fs::read_to_string(file)?;
        let killed = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        Ok(killed.and_then(|killed| killed.trim().parse().ok()))
    }

    /// Moves process `pid` into the group.
    pub fn add(&self, pid: u32) -> io::Result<()> {
        fs::write(self.members_file(), pid.to_string())
    }

    /// Removes the group. `ResourceBusy` while a process is still in it; being gone is success.
    pub fn remove(&self) -> io::Result<()> {
        match fs::remove_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_1_writes_the_limit_in_bytes() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("memory")).unwrap();
        fs::write(root.path().join("memory/memory.limit_in_bytes"), "").unwrap();
        let controller = MemoryController::find(root.path()).unwrap();
        assert_eq!(controller.interface(), MemoryInterface::V1);
        let group = controller.create("g", 1 << 20).unwrap();
        let limit = root.path().join("memory/g/memory.limit_in_bytes");
        assert_eq!(fs::read_to_string(limit).unwrap(), "1048576");
        assert_eq!(controller.groups_named("g").unwrap().len(), 1);
        assert!(group.members_file().ends_with("memory/g/cgroup.procs"));
    }

    #[test]
    fn version_2_writes_the_maximum() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("cgroup.controllers"), "cpu memory io\n").unwrap();
        let controller = MemoryController::find(root.path()).unwrap();
        assert_eq!(controller.interface(), MemoryInterface::V2);
        controller.create("g", 4096).unwrap();
        assert_eq!(
            fs::read_to_string(root.path().join("g/memory.max")).unwrap(),
            "4096"
        );
    }

    #[test]
    fn what_is_no_file_is_the_groups_own() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("cgroup.controllers"), "memory\n").unwrap();
        let controller = MemoryController::find(root.path()).unwrap();
        let group = controller.create("g", 4096).unwrap();
        let stat = root.path().join("g/memory.stat");
        fs::write(
            &stat,
            "anon 600\nfile 9000\nkernel 80\nkernel_stack 64\npagetables 8\n",
        )
        .unwrap();
        assert_eq!(group.own_bytes().unwrap(), Some(672));
        fs::write(&stat, "cache 9000\nrss 600\n").unwrap();
        assert_eq!(group.own_bytes().unwrap(), None);
    }

    #[test]
    fn processes_that_the_kernel_ended_are_counted_in_both_versions() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("cgroup.controllers"), "memory\n").unwrap();
        let controller = MemoryController::find(root.path()).unwrap();
        let group = controller.create("g", 4096).unwrap();
        assert!(group.killed().is_err(), "no file says it");
        let old = root.path().join("g/memory.oom_control");
        fs::write(&old, "oom_kill_disable 0\nunder_oom 0\n").unwrap();
        assert_eq!(group.killed().unwrap(), None);
        fs::write(&old, "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n").unwrap();
        assert_eq!(group.killed().unwrap(), Some(2));
        let events = root.path().join("g/memory.events");
        fs::write(events, "max 7\noom 5\noom_kill 3\noom_group_kill 0\n").unwrap();
        assert_eq!(group.killed().unwrap(), Some(3));
    }

    #[test]
    fn a_machine_without_the_controller_has_none() {
        let root = tempfile::tempdir().unwrap();
        assert!(MemoryController::find(root.path()).is_none());
    }
}
