//! `ahead daemon` where things go wrong around it: it is killed under load or cannot keep up, files vanish, shrink or are
//! unmounted while it asks for them, and readers live in namespaces of their own. Readers get their bytes, and nothing is
//! left.

mod support;

use std::fs;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use support::daemon_disk::{FILE_BYTES, Ground, await_within};
use support::daemon_process::DaemonProcess;
use support::stderr;

/// Each is killed at another moment of the same work: while it starts, steers, or takes a window away. `AHEAD_KILLS=100`
/// does that for longer.
fn kills() -> u64 {
    let asked = std::env::var("AHEAD_KILLS").ok();
    asked.map_or(12, |text| text.parse().expect("a number"))
}

#[test]
fn daemons_that_are_killed_under_load_leave_nothing_and_no_reader_gets_a_wrong_byte() {
    let ground = Ground::large("load");
    ground.write("other");
    let window = ground.window();
    let backward = ground.read_of("other", "backward").sum;
    let random = ground.read("mapped-random").sum;
    for round in 0..kills() {
        ground.evict("file");
        ground.evict("other");
        let daemon = DaemonProcess::start(&[]);
        let mut one = ground.hold("backward", "other");
        let mut other = ground.hold("mapped-random", "file");
        one.let_go();
        other.let_go();
        // Load, not a wait for anything: whatever it does at this moment is what it is killed in.
        std::thread::sleep(Duration::from_millis(round % 12 * 40));
        assert!(
            daemon.holds(&ground.mount) <= 1,
            "one duplicate, for one call"
        );
        println!("round {round}: {}", daemon.used());
        daemon.kill();
        assert_eq!(one.sum(), backward, "round {round}");
        assert_eq!(other.sum(), random, "round {round}");
        let undone = ground.place.output(&["daemon", "--undo"]);
        assert!(undone.status.success(), "{}", stderr(&undone));
        assert_eq!(ground.window(), window, "round {round}");
        let journal = Path::new("/run/ahead/daemon/narrowed.json");
        assert!(!journal.exists(), "round {round}");
    }
}

#[test]
fn a_file_that_is_deleted_while_it_is_read_is_steered_to_its_end() {
    let ground = Ground::new("deleted");
    let alone = ground.read("backward");
    ground.evict("file");
    let daemon = DaemonProcess::start(&[]);
    let held = ground.hold("backward", "file");
    fs::remove_file(ground.mount.join("file")).expect("our file");
    ground.reset();
    let sum = held.go();
    let helped = ground.seen(sum);
    println!("deleted: {}", daemon.used());
    daemon.end();
    assert_eq!(helped.sum, alone.sum, "the same bytes");
    assert!(helped.seeks * 4 < alone.seeks, "{helped:?} {alone:?}");
}

