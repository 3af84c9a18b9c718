//! The Debian package and the unit in it: installed into a folder, started from there, removed; held to what
//! systemd-analyze says of it, and the daemon to what the unit leaves it. Root.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use support::daemon_disk::Ground;
use support::daemon_process::{DaemonProcess, alone, requested_kib};
use support::read_file::ReadFile;
use support::{Place, library, stderr, stdout};

/// What may be said of the unit's exposure, in tenths: 3.0.
const EXPOSURE_TENTHS_MAX: &str = "30";

fn in_tree(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

fn unit() -> String {
    fs::read_to_string(in_tree("packaging/systemd/ahead.service")).expect("the unit")
}

/// The values of all lines of the unit that begin with `name`.
fn values(unit: &str, name: &str) -> Vec<String> {
    let begin = format!("{name}=");
    let found = unit.lines().filter_map(|line| line.strip_prefix(&begin));
    found.map(str::to_owned).collect()
}

fn dpkg(root: &Path, what: &[&str]) -> Output {
    let output = Command::new("dpkg")
        .arg(format!("--root={}", root.display()))
        // What it depends on is on this machine, not in the folder; its scripts run here and leave this machine alone.
        .args(["--force-depends", "--force-script-chrootless"])
        .arg("--log=/dev/null")
        .args(what)
        .output()
        .expect("dpkg");
    assert!(output.status.success(), "{}", stderr(&output));
    output
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all.extend(files_below(&path));
        }
        all.push(path);
    }
    all
}

