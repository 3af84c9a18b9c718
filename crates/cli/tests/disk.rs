//! `ahead disk` from outside: a disk's life, and bad input. Needs root, as emulated disks do; what
//! the disk itself promises is tested in its own crate.

mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use support::{Place, assert_refused, copy_program, stderr, stdout};

/// A name that no other test run uses.
fn name(what: &str) -> String {
    format!("test-{what}-{}", std::process::id())
}

fn create(place: &Place, options: &[&str]) -> Output {
    place.output(&[&["disk", "create"], options].concat())
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_str(&stdout(output)).expect("JSON")
}

/// The program where every user can execute it.
fn program_for_everybody(place: &Place) -> PathBuf {
    let program = place.path().join("ahead");
    copy_program(&program);
    let open = PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path(), open).expect("our folder");
    program
}

/// A disk that goes also when its test fails.
struct Guard<'a>(&'a Place, &'a str);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let _ = self.0.output(&["disk", "destroy", self.1]);
    }
}

#[test]
fn a_disk_is_created_listed_counted_and_destroyed() {
    let place = Place::new();
    // With a long path the list was broken in the middle of it.
    let mount = place
        .path()
        .join("a mount point with a long name, of a disk of a test");
    let name = name("life");
    let mount = mount.to_str().expect("text");
    let options = [
        "--model", "ssd", "--size", "64M", "--scale", "4", "--mount", mount, "--json",
    ];
    let info = json(&create(&place, &[&[name.as_str()][..], &options].concat()));
    let _guard = Guard(&place, &name);
    assert_eq!(info["size_bytes"], 64 << 20);
    std::fs::write(format!("{mount}/file"), "content").expect("a file system");

    let list = json(&place.output(&["disk", "list", "--json"]));
    let listed = list.as_array().expect("a list");
    assert!(
        listed.iter().any(|disk| disk["name"] == name.as_str()),
        "{list}"
    );
    assert!(stdout(&place.output(&["disk", "list"])).contains(mount));

    let stats = json(&place.output(&["disk", "stats", &name, "--json", "--reset"]));
    assert!(
        stats["reads"].as_u64().is_some_and(|reads| reads > 0),
        "{stats}"
    );
    let table = stdout(&place.output(&["disk", "stats", &name]));
    assert!(table.contains("bytes read more than once"), "{table}");

    let again = create(&place, &[&[name.as_str()][..], &options].concat());
    assert_refused(&again, 1, &[&name, "destroy it first"]);

    let output = place.output(&["disk", "destroy", &name]);
    assert!(output.status.success(), "{}", stderr(&output));
    let mounts = std::fs::read_to_string("/proc/self/mounts").expect("mounts");
    assert!(!mounts.contains(mount), "{mounts}");
}

#[test]
fn words_that_make_no_disk_are_wrong_usage() {
    let place = Place::new();
    let mount = place.path().join("m");
    let mount = mount.to_str().expect("text");
    let with = |model: &str, size: &str, rest: &[&str]| {
        let first = ["x", "--model", model, "--size", size, "--mount", mount];
        create(&place, &[&first, rest].concat())
    };
    assert_refused(
        &with("floppy", "1G", &[]),
        2,
        &["floppy", "hdd, ssd, cloud"],
    );
    assert_refused(&with("/no/such.toml", "1G", &[]), 2, &["/no/such.toml"]);
    assert_refused(&with("hdd", "much", &[]), 2, &["--size", "'much'", "4G"]);
    assert_refused(
        &with("hdd", "1G", &["--scale", "fast"]),
        2,
        &["--scale", "fast"],
    );
    assert_refused(&with("ssd", "1G", &["--order", "fifo"]), 2, &["--order"]);
    let broken = place.file("broken.toml", "kind = 'arm'\n");
    let broken = broken.to_str().expect("text");
    assert_refused(&with(broken, "1G", &[]), 2, &[broken]);
}

#[test]
fn a_disk_that_cannot_be_is_refused_with_the_reason() {
    let place = Place::new();
    let name = name("refused");
    let with = |size: &str, mount: &str| {
        create(
            &place,
            &[&name, "--model", "hdd", "--size", size, "--mount", mount],
        )
    };
    assert_refused(
        &with("64M", "/proc/no-mount-here"),
        1,
        &["/proc/no-mount-here"],
    );
    assert_refused(&with("64M", "/etc/passwd"), 1, &["/etc/passwd", "folder"]);
    assert_refused(&with("64M", "/etc"), 1, &["/etc", "not empty"]);
    assert_refused(&with("4K", "/tmp/never"), 1, &["too small"]);
    assert_refused(&with("900T", "/tmp/never"), 1, &["memory"]);
    let bad_name = create(
        &place,
        &[
            "../x",
            "--model",
            "hdd",
            "--size",
            "1G",
            "--mount",
            "/tmp/never",
        ],
    );
    assert_refused(&bad_name, 1, &["../x", "name"]);
    assert_refused(
        &place.output(&["disk", "stats", &name]),
        1,
        &[&name, "list"],
    );
    assert_refused(
        &place.output(&["disk", "destroy", &name]),
        1,
        &[&name, "list"],
    );
}

#[test]
fn without_root_there_are_no_disks() {
    let place = Place::new();
    let program = program_for_everybody(&place);
    let as_nobody = |arguments: &[&str]| {
        Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&program)
            .args(arguments)
            .output()
            .expect("setpriv of util-linux is there")
    };
    assert_refused(&as_nobody(&["disk", "list"]), 1, &["need root"]);
    let create = [
        "disk",
        "create",
        "x",
        "--model",
        "hdd",
        "--size",
        "64M",
        "--mount",
        "/tmp/never",
    ];
    assert_refused(&as_nobody(&create), 1, &["need root"]);
}

/// A /dev without `fuse`, in a mount namespace that ends with the process.
#[test]
fn a_kernel_without_fuse_is_named() {
    let place = Place::new();
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c"])
        .arg("mount -t tmpfs none /dev && exec \"$@\"")
        .args([
            "sh",
            env!("CARGO_BIN_EXE_ahead"),
            "disk",
            "create",
            &name("nofuse"),
        ])
        .args(["--model", "hdd", "--size", "64M", "--mount"])
        .arg(place.path().join("mount"))
        .output()
        .expect("unshare of util-linux is there");
    assert_refused(&output, 1, &["/dev/fuse", "modprobe fuse"]);
}