/// A new file of ext4 mostly has the inode of the one that was removed last. What was read of that one is no part of its account, nor
/// is its path.
#[test]
fn a_file_with_the_inode_of_a_removed_one_is_another() {
    let ground = Ground::new("inode");
    let daemon = DaemonProcess::start(&[]);
    let known_of = |name: &str| -> serde_json::Value {
        let path = ground.mount.join(name).display().to_string();
        let output = ground.place.output(&["explain", &path, "--json"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let all: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(all[0]["path"], path, "{all}");
        all[0].clone()
    };
    let inode_of = |name: &str| {
        fs::metadata(ground.mount.join(name))
            .expect("our file")
            .ino()
    };
    ground.read("backward");
    let (inode, removed) = (inode_of("file"), known_of("file"));
    fs::remove_file(ground.mount.join("file")).expect("our file");
    // The daemon may have it for a moment still; then the inode is free when it lets go.
    await_within(30, "taken by ext4 again", || {
        let other = ground.mount.join("other");
        fs::File::create(&other).expect("a file");
        let is_taken = inode_of("other") == inode;
        if !is_taken {
            fs::remove_file(&other).expect("our file");
        }
        is_taken
    });
    ground.write("other");
    assert_eq!(inode_of("other"), inode, "the same file, longer");
    ground.evict("other");
    ground.read_of("other", "backward");
    let other = known_of("other");
    println!("inode: {}", daemon.used());
    daemon.end();
    let accesses = |of: &serde_json::Value| of["accesses"].as_u64().expect("a number");
    assert!(accesses(&removed) > 100, "{removed}");
    assert!(
        accesses(&other) * 10 < accesses(&removed) * 15,
        "{other} {removed}"
    );
}

/// What is asked for behind the end of a file that has become shorter is refused by the kernel, and that is all.
#[test]
fn a_file_that_becomes_shorter_while_it_is_read_does_no_harm() {
    let ground = Ground::new("shorter");
    let daemon = DaemonProcess::start(&[]);
    let mut held = ground.hold_with("mapped-random", "file", &["hold", "half"]);
    held.let_go();
    assert_eq!(held.line(), "half");
    let file = fs::File::options()
        .write(true)
        .open(ground.mount.join("file"));
    let file = file.expect("our file");
    file.set_len(FILE_BYTES / 2).expect("shorter");
    drop(held);
    // It goes on with other readers of the file, and ends well.
    ground.evict("file");
    ground.reset();
    let sum = ground.hold("backward", "file").go();
    let helped = ground.seen(sum);
    println!("shorter: {}", daemon.used());
    let last = daemon.end();
    assert!(last.contains(" facts lost"), "{last}");
    assert!(helped.bytes <= FILE_BYTES / 2 * 11 / 10, "{helped:?}");
    assert!(helped.seeks * 4 < FILE_BYTES / 2 / (64 << 10), "{helped:?}");
}

/// The ring holds some 9000 facts. A daemon that is stopped takes none, as one that gets no processor: what does not fit is
/// counted, and what comes later is acted on.
#[test]
fn facts_that_find_the_ring_full_are_counted_and_the_next_reader_is_steered() {
    let ground = Ground::new("overrun");
    ground.write("other");
    let alone = ground.read("backward");
    let daemon = DaemonProcess::start(&[]);
    let file = fs::File::open(ground.mount.join("other")).expect("our file");
    let mut page = [0; 4096];
    let mut read = |at: u64| file.read_exact_at(&mut page, at * 4096).expect("a page");
    (0..1024).for_each(&mut read);
    // Watched, as these have to be fetched, one after another. A scan that the kernel reads ahead for well is not always.
    (0..8).for_each(|one| read((20 - one * 2) * 1024));
    daemon.signal("-STOP");
    // No two steps alike: a fact for each two reads.
    let mut at = 0;
    for number in 0..60_000 {
        at = (at + number * number + 3) % 1024;
        read(at);
    }
    daemon.signal("-CONT");
    let helped = ground.read("backward");
    println!("overrun: {}", daemon.used());
    let said = daemon.end();
    assert_eq!(helped.sum, alone.sum, "the same bytes");
    assert!(helped.seeks * 4 < alone.seeks, "{helped:?} {alone:?}");
    let last = said.lines().last().expect("its last line");
    let lost = last.strip_suffix(" facts lost").expect("what it lost");
    let lost = lost.rsplit(' ').next().expect("a number");
    let lost: u64 = lost.parse().expect("a number");
    println!("{last}");
    assert!(lost > 10_000, "{last}");
}

/// Containers: other mounts, other process numbers, other users. The kernel tells the numbers of the machine, and what is
/// asked for goes to the open file, wherever that is mounted.
#[test]
fn readers_in_namespaces_of_their_own_are_steered() {
    let ground = Ground::new("spaces");
    let daemon = DaemonProcess::start(&["--mode", "advise"]);
    let spaces = [
        "--mount",
        "--pid",
        "--fork",
        "--user",
        "--map-root-user",
        "--net",
        "--ipc",
        "--uts",
        "--cgroup",
    ];
    let starter = [&["unshare"][..], &spaces].concat();
    for pattern in ["backward", "mapped-backward"] {
        ground.evict("file");
        let held = ground.hold_by(&starter, pattern, "file");
        ground.reset();
        let sum = held.go();
        let helped = ground.seen(sum);
        // 1536 reads, or six times as many faults, one by one.
        assert!(helped.seeks * 4 < FILE_BYTES >> 16, "{pattern}: {helped:?}");
        assert!(
            helped.bytes <= FILE_BYTES * 11 / 10,
            "{pattern}: {helped:?}"
        );
    }
    println!("namespaces: {}", daemon.used());
    let last = daemon.end();
    assert!(last.contains(" 0 facts lost"), "{last}");
}

/// Whoever has read a file of a disk and was killed can take the disk away: a duplicate lives for one call. Only an `umount`
/// in the middle of that meets it, and the next one does not. A duplicate for a decision, which may be eight calls, met 1
/// of 120. `AHEAD_UMOUNTS` says how often.
#[test]
fn a_disk_can_be_unmounted_as_soon_as_its_reader_has_ended() {
    let ground = Ground::new("umount");
    let device = fs::metadata(&ground.mount).expect("a mount").dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let link = fs::read_link(format!("/sys/dev/block/{major}:{minor}")).expect("a device");
    let node = Path::new("/dev").join(link.file_name().expect("its name"));
    // Without a user it goes.
    let _used = fs::File::open(&node).expect("a device");
    let daemon = DaemonProcess::start(&["--mode", "advise"]);
    let rounds =
        std::env::var("AHEAD_UMOUNTS").map_or(20, |times| times.parse().expect("a number"));
    let mut busy = 0;
    for round in 0..rounds {
        // Killed while it reads: what was asked for last is still on its way.
        let mut held = ground.hold("backward", "file");
        held.let_go();
        std::thread::sleep(Duration::from_millis(20 + round % 20 * 7));
        drop(held);
        let umount = || Command::new("umount").arg(&ground.mount).output();
        if !umount().expect("umount").status.success() {
            busy += 1;
            std::thread::sleep(Duration::from_millis(10));
            let again = umount().expect("umount");
            assert!(again.status.success(), "round {round}: {}", stderr(&again));
        }
        let mounted = Command::new("mount").args([&node, &ground.mount]).status();
        assert!(mounted.expect("mount").success(), "round {round}");
        ground.evict("file");
    }
    println!("umount: {busy} of {rounds} were busy; {}", daemon.used());
    let last = daemon.end();
    assert!(busy <= rounds / 20, "{busy} of {rounds}; {last}");
}
