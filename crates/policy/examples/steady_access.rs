//! Runs COUNT accesses of one pattern and nothing else, for counting instructions:
//! `steady_access sequential|streams64|random COUNT`. `xtask/tests/instructions.rs` compares two
//! counts; by hand: `valgrind --tool=callgrind target/release/examples/steady_access …`.

use std::hint::black_box;

use ahead_policy::adaptive::{
    FileStreams, ListedRange, Moment, Quick, STREAMS_FEW, STREAMS_MANY, Stream,
};
use ahead_policy::device::DeviceEstimate;
use ahead_policy::knobs::Knobs;
use ahead_units::{PageCount, PageRange, Timestamp};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let pattern = arguments.next().unwrap_or_default();
    let count: u64 = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let places = if pattern == "sequential" {
        STREAMS_FEW
    } else {
        STREAMS_MANY
    };
    let mut file = FileStreams::default();
    let mut streams = vec![Stream::default(); places];
    let mut state = 88_172_645_463_325_252_u64;
    for i in 0..count {
        let start = match pattern.as_str() {
            "sequential" => i,
            "streams64" => ((i % 64) << 30) + (i % 64) * (i % 64) * 7 + i / 64,
            _ => {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state >> 34
            }
        };
        let access = PageRange::new(start, start + 1);
        // As the process host does: the quick half first.
        if black_box(file.on_quick_access(&mut streams, black_box(access))) != Quick::No {
            continue;
        }
        black_box(
            file.on_access(&mut streams, access, Timestamp::new(0), || Moment {
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
            }),
        );
    }
}
