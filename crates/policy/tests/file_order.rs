//! Which file comes next: known orders are followed, others are left alone, and the books hold over
//! generated lives.

use std::collections::BTreeSet;

use ahead_policy::file_order::FileOrder;
use ahead_policy::file_order::listing::{OUTSTANDING_FILES_MAX, OpenListing};
use ahead_policy::file_order::order::{FileRanks, ListingOrder, Needed, ORDERS, by_numbers};
use proptest::prelude::*;

const BYTES_MAX: u64 = 16 << 20;
const FILE_BYTES: u64 = 100_000;

/// The naive model: sets of what was requested, used and given up.
struct Reader {
    policy: FileOrder,
    listings: Vec<Folder>,
    requested: u32,
    used: u32,
    wasted: u32,
}

struct Folder {
    state: OpenListing,
    /// By rank as listed: the ranks of each file.
    files: Vec<FileRanks>,
    outstanding: BTreeSet<u32>,
    order: ListingOrder,
}

/// A permutation of `count` numbers, from a seed.
fn shuffled(count: u32, seed: u64) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..count).collect();
    let mut state = seed | 1;
    for at in (1..numbers.len()).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let other = usize::try_from(state >> 33).unwrap() % (at + 1);
        numbers.swap(at, other);
    }
    numbers
}

impl Reader {
    fn new() -> Self {
        Self {
            policy: FileOrder::new(BYTES_MAX),
            listings: Vec::new(),
            requested: 0,
            used: 0,
            wasted: 0,
        }
    }

    fn list(&mut self, count: u32, seed: u64) -> usize {
        let [named, inode, numbered] = [0, 0x5555, 0xaaaa].map(|more| shuffled(count, seed ^ more));
        let files = (0..count)
            .zip(named)
            .zip(inode)
            .zip(numbered)
            .map(|(((listed, named), inode), numbered)| {
                FileRanks::of_forward([listed, named, inode, numbered], count)
            })
            .collect();
        self.listings.push(Folder {
            state: OpenListing::new(count),
            files,
            outstanding: BTreeSet::new(),
            order: ListingOrder::Listed,
        });
        self.request(self.listings.len() - 1, FILE_BYTES);
        self.listings.len() - 1
    }

    /// Visits the file that has `rank` in `order`.
    fn visit(&mut self, folder: usize, order: ListingOrder, rank: u32) {
        let place = &mut self.listings[folder];
        let ranks = *place.files.iter().find(|r| r.of(order) == rank).unwrap();
        let expected = place.outstanding.remove(&ranks.of(place.order));
        let used = self.policy.on_visit(&mut place.state, ranks);
        // What was given up is not used: the model learns of that by the count below.
        assert!(expected || !used, "used without having been requested");
        self.used += u32::from(used);
        self.request(folder, FILE_BYTES);
    }

    fn request(&mut self, folder: usize, file_bytes: u64) {
        let place = &mut self.listings[folder];
        let wanted = self.policy.files_wanted();
        if let Some(batch) = self.policy.next(&mut place.state, wanted) {
            // A change of order gives up what was outstanding, also where it requests nothing.
            let requested = place.state.outstanding() - batch.files();
            if batch.order != place.order || requested == 0 {
                place.outstanding.clear();
                place.order = batch.order;
            }
            assert!(batch.start < batch.end);
            assert!(batch.end as usize <= place.files.len());
            let fits =
                u32::try_from(self.policy.bytes_left() / file_bytes.max(1)).unwrap_or(u32::MAX);
            let count = batch.files().min(fits);
            let end = batch.end_of(count);
            self.policy
                .on_requested(&mut place.state, end, u64::from(count) * file_bytes);
            let kept = batch.ranks().take(usize::try_from(count).unwrap());
            for rank in kept {
                assert!(place.outstanding.insert(rank), "requested twice: {rank}");
            }
            self.requested += count;
        }
        self.check();
    }

    fn end(&mut self, folder: usize) {
        let place = &mut self.listings[folder];
        self.wasted += self.policy.on_end(&mut place.state);
        place.outstanding.clear();
        self.check();
    }

    fn check(&self) {
        let outstanding: u32 = self.listings.iter().map(|l| l.state.outstanding()).sum();
        assert_eq!(self.policy.outstanding_files(), outstanding);
        assert!(outstanding <= OUTSTANDING_FILES_MAX);
        assert!(self.policy.bytes_left() <= BYTES_MAX);
        assert!(self.used + self.wasted + outstanding <= self.requested);
        for place in &self.listings {
            assert!(place.state.outstanding() as usize <= place.outstanding.len());
        }
    }

