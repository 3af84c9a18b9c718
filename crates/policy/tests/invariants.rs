//! Generated lives of a file: whatever happens, the promises hold.
//!
//! [`Reader::read`] checks each decision (never beyond the end of the file, never over the
//! budget). Here the books over a whole life are checked against plain sets, the reference model.

mod support;

use ahead_policy::device::DeviceEstimate;
use ahead_units::{ByteLength, ByteOffset, ByteRange, PAGE_BYTES, PageCount};
use proptest::prelude::*;
use support::Reader;

#[derive(Clone, Debug)]
enum Step {
    /// So many reads of `length` pages, each `stride` pages after the last.
    Run {
        start: u64,
        length: u64,
        stride: i64,
        count: u64,
    },
    /// The same in bytes.
    ByteRun {
        start: u64,
        length: u64,
        stride: i64,
        count: u64,
    },
    /// One read anywhere.
    Jump { start: u64, length: u64 },
    /// The newest read waited.
    Wait,
    /// The newest request found everything in memory.
    FoundCached,
    /// Pages were evicted before use.
    Evict { pages: u64 },
    /// Nothing is read for a while.
    TimePasses,
    /// The file becomes longer or shorter.
    FileBecomes { pages: u64 },
    /// Others took or gave back memory.
    BudgetBecomes { available: u64, threshold: u64 },
    /// Others use the device, or stop.
    Contest(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let page = 0..1_u64 << 20;
    prop_oneof![
        6 => (page.clone(), 1..64_u64, -70..70_i64, 1..120_u64)
            .prop_map(|(start, length, stride, count)| Step::Run { start, length, stride, count }),
        3 => (0..1_u64 << 32, 1..300_000_u64, -20_000_000..20_000_000_i64, 1..60_u64)
            .prop_map(|(start, length, stride, count)| Step::ByteRun { start, length, stride, count }),
        6 => (page.clone(), 1..600_u64).prop_map(|(start, length)| Step::Jump { start, length }),
        2 => Just(Step::Wait),
        1 => Just(Step::FoundCached),
        1 => (1..5000_u64).prop_map(|pages| Step::Evict { pages }),
        1 => Just(Step::TimePasses),
        1 => (0..1_u64 << 20).prop_map(|pages| Step::FileBecomes { pages }),
        1 => (0..70_000_u64, 0..140_000_u64)
            .prop_map(|(available, threshold)| Step::BudgetBecomes { available, threshold }),
        1 => any::<bool>().prop_map(Step::Contest),
    ]
}

/// Pages beyond the hit rate that a life may cost: the debt that is granted, and what was on its
/// way when the debt was noticed, or when windows were taken away from outside.
fn allowance(unread_max: u64, taken_away: u64) -> u64 {
    512 + unread_max + taken_away
}

fn live(steps: &[Step], hit_rate: u32) {
    let mut reader = Reader::new(1 << 20);
    reader.moment.knobs.readahead_hit_rate = hit_rate;
    let mut newest = (0, 1, reader.read(0, 1));
    let (mut unread_max, mut taken_away) = (0, 0);
    for step in steps {
        let mut each = |reader: &mut Reader, start: u64, length, stride, count| {
            let mut at = start;
            for _ in 0..count {
                let bytes = ByteRange::of(ByteOffset::new(at), ByteLength::new(length));
                let pages = bytes.pages();
                let outcome = reader.read_bytes(bytes);
                newest = (pages.start.get(), pages.len().get(), outcome);
                unread_max = unread_max.max(reader.unread());
                let Some(next) = at.checked_add_signed(stride) else {
                    break;
                };
                at = next;
            }
        };
        match *step {
            Step::Run {
                start,
                length,
                stride,
                count,
            } => each(
                &mut reader,
                start * PAGE_BYTES,
                length * PAGE_BYTES,
                stride * 4096,
                count,
            ),
            Step::ByteRun {
                start,
                length,
                stride,
                count,
            } => each(&mut reader, start, length, stride, count),
            Step::Jump { start, length } => newest = (start, length, reader.read(start, length)),
            Step::Wait => reader.wait(newest.0, newest.1, &newest.2),
            Step::FoundCached => {
                taken_away += reader.unread();
                reader.found_cached(&newest.2);
            }
            Step::Evict { pages } => {
                taken_away += reader.unread();
                reader.thrash(&newest.2, pages);
            }
            Step::TimePasses => {
                taken_away += reader.idle();
                assert_eq!(reader.unread(), 0, "an idle file holds nothing");
            }
            Step::FileBecomes { pages } => reader.moment.file_pages = PageCount::new(pages),
            Step::BudgetBecomes {
                available,
                threshold,
            } => {
                reader.moment.available = PageCount::new(available);
                reader.moment.threshold = PageCount::new(threshold);
            }
            Step::Contest(contested) => reader.moment.contested = contested,
        }
        unread_max = unread_max.max(reader.unread());
        // The policy never believes in more unread pages than were ever asked for.
        assert!(reader.unread() <= reader.asked_total);
        // Prefetched pages per accessed page: the limit, over the whole life.
        let limit = reader.read_total * u64::from(hit_rate) + allowance(unread_max, taken_away);
        let settled = reader.asked_total - reader.unread();
        assert!(
            settled <= limit,
            "{settled} pages for {} read, at most {limit}",
            reader.read_total
        );
    }
}

/// A backward run with equal holes is first taken for a run, then for a stride. The stride began where
/// the reader was, so what the run's window held was asked for twice.
#[test]
fn a_window_that_becomes_strided_is_not_asked_for_again() {
    let run = |start, length, stride, count| Step::Run {
        start,
        length,
        stride,
        count,
    };
    live(&[run(1201, 54, -55, 20), run(1099, 57, -58, 10)], 1);
}

/// A life that the fuzz found: after a request that was in memory, the next one was for twice as much, although only a
/// probe asks for less than it reaches. 10 880 pages where 8776 were available.
#[test]
fn after_one_request_that_was_in_memory_the_next_one_fits_into_what_is_available() {
    let mut reader = Reader::new(1 << 20);
    reader.moment.knobs.readahead_ratio = 179;
    reader.moment.knobs.request_pages_max = PageCount::new(10_094_878);
    reader.moment.device.access_ns = 2_798_242_077_190_288_043;
    reader.moment.threshold = PageCount::new(1 << 40);
    reader.moment.contested = true;
    reader.read(120, 1087);
    reader.moment.available = PageCount::new(8776);
    reader.in_memory = true;
    reader.read(574, 2611);
    reader.in_memory = false;
    reader.read(666, 3308);
    assert_eq!(reader.requests, 2);
}

/// The length of a read was kept in 16 bits, and what it brings itself was not taken from what is available.
#[test]
fn a_read_longer_than_256_mib_fits_into_what_is_available() {
    let mut reader = Reader::new(1 << 20);
    // An arm is not asked for less than a read.
    reader.moment.device = DeviceEstimate::FLASH;
    reader.moment.knobs.readahead_ratio = 100;
    reader.moment.threshold = PageCount::new(1 << 30);
    reader.moment.available = PageCount::new(140_000);
    reader.moment.knobs.request_pages_max = PageCount::new(1 << 20);
    for read in 0..4 {
        reader.read(read * 100_000, 100_000);
    }
    assert!(reader.requests > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_life_of_a_file_breaks_a_promise(
        steps in prop::collection::vec(step(), 1..120),
        hit_rate in prop_oneof![4 => Just(1_u32), 1 => 2..16_u32],
    ) {
        live(&steps, hit_rate);
    }

    /// A single forward stream against the reference: pages believed unread are exactly those
    /// asked for behind the reader's position.
    #[test]
    fn unread_pages_of_one_scan_are_what_the_sets_say(
        lengths in prop::collection::vec(1..200_u64, 4..200),
    ) {
        let mut reader = Reader::new(1 << 22);
        let mut at = 0;
        for length in lengths {
            reader.read(at, length);
            at += length;
            let ahead = reader.asked.range(at..).count() as u64;
            prop_assert_eq!(reader.unread(), ahead);
        }
    }
}
