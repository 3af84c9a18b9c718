//! What one access costs in the steady state of each pattern.
//!
//! `cargo bench -p ahead-policy`. Promise: at most 50 ns. The time of making the next access is
//! included. Repeatable instruction counts: `xtask/tests/instructions.rs`.

use std::hint::black_box;

use ahead_policy::adaptive::{
    FileStreams, ListedRange, Moment, Quick, STREAMS_FEW, STREAMS_MANY, Stream,
};
use ahead_policy::device::DeviceEstimate;
use ahead_policy::knobs::Knobs;
use ahead_units::{PageCount, PageRange, Timestamp};
use criterion::{Criterion, criterion_group, criterion_main};

/// A clock that stands still.
const NEVER: Timestamp = Timestamp::new(0);

fn moment() -> Moment {
    Moment {
        knobs: Knobs::default(),
        device: DeviceEstimate::ARM,
        file_pages: PageCount::new(1 << 40),
        expected: PageCount::new(0),
        threshold: PageCount::new(131_072),
        available: PageCount::new(65_536),
        kernel_window: PageCount::new(32),
        scans_are_left: false,
        streams: 1,
        contested: false,
        lone_reads: false,
        starved: false,
        waiting: 0,
        listed: ListedRange::default(),
        is_sequential: false,
        is_left_alone: false,
        strides_are_left_alone: false,
    }
}

fn steady(c: &mut Criterion, name: &str, places: usize, mut next: impl FnMut() -> PageRange) {
    let mut file = FileStreams::default();
    let mut streams = vec![Stream::default(); places];
    for _ in 0..20_000 {
        file.on_access(&mut streams, next(), NEVER, moment);
    }
    c.bench_function(name, |bencher| {
        // As the process host does: the quick half first.
        bencher.iter(|| {
            let access = black_box(next());
            if black_box(file.on_quick_access(&mut streams, access)) == Quick::No {
                black_box(file.on_access(&mut streams, access, NEVER, moment));
            }
        });
    });
}

fn all(c: &mut Criterion) {
    let mut at = 0;
    steady(c, "sequential", STREAMS_FEW, || {
        at += 1;
        PageRange::new(at, at + 1)
    });
    let mut at = 1 << 39;
    steady(c, "backward", STREAMS_FEW, || {
        at -= 1;
        PageRange::new(at, at + 1)
    });
    let mut at = 0;
    steady(c, "strided", STREAMS_FEW, || {
        at += 16;
        PageRange::new(at, at + 4)
    });
    for streams in [8, 64] {
        let (mut round, mut stream) = (0, 0);
        steady(
            c,
            &format!("{streams} streams in turn"),
            STREAMS_MANY,
            || {
                stream += 1;
                if stream == streams {
                    (round, stream) = (round + 1, 0);
                }
                let start = (stream << 30) + stream * stream * 7 + round;
                PageRange::new(start, start + 1)
            },
        );
    }
    for places in [STREAMS_FEW, STREAMS_MANY] {
        let mut state = 88_172_645_463_325_252_u64;
        steady(c, &format!("random, {places} places"), places, || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            PageRange::new(state >> 34, (state >> 34) + 1)
        });
    }
}

criterion_group!(benches, all);
criterion_main!(benches);
