//! `ahead daemon` on this machine's kernel: processes that know nothing of it, linked statically, reading an emulated
//! disk. What is asserted are requests and bytes that reached the disk, never times. Root.

mod support;

use std::fs;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use ahead_observer::observer::KernelObserver;
use ahead_observer::self_test;
use serde_json::Value;
use support::daemon_disk::{FILE_BYTES, Ground, Held, await_within};
use support::daemon_process::{DaemonProcess, requested_kib};
use support::{Place, assert_refused, copy_program, stderr, stdout};

#[test]
fn a_static_program_that_reads_backward_is_steered() {
    let ground = Ground::new("backward");
    let alone = ground.read("backward");
    let daemon = DaemonProcess::start(&[]);
    let helped = ground.read("backward");
    daemon.end();
    assert_eq!(helped.sum, alone.sum, "the same bytes");
    assert!(
        helped.bytes <= alone.bytes * 11 / 10,
        "{helped:?} {alone:?}"
    );
    assert!(helped.requests * 4 < alone.requests, "{helped:?} {alone:?}");
    assert!(helped.seeks * 4 < alone.seeks, "{helped:?} {alone:?}");
}

/// On flash, where to be heard of at each read takes an eighth of the reader's time, and on a busy machine many times as much.
#[test]
fn a_reader_of_random_places_seldom_wakes_the_daemon_and_a_scan_after_it_is_steered() {
    const READS: u64 = 1500;
    let ground = Ground::at_real_speed("seldom", "ssd", "400M", FILE_BYTES);
    let alone = ground.read("backward");
    ground.evict("file");
    let daemon = DaemonProcess::start(&[]);
    let file = fs::File::open(ground.path("file")).expect("it was written");
    let read_at_random = |begin: u64, reads: u64| {
        let mut page = [0; 4096];
        for number in begin..begin + reads {
            // No step is like the one before.
            let place = number * number * 7919 % (FILE_BYTES / 4096);
            file.read_exact_at(&mut page, place * 4096).expect("inside");
        }
    };
    read_at_random(0, 2 * READS);
    let before = daemon.used().sleeps;
    read_at_random(2 * READS, READS);
    let woken = daemon.used().sleeps - before;
    ground.evict("file");
    let helped = ground.read("backward");
    daemon.end();
    assert!(woken <= READS / 6, "woken {woken} times by {READS} reads");
    assert_eq!(helped.sum, alone.sum, "the same bytes");
    assert!(
        helped.requests * 3 < alone.requests * 2,
        "{helped:?} {alone:?}"
    );
}

/// Where nothing can be won nothing is paid: a scan is heard of at its markers, and small files, which the kernel brings whole,
/// not at all.
#[test]
fn scans_and_small_files_seldom_wake_the_daemon() {
    const SMALL_FILES: u64 = 300;
    let ground = Ground::at_real_speed("steady", "ssd", "400M", FILE_BYTES);
    let small = |number: u64| format!("small{number}");
    for number in 0..SMALL_FILES {
        ground.write_long(&small(number), 100 << 10);
    }
    rustix::fs::sync();
    let daemon = DaemonProcess::start(&[]);
    let woken_by = |name: &str| {
        let before = daemon.used().sleeps;
        let file = fs::File::open(ground.path(name)).expect("it was written");
        let mut piece = vec![0; 16 << 10];
        let mut place = 0;
        while let Ok(length @ 1..) = file.read_at(&mut piece, place) {
            place += length as u64;
        }
        daemon.used().sleeps - before
    };
    ground.evict("file");
    let by_scan = woken_by("file");
    (0..SMALL_FILES).for_each(|number| ground.evict(&small(number)));
    let by_small: u64 = (0..SMALL_FILES)
        .map(|number| woken_by(&small(number)))
        .sum();
    daemon.end();
    // Told in pieces of 128 KiB.
    let pieces = FILE_BYTES / (128 << 10);
    assert!(by_scan < pieces / 3, "woken {by_scan} times by a scan");
    assert!(by_small < SMALL_FILES / 3, "{by_small} by small files");
}

/// What a library in the process can never see.
#[test]
fn page_faults_of_a_mapping_that_is_read_backward_are_steered() {
    let ground = Ground::new("faults");
    let alone = ground.read("mapped-backward");
    let daemon = DaemonProcess::start(&["--mode", "advise"]);
    let helped = ground.read("mapped-backward");
    daemon.end();
    assert_eq!(helped.sum, alone.sum, "the same bytes");
    assert!(
        helped.bytes <= alone.bytes * 11 / 10,
        "{helped:?} {alone:?}"
    );
    assert!(helped.seeks * 4 < alone.seeks, "{helped:?} {alone:?}");
}

