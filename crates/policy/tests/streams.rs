//! What streams do beside asking: the shapes they take, the names they have, what they learn from
//! probes and evictions, and what they conclude from the clock.

mod support;

use ahead_policy::adaptive::{Direction, Shape, StreamId};
use ahead_policy::device::DeviceEstimate;
use ahead_policy::reason::Reason;
use ahead_units::{PageCount, PageRange, Timestamp};
use support::Reader;

const FILE: u64 = 1 << 22;

/// What was reported for `accesses`, one line for each change: place.generation, from, to.
fn changes(accesses: impl IntoIterator<Item = (u64, u64)>) -> Vec<String> {
    let mut reader = Reader::new(FILE);
    for (start, length) in accesses {
        reader.read(start, length);
    }
    let words = |shape: Shape, direction: Direction| match (shape, direction) {
        (Shape::Vacant | Shape::Candidate, _) => format!("{shape:?}"),
        (shape, direction) => format!("{shape:?} {direction:?}"),
    };
    let seen = reader.seen.0.iter();
    seen.map(|change| {
        let StreamId { place, generation } = change.stream;
        let from = format!("{:?}", change.from);
        let to = words(change.to, change.direction);
        format!("{place}.{generation} {from} -> {to}")
    })
    .collect()
}

#[test]
fn a_scan_is_a_candidate_and_then_a_run() {
    let born = ["3.0 Vacant -> Candidate", "3.0 Candidate -> Run Forward"];
    assert_eq!(changes((10..100).map(|i| (i * 16, 16))), born);
}

#[test]
fn a_backward_scan_is_a_run_the_other_way() {
    let born = ["3.0 Vacant -> Candidate", "3.0 Candidate -> Run Backward"];
    assert_eq!(changes((10..100).rev().map(|i| (i * 16, 16))), born);
}

#[test]
fn a_wide_stride_begins_with_its_third_element_and_leaves_three_candidates_behind() {
    let seen = changes((10..30).map(|i| (i * 1000, 4)));
    let first: Vec<&str> = seen.iter().map(String::as_str).take(4).collect();
    let begun = [
        "3.0 Vacant -> Candidate",
        "2.0 Vacant -> Candidate",
        "1.0 Vacant -> Candidate",
        "0.0 Vacant -> Strided Forward",
    ];
    assert_eq!(first, begun);
    // Until it is believed its elements are candidates of their own.
    let strided = seen.iter().filter(|line| line.contains("Strided")).count();
    assert_eq!(strided, 1, "{seen:?}");
}

#[test]
fn a_run_with_equal_holes_becomes_strided_and_a_broken_rule_a_run_again() {
    let equal = (0..12).map(|i| (1000 + i * 8, 4));
    let broken = [(1000 + 12 * 8 + 3, 4)];
    let seen = changes(equal.chain(broken));
    let born = [
        "3.0 Vacant -> Candidate",
        "3.0 Candidate -> Sparse Forward",
        "3.0 Sparse -> Strided Forward",
        "3.0 Strided -> Sparse Forward",
    ];
    assert_eq!(seen, born);
}

#[test]
fn a_server_that_shuffles_makes_a_shuffled_run_and_order_a_run_again() {
    let block = |i: u64| (1000 + i * 8, 8);
    let shuffled = (1..9).flat_map(|window| [1, 0, 3, 2, 7, 4, 6, 5].map(|i| window * 8 + i));
    let seen = changes((0..8).chain(shuffled).chain(72..200).map(block));
    let born = [
        "3.0 Vacant -> Candidate",
        "3.0 Candidate -> Run Forward",
        // The first request that comes early leaves a hole.
        "3.0 Run -> Sparse Forward",
        "3.0 Sparse -> Run Forward",
        "3.0 Run -> Shuffled Forward",
        "3.0 Shuffled -> Run Forward",
    ];
    assert_eq!(seen, born);
}

#[test]
fn random_reads_give_each_place_to_one_candidate_after_the_other() {
    let seen = changes((1..7).map(|i| (i * i * 10_000, 1)));
    let given_up = seen.iter().filter(|line| line.ends_with("-> Vacant"));
    assert_eq!(given_up.count(), 2, "{seen:?}");
    assert_eq!(
        seen.last().map(String::as_str),
        Some("2.1 Vacant -> Candidate")
    );
}

