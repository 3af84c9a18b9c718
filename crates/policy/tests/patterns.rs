//! Every pattern that the policy promises to see, and what it must cost where there is none.

mod support;

use ahead_policy::adaptive::{FileStreams, Quick, STREAMS_FEW, STREAMS_MANY, Shape, Stream};
use ahead_policy::device::DeviceEstimate;
use ahead_policy::reason::{Pattern, Reason};
use ahead_units::{ByteLength, ByteOffset, ByteRange, PageCount};
use support::{ARRAY, Numbers, Reader};

const FILE: u64 = 1 << 22;

#[test]
fn a_sequential_reader_is_covered_from_its_third_read() {
    for length in [1, 4, 16, 512] {
        let mut reader = Reader::new(FILE);
        let reads = (0..2000).map(|i| (i * length, length));
        assert_eq!(reader.coverage(reads, 2), 100, "reads of {length} pages");
    }
}

#[test]
fn a_backward_reader_is_covered_from_its_third_read_to_the_start_of_the_file() {
    for length in [1, 4, 16] {
        let mut reader = Reader::new(FILE);
        let reads = (0..2000).rev().map(|i| (i * length, length));
        assert_eq!(reader.coverage(reads, 2), 100, "reads of {length} pages");
    }
}

#[test]
fn who_says_sequential_begins_with_twice_the_window() {
    let first_window = |is_sequential| {
        let mut reader = Reader::new(FILE);
        reader.moment.is_sequential = is_sequential;
        reader.read(0, 1);
        reader.read(1, 1);
        reader.unread()
    };
    // To a multiple of four pages, and of eight.
    assert_eq!(first_window(false), 30);
    assert_eq!(first_window(true), 62);
}

#[test]
fn unaligned_reads_are_one_stream() {
    let mut reader = Reader::new(FILE);
    // 10 000 bytes each: neighbours share a page.
    let reads = (0..2000_u64).map(|i| {
        let (first, last) = (i * 10_000 / 4096, ((i + 1) * 10_000 - 1) / 4096);
        (first, last - first + 1)
    });
    assert_eq!(reader.coverage(reads, 3), 100);
}

/// A tenth of h5py's chunks, hdd: four columns of 16 chunks, 25 pages every 400, and a node of their index in
/// between now and then. Eight at once were asked for, and each behind a node cost two accesses, not one. Such a stride is left by its
/// reader again and again, and soon nothing is asked for.
#[test]
fn elements_that_an_arm_has_to_move_for_are_asked_for_one_by_one_at_most() {
    let most_at_once = |period: u64, elements_of_node: u64| {
        let mut reader = Reader::new(FILE);
        let counts = (0..16).map(|element| {
            let node = element / elements_of_node;
            let outcome = reader.read(element * period + node, 25);
            outcome.decision.prefetch.count
        });
        counts.max()
    };
    assert!(
        most_at_once(400, 4) <= Some(2),
        "one is read and one follows"
    );
    assert!(most_at_once(100, 16) >= Some(8), "they pass under the head");
}

/// Any period and length, both directions: all small spaces are tried whole.
#[test]
fn strides_of_any_period_and_length_are_covered_and_cost_only_their_own_pages() {
    for length in [1, 2, 4, 16] {
        for period in (length + 1..=40).chain([48, 100, 255, 256, 1000, 5000]) {
            for backward in [false, true] {
                let mut reader = Reader::new(FILE);
                let count = 400.min(FILE / period);
                let reads = (0..count).map(|i| {
                    let element = if backward { count - 1 - i } else { i };
                    (element * period, length)
                });
                let share = reader.coverage(reads, 24);
                let what = format!("{length} of every {period} pages, backward {backward}");
                // With one page of eight missing the reader counts as sequential, as it should.
                let nearly_sequential = length * 8 >= period * 7;
                assert!(share >= 97, "{what}: {share} %");
                if !nearly_sequential {
                    let in_holes = reader.asked.iter().filter(|page| *page % period >= length);
                    let spare = in_holes.count();
                    assert!(spare <= 200, "{what}: {spare} pages of holes");
                }
            }
        }
    }
}