    fn visit_all(&mut self, folder: usize, order: ListingOrder) {
        for rank in 0..self.listings[folder].files.len() {
            self.visit(folder, order, u32::try_from(rank).unwrap());
        }
    }
}

#[test]
fn each_order_is_recognised_within_a_folder_and_nearly_all_of_it_requested() {
    for order in ListingOrder::ALL {
        let mut reader = Reader::new();
        let folder = reader.list(400, 7);
        reader.visit_all(folder, order);
        assert_eq!(reader.policy.order(), Some(order));
        assert!(reader.used >= 390, "{order:?}: {}", reader.used);
        assert_eq!(reader.requested, reader.used, "{order:?}");
    }
}

#[test]
fn the_order_is_carried_into_the_next_folder() {
    let mut reader = Reader::new();
    for seed in 0..40 {
        let folder = reader.list(14, seed);
        reader.visit_all(folder, ListingOrder::Named);
        reader.end(folder);
    }
    assert!(reader.used > 40 * 14 - 40, "{}", reader.used);
    assert!(reader.wasted <= 16, "{}", reader.wasted);
}

/// Of nine files numbers are in the order of their names, of twelve they are not: `1`, `10`, `11`, `12`, `2`.
#[test]
fn an_order_stays_followed_where_another_one_is_as_good() {
    let mut reader = Reader::new();
    for count in [9, 9, 12, 9, 9, 9, 12, 9, 9] {
        let mut names: Vec<(String, u32)> = (0..count)
            .map(|rank| ((rank + 1).to_string(), rank))
            .collect();
        names.sort();
        let mut files = Vec::new();
        for (named, (_, numbered)) in (0..).zip(&names) {
            let [listed, inode] =
                [7, 77].map(|seed| shuffled(count, seed)[usize::try_from(named).unwrap()]);
            let ranks = [listed, named, inode, *numbered];
            files.push(FileRanks::of_forward(ranks, count));
        }
        let at = reader.listings.len();
        reader.listings.push(Folder {
            state: OpenListing::new(count),
            files,
            outstanding: BTreeSet::new(),
            order: ListingOrder::Listed,
        });
        reader.visit_all(at, ListingOrder::Numbered);
        if at >= 2 {
            assert_eq!(
                reader.policy.order(),
                Some(ListingOrder::Numbered),
                "after folder {at}"
            );
        }
    }
}

#[test]
fn a_random_order_of_files_is_left_alone() {
    let mut reader = Reader::new();
    let folder = reader.list(4000, 3);
    for rank in shuffled(4000, 99) {
        reader.visit(folder, ListingOrder::Listed, rank);
    }
    assert_eq!(reader.requested, 0);
}

#[test]
fn a_random_order_in_small_folders_is_left_alone() {
    let mut reader = Reader::new();
    for seed in 0..300 {
        let folder = reader.list(14, seed);
        for rank in shuffled(14, seed ^ 0x00de_cade) {
            reader.visit(folder, ListingOrder::Listed, rank);
        }
        reader.end(folder);
    }
    assert!(reader.wasted < 42, "{} of 4200", reader.wasted);
}

/// Each file lies just behind the one before it: that counted for the order instead of against it.
#[test]
fn the_opposite_of_an_order_is_not_that_order() {
    let mut reader = Reader::new();
    let folder = reader.list(400, 1);
    reader.visit_all(folder, ListingOrder::Listed);
    let folder = reader.list(400, 2);
    for rank in (0..400).rev() {
        reader.visit(folder, ListingOrder::Listed, rank);
    }
    assert_eq!(reader.policy.order(), Some(ListingOrder::ListedBackward));
}

/// A list of which a program takes every second, third or fourth file, whatever the length of its folders.
#[test]
fn files_that_are_left_out_each_time_are_not_requested() {
    for (step, order) in [
        (2, ListingOrder::Named),
        (3, ListingOrder::Named),
        (3, ListingOrder::NamedBackward),
        (4, ListingOrder::Listed),
    ] {
        let mut reader = Reader::new();
        let (mut visits, mut left_out) = (0, 0);
        for (seed, files) in (0..60).zip([40, 17, 2, 33].into_iter().cycle()) {
            let folder = reader.list(files, seed);
            while left_out < files {
                reader.visit(folder, order, left_out);
                visits += 1;
                left_out += step;
            }
            left_out -= files;
            reader.end(folder);
        }
        let (used, wasted) = (reader.used, reader.wasted);
        assert!(used * 10 > visits * 9, "{step} {order:?}: {used}");
        assert!(wasted < 32, "{step} {order:?}: {wasted} wasted");
    }
}

