//! `ahead device persist`, `verify` and `revert` on a small machine in a folder: asked, refused, interrupted.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use support::{Place, assert_refused, stderr, stdout};

/// A machine with udev and a disk `sda` of 128 KiB.
struct Machine {
    place: Place,
}

impl Machine {
    fn new() -> Self {
        let machine = Self {
            place: Place::new(),
        };
        machine.file("sys/class/block/sda/dev", "8:0\n");
        machine.file("sys/class/block/sda/size", "1000\n");
        machine.file("sys/class/block/sda/queue/read_ahead_kb", "128\n");
        machine.file("sys/class/block/sda/device/wwid", "naa.5000c500a1b2c3d4\n");
        machine.file("sys/class/bdi/8:0/min_ratio", "0\n");
        let window = machine
            .root()
            .join("sys/class/block/sda/queue/read_ahead_kb");
        let link = machine.root().join("sys/class/bdi/8:0/read_ahead_kb");
        symlink(window, link).expect("a link");
        machine.file("proc/self/mountinfo", "");
        machine.file("proc/sys/kernel/random/boot_id", "first\n");
        machine.file("usr/lib/udev/rules.d/60-block.rules", "");
        machine.file("etc/udev/rules.d/10-mine.rules", "# mine\n");
        machine
    }

    fn root(&self) -> PathBuf {
        self.place.path().join("machine")
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }

    fn window(&self) -> String {
        let file = self.root().join("sys/class/block/sda/queue/read_ahead_kb");
        fs::read_to_string(file)
            .expect("a window")
            .trim()
            .to_owned()
    }

    fn words(&self, words: &[&str]) -> Vec<String> {
        let root = self.root().display().to_string();
        let start = ["device", words[0], "--root", &root];
        let all = start.iter().chain(&words[1..]);
        all.map(|word| (*word).to_owned()).collect()
    }

    /// `ahead device WORDS`, on this machine.
    fn device(&self, words: &[&str]) -> Output {
        let words = self.words(words);
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let mut ahead = self.place.ahead(&words);
        ahead.stdin(Stdio::null()).output().expect("ahead starts")
    }

    /// Files below `/etc`, and what they say.
    fn etc(&self) -> BTreeMap<PathBuf, String> {
        let mut all = BTreeMap::new();
        let mut folders = vec![self.root().join("etc")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path.clone());
                }
                all.insert(path.clone(), fs::read_to_string(&path).unwrap_or_default());
            }
        }
        all
    }
}

