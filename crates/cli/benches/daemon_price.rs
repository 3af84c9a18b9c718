//! What reads from memory pay while the daemon steers something else, and what they cost the daemon.
//!
//! A loop of `pread` of a page of a file that is not watched; beside it a reader of another file that misses now and
//! then, so that the programs on accesses stay attached. In turn with the daemon and without. Not a test: it needs a quiet
//! machine.

#[path = "../../observer/benches/support/mod.rs"]
mod cached_reads;
#[path = "../tests/support/mod.rs"]
mod support;

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use cached_reads::{FILE_BYTES, PAGE, file, median, read_for};
use rustix::fs::Advice;
use support::daemon_process::DaemonProcess;

const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");
const ROUNDS: usize = 7;
const TURN: Duration = Duration::from_secs(4);

/// Misses of `file`, one each 20 ms, until `is_over`.
fn miss(file: &File, is_over: &AtomicBool) {
    let mut offset = 0;
    while !is_over.load(Relaxed) {
        rustix::fs::fadvise(file, 0, None, Advice::DontNeed).expect("a file");
        file.read_exact_at(&mut [0; PAGE], offset).expect("inside");
        offset = (offset + 5_000_000) / PAGE as u64 * PAGE as u64 % FILE_BYTES as u64;
        thread::sleep(Duration::from_millis(20));
    }
}

/// Hundredths of a second of a processor that the daemon takes in a turn, in which `during` happens.
fn ticks<T>(daemon: &DaemonProcess, during: impl FnOnce() -> T) -> (u64, T) {
    let before = daemon.used().cpu_ticks;
    let done = during();
    (daemon.used().cpu_ticks - before, done)
}

fn main() {
    let folder = Path::new(FOLDER);
    let (quiet, steered) = (file(folder), file(folder));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| miss(&steered, &is_over));
        let mut more = Vec::new();
        for _ in 0..ROUNDS {
            let without = read_for(TURN, &quiet);
            let daemon = DaemonProcess::start(&[]);
            thread::sleep(Duration::from_millis(500));
            let (idle, ()) = ticks(&daemon, || thread::sleep(TURN));
            let (busy, with) = ticks(&daemon, || read_for(TURN, &quiet));
            daemon.end();
            println!(
                "{:.0} ns without the daemon, {:.0} with it; it took {busy} ticks of {} at {:.2} million reads a second, {idle} without the loop",
                without.best_ns,
                with.best_ns,
                TURN.as_secs() * 100,
                with.per_second / 1e6,
            );
            more.push(with.best_ns - without.best_ns);
        }
        is_over.store(true, Relaxed);
        println!("{:.0} ns more", median(more));
    });
}