/// A list of which every third file is taken, in folders that are listed at the third file that is opened of them: where
/// that is in its folder counted against every order, and two steps behind it were not enough.
#[test]
fn the_first_known_visit_of_a_listing_that_was_begun_before_says_nothing() {
    let mut policy = FileOrder::new(BYTES_MAX);
    for seed in 0..2 {
        let mut listing = OpenListing::begun(14);
        let listed = shuffled(14, seed);
        for rank in [6, 9, 12] {
            let ranks = [listed[rank], u32::try_from(rank).unwrap(), 0, 0];
            policy.on_visit(&mut listing, FileRanks::of_forward(ranks, 14));
        }
    }
    assert_eq!(policy.order(), Some(ListingOrder::Named));
}

/// Now and then one of them is left out: that is no step.
#[test]
fn a_program_that_leaves_out_some_files_is_helped_with_all_of_them() {
    let mut reader = Reader::new();
    let folder = reader.list(2000, 3);
    let mut visits = 0;
    for rank in (0..2000).filter(|rank| rank % 12 != 3) {
        reader.visit(folder, ListingOrder::Named, rank);
        visits += 1;
    }
    assert!(reader.used * 10 > visits * 8, "{} of {visits}", reader.used);
}

/// Each pair is gone through from its end: the newest steps of the order are two files long, and lead over files that are
/// visited after them.
#[test]
fn workers_that_are_done_in_the_opposite_order_leave_out_nothing() {
    let mut reader = Reader::new();
    let folder = reader.list(400, 1);
    for pair in 0..200 {
        for worker in [1, 0] {
            reader.visit(folder, ListingOrder::Named, pair * 2 + worker);
        }
    }
    assert!(reader.used > 360, "{}", reader.used);
}

#[test]
fn a_program_that_stops_leaves_at_most_what_is_outstanding() {
    let mut reader = Reader::new();
    let folder = reader.list(4000, 3);
    for rank in 0..40 {
        reader.visit(folder, ListingOrder::Listed, rank);
    }
    reader.end(folder);
    assert!(reader.wasted <= 40, "{}", reader.wasted);
}

/// Each folder is begun and left after three files: it would cost eleven of fourteen files each time.
#[test]
fn a_program_that_leaves_each_folder_early_is_soon_left_alone() {
    let mut reader = Reader::new();
    let folder = reader.list(400, 1);
    reader.visit_all(folder, ListingOrder::Listed);
    for seed in 0..1000 {
        let folder = reader.list(14, seed);
        for rank in 0..3 {
            reader.visit(folder, ListingOrder::Listed, rank);
        }
        reader.end(folder);
    }
    assert!(reader.wasted < 350, "{} of 14000", reader.wasted);
}

#[test]
fn a_program_that_was_left_alone_is_helped_again_when_it_follows() {
    let mut reader = Reader::new();
    let folder = reader.list(400, 1);
    reader.visit_all(folder, ListingOrder::Listed);
    for seed in 0..100 {
        let folder = reader.list(14, seed);
        reader.visit(folder, ListingOrder::Listed, 0);
        reader.end(folder);
    }
    let before = reader.used;
    let folder = reader.list(4000, 5);
    reader.visit_all(folder, ListingOrder::Listed);
    assert!(reader.used - before > 3000, "{}", reader.used - before);
}

#[test]
fn four_workers_over_one_order_are_one_reader() {
    let mut reader = Reader::new();
    let folder = reader.list(400, 1);
    for group in 0..100 {
        for worker in [2, 0, 3, 1] {
            reader.visit(folder, ListingOrder::Named, group * 4 + worker);
        }
    }
    assert!(reader.used > 360, "{}", reader.used);
}

#[test]
fn large_files_are_bounded_by_bytes() {
    let mut reader = Reader::new();
    let folder = reader.list(400, 1);
    for rank in 0..50 {
        reader.visit(folder, ListingOrder::Listed, rank);
    }
    let mut policy = FileOrder::new(1 << 20);
    let mut listing = OpenListing::new(100);
    for rank in 0..4 {
        policy.on_visit(&mut listing, FileRanks([rank; ORDERS]));
    }
    let wanted = policy.files_wanted();
    let batch = policy.next(&mut listing, wanted).unwrap();
    policy.on_requested(&mut listing, batch.start + 1, 1 << 20);
    assert_eq!((policy.outstanding_files(), policy.bytes_left()), (1, 0));
    assert_eq!(policy.files_wanted(), 0);
    assert_eq!(policy.next(&mut listing, 4), None);
    policy.on_visit(&mut listing, FileRanks([batch.start; ORDERS]));
    assert_eq!(policy.bytes_left(), 1 << 20);
}