/// A wait that is reported late, after random reads have taken the place of its stream, belonged
/// to whatever was there.
#[test]
fn feedback_for_a_stream_that_was_replaced_changes_nothing() {
    let mut reader = Reader::new(FILE);
    reader.read(1000, 4);
    let old = reader.read(1004, 4);
    for i in 0..400 {
        reader.read((i * i * 7919 + i * 40_009) % FILE, 1);
    }
    let new = loop {
        // Some scan gets the same place in the end.
        let start = 2_000_000 + reader.read_total * 500;
        reader.read(start, 4);
        let outcomes = (1..8).map(|read| reader.read(start + read * 4, 4));
        let outcome = outcomes.last().expect("some");
        if outcome.stream.map(|id| id.place) == old.stream.map(|id| id.place) {
            break outcome;
        }
        // All scans are longer than that, so that something lies ahead there.
        for read in 8..16 {
            reader.read(start + read * 4, 4);
        }
    };
    assert_ne!(old.stream, new.stream);
    let before = (reader.ahead(new.stream), reader.unread());
    assert!(!before.0.is_empty());
    reader.wait(1004, 4, &old);
    reader.found_cached(&old);
    reader.thrash(&old, 1000);
    reader.refuse(&old);
    assert!(reader.ahead(old.stream).is_empty());
    assert_eq!((reader.ahead(new.stream), reader.unread()), before);
    reader.thrash(&new, 8);
    assert!(
        reader.ahead(new.stream).is_empty(),
        "its own feedback counts"
    );
}

#[test]
fn the_decision_that_follows_a_thrash_says_so() {
    let mut reader = Reader::new(FILE);
    for i in 0..400 {
        reader.read(i * 16, 16);
    }
    let outcome = reader.read(6400, 16);
    reader.thrash(&outcome, 100);
    let reasons: Vec<Reason> = (401..800)
        .map(|i| reader.read(i * 16, 16).decision)
        .filter(|decision| decision.prefetch.count > 0)
        .map(|decision| decision.reason)
        .collect();
    assert_eq!(reasons[0], Reason::Thrashed);
    assert!(!reasons[1..].contains(&Reason::Thrashed), "{reasons:?}");
}

/// Everything was in memory, so only the last 64 KiB of what would have been asked for was looked
/// at, and they are not there. What lies between counted as asked for and never was.
#[test]
fn what_a_probe_skipped_is_asked_for_when_the_probe_misses() {
    for backward in [false, true] {
        let mut reader = Reader::new(FILE);
        let at = |i: u64| {
            let element = if backward { FILE / 16 - 1 - i } else { i };
            (element * 16, 16)
        };
        reader.in_memory = true;
        let mut read = 0;
        let mut probes = 0;
        // The sixth probe misses.
        while probes < 6 {
            let (start, length) = at(read);
            reader.in_memory = probes < 5;
            let outcome = reader.read(start, length);
            read += 1;
            let probed = outcome.decision.reason == Reason::AlreadyCached;
            probes += u32::from(probed && outcome.decision.prefetch.count > 0);
        }
        reader.asked.clear();
        // The program goes on; the next access may be late, nothing behind it.
        let (start, length) = at(read);
        reader.read(start, length);
        let share = reader.coverage((read + 1..read + 3000).map(at), 0);
        assert_eq!(share, 100, "backward {backward}");
    }
}

/// Reads `reads` times 64 KiB, `page_ns` for each page, and says how large requests were in the end.
fn request_at_pace(reader: &mut Reader, reads: u64, page_ns: u64) -> u64 {
    let first = reader.read_total / 16;
    let mut newest = 0;
    for i in first..first + reads {
        let outcome = reader.read(i * 16, 16);
        let pages = outcome.decision.prefetch.pages().get();
        newest = if pages > 0 { pages } else { newest };
        reader.now = Timestamp::new(reader.now.get() + 16 * page_ns);
    }
    newest
}

#[test]
fn a_slow_reader_gets_no_larger_requests_than_it_can_use() {
    let mut reader = Reader::new(FILE);
    let (_, largest) = reader.scan_that_waits(400, 16);
    assert!(largest > 64, "{largest}");
    // A page a millisecond on a device of 8 ms: 64 pages are eight accesses' worth of reading.
    assert_eq!(request_at_pace(&mut reader, 1000, 1_000_000), 64);
}

