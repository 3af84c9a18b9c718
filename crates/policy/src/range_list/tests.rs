//! Lists that come again, that do not, and that change.

use super::*;

const AHEAD: Ahead = Ahead {
    ranges: 8,
    pages: 1024,
    file_pages: 1 << 20,
};

/// Begins of `count` ranges all over the file, the same for the same `seed`.
fn ranges(seed: u64, count: u64) -> Vec<u64> {
    (0..count)
        .map(|place| ((seed << 32) + place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44)
        .collect()
}

/// Reads ranges of four pages. How many were asked for when they began, all that were asked for, and those in
/// vain.
fn read(list: &mut RangeList, starts: &[u64]) -> (usize, u32, u32) {
    let (mut covered, mut asked, mut lost) = (0, 0, 0);
    for start in starts {
        let begun = list.on_begin(PageRange::new(*start, start + 4), 4, None);
        covered += usize::from(begun.listed.is_covered);
        lost += begun.lost;
        while let Some(prefetch) = list.ask_ahead(&AHEAD) {
            asked += prefetch.count;
            list.on_not_cached();
        }
    }
    (covered, asked, lost)
}

#[test]
fn what_is_read_again_in_the_same_order_is_asked_for_once_three_have_come_as_before() {
    let mut list = RangeList::new();
    let once = ranges(0, 300);
    assert_eq!(read(&mut list, &once), (0, 0, 0));
    assert_eq!(read(&mut list, &once), (297, 305, 0));
    assert_eq!(read(&mut list, &once), (300, 300, 0), "round and round");
    assert_eq!(list.unread(), 8 * 4);
}

#[test]
fn another_order_costs_nothing() {
    let mut list = RangeList::new();
    for epoch in 0..50 {
        let mut starts = ranges(0, 300);
        starts.sort_by_key(|start| (start + 1) * (epoch * 2 + 12_345) % 1_000_003);
        assert_eq!(read(&mut list, &starts).1, 0, "{epoch}");
    }
}

/// A program reads other things first, and begins its rounds then.
#[test]
fn a_round_may_begin_anywhere() {
    let mut list = RangeList::new();
    read(&mut list, &ranges(7, 50));
    let round = ranges(0, 100);
    read(&mut list, &round);
    assert_eq!(read(&mut list, &round).0, 97);
    assert_eq!(read(&mut list, &round).0, 100, "not those of before");
}

#[test]
fn ranges_that_are_left_out_and_others_in_between_change_nothing() {
    let mut list = RangeList::new();
    let once = ranges(0, 300);
    read(&mut list, &once);
    let mut changed = once.clone();
    changed.remove(150);
    changed.insert(200, 999_999);
    let (covered, _, lost) = read(&mut list, &changed);
    assert_eq!((covered, lost), (296, 4));
}

#[test]
fn a_list_that_ends_in_the_middle_again_and_again_is_followed_less_and_less() {
    let mut list = RangeList::new();
    read(&mut list, &ranges(0, 1000));
    let (mut first, mut last) = (0, 0);
    for round in 0..40 {
        let from = round * 25;
        let mut starts = ranges(0, 1000)[from..from + 12].to_vec();
        starts.extend(ranges(round as u64 + 3, 20));
        let asked = read(&mut list, &starts).1;
        if round < 2 {
            first += asked;
        } else if round >= 30 {
            last += asked;
        }
    }
    assert!(first > 0);
    assert_eq!(last, 0);
}

#[test]
fn what_is_in_memory_is_asked_for_less_and_less() {
    let mut list = RangeList::new();
    let once = ranges(0, 500);
    let mut asked = 0;
    for _ in 0..20 {
        for start in &once {
            list.on_begin(PageRange::new(*start, start + 4), 4, None);
            if let Some(prefetch) = list.ask_ahead(&AHEAD) {
                asked += prefetch.count;
                list.on_cached();
            }
        }
    }
    assert!(asked < 500, "{asked} of 10 000");
}

#[test]
fn long_ranges_are_not_asked_for() {
    let mut list = RangeList::new();
    let once = ranges(0, 100);
    for _ in 0..3 {
        for start in &once {
            list.on_begin(PageRange::new(*start, start + 16), 600, None);
            assert_eq!(list.ask_ahead(&AHEAD), None);
        }
    }
}

#[test]
fn a_list_that_is_full_is_written_anew_when_it_comes_no_more() {
    let mut list = RangeList::new();
    read(&mut list, &ranges(1, RANGES_MAX as u64));
    for epoch in 2..8 {
        read(&mut list, &ranges(epoch, RANGES_MAX as u64));
    }
    let once = ranges(11, 500);
    let covered = [(); 12].map(|()| read(&mut list, &once).0);
    assert!(covered.contains(&500), "{covered:?}");
}

#[test]
fn what_was_refused_is_asked_for_again() {
    let mut list = RangeList::new();
    let once = ranges(0, 100);
    read(&mut list, &once);
    read(&mut list, &once[..3]);
    let held = list.unread();
    list.forget_asked();
    assert_eq!((held, list.unread()), (32, 0));
    let first = list.ask_ahead(&AHEAD);
    list.on_refused();
    assert_eq!((list.unread(), list.ask_ahead(&AHEAD)), (0, first));
}

/// Whatever comes, what is asked for lies in the file and the counts hold.
#[test]
fn no_life_of_a_list_breaks_its_counts() {
    let mut list = RangeList::new();
    let mut number = 1_u64;
    let mut next = |limit: u64| {
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (number >> 33) % limit
    };
    let ahead = Ahead {
        file_pages: 200,
        pages: 64,
        ..AHEAD
    };
    for _ in 0..200_000 {
        let start = if next(50) == 0 {
            next(190)
        } else {
            next(12) * 7
        };
        let begun = list.on_begin(PageRange::new(start, start + 1 + next(9)), next(12), None);
        assert!(begun.lost <= 64);
        if let Some(prefetch) = list.ask_ahead(&ahead) {
            for range in prefetch.ranges() {
                assert!(range.end.get() <= 200, "{prefetch}");
            }
        }
        match next(20) {
            0 => list.on_refused(),
            1 => list.on_cached(),
            2 => assert!(list.forget_asked() <= 64),
            _ => list.on_not_cached(),
        }
        assert!(list.unread() <= 64);
        assert!(list.asked > 0 || list.unread() == 0);
    }
}