/// Generated 970030: files of 549 KiB in reads of 92, of which the last 8 KiB were a request of their own.
#[test]
fn a_request_that_would_leave_little_of_the_file_goes_to_its_end() {
    let mut reader = Reader::new(138);
    reader.moment.device = DeviceEstimate::FLASH;
    for page in (0..138).step_by(23) {
        reader.read(page, 23);
    }
    assert_eq!(reader.requests, 2);
    assert_eq!(reader.asked.last(), Some(&137));
}

/// Generated 970060 on cloud: 80 pages of every second one, each a request of its own for a volume that serves 3000 a second.
#[test]
fn holes_that_cost_less_than_a_request_are_read_through_where_as_much_may_be_in_vain() {
    for (length, period, is_one_range) in [(1, 2, true), (3, 6, true), (1, 3, false), (4, 8, false)]
    {
        let mut reader = Reader::new(FILE);
        reader.moment.device = DeviceEstimate::FLASH;
        reader.moment.contested = true;
        let counts = (0..32).map(|element| {
            let outcome = reader.read(element * period, length);
            outcome.decision.prefetch.count
        });
        let most = counts.max().unwrap_or(0);
        assert_eq!(
            most == 1,
            is_one_range,
            "{length} of every {period}: {most}"
        );
    }
}

#[test]
fn interleaved_streams_on_one_file_are_told_apart() {
    for streams in [2, 3, 8, 17, 64] {
        let mut reader = Reader::new(FILE);
        let region = FILE / streams;
        let reads =
            (0..400).flat_map(|round| (0..streams).map(move |s| (s * region + round * 16, 16)));
        let warm_up = usize::try_from(streams * 12).unwrap();
        let share = reader.coverage(reads, warm_up);
        assert!(share >= 99, "{streams} streams: {share} %");
    }
}

#[test]
fn forward_and_backward_scans_of_one_file_do_not_disturb_each_other() {
    let mut reader = Reader::new(FILE);
    let reads = (0..1000).flat_map(|i| [(i * 16, 16), (FILE - (i + 1) * 16, 16)]);
    assert_eq!(reader.coverage(reads, 8), 100);
}

#[test]
fn a_parallel_server_that_shuffles_its_requests_is_one_stream() {
    let mut reader = Reader::new(FILE);
    let mut numbers = Numbers(7);
    let mut reads = Vec::new();
    for window in 0..500 {
        let mut order: Vec<u64> = (0..8).collect();
        for place in (1..8).rev() {
            order.swap(
                place,
                usize::try_from(numbers.below(place as u64 + 1)).unwrap(),
            );
        }
        reads.extend(order.into_iter().map(|i| ((window * 8 + i) * 8, 8)));
    }
    let share = reader.coverage(reads, 64);
    assert!(share >= 98, "{share} %");
    let outcome = reader.read(500 * 64, 8);
    assert_eq!(outcome.decision.pattern, Pattern::Shuffled);
}

/// Eight daemons that read 156 KiB each in pairs of which one in two is turned round: six in a row of these have the same step
/// from the one that is ahead to the next, and the server was taken for two strides (1.58 of the kernel's time on a disk array).
#[test]
fn requests_that_fill_the_holes_of_a_server_are_no_stride() {
    const READ: u64 = 39;
    let mut reader = Reader::new(1024 * READ);
    let mut pairs = 0..512;
    for start in pairs.by_ref().take(4).map(|pair| 2 * pair * READ) {
        reader.read(start, READ);
        reader.read(start + READ, READ);
    }
    for start in pairs.map(|pair| 2 * pair * READ) {
        reader.read(start + READ, READ);
        reader.read(start, READ);
    }
    let strides = reader.seen.0.iter();
    assert_eq!(strides.filter(|seen| seen.to == Shape::Strided).count(), 0);
    assert_eq!(reader.asked_total, reader.asked.len() as u64, "once each");
}

