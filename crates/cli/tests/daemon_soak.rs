//! `ahead daemon` for a long time, or at least some seconds: processes come and go by the thousand, numbers of descriptors
//! stand for other files a moment later, and its memory and its descriptors stay what they were. `AHEAD_SOAK_SECONDS=1800`,
//! or `make soak`, does it for longer and prints what it measured.

mod support;

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use support::daemon_disk::Ground;
use support::daemon_process::DaemonProcess;

/// Small files that processes open and close.
const FILES: u64 = 200;
const FILE_BYTES: usize = 192 << 10;

/// Memory may grow by this from a third of the time on: allocators keep what they once had.
const GROWTH_KIB_MAX: u64 = 2048;

fn seconds() -> u64 {
    let asked = std::env::var("AHEAD_SOAK_SECONDS").ok();
    asked.map_or(15, |text| text.parse().expect("a number"))
}

#[test]
fn its_memory_stays_while_thousands_of_processes_and_descriptors_come_and_go() {
    let ground = Ground::new("soak");
    for number in 0..FILES {
        let mut file = File::create(ground.path(&number.to_string())).expect("space");
        let byte = u8::try_from(number).expect("small");
        file.write_all(&vec![byte; FILE_BYTES]).expect("space");
        file.sync_all().expect("written");
    }
    let backward = ground.read("backward").sum;
    let daemon = DaemonProcess::start(&[]);
    let began = Instant::now();
    let length = Duration::from_secs(seconds());
    let stop = AtomicBool::new(false);
    let (processes, opened) = (AtomicU64::new(0), AtomicU64::new(0));
    let (early, mut rounds) = thread::scope(|scope| {
        // Ten files each.
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let first = processes.fetch_add(1, Ordering::Relaxed) * 10 % FILES;
                let names = (first..first + 10).map(|number| ground.path(&number.to_string()));
                let mut cat = Command::new("cat");
                let status = cat.args(names).stdout(Stdio::null()).status();
                assert!(status.expect("cat").success());
            }
        });
        // The same number stands for another file each time, and is closed before what was told of it is acted on.
        scope.spawn(|| {
            let mut page = [0; 4096];
            while !stop.load(Ordering::Relaxed) {
                let number = opened.fetch_add(1, Ordering::Relaxed) * 7 % FILES;
                ground.evict(&number.to_string());
                let file = File::open(ground.path(&number.to_string())).expect("a file");
                for place in [40, 39, 38] {
                    file.read_exact_at(&mut page, place * 4096).expect("a page");
                    assert!(
                        page.iter().all(|byte| u64::from(*byte) == number),
                        "wrong bytes"
                    );
                }
            }
        });
        let (mut early, mut rounds) = (None, 0_u64);
        while began.elapsed() < length {
            assert_eq!(ground.read("backward").sum, backward, "round {rounds}");
            rounds += 1;
            if early.is_none() && began.elapsed() > length / 3 {
                early = Some(daemon.used());
            }
        }
        stop.store(true, Ordering::Relaxed);
        (early, rounds)
    });
    let early = early.unwrap_or_else(|| {
        rounds += 1;
        daemon.used()
    });
    let last = daemon.used();
    let said = daemon.end();
    println!(
        "{} s: {} processes, {} descriptors, {rounds} rounds; at a third {early}; at the end {last}; {}",
        length.as_secs(),
        processes.load(Ordering::Relaxed),
        opened.load(Ordering::Relaxed),
        said.lines().last().unwrap_or_default()
    );
    // Its tables fill in the first minute (18 to 21 MB seen in a quarter of one); after that they stay as they are.
    let fills = length < Duration::from_secs(120);
    let growth_max = GROWTH_KIB_MAX * if fills { 4 } else { 1 };
    assert!(last.kib <= early.kib + growth_max, "{early} to {last}");
    assert!(
        last.descriptors <= early.descriptors + 1,
        "{early} to {last}"
    );
}
