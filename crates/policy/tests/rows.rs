//! Strides that are read in rows.

mod support;

use ahead_policy::device::DeviceEstimate;
use ahead_units::ByteRange;
use support::{ARRAY, Reader};

const FILE: u64 = 1 << 22;

/// Rows of equally many elements.
#[derive(Clone, Copy)]
struct Rows {
    /// Elements of each.
    elements: u64,
    /// Bytes of an element, and from one to the next.
    length: u64,
    step: u64,
    /// Bytes from the begin of a row to that of the next.
    row: i64,
}

/// Odd reads by seed 393: 1.7 times the kernel's time on a stripe of disks, as each row was asked for beyond its end.
const SLICE: Rows = Rows {
    elements: 24,
    length: 131_072,
    step: 656_219,
    row: 48 * 656_219,
};

impl Rows {
    fn read(self, start: u64) -> ByteRange {
        ByteRange::new(start, start + self.length)
    }

    /// The elements of `rows` rows, of which the first one begins at `first`.
    fn reads(self, first: u64, rows: i64) -> impl Iterator<Item = ByteRange> {
        let starts = (0..rows).map(move |row| first.strict_add_signed(row * self.row));
        starts.flat_map(move |start| {
            (0..self.elements).map(move |element| self.read(start + element * self.step))
        })
    }
}

/// `count` elements of a stride from `first` on.
fn stride(first: u64, count: u64) -> impl Iterator<Item = ByteRange> {
    (0..count).map(move |element| SLICE.read(first + element * SLICE.step))
}

/// What became of reads behind those by which something was learned.
struct Found {
    /// Of a hundred reads, how many had been asked for before they came.
    covered: usize,
    /// Pages asked for and never read, for each hundred that were read.
    in_vain: usize,
}

fn find(device: DeviceEstimate, reads: &[ByteRange], learned_by: usize) -> Found {
    let mut reader = Reader::on(FILE, device);
    for read in &reads[..learned_by] {
        reader.read_or_wait(*read);
    }
    let rest = &reads[learned_by..];
    let before = reader.asked.clone();
    let covered = rest
        .iter()
        .filter(|read| reader.read_or_wait(**read))
        .count();
    let asked = reader.asked.difference(&before);
    let in_vain = asked.filter(|page| !reader.read.contains(page)).count();
    let pages: u64 = rest.iter().map(|read| read.pages().len().get()).sum();
    Found {
        covered: covered * 100 / rest.len(),
        in_vain: in_vain * 100 / usize::try_from(pages).expect("few"),
    }
}

#[test]
fn a_slice_is_asked_for_row_by_row() {
    let reads: Vec<_> = SLICE.reads(0, 30).collect();
    for device in [ARRAY, DeviceEstimate::FLASH] {
        let found = find(device, &reads, 4 * 24);
        assert!(found.covered >= 95, "{}", found.covered);
        assert!(found.in_vain <= 10, "{}", found.in_vain);
    }
}

#[test]
fn backward_too() {
    let mut reads: Vec<_> = SLICE.reads(0, 30).collect();
    reads.reverse();
    let found = find(DeviceEstimate::FLASH, &reads, 4 * 24);
    assert!(found.covered >= 95, "{}", found.covered);
    assert!(found.in_vain <= 10, "{}", found.in_vain);
}

/// Odd reads by seed 58: narrow elements of no whole pages, whose rows are shifted against each other by four pages.
#[test]
fn rows_that_are_shifted_against_each_other_are_followed() {
    let rows = Rows {
        elements: 24,
        length: 16_146,
        step: 97_472,
        row: 24 * 97_472 + 16_384,
    };
    let reads: Vec<_> = rows.reads(0, 30).collect();
    let found = find(ARRAY, &reads, 5 * 24);
    assert!(found.covered >= 95, "{}", found.covered);
    assert!(found.in_vain <= 10, "{}", found.in_vain);
}