#[test]
fn a_scan_with_random_lookups_in_between_stays_a_scan() {
    let mut reader = Reader::new(FILE);
    let mut numbers = Numbers(3);
    let (mut scanned, mut covered) = (0, 0);
    for i in 0..2000 {
        let start = i * 16;
        scanned += 1;
        covered += u64::from((start..start + 16).all(|page| reader.asked.contains(&page)));
        reader.read(start, 16);
        if i % 4 == 3 {
            reader.read(FILE / 2 + numbers.below(FILE / 2 - 4), 4);
        }
    }
    assert!(covered * 100 >= scanned * 99, "{covered} of {scanned}");
    // Two windows of the scan may be unread at the end; the lookups brought nothing in.
    assert!(reader.asked.iter().all(|page| *page < 2000 * 16 + 2 * 2048));
}

#[test]
fn random_reads_bring_in_less_than_one_page_in_a_thousand() {
    for length in [1, 4] {
        let mut reader = Reader::new(FILE);
        let mut numbers = Numbers(11);
        for _ in 0..50_000 {
            reader.read(numbers.below(FILE - 8), length);
        }
        assert!(
            reader.asked_total * 1000 <= reader.read_total,
            "{}",
            reader.asked_total
        );
    }
}

/// In a file of 400 pages every random read is near another one.
#[test]
fn random_reads_of_a_small_file_stay_inside_the_hit_rate() {
    let mut reader = Reader::new(400);
    reader.moment.knobs.readahead_hit_rate = 1;
    let mut numbers = Numbers(5);
    for _ in 0..20_000 {
        reader.read(numbers.below(400), 1);
    }
    assert!(
        reader.asked_total <= reader.read_total,
        "{}",
        reader.asked_total
    );
}

fn sparse(percent: u64, pages: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut numbers = Numbers(9);
    (0..pages)
        .filter(move |_| numbers.below(100) < percent)
        .map(|page| (page, 1))
}

/// Each read of `dd` in 4 KiB was decided about anew while the kernel read ahead for it: a tenth of its time from a fast disk.
#[test]
fn a_scan_that_is_left_to_the_kernel_is_looked_at_once_a_window_of_the_kernel() {
    let mut reader = Reader::new(1 << 20);
    reader.moment.device = DeviceEstimate::FLASH;
    reader.moment.kernel_window = PageCount::new(2048);
    let mut looks = 0;
    for read in 0..20_480 {
        match reader.read_quickly(read, 1) {
            Quick::Left(stream) => assert_eq!(reader.ahead(Some(stream)).len().get(), 0),
            _ => {
                looks += 1;
                let outcome = reader.read(read, 1);
                assert_eq!(outcome.decision.prefetch.count, 0, "{outcome:?}");
            }
        }
    }
    assert!(looks <= 10 + 4, "{looks}");
    assert_eq!(reader.unread(), 0);
    // The administrator makes the window smaller.
    reader.moment.kernel_window = PageCount::new(32);
    let asked = (20_480..30_000).find(|&read| {
        reader.read_quickly(read, 1) == Quick::No
            && reader.read(read, 1).decision.prefetch.count > 0
    });
    assert!(asked.is_some_and(|read| read <= 20_480 + 2048), "{asked:?}");
}

#[test]
fn a_read_elsewhere_is_no_step_of_a_scan_that_is_left_to_the_kernel() {
    let mut reader = Reader::new(1 << 20);
    reader.moment.device = DeviceEstimate::FLASH;
    reader.moment.kernel_window = PageCount::new(2048);
    for read in 0..8 {
        reader.read(read, 1);
    }
    assert!(matches!(reader.read_quickly(8, 1), Quick::Left(_)));
    assert_eq!(reader.read_quickly(10, 1), Quick::No, "a hole");
    assert_eq!(reader.read_quickly(9, 4096), Quick::No, "beyond the window");
    assert_eq!(reader.read(100_000, 1).stream, None);
    assert_eq!(reader.read_quickly(9, 1), Quick::No, "looked at again");
    assert_eq!(reader.read(9, 1).decision.reason, Reason::KernelAsks);
}

