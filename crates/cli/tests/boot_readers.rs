//! What is persisted is read by those that it is written for: Debian's systemd-tmpfiles and systemd, a shell as
//! `OpenWrt` has it. On a loop device of the test; udev has a test of its own.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::loop_device::{LoopDevice, image};
use support::{stderr, stdout};

/// A loop device, and a machine in a folder that sees it in the real `/sys`.
struct Machine {
    device: LoopDevice,
    folder: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let device = LoopDevice::over(&image(folder.path(), "it's a disk.img"));
        for (link, to) in [("sys", "/sys"), ("proc", "/proc")] {
            std::os::unix::fs::symlink(to, folder.path().join(link)).expect("a link");
        }
        for place in [
            "usr/bin/systemd-tmpfiles",
            "usr/lib/systemd/system/x.service",
            "etc/hotplug.d/block/10-x",
        ] {
            let place = folder.path().join(place);
            fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
            fs::write(place, "").expect("written");
        }
        device.set_window("64");
        Self { device, folder }
    }

    fn file(&self) -> PathBuf {
        PathBuf::from(format!(
            "/sys/block/{}/queue/read_ahead_kb",
            self.device.name
        ))
    }

    fn window(&self) -> String {
        fs::read_to_string(self.file())
            .expect("a window")
            .trim()
            .to_owned()
    }

    fn ahead(&self, words: &[&str]) {
        let output = Command::new(env!("CARGO_BIN_EXE_ahead"))
            .arg("device")
            .args(words)
            .arg("--root")
            .arg(self.folder.path())
            .output()
            .expect("ahead starts");
        assert!(output.status.success(), "{}", stderr(&output));
    }

    /// Persists 512 KiB and takes the window away again; the files that were written.
    fn persisted(&self, mechanism: &str) -> Vec<PathBuf> {
        self.ahead(&[
            "persist",
            &self.device.name,
            "512K",
            "--as",
            mechanism,
            "--yes",
        ]);
        assert_eq!(self.window(), "512");
        self.device.set_window("64");
        let found = Command::new("find")
            .arg(self.folder.path().join("etc"))
            .args(["-name", "*ahead*", "-type", "f"])
            .output()
            .expect("find");
        stdout(&found).lines().map(PathBuf::from).collect()
    }
}

fn run(command: &mut Command) -> String {
    let output = command.output().expect("a program of Debian");
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output)
}

#[test]
fn systemd_tmpfiles_sets_the_window() {
    let machine = Machine::new();
    let files = machine.persisted("tmpfiles");
    run(Command::new("systemd-tmpfiles")
        .arg("--create")
        .arg(&files[0]));
    assert_eq!(machine.window(), "512");
}

/// As `hotplug-call` does it: the script is read by a shell of its own, with the device in the environment.
#[test]
fn a_shell_runs_the_script_for_this_device_and_no_other() {
    let (machine, other) = (Machine::new(), Machine::new());
    let files = machine.persisted("hotplug");
    let call = |action: &str, device: &str| {
        run(Command::new("busybox")
            .args(["sh", "-c", "( . \"$0\" )"])
            .arg(&files[0])
            .env("ACTION", action)
            .env("DEVNAME", device))
    };
    call("add", &other.device.name);
    call("remove", &machine.device.name);
    assert_eq!(
        (machine.window(), other.window()),
        ("64".into(), "64".into())
    );
    call("add", &machine.device.name);
    assert_eq!(
        (machine.window(), other.window()),
        ("512".into(), "64".into())
    );
}

/// Nothing is to be said against it.
fn verify(unit: &Path) {
    let verified = Command::new("systemd-analyze")
        .args(["verify", "--man=no", "--recursive-errors=no"])
        .arg(unit)
        .output()
        .expect("systemd-analyze");
    assert_eq!(
        (verified.status.code(), stderr(&verified)),
        (Some(0), String::new())
    );
}

/// The name of a link has dashes in it, which the name of its unit has as `\x2d`: with one backslash, also where
/// another unit names it.
#[test]
fn systemd_waits_for_the_link_that_udev_made() {
    let machine = Machine::new();
    let number = format!("/sys/block/{}/dev", machine.device.name);
    let number = fs::read_to_string(number).expect("a number");
    let data = machine.folder.path().join("run/udev/data");
    fs::create_dir_all(&data).expect("a folder");
    let link = "disk/by-id/wwn-0x5000aaaa";
    let data = data.join(format!("b{}", number.trim()));
    fs::write(data, format!("S:{link}\n")).expect("written");
    let files = machine.persisted("systemd");
    verify(&files[0]);
    let node = format!("/dev/{link}");
    let device = run(Command::new("systemd-escape").args(["--path", "--suffix=device", &node]));
    let device = device.trim();
    assert_eq!(device, r"dev-disk-by\x2did-wwn\x2d0x5000aaaa.device");
    let unit = fs::read_to_string(&files[0]).expect("text");
    assert!(
        unit.contains(&format!("\nAfter={device}\nBindsTo={device}\n")),
        "{unit}"
    );
}

#[test]
fn systemd_understands_the_unit_and_its_command_sets_the_window() {
    let machine = Machine::new();
    let files = machine.persisted("systemd");
    verify(&files[0]);
    let unit = fs::read_to_string(&files[0]).expect("text");
    let command = unit
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="));
    run(Command::new("sh")
        .arg("-c")
        .arg(command.expect("a command")));
    assert_eq!(machine.window(), "512");
    // The unit that pulls it in is called as systemd calls that of the device.
    let node = format!("/dev/{}", machine.device.name);
    let escaped = run(Command::new("systemd-escape").args(["--path", "--suffix=device", &node]));
    let wants = format!("etc/systemd/system/{}.wants", escaped.trim());
    let link = machine
        .folder
        .path()
        .join(wants)
        .join(files[0].file_name().expect("a name"));
    let leads = fs::read_link(link).expect("a link");
    assert_eq!(
        Path::new("/etc/systemd/system").join(files[0].file_name().expect("a name")),
        leads
    );
}
