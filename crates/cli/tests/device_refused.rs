//! `ahead device` where the machine does not let it: a `/sys` that is read-only, as in containers, a user who is not
//! root, and a folder that this user may not enter. One line says so, and nothing is changed. Needs root, to be another
//! user and to mount.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use support::{Place, assert_refused, copy_program, stderr};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ahead");

/// A machine with one disk, whose window is 128 KiB.
fn machine(place: &Place) -> String {
    let root = place.path().join("machine");
    let queue = root.join("sys/class/block/sda/queue");
    let mounts = root.join("proc/self");
    for folder in [&queue, &mounts] {
        fs::create_dir_all(folder).expect("our folder");
    }
    fs::write(queue.join("read_ahead_kb"), "128\n").expect("our folder");
    fs::write(queue.join("../dev"), "8:0\n").expect("our folder");
    fs::write(mounts.join("mountinfo"), "").expect("our folder");
    root.display().to_string()
}

fn window(root: &str) -> String {
    let file = Path::new(root).join("sys/class/block/sda/queue/read_ahead_kb");
    fs::read_to_string(file).expect("a window")
}

#[test]
fn a_read_only_sys_is_said_and_nothing_is_noted() {
    let place = Place::new();
    let root = machine(&place);
    let script = "mount --bind \"$ROOT/sys\" \"$ROOT/sys\" && mount -o remount,ro,bind \"$ROOT/sys\" \
                  && exec \"$PROGRAM\" device set --root \"$ROOT\" sda 256K";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .envs([("ROOT", root.as_str()), ("PROGRAM", PROGRAM)])
        .output()
        .expect("unshare starts");
    assert_refused(
        &output,
        1,
        &["sda", "read-only", "in a container", "on the host"],
    );
    assert_eq!(window(&root), "128\n");
    assert!(!Path::new(&root).join("run").exists(), "nothing is noted");
}

/// The program as somebody who may do nothing.
fn as_nobody(place: &Place, arguments: &[&str]) -> Output {
    let program = place.path().join("ahead");
    if !program.exists() {
        copy_program(&program);
    }
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(place.path(), open).expect("our folder");
    Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(program)
        .args(arguments)
        .env("HOME", "/nonexistent")
        .env_remove("XDG_CACHE_HOME")
        .output()
        .expect("setpriv starts")
}

#[test]
fn who_is_not_root_is_told_so_and_the_window_stays() {
    let place = Place::new();
    let root = machine(&place);
    let set = as_nobody(&place, &["device", "set", "--root", &root, "sda", "256K"]);
    assert_refused(&set, 1, &["sda", "Permission denied", "needs root"]);
    assert_eq!(window(&root), "128\n");
}

/// The folder of the record is root's: "not a folder that only we can write to" did not say what to do.
#[test]
fn who_is_not_root_is_told_so_before_anything_is_persisted() {
    for is_there in [true, false] {
        let place = Place::new();
        let root = machine(&place);
        let here = Path::new(&root);
        fs::create_dir_all(here.join("etc/udev/rules.d")).expect("our folder");
        if is_there {
            fs::create_dir_all(here.join("var/lib/ahead")).expect("our folder");
        }
        let words = ["device", "persist", "--root", &root, "sda", "256K", "--yes"];
        let persist = as_nobody(&place, &words);
        assert_refused(&persist, 1, &["/var/lib/ahead", "needs root"]);
        assert_eq!(window(&root), "128\n");
    }
}

#[test]
fn a_folder_that_may_not_be_entered_is_one_line() {
    let place = Place::new();
    let closed = place.path().join("closed");
    let inside = closed.join("inside");
    fs::create_dir_all(&inside).expect("our folder");
    let shut = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(&closed, shut).expect("our folder");
    let inside = inside.to_str().expect("text");
    for (words, code) in [
        (&["device", "get", inside][..], 1),
        (&["device", "set", inside, "256K"], 1),
        (&["device", "measure", inside], 1),
        // Of the doctor, 1 says that something was found.
        (&["doctor", inside], 2),
    ] {
        let output = as_nobody(&place, words);
        assert_refused(&output, code, &["inside", "Permission denied"]);
        assert_eq!(stderr(&output).lines().count(), 1, "{words:?}");
    }
}
