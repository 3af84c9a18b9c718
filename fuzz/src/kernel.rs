//! One life of a file under every read-ahead algorithm, on the page cache that the tests of
//! `policy` use and with the promises that they check.

#[path = "../../lab/replicas/tests/support/life.rs"]
mod life;
#[path = "../../lab/replicas/tests/support/page_cache.rs"]
mod page_cache;

use ahead_replicas::kernel::{Advice, Fault};
use life::{Place, Step, every_algorithm};

use crate::Feed;

/// Pages are mostly those of a small file, so that steps meet each other.
fn page(feed: &mut Feed<'_>) -> u64 {
    match feed.byte() % 8 {
        0 => feed.number(8) >> 13,
        1 => feed.number(2),
        _ => feed.number(1),
    }
}

fn advice(feed: &mut Feed<'_>) -> Advice {
    match feed.byte() % 3 {
        0 => Advice::Normal,
        1 => Advice::Sequential,
        _ => Advice::Random,
    }
}

fn step(feed: &mut Feed<'_>, next: &mut u64) -> Step {
    match feed.byte() % 16 {
        0 => Step::NeighboursMapped(feed.number(1)),
        1 => Step::Advise(advice(feed)),
        2 => Step::WillNeed {
            start: page(feed),
            pages: feed.number(2) % 2048,
        },
        3 | 4 => Step::Evict {
            start: page(feed),
            pages: feed.number(2) % 4096,
        },
        5 => Step::Cached {
            start: page(feed),
            pages: feed.number(1) % 40,
        },
        6 => Step::Congested(feed.byte().is_multiple_of(2)),
        7 => Step::Reclaimable(feed.number(2)),
        8 => Step::OthersRead(feed.number(2)),
        9 => Step::Reopen,
        10 | 11 => {
            let page = page(feed);
            let flags = feed.byte();
            Step::Fault(Fault {
                page,
                area_start: page.saturating_sub(feed.number(1)),
                area_end: page + feed.number(2),
                advice: advice(feed),
                executable: flags.is_multiple_of(3),
                huge: flags.is_multiple_of(16),
            })
        }
        kind => {
            // Most programs go on where they were.
            let start = if kind == 12 {
                page(feed) * 4096 + feed.number(2) % 4096
            } else {
                *next
            };
            let bytes = match feed.byte() {
                255 => feed.number(3) % 3_000_000,
                pages => u64::from(pages % 17) * 4096,
            };
            *next = start.saturating_add(bytes);
            Step::Read { start, bytes }
        }
    }
}

/// One life of a file under every algorithm of `kernel` and `literature`.
///
/// # Panics
/// When an algorithm breaks a promise.
pub fn kernel(data: &[u8]) {
    let mut feed = Feed(data);
    let place = Place {
        file_bytes: match feed.byte() % 8 {
            0 => feed.number(8) >> 1,
            1 => feed.number(2),
            _ => feed.number(3),
        },
        limit: match feed.byte() % 4 {
            0 => feed.number(2) % 2049,
            1 => 0,
            _ => 32,
        },
        io_pages: 1 + feed.number(2) % 2000,
        folio_order_max: feed.byte() % 10,
        slots: (feed.byte() % 3 == 0).then(|| 1 + usize::from(feed.byte())),
    };
    let mut next = 0;
    let mut steps = Vec::new();
    while !feed.0.is_empty() {
        steps.push(step(&mut feed, &mut next));
    }
    every_algorithm(&place, &steps);
}