#[test]
fn a_random_reader_of_a_mapping_does_not_pay_a_window_for_a_page() {
    let ground = Ground::large("random");
    let sum = ground.read("mapped-random").sum;
    let window = ground.window();
    ground.evict("file");
    let daemon = DaemonProcess::start(&[]);
    let held = ground.narrowed_at_half();
    assert_eq!(ground.window(), window, "only for a moment");
    ground.reset();
    assert_eq!(held.go(), sum, "the same bytes");
    let helped = ground.seen(sum);
    daemon.end();
    // 200 touches, a page each, and what the file system reads for itself.
    assert!(helped.bytes <= 2 * 200 * 4096, "{helped:?}");
    assert_eq!(ground.window(), window);
}

/// Its window is 4 MiB and belongs to the file system, which has no block device.
#[test]
fn a_random_reader_of_a_mapping_on_btrfs_does_not_pay_its_window_either() {
    let ground = Ground::large_on("btrfs");
    let window = || {
        let path = ground.mount.to_str().expect("text");
        stdout(&ground.place.output(&["device", "get", path]))
    };
    let alone = ground.read("mapped-random");
    ground.evict("file");
    let before = window();
    assert!(before.contains("4096 KiB"), "{before}");
    let daemon = DaemonProcess::start(&[]);
    let held = ground.narrowed_at_half();
    assert_eq!(window(), before, "only for a moment");
    ground.reset();
    assert_eq!(held.go(), alone.sum, "the same bytes");
    let helped = ground.seen(alone.sum);
    daemon.end();
    // Half of the touches, and of those that are left the sums of what is read, which are nodes of 16 KiB.
    assert!(helped.bytes * 20 < alone.bytes, "{helped:?} {alone:?}");
    assert_eq!(window(), before);
}

/// A window belongs to an open file, and each process has its own of the same file.
#[test]
fn each_process_that_reads_a_mapping_at_random_is_helped() {
    let ground = Ground::large("two");
    let daemon = DaemonProcess::start(&[]);
    let first = ground.narrowed_at_half();
    // Other pages than those that the first has brought in.
    ground.evict("file");
    let second = ground.narrowed_at_half();
    ground.reset();
    assert_eq!(first.go(), second.go(), "the same bytes");
    let helped = ground.seen(0);
    daemon.end();
    assert!(helped.bytes <= 2 * 400 * 4096, "{helped:?}");
}

/// The bytes of a scan are those of the file, mapped or not.
#[test]
fn scans_are_read_once() {
    let ground = Ground::new("scans");
    let daemon = DaemonProcess::start(&[]);
    for pattern in ["forward", "mapped-forward"] {
        let helped = ground.read(pattern);
        let allowed = FILE_BYTES + FILE_BYTES / 20;
        assert!(helped.bytes <= allowed, "{pattern}: {helped:?}");
    }
    daemon.end();
}

#[test]
fn a_reader_that_was_there_before_the_daemon_is_steered() {
    let ground = Ground::new("before");
    let alone = ground.read("backward");
    ground.evict("file");
    let held = ground.hold("backward", "file");
    let daemon = DaemonProcess::start(&[]);
    ground.reset();
    let sum = held.go();
    let helped = ground.seen(sum);
    let output = ground
        .place
        .output(&["explain", &ground.path("file"), "--json"]);
    let explained: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    daemon.end();
    assert_eq!(helped.sum, alone.sum);
    assert!(helped.seeks * 4 < alone.seeks, "{helped:?} {alone:?}");
    println!("{helped:?} {alone:?}");
    // Steered from the first reads on: an arm moves once for each of those, a second late would be 128, and some times
    // for each of the fifteen windows.
    assert!(helped.seeks <= 12 + 4 * 15, "{helped:?} {explained:#}");
    let history = explained[0]["history"].as_array().expect("decisions");
    let first = history.iter().find(|one| one["pages"].as_u64() > Some(0));
    let what = first
        .and_then(|one| one["what"].as_str())
        .expect("a request");
    // The first request is for what lies behind the first reads. A read takes such an arm 8 ms, so twelve are 100 ms.
    // Where there were many decisions the first ones are forgotten, and the arm alone says it.
    if explained[0]["history_forgotten"] == 0 {
        let (length, place) = requested_kib(what).expect(what);
        let read_kib = (FILE_BYTES >> 10) - place - length;
        println!("first request after {} reads: {what}", read_kib / 64);
        assert!(read_kib <= 12 * 64, "{explained:#}");
    }
}

