//! Which device is meant by what was persisted: names of the kernel that another disk has by now, disks that are gone, and
//! disks that say the same of themselves.

mod support;

use std::fs;
use std::path::Path;

use ahead_device::machine::MachineTree;
use ahead_device::mechanism::Mechanism;
use ahead_device::persist::{self, PersistError};
use ahead_device::persist_record;
use ahead_device::verify::verify;
use support::persisting::Persisting as Machine;

/// A machine with two disks that say who they are, and udev.
fn two_disks(of_sda: &str, of_sdb: &str) -> (tempfile::TempDir, MachineTree) {
    let disk = |name: &str, number: &str, wwid: &str| {
        format!(
            "[sys/block/{name}]\ndev = {number}\nsize = 9\nqueue/read_ahead_kb = 128\ndevice/wwid = {wwid}\n"
        )
    };
    let root = support::built(&format!(
        "{}{}[etc/udev/rules.d]\n[proc/self]\nmountinfo = 30 1 8:0 / / rw - ext4 /dev/sda rw\n",
        disk("sda", "8:0", of_sda),
        disk("sdb", "8:16", of_sdb)
    ));
    let tree = MachineTree::at(root.path());
    (root, tree)
}

fn window_of(root: &Path, name: &str) -> u64 {
    let file = root.join(format!("sys/class/block/{name}/queue/read_ahead_kb"));
    let text = fs::read_to_string(file).expect("a window");
    text.trim().parse().expect("a number")
}

/// At the next boot `sda` is the other disk: what is said of `sda` is said of that one.
#[test]
fn a_name_that_another_disk_has_by_now_means_that_disk() {
    let (root, tree) = two_disks("naa.5aaa", "naa.5bbb");
    let plan = persist::plan(&tree, "sda", 512, None).expect("a plan");
    persist::carry_out(&tree, &plan).expect("persisted");
    for (name, wwid, kib) in [("sda", "naa.5bbb", "128"), ("sdb", "naa.5aaa", "512")] {
        let folder = root.path().join("sys/class/block").join(name);
        fs::write(folder.join("device/wwid"), wwid).expect("written");
        fs::write(folder.join("queue/read_ahead_kb"), kib).expect("written");
    }
    assert_eq!(verify(&tree, Some("sda")).expect("a record"), []);
    let refused = persist::revert(&tree, Some("sda"));
    assert!(
        matches!(refused, Err(PersistError::NothingPersisted(_))),
        "{refused:?}"
    );
    assert_eq!(verify(&tree, Some("sdb")).expect("a record").len(), 1);
    persist::revert(&tree, Some("sdb")).expect("reverted");
    assert_eq!(
        (window_of(root.path(), "sda"), window_of(root.path(), "sdb")),
        (128, 128)
    );
}

/// A bridge that gives one number to every disk behind it. Only the first of them was looked at.
#[test]
fn two_disks_of_one_number_are_not_told_apart() {
    let (_root, tree) = two_disks("t10.1234", "t10.1234");
    let refused = persist::plan(&tree, "sdb", 512, None).expect_err("refused");
    assert!(
        refused
            .to_string()
            .starts_with("sdb and sda say the same of themselves (device/wwid t10.1234)"),
        "{refused}"
    );
}

/// The second one came when the first one was persisted: the rule sets both.
#[test]
fn what_is_persisted_holds_where_it_does_for_every_disk_of_that_number() {
    let (root, tree) = two_disks("t10.1234", "naa.5bbb");
    let plan = persist::plan(&tree, "sda", 512, None).expect("a plan");
    persist::carry_out(&tree, &plan).expect("persisted");
    let second = root.path().join("sys/class/block/sdb");
    fs::write(second.join("device/wwid"), "t10.1234\n").expect("written");
    let all = verify(&tree, Some("sda")).expect("a record");
    assert_eq!((all[0].holds, all[0].now_kib), (false, Some(128)));
    assert!(all[0].why[0].starts_with("sdb: "), "{all:?}");
    fs::write(second.join("queue/read_ahead_kb"), "512\n").expect("written");
    assert!(verify(&tree, Some("sda")).expect("a record")[0].holds);
    let reverted = persist::revert(&tree, Some("sda")).expect("reverted");
    assert_eq!(reverted[0].windows.len(), 2);
    assert_eq!(
        (window_of(root.path(), "sda"), window_of(root.path(), "sdb")),
        (128, 128)
    );
}

/// A disk that is not plugged in is called as it was called then.
#[test]
fn a_name_that_no_disk_has_means_what_was_persisted_by_it() {
    let (root, tree) = two_disks("naa.5aaa", "naa.5bbb");
    let plan = persist::plan(&tree, "sdb", 512, None).expect("a plan");
    persist::carry_out(&tree, &plan).expect("persisted");
    for link in ["class/block/sdb", "dev/block/8:16"] {
        fs::remove_file(root.path().join("sys").join(link)).expect("ours");
    }
    let all = verify(&tree, Some("sdb")).expect("a record");
    assert!(all.len() == 1 && !all[0].holds, "{all:?}");
    persist::revert(&tree, Some("sdb")).expect("reverted");
    assert_eq!(persist_record::read(&tree).expect("a record"), []);
}

/// A folder by a path that is right in one folder only.
#[test]
fn a_target_is_kept_by_its_whole_path() {
    let (root, tree) = two_disks("naa.5aaa", "naa.5bbb");
    fs::create_dir(root.path().join("srv")).expect("a folder");
    let here = std::env::current_dir().expect("a folder");
    let up = "../".repeat(here.components().count() - 1);
    let relative = format!("{up}{}/srv", &root.path().display().to_string()[1..]);
    assert!(Path::new(&relative).is_dir(), "{relative}");
    let plan = persist::plan(&tree, &relative, 512, None).expect("a plan");
    assert_eq!((plan.target.as_str(), plan.name.as_str()), ("/srv", "sda"));
    persist::carry_out(&tree, &plan).expect("persisted");
    assert_eq!(verify(&tree, Some(&relative)).expect("a record").len(), 1);
    // A folder of this machine, which the root is not in: there is no path below the root that means it.
    let plan = persist::plan(&tree, ".", 512, None).expect("a plan");
    assert_eq!(plan.target, ".");
}

/// The same disk under another name, and another disk under its name.
#[test]
fn a_disk_is_found_again_by_what_it_is() {
    let machine = Machine::with_disk("naa.5000c500a1b2c3d4");
    machine.persist(512, Some(Mechanism::Udev));
    machine.file("sys/class/block/sdc/device/wwid", "naa.5000c500ffffffff");
    let all = verify(&machine.tree, None).expect("a record");
    assert!(!all[0].holds && all[0].now_kib.is_none(), "{all:?}");
    assert!(all[0].why[0].contains("naa.5000c500a1b2c3d4"), "{all:?}");
    // Its window is not that of the one that is gone.
    let reverted = persist::revert(&machine.tree, None).expect("reverted");
    assert_eq!(reverted[0].windows, []);
    assert_eq!(machine.window(), 512);
}

/// The files of a container are read by no boot of its host, whose window it is.
#[test]
fn a_plan_in_a_container_says_that_the_host_is_the_place() {
    let machine = Machine::with_disk("naa.5000c500a1b2c3d4\n");
    let says_host = |machine: &Machine| {
        let plan = machine.plan(512, Some(Mechanism::Udev)).expect("a plan");
        plan.notes
            .iter()
            .any(|note| note.contains("Persist it on the host"))
    };
    assert!(!says_host(&machine));
    machine.file("run/.containerenv", "");
    assert!(says_host(&machine));
}