/// Odd reads by seed 104: tiles of 16 KiB by thirteen rows, 70 770 bytes apart; 4.1 times the kernel's time on a stripe of disks, as
/// the arms were sent to what lies below each column.
#[test]
fn columns_of_a_tile_end_where_the_tile_does() {
    let column = Rows {
        elements: 13,
        length: 16_444,
        step: 70_770,
        row: 16_444,
    };
    let tiles = (0..20).map(|band| band * 13 * column.step);
    let reads: Vec<_> = tiles.flat_map(|first| column.reads(first, 4)).collect();
    let found = find(ARRAY, &reads, 4 * 4 * 13);
    assert!(found.covered >= 60, "{}", found.covered);
    assert!(found.in_vain <= 25, "{}", found.in_vain);
}

/// Tiles of a matrix whose lines are `line` bytes long, each `width` bytes wide and `lines` tall, one beside the other and band below band.
fn tiles(line: u64, width: u64, lines: u64, bands: u64) -> Vec<ByteRange> {
    let columns = (0..line).step_by(usize::try_from(width).expect("narrow"));
    let bands = (0..bands).flat_map(|band| columns.clone().map(move |column| (band, column)));
    let rows = bands.flat_map(|(band, column)| {
        (0..lines).map(move |row| ((band * lines + row) * line + column, column))
    });
    rows.map(|(start, column)| ByteRange::new(start, start + width.min(line - column)))
        .collect()
}

/// What a reader of twelve bands of tiles found after the second one, and how many requests were made for each of the other ten. One band may be
/// asked for behind the last that is read.
fn find_tiles(line: u64, width: u64, lines: u64, is_reversed: bool) -> (Found, u64) {
    let (bands, learned_by) = (12, 2);
    let mut reads = tiles(line, width, lines, bands);
    if is_reversed {
        reads.reverse();
    }
    let of_band = reads.len() / usize::try_from(bands).expect("few");
    let requests = |count| {
        let mut reader = Reader::on(FILE, DeviceEstimate::FLASH);
        reads[..count]
            .iter()
            .for_each(|read| _ = reader.read_or_wait(*read));
        reader.ranges
    };
    let learned = of_band * usize::try_from(learned_by).expect("few");
    let made = requests(reads.len()) - requests(learned);
    (
        find(DeviceEstimate::FLASH, &reads, learned),
        made / (bands - learned_by),
    )
}

/// Nearly all elements are asked for before they come, in at most `requests_max` requests for each band.
fn assert_by_bands(line: u64, width: u64, lines: u64, is_reversed: bool, requests_max: u64) {
    let (found, requests) = find_tiles(line, width, lines, is_reversed);
    let tiles = format!("{width} of {line} bytes, {lines} lines");
    assert!(found.covered >= 97, "{tiles}: {}", found.covered);
    assert!(found.in_vain <= 10, "{tiles}: {}", found.in_vain);
    assert!(
        requests <= requests_max,
        "{tiles}: {requests} for each band"
    );
}

/// Odd reads by seed 905: eight tiles of 7889 bytes side by side, twenty lines tall. One at a time each element was a request: 4.8 times the
/// kernel's time on a volume, which reads what lies behind a page that was read before.
#[test]
fn tiles_are_asked_for_by_bands() {
    assert_by_bands(63_403, 7_889, 20, false, 20);
}

/// Lines of whole pages, whose tiles begin anywhere in one, and the last one of each band is narrower: 5.0 times the kernel's time on a volume.
#[test]
fn tiles_that_begin_inside_of_pages_are_asked_for_by_bands() {
    assert_by_bands(32_768, 3_072, 49, false, 49);
}

#[test]
fn tiles_are_asked_for_by_bands_towards_the_begin_as_well() {
    for (line, width) in [(63_112, 7_889), (32_768, 4_096)] {
        assert_by_bands(line, width, 20, true, 20);
    }
}

/// Ten rows of a plane of an array, and as many of the next.
#[test]
fn after_the_last_row_of_a_plane_its_rows_are_as_they_were() {
    let planes = (0..6).map(|plane| plane * 1_000_000_000);
    let reads: Vec<_> = planes.flat_map(|first| SLICE.reads(first, 10)).collect();
    let found = find(ARRAY, &reads, 10 * 24);
    assert!(found.covered >= 75, "{}", found.covered);
    assert!(found.in_vain <= 20, "{}", found.in_vain);
}

