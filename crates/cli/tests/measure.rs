//! `ahead device measure` on emulated disks and on files of them: what it reads, what it leaves, what it
//! keeps. Needs root, as emulated disks do. Counts and settings are compared, and no times: those are
//! compared in virtual time, in `measure_models`.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::loop_device::{LoopDevice, image};
use support::{Place, assert_refused, copy_program, library, stderr, stdout};

/// An emulated disk, so many times faster than real, that goes also when its test fails.
struct EmulatedDisk<'a> {
    place: &'a Place,
    name: String,
    device: String,
    server: u64,
}

impl<'a> EmulatedDisk<'a> {
    fn new(place: &'a Place, what: &str, scale: &str) -> Self {
        let name = format!("test-measure-{what}-{}", std::process::id());
        let mount = place.path().join("mount");
        let output = place.output(&[
            "disk",
            "create",
            &name,
            "--model",
            "ssd",
            "--size",
            "256M",
            "--scale",
            scale,
            "--mount",
            mount.to_str().expect("text"),
            "--json",
        ]);
        assert!(output.status.success(), "{}", stderr(&output));
        let info: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        Self {
            place,
            device: info["device"].as_str().expect("a device").to_owned(),
            server: info["server_pid"].as_u64().expect("a process"),
            name,
        }
    }

    /// A full file on it, that every user can read. The counters of this disk are ours alone: others use that of
    /// the machine.
    fn file(&self, mib: usize) -> String {
        let path = self.place.path().join("mount/data");
        fs::write(&path, vec![7; mib << 20]).expect("a disk with space");
        let file = fs::File::open(&path).expect("it");
        file.sync_all().expect("a disk");
        path.display().to_string()
    }

    fn stats(&self) -> Value {
        let output = self
            .place
            .output(&["disk", "stats", &self.name, "--json", "--reset"]);
        serde_json::from_str(&stdout(&output)).expect("JSON")
    }

    fn window_kib(&self) -> u64 {
        let name = self.device.trim_start_matches("/dev/");
        let path = format!("/sys/block/{name}/queue/read_ahead_kb");
        let text = fs::read_to_string(path).expect("a window");
        text.trim().parse().expect("a number")
    }
}

impl Drop for EmulatedDisk<'_> {
    fn drop(&mut self) {
        let _ = self.place.output(&["disk", "destroy", &self.name]);
    }
}

/// The program, with a cache and a memory of its own.
fn ahead(place: &Place, arguments: &[&str]) -> Command {
    let memory = place.path().join("memory");
    fs::create_dir_all(&memory).expect("a folder");
    let mut ahead = place.ahead(arguments);
    ahead
        .env("XDG_RUNTIME_DIR", memory)
        .env("XDG_CACHE_HOME", place.path().join("cache"))
        .env("AHEAD_PRELOAD", library())
        .env_remove("AHEAD_GROUP")
        .env_remove("AHEAD_DEVICES");
    ahead
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("a file")).expect("JSON")
}

fn sum(steps: &Value, what: &str) -> u64 {
    let steps = steps.as_array().expect("steps");
    steps.iter().filter_map(|step| step[what].as_u64()).sum()
}

#[test]
fn every_byte_that_is_said_was_read_and_nothing_else_happens_to_the_disk() {
    let place = Place::new();
    let disk = EmulatedDisk::new(&place, "bytes", "4");
    let before = disk.window_kib();
    let path = |name: &str| place.path().join(name).display().to_string();
    let (result, picture, jobs) = (path("m.json"), path("m.svg"), path("jobs"));
    disk.stats();
    let output = ahead(
        &place,
        &[
            "device",
            "measure",
            &disk.device,
            "--time",
            "4s",
            "--bytes",
            "256M",
            "--no-store",
            "--no-ladder",
            "--json",
            &result,
            "--svg",
            &picture,
            "--fio",
            &jobs,
        ],
    )
    .output()
    .expect("ahead starts");
    assert!(output.status.success(), "{}", stderr(&output));
    let stats = disk.stats();
    let measured = json(Path::new(&result));
    let steps = &measured["steps"];
    let bytes = sum(steps, "bytes");
    assert!(bytes <= 256 << 20, "{bytes}");
    // The file system that is mounted there reads a page now and then.
    let read = stats["read_bytes"].as_u64().expect("a number");
    let ours = bytes..bytes + (1 << 20);
    assert!(
        ours.contains(&read),
        "past the cache, each once: {read} for {bytes}"
    );
    assert_eq!(stats["writes"], 0);
    assert_eq!(disk.window_kib(), before);
    let most = stats["in_flight_max"].as_u64().expect("a number");
    // How many of 64 are there together depends on who runs meanwhile.
    assert!(most >= 8, "many requests at once reach the disk: {most}");

    let count = steps.as_array().expect("steps").len();
    let files = fs::read_dir(&jobs).expect("a folder").count();
    // The step of 4 KiB stands in two ladders, with one name.
    assert_eq!(files + 1, count);
    assert!(
        fs::read_to_string(&picture)
            .expect("a picture")
            .contains("utilisation")
    );
    let said = stdout(&output);
    for part in [
        "access time",
        "inner zone",
        "served at once",
        "utilisation",
        "left out",
    ] {
        assert!(said.contains(part), "'{part}' in: {said}");
    }
    assert!(!place.path().join("cache").exists(), "nothing was stored");
}

