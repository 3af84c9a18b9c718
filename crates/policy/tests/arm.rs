//! Reads under one arm: strides, whose elements it passes by or is sent to, short walks, and searches that end in a run.

mod support;

use ahead_policy::device::DeviceEstimate;
use ahead_policy::reason::{Pattern, Reason};
use ahead_units::{ByteRange, Timestamp};
use support::{ARRAY, Reader};

const FILE: u64 = 1 << 22;

/// 64 KiB at 120 MB/s: sixteen pages pass by.
const PASSED_NS: u64 = 546_000;

/// Reads four pages at each of `starts`, and takes so long for each as `element_ns` says. What was asked for at last.
fn read_all(
    reader: &mut Reader,
    starts: impl IntoIterator<Item = u64>,
    element_ns: impl Fn(u64) -> u64,
) -> u64 {
    for (number, start) in (0..).zip(starts) {
        let outcome = reader.read(start, 4);
        reader.now = Timestamp::new(reader.now.get() + element_ns(number));
        reader.wait(start, 4, &outcome);
    }
    reader.asked_total
}

fn stride(elements: u64) -> impl Iterator<Item = u64> {
    (0..elements).map(|element| element * 16)
}

#[test]
fn a_reader_who_only_waits_for_the_arm_that_passes_by_is_left_alone() {
    let mut reader = Reader::on(FILE, DeviceEstimate::ARM);
    assert_eq!(read_all(&mut reader, stride(300), |_| PASSED_NS), 0);
    let outcome = reader.read(300 * 16, 4);
    assert_eq!(outcome.decision.reason, Reason::DoesNotPay);
    assert_eq!(outcome.decision.pattern, Pattern::Strided);
}

/// A turn of the disk for one element of twelve. Tiles of 4 KiB by rows of 132 KiB, as odd reads by seed 221, took 7.4 times the
/// kernel's time on hdd: one such wait made their reader one who computes.
#[test]
fn an_arm_that_is_late_for_one_element_does_not_make_its_reader_slow() {
    let mut reader = Reader::on(FILE, DeviceEstimate::ARM);
    let is_late = |element| if element % 12 == 7 { 8_300_000 } else { 0 };
    let asked = read_all(&mut reader, stride(300), |element| {
        PASSED_NS + is_late(element)
    });
    assert_eq!(asked, 0);
}

/// Of three the clock of a fast reader may say nothing.
#[test]
fn elements_that_are_in_memory_are_not_asked_for() {
    let mut reader = Reader::on(FILE, DeviceEstimate::ARM);
    assert_eq!(read_all(&mut reader, stride(300), |_| 400), 0);
}

#[test]
fn a_reader_who_computes_as_long_as_he_waits_is_helped_after_a_few_elements() {
    let mut reader = Reader::on(FILE, DeviceEstimate::ARM);
    let asked = read_all(&mut reader, stride(20), |_| 2 * PASSED_NS);
    assert!(asked >= 32, "{asked}");
}

#[test]
fn who_begins_to_compute_is_noticed() {
    let mut reader = Reader::on(FILE, DeviceEstimate::ARM);
    let computes = |element| {
        if element < 100 {
            PASSED_NS
        } else {
            3 * PASSED_NS
        }
    };
    assert!(read_all(&mut reader, stride(200), computes) > 0);
}

#[test]
fn backward_an_arm_has_to_be_sent_to_each_element() {
    let mut reader = Reader::on(FILE, DeviceEstimate::ARM);
    let backward = (1000..1020_u64).rev().map(|element| element * 16);
    assert!(read_all(&mut reader, backward, |_| PASSED_NS) > 0);
}

#[test]
fn several_arms_are_asked_for_elements_at_once() {
    let mut reader = Reader::on(FILE, ARRAY);
    assert!(read_all(&mut reader, stride(20), |_| PASSED_NS) > 0);
}

/// Tiles of 16 KiB by twenty rows of 64, as odd reads by seed 104 (3.9 times the kernel's time on hdd). Each row of tiles was four
/// strides that wait for the next one, and the arm was sent there and back for each. It passes by all four at once.
#[test]
fn tiles_side_by_side_do_not_send_the_arm_back_for_each_of_them() {
    let rows = 20;
    let tiles = (0..40_u64).flat_map(|band| {
        (0..4)
            .flat_map(move |column| (0..rows).map(move |row| (band * rows + row) * 16 + column * 4))
    });
    let mut reader = Reader::on(FILE, DeviceEstimate::ARM);
    let mut sent_to = Vec::new();
    for start in tiles {
        let is_new = !reader.asked.contains(&start);
        let outcome = reader.read(start, 4);
        let prefetch = outcome.decision.prefetch;
        if prefetch.count > 0 {
            sent_to.push(prefetch.first.start.get());
        }
        reader.now = Timestamp::new(reader.now.get() + if is_new { PASSED_NS } else { 1_000 });
        if is_new {
            reader.wait(start, 4, &outcome);
        }
    }
    let turns = sent_to.windows(2).filter(|two| two[1] < two[0]).count();
    assert!(turns <= 4, "{turns} of {}", sent_to.len());
    let in_vain = reader.asked.difference(&reader.read).count();
    assert!(in_vain <= 2 * 20 * 16, "{in_vain}");
}