#[test]
fn a_plan_is_shown_and_carried_out_only_when_that_was_said() {
    let machine = Machine::new();
    let before = machine.etc();
    let output = machine.device(&["persist", "sda", "512K"]);
    assert_refused(&output, 2, &["--yes", "nothing was written"]);
    let shown = stdout(&output);
    for part in [
        "known by device/wwid naa.5000c500a1b2c3d4",
        "--- /dev/null\n+++ b/etc/udev/rules.d/99-ahead-naa-5000c500a1b2c3d4-",
        "+ACTION==\"add|change\"",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
    assert_eq!(
        (machine.etc(), machine.window()),
        (before.clone(), "128".to_owned())
    );

    let output = machine.device(&["persist", "sda", "512K", "--yes"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).starts_with(&shown), "{}", stdout(&output));
    assert_eq!(machine.window(), "512");
    let output = machine.device(&["verify", "sda"]);
    assert!(
        output.status.success() && stdout(&output).contains("was not started again"),
        "{output:?}"
    );
    machine.file("sys/class/block/sda/queue/read_ahead_kb", "96\n");
    let output = machine.device(&["verify", "--json"]);
    assert_eq!(
        (output.status.code(), stderr(&output)),
        (Some(1), String::new())
    );
    let json: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(
        (&json[0]["holds"], &json[0]["now_kib"]),
        (&Value::Bool(false), &Value::from(96))
    );
    machine.file("sys/class/block/sda/queue/read_ahead_kb", "512\n");
    let output = machine.device(&["revert"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(
        (machine.etc(), machine.window()),
        (before, "128".to_owned())
    );
    assert_refused(&machine.device(&["revert", "sda"]), 1, &["sda", "persist"]);
    assert_refused(&machine.device(&["verify", "sda"]), 1, &["sda", "persist"]);
    let output = machine.device(&["verify"]);
    assert_eq!(
        (output.status.code(), stdout(&output).as_str()),
        (Some(0), "Nothing is persisted here.\n")
    );
}

/// `script` gives it a terminal.
#[test]
fn at_a_terminal_it_asks_and_only_yes_is_yes() {
    for (answer, is_yes) in [("y\n", true), ("n\n", false), ("\n", false), ("", false)] {
        let machine = Machine::new();
        let words = machine.words(&["persist", "sda", "512K"]);
        let command = format!("{} {}", env!("CARGO_BIN_EXE_ahead"), words.join(" "));
        let mut child = Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script");
        let mut input = child.stdin.take().expect("a pipe");
        std::io::Write::write_all(&mut input, answer.as_bytes()).expect("written");
        drop(input);
        let output = child.wait_with_output().expect("ended");
        let said = stdout(&output);
        assert!(said.contains("Write this? [y/N]"), "{said}");
        assert_eq!(output.status.success(), is_yes, "{answer:?}: {said}");
        assert_eq!(
            machine.window(),
            if is_yes { "512" } else { "128" },
            "{answer:?}"
        );
        assert_eq!(
            machine.etc().len(),
            if is_yes { 4 } else { 3 },
            "{answer:?}"
        );
    }
}

/// Whoever asked for JSON got a question in front of it, about a plan that was not shown; then nothing but a refusal.
#[test]
fn with_json_the_plan_is_printed_and_nothing_is_asked_or_written() {
    let machine = Machine::new();
    let before = machine.etc();
    let words = machine.words(&["persist", "sda", "512K", "--json"]);
    let command = format!("{} {}", env!("CARGO_BIN_EXE_ahead"), words.join(" "));
    let output = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .stdin(Stdio::null())
        .output()
        .expect("script");
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let planned: Value = serde_json::from_str(&said).expect("JSON alone");
    assert_eq!(planned["plan"]["kib"], 512);
    assert!(planned["plan"]["files"][0]["path"].is_string(), "{said}");
    assert_eq!(planned["change"], Value::Null);
    assert_eq!(planned["written"], false);
    assert_eq!(
        (machine.etc(), machine.window()),
        (before, "128".to_owned())
    );
    let output = machine.device(&["persist", "sda", "512K", "--json", "--yes"]);
    let json: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(json["change"]["now_kib"], 512);
    assert_eq!(json["written"], true);
    assert_eq!(json["plan"], planned["plan"], "it is what was carried out");
}

#[test]
fn what_cannot_be_persisted_is_refused_in_one_line() {
    let machine = Machine::new();
    let before = machine.etc();
    let persist = |words: &[&str], code: i32, says: &[&str]| {
        let words = [&["persist"], words, &["--yes"]].concat();
        let output = machine.device(&words);
        assert_refused(&output, code, says);
        assert_eq!(
            (machine.etc(), machine.window()),
            (before.clone(), "128".to_owned())
        );
    };
    persist(&["sda", "512"], 2, &["512K"]);
    persist(&["sda", "3K"], 2, &["page"]);
    persist(&["sdz", "512K"], 2, &["'sdz'"]);
    persist(&["sda", "512K", "--as", "nothing"], 2, &["nothing", "udev"]);
    persist(
        &["sda", "512K", "--as", "tuned"],
        1,
        &["tuned", "not installed"],
    );
    persist(&["sda", "512K", "--as", "nfs"], 1, &["nfs", "sda"]);
    let rule = "KERNEL==\"sda\", ATTR{queue/read_ahead_kb}=\"64\"\n";
    machine.file("etc/udev/rules.d/99-zz.rules", rule);
    let refused = machine.device(&["persist", "sda", "512K", "--yes"]);
    assert_refused(&refused, 1, &["/etc/udev/rules.d/99-zz.rules:1", "64 KiB"]);
    machine.file("var/lib/ahead/persisted.json", "{");
    for words in [
        &["persist", "sda", "512K", "--yes"][..],
        &["verify"],
        &["revert"],
    ] {
        assert_refused(
            &machine.device(words),
            1,
            &["/var/lib/ahead/persisted.json", "damaged"],
        );
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_one_line_and_nothing_changes() {
    let machine = Machine::new();
    let before = machine.etc();
    let script = "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" && shift && exec \"$@\" </dev/null";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh"])
        .arg(machine.root().join("etc"))
        .arg(env!("CARGO_BIN_EXE_ahead"))
        .args(machine.words(&["persist", "sda", "512K", "--yes"]))
        .output()
        .expect("unshare");
    assert_refused(&output, 1, &["/etc/udev/rules.d/99-ahead-", "Read-only"]);
    assert_eq!(
        (machine.etc(), machine.window()),
        (before, "128".to_owned())
    );
    assert!(!machine.root().join("var/lib/ahead/persisted.json").exists());
}

/// Killed at each of its calls that make something last: what is left can always be seen and taken back.
#[test]
fn killed_at_any_moment_it_can_be_reverted() {
    for call in ["rename", "fsync", "write"] {
        for nth in 1.. {
            let machine = Machine::new();
            let before = machine.etc();
            let inject = format!("inject={call}:signal=KILL:when={nth}");
            let output = Command::new("strace")
                .args([
                    "-f",
                    "-qq",
                    "-o",
                    "/dev/null",
                    "-e",
                    &format!("trace={call}"),
                    "-e",
                    &inject,
                ])
                .arg(env!("CARGO_BIN_EXE_ahead"))
                .args(machine.words(&["persist", "sda", "512K", "--yes"]))
                .stdin(Stdio::null())
                .output()
                .expect("strace");
            let says = format!("{call} {nth}: {}", stderr(&output));
            if output.status.success() {
                assert!(nth > 2, "{says}");
                break;
            }
            if machine.window().is_empty() {
                // The kernel's file cannot be empty: opening it cuts nothing off.
                machine.file("sys/class/block/sda/queue/read_ahead_kb", "128\n");
            }
            let recorded = machine.root().join("var/lib/ahead/persisted.json").exists();
            let verified = machine.device(&["verify"]);
            assert_eq!(
                verified.status.code() == Some(0),
                !recorded || machine.window() == "512",
                "{says}"
            );
            let reverted = machine.device(&["revert"]);
            assert!(reverted.status.success(), "{says}: {}", stderr(&reverted));
            assert_eq!(machine.etc(), before, "{says}");
            assert_eq!(machine.window(), "128", "{says}");
        }
    }
}

/// The note of a process that measured and was killed: any command of `ahead device` puts it back and says so.
#[test]
fn the_next_command_puts_back_what_a_killed_process_left() {
    for words in [
        &["list"][..],
        &["get", "sda"],
        &["verify"],
        &["set", "sda", "64K"],
    ] {
        let machine = Machine::new();
        machine.file("sys/class/block/sda/queue/read_ahead_kb", "512\n");
        let bdi = fs::metadata(machine.root().join("sys/class/bdi/8:0")).expect("a bdi");
        let journal = serde_json::json!({
            "version": 1,
            "boot": "first",
            "notes": [{
                "bdi": "8:0",
                "appearance": bdi.ino(),
                "before_kib": 128,
                "holder": { "pid": 1, "start_ticks": u64::MAX },
                "set_kib": [256, 512],
            }],
        });
        machine.file("run/ahead/device/windows.json", &journal.to_string());
        let output = machine.device(words);
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        assert!(
            stderr(&output).contains("8:0 is 128 KiB"),
            "{words:?}: {}",
            stderr(&output)
        );
        let window = if words[0] == "set" { "64" } else { "128" };
        assert_eq!(machine.window(), window, "{words:?}");
        let notes = Path::new("run/ahead/device/windows.json");
        assert_eq!(machine.root().join(notes).exists(), words[0] == "set");
    }
}