/// A file is measured, and a run that reads it begins with the estimate.
#[test]
fn a_run_begins_with_what_was_measured() {
    let place = Place::new();
    let disk = EmulatedDisk::new(&place, "run", "0.1");
    let data = disk.file(64);
    let data = data.as_str();
    let script = "\
import os, random, sys
f = os.open(sys.argv[1], os.O_RDONLY)
places = list(range(0, 16384, 80))
random.Random(1).shuffle(places)
for at in places:
    os.posix_fadvise(f, 0, 0, os.POSIX_FADV_DONTNEED)
    os.pread(f, 4096, at * 4096)
";
    let run = || {
        let run = ["run", "--json", "--", "python3", "-c", script, data];
        let output = ahead(&place, &run).output().expect("ahead starts");
        let report: Value = serde_json::from_str(&stderr(&output)).expect("a report");
        // The interpreter may have waited for its own files, on another disk.
        let devices = report["devices"].as_array().cloned().unwrap_or_default();
        let first = devices.iter().map(|one| one["access_ns_first"].clone());
        first.collect::<Vec<_>>()
    };
    // So that something is in memory already, and counts no longer.
    run();
    let result = place.path().join("m.json");
    // By a path that is right in its folder only.
    let folder = Path::new(data).parent().expect("a folder");
    let arguments = [
        "device",
        "measure",
        "data",
        "--time",
        "4s",
        "--no-ladder",
        "--json",
        result.to_str().expect("text"),
    ];
    // Others may use the processors: figures whose parts differ wildly are not stored, rightly.
    let stored = (0..10).any(|_| {
        let mut measure = ahead(&place, &arguments);
        let output = measure.current_dir(folder).output().expect("ahead starts");
        stdout(&output).contains("Stored in")
    });
    assert!(stored, "ten times something was in the way");
    let target = &json(&result)["target"];
    assert_eq!(
        (&target["name"], &target["path"]),
        (&"data".into(), &data.into())
    );
    let measured = json(&result)["figures"]["access_ns"]["value"].clone();
    let believed = run();
    assert!(believed.contains(&measured), "{measured} in {believed:?}");

    // What is kept is ours: where it is damaged, nobody has typed anything wrong.
    let kept = place.path().join("cache/ahead/measurements");
    let kept = fs::read_dir(kept).expect("our folder").next();
    fs::write(kept.expect("a file").expect("it").path(), "{").expect("ours");
    let recommend = ahead(&place, &["device", "recommend", data]).output();
    let parts = ["data", "measurements", "measure again"];
    assert_refused(&recommend.expect("ahead starts"), 1, &parts);
}

