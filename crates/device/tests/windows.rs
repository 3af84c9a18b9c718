//! Setting windows on recorded machines: checked, read back, put back.

mod support;

use std::fs;
use std::path::Path;

use ahead_device::inventory;
use ahead_device::machine::MachineTree;
use ahead_device::target::{self, DeviceTargetError};
use ahead_device::window::{self, WindowError};

#[test]
fn a_window_is_set_where_it_counts_and_put_back_step_by_step() {
    let root = support::machine("elastic-volume-2-mib");
    let machine = MachineTree::at(root.path());
    let window = |name: &str| {
        let file = root
            .path()
            .join(format!("sys/class/block/{name}/queue/read_ahead_kb"));
        fs::read_to_string(file)
            .expect("a window")
            .trim()
            .to_owned()
    };
    let change = window::set(&machine, "/var/lib/elasticsearch", 128).expect("set");
    assert_eq!((change.before_kib, change.now_kib), (2048, 128));
    assert_eq!(
        (window("dm-0"), window("sda")),
        ("128".into(), "128".into())
    );
    window::set(&machine, "dm-0", 64).expect("set");
    assert_eq!(
        window::undo(&machine, "dm-0").expect("put back").now_kib,
        128
    );
    assert_eq!(
        window::undo(&machine, "dm-0").expect("put back").now_kib,
        2048
    );
    assert_eq!(window("dm-0"), "2048");
    let note = root.path().join("run/ahead/device/windows.json");
    assert!(!note.exists(), "nothing is left to put back");
    let nothing = window::undo(&machine, "dm-0");
    assert!(matches!(nothing, Err(WindowError::NothingNoted(_))));
}

#[test]
fn a_window_of_a_file_system_without_a_device_can_be_set() {
    let root = support::machine("nfs-128");
    let machine = MachineTree::at(root.path());
    let change = window::set(&machine, "/media", 1024).expect("set");
    assert_eq!((change.before_kib, change.now_kib), (128, 1024));
}

#[test]
fn what_is_no_window_is_refused_and_changes_nothing() {
    let root = support::machine("ram-cache-disk");
    let machine = MachineTree::at(root.path());
    for kib in [3, 129, 1 << 40, u64::MAX] {
        let error = window::set(&machine, "sdc", kib).expect_err("refused");
        assert!(error.is_usage(), "{error}");
    }
    for target in ["sdz", "", "..", "/dev/nothing", "8:99", "a/../b"] {
        let error = window::set(&machine, target, 128).expect_err("refused");
        assert!(matches!(error, WindowError::Target(_)), "{error}");
    }
    assert!(!root.path().join("run").exists());
}

/// Who names a file means this file, and the window is that of all files beside it: it is told what to name instead.
#[test]
fn a_file_is_no_target_of_a_change_and_its_mount_is_named() {
    let root = support::machine("elastic-volume-2-mib");
    let machine = MachineTree::at(root.path());
    let folder = root.path().join("var/lib/elasticsearch");
    fs::create_dir_all(&folder).expect("our folder");
    fs::write(folder.join("segment"), "x").expect("our folder");
    let file = "/var/lib/elasticsearch/segment";
    let error = window::set(&machine, file, 128).expect_err("refused");
    let said = error.to_string();
    assert!(
        matches!(error, WindowError::Target(DeviceTargetError::File { .. })),
        "{said}"
    );
    assert!(said.contains("name '/var/lib/elasticsearch'"), "{said}");
    let kib = fs::read_to_string(root.path().join("sys/class/block/dm-0/queue/read_ahead_kb"));
    assert_eq!(kib.expect("a window").trim(), "2048");
    assert!(!root.path().join("run").exists(), "nothing is noted");
    assert_eq!(
        target::name_to_change(&machine, file),
        "/var/lib/elasticsearch"
    );
    // What is there now is for any path.
    target::find(&machine, file).expect("a file");
    window::set(&machine, "/var/lib/elasticsearch", 128).expect("set");
}

/// Mounts are found by the path below the root: through a link to it, and by a path that begins in this folder.
#[test]
fn a_root_by_a_link_or_a_short_path_is_the_same_machine() {
    let root = support::built(
        "[sys/block/sda]\ndev = 8:0\nsize = 9\nqueue/read_ahead_kb = 128\n\
         [sys/block/sdb]\ndev = 8:16\nsize = 9\nqueue/read_ahead_kb = 128\n[data]\n\
         [proc/self]\nmountinfo = 30 1 8:0 / / rw - ext4 /dev/sda rw\n\
         mountinfo = 31 30 8:16 / /data rw - ext4 /dev/sdb rw\n",
    );
    let links = tempfile::tempdir().expect("a folder");
    let link = links.path().join("link");
    std::os::unix::fs::symlink(root.path(), &link).expect("a link");
    let here = std::env::current_dir().expect("a folder");
    let up = "../".repeat(here.components().count() - 1);
    let short = format!("{up}{}", &root.path().display().to_string()[1..]);
    for place in [root.path(), link.as_path(), Path::new(&short)] {
        let change = window::set(&MachineTree::at(place), "/data", 256).expect("set");
        assert_eq!(change.name, "sdb", "{}", place.display());
    }
}

/// A value that cannot be understood could not be put back.
#[test]
fn a_window_that_cannot_be_read_is_not_set() {
    let root = support::machine("ram-cache-disk");
    let file = root.path().join("sys/class/block/sdc/queue/read_ahead_kb");
    fs::write(&file, "many\n").expect("written");
    let machine = MachineTree::at(root.path());
    let error = window::set(&machine, "sdc", 128).expect_err("refused");
    assert!(matches!(error, WindowError::Unreadable(_)), "{error}");
    assert_eq!(fs::read_to_string(file).expect("text"), "many\n");
}

#[test]
fn the_inventory_has_every_device_and_what_has_none() {
    let root = support::machine("btrfs-4-mib");
    let stacks = inventory::all(&MachineTree::at(root.path()));
    let names: Vec<_> = stacks
        .iter()
        .map(|stack| stack.layers[0].name.as_str())
        .collect();
    assert_eq!(names, ["sdb", "btrfs-1"]);
}
