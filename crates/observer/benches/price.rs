//! What a read from memory pays while files are watched, none of which it reads. Root.
//!
//! A loop of `pread` of a page, in turn with the programs on accesses attached and without them. Not a test: it needs a
//! quiet machine.

mod support;

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use ahead_observer::observation::FileKey;
use ahead_observer::observer::KernelObserver;
use support::{file, median, read_for};

const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");
const ROUNDS: usize = 7;
const TURN: Duration = Duration::from_millis(700);

/// As many as the daemon watches at most, and a few.
const WATCHED: [u64; 2] = [50, 2048];

fn main() {
    let mut observer = KernelObserver::start().expect("root, and a kernel with the tracepoints");
    let folder = Path::new(FOLDER);
    let (quiet, other) = (file(folder), file(folder));
    let metadata = |file: &File| file.metadata().expect("open");
    let (quiet_inode, other) = (metadata(&quiet).ino(), metadata(&other));
    // Behind both: the file that is read may have either number.
    let first = quiet_inode.max(other.ino()) + 1;
    let watched = |number| FileKey {
        device: other.dev(),
        inode: first + number,
    };
    for count in WATCHED {
        let (mut without, mut with, mut more) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let alone = read_for(TURN, &quiet).best_ns;
            for number in 0..count {
                observer.watch(watched(number)).expect("attached");
            }
            let beside = read_for(TURN, &quiet).best_ns;
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
