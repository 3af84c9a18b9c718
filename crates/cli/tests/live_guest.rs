//! The replica of 6.12 against Linux 6.12 in a guest: what `lab/replicas/tests/live_kernel.rs` does on
//! the machine's own kernel, page by page and without tolerance.
//!
//! Each test boots a guest whose command is this same program with the test's name, and fails if it
//! fails there. The kernel has no events for the calls inside the read-ahead code; compared are the
//! pages that enter and leave the page cache, in their order, over ext4 and XFS. It has no huge pages,
//! and so no folios of more than a page: patterns that ask for them are left out.
//!
//! Needs the guest's kernel (`make lab`), `mkfs.ext4` and `mkfs.xfs`.

#[path = "../../../lab/replicas/tests/live/mod.rs"]
mod live;
mod support;

use std::ops::Range;
use std::path::Path;

use ahead_disk_model::DiskModel;
use ahead_guest::init::{DISK_FOLDER, in_guest};
use ahead_guest::{FileSystem, Task};
use ahead_replicas::kernel::folio::FolioRelease;

use live::comparison::Comparison;
use live::generated;
use live::machine::{Folios, Scratch};
use live::patterns;
use live::release::Running;
use support::guest::{bare_guest, boot};

/// Set where this program runs in a guest.
const IN_GUEST: &str = "AHEAD_IN_GUEST";
/// Seeds of the generated patterns that always run.
const SEEDS: Range<u64> = 0..300;
/// The longest request of usual disks, in KiB; patterns set it lower.
const REQUEST_KIB: u32 = 1280;

/// Carries `check` out in a guest: here if this is one, else by the test `name` of this program.
#[track_caller]
fn in_a_guest(file_system: FileSystem, name: &str, check: fn(&Comparison)) {
    if std::env::var_os(IN_GUEST).is_some() {
        let running = Running::now().unwrap_or_else(|unknown| panic!("{unknown}"));
        assert_eq!(running.release, FolioRelease::Linux6_12);
        let comparison = Scratch::in_guest(Path::new(DISK_FOLDER))
            .and_then(|scratch| Comparison::over(scratch, &running, Folios::Single));
        check(&comparison.expect("a recorder can be made"));
        return;
    }
    let program = std::env::current_exe().expect("this program has a path");
    let mut guest = bare_guest(DiskModel::nvme());
    guest.task = Task::new(
        [in_guest(&program).into()]
            .into_iter()
            .chain([name, "--exact", "--nocapture"].map(Into::into))
            .collect(),
    );
    guest.task.file_system = file_system;
    guest.task.environment = vec![(IN_GUEST.into(), "1".into())];
    let seeds = std::env::var_os(generated::SEEDS);
    guest
        .task
        .environment
        .extend(seeds.map(|seeds| (generated::SEEDS.into(), seeds)));
    guest.memory_bytes = 1 << 30;
    guest.disk.bytes = 1 << 30;
    guest.disk.request_kib = REQUEST_KIB;
    let run = boot(&guest);
    println!("{}", run.said);
    assert!(
        run.said.contains("running 1 test"),
        "{name} is this test's name"
    );
    assert_eq!(run.measured.exit_code, 0, "{}", run.said);
}

#[test]
fn named_patterns_over_ext4_go_as_in_6_12() {
    let name = "named_patterns_over_ext4_go_as_in_6_12";
    in_a_guest(FileSystem::Ext4, name, |comparison| {
        comparison.assert_no_differences(&patterns::all());
    });
}

#[test]
fn generated_patterns_over_ext4_go_as_in_6_12() {
    let name = "generated_patterns_over_ext4_go_as_in_6_12";
    in_a_guest(FileSystem::Ext4, name, |comparison| {
        comparison.assert_no_differences(&generated::patterns(SEEDS));
    });
}

#[test]
fn named_patterns_over_xfs_go_as_in_6_12() {
    let name = "named_patterns_over_xfs_go_as_in_6_12";
    in_a_guest(FileSystem::Xfs, name, |comparison| {
        comparison.assert_no_differences(&patterns::all());
    });
}

#[test]
fn generated_patterns_over_xfs_go_as_in_6_12() {
    let name = "generated_patterns_over_xfs_go_as_in_6_12";
    in_a_guest(FileSystem::Xfs, name, |comparison| {
        comparison.assert_no_differences(&generated::patterns(SEEDS));
    });
}

/// The comparison must be able to say no: a good part of all patterns goes otherwise in 6.18.
#[test]
fn the_rules_of_6_18_are_noticed_in_a_guest_of_6_12() {
    let name = "the_rules_of_6_18_are_noticed_in_a_guest_of_6_12";
    in_a_guest(FileSystem::Ext4, name, |comparison| {
        let patterns = generated::patterns(0..20);
        let differs = |pattern: &&live::pattern::Pattern| {
            let difference = comparison.difference_to(FolioRelease::Linux6_18, pattern);
            difference.expect("it can be carried out").is_some()
        };
        let count = patterns
            .iter()
            .filter(|pattern| !pattern.advises_huge())
            .filter(differs)
            .count();
        println!("{count} differ");
        assert!(count > 0);
    });
}
