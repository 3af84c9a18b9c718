//! What is fed from outside, fed with anything.
//!
//! The bodies are plain functions: `cargo fuzz` drives them with coverage for as long as one
//! likes, `tests/smoke.rs` with a fixed stream of bytes in every test run.
#![forbid(unsafe_code)]

mod control;
mod kernel;
mod traces;

pub use control::control;
pub use kernel::kernel;
pub use traces::{parquet, traces};

use ahead_policy::adaptive::{
    FileStreams, ListedRange, Moment, Quick, STREAMS_FEW, STREAMS_MANY, Stream,
};
use ahead_policy::device::DeviceEstimate;
use ahead_policy::knobs::Knobs;
use ahead_units::{ByteLength, ByteOffset, ByteRange, PAGE_BYTES, PageCount, PageRange, Timestamp};

/// Numbers taken from the front of some bytes; zeros when they are used up.
struct Feed<'a>(&'a [u8]);

impl Feed<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    /// A number of up to `8 * bytes` bits.
    fn number(&mut self, bytes: u32) -> u64 {
        (0..bytes).fold(0, |number, _| number << 8 | u64::from(self.byte()))
    }
}

/// One life of a file, with page numbers from everywhere, the end of the number space included.
///
/// # Panics
/// When a decision breaks a promise.
pub fn policy(data: &[u8]) {
    let mut feed = Feed(data);
    let mut file = FileStreams::default();
    let mut streams = vec![Stream::default(); STREAMS_FEW];
    let mut moment = Moment {
        knobs: Knobs {
            readahead_ratio: u32::from(feed.byte()),
            readahead_hit_rate: u32::from(feed.byte() % 17),
            request_pages_max: PageCount::new(feed.number(3)),
        },
        device: DeviceEstimate {
            access_ns: feed.number(8),
            bytes_per_second: feed.number(8),
            depth: u32::from(feed.byte()),
        },
        file_pages: PageCount::new(feed.number(8)),
        expected: PageCount::new(feed.number(2)),
        threshold: PageCount::new(feed.number(8)),
        available: PageCount::new(feed.number(4)),
        kernel_window: PageCount::new(feed.number(2)),
        scans_are_left: false,
        streams: u32::from(feed.byte()),
        contested: false,
        lone_reads: false,
        starved: false,
        waiting: u32::from(feed.byte()),
        listed: ListedRange::default(),
        is_sequential: false,
        is_left_alone: false,
        strides_are_left_alone: false,
    };
    let mut newest = (PageRange::new(0, 0), None, false);
    let (mut at, mut now) = (0_u64, 0_u64);
    while !feed.0.is_empty() {
        let stream = newest.1;
        match feed.byte() % 16 {
            0 => file.on_wait(&mut streams, stream, newest.0, newest.2),
            1 => file.on_cached(&mut streams, stream),
            2 => file.on_not_cached(&mut streams, stream),
            3 => file.on_thrashed(&mut streams, stream, PageCount::new(feed.number(2))),
            4 => {
                file.on_idle(&mut streams);
                assert_eq!(file.unread(&streams).0.get(), 0);
            }
            5 => moment.file_pages = PageCount::new(feed.number(8)),
            6 => moment.available = PageCount::new(feed.number(3)),
            7 => {
                let others = feed.byte();
                moment.contested = others & 1 > 0;
                moment.kernel_window = PageCount::new(u64::from(others >> 3) * 64);
                moment.is_left_alone = others & 6 == 6;
                moment.scans_are_left = others & 24 == 24;
            }
            kind => {
                // Steps as programs make them, or a jump anywhere.
                at = match kind {
                    8 => feed.number(8),
                    9 => feed.number(2),
                    10 => at.wrapping_sub(feed.number(1)),
                    _ => at.wrapping_add(feed.number(1)),
                };
                let access = PageRange::new(at, at.saturating_add(feed.number(1)));
                // Most programs read whole pages; some any bytes, over and over at the same distance.
                let bytes = if kind < 14 {
                    ByteRange::from(access)
                } else {
                    let inside = at.saturating_mul(PAGE_BYTES).saturating_add(feed.number(2));
                    ByteRange::of(ByteOffset::new(inside), ByteLength::new(feed.number(4)))
                };
                let access = bytes.pages();
                if file.on_quick_access(&mut streams, access) != Quick::No {
                    continue;
                }
                // Clocks of two processors: mostly forward.
                now = now.wrapping_add(feed.number(1) << 16).wrapping_sub(1 << 18);
                let now = Timestamp::new(now);
                let outcome = file.on_access(&mut streams, bytes, now, || moment);
                for range in outcome.decision.prefetch.ranges() {
                    assert!(range.end.get() <= moment.file_pages.get(), "{outcome:?}");
                }
                assert!(
                    outcome.decision.prefetch.pages() <= moment.available,
                    "{outcome:?}"
                );
                newest = (access, outcome.stream, outcome.covered);
                let _ = file.ahead(&streams, outcome.stream);
                if file.is_crowded() && streams.len() < STREAMS_MANY {
                    streams.resize(STREAMS_MANY, Stream::default());
                }
            }
        }
    }
}

