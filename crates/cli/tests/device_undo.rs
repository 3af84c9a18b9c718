//! A note of a window is for one appearance of a device, with the kernel's own numbers: a loop device that is removed
//! and made again has the same name and number, and is another one.

mod support;

use std::process::Command;

use support::{stderr, stdout};

/// Makes (19584) or removes (19585) the loop device of a number that no system gives out by itself.
const CONTROL: &str = "\
import fcntl, os, sys
control = os.open('/dev/loop-control', os.O_RDWR)
fcntl.ioctl(control, int(sys.argv[1]), 4242)
";

/// With a `/run` of its own, so that no note of the machine is touched.
const SCRIPT: &str = "\
set -eu
mount -t tmpfs none /run
loop() { python3 -c \"$CONTROL\" $1; }
window() { cat /sys/block/loop4242/queue/read_ahead_kb; }
loop 19584
trap 'loop 19585' EXIT
before=$(window)
$AHEAD device set loop4242 64K >/dev/null
$AHEAD device set loop4242 32K >/dev/null
$AHEAD device undo loop4242 >/dev/null
echo undone $(window)
loop 19585
loop 19584
echo again $(($(window) == before))
echo 96 > /sys/block/loop4242/queue/read_ahead_kb
$AHEAD device undo loop4242 2>&1 || echo refused $?
echo left $(window)
ls /run/ahead/device
";

#[test]
fn a_device_that_was_made_again_is_another_one() {
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", SCRIPT])
        .env("AHEAD", env!("CARGO_BIN_EXE_ahead"))
        .env("CONTROL", CONTROL)
        .output()
        .expect("unshare");
    let said = stdout(&output);
    let said: Vec<_> = said.lines().collect();
    let expected = [
        "undone 64",
        "again 1",
        "ahead: no change of loop4242 is noted since the last boot, or since it appeared",
        "refused 1",
        "left 96",
    ];
    assert_eq!(said, expected, "{}", stderr(&output));
    assert!(output.status.success(), "{}", stderr(&output));
}