/// The bits of the old order began at a higher rank than the reader has in the new one: the difference
/// was negative.
#[test]
fn an_order_that_begins_again_at_a_lower_rank_is_followed() {
    let mut policy = FileOrder::new(BYTES_MAX);
    let mut listing = OpenListing::new(300);
    let mut visit = |ranks| {
        policy.on_visit(&mut listing, FileRanks::of_forward(ranks, 300));
        let wanted = policy.files_wanted();
        let batch = policy.next(&mut listing, wanted)?;
        policy.on_requested(&mut listing, batch.end, FILE_BYTES);
        Some(batch)
    };
    for listed in 0..60 {
        visit([listed, listed * 7 % 300, 299 - listed, listed * 11 % 300]);
    }
    let last = (60..200).filter_map(|at| visit([299 - at, at - 60, at * 7 % 300, at * 11 % 300]));
    let last = last.last().expect("the new order is followed");
    assert_eq!(last.order, ListingOrder::Named);
    assert!(last.start < 140 + 64);
}

#[test]
fn what_is_needed_follows_the_last_files() {
    let mut policy = FileOrder::new(BYTES_MAX);
    assert_eq!(policy.needed(), Needed::Whole);
    for needed in [Needed::Metadata, Needed::Head, Needed::Whole] {
        for _ in 0..20 {
            policy.on_needed(needed);
        }
        assert_eq!(policy.needed(), needed);
    }
}

#[test]
fn numbers_in_names_count_by_their_value() {
    let sorted: [&[u8]; 9] = [
        b"",
        b"frame_",
        b"frame_7.png",
        b"frame_007.png2",
        b"frame_8",
        b"frame_10",
        b"frame_10.2",
        b"frame_10.10",
        b"frames",
    ];
    for (at, one) in sorted.iter().enumerate() {
        for (other_at, other) in sorted.iter().enumerate() {
            let order = by_numbers(one, other);
            assert_eq!(order, at.cmp(&other_at), "{one:?} and {other:?}");
        }
    }
    // Equal numbers: byte order, so that no two names are equal.
    assert!(by_numbers(b"007", b"7").is_lt());
    // More digits than any integer has.
    let long = [b'9'; 100];
    assert!(by_numbers(&long[..99], &long).is_lt());
}

#[derive(Clone, Debug)]
enum Step {
    List {
        files: u32,
        seed: u64,
    },
    Visit {
        folder: usize,
        rank: u32,
    },
    Run {
        folder: usize,
        order: usize,
        start: u32,
        count: u32,
        stride: u32,
    },
    End {
        folder: usize,
    },
    Needed(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..300_u32, any::<u64>()).prop_map(|(files, seed)| Step::List { files, seed }),
        4 => (any::<usize>(), any::<u32>()).prop_map(|(folder, rank)| Step::Visit { folder, rank }),
        6 => (any::<usize>(), 0..ORDERS, 0..300_u32, 1..200_u32, 1..6_u32)
            .prop_map(|(folder, order, start, count, stride)| Step::Run { folder, order, start, count, stride }),
        1 => any::<usize>().prop_map(|folder| Step::End { folder }),
        1 => (0..3_usize).prop_map(Step::Needed),
    ]
}

proptest! {
    #[test]
    fn any_names_can_be_sorted_by_numbers(mut names in prop::collection::vec("[a01]{0,6}", 0..20)) {
        names.sort_by(|one, other| by_numbers(one.as_bytes(), other.as_bytes()));
        for (at, one) in names.iter().enumerate() {
            for other in &names[at..] {
                prop_assert!(by_numbers(one.as_bytes(), other.as_bytes()).is_le());
            }
        }
    }

    #[test]
    fn whatever_happens_the_limits_hold(steps in prop::collection::vec(step(), 1..60)) {
        let mut reader = Reader::new();
        for step in steps {
            let listings = reader.listings.len();
            match step {
                Step::List { files, seed } => {
                    reader.list(files, seed);
                }
                Step::Visit { folder, rank } if listings > 0 => {
                    let folder = folder % listings;
                    let files = u32::try_from(reader.listings[folder].files.len()).unwrap();
                    if files > 0 {
                        reader.visit(folder, ListingOrder::Listed, rank % files);
                    }
                }
                Step::Run { folder, order, start, count, stride } if listings > 0 => {
                    let folder = folder % listings;
                    let files = u32::try_from(reader.listings[folder].files.len()).unwrap();
                    for rank in (start..files).step_by(stride as usize).take(count as usize) {
                        reader.visit(folder, ListingOrder::ALL[order], rank);
                    }
                }
                Step::End { folder } if listings > 0 => reader.end(folder % listings),
                Step::Needed(index) => {
                    reader.policy.on_needed([Needed::Metadata, Needed::Head, Needed::Whole][index]);
                }
                _ => {}
            }
        }
    }
}
