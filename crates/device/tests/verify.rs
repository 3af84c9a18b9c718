//! What was persisted is verified against what sets windows at boot.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use ahead_device::boot;
use ahead_device::mechanism::Mechanism;
use ahead_device::verify::{verify, verify_with};
use support::persisting::Persisting as Machine;

/// A script that runs last.
const LAST: &str = "etc/rc.local";

/// `ahead doctor` had read all that sets windows at boot, and each window that does not hold had it read again.
#[test]
fn what_was_read_of_the_boot_is_not_read_again_for_each_window() {
    let machine = Machine::with_disk("naa.5000c500a1b2c3d4\n");
    machine.file(LAST, "");
    fs::set_permissions(machine.path(LAST), fs::Permissions::from_mode(0o755)).expect("ours");
    machine.persist(512, Some(Mechanism::SysfsD));
    machine.boot("second");
    machine.file(LAST, "echo 96 > /sys/block/sdc/queue/read_ahead_kb\n");
    machine.write_window(96);
    let boot = boot::read(&machine.tree);
    machine.file(LAST, "");
    let verified = verify_with(&machine.tree, &boot).expect("a record");
    let [one] = &verified[..] else {
        panic!("{verified:?}");
    };
    assert!(one.why[0].ends_with(" sets it"), "as it was read: {one:?}");
    let anew = verify(&machine.tree, None).expect("a record");
    assert!(!anew[0].why[0].ends_with(" sets it"), "{anew:?}");
}
