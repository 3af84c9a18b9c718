//! A machine to persist windows on: it has every mechanism, and is looked at as a whole.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;

use ahead_device::boot;
use ahead_device::identity;
use ahead_device::machine::MachineTree;
use ahead_device::mechanism::Mechanism;
use ahead_device::persist::{self, PersistError, PersistPlan};
use ahead_device::stack;
use ahead_device::target;
use ahead_device::verify::{VerifiedWindow, verify};

/// A machine that has every mechanism, and a device.
pub(crate) struct Persisting {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) tree: MachineTree,
    pub(crate) target: &'static str,
}

impl Persisting {
    /// A disk `sdc` of 128 KiB that a controller made; `wwid` is what it says of itself.
    pub(crate) fn with_disk(wwid: &str) -> Self {
        let machine = Self::of("ram-cache-disk", "sdc");
        machine.file("sys/class/block/sdc/device/wwid", wwid);
        machine.file("sys/class/block/sdc/queue/read_ahead_kb", "128\n");
        machine
    }

    pub(crate) fn with_nfs() -> Self {
        let machine = Self::of("nfs-128", "/media");
        machine.file("usr/libexec/nfsrahead", "");
        machine
    }

    pub(crate) fn of(listing: &str, target: &'static str) -> Self {
        let folder = super::machine(listing);
        let machine = Self {
            tree: MachineTree::at(folder.path()),
            folder,
            target,
        };
        machine.boot("first");
        for place in [
            "usr/lib/udev/rules.d/60-block.rules",
            "usr/lib/systemd/system/x.service",
            "usr/bin/systemd-tmpfiles",
            "etc/sysfs.conf",
            "etc/hotplug.d/block/10-mount",
        ] {
            machine.file(place, "");
        }
        machine.file("etc/tuned/active_profile", "virtual-guest\n");
        machine.file(
            "usr/lib/tuned/virtual-guest/tuned.conf",
            "[main]\nsummary=x\n",
        );
        machine
    }

    pub(crate) fn boot(&self, id: &str) {
        self.file("proc/sys/kernel/random/boot_id", id);
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn file(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }

    pub(crate) fn window(&self) -> u64 {
        let found = target::find(&self.tree, self.target).expect("a target");
        let stack = stack::of(&self.tree, &found);
        let layer = stack.counting().expect("a layer");
        layer.read_ahead_kb.expect("a window")
    }

    pub(crate) fn write_window(&self, kib: u64) {
        let found = target::find(&self.tree, self.target).expect("a target");
        let stack = stack::of(&self.tree, &found);
        let file = stack.counting().and_then(|layer| layer.window_file.clone());
        fs::write(file.expect("a window"), kib.to_string()).expect("written");
    }

    pub(crate) fn plan(
        &self,
        kib: u64,
        only: Option<Mechanism>,
    ) -> Result<PersistPlan, PersistError> {
        persist::plan(&self.tree, self.target, kib, only)
    }

    pub(crate) fn persist(&self, kib: u64, only: Option<Mechanism>) -> PersistPlan {
        let plan = self
            .plan(kib, only)
            .unwrap_or_else(|error| panic!("{error}"));
        let done = persist::carry_out(&self.tree, &plan);
        done.unwrap_or_else(|error| panic!("{error}"));
        plan
    }

    pub(crate) fn verified(&self) -> VerifiedWindow {
        let all = verify(&self.tree, Some(self.target)).expect("a record");
        let [one] = &all[..] else {
            panic!("{all:?}");
        };
        one.clone()
    }

    /// What the readers of boot settings say that the last word on this device is.
    pub(crate) fn at_boot(&self) -> Option<(String, u64)> {
        let found = target::find(&self.tree, self.target).expect("a target");
        let stack = stack::of(&self.tree, &found);
        let names = identity::names(&self.tree, stack.counting().expect("a layer"), &stack);
        let settings = boot::read(&self.tree).settings;
        let mut sure = settings
            .iter()
            .rev()
            .filter(|one| one.sets(&names) == Some(true));
        sure.next()
            .and_then(|one| Some((one.file.clone(), one.kib()?)))
    }

    /// Everything but our own notes: folders, links, files with their rights.
    pub(crate) fn everything(&self) -> BTreeMap<PathBuf, String> {
        let mut all = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder").flatten() {
                let path = entry.path();
                if path.ends_with("run/ahead") || path.ends_with("var/lib/ahead") {
                    continue;
                }
                let found = fs::symlink_metadata(&path).expect("found");
                let says = if found.is_symlink() {
                    format!("link {:?}", fs::read_link(&path).expect("a link"))
                } else if found.is_dir() {
                    folders.push(path.clone());
                    "folder".to_owned()
                } else {
                    let text =
                        String::from_utf8_lossy(&fs::read(&path).expect("a file")).into_owned();
                    let (mode, owner) = (found.permissions().mode(), (found.uid(), found.gid()));
                    // A window reads back without the line end that it was recorded with.
                    format!("{mode:o} {owner:?} {}", text.trim_end_matches('\n'))
                };
                all.insert(path, says);
            }
        }
        // The folders of our own notes come and go with them.
        let boot = "proc/sys/kernel/random/boot_id";
        for folder in ["run", "var", "var/lib", boot] {
            all.remove(&self.path(folder));
        }
        all
    }
}
