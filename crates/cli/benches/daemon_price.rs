//! What reads from memory pay while the daemon steers something else, and what they cost the daemon.
//!
//! A loop of `pread` of a page of a file that is not watched; beside it a reader of another file that misses now and
//! then, so that the programs on accesses stay attached. In turn with the daemon and without. The best mean of 5000
//! reads in a row counts, so that waiting for a processor is not in it. Not a test: it needs a quiet machine.

#[path = "../tests/support/mod.rs"]
mod support;

use std::fs::File;
use std::hint::black_box;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::Advice;
use support::daemon_process::DaemonProcess;

const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");
const PAGE: usize = 4096;
const FILE_BYTES: usize = 16 << 20;
const ROUNDS: usize = 7;
const TURN: Duration = Duration::from_secs(4);
const BATCH: u32 = 5000;

fn file() -> File {
    let mut file = tempfile::tempfile_in(FOLDER).expect("a folder");
    file.write_all(&vec![7; FILE_BYTES]).expect("space");
    file.sync_all().expect("written");
    file
}

/// What a turn of the loop was.
struct Reads {
    best_ns: f64,
    per_second: f64,
}

fn read_on(file: &File) -> Reads {
    let mut buffer = [0; PAGE];
    let (mut offset, mut batches) = (0, 0);
    let mut best_ns = f64::INFINITY;
    let began = Instant::now();
    while began.elapsed() < TURN {
        let batch = Instant::now();
        for _ in 0..BATCH {
            file.read_exact_at(black_box(&mut buffer), offset)
                .expect("inside");
            offset = (offset + PAGE as u64) % FILE_BYTES as u64;
        }
        best_ns = best_ns.min(batch.elapsed().as_secs_f64() * 1e9 / f64::from(BATCH));
        batches += 1;
    }
    let per_second = f64::from(batches) * f64::from(BATCH) / began.elapsed().as_secs_f64();
    Reads {
        best_ns,
        per_second,
    }
}

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

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Hundredths of a second of a processor that the daemon takes in a turn, in which `during` happens.
fn ticks<T>(daemon: &DaemonProcess, during: impl FnOnce() -> T) -> (u64, T) {
    let before = daemon.used().cpu_ticks;
    let done = during();
    (daemon.used().cpu_ticks - before, done)
}

fn main() {
    let (quiet, steered) = (file(), file());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| miss(&steered, &is_over));
        let mut more = Vec::new();
        for _ in 0..ROUNDS {
            let without = read_on(&quiet);
            let daemon = DaemonProcess::start(&[]);
            thread::sleep(Duration::from_millis(500));
            let (idle, ()) = ticks(&daemon, || thread::sleep(TURN));
            let (busy, with) = ticks(&daemon, || read_on(&quiet));
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
