//! A group that reads on and on, with and without a gain from requests.

use super::*;

/// Pages of a read.
const READ: u64 = 32;

/// A group that reads on and on; of what it asks for a third is in vain.
struct Reader {
    guard: Guard,
    now_ns: u64,
    /// Pages read so far without requests.
    left_alone: u64,
    vain: u64,
    seed: u64,
}

impl Reader {
    fn new() -> Self {
        Self {
            guard: Guard::new(),
            now_ns: 1_000,
            left_alone: 0,
            vain: READ / 2,
            seed: 1,
        }
    }

    /// Reads `mib`, a page taking `with_ns` with requests and `without_ns` without, give or take a half.
    fn reads(&mut self, mib: u64, with_ns: u64, without_ns: u64) {
        for _ in 0..mib * 256 / READ {
            let alone = self.guard.is_left_alone();
            self.seed = self
                .seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let page_ns = if alone { without_ns } else { with_ns };
            let noise = 512 + (self.seed >> 54);
            self.now_ns += page_ns * READ * noise / 1024;
            self.left_alone += u64::from(alone) * READ;
            let consumed = Consumed {
                read: READ,
                useful: if alone { 0 } else { READ },
                vain: if alone { 0 } else { self.vain },
            };
            self.guard
                .on_consumed(consumed, &Budget::new(), Timestamp::new(self.now_ns));
        }
    }
}

#[test]
fn what_does_not_pay_is_left_alone_for_longer_each_time() {
    let mut reader = Reader::new();
    reader.reads(1024, 1100, 1000);
    let first = reader.now_ns;
    reader.reads(32_768, 1100, 1000);
    let each = (reader.now_ns - first) / (32_768 * 256);
    assert!(each <= 1010, "{each} ns a page");
}

#[test]
fn what_pays_goes_on_and_looking_costs_less_than_half_a_per_cent() {
    for (with, without) in [(1000, 1050), (1000, 2000), (1000, 50_000)] {
        let mut reader = Reader::new();
        reader.reads(16_384, with, without);
        let each = (reader.now_ns - 1000) * 10 / (16_384 * 256);
        assert!(each <= 10_050, "{each} tenths of a ns, {without}");
    }
}

#[test]
fn where_nothing_is_in_vain_nothing_is_tried() {
    let mut reader = Reader::new();
    reader.vain = 0;
    reader.reads(4096, 1100, 1000);
    assert_eq!(reader.guard.pairs.load(Relaxed), 0);
    assert_eq!(reader.left_alone, 0);
}

/// Thirty programs for which it makes no difference, or pays by three per cent.
#[test]
fn hardly_any_is_left_alone_by_chance() {
    // Where it makes no difference nothing is lost by it.
    for (without, most) in [(1000, 3), (1030, 1)] {
        let mut verdicts = 0;
        for seed in 1..=30 {
            let mut reader = Reader::new();
            reader.seed = seed * 7919;
            reader.reads(1024, 1000, without);
            verdicts += u32::from(reader.guard.does_not_pay.load(Relaxed));
        }
        assert!(verdicts <= most, "{verdicts} of 30 at {without}");
    }
}

#[test]
fn a_pause_of_the_program_makes_nothing_dearer_than_was_allowed() {
    let mut reader = Reader::new();
    for _ in 0..64 {
        reader.reads(16, 1000, 100_000);
        reader.now_ns += 1_000_000_000;
    }
    let reading_ns = reader.now_ns - 64_000_000_000;
    let each = reading_ns / (1024 * 256);
    // Half a per cent of all time, of which most is pauses.
    assert!(
        each <= 1000 + 320_000_000 / (1024 * 256) + 100,
        "{each} ns a page"
    );
}

#[test]
fn what_pays_again_is_trusted_again() {
    let mut reader = Reader::new();
    reader.reads(2048, 1200, 1000);
    assert!(reader.guard.does_not_pay.load(Relaxed));
    reader.reads(16_384, 1000, 1200);
    let before = reader.left_alone;
    reader.reads(4096, 1000, 1200);
    let pages = reader.left_alone - before;
    assert!(pages <= 16_384, "{pages} pages");
}

#[test]
fn the_child_of_a_fork_begins_anew() {
    let mut reader = Reader::new();
    reader.reads(2048, 1200, 1000);
    reader.guard.forget();
    let before = reader.left_alone;
    reader.reads(60, 1200, 1000);
    assert_eq!(reader.left_alone, before);
    // Its first verdict is one of four times 64 MiB, whatever its parent's was.
    while reader.guard.in_a_row.load(Relaxed) == 0 {
        reader.reads(1, 1200, 1000);
    }
    let due = reader.guard.due_at.load(Relaxed) - reader.guard.from_read.load(Relaxed);
    assert_eq!(due, LOOK_PAGES << DOUBLINGS);
}