#[test]
fn an_observing_daemon_asks_for_nothing() {
    let ground = Ground::new("observe");
    let alone = ground.read("backward");
    let daemon = DaemonProcess::start(&["--mode", "observe"]);
    assert!(
        daemon.line.contains("nothing is asked for"),
        "{}",
        daemon.line
    );
    let watched = ground.read("backward");
    let last = daemon.end();
    assert_eq!(watched.seeks, alone.seeks);
    assert!(last.contains(" 0 decisions"), "{last}");
}

/// The rest of its touches bring in the device's window again.
fn reads_by_windows(ground: &Ground, held: Held) {
    ground.reset();
    held.go();
    let wide = ground.seen(0);
    // 200 touches at other places of a file of 5120 windows.
    assert!(wide.bytes > 50 * (128 << 10), "{wide:?}");
}

/// Kills a daemon in the middle of steering: no descriptor, no window of the device, and the open file has its window again
/// after `ahead daemon` was called as `puts_back` does.
fn killed_and_put_back(name: &str, puts_back: impl Fn(&Ground) -> Output) {
    let ground = Ground::large(name);
    let window = ground.window();
    let daemon = DaemonProcess::start(&[]);
    let held = ground.narrowed_at_half();
    assert_eq!(
        daemon.holds(&ground.mount),
        0,
        "a duplicate lives for one call"
    );
    daemon.kill();
    assert_eq!(ground.window(), window);

    let said = stderr(&puts_back(&ground));
    assert!(said.contains("the windows of 1 open files"), "{said}");
    assert!(!Path::new("/run/ahead/daemon/narrowed.json").exists());
    reads_by_windows(&ground, held);
}

/// A worker whose open file has lost its window ends. Who has opened it for the worker, and for others, kept it without one for ever.
#[test]
fn what_a_worker_leaves_is_put_back_where_its_parent_has_it_open() {
    let ground = Ground::large("worker");
    let daemon = DaemonProcess::start(&[]);
    let mut held = ground.hold_with("mapped-random-forked", "file", &["hold", "half"]);
    held.let_go();
    assert_eq!(held.line(), "half");
    let journal = Path::new("/run/ahead/daemon/narrowed.json");
    await_within(30, "narrowed", || {
        fs::read_to_string(journal).is_ok_and(|text| text.contains("\"window\": \"Nothing\""))
    });
    held.let_go();
    assert_eq!(held.line(), "alone");
    held.await_narrowed();
    daemon.end();
    ground.evict("file");
    reads_by_windows(&ground, held);
}

#[test]
fn a_daemon_that_was_killed_leaves_nothing_that_cannot_be_put_back() {
    killed_and_put_back("killed", |ground| {
        let undone = ground.place.output(&["daemon", "--undo"]);
        assert!(undone.status.success(), "{}", stderr(&undone));
        undone
    });
}

/// Its settings were changed while it ran, and make no sense: no daemon starts again, and files would stay without a window.
#[test]
fn settings_that_cannot_be_read_do_not_keep_windows_from_being_put_back() {
    killed_and_put_back("unread", |ground| {
        let config = ground.place.file("ahead.toml", "[daemon\n");
        let config = config.to_str().expect("text");
        let refused = ground.place.output(&["daemon", "--config", config]);
        assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
        refused
    });
}

/// What the owner of the machine excludes is read as without a daemon, also when that is said while it runs.
#[test]
fn what_is_excluded_is_untouched() {
    let ground = Ground::new("excluded");
    let alone = ground.read("backward");
    let file = ground.path("file");
    let text = format!("[daemon.exclude]\npaths = ['{file}']\n");
    let config = ground.place.file("ahead.toml", &text);
    let mut daemon = DaemonProcess::start(&["--config", config.to_str().expect("text")]);
    let before = daemon.used().sleeps;
    let excluded = ground.read("backward");
    assert_eq!(excluded.seeks, alone.seeks);
    // 1536 misses, each of which could wake it.
    let woken = daemon.used().sleeps - before;
    assert!(woken < 1536 / 4, "woken {woken} times");

    fs::write(&config, "[daemon]\nmode = 'advise'\n").expect("our file");
    daemon.read_again("the settings were read again\n");
    let helped = ground.read("backward");
    assert!(helped.seeks * 4 < alone.seeks, "{helped:?} {alone:?}");

    // What makes no sense changes nothing.
    fs::write(&config, "[daemon]\nmode = 'fast'\n").expect("our file");
    daemon.read_again("the settings stay as they were: ");
    daemon.end();
}