/// 64 KiB of every 525 311 bytes, off by up to 8 KiB, as odd reads by seed 389 (3.4 times the kernel's time on a stripe of disks): of eight
/// of them three are evenly spaced by their pages again and again, and the next ones lie elsewhere.
#[test]
fn steps_that_are_equal_by_chance_do_not_send_arms_away() {
    let reads = (0..2_000_u64).map(|number| {
        let off = ((number * 0x9E37_79B9) >> 7) % 16_384;
        number * 525_311 + off
    });
    let mut reader = Reader::on(FILE, ARRAY);
    for start in reads {
        reader.read_bytes(ByteRange::new(start, start + 65_536));
        reader.now = Timestamp::new(reader.now.get() + 900_000);
    }
    let asked = reader.asked_total;
    assert!(asked < 2_000, "{asked}");
}

/// Four strides of a file in turn: the arm is sent from one to the next for each element.
#[test]
fn strides_in_turn_are_asked_for_together() {
    let mut reader = Reader::on(FILE, DeviceEstimate::ARM);
    let in_turn =
        (0..60_u64).flat_map(|element| (0..4).map(move |part| (part << 19) | (element * 16)));
    assert!(read_all(&mut reader, in_turn, |_| 8_000_000) > 0);
}

/// 268 KiB of every 276: odd reads by seed 48 took 1.6 times the kernel's time on hdd, as whole elements were asked for of what is a scan.
#[test]
fn where_hardly_anything_is_left_out_it_is_no_stride() {
    let mut reader = Reader::on(FILE, DeviceEstimate::ARM);
    let outcome = (0..40).map(|read| reader.read(read * 69, 68)).last();
    let pattern = outcome.map(|outcome| outcome.decision.pattern);
    assert_eq!(pattern, Some(Pattern::Sequential));
}

/// Odd reads by seed 710: back and forth within thirty pages, then elsewhere. Each walk got one request of 1.6 MiB, and took 1.31 of the
/// kernel's time on hdd.
#[test]
fn a_short_walk_asks_for_no_more_than_it_is_worth() {
    const WALK: [u64; 11] = [
        48_234_496, 48_238_705, 48_234_222, 48_229_990, 48_225_203, 48_221_617, 48_217_035,
        48_212_842, 48_209_398, 48_205_209, 48_242_377,
    ];
    let mut reader = Reader::on(FILE, DeviceEstimate::ARM);
    for start in WALK {
        let end = start + 16_696;
        let (first, last) = (start / 4096, (end - 1) / 4096);
        let outcome = reader.read(first, last - first + 1);
        reader.wait(first, last - first + 1, &outcome);
    }
    assert!(reader.asked_total <= 200, "{} pages", reader.asked_total);
}

/// Odd reads by seed 172: who looked for a place by halves reads on from the last but one that he had looked at. What lay between was not
/// asked for, and each missing page of it was read behind all that was: 1.16 of the kernel's time on hdd.
#[test]
fn who_reads_on_from_where_he_searched_is_asked_for_from_there() {
    const SEARCHED: [u64; 4] = [90_570_752, 91_029_504, 90_800_128, 90_898_432];
    const RUN: u64 = 90_800_128;
    const READ: u64 = 32_768;
    let pages = |start| ByteRange::new(start, start + READ).pages();
    let mut reader = Reader::on(FILE, DeviceEstimate::ARM);
    for start in SEARCHED.into_iter().chain([90_832_896, RUN, RUN + READ]) {
        let (start, length) = (pages(start).start.get(), pages(start).len().get());
        let outcome = reader.read(start, length);
        reader.wait(start, length, &outcome);
    }
    let between = pages(RUN + 2 * READ);
    assert!(
        reader.asked.contains(&between.start.get()),
        "{:?}",
        reader.asked
    );
}

/// Pages asked for of keys in every so many pages whose reader computes, after a hundred of them, where each tenth is followed by a read of
/// so many pages so far behind the begin of the key.
fn asked_for_keys(period: u64, looks: impl Fn(u64) -> Option<(u64, u64)>) -> u64 {
    let mut reader = Reader::on(FILE, DeviceEstimate::ARM);
    let mut asked = 0;
    for key in 0..400_u64 {
        let mut read = |start, pages| {
            let outcome = reader.read(start, pages);
            reader.now = Timestamp::new(reader.now.get() + period / 16 * 3 * PASSED_NS);
            reader.wait(start, pages, &outcome);
            if key >= 100 {
                asked += outcome.decision.prefetch.pages().get();
            }
        };
        read(key * period, 1);
        if let Some((behind, pages)) = looks(key).filter(|_| key % 10 == 7) {
            read(key * period + behind, pages);
        }
    }
    asked
}

/// And now and then what belongs to a key: in the page of the key and behind it, or elsewhere before the next one. The next keys were asked for,
/// and the arm came back from each of them for that: 1.86 of the kernel's time.
#[test]
fn who_reads_between_the_elements_of_a_stride_is_left_alone_under_an_arm() {
    for period in [16, 64] {
        let alone = asked_for_keys(period, |_| None);
        assert!(alone > 200, "{alone}");
        let more_of_it = asked_for_keys(period, |key| Some((0, 5 + key / 10 % 7)));
        assert!(more_of_it < alone / 3, "{more_of_it} of {alone}");
    }
    let elsewhere = asked_for_keys(64, |key| Some((40, 4 + key / 10 % 7)));
    assert!(elsewhere < 50, "{elsewhere}");
}
