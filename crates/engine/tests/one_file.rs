//! The steps of one file through the engine, without a kernel: budget, device, account, feedback.

use ahead_engine::adviser::{Answer, CallsMade, Residency};
use ahead_engine::device::{Device, LongRead};
use ahead_engine::device_facts::DeviceFacts;
use ahead_engine::devices::DevicePlace;
use ahead_engine::file::{Around, FileFacts, FileState, Wait};
use ahead_engine::group::Group;
use ahead_engine::settings::Settings;
use ahead_policy::adaptive::{Outcome, Quick, STREAMS_MANY, Stream};
use ahead_policy::knobs::Knobs;
use ahead_policy::reason::{Pattern, Reason};
use ahead_units::{ByteRange, PageCount, PageRange, Timestamp};

/// A clock that stands still.
const NEVER: Timestamp = Timestamp::new(0);

/// Says of every range that so many pages of it were evicted.
struct Evicted(u64);

impl Residency for Evicted {
    fn evicted(&self, _range: PageRange) -> Option<PageCount> {
        Some(PageCount::new(self.0))
    }
}

struct World {
    group: Group,
    device: Device,
    file: FileState,
    /// What requests come to.
    answer: Answer,
}

impl World {
    fn new() -> Self {
        let group = Group::new();
        group
            .budget
            .set_limits(PageCount::new(1 << 20), PageCount::new(0), 50);
        let device = Device::default();
        device.set_facts(&DeviceFacts {
            identity: 0,
            rotational: Some(true),
            stripes: 1,
            call_pages_max: 256,
            kernel_window: 32,
            has_large_folios: false,
            access_ns: 0,
            bytes_per_second: 0,
            depth: 0,
        });
        let mut file = FileState::default();
        let facts = FileFacts {
            file_pages: PageCount::new(1 << 20),
            device: DevicePlace::default(),
            knobs: Knobs::default(),
        };
        file.on_open(&facts, NEVER);
        Self {
            group,
            device,
            file,
            answer: Answer::OnItsWay,
        }
    }

    fn read(&mut self, start: u64, length: u64) -> Outcome {
        self.read_range(PageRange::new(start, start + length))
    }

    fn read_range(&mut self, access: impl Into<ByteRange>) -> Outcome {
        let around = Around {
            group: &self.group,
            device: &self.device,
            is_shared: false,
            has_lone_reads: false,
            sees_all: true,
            is_over: false,
            now: NEVER,
        };
        let outcome = self.file.on_access(None, access, &around, 1);
        let pages = outcome.decision.prefetch.pages();
        if pages > PageCount::new(0) {
            let asked = match self.answer {
                answer @ (Answer::OnItsWay | Answer::Unknown) => CallsMade { answer, pages },
                answer => CallsMade::nothing(answer),
            };
            let stream = outcome.asker();
            self.file
                .on_answer(None, stream, asked, &self.group, &self.device);
        }
        outcome
    }

    /// The newest read has waited.
    fn wait(&mut self, start: u64, outcome: &Outcome, evicted: u64) {
        self.wait_of(start, outcome, self.file.served(), evicted);
    }

    fn wait_of(&mut self, start: u64, outcome: &Outcome, served: Option<PageCount>, evicted: u64) {
        self.wait_for(PageRange::new(start, start + 16), outcome, served, evicted);
    }

    fn wait_for(
        &mut self,
        access: PageRange,
        outcome: &Outcome,
        served: Option<PageCount>,
        evicted: u64,
    ) {
        let wait = Wait {
            stream: outcome.stream,
            covered: outcome.covered,
            served,
            filled_read: None,
            long_read: self.file.long_read(),
            waited_ns: 8_000_000,
        };
        let around = Around {
            group: &self.group,
            device: &self.device,
            is_shared: false,
            has_lone_reads: false,
            sees_all: true,
            is_over: false,
            now: NEVER,
        };
        self.file
            .on_wait(None, wait, access, &around, &Evicted(evicted));
    }
}

/// They are requested, and read with the call for them; what the kernel would bring in behind them may be read later.
#[test]
fn the_pages_of_a_long_read_are_requested_and_useful() {
    let mut world = World::new();
    let facts = DeviceFacts::configured(&Settings::default());
    world.device.set_facts(&facts.with_call_limits(128, 32));
    let first = world.read(70_000, 200);
    assert_eq!(first.decision.prefetch.count, 0);
    world.wait(70_000, &first, 0);
    let second = world.read(10_000, 200);
    assert_eq!(second.decision.reason, Reason::LongRead);
    assert_eq!(second.decision.prefetch.pages(), PageCount::new(256));
    world.wait_for(PageRange::new(10_000, 10_200), &second, None, 0);
    let (tally, wasted) = world.file.take_tally();
    let counts = (tally.prefetched, tally.useful, tally.late, wasted);
    assert_eq!(counts, (256, 200, 200, 0));
    assert_eq!(world.file.window, PageCount::new(256));
}