#[test]
fn at_a_hit_rate_of_one_sparse_reads_are_left_to_the_kernel() {
    let mut reader = Reader::new(FILE);
    reader.moment.knobs.readahead_hit_rate = 1;
    reader.coverage(sparse(60, 40_000), 0);
    assert!(reader.asked_total < 2048, "{}", reader.asked_total);
    assert_eq!(reader.read(40_001, 1).decision.reason, Reason::LeftToKernel);
}

#[test]
fn a_higher_hit_rate_reads_through_the_holes_of_sparse_reads() {
    let mut reader = Reader::new(FILE);
    let share = reader.coverage(sparse(60, 40_000), 200);
    assert!(share >= 98, "{share} %");
    assert!(reader.asked_total <= reader.read_total * 2 + 8192);

    let mut tenth = Reader::new(FILE);
    tenth.moment.knobs.readahead_hit_rate = 12;
    let share = tenth.coverage(sparse(10, 100_000), 200);
    assert!(share >= 95, "{share} %");
}

#[test]
fn a_second_scan_of_a_file_asks_with_its_first_read() {
    let mut reader = Reader::new(4096);
    reader.scan_that_waits(256, 16);
    reader.asked.clear();
    let outcome = reader.read(0, 16);
    assert_eq!(outcome.decision.reason, Reason::Reopened);
    assert_eq!(outcome.decision.pattern, Pattern::Looping);
    assert!(outcome.decision.prefetch.pages().get() >= 128);
}

#[test]
fn a_file_that_grows_is_followed() {
    let mut reader = Reader::new(64);
    for i in 0..16 {
        reader.read(i * 4, 4);
    }
    reader.moment.file_pages = ahead_units::PageCount::new(6400);
    let share = reader.coverage((16..1600).map(|i| (i * 4, 4)), 2);
    assert!(share >= 99, "{share} %");
}

#[test]
fn what_is_in_memory_is_asked_for_less_and_less() {
    let mut reader = Reader::new(FILE);
    reader.in_memory = true;
    let mut late_requests = 0;
    for i in 0..20_000 {
        let before = reader.requests;
        reader.read(i * 16, 16);
        if reader.requests > before {
            late_requests += u64::from(i >= 10_000);
        }
    }
    // 10 000 reads of 64 KiB are 320 windows of 2 MiB.
    assert!(late_requests <= 20, "{late_requests}");
}

#[test]
fn where_memory_ends_the_window_is_back_after_one_wait() {
    let mut reader = Reader::new(FILE);
    reader.in_memory = true;
    for i in 0..1000 {
        reader.read(i * 16, 16);
    }
    reader.in_memory = false;
    reader.asked.clear();
    let outcome = reader.read(16_000, 16);
    reader.wait(16_000, 16, &outcome);
    let share = reader.coverage((1001..2000).map(|i| (i * 16, 16)), 3);
    assert!(share >= 99, "{share} %");
}

#[test]
fn eviction_halves_the_window_and_is_remembered() {
    let mut reader = Reader::new(FILE);
    let (outcome, largest) = reader.scan_that_waits(400, 16);
    let held = reader.unread();
    reader.thrash(&outcome, held);
    let mut after = 0;
    for i in 400..480 {
        let outcome = reader.read(i * 16, 16);
        after = after.max(outcome.decision.prefetch.pages().get());
        assert!(reader.unread() <= held, "{} > {held}", reader.unread());
    }
    assert!(after > 0 && after <= largest / 2, "{after} after {largest}");
}