/// Nothing is learned of rows that are as long as chance has it: the next one may go on for ever.
#[test]
fn a_stride_that_goes_on_is_not_bounded_by_rows_of_other_lengths() {
    let firsts = (0..6).map(|row| row * 60_000_000);
    let rows = firsts.zip([9, 14, 11, 9, 17, 12]);
    let mut reads: Vec<_> = rows
        .flat_map(|(first, elements)| stride(first, elements))
        .collect();
    let learned_by = reads.len() + 40;
    reads.extend(stride(400_000_000, 400));
    let found = find(DeviceEstimate::FLASH, &reads, learned_by);
    assert!(found.covered >= 99, "{}", found.covered);
}

/// After rows of one length a stride is read that does not end there.
#[test]
fn a_row_that_goes_on_is_followed_again() {
    let mut reads: Vec<_> = SLICE.reads(0, 10).collect();
    let learned_by = reads.len() + 24 + 8;
    reads.extend(stride(10 * SLICE.row.unsigned_abs(), 400));
    let found = find(DeviceEstimate::FLASH, &reads, learned_by);
    assert!(found.covered >= 95, "{}", found.covered);
}

/// Of two readers the one that waits for its turn comes back: each was taken for the next row of the other, and given up (80 of 100 reads, and
/// before 100).
#[test]
fn readers_that_take_turns_in_bursts_are_no_rows_of_each_other() {
    for burst in [4, 8, 20] {
        let turn = |turn: u64| {
            let first = turn % 2 * 5_000_000_000 + turn / 2 * burst * SLICE.step;
            stride(first, burst)
        };
        let reads: Vec<_> = (0..600 / burst).flat_map(turn).collect();
        let found = find(DeviceEstimate::FLASH, &reads, 100);
        assert!(found.covered >= 99, "{} of {burst}", found.covered);
    }
}

/// A read of each of three planes in turn: their firsts are as evenly spaced as those of a stride.
#[test]
fn readers_that_lie_evenly_spaced_are_asked_for_each() {
    for planes in [3, 4] {
        let reads: Vec<_> = (0..200)
            .flat_map(|element| {
                (0..planes)
                    .map(move |plane| SLICE.read(plane * 3_000_000_000 + element * SLICE.step))
            })
            .collect();
        let found = find(DeviceEstimate::FLASH, &reads, 100);
        assert!(found.covered >= 95, "{} of {planes}", found.covered);
    }
}

/// They are over when they are seen to be strides.
#[test]
fn rows_of_three_are_rows() {
    let rows = Rows {
        elements: 3,
        ..SLICE
    };
    let reads: Vec<_> = rows.reads(0, 60).collect();
    let found = find(DeviceEstimate::FLASH, &reads, 18);
    assert!(found.covered >= 95, "{}", found.covered);
}

/// The next one would begin before the file does.
#[test]
fn rows_that_are_read_from_the_last_one_to_the_first_end_there() {
    let rows = Rows {
        elements: 24,
        length: 16_384,
        step: 98_304,
        row: -98_304 * 25,
    };
    let reads: Vec<_> = rows.reads(98_304 * 25 * 29, 30).collect();
    let found = find(DeviceEstimate::FLASH, &reads, 6 * 24);
    assert!(found.covered >= 95, "{}", found.covered);
    assert!(found.in_vain <= 5, "{}", found.in_vain);
}

/// Six rows of one slice, and thirty of another, of which the first two pass until it is seen that the other has stopped.
#[test]
fn the_rows_of_another_slice_are_learned_as_well() {
    let other = Rows {
        elements: 30,
        length: 65_536,
        step: 1_000_003,
        row: 60 * 1_000_003,
    };
    let others: Vec<_> = other.reads(3_000_000_000, 30).collect();
    let alone = find(DeviceEstimate::FLASH, &others, 6 * 30);
    let reads: Vec<_> = SLICE.reads(0, 6).chain(others).collect();
    let found = find(DeviceEstimate::FLASH, &reads, 6 * 24 + 6 * 30);
    let [alone, found] = [alone, found].map(|found| (found.covered, found.in_vain));
    assert_eq!(alone, found);
}
