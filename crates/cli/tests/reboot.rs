//! What is persisted holds over a boot: of Debian's stock kernel, with Debian's udev, in an emulated machine.
//!
//! The machine has a disk with a serial number of its own, on which `/etc/udev` and `/var/lib/ahead` stay. It
//! starts three times: it persists, verifies and reverts, and finds the kernel's own window again. The kernel is
//! unpacked by `make deps`; the emulator needs no rights and no virtualisation.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use support::{stderr, stdout};

/// Where `make deps` puts the kernel.
const KERNEL: &str = "/usr/local/share/ahead/stock-kernel";

/// Longer than three starts take on a busy machine (12 s on an idle one), in seconds.
const SECONDS_MAX: &str = "300";

/// The first process of the machine. `start` on the disk counts the starts.
const INIT: &str = r#"#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tmpfs none /run
insmod /virtio_blk.ko
mount -t ext4 /dev/vda /disk
mkdir -p /disk/udev/rules.d /disk/ahead /etc/udev /var/lib/ahead
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

fn run(command: &mut Command) -> String {
    let output = command.output().expect("a program of `make deps`");
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output)
}

/// The libraries of a program, as the loader finds them here.
fn libraries(program: &Path) -> Vec<String> {
    let text = run(Command::new("ldd").arg(program));
    let words = text.split_whitespace();
    let paths = words.filter(|word| word.starts_with('/') && Path::new(word).exists());
    paths.map(str::to_owned).collect()
}

/// The files of the machine: busybox, udev with the rules that come with it, and the program without its symbols.
fn root(folder: &Path) {
    let copy = |from: &Path, to: &str| {
        let to = folder.join(to.trim_start_matches('/'));
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        fs::copy(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    };
    let udev = Path::new("/bin/udevadm");
    let program = Path::new(env!("CARGO_BIN_EXE_ahead"));
    let ours = folder.join("bin/ahead");
    for library in libraries(udev).iter().chain(&libraries(program)) {
        copy(Path::new(library), library);
    }
    copy(Path::new("/bin/busybox"), "bin/busybox");
    copy(udev, "bin/udevadm");
    copy(udev, "usr/lib/systemd/systemd-udevd");
    let rules = Path::new("/usr/lib/udev/rules.d");
    for rule in fs::read_dir(rules).expect("udev").flatten() {
        let path = rule.path();
        copy(&path, path.to_str().expect("text"));
    }
    run(Command::new("strip").arg("-o").arg(ours).arg(program));
    copy(&Path::new(KERNEL).join("virtio_blk.ko"), "virtio_blk.ko");
    for name in ["proc", "sys", "dev", "run", "disk", "etc", "var/lib", "tmp"] {
        fs::create_dir_all(folder.join(name)).expect("a folder");
    }
    let init = folder.join("init");
    fs::write(&init, INIT).expect("written");
    run(Command::new("chmod").arg("755").arg(init));
}

#[test]
fn what_is_persisted_holds_over_a_boot_and_what_is_reverted_does_not() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("root");
    root(&folder);
    let pack = "cd \"$1\" && find . | cpio --quiet -o -H newc > \"$2\"";
    let image = place.path().join("initrd");
    run(Command::new("sh")
        .args(["-c", pack, "sh"])
        .arg(&folder)
        .arg(&image));
    let disk = place.path().join("disk.img");
    let file = fs::File::create(&disk).expect("a file");
    file.set_len(64 << 20).expect("a disk with space");
    run(Command::new("mkfs.ext4").arg("-q").arg(&disk));
    let output = Command::new("timeout")
        .args([SECONDS_MAX, "qemu-system-x86_64"])
        .args([
            "-accel",
            "tcg",
            "-m",
            "1024",
            "-nographic",
            "-no-user-config",
            "-nic",
            "none",
        ])
        .arg("-kernel")
        .arg(Path::new(KERNEL).join("vmlinuz"))
        .arg("-initrd")
        .arg(&image)
        .args(["-append", "console=ttyS0 quiet panic=-1"])
        .args([
            "-drive",
            &format!("file={},if=none,format=raw,id=disk", disk.display()),
        ])
        .args(["-device", "virtio-blk-pci,drive=disk,serial=AHEAD-42"])
        .stdin(Stdio::null())
        .output()
        .expect("qemu-system-x86_64 (`make deps`)");
    let all = stdout(&output);
    let said: Vec<_> = all
        .lines()
        .filter_map(|line| Some(line[line.find("TEST ")? + 5..].trim_end()))
        .collect();
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
    assert_eq!(said, expected, "{all}\n{}", stderr(&output));
    assert!(
        all.contains("by /etc/udev/rules.d/99-ahead-AHEAD-42-"),
        "{all}"
    );
    assert!(
        all.contains(": holds\n") || all.contains(": holds\r\n"),
        "{all}"
    );
}
