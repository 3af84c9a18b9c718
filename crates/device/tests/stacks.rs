//! The layers of recorded machines: which window counts, and where it comes from.

mod support;

use ahead_device::doctor;
use ahead_device::machine::MachineTree;
use ahead_device::mapped::MappedAdvice;
use ahead_device::origin::Origin;
use ahead_device::persist;
use ahead_device::stack::{self, LAYERS_MAX, Stack};
use ahead_device::target;
use ahead_device::verify;

fn stack_of(root: &tempfile::TempDir, text: &str) -> Stack {
    let machine = MachineTree::at(root.path());
    let target = target::find(&machine, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    stack::of(&machine, &target)
}

#[track_caller]
fn counts(machine: &str, target: &str) -> (String, Option<u64>, Option<Origin>) {
    let stack = stack_of(&support::machine(machine), target);
    let layer = stack.counting().unwrap_or_else(|| panic!("{stack:?}"));
    (layer.name.clone(), layer.read_ahead_kb, layer.origin)
}

#[test]
fn there_are_thirty_machines_and_each_names_its_source() {
    let all = support::listings();
    assert!(all.len() >= 30, "{}", all.len());
    for (name, text) in all {
        assert!(text.contains("\n# source: "), "{name}");
    }
}

/// The story of a fleet: the disk was repaired first, and it was the volume above it that counted.
#[test]
fn the_topmost_window_counts_and_not_that_of_the_disk() {
    let found = counts("guest-crypt-8192", "/var/lib/data");
    assert_eq!(
        found,
        ("dm-4".into(), Some(8192), Some(Origin::TwiceRequest))
    );
    let found = counts("elastic-volume-2-mib", "/var/lib/elasticsearch");
    assert_eq!(found, ("dm-0".into(), Some(2048), Some(Origin::Set)));
    let stack = stack_of(&support::machine("guest-crypt-8192"), "/var/lib/data");
    let names: Vec<_> = stack
        .layers
        .iter()
        .map(|layer| layer.name.as_str())
        .collect();
    assert_eq!(names, ["xfs", "dm-4", "dm-2", "vda"]);
    let depths: Vec<_> = stack.layers.iter().map(|layer| layer.depth).collect();
    assert_eq!(depths, [0, 1, 2, 3]);
}

#[test]
fn a_file_system_on_a_partition_has_the_window_of_the_disk() {
    let found = counts("azure-runner-6-17", "/");
    assert_eq!(
        found,
        ("sda".into(), Some(4096), Some(Origin::TwiceRequest))
    );
    let found = counts("azure-runner-6-17", "sda1");
    assert_eq!(found.0, "sda");
}

#[test]
fn btrfs_nfs_and_fuse_have_windows_of_their_own() {
    let found = counts("btrfs-4-mib", "/data");
    assert_eq!(
        found,
        ("btrfs".into(), Some(4096), Some(Origin::FileSystem))
    );
    let found = counts("nfs-15360", "/media");
    assert_eq!(
        found,
        ("nfs4".into(), Some(15360), Some(Origin::FileSystem))
    );
    let found = counts("fuse-10240", "0:107");
    assert_eq!(found, ("0:107".into(), Some(10240), Some(Origin::Set)));
}

#[test]
fn a_loop_device_shows_what_its_file_lies_on_and_counts_itself() {
    let stack = stack_of(&support::machine("loop-on-fuse"), "/mnt/slow");
    let names: Vec<_> = stack
        .layers
        .iter()
        .map(|layer| layer.name.as_str())
        .collect();
    assert_eq!(names, ["ext4", "loop7", "fuse"]);
    assert_eq!(
        stack.counting().map(|layer| layer.name.as_str()),
        Some("loop7")
    );
    assert!(!stack.layers[2].counts);
}

#[test]
fn a_bogus_optimal_request_is_the_origin() {
    for (machine, kib) in [("usb-bridge-bogus", 65_532), ("azure-nvme-64-mib", 65_536)] {
        let found = counts(machine, "/");
        assert_eq!((found.1, found.2), (Some(kib), Some(Origin::TwiceOptimal)));
    }
}

#[test]
fn every_device_of_every_machine_has_a_stack() {
    for (name, text) in support::listings() {
        let root = support::built(&text);
        let machine = MachineTree::at(root.path());
        for device in machine.names(&root.path().join("sys/class/block")) {
            let stack = stack_of(&root, &device);
            assert!(!stack.layers.is_empty(), "{name} {device}");
            assert_eq!(stack.unread, [], "{name} {device}");
        }
    }
}

/// Holders and slaves that go round in a circle, as a broken or a hostile tree could have them.
#[test]
fn a_device_below_itself_is_said_and_ends_the_stack() {
    let circle = "[sys/block/dm-0]\ndev = 253:0\ndm/uuid = LVM-a\nslaves = dm-1\n\
                  [sys/block/dm-1]\ndev = 253:1\ndm/uuid = LVM-b\nslaves = dm-0\n";
    let stack = stack_of(&support::built(circle), "dm-0");
    assert_eq!(stack.layers.len(), 2);
    assert_eq!(stack.unread.len(), 1, "{stack:?}");
    assert!(stack.unread[0].why.contains("below itself"), "{stack:?}");
}

/// Values that are missing, binary, huge, empty or folders, in any place of any machine.
#[test]
fn a_damaged_tree_never_panics() {
    let mut random = fastrand::Rng::with_seed(11);
    let values: [&[u8]; 7] = [
        b"",
        b"\xff\xfe\0",
        b"99999999999999999999999",
        b"-1",
        b"[",
        b":",
        b"18446744073709551615",
    ];
    let all = support::listings();
    for round in 0..114 {
        let (name, text) = &all[round % all.len()];
        let root = support::built(text);
        let mut files = Vec::new();
        collect(root.path(), &mut files);
        for _ in 0..random.usize(1..6) {
            let file = &files[random.usize(0..files.len())];
            let _ = std::fs::remove_file(file);
            match random.usize(0..9) {
                0 => {}
                1 => drop(std::fs::create_dir(file)),
                kind => drop(std::fs::write(file, values[kind - 2])),
            }
        }
        let machine = MachineTree::at(root.path());
        let devices = machine.names(&root.path().join("sys/class/block"));
        let bdis = machine.names(&root.path().join("sys/class/bdi"));
        let places = ["/", "/data", "/media", "/mnt"].map(str::to_owned);
        for target in devices.iter().chain(&bdis).chain(&places) {
            if let Ok(target) = target::find(&machine, target) {
                let stack = stack::of(&machine, &target);
                assert!(stack.layers.len() <= LAYERS_MAX, "{name}");
            }
        }
        let _ = doctor::examine(&machine, &[], &|_| None, &MappedAdvice::default());
        for target in devices.iter().chain(&places) {
            let _ = persist::plan(&machine, target, 512, None);
        }
        let _ = verify::verify(&machine, None);
    }
}

fn collect(folder: &std::path::Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() {
            collect(&entry.path(), files);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    files.sort();
}
