//! Page faults of one program that wait behind the scans of others, on an emulated network volume at its own speed.

mod support;

use std::fs;
use std::path::Path;

use support::daemon_disk::{Ground, Held, await_within};
use support::daemon_process::DaemonProcess;

const SCANS: [&str; 4] = ["scan0", "scan1", "scan2", "scan3"];

/// Readers go on for as long as the test takes.
const STARTER: [&str; 2] = ["env", "READER_MS=120000"];

/// Scans that have no window at the moment.
fn held_back() -> usize {
    let journal = Path::new("/run/ahead/daemon/narrowed.json");
    let text = fs::read_to_string(journal).unwrap_or_default();
    text.matches("WhatIsRead").count()
}

/// KiB of a request, in the mean of the next 500.
fn request_kib(ground: &Ground) -> u64 {
    ground.reset();
    let mut seen = ground.seen(0);
    await_within(60, "read", || {
        seen = ground.seen(0);
        seen.requests >= 500
    });
    (seen.bytes / seen.requests) >> 10
}

fn started(ground: &Ground, pattern: &str, name: &str) -> Held {
    let mut held = ground.hold_by(&STARTER, pattern, name);
    held.let_go();
    held
}

/// Since Linux 6.13 a window that the kernel already reads ahead by never becomes smaller, whatever the open file is given: the
/// daemon said "held back", and scans went on by 128 KiB.
#[test]
fn scans_behind_which_page_faults_starve_take_what_they_read_and_no_more() {
    let ground = Ground::at_real_speed("starving", "cloud", "700M", 256 << 20);
    for name in SCANS {
        ground.write_long(name, 64 << 20);
    }
    let window = ground.window();
    let daemon = DaemonProcess::start(&[]);
    let scans = SCANS.map(|name| started(&ground, "forward-for", name));
    let random = started(&ground, "mapped-random-for", "file");
    await_within(60, "held back", || held_back() == SCANS.len());
    // After what was on its way, and what ends the kernel's pipelines. Scans read 64 KiB.
    await_within(60, "read by what is read", || request_kib(&ground) <= 72);
    assert_eq!(ground.window(), window, "that of the disk is as it was");

    drop(random);
    await_within(60, "let go", || held_back() == 0);
    await_within(60, "read ahead", || request_kib(&ground) >= 100);
    drop(scans);
    daemon.end();
}
