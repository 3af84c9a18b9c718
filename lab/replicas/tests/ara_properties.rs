//! Adaptive read-ahead through generated lives: what holds for every release, whatever happens.

#[path = "support/page_cache.rs"]
mod page_cache;

use ahead_replicas::kernel::ara::{Ara, AraKnobs, AraRelease};
use ahead_replicas::kernel::ara_v1::AraV1;
use ahead_replicas::kernel::{Advice, Class, Host, Learned, PageState, Read, ReadAhead};
use page_cache::PageCache;
use proptest::prelude::*;

const FILE_PAGES: u64 = 3000;

/// What happens to an open file.
#[derive(Clone, Copy, Debug)]
enum Event {
    Read { start: u64, bytes: u64 },
    GoOn { pages: u64 },
    GoBack { pages: u64 },
    Fault { page: u64, advice: Advice },
    Advise(Advice),
    Evict { start: u64, pages: u64 },
    TimePasses { ticks: u64 },
    Congestion(bool),
    DiskSleeps(bool),
    MemoryIs { pages: u64 },
    Close,
}

fn advice() -> impl Strategy<Value = Advice> {
    prop_oneof![
        Just(Advice::Normal),
        Just(Advice::Sequential),
        Just(Advice::Random)
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let page = 0..FILE_PAGES;
    let byte = 0..FILE_PAGES * 4096;
    prop_oneof![
        2 => (byte, 1..600_000u64).prop_map(|(start, bytes)| Event::Read { start, bytes }),
        8 => (1..40u64).prop_map(|pages| Event::GoOn { pages }),
        4 => (1..12u64).prop_map(|pages| Event::GoBack { pages }),
        2 => (page.clone(), advice()).prop_map(|(page, advice)| Event::Fault { page, advice }),
        1 => advice().prop_map(Event::Advise),
        2 => (page, 1..600u64).prop_map(|(start, pages)| Event::Evict { start, pages }),
        1 => (0..400_000u64).prop_map(|ticks| Event::TimePasses { ticks }),
        1 => any::<bool>().prop_map(Event::Congestion),
        1 => any::<bool>().prop_map(Event::DiskSleeps),
        1 => (0..120_000u64).prop_map(|pages| Event::MemoryIs { pages }),
        1 => Just(Event::Close),
    ]
}

fn release() -> impl Strategy<Value = AraRelease> {
    prop_oneof![
        Just(AraRelease::V15),
        Just(AraRelease::June),
        Just(AraRelease::V16)
    ]
}

prop_compose! {
    fn life()(
        release in release(),
        ratio in prop_oneof![Just(50u64), Just(100), 10..200u64],
        hit_rate in 0..9u64,
        pages_max in prop_oneof![Just(0u64), Just(1), Just(32), Just(256), Just(70_000)],
        look_ahead: bool,
        hit_feedback: bool,
        nfsd: bool,
    ) -> (AraRelease, AraKnobs) {
        let knobs = AraKnobs {
            ratio,
            hit_rate,
            pages_max,
            look_ahead,
            hit_feedback,
            nfsd,
            ..AraKnobs::of(release)
        };
        (release, knobs)
    }
}

/// Lives one event; `sleep` is how the algorithm is told of a sleeping disk. The bound that held
/// while it happened: memory and advice change it.
fn live<A: ReadAhead>(
    cache: &mut PageCache,
    file: &mut A,
    position: &mut u64,
    event: Event,
    sleep: impl Fn(&mut A, bool),
) {
    let at = *position;
    let mut read = |cache: &mut PageCache, file: &mut A, read: Read| {
        cache.read_bytes(file, &read);
        *position = read.end.div_ceil(4096).min(FILE_PAGES);
        for page in read.first_page()..*position {
            assert_ne!(cache.state(page), PageState::Absent, "page {page}");
        }
    };
    match event {
        Event::Read { start, bytes } => read(
            cache,
            file,
            Read {
                start,
                end: start + bytes,
            },
        ),
        Event::GoOn { pages } => read(cache, file, Read::of_pages(at, pages)),
        Event::GoBack { pages } => {
            let start = at.saturating_sub(2 * pages);
            read(cache, file, Read::of_pages(start, pages));
        }
        Event::Fault { page, advice } => {
            let fault = cache.whole_file(page, advice);
            cache.fault_in(file, &fault);
        }
        Event::Advise(advice) => file.on_advice(advice),
        Event::Evict { start, pages } => cache.evict(start..start + pages),
        Event::TimePasses { ticks } => cache.clock += ticks,
        Event::Congestion(is_congested) => cache.congested = is_congested,
        Event::DiskSleeps(is_asleep) => sleep(file, is_asleep),
        Event::MemoryIs { pages } => cache.reclaimable = pages,
        Event::Close => file.on_close(cache, at * 4096),
    }
}

/// Pages above which no window of this event may be. The first window is bounded by the threshold
/// alone, and near its end the file adds up to a quarter and, in V16, four pages.
fn most(class: Class, learned: &Learned, pages_max: u64) -> u64 {
    let most = match class {
        Class::Initial => pages_max.max(learned.thrash_bytes / 4096),
        Class::Single => 1,
        _ => pages_max,
    };
    most + most / 4 + 4
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every page of a read arrives, no window wraps or begins behind the end of the file, its mark
    /// lies inside it, and it is no longer than the limit.
    #[test]
    fn a_window_stays_inside_its_bounds(
        (release, knobs) in life(),
        events in prop::collection::vec(event(), 1..120),
    ) {
        let mut cache = PageCache::new(FILE_PAGES);
        cache.learned = release.learned();
        let mut file = Ara::with_knobs(release, knobs);
        let mut position = 0;
        // SEQUENTIAL doubles the limit.
        let mut pages_max = knobs.pages_max;
        for event in events {
            let learned = cache.learned;
            live(&mut cache, &mut file, &mut position, event, |file, is_asleep| {
                file.set_disk_asleep(is_asleep);
            });
            if let Event::Advise(advice) = event {
                pages_max = match advice {
                    Advice::Normal => knobs.pages_max,
                    Advice::Sequential => knobs.pages_max * 2,
                    Advice::Random => 0,
                };
            }
            for started in cache.take_log() {
                let window = started.window;
                let end = window.start.checked_add(window.pages);
                prop_assert!(end.is_some(), "{window:?} wraps");
                prop_assert!(window.start < FILE_PAGES, "{window:?}");
                prop_assert!(window.pages > 0, "{window:?} is empty");
                if let Some(mark) = window.mark {
                    prop_assert!(window.start <= mark && Some(mark) < end, "{window:?}");
                }
                // A request may be longer where nothing is read ahead.
                if pages_max > 0 && cache.reclaimable / 2 >= pages_max {
                    let most = most(window.class, &learned, pages_max);
                    prop_assert!(window.pages <= most, "{window:?} above {most}");
                }
            }
        }
    }

    /// Ratio 0 reads what is asked for and nothing else.
    #[test]
    fn ratio_zero_reads_nothing_ahead(
        release in release(),
        events in prop::collection::vec(event(), 1..80),
    ) {
        let mut cache = PageCache::new(FILE_PAGES);
        let knobs = AraKnobs { ratio: 0, ..AraKnobs::of(release) };
        let mut file = Ara::with_knobs(release, knobs);
        let mut position = 0;
        for event in events {
            if matches!(event, Event::Fault { advice: Advice::Normal, .. }) {
                // Reads around, whatever the ratio: that is the old logic.
                continue;
            }
            live(&mut cache, &mut file, &mut position, event, |file, is_asleep| {
                file.set_disk_asleep(is_asleep);
            });
            for started in cache.take_log() {
                let is_plain = matches!(started.window.class, Class::Random | Class::Single);
                prop_assert!(is_plain && started.window.mark.is_none(), "{started:?}");
                let end = started.window.start + started.window.pages;
                let faulted = match event {
                    Event::Fault { page, .. } => page + 1,
                    Event::Read { start, bytes } => (start + bytes).div_ceil(4096),
                    Event::GoOn { .. } | Event::GoBack { .. } => u64::MAX,
                    _ => 0,
                };
                prop_assert!(end <= faulted, "{started:?} ahead of {event:?}");
            }
        }
    }

    /// The first version never looks ahead of a request without somebody waiting for it.
    #[test]
    fn the_first_version_sets_no_marks_and_keeps_its_limit(
        ratio in prop_oneof![Just(0u64), 10..200u64],
        events in prop::collection::vec(event(), 1..120),
    ) {
        let mut cache = PageCache::new(FILE_PAGES);
        let mut file = AraV1::new(ratio, 256);
        let mut position = 0;
        for event in events {
            live(&mut cache, &mut file, &mut position, event, |_, _| {});
            for started in cache.take_log() {
                let window = started.window;
                prop_assert!(window.mark.is_none() && window.pages > 0, "{window:?}");
if window.class != Class::Around {
                    prop_assert!(window.start + window.pages <= FILE_PAGES, "{window:?}");
                }
                let is_plain = window.class == Class::Random;
                // A backward window is a short request and eight pages.
                prop_assert!(is_plain || window.pages <= 512 + 8, "{window:?}");
            }
        }
        prop_assert_eq!(cache.marks(), Vec::<u64>::new());
    }
}