/// Waits until the ladder has changed the window, ends the program so, and waits for the window to be back.
fn interrupted(signal: &str) {
    let place = Place::new();
    let disk = EmulatedDisk::new(&place, signal, "4");
    let before = disk.window_kib();
    let arguments = [
        "device",
        "measure",
        &disk.device,
        "--time",
        "16s",
        "--no-store",
    ];
    let mut child = ahead(&place, &arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("ahead starts");
    let until = Instant::now() + Duration::from_secs(60);
    let wait_for = |what: &str, is_so: &dyn Fn() -> bool| {
        while !is_so() {
            assert!(Instant::now() < until, "{signal}: {what}");
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    wait_for("the ladder begins", &|| disk.window_kib() != before);
    let sent = Command::new("kill")
        .args([format!("-{signal}"), child.id().to_string()])
        .status();
    assert!(sent.expect("kill starts").success());
    assert!(!child.wait().expect("its status").success());
    wait_for("the window is back", &|| disk.window_kib() == before);
    // Whoever puts the window back takes its note out of the journal after that.
    let block = format!("/sys/block/{}/dev", disk.device.trim_start_matches("/dev/"));
    let number = fs::read_to_string(block).expect("its number");
    // Notes of the same loop device with another file are dropped by who opens the journal next.
    let is_held = || {
        let text = fs::read_to_string("/run/ahead/device/windows.json").unwrap_or_default();
        let journal: Value = serde_json::from_str(&text).unwrap_or_default();
        let mut notes = journal["notes"].as_array().into_iter().flatten();
        notes.any(|note| note["bdi"] == number.trim() && !note["holder"].is_null())
    };
    wait_for("its note is gone", &|| !is_held());
    // Nothing is left to undo.
    let undo = place.output(&["device", "undo", &disk.device]);
    assert_refused(&undo, 1, &["no change"]);
}

/// The disk's server is killed under the ladder, so that every further read of the disk fails.
#[test]
fn a_device_that_vanishes_in_the_ladder_is_one_line_and_a_failure() {
    let place = Place::new();
    let disk = EmulatedDisk::new(&place, "vanishes", "4");
    let before = disk.window_kib();
    let child = ahead(
        &place,
        &["device", "measure", &disk.device, "--time", "16s"],
    )
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .expect("ahead starts");
    let until = Instant::now() + Duration::from_secs(60);
    while disk.window_kib() == before {
        assert!(Instant::now() < until, "the ladder begins");
        std::thread::sleep(Duration::from_millis(2));
    }
    let killed = Command::new("kill")
        .args(["-KILL", &disk.server.to_string()])
        .status();
    assert!(killed.expect("kill starts").success());
    let output = child.wait_with_output().expect("its end");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    for part in [
        "ended early",
        "ladder of windows",
        "is the device still there?",
    ] {
        assert!(said.contains(part), "'{part}' in: {said}");
    }
    let shown = stdout(&output);
    assert!(shown.contains("Not stored"), "{shown}");
    assert!(
        !place.path().join("cache/ahead").exists(),
        "nothing is kept"
    );
    assert_eq!(disk.window_kib(), before);
}

#[test]
fn the_window_is_back_after_ctrl_c_in_the_ladder() {
    interrupted("INT");
}

#[test]
fn the_window_is_back_after_a_kill_in_the_ladder() {
    interrupted("KILL");
}

#[test]
fn what_cannot_be_measured_is_one_line_and_nothing_is_made() {
    let place = Place::new();
    let measure = |arguments: &[&str]| {
        let all = [&["device", "measure"], arguments].concat();
        ahead(&place, &all).output().expect("ahead starts")
    };
    let result = place.path().join("m.json");
    let result = result.to_str().expect("text");
    for (target, code, parts) in [
        ("/dev/null", 2, &["/dev/null", "neither"][..]),
        ("/", 2, &["neither"]),
        ("/no/such", 2, &["/no/such"]),
        ("no-such-device", 2, &["no-such-device", "device list"]),
        ("/proc/version", 1, &["O_DIRECT"]),
    ] {
        let output = measure(&[target, "--json", result]);
        assert_refused(&output, code, parts);
    }
    let small = place.file("small", "x");
    let small = small.to_str().expect("text");
    assert_refused(&measure(&[small]), 1, &["small"]);
    for (option, value) in [
        ("--time", "60"),
        ("--time", "1s"),
        ("--time", "60s "),
        ("--time", "-5s"),
        ("--bytes", "128k "),
        ("--bytes", "4K"),
        ("--bytes", "much"),
    ] {
        let said = format!("{option}={value}");
        assert_refused(&measure(&[small, &said]), 2, &[option, value]);
    }
    assert!(!PathBuf::from(result).exists());
}

/// The page cache below a loop device gave its file at the speed of memory, and that was stored as the disk's.
#[test]
fn what_lies_in_memory_is_not_measured_as_a_disk() {
    let place = Place::new();
    // On the disk of the build: the folder of the place can be memory itself.
    let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let image = image(disk.path(), "cached.img");
    fs::write(&image, vec![7; 64 << 20]).expect("a disk with space");
    let cached = LoopDevice::over(&image);
    let measure = |target: &str| {
        let words = ["device", "measure", target, "--time", "2s", "--no-store"];
        ahead(&place, &words).output().expect("ahead starts")
    };
    let parts = ["memory", "loop/dio", "--direct-io=on"];
    assert_refused(&measure(&format!("/dev/{}", cached.name)), 1, &parts);
    let memory = place.path().join("tmpfs");
    fs::create_dir(&memory).expect("our folder");
    let script = "mount -t tmpfs none \"$1\" && head -c 64M /dev/urandom >\"$1/data\" && \
                  exec \"$2\" device measure \"$1/data\" --time 2s --no-store";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh"])
        .arg(&memory)
        .arg(env!("CARGO_BIN_EXE_ahead"))
        .output()
        .expect("unshare");
    assert_refused(&output, 1, &["data", "tmpfs", "memory"]);
}

/// An unprivileged user: no ladder, and it is said.
#[test]
fn without_root_a_file_is_measured_and_the_ladder_left_out() {
    let place = Place::new();
    let disk = EmulatedDisk::new(&place, "user", "4");
    let data = disk.file(32);
    let open = || std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(place.path(), open()).expect("our folder");
    let program = place.path().join("ahead");
    copy_program(&program);
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args(["device", "measure", &data, "--time", "20s"])
        .args(["--bytes", "128M"])
        .env("HOME", "/nonexistent")
        .env_remove("XDG_CACHE_HOME")
        .output()
        .expect("setpriv starts");
    let said = stdout(&output);
    assert!(
        said.contains("setting windows needs root"),
        "{said}{}",
        stderr(&output)
    );
    assert!(said.contains("Not stored for `ahead run`"), "{said}");
}

/// A program called fio that answers as it does, and none at all. Behind JSON nothing may follow.
#[test]
fn fio_is_asked_where_it_is_and_its_absence_is_one_line() {
    let place = Place::new();
    let disk = EmulatedDisk::new(&place, "fio", "4");
    let folder = tempfile::tempdir().expect("a folder");
    let fio = folder.path().join("fio");
    let script = "#!/bin/sh\n\
        test -r \"$3\" || exit 1\n\
        echo '{\"jobs\": [{\"read\": {\"total_ios\": 4321, \"runtime\": 1000,\n\
        \"clat_ns\": {\"percentile\": {\"50.000000\": 231000}}}}]}'\n";
    fs::write(&fio, script).expect("a program");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&fio, executable).expect("our file");
    let measure = |path: &str| {
        let arguments = [
            "device",
            "measure",
            &disk.device,
            "--time",
            "2s",
            "--no-ladder",
            "--no-store",
            "--with-fio",
            "--json",
            "-",
        ];
        let output = ahead(&place, &arguments).env("PATH", path).output();
        output.expect("ahead starts")
    };
    // `env` is needed to start at all.
    let with = measure(&format!("{}:/usr/bin:/bin", folder.path().display()));
    let value: Value = serde_json::from_str(&stdout(&with)).expect("nothing but JSON");
    assert_eq!(value["version"], 1);
    let said = stderr(&with);
    assert!(said.contains("4321") && said.contains("231.0 us"), "{said}");
    // A folder with nothing but `env`.
    let bare = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink("/usr/bin/env", bare.path().join("env")).expect("a link");
    let without = stderr(&measure(&bare.path().display().to_string()));
    let lines: Vec<_> = without
        .lines()
        .filter(|line| line.contains("fio"))
        .collect();
    assert_eq!(lines.len(), 1, "{without}");
    assert!(lines[0].contains("not installed"), "{without}");
}

/// fio refused every job file that was written for it: one option in them is for its command line only. Here the
/// real fio runs all of them, on a disk that counts what is read.
#[test]
fn the_real_fio_runs_every_job_file() {
    let place = Place::new();
    let disk = EmulatedDisk::new(&place, "real-fio", "4");
    let result = place.path().join("m.json");
    disk.stats();
    let arguments = [
        "device",
        "measure",
        &disk.device,
        "--time",
        "2s",
        "--no-ladder",
        "--no-store",
        "--with-fio",
        "--json",
        result.to_str().expect("text"),
    ];
    let output = ahead(&place, &arguments).output().expect("ahead starts");
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stdout(&output);
    let (_, table) = said
        .split_once("fio/ours")
        .unwrap_or_else(|| panic!("{said}"));
    let rates: Vec<u64> = table
        .lines()
        .filter(|line| line.contains("-depth-"))
        .map(|line| {
            let cell = line.split_whitespace().nth(2);
            let rate = cell.and_then(|cell| cell.parse().ok());
            rate.unwrap_or_else(|| panic!("{line}"))
        })
        .collect();
    let measured = json(&result);
    let steps = &measured["steps"];
    assert_eq!(
        rates.len(),
        steps.as_array().expect("steps").len(),
        "{said}"
    );
    assert!(rates.iter().all(|rate| *rate > 0), "{table}");
    // Ours, and at least as many requests of fio as one second of each job has at its rate.
    let read = disk.stats()["reads"].as_u64().expect("a number");
    let ours = sum(steps, "requests");
    let fio: u64 = rates.iter().sum();
    assert!(
        read > ours + fio / 2,
        "{read} for {ours} and {fio} a second"
    );
}