/// What was kept of devices: as a whole file, and as slots behind a right beginning.
fn estimates(data: &[u8]) {
    use ahead_engine::estimates::{
        Estimates, MAGIC, SharedEstimate, WORDS, words_of, words_of_file,
    };
    assert!(words_of_file(data).is_none_or(|words| words.len() == WORDS));
    let mut file = MAGIC.to_ne_bytes().to_vec();
    file.extend(
        data.iter()
            .copied()
            .chain(std::iter::repeat(0))
            .take(WORDS * 8),
    );
    let kept = words_of_file(&file).expect("a file of the right length and version");
    let mut feed = Feed(data);
    let now = Timestamp::new(feed.number(8));
    let kept = Estimates::new(&kept, feed.number(8));
    let words = words_of(&[]);
    let all = Estimates::new(&words, feed.number(5));
    let _ = all.take_over(kept, now);
    for known in [kept, all] {
        let device = SharedEstimate::new();
        device.set_identity(feed.number(8), DeviceEstimate::FLASH);
        for _ in 0..2 {
            if let Some(heard) = device.hear(known, now) {
                let estimate = heard.estimate;
                assert!(
                    (1_000..=50_000_000).contains(&estimate.access_ns),
                    "{heard:?}"
                );
                assert!(
                    estimate.depth > 0 && estimate.bytes_per_second > 0,
                    "{heard:?}"
                );
            }
            let _ = device.tell(known, DeviceEstimate::ARM, None, now);
        }
    }
}

/// Config file, settings, disk model, account of a run, what was kept of devices: each says no, or takes it.
///
/// # Panics
/// When something that was accepted cannot be written and read back.
pub fn parsers(data: &[u8]) {
    let _ = ahead_engine::report::decode(data);
    let mut account = vec![0; ahead_engine::report::FILE_BYTES];
    account[..8].copy_from_slice(&ahead_engine::report::MAGIC.to_ne_bytes());
    for (place, byte) in account.iter_mut().skip(512).zip(data) {
        *place = *byte;
    }
    let _ = ahead_engine::report::decode(&account);

    estimates(data);

    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut settings = ahead_engine::settings::Settings::default();
    let _ = ahead_cli::run::config::apply(text, &mut settings);
    let _ = settings.set_pair(text);
    let back = ahead_engine::settings::Settings::from_environment(&settings.to_environment());
    assert_eq!(back, settings);
    let _ = ahead_engine::settings::Settings::from_environment(text);
    if let Ok(model) = ahead_disk_model::DiskModel::from_toml(text) {
        let again = model.to_toml().expect("what was read can be written");
        assert_eq!(ahead_disk_model::DiskModel::from_toml(&again), Ok(model));
    }
}