/// Reads of 1 MiB of a copy come to the kernel's read-ahead in pieces of a pipe, which widen no window.
#[test]
fn a_copy_inside_the_kernel_is_not_left_to_it_for_its_length() {
    for is_copied in [false, true] {
        let mut world = World::new();
        world.device.set_facts(&DeviceFacts {
            identity: 0,
            rotational: Some(false),
            stripes: 1,
            call_pages_max: 1024,
            kernel_window: 32,
            has_large_folios: false,
            access_ns: 0,
            bytes_per_second: 0,
            depth: 0,
        });
        if is_copied {
            world.file.on_copied();
        }
        for read in 0..8 {
            world.read(read * 256, 256);
        }
        let (tally, _) = world.file.take_tally();
        assert_eq!(tally.prefetched > 0, is_copied);
    }
}

/// `fadvise(SEQUENTIAL)` doubles the window of an open file, which is enough then: requests of ours beside it took sort -m a quarter
/// of its speed.
#[test]
fn a_scan_is_left_to_the_kernel_where_the_window_of_its_open_file_is_enough() {
    let asked = |window: Option<u64>| {
        let mut world = World::new();
        if let Some(pages) = window {
            world.file.set_kernel_window(PageCount::new(pages));
        }
        for read in 0..64 {
            world.read(read * 4, 4);
        }
        world.file.take_tally().0.prefetched
    };
    assert!(asked(None) > 0, "the device has 32 pages");
    assert!(asked(Some(32)) > 0);
    assert!(asked(Some(0)) > 0, "taken away");
    assert_eq!(asked(Some(1 << 15)), 0);
}

/// The first reader, left to the kernel, went through the file without a wait, so that all counted as being in memory and only eight
/// reads of 256 were looked at: the next one seemed to stop after eight, again and again.
#[test]
fn a_file_that_was_read_to_its_end_is_followed_when_it_is_read_again() {
    // The second reader begins where nothing is looked at.
    const PAGES: u64 = 4196;
    let mut world = World::new();
    let facts = FileFacts {
        file_pages: PageCount::new(PAGES),
        device: DevicePlace::default(),
        knobs: Knobs::default(),
    };
    world.file.on_open(&facts, NEVER);
    world.file.set_kernel_window(PageCount::new(1 << 15));
    for turn in 0..3 {
        let mut looked_at = Vec::new();
        for page in 0..PAGES {
            let quick = world
                .file
                .on_quick_access(None, PageRange::new(page, page + 1));
            if quick == Quick::No {
                looked_at.push((page, world.read(page, 1).decision.reason));
            }
        }
        let is_left = looked_at.contains(&(1, Reason::KernelAsks));
        assert!(is_left, "turn {turn}: {looked_at:?}");
        let ended = looked_at.iter().find(|(_, why)| *why == Reason::RunEnds);
        assert_eq!(ended, None, "turn {turn}");
    }
    // The next reader has no window.
    world.file.set_kernel_window(PageCount::new(0));
    for page in 0..PAGES {
        world.read(page, 1);
    }
    let (tally, _) = world.file.take_tally();
    assert!(tally.prefetched > PAGES * 9 / 10, "{tally:?}");
}

#[test]
fn what_a_scan_has_asked_for_is_in_the_budget_until_nobody_reads() {
    let mut world = World::new();
    for i in 0..200 {
        world.read(i * 16, 16);
    }
    assert!(world.group.budget.unread().get() > 0);
    world.file.on_idle(None, &world.group);
    assert_eq!(world.group.budget.unread().get(), 0);
    let (tally, wasted) = world.file.take_tally();
    assert_eq!(tally.accesses, 200);
    assert_eq!(tally.pages, 3200);
    assert_eq!(
        tally.prefetched,
        tally.useful + wasted + 16,
        "the second read is part of the first request"
    );
}

#[test]
fn the_quick_half_counts_like_the_whole() {
    let (mut whole, mut halves) = (World::new(), World::new());
    for i in 0..2000 {
        whole.read(i * 4, 4);
        let access = PageRange::new(i * 4, i * 4 + 4);
        if halves.file.on_quick_access(None, access) == Quick::No {
            halves.read(i * 4, 4);
        }
    }
    assert_eq!(whole.file.take_tally(), halves.file.take_tally());
}

