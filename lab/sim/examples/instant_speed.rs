//! How many page accesses per second the simulator does without a clock.
//!
//! ```text
//! cargo run --release -p ahead-sim --example instant_speed [ROW [ACCESSES]]
//! ```
//!
//! All rows, or those whose name contains ROW. A row is the best of five runs of the same work,
//! taken from the machine's clock: run it alone. For instructions per access, run a row under
//! `valgrind --tool=callgrind` or a counter of the processor with two numbers of accesses, and divide
//! the difference by five times that of the accesses.

use std::time::Instant as Clock;

use ahead_replicas::instant::{Instant, InstantSettings};
use ahead_replicas::kernel::folio::{Folio, FolioRelease};
use ahead_replicas::kernel::{Fault, Host, Read, ReadAhead};
use ahead_replicas::page_cache::{Aging, CacheSettings, Limit, Replacement};
use ahead_units::PAGE_BYTES;

/// Reads nothing ahead: what is measured is the walk and the cache.
#[derive(Clone, Copy)]
struct Nothing;

impl ReadAhead for Nothing {
    fn on_page<H: Host>(&mut self, _: &mut H, _: &Read, _: u64) {}
    fn on_fault<H: Host>(&mut self, _: &mut H, _: &Fault) {}
}

/// Pages of the file: 4 GiB.
const FILE_PAGES: u64 = 1 << 20;

/// Pages of a memory that holds a tenth of it.
const SMALL_MEMORY_PAGES: u64 = FILE_PAGES / 10;

const RUNS: usize = 5;

/// What was asked for on the command line.
struct Choice {
    row: String,
    accesses: u64,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let choice = Choice {
        row: arguments.next().unwrap_or_default(),
        accesses: arguments.next().map_or(FILE_PAGES, |accesses| {
            accesses.parse().expect("a number of accesses")
        }),
    };
    println!(
        "{:<52} {:>10} {:>10}",
        "4 KiB reads", "million/s", "ns each"
    );
    for (name, replacement) in [
        ("two lists", Replacement::TwoList),
        ("generations", Replacement::Generational),
    ] {
        let row = |title: &str| format!("{title}, {name}");
        let settings = |memory_pages, folio_order_max| InstantSettings {
            cache: CacheSettings {
                memory_pages,
                replacement,
                aging: Aging::FirstReferences,
                limit: Limit::Machine,
            },
            io_pages: 320,
            folio_order_max,
        };
        let all = settings(FILE_PAGES, 0);
        let small = settings(SMALL_MEMORY_PAGES, 0);
        let small_folios = settings(SMALL_MEMORY_PAGES, 9);
        let linux = Folio::new(FolioRelease::Linux6_18, 32);
        choice.run(&row("cached sequential, 6.18"), &all, linux, sequential);
        choice.run(
            &row("cached sequential, nothing"),
            &all,
            Nothing,
            sequential,
        );
        choice.run(&row("cached random, 6.18"), &all, linux, random);
        choice.run(&row("cached random, nothing"), &all, Nothing, random);
        choice.run(&row("evicting sequential, 6.18"), &small, linux, sequential);
        choice.run(
            &row("evicting folios, 6.18"),
            &small_folios,
            linux,
            sequential,
        );
        choice.run(&row("evicting random, 6.18"), &small, linux, random);
    }
}

fn sequential(step: u64) -> u64 {
    step % FILE_PAGES
}

/// Pages in an order that the caches of the machine cannot foresee.
fn random(step: u64) -> u64 {
    let mut state = step.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state ^= state >> 29;
    state = state.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (state >> 32) % FILE_PAGES
}

impl Choice {
    /// Reads the file once, then measures `accesses` more reads of a page each.
    fn run<A: ReadAhead>(
        &self,
        row: &str,
        settings: &InstantSettings,
        algorithm: A,
        page_at: fn(u64) -> u64,
    ) {
        if !row.contains(&self.row) {
            return;
        }
        let mut world = Instant::new(settings, ());
        let file = world.add_file(FILE_PAGES * PAGE_BYTES);
        let handle = world.open(file, algorithm);
        for page in 0..FILE_PAGES {
            world.read(handle, &Read::of_pages(page, 1));
        }
        let mut best = f64::INFINITY;
        for _ in 0..RUNS {
            let start = Clock::now();
            for step in 0..self.accesses {
                world.read(handle, &Read::of_pages(page_at(step), 1));
            }
            best = best.min(start.elapsed().as_secs_f64());
        }
        let seconds = best / self.accesses as f64;
        println!("{row:<52} {:>10.1} {:>10.1}", 1e-6 / seconds, seconds * 1e9);
    }
}