#[test]
fn there_is_one_daemon() {
    let ground = Ground::new("one");
    let daemon = DaemonProcess::start(&["--mode", "observe"]);
    let pid = daemon.child.id().to_string();
    for second in [&["daemon"][..], &["daemon", "--undo"]] {
        let output = ground.place.output(second);
        assert_refused(&output, 1, &["a daemon runs already", &pid]);
    }
    daemon.end();
}

/// Its advice ends what was done for it.
#[test]
fn a_program_that_says_random_is_left_to_it() {
    let ground = Ground::new("advised");
    let alone = ground.read("backward-advised");
    let daemon = DaemonProcess::start(&[]);
    let helped = ground.read("backward-advised");
    daemon.end();
    assert_eq!(helped.sum, alone.sum);
    // The half before was read in large requests, the half after as it asked, but for two requests of 8 MiB that were
    // on their way.
    let half = alone.seeks / 2;
    assert!(helped.seeks + 256 >= half, "{helped:?} {alone:?}");
    assert!(helped.seeks < half * 5 / 4, "{helped:?} {alone:?}");
}

/// The library sees more than can be seen from outside.
#[test]
fn a_process_that_has_the_library_is_left_to_it() {
    let ground = Ground::new("library");
    let alone = ground.read("backward");
    let shared = ground.build("shared-reader", &[]);
    let daemon = DaemonProcess::start(&[]);
    ground.evict("file");
    ground.reset();
    let shared = shared.to_str().expect("text");
    let file = ground.path("file");
    // Whose library only watches.
    let status = Command::new(env!("CARGO_BIN_EXE_ahead"))
        .args(["run", "--policy", "kernel", "--", shared, "backward", &file])
        .env("AHEAD_PRELOAD", support::library())
        .stdout(Stdio::null())
        .status();
    assert!(status.expect("ahead starts").success());
    let seen = ground.seen(0);
    daemon.end();
    assert_eq!(seen.seeks, alone.seeks, "as without a daemon");
}