#[test]
fn the_package_is_installed_started_and_removed() {
    let (_one, place) = (alone(), Place::new());
    let built = Command::new(in_tree("packaging/build-deb"))
        .arg(env!("CARGO_BIN_EXE_ahead"))
        .args([library().as_path(), place.path()])
        .output()
        .expect("the script");
    assert!(built.status.success(), "{}", stderr(&built));
    let package = stdout(&built);
    let package = package.trim();
    let field = Command::new("dpkg-deb")
        .args(["-f", package, "Depends"])
        .output();
    let depends = stdout(&field.expect("dpkg-deb"));
    for library in ["libc6 (>= ", "libelf1", "zlib1g", "libgcc-s1"] {
        assert!(depends.contains(library), "{depends}");
    }

    let root = place.path().join("root");
    for folder in ["var/lib/dpkg/updates", "var/lib/dpkg/info"] {
        fs::create_dir_all(root.join(folder)).expect("our folder");
    }
    fs::write(root.join("var/lib/dpkg/status"), "").expect("our file");
    dpkg(&root, &["--install", package]);
    for file in [
        "usr/bin/ahead",
        "usr/lib/ahead/libahead_preload.so",
        "usr/lib/systemd/system/ahead.service",
        "usr/lib/sysusers.d/ahead.conf",
        "usr/lib/tmpfiles.d/ahead.conf",
        "usr/share/man/man1/ahead-daemon.1.gz",
        "usr/share/doc/ahead/copyright",
        "usr/share/doc/ahead/grafana-dashboard.json",
        "etc/ahead/ahead.toml",
    ] {
        assert!(root.join(file).is_file(), "{file}");
    }

    // The library is found where the package has put it, and what the settings say is understood.
    let program = root.join("usr/bin/ahead");
    let read = Command::new(&program)
        .args(["run", "--report", "--", "cat", package])
        .env_remove("AHEAD_PRELOAD")
        .output()
        .expect("it starts");
    assert!(read.status.success(), "{}", stderr(&read));
    let settings = root.join("etc/ahead/ahead.toml");
    let mut daemon = Command::new(&program);
    daemon
        .args(["daemon", "--mode", "observe", "--config"])
        .arg(&settings);
    let daemon = DaemonProcess::of(daemon);
    assert!(daemon.line.contains("watching"), "{}", daemon.line);
    let status = Command::new(&program)
        .arg("status")
        .output()
        .expect("it starts");
    assert!(status.status.success(), "{}", stderr(&status));
    daemon.end();

    dpkg(&root, &["--remove", "ahead"]);
    assert!(settings.is_file(), "an administrator's file");
    dpkg(&root, &["--purge", "ahead"]);
    let mut left = files_below(&root);
    left.retain(|path| path.is_file() && !path.starts_with(root.join("var/lib/dpkg")));
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_unit_is_valid_and_its_exposure_small() {
    let place = Place::new();
    // Where it will be, there is no program on this machine.
    let text = unit().replace("/usr/bin/ahead", env!("CARGO_BIN_EXE_ahead"));
    let unit = place.file("ahead.service", text);
    let analyze = |words: &[&str]| {
        let output = Command::new("systemd-analyze")
            .args(words)
            .arg(&unit)
            .output();
        output.expect("systemd-analyze")
    };
    let verified = analyze(&["verify", "--man=no"]);
    assert!(verified.status.success(), "{}", stderr(&verified));
    assert_eq!(stderr(&verified), "", "no warning");
    let threshold = format!("--threshold={EXPOSURE_TENTHS_MAX}");
    let judged = analyze(&["security", "--offline=true", "--no-pager", &threshold]);
    assert!(judged.status.success(), "{}", stdout(&judged));
    // An empty unit is not: the threshold is one.
    let empty = place.file("empty.service", "[Service]\nExecStart=/bin/true\n");
    let exposed = Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--no-pager", &threshold])
        .arg(empty)
        .output();
    assert!(!exposed.expect("systemd-analyze").status.success());
}

/// Where it cannot work it was started every five seconds for ever, and wrote 16 MiB each time; and one that was refused, as a daemon
/// ran that was started by hand, took that one's socket with it.
#[test]
fn the_unit_does_not_try_without_end_and_leaves_the_socket_of_another() {
    let unit = unit();
    for (name, value) in [
        ("StartLimitIntervalSec", "300"),
        ("StartLimitBurst", "5"),
        // Of wrong settings.
        ("RestartPreventExitStatus", "2"),
        ("RuntimeDirectoryPreserve", "yes"),
    ] {
        assert_eq!(values(&unit, name), [value], "{name}");
    }
}

/// Every group of system calls that systemd knows, with what is in it.
fn call_groups() -> BTreeMap<String, Vec<String>> {
    let output = Command::new("systemd-analyze")
        .args(["syscall-filter", "--no-pager"])
        .output()
        .expect("systemd-analyze");
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut name = String::new();
    for line in stdout(&output).lines() {
        let word = line.trim();
        if line.starts_with('@') {
            word.clone_into(&mut name);
        } else if !word.is_empty() && !word.starts_with('#') {
            groups
                .entry(name.clone())
                .or_default()
                .push(word.to_owned());
        }
    }
    assert!(groups.contains_key("@system-service"));
    groups
}

fn calls_of(word: &str, groups: &BTreeMap<String, Vec<String>>) -> BTreeSet<String> {
    match groups.get(word) {
        Some(members) => members
            .iter()
            .flat_map(|one| calls_of(one, groups))
            .collect(),
        None => BTreeSet::from([word.to_owned()]),
    }
}

/// What the unit's filter lets through.
fn allowed_calls() -> BTreeSet<String> {
    let groups = call_groups();
    let mut allowed = calls_of("@default", &groups);
    for line in values(&unit(), "SystemCallFilter") {
        let refused = line.strip_prefix('~');
        for word in refused.unwrap_or(&line).split_whitespace() {
            let calls = calls_of(word, &groups);
            if refused.is_some() {
                allowed.retain(|call| !calls.contains(call));
            } else {
                allowed.extend(calls);
            }
        }
    }
    allowed
}

/// The daemon at work, at its start, asked, at its settings and at its end makes no call that the unit's filter refuses.
#[test]
fn the_daemon_needs_no_call_that_the_unit_refuses() {
    // Each call takes a daemon that is traced many times as long: on a fast disk its readers had often ended before it came to them.
    let ground = Ground::new("calls");
    let trace = ground.place.path().join("calls");
    let mut command = Command::new("strace");
    command
        .args(["-f", "-qq", "--signal=none", "-o"])
        .arg(&trace)
        .args(["-D", env!("CARGO_BIN_EXE_ahead"), "daemon"])
        .args(["--log", "changes", "--metrics", "127.0.0.1:0"]);
    let mut daemon = DaemonProcess::of(command);
    let line = daemon.next_line();
    let address = line.split('/').nth(2).expect("an address").to_owned();
    for pattern in ["backward", "mapped-backward", "mapped-random", "forward"] {
        ground.read(pattern);
    }
    let text = std::net::TcpStream::connect(address).and_then(|mut connection| {
        use std::io::{Read as _, Write as _};
        connection.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
        let mut text = String::new();
        connection.read_to_string(&mut text).map(|_| text)
    });
    assert!(text.expect("an answer").contains("ahead_facts_total"));
    let status = ground.place.output(&["status", "--json"]);
    assert!(status.status.success(), "{}", stderr(&status));
    daemon.signal("-HUP");
    while !daemon.next_line().contains("settings were read again") {}
    daemon.end();

    let allowed = allowed_calls();
    let text = fs::read_to_string(&trace).expect("a trace");
    let used: BTreeSet<_> = text
        .lines()
        .filter_map(|line| {
            let call = line.split_whitespace().nth(1)?;
            let (name, _) = call.split_once('(')?;
            // A strace that is older than the call has its number.
            Some(name.replace("syscall_0x1c3", "cachestat")).filter(|name| !name.is_empty())
        })
        .collect();
    for needed in ["bpf", "pidfd_getfd", "cachestat", "readahead"] {
        assert!(used.contains(needed), "it did not work: {used:?}");
    }
    let refused: Vec<_> = used.difference(&allowed).collect();
    assert!(refused.is_empty(), "{refused:?}");
}

/// With the capabilities that the unit leaves it, the daemon steers files of other users' processes.
#[test]
fn the_capabilities_of_the_unit_are_enough() {
    let (_one, place) = (alone(), Place::new());
    let file = ReadFile::new(32);
    let names = values(&unit(), "CapabilityBoundingSet").concat();
    let kept: Vec<_> = names
        .split_whitespace()
        .filter_map(|name| name.strip_prefix("CAP_"))
        .map(|name| format!(",+{}", name.to_lowercase()))
        .collect();
    let set = format!("-all{}", kept.concat());
    let mut command = Command::new("setpriv");
    command
        .args([
            "--no-new-privs",
            "--inh-caps",
            "-all",
            "--bounding-set",
            &set,
        ])
        .args([env!("CARGO_BIN_EXE_ahead"), "daemon", "--mode", "advise"]);
    let daemon = DaemonProcess::of(command);
    for pattern in ["backward", "mapped-backward"] {
        file.read(pattern, 65_533);
        let output = place.output(&["explain", &file.text(), "--json"]);
        let files: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        let known = &files[0];
        assert_eq!(known["path"], file.text(), "{known}");
        assert_eq!(known["name"], "reader", "{known}");
        let bytes = known["requested"].as_u64().expect("a number") * 4096;
        assert!(bytes > 8 << 20, "{pattern}: {known}");
        // Whether pages were there is told to who could own the file.
        for decision in known["history"].as_array().expect("decisions") {
            let what = decision["what"].as_str().expect("text");
            assert!(!what.contains("refused"), "{what}");
            // At the beginning of the file, which comes last, the reader may have ended by then.
            let may_have_ended = requested_kib(what).is_some_and(|(_, place)| place < 4096);
            assert!(!what.contains("not carried") || may_have_ended, "{what}");
        }
    }
    let status =
        fs::read_to_string(format!("/proc/{}/status", daemon.child.id())).expect("it runs");
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = u64::from_str_radix(effective.expect("a line").trim(), 16).expect("a number");
    assert_eq!(effective.count_ones() as usize, kept.len());
    daemon.end();
}
