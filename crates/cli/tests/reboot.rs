//! What is persisted holds over a boot: of Debian's stock kernel, with Debian's udev, in an emulated machine.
//!
//! The machine has a disk with a serial number of its own, on which `/etc/udev` and `/var/lib/ahead` stay. It
//! starts three times: it persists, verifies and reverts, and finds the kernel's own window again.

mod support;

use std::fs;
use std::path::Path;

use support::machine::{LINUX_6_12, Machine, said};

/// The first process of the machine. `start` on the disk counts the starts.
const INIT: &str = r#"mkdir -p /disk/udev/rules.d /disk/ahead /etc/udev /var/lib/ahead
mount --bind /disk/udev /etc/udev
mount --bind /disk/ahead /var/lib/ahead
start=$(cat /disk/start 2>/dev/null || echo 1)
window() { cat /sys/block/vda/queue/read_ahead_kb; }
say() { echo "TEST $start: $*"; }
say kernel $(window)
/usr/lib/systemd/systemd-udevd --daemon
udevadm trigger --action=add --subsystem-match=block
udevadm settle
say udev $(window)
case $start in
1)
  ahead device persist vda 512K --yes 2>&1 | grep '^[+]ACTION' | while read line; do say "$line"; done
  say persisted $(window)
  ;;
2)
  ahead device verify; say verify $?
  echo 64 > /sys/block/vda/queue/read_ahead_kb
  ahead device verify; say verify $?
  udevadm trigger --action=add --subsystem-match=block
  udevadm settle
  say again $(window)
  ahead device revert vda; say reverted $? $(window) $(ls /etc/udev/rules.d | wc -l)
  ;;
3)
  ahead device verify; say verify $?
  ;;
esac
echo $((start + 1)) > /disk/start
umount /etc/udev /var/lib/ahead /disk
sync
[ $start = 3 ] && poweroff -f
reboot -f
"#;

/// Also udev, with the rules that come with it.
fn machine() -> Machine {
    let machine = Machine::new(LINUX_6_12, INIT, 64);
    let udev = Path::new("/bin/udevadm");
    machine.copy_libraries(udev);
    machine.copy(udev, "bin/udevadm");
    machine.copy(udev, "usr/lib/systemd/systemd-udevd");
    let rules = Path::new("/usr/lib/udev/rules.d");
    for rule in fs::read_dir(rules).expect("udev").flatten() {
        let path = rule.path();
        machine.copy(&path, path.to_str().expect("text"));
    }
    machine
}

#[test]
fn what_is_persisted_holds_over_a_boot_and_what_is_reverted_does_not() {
    let all = machine().start();
    let rule = r#"1: +ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", ATTR{serial}=="AHEAD-42", ATTR{queue/read_ahead_kb}="512""#;
    let expected = [
        "1: kernel 128",
        "1: udev 128",
        rule,
        "1: persisted 512",
        "2: kernel 128",
        "2: udev 512",
        "2: verify 0",
        "2: verify 1",
        "2: again 512",
        "2: reverted 0 128 0",
        "3: kernel 128",
        "3: udev 128",
        "3: verify 0",
    ];
    assert_eq!(said(&all), expected, "{all}");
    assert!(
        all.contains("by /etc/udev/rules.d/99-ahead-AHEAD-42-"),
        "{all}"
    );
    assert!(
        all.contains(": holds\n") || all.contains(": holds\r\n"),
        "{all}"
    );
}
