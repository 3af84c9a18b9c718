//! Debian's own tuned, sysfsutils and nfsrahead read what is persisted for them, as udev, systemd and a shell do in
//! their tests. They are unpacked and not installed (`make deps`): in a namespace of mounts they lie over the machine's
//! files, with an `/etc`, a `/var` and a `/run` of their own, and set the window of a loop device of the test.

mod support;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use support::loop_device::{LoopDevice, image};
use support::{Place, stderr, stdout};

/// Where `make deps` puts them.
const PROGRAMS: &str = "/usr/local/share/ahead/boot-programs";

/// An overlay cannot have a folder and what is in it as layers: a copy in memory has neither in it.
const OVERLAY: &str = "\
set -eu
mount -t tmpfs none /mnt
mkdir /mnt/changed /mnt/work /mnt/root
cp -a $PROGRAMS /mnt/programs
mount -t overlay -o lowerdir=/mnt/programs:/,upperdir=/mnt/changed,workdir=/mnt/work none /mnt/root
for folder in sys proc dev tmp; do mount --rbind /$folder /mnt/root/$folder; done
mount -t tmpfs none /mnt/root/run
exec chroot /mnt/root sh -c \"$SCRIPT\"
";

/// `$AHEAD` the program, `$DEVICE` the kernel's name of the device.
const PREPARE: &str = "\
set -eu
PATH=/usr/sbin:/usr/bin:/sbin:/bin
mkdir -p /run/tuned /etc/tuned
window() { cat /sys/block/$DEVICE/queue/read_ahead_kb; }
until_it_is() { for try in $(seq 600); do [ $(window) = $1 ] && break; sleep 0.1; done; window; }
";

fn beside_the_programs(script: &str, device: &str) -> Output {
    assert!(
        Path::new(PROGRAMS).join("usr/sbin/tuned").exists(),
        "`make deps` unpacks tuned, sysfsutils and nfs-common at {PROGRAMS}"
    );
    Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "--mount-proc", "--kill-child"])
        .args(["sh", "-c", OVERLAY])
        .env("PROGRAMS", PROGRAMS)
        .env("SCRIPT", format!("{PREPARE}{script}"))
        .env("AHEAD", env!("CARGO_BIN_EXE_ahead"))
        .env("DEVICE", device)
        .stdin(Stdio::null())
        .output()
        .expect("unshare")
}

/// What `script` prints, over a device that has 128 KiB.
#[track_caller]
fn lines(script: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let device = LoopDevice::over(&image(folder.path(), "disk.img"));
    device.set_window("128");
    let output = beside_the_programs(script, &device.name);
    let (said, problems) = (stdout(&output), stderr(&output));
    assert!(output.status.success(), "{said}\n{problems}");
    said.lines().map(str::to_owned).collect()
}

/// The profile came with tuned and gives every disk 4 MiB; what was persisted is added to a copy of it.
#[test]
fn tuned_sets_what_was_persisted_and_what_its_profile_says_after_reverting() {
    let script = "\
echo throughput-performance > /etc/tuned/active_profile
start() { echo 64 > /sys/block/$DEVICE/queue/read_ahead_kb; tuned --no-dbus --no-socket >/dev/null 2>&1 & }
start
echo profile $(until_it_is 4096)
kill $! && wait $! || true
$AHEAD device persist $DEVICE 512K --as tuned --yes >/dev/null 2>&1
echo now $(window)
start
echo tuned $(until_it_is 512)
$AHEAD device verify $DEVICE >/dev/null && echo holds
kill $! && wait $! || true
$AHEAD device revert $DEVICE >/dev/null 2>&1
start
echo reverted $(until_it_is 4096)
kill $! && wait $! || true
";
    let expected = [
        "profile 4096",
        "now 512",
        "tuned 512",
        "holds",
        "reverted 4096",
    ];
    assert_eq!(lines(script), expected);
}

#[test]
fn sysfsutils_set_what_was_persisted() {
    let script = "\
$AHEAD device persist $DEVICE 512K --as sysfs.d --yes >/dev/null 2>&1
echo 64 > /sys/block/$DEVICE/queue/read_ahead_kb
/etc/init.d/sysfsutils start >/dev/null
echo boot $(window)
$AHEAD device verify $DEVICE >/dev/null && echo holds
echo block/$DEVICE/queue/read_ahead_kb = 96 > /etc/sysfs.d/zzz-later.conf
/etc/init.d/sysfsutils restart >/dev/null
echo other $(window)
$AHEAD device verify $DEVICE | grep -o '/etc/.*sets it' || true
rm /etc/sysfs.d/zzz-later.conf
$AHEAD device revert $DEVICE >/dev/null 2>&1
ls /etc/sysfs.d | grep ahead || echo gone
";
    let expected = [
        "boot 512",
        "holds",
        "other 96",
        "/etc/sysfs.d/zzz-later.conf:1 sets it",
        "gone",
    ];
    assert_eq!(lines(script), expected);
}

/// Over a mount of NFS in a guest, as there is none here: what udev's rule would write for it.
#[test]
fn nfsrahead_answers_with_what_was_persisted() {
    let script = "\
set -eu
mount -t tmpfs none /etc
mkdir -p /tmp/machine/etc /tmp/machine/usr/libexec
ln -s /sys /tmp/machine/sys; ln -s /proc /tmp/machine/proc
cp $PROGRAMS/usr/libexec/nfsrahead /tmp/machine/usr/libexec/
printf '[nfsrahead]\\nnfs=256\\n' > /tmp/machine/etc/nfs.conf
answer() { cp /tmp/machine/etc/nfs.conf /etc/; $PROGRAMS/usr/libexec/nfsrahead -F $(mountpoint -d .) 2>/dev/null; }
echo before $(answer)
$AHEAD device persist --root /tmp/machine . 1M --as nfs --yes 2>&1 | grep -o '^+nfs.*'
echo kernel $(cat /sys/class/bdi/$(mountpoint -d .)/read_ahead_kb)
echo nfsrahead $(answer)
$AHEAD device revert --root /tmp/machine . >/dev/null
echo reverted $(answer)
";
    let place = Place::new();
    let script = script.replace("$AHEAD", env!("CARGO_BIN_EXE_ahead"));
    let script = script.replace("$PROGRAMS", PROGRAMS);
    let words = [
        "lab",
        "run",
        "--no-ahead",
        "--fs",
        "nfs",
        "--",
        "sh",
        "-c",
        &script,
    ];
    let output = place.output(&words);
    let (said, problems) = (stdout(&output), stderr(&output));
    assert!(output.status.success(), "{said}\n{problems}");
    let said: Vec<_> = said
        .lines()
        .filter(|line| !line.is_empty())
        .take(5)
        .collect();
    let expected = [
        "before 256",
        "+nfs=1024",
        "kernel 1024",
        "nfsrahead 1024",
        "reverted 256",
    ];
    assert_eq!(said, expected, "{problems}");
}