#[test]
fn a_fast_reader_gets_requests_as_large_as_without_a_clock() {
    let mut unclocked = Reader::new(FILE);
    unclocked.scan_that_waits(400, 16);
    let most = request_at_pace(&mut unclocked, 1000, 0);
    assert!(most >= 512, "{most}");
    // Half of the bandwidth of the device.
    let mut clocked = Reader::new(FILE);
    clocked.scan_that_waits(400, 16);
    let clocked = request_at_pace(&mut clocked, 1000, 68_000);
    assert!(clocked >= 512, "{clocked}");
}

#[test]
fn a_reader_that_speeds_up_has_its_large_requests_back_after_a_few() {
    let mut reader = Reader::new(FILE);
    request_at_pace(&mut reader, 1000, 1_000_000);
    assert_eq!(request_at_pace(&mut reader, 200, 10_000), 512);
}

/// Who waited was as fast as the device, which says nothing about the reader.
#[test]
fn a_reader_that_waits_is_not_taken_for_a_slow_one() {
    let mut reader = Reader::new(FILE);
    let mut largest = 0;
    for i in 0..2000 {
        let outcome = reader.read(i * 16, 16);
        reader.wait(i * 16, 16, &outcome);
        largest = largest.max(outcome.decision.prefetch.pages().get());
        reader.now = Timestamp::new(reader.now.get() + 16 * 1_000_000);
    }
    assert!(largest >= 512, "{largest}");
}

#[test]
fn streams_that_share_a_device_are_not_taken_for_slow_ones() {
    let mut reader = Reader::new(FILE);
    reader.moment.contested = true;
    reader.moment.threshold = PageCount::new(1 << 20);
    let alone = request_at_pace(&mut reader, 20_000, 1_000_000);
    assert_eq!(alone, 2048);
}

/// Reads a page of every 64 and waits in each window, with `page_ns` from one to the next; how many requests were
/// larger for the waiting.
fn strided_requests_for_waiting(page_ns: u64) -> usize {
    let mut reader = Reader::new(FILE);
    // Who goes with the one arm is asked for nothing.
    reader.moment.device.depth = 2;
    let mut larger = 0;
    for element in 0..400 {
        let outcome = reader.read(element * 64, 1);
        larger += usize::from(outcome.decision.reason == Reason::ReaderWaited);
        if outcome.covered {
            reader.wait(element * 64, 1, &outcome);
        }
        reader.now = Timestamp::new(reader.now.get() + page_ns);
    }
    larger
}

/// What it leaves out it does not get from the device: bytes of places were once taken for pages that were read, and
/// every strided reader seemed to have all that the device gives.
#[test]
fn a_strided_reader_earns_larger_requests_by_waiting() {
    let page_ns = DeviceEstimate::ARM.transfer_ns(PageCount::new(1));
    assert_eq!(strided_requests_for_waiting(page_ns), 0);
    assert!(strided_requests_for_waiting(page_ns * 4) > 4);
}

/// A host may hear late of reads that are settled: it would have asked for nothing.
#[test]
fn what_is_settled_asks_for_nothing_while_its_reader_goes_on() {
    // Length, and whether the last one is read first.
    let readers = [(4, false), (4, true), (1, true), (16, false)];
    for reader @ (length, is_backward) in readers {
        let mut file = Reader::new(1 << 22);
        let (mut settled, mut inside, mut asked) = (None::<PageRange>, 0, 0);
        for number in 0..2000 {
            let place = if is_backward { 2000 - number } else { number };
            let start = place * length;
            let is_settled = settled
                .is_some_and(|all| all.start.get() <= start && start + length <= all.end.get());
            let outcome = file.read(start, length);
            let asks = outcome.decision.prefetch.count > 0;
            assert!(!(is_settled && asks), "{reader:?}, read {number}");
            inside += u32::from(is_settled);
            asked += u32::from(asks);
            settled = outcome.stream.and_then(|stream| file.settled(stream));
        }
        assert!(asked > 2, "{reader:?} asked {asked} times");
        assert!(inside > 1500, "{reader:?}: {inside} settled");
    }
}
