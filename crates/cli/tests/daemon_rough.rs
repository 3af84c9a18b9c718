//! `ahead daemon` where things go wrong around it: it is killed under load, and files vanish or shrink while it asks for
//! them. Readers get their bytes, and nothing is left.

mod support;

use std::fs;
use std::path::Path;
use std::time::Duration;

use support::daemon_disk::{FILE_BYTES, Ground};
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
    daemon.end();
    assert_eq!(helped.sum, alone.sum, "the same bytes");
    assert!(helped.seeks * 4 < alone.seeks, "{helped:?} {alone:?}");
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
    let last = daemon.end();
    assert!(last.contains(" facts lost"), "{last}");
    assert!(helped.bytes <= FILE_BYTES / 2 * 11 / 10, "{helped:?}");
    assert!(helped.seeks * 4 < FILE_BYTES / 2 / (64 << 10), "{helped:?}");
}
