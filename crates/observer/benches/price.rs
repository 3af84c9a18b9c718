//! What a read from memory pays while files are watched, none of which it reads. Root.
//!
//! A loop of `pread` of a page, in turn with the programs on accesses attached and without them. The best mean of 5000 reads
//! in a row counts, so that waiting for a processor is not in it. Not a test: it needs a quiet machine.

use std::fs::File;
use std::hint::black_box;
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::time::{Duration, Instant};

use ahead_observer::observation::FileKey;
use ahead_observer::observer::KernelObserver;

const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");
const PAGE: usize = 4096;
const FILE_BYTES: usize = 16 << 20;
const ROUNDS: usize = 7;
const TURN: Duration = Duration::from_millis(700);
const BATCH: u32 = 5000;

/// As many as the daemon watches at most, and a few.
const WATCHED: [u64; 2] = [50, 2048];

fn file() -> File {
    let mut file = tempfile::tempfile_in(FOLDER).expect("a folder");
    file.write_all(&vec![7; FILE_BYTES]).expect("space");
    file
}

/// Nanoseconds of a read, in the best batch of a turn.
fn best_ns(file: &File) -> f64 {
    let mut buffer = [0; PAGE];
    let mut offset = 0;
    let mut best = f64::INFINITY;
    let began = Instant::now();
    while began.elapsed() < TURN {
        let batch = Instant::now();
        for _ in 0..BATCH {
            file.read_exact_at(black_box(&mut buffer), offset)
                .expect("inside");
            offset = (offset + PAGE as u64) % FILE_BYTES as u64;
        }
        let taken = batch.elapsed().as_secs_f64() * 1e9;
        best = best.min(taken / f64::from(BATCH));
    }
    best
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn main() {
    let mut observer = KernelObserver::start().expect("root, and a kernel with the tracepoints");
    let (quiet, other) = (file(), file());
    let other = other.metadata().expect("open");
    let watched = |number| FileKey {
        device: other.dev(),
        inode: other.ino() + 1 + number,
    };
    for count in WATCHED {
        let (mut without, mut with, mut more) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let alone = best_ns(&quiet);
            for number in 0..count {
                observer.watch(watched(number)).expect("attached");
            }
            let beside = best_ns(&quiet);
            for number in 0..count {
                observer.forget(watched(number));
            }
            observer.rest();
            without.push(alone);
            with.push(beside);
            more.push(beside - alone);
        }
        let of = |all: &[f64]| {
            let all: Vec<_> = all.iter().map(|one| format!("{one:.0}")).collect();
            all.join(" ")
        };
        println!(
            "{count} files watched: {:.0} ns without ({}), {:.0} with ({}), {:.0} more",
            median(without.clone()),
            of(&without),
            median(with.clone()),
            of(&with),
            median(more)
        );
    }
}
