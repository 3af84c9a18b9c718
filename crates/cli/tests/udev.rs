//! Debian's own udev reads what is persisted: in namespaces of its own, on a loop device of the test, with the running
//! kernel. Windows, devices and folders of the machine are afterwards what they were.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use support::loop_device::{LoopDevice, image};
use support::{stderr, stdout};

/// In a namespace of mounts, nets and processes: folders that udev and we write to are empty ones in memory, `/dev` as
/// well, as udev sees the kernel's events of every device. Ends with its first process.
const NAMESPACE: [&str; 6] = [
    "--mount",
    "--net",
    "--pid",
    "--fork",
    "--mount-proc",
    "--kill-child",
];

/// `$AHEAD` the program, `$DEVICE` the kernel's name of the first device, `$FILE` the file behind it.
const PREPARE: &str = "\
set -eu
for folder in /run /etc/udev /var/lib /dev; do mount -t tmpfs none $folder; done
mkdir -p /etc/udev/rules.d /run/udev
mknod /dev/null c 1 3
window() { cat /sys/block/$1/queue/read_ahead_kb; }
udevd=$(command -v systemd-udevd || ls /usr/lib/systemd/systemd-udevd /lib/systemd/systemd-udevd 2>/dev/null | head -1)
$udevd --daemon
again() { udevadm control --reload; udevadm trigger --settle --action=change /sys/block/$1; }
";

fn in_namespace(script: &str, device: &str, other: &str) -> Output {
    Command::new("unshare")
        .args(NAMESPACE)
        .args(["sh", "-c", &format!("{PREPARE}{script}")])
        .env("AHEAD", env!("CARGO_BIN_EXE_ahead"))
        .env("DEVICE", device)
        .env("OTHER", other)
        .output()
        .expect("unshare")
}

#[track_caller]
fn lines(output: &Output) -> Vec<String> {
    assert!(
        output.status.success(),
        "{}\n{}",
        stdout(output),
        stderr(output)
    );
    stdout(output).lines().map(str::to_owned).collect()
}

#[test]
fn udev_sets_what_was_persisted_and_reverting_ends_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let device = LoopDevice::over(&image(folder.path(), "disk.img"));
    device.set_window("128");
    let script = "\
$AHEAD device persist $DEVICE 512K --as udev --yes >/dev/null 2>&1
echo now $(window $DEVICE)
echo 64 > /sys/block/$DEVICE/queue/read_ahead_kb
$AHEAD device verify $DEVICE >/dev/null || echo does not hold $?
again $DEVICE
echo udev $(window $DEVICE)
$AHEAD device verify $DEVICE >/dev/null && echo holds
echo \"KERNEL==\\\"$DEVICE\\\", ATTR{queue/read_ahead_kb}=\\\"96\\\"\" > /etc/udev/rules.d/99-later.rules
again $DEVICE
echo other $(window $DEVICE)
$AHEAD device verify $DEVICE | grep -o '/etc/.*sets it' || true
rm /etc/udev/rules.d/99-later.rules
again $DEVICE
$AHEAD device revert $DEVICE >/dev/null
echo reverted $(window $DEVICE) $(ls /etc/udev/rules.d | wc -l)
again $DEVICE
echo without $(window $DEVICE)
";
    let output = in_namespace(script, &device.name, "");
    let expected = [
        "now 512",
        "does not hold 1",
        "udev 512",
        "holds",
        "other 96",
        "/etc/udev/rules.d/99-later.rules:1 sets it",
        "reverted 128 0",
        "without 128",
    ];
    assert_eq!(lines(&output), expected, "{}", stderr(&output));
    assert!(!Path::new("/var/lib/ahead/persisted.json").exists());
}

/// Signs that a rule could take for its own, and the same file at another number: the kernel says that it has come,
/// and udev sets the window there.
#[test]
fn a_device_is_known_by_its_file_when_it_comes_again_under_another_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = [
        "it's a \"disk\", 100% [*]? {x} $k.img",
        "back\\slash|\u{e9}\t, RUN+=\"x\".img",
        "star *.img",
    ];
    for name in names {
        let file = image(folder.path(), name);
        let (first, second) = (LoopDevice::over(&file), LoopDevice::over(&file));
        let neighbour = LoopDevice::over(&image(folder.path(), "star xx.img"));
        for one in [&first, &second, &neighbour] {
            one.set_window("128");
        }
        let script = format!(
            "\
$AHEAD device persist $DEVICE 512K --as udev --yes >/dev/null 2>&1
for one in $DEVICE $OTHER {neighbour}; do
  echo 64 > /sys/block/$one/queue/read_ahead_kb
done
for one in $DEVICE $OTHER {neighbour}; do
  again $one
  echo $(window $one)
done
$AHEAD device revert >/dev/null
",
            neighbour = neighbour.name
        );
        let output = in_namespace(&script, &first.name, &second.name);
        assert_eq!(
            lines(&output),
            ["512", "512", "64"],
            "{name}: {}",
            stderr(&output)
        );
    }
}

/// A device in memory that was not there before. The kernel gives it the next number.
struct AddedDevice {
    number: String,
}

impl AddedDevice {
    const CONTROL: &str = "/sys/class/zram-control";

    fn new() -> Self {
        let file = Path::new(Self::CONTROL).join("hot_add");
        let number =
            fs::read_to_string(file).expect("root, and a kernel with zram (modprobe zram)");
        let number = number.trim().to_owned();
        Self { number }
    }

    fn name(&self) -> String {
        format!("zram{}", self.number)
    }
}

impl Drop for AddedDevice {
    fn drop(&mut self) {
        let file = Path::new(Self::CONTROL).join("hot_remove");
        let _ = fs::write(file, &self.number);
    }
}

/// The kernel itself says that a device has gone and that one has come; it gives it 128 KiB, and udev, which nothing
/// else has told of it, what was persisted.
#[test]
fn a_device_that_is_plugged_in_again_gets_its_window_by_the_events_of_the_kernel() {
    let device = AddedDevice::new();
    let script = "\
control=/sys/class/zram-control
plug_in_again() {
  udevadm settle
  echo ${DEVICE#zram} > $control/hot_remove
  [ zram$(cat $control/hot_add) = $DEVICE ]
  echo 16M > /sys/block/$DEVICE/disksize
}
plug_in_again
echo kernel $(window $DEVICE)
$AHEAD device persist $DEVICE 512K --as udev --yes >/dev/null 2>&1
udevadm control --reload
plug_in_again
for try in $(seq 300); do [ $(window $DEVICE) = 512 ] && break; sleep 0.1; done
echo udev $(window $DEVICE)
$AHEAD device verify $DEVICE >/dev/null && echo holds
$AHEAD device revert $DEVICE >/dev/null 2>&1
udevadm control --reload
plug_in_again
udevadm settle
echo reverted $(window $DEVICE)
";
    let output = in_namespace(script, &device.name(), "");
    let expected = ["kernel 128", "udev 512", "holds", "reverted 128"];
    assert_eq!(lines(&output), expected, "{}", stderr(&output));
}