/// Whatever it does for the files of a mount, that can be unmounted the moment its users are gone.
#[test]
fn a_file_system_is_not_kept_busy() {
    let ground = Ground::new("unmount");
    let daemon = DaemonProcess::start(&[]);
    ground.read("backward");
    let began = Instant::now();
    let output = ground.place.output(&["disk", "destroy", &ground.name]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(began.elapsed() < Duration::from_secs(60));
    daemon.end();
}

/// Root is told all, another user only of files that own processes read.
#[test]
fn the_daemon_says_what_it_does_to_whom_it_concerns() {
    let ground = Ground::new("status");
    let none = ground.place.output(&["status"]);
    assert_refused(&none, 1, &["no daemon runs here"]);
    let daemon = DaemonProcess::start(&[]);
    ground.read("backward");
    let file = ground.path("file");
    let output = ground.place.output(&["status", &file, "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let status: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let [known] = status["files"].as_array().expect("files").as_slice() else {
        panic!("one file: {status}");
    };
    assert_eq!(known["pattern"], "backward", "{known}");
    assert!(known["requested"].as_u64() > Some(0), "{known}");
    let table = stdout(&ground.place.output(&["status"]));
    assert!(
        table.contains("mode full") && table.contains("backward"),
        "{table}"
    );

    let program = ground.place.path().join("ahead");
    copy_program(&program);
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(ground.place.path(), open).expect("our folder");
    let other = Command::new("setpriv")
        .args(["--reuid", "65534", "--clear-groups"])
        .arg(&program)
        .args(["status", "--json"])
        .output()
        .expect("setpriv");
    assert!(other.status.success(), "{}", stderr(&other));
    let seen: Value = serde_json::from_str(&stdout(&other)).expect("JSON");
    // It may have read its own program.
    let mut files = seen["files"].as_array().expect("files").iter();
    assert!(files.all(|one| one["inode"] != known["inode"]), "{seen}");
    daemon.end();
}

/// Who sets the window of a device while the daemon runs has decided: open files have that window again, nothing more
/// is asked for there, and the log says so. Reading the settings again is a new start.
#[test]
fn a_window_that_the_owner_sets_ends_steering_on_that_device() {
    let ground = Ground::large("owner");
    let alone = ground.read("backward");
    ground.evict("file");
    let mut daemon = DaemonProcess::start(&[]);
    let held = ground.narrowed_at_half();
    let mount = ground.mount.to_str().expect("text");
    let set = ground.place.output(&["device", "set", mount, "64K"]);
    assert!(set.status.success(), "{}", stderr(&set));
    let line = daemon.next_line();
    assert!(line.contains("another program set the window of"), "{line}");
    assert!(line.contains("from 128 to 64 KiB"), "{line}");
    ground.reset();
    held.go();
    let wide = ground.seen(0);
    // 200 touches at other places, each with the window that was set.
    assert!(wide.bytes > 100 * (64 << 10), "{wide:?}");
    assert_eq!(ground.window(), 64);

    let left = ground.read("backward");
    assert!(left.seeks * 10 > alone.seeks * 9, "{left:?} {alone:?}");
    daemon.read_again("the settings were read again\n");
    let helped = ground.read("backward");
    assert!(helped.seeks * 4 < alone.seeks, "{helped:?} {alone:?}");
    daemon.end();
}

/// MADV_RANDOM is never seen as such: its faults bring one page each, so that no read-ahead of the kernel tells of them.
#[test]
fn a_mapping_that_a_program_says_random_about_is_left_to_it() {
    let ground = Ground::new("mapped-advised");
    let alone = ground.read("mapped-backward-advised");
    let daemon = DaemonProcess::start(&[]);
    let left = ground.read("mapped-backward-advised");
    daemon.end();
    assert_eq!(left.sum, alone.sum);
    assert_eq!(left.requests, alone.requests, "{left:?} {alone:?}");
}

/// XFS makes large folios.
#[test]
fn files_of_xfs_are_steered() {
    files_are_steered(&Ground::on("xfs"), &["backward", "mapped-backward"]);
}

/// Its files say the device of their subvolume, and its window belongs to the file system.
#[test]
fn files_of_btrfs_are_steered() {
    let ground = Ground::on("btrfs");
    programs_are_believed(&ground.mount);
    files_are_steered(&ground, &["backward"]);
    // Calls are cut at that window too, 4 MiB. As if it were 128 KiB, a mapping took four times the kernel's requests. And
    // that there is an arm below is known by the disks: by its waits alone, 60 to 90 seeks and not 15 to 17.
    let alone = ground.read("mapped-backward");
    let daemon = DaemonProcess::start(&[]);
    let helped = ground.read("mapped-backward");
    daemon.end();
    assert_eq!(helped.sum, alone.sum, "the same bytes");
    assert!(helped.requests < alone.requests * 2, "{helped:?} {alone:?}");
    assert!(helped.seeks * 2 < alone.seeks, "{helped:?} {alone:?}");
}

fn files_are_steered(ground: &Ground, patterns: &[&str]) {
    for &pattern in patterns {
        let alone = ground.read(pattern);
        let daemon = DaemonProcess::start(&[]);
        let helped = ground.read(pattern);
        daemon.end();
        assert_eq!(helped.sum, alone.sum, "{pattern}: the same bytes");
        assert!(
            helped.seeks * 4 < alone.seeks,
            "{pattern}: {helped:?} {alone:?}"
        );
    }
}

/// Its files say another device than the one that the page cache knows them by.
#[test]
fn files_of_an_overlay_are_steered() {
    let mut ground = Ground::new("overlay");
    // A mapping of an overlay's file is one of the file below, which has been opened for it.
    ground.in_overlay(|ground| {
        programs_are_believed(&ground.mount);
        files_are_steered(ground, &["backward"]);
    });
}

/// By known reads in this folder, as in that of the daemon's state: with `/var` on btrfs none was found among what was told, and the
/// daemon went on without programs.
fn programs_are_believed(folder: &Path) {
    let mut observer = KernelObserver::start().expect("root");
    self_test::run(&mut observer, folder).expect("the truth");
}

#[test]
fn undo_and_a_mode_are_not_said_together() {
    let place = Place::new();
    let output = place.output(&["daemon", "--undo", "--mode", "advise"]);
    assert_refused(&output, 2, &["--undo", "--mode"]);
}
