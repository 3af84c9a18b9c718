//! Debian's own udev reads what is persisted: in namespaces of its own, on a loop device of the test, with the running
//! kernel. Windows, devices and folders of the machine are afterwards what they were.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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

/// A loop device over a file.
struct Loop {
    name: String,
    before: String,
}

impl Loop {
    fn over(file: &Path) -> Self {
        let output = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(file)
            .output()
            .expect("losetup");
        assert!(output.status.success(), "{}", stderr(&output));
        let node = stdout(&output).trim().to_owned();
        let name = node.strip_prefix("/dev/").expect("a node").to_owned();
        let before = fs::read_to_string(window(&name)).expect("a window");
        Self { name, before }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = fs::write(window(&self.name), self.before.trim());
        let node = format!("/dev/{}", self.name);
        let _ = Command::new("losetup").args(["--detach", &node]).status();
    }
}

fn window(name: &str) -> PathBuf {
    PathBuf::from(format!("/sys/block/{name}/queue/read_ahead_kb"))
}

fn image(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    let file = fs::File::create(&path).expect("a file");
    file.set_len(16 << 20).expect("a disk with space");
    path
}

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
    let device = Loop::over(&image(folder.path(), "disk.img"));
    fs::write(window(&device.name), "128").expect("root");
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
        let (first, second) = (Loop::over(&file), Loop::over(&file));
        let neighbour = Loop::over(&image(folder.path(), "star xx.img"));
        for one in [&first, &second, &neighbour] {
            fs::write(window(&one.name), "128").expect("root");
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
