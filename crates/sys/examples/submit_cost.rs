//! What it costs a reader to ask for pages, in three ways: `submit_cost FILE [SIZE_KIB…]`.
//!
//! * `direct` — `readahead(2)` by the reader
//! * `thread` — a message to a helper thread that calls `readahead(2)`
//! * `uring` — `IORING_OP_FADVISE` with `POSIX_FADV_WILLNEED`
//!
//! For each: how long the reader is held by asking (p50, p99), and how long after that the last page
//! can be read (p50). The file must be cold (`echo 3 > /proc/sys/vm/drop_caches`) and large: every
//! sample uses pages of its own. The three ways take turns.

use std::error::Error;
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use io_uring::{IoUring, opcode, types};

const SAMPLES: u64 = 96;
const WAYS: [&str; 3] = ["direct", "thread", "uring"];

fn readahead(file: &File, offset: u64, length: u64) {
    // SAFETY: a hint about an open file; touches no memory.
    unsafe { libc::syscall(libc::SYS_readahead, file.as_raw_fd(), offset, length) };
}

fn percentile(samples: &mut [Duration], percent: usize) -> f64 {
    samples.sort_unstable();
    samples[(samples.len() - 1) * percent / 100].as_secs_f64() * 1e6
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments
        .next()
        .ok_or("usage: submit_cost FILE [SIZE_KIB…]")?;
    let sizes: Vec<u64> = arguments
        .map(|text| text.parse())
        .collect::<Result<_, _>>()?;
    let sizes = if sizes.is_empty() {
        vec![16, 128, 1024]
    } else {
        sizes
    };
    let file = Arc::new(File::open(&path)?);
    let pages = file.metadata()?.len() / 4096;
    let mut ring = IoUring::new(8)?;

    let (sender, receiver) = mpsc::channel::<(u64, u64)>();
    let served = Arc::new(AtomicU32::new(0));
    let helper = std::thread::spawn({
        let (file, served) = (Arc::clone(&file), Arc::clone(&served));
        move || {
            for (offset, length) in receiver {
                readahead(&file, offset, length);
                served.fetch_add(1, Ordering::Release);
            }
        }
    });

    println!("way     size KiB   held p50 us   held p99 us   readable after p50 us");
    let mut next_page = 0;
    for size in sizes {
        let mut held = [const { Vec::new() }; 3];
        let mut after = [const { Vec::new() }; 3];
        for _ in 0..SAMPLES {
            for (way, name) in WAYS.iter().enumerate() {
                // A gap keeps the kernel's own read-ahead away from the next sample.
                next_page += size / 4 + 256;
                if next_page + size / 4 > pages {
                    return Err(format!("{path} is too small for these samples").into());
                }
                let (offset, length) = (next_page * 4096, size * 1024);
                let begin = Instant::now();
                match *name {
                    "direct" => readahead(&file, offset, length),
                    "thread" => sender.send((offset, length))?,
                    _ => {
                        let length32 = i64::try_from(length)?;
                        let entry = opcode::Fadvise::new(
                            types::Fd(file.as_raw_fd()),
                            length32,
                            libc::POSIX_FADV_WILLNEED,
                        )
                        .offset(offset)
                        .build();
                        // SAFETY: the entry refers to no memory; the file stays open.
                        unsafe { ring.submission().push(&entry)? };
                        ring.submit()?;
                    }
                }
                held[way].push(begin.elapsed());
                file.read_exact_at(&mut [0; 1], offset + length - 1)?;
                after[way].push(begin.elapsed());
                ring.completion().for_each(drop);
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        for (way, name) in WAYS.iter().enumerate() {
            println!(
                "{name:7} {size:8}   {:11.1}   {:11.1}   {:21.1}",
                percentile(&mut held[way], 50),
                percentile(&mut held[way], 99),
                percentile(&mut after[way], 50),
            );
        }
    }
    drop(sender);
    helper.join().map_err(|_| "the helper failed")?;
    Ok(())
}