/// Generated workload 720065 on the array: windows of 4 MiB in front of runs that had never waited for anything took
/// 1.25 of the kernel's time, and take 0.41 of it since they have to be earned.
#[test]
fn larger_requests_are_earned_by_waiting() {
    let largest = |reader: &mut Reader| {
        let reads = (24..48).map(|i| reader.read(i * 16, 16));
        reads
            .map(|outcome| outcome.decision.prefetch.pages().get())
            .max()
    };
    let mut calm = Reader::new(FILE);
    calm.coverage((0..24).map(|i| (i * 16, 16)), 0);
    let calm = largest(&mut calm);
    assert!(calm <= Some(128), "{calm:?}: its begin has waited");
    let mut waiting = Reader::new(FILE);
    waiting.scan_that_waits(24, 16);
    assert!(largest(&mut waiting) >= Some(256));
    let mut shared = Reader::new(FILE);
    shared.moment.contested = true;
    shared.coverage((0..24).map(|i| (i * 16, 16)), 0);
    assert!(
        largest(&mut shared) >= Some(256),
        "an arm has to be sent there each time"
    );
}

/// Beside the pages that are read now, which may be part of it.
#[test]
fn a_run_asks_at_once_for_no_more_than_it_has_read() {
    let mut reader = Reader::new(FILE);
    for i in 0..60 {
        let outcome = reader.read(100_000 + i * 16, 16);
        reader.wait(100_000 + i * 16, 16, &outcome);
        let read = (i + 1) * 16;
        let asked = outcome.decision.prefetch.pages().get();
        assert!(asked <= read.max(32) + 16, "{asked} after {read}");
    }
    assert!(reader.asked_total >= 960, "{}", reader.asked_total);
}

#[test]
fn a_ratio_of_zero_or_one_asks_for_nothing() {
    for (ratio, reason) in [(0, Reason::TurnedOff), (1, Reason::LeftToKernel)] {
        let mut reader = Reader::new(FILE);
        reader.moment.knobs.readahead_ratio = ratio;
        reader.coverage((0..1000).map(|i| (i * 4, 4)), 0);
        assert_eq!(reader.asked_total, 0);
        assert_eq!(reader.read(4000, 4).decision.reason, reason);
    }
}

#[test]
fn the_ratio_is_a_percentage_of_what_memory_can_hold() {
    let largest_lead = |ratio| {
        let mut reader = Reader::new(FILE);
        reader.moment.contested = true;
        reader.moment.knobs.readahead_ratio = ratio;
        reader.moment.threshold = ahead_units::PageCount::new(1000);
        let mut largest = 0;
        for i in 0..4000 {
            reader.read(i * 4, 4);
            largest = largest.max(reader.unread());
        }
        largest
    };
    let (quarter, half, whole) = (largest_lead(25), largest_lead(50), largest_lead(100));
    assert!(
        quarter <= 250 && half <= 500 && whole <= 1000,
        "{quarter} {half} {whole}"
    );
    assert!(
        half >= quarter * 3 / 2 && whole >= half * 3 / 2,
        "{quarter} {half} {whole}"
    );
}

/// Columns of a Parquet file as DuckDB reads them, and strides whose first steps are equal in pages too, forward and
/// backward. In pages the steps of the first are 2344 or 2345 long, so that the stride was lost again and again, and
/// the page that an element reached beyond the believed one was read alone.
#[test]
fn a_stride_of_no_whole_pages_is_covered_to_the_last_byte() {
    let strides = [
        (2_401_159, 9_604_620, 800_385),
        (3_600_000, 9_604_620, 800_385),
        (0, 1_000_000, 100_000),
        (11_111, 17_305_918, 1293),
    ];
    for (first, period, length) in strides {
        let end: u64 = first + 59 * period + length;
        let elements: Vec<u64> = (0..60).collect();
        let backward: Vec<u64> = elements.iter().rev().copied().collect();
        for order in [elements, backward] {
            // One arm alone would be watched for some elements first.
            let mut reader = Reader::on(end.div_ceil(4096), ARRAY);
            let (mut covered, mut pages_read) = (0, 0);
            for element in &order {
                let start = ByteOffset::new(first + element * period);
                let bytes = ByteRange::of(start, ByteLength::new(length));
                let pages = bytes.pages();
                let mut pages_of_it = pages.start.get()..pages.end.get();
                covered += u64::from(pages_of_it.all(|page| reader.asked.contains(&page)));
                pages_read += pages.len().get();
                reader.read_bytes(bytes);
            }
            let case = format!("{first} {period} {length}");
            // Three make the stride; a wide one is believed a little later.
            assert!(covered >= 55, "{case}: {covered} of 60");
            assert!(
                reader.asked_total <= pages_read,
                "{case}: {}",
                reader.asked_total
            );
        }
    }
}