/// `dd bs=1k` of 10 MB was said to read 38 MB, and backward by 512 bytes to have use of nine times what was prefetched.
#[test]
fn a_page_is_counted_once_for_all_small_reads_of_it() {
    const PAGES: u64 = 256;
    let facts = FileFacts {
        file_pages: PageCount::new(PAGES),
        device: DevicePlace::default(),
        knobs: Knobs::default(),
    };
    for length in [512, 1000, 1024, 5000, 1 << 17] {
        for backward in [false, true] {
            let mut world = World::new();
            world.file.on_open(&facts, NEVER);
            // The last read of a program that reads to the end begins there and finds nothing.
            let reads = (PAGES * 4096).div_ceil(length) + 1;
            for i in 0..reads {
                let i = if backward { reads - 1 - i } else { i };
                world.read_range(ByteRange::new(i * length, (i + 1) * length));
            }
            let (tally, wasted) = world.file.take_tally();
            let what = format!("{length} bytes, backward: {backward}: {tally:?}");
            assert_eq!((tally.accesses, tally.pages), (reads, PAGES), "{what}");
            assert!(tally.useful <= tally.pages, "{what}");
            assert!(tally.useful + wasted <= tally.prefetched, "{what}");
        }
    }
}

#[test]
fn an_evicted_window_is_counted_and_asked_for_again() {
    let mut world = World::new();
    for i in 0..1600 {
        world.read(i * 16, 16);
    }
    let outcome = world.read(25_600, 16);
    assert!(outcome.covered);
    world.wait(25_600, &outcome, 40);
    let (tally, _) = world.file.take_tally();
    assert_eq!((tally.thrashed, tally.late), (40, 16));
    let again = world.read(25_616, 16);
    assert!(again.decision.prefetch.count > 0, "{again:?}");
}

#[test]
fn a_wait_without_a_stream_tells_about_the_device() {
    let mut world = World::new();
    world.device.set_facts(&DeviceFacts {
        identity: 0,
        rotational: Some(false),
        stripes: 1,
        call_pages_max: 256,
        kernel_window: 32,
        has_large_folios: false,
        access_ns: 0,
        bytes_per_second: 0,
        depth: 0,
    });
    let before = world.device.estimate().access_ns;
    let outcome = world.read(5000, 1);
    let wait = Wait {
        stream: outcome.stream,
        covered: false,
        served: None,
        filled_read: None,
        long_read: LongRead::No,
        waited_ns: before / 2,
    };
    let around = Around {
        group: &world.group,
        device: &world.device,
        is_shared: false,
        has_lone_reads: false,
        sees_all: true,
        is_over: false,
        now: NEVER,
    };
    let access = PageRange::new(5000, 5001);
    world.file.on_wait(None, wait, access, &around, &Evicted(0));
    assert!(world.device.estimate().access_ns < before);
}

#[test]
fn a_file_with_many_streams_moves_to_the_large_table() {
    let mut world = World::new();
    let mut many = [Stream::default(); STREAMS_MANY];
    let mut moved = false;
    let (mut reads, mut covered) = (0, 0);
    for round in 0..60 {
        for stream in 0..20_u64 {
            let start = stream * 30_011 + round * 16;
            let access = PageRange::new(start, start + 16);
            let lent = moved.then_some(&mut many[..]);
            let around = Around {
                group: &world.group,
                device: &world.device,
                is_shared: false,
                has_lone_reads: false,
                sees_all: true,
                is_over: false,
                now: NEVER,
            };
            let outcome = world.file.on_access(lent, access, &around, 1);
            if round >= 20 {
                reads += 1;
                covered += u64::from(outcome.covered);
            }
            if !moved && world.file.wants_many() {
                world.file.move_to_many(&mut many);
                moved = true;
            }
        }
    }
    assert!(moved);
    assert_eq!(covered, reads);
}

#[test]
fn a_scan_found_in_memory_says_so() {
    let mut world = World::new();
    world.answer = Answer::WasCached;
    let mut reason = Reason::None;
    for i in 0..4000 {
        let outcome = world.read(i * 16, 16);
        if outcome.decision.prefetch.count > 0 {
            reason = outcome.decision.reason;
        }
    }
    assert_eq!(reason, Reason::AlreadyCached);
    assert_eq!(world.file.pattern, Pattern::Sequential);
    assert_eq!(
        world.group.budget.unread().get(),
        0,
        "pages of others are not in the budget"
    );
}

