//! What a reader of random places of flash pays for being watched: in turn without the daemon and with it, alone and beside
//! programs that compute on all processors. Not a test: it compares times, and alone it needs a quiet machine.

#[path = "../tests/support/mod.rs"]
mod support;

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use ahead_harness::statistics::median;
use support::daemon_disk::{FILE_BYTES, Ground};
use support::daemon_process::DaemonProcess;

const PAGE: usize = 4096;
const READS: u32 = 3000;
const ROUNDS: usize = 7;

/// Programs that compute, one more than this machine has processors.
struct Computing(Vec<Child>);

impl Computing {
    fn start() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let start = |_| {
            let mut shell = Command::new("sh");
            shell
                .args(["-c", "while :; do :; done"])
                .stdin(Stdio::null());
            shell.spawn().expect("a shell")
        };
        Self((0..=processors).map(start).collect())
    }
}

impl Drop for Computing {
    fn drop(&mut self) {
        for one in &mut self.0 {
            let _ = one.kill();
            let _ = one.wait();
        }
    }
}

/// Microseconds of a read at a random place, of a file of which nothing is in memory.
fn read_at_random(ground: &Ground) -> f64 {
    ground.evict("file");
    let file = File::open(ground.path("file")).expect("it was written");
    let mut random = fastrand::Rng::with_seed(7);
    let began = Instant::now();
    for _ in 0..READS {
        let page = random.u64(..FILE_BYTES / PAGE as u64);
        let mut read = [0; PAGE];
        file.read_exact_at(&mut read, page * PAGE as u64)
            .expect("inside");
    }
    began.elapsed().as_secs_f64() * 1e6 / f64::from(READS)
}

fn main() {
    let ground = Ground::at_real_speed("random", "ssd", "400M", FILE_BYTES);
    for is_busy in [false, true] {
        let _computing = is_busy.then(Computing::start);
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            without.push(read_at_random(&ground));
            let daemon = DaemonProcess::start(&[]);
            with.push(read_at_random(&ground));
            daemon.end();
        }
        let middle = |of: &[f64]| median(of).expect("rounds").value;
        let (without, with) = (middle(&without), middle(&with));
        let beside = if is_busy {
            "beside programs that compute"
        } else {
            "alone"
        };
        println!(
            "{beside}: a read takes {without:.0} us, {with:.0} with the daemon ({:.2})",
            without / with
        );
    }
}