/// `DuckDB` reads the chunks of a column with eight threads, which keep a disk busy by themselves, and leaves out
/// some: what was asked for of these was a fifth of all bytes (0.87 of its speed by itself).
#[test]
fn elements_far_apart_are_left_to_a_program_that_asks_ahead_itself() {
    let asked_by = |waiting| {
        let mut reader = Reader::new(FILE);
        reader.moment.waiting = waiting;
        let mut reasons = Vec::new();
        for element in 0..20 {
            let bytes = ByteRange::of(
                ByteOffset::new(2_401_159 + element * 9_604_620),
                ByteLength::new(800_385),
            );
            reasons.push(reader.read_bytes(bytes).decision.reason);
        }
        (reader.asked_total > 0, reasons.pop())
    };
    assert_eq!(asked_by(0).0, asked_by(1).0, "a reader on its own");
    assert!(asked_by(1).0);
    assert_eq!(asked_by(4), (false, Some(Reason::ProgramAsksAhead)));
}

/// Small elements near each other pass by on the way: asked for together they cost less.
#[test]
fn elements_near_each_other_are_asked_for_however_many_reads_wait() {
    let mut reader = Reader::new(FILE);
    reader.moment.waiting = 8;
    for element in 0..40 {
        reader.read(element * 16, 4);
    }
    assert!(reader.asked_total > 0);
}

#[test]
fn the_state_of_a_file_is_as_small_as_promised() {
    let few = size_of::<FileStreams>() + STREAMS_FEW * size_of::<Stream>();
    let many = size_of::<FileStreams>() + STREAMS_MANY * size_of::<Stream>();
    println!("{few} bytes with {STREAMS_FEW} streams, {many} with {STREAMS_MANY}");
    assert_eq!(size_of::<Stream>(), 56);
    assert!(few <= 512, "{few}");
    assert!(many <= 4096, "{many}");
}

/// Each read repeats most of the one before. Read as several streams, they asked for the same
/// windows three times (found by `no_life_of_a_file_breaks_a_promise`).
#[test]
fn overlapping_reads_are_one_stream() {
    let mut reader = Reader::new(FILE);
    reader.moment.contested = true;
    for i in 0..91 {
        reader.read(i * 6, 54);
    }
    assert_eq!(
        reader.asked_total,
        reader.asked.len() as u64,
        "nothing is asked for twice"
    );
}

#[test]
fn a_reader_inside_the_window_of_another_asks_for_nothing_of_its_own() {
    let mut reader = Reader::new(FILE);
    reader.scan_that_waits(400, 16);
    let before = reader.asked_total;
    let ahead = reader.unread();
    assert!(ahead > 300, "{ahead}");
    for i in 0..16 {
        assert!(reader.read(6400 + 180 + i * 4, 4).covered);
    }
    assert_eq!(reader.asked_total, before);
}

/// `cmp` of two files: one page, then the next. Requests of 32 pages lay across nine pages of flash, not
/// eight, and it became 11 % slower.
#[test]
fn small_requests_fill_the_pages_of_flash() {
    const PAGES_OF_FLASH: u64 = 4;
    let mut reader = Reader::new(10_000);
    reader.moment.device = DeviceEstimate::FLASH;
    (reader.moment.streams, reader.moment.contested) = (4, true);
    for page in 0..5_000 {
        let asked = reader.read(page, 1).decision.prefetch;
        if asked.count > 0 {
            let end = asked.first.pages().end.get();
            assert_eq!(end % PAGES_OF_FLASH, 0, "{asked}");
        }
    }
    assert!(reader.requests > 100);
}