/// A daemon that came late was said to have requested 4.2 million pages of a file of 4096, and to have had use of them.
#[test]
fn what_was_in_memory_or_out_of_reach_was_neither_requested_nor_of_use() {
    const PAGES: u64 = 4096;
    for answer in [Answer::WasCached, Answer::NotHere, Answer::Refused] {
        let mut world = World::new();
        world.answer = answer;
        let facts = FileFacts {
            file_pages: PageCount::new(PAGES),
            device: DevicePlace::default(),
            knobs: Knobs::default(),
        };
        world.file.on_open(&facts, NEVER);
        let mut decided = 0;
        for read in 0..8 * PAGES / 4 {
            let start = read * 4 % PAGES;
            let outcome = world.read(start, 4);
            decided += outcome.decision.prefetch.pages().get();
            // What was in memory then may be gone by now, which is no lateness of ours.
            world.wait(start, &outcome, 0);
        }
        world.file.on_idle(None, &world.group);
        let (tally, wasted) = world.file.take_tally();
        assert!(decided > 0, "{answer:?}");
        assert_eq!(tally.pages, 8 * PAGES, "{answer:?}");
        let (requested, useful, late) = (tally.prefetched, tally.useful, tally.late);
        assert_eq!(
            (requested, useful, late, wasted),
            (0, 0, 0, 0),
            "{answer:?}"
        );
        assert_eq!(tally.waits_avoided(), 0, "{answer:?}");
        assert_eq!(world.file.window, PageCount::new(0), "{answer:?}");
    }
}

/// Half of what it reads was there before.
#[test]
fn of_a_scan_that_is_partly_in_memory_the_requested_part_is_of_use() {
    let mut world = World::new();
    for read in 0..4000 {
        let is_cached = read / 1000 % 2 == 0;
        world.answer = if is_cached {
            Answer::WasCached
        } else {
            Answer::OnItsWay
        };
        world.read(read * 16, 16);
    }
    world.file.on_idle(None, &world.group);
    let (tally, wasted) = world.file.take_tally();
    assert!(tally.prefetched > 0 && tally.useful > 0, "{tally:?}");
    assert!(tally.useful + wasted <= tally.prefetched, "{tally:?}");
    assert!(tally.useful <= tally.inside, "{tally:?}");
}

/// Of a read that calls brought one page for, all pages were said to be late: more than were of use.
#[test]
fn no_more_is_late_than_was_of_use() {
    for length in [1, 3, 16, 64] {
        let mut world = World::new();
        for read in 0..2000 {
            // Every other window is in memory, so that reads at its borders are due to calls in part.
            world.answer = match read / 50 % 2 {
                0 => Answer::OnItsWay,
                _ => Answer::WasCached,
            };
            let outcome = world.read(read * length, length);
            world.wait(read * length, &outcome, 0);
        }
        let (tally, _) = world.file.take_tally();
        assert!(tally.late > 0, "{length}: {tally:?}");
        assert!(tally.late <= tally.useful, "{length}: {tally:?}");
    }
}

/// Whether a read that waited was due to calls was looked up in the read before, which may be of another thread.
#[test]
fn a_wait_is_judged_by_its_own_read_where_threads_take_turns() {
    let mut world = World::new();
    for read in 0..100 {
        world.read(read * 16, 16);
    }
    let inside = world.read(1600, 16);
    let served = world.file.served();
    assert_eq!((inside.covered, served), (true, Some(PageCount::new(16))));
    let elsewhere = world.read(1 << 19, 16);
    assert_eq!(world.file.served(), None);
    world.wait_of(1600, &inside, served, 0);
    world.wait_of(1 << 19, &elsewhere, None, 0);
    let (tally, _) = world.file.take_tally();
    assert_eq!((tally.late, tally.covered_waits, tally.waits), (16, 1, 2));
}

/// All that was gone ahead of a reader counted, also what no calls were made for, and what was counted before.
#[test]
fn what_was_of_use_wasted_and_thrashed_is_no_more_than_was_requested() {
    for (evicted, is_partly_cached) in [(1, false), (40, false), (5000, false), (5000, true)] {
        let mut world = World::new();
        for read in 0..2000 {
            world.answer = if is_partly_cached && read / 50 % 2 == 1 {
                Answer::WasCached
            } else {
                Answer::OnItsWay
            };
            let outcome = world.read(read * 16, 16);
            if read % 7 == 0 {
                world.wait(read * 16, &outcome, evicted);
            }
        }
        world.file.on_idle(None, &world.group);
        let (tally, wasted) = world.file.take_tally();
        let what = format!("{evicted}, {is_partly_cached}: {wasted} and {tally:?}");
        assert!(tally.thrashed > 0, "{what}");
        let accounted = tally.useful + wasted + tally.thrashed;
        assert!(accounted <= tally.prefetched, "{what}");
    }
}
