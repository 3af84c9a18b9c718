//! A file that is read from a device that takes one access for what is not there.

use super::*;

const FILE_PAGES: u64 = 16_384;
const DEVICE: DeviceEstimate = DeviceEstimate::ARM;
const MOST: PageCount = PageCount::new(512);

/// A file and a device on which each read of pages that are not there takes one access, and a section its transfer. What is
/// asked for is there at once, in time that the read that it is asked for with waits.
struct Reader {
    filling: Box<Filling>,
    there: Vec<bool>,
    read: Vec<bool>,
    now_ns: u64,
    /// What reads waited, that of it which was for what was asked for, and what they would have waited without.
    waited_ns: u64,
    spent_ns: u64,
    alone_ns: u64,
    asked: u64,
}

fn at(page: u64) -> usize {
    usize::try_from(page).expect("a small file")
}

fn page(page: u64) -> PageRange {
    PageRange::new(page, page + 1)
}

fn want(backward: bool) -> Option<Want> {
    Some(Want {
        backward,
        ended: None,
        pages_max: MOST,
    })
}

impl Reader {
    fn new() -> Self {
        let mut filling = Box::new(Filling::BLANK);
        filling.set_file_pages(PageCount::new(FILE_PAGES));
        Self {
            filling,
            there: vec![false; at(FILE_PAGES)],
            read: vec![false; at(FILE_PAGES)],
            now_ns: 0,
            waited_ns: 0,
            spent_ns: 0,
            alone_ns: 0,
            asked: 0,
        }
    }

    fn read(&mut self, number: u64, backward: bool) -> FilledRead {
        self.read_with(number, want(backward))
    }

    /// A stream asks for these pages and reads them.
    fn read_asked_for(&mut self, pages: core::ops::Range<u64>) {
        self.filling
            .on_read_asked_for(PageRange::new(pages.start, pages.end), &DEVICE);
        let pages = at(pages.start)..at(pages.end);
        self.there[pages.clone()].fill(true);
        self.read[pages].fill(true);
    }

    fn read_with(&mut self, number: u64, want: Option<Want>) -> FilledRead {
        let began = Timestamp::new(self.now_ns);
        let (filled_read, asked) = self.filling.on_read(page(number), &DEVICE, want, began);
        let mut wait_ns = 0;
        if !core::mem::replace(&mut self.there[at(number)], true) {
            wait_ns += DEVICE.access_ns;
        }
        if !core::mem::replace(&mut self.read[at(number)], true) {
            self.alone_ns += DEVICE.access_ns;
        }
        if let Some(piece) = asked {
            let pages = at(piece.pages.start.get())..at(piece.pages.end.get());
            assert!(pages.end <= at(FILE_PAGES) && piece.pages.len() <= MOST);
            assert!(pages.contains(&at(number)), "it has the page that is read");
            let new: u64 = self.there[pages.clone()]
                .iter()
                .map(|is| u64::from(!is))
                .sum();
            self.there[pages].fill(true);
            let transfer_ns = DEVICE.transfer_ns(PageCount::new(new));
            wait_ns += transfer_ns;
            self.spent_ns += transfer_ns;
            self.asked += new;
        }
        self.now_ns += wait_ns;
        if wait_ns > 0 {
            let waited = Waited {
                once_ns: wait_ns,
                is_long: wait_ns >= DEVICE.access_ns / 2,
                began,
                is_alone: true,
            };
            self.filling.on_wait(page(number), filled_read, waited);
        }
        self.waited_ns += wait_ns;
        filled_read
    }

    /// A section that was asked for, and not last.
    fn section_there(&self) -> Option<PageRange> {
        let newest = self.filling.newest.pages;
        let mut sections = (0..self.filling.cut.count()).map(|section| section..section + 1);
        let found = sections.find(|section| {
            let pages = self.filling.cut.pages(section);
            self.filling.is_inside(pages) && pages.shared(newest).get() == 0
        });
        found.map(|section| self.filling.cut.pages(&section))
    }
}

/// Pieces of 19 pages in any order: the first page of each is read alone, a stream asks for the others.
#[test]
fn a_file_that_is_read_in_pieces_in_any_order_is_filled_in() {
    let waited = |ended: Option<PageCount>| {
        let mut reader = Reader::new();
        let pieces = FILE_PAGES / 19;
        for piece in (0..pieces).map(|piece| piece.wrapping_mul(0x9e37_79b9) % pieces * 19) {
            let want = want(false).map(|want| Want { ended, ..want });
            reader.read_with(piece, want);
            reader.read_asked_for(piece + 1..piece + 19);
        }
        reader.waited_ns / DEVICE.access_ns
    };
    assert_eq!(waited(None), 498);
    assert_eq!(waited(Some(PageCount::new(32))), 362);
}

/// Pages without order, some of them twice.
fn shuffled(reads: u64) -> impl Iterator<Item = u64> {
    (0..reads).map(|read| read.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7 & (FILE_PAGES - 1))
}

/// Each page once: an odd factor permutes what is below a power of two.
fn all_shuffled() -> impl Iterator<Item = u64> {
    (0..FILE_PAGES).map(|read| read.wrapping_mul(0x4a8b_e923) & (FILE_PAGES - 1))
}

#[test]
fn a_file_that_is_read_in_an_order_without_order_is_there_long_before_all_of_it_is_read() {
    let mut reader = Reader::new();
    all_shuffled().for_each(|page| {
        reader.read(page, false);
    });
    assert_eq!(
        reader.alone_ns,
        FILE_PAGES * DEVICE.access_ns,
        "each page once"
    );
    assert!(
        reader.waited_ns < reader.alone_ns / 4,
        "{}",
        reader.waited_ns
    );
    assert!(reader.asked > FILE_PAGES * 3 / 4, "{}", reader.asked);
    assert_eq!(reader.filling.unread().get(), 0);
}

#[test]
fn who_moves_on_asks_for_nothing_however_it_moves() {
    let forward = (0..FILE_PAGES).step_by(9);
    let in_turn = (0..FILE_PAGES).map(|read| read % 8 * (FILE_PAGES / 8) + read / 8);
    for reads in [
        Box::new(forward) as Box<dyn Iterator<Item = u64>>,
        Box::new(in_turn),
    ] {
        let mut reader = Reader::new();
        reads.for_each(|page| {
            reader.read(page, false);
        });
        assert_eq!((reader.asked, reader.waited_ns), (0, reader.alone_ns));
    }
}

#[test]
fn who_moves_backward_over_holes_gets_sections_in_front() {
    let mut reader = Reader::new();
    (0..FILE_PAGES).rev().step_by(5).for_each(|page| {
        reader.read(page, true);
    });
    assert!(
        reader.waited_ns < reader.alone_ns / 2,
        "{}",
        reader.waited_ns
    );
}

/// Reads that avoid what is brought, as if they knew: the most that can be lost.
#[test]
fn where_nothing_is_ever_read_of_what_is_brought_it_costs_one_per_cent() {
    let mut reader = Reader::new();
    for page in shuffled(60_000) {
        if !reader.there[at(page)] || reader.read[at(page)] {
            reader.read(page, false);
        }
    }
    assert!(reader.asked > 0, "it was tried");
    let most_ns = (reader.waited_ns - reader.spent_ns) / 100 + DEVICE.transfer_ns(MOST);
    assert!(
        reader.spent_ns <= most_ns,
        "{} of {most_ns}",
        reader.spent_ns
    );
    assert!(reader.filling.unread().get() > 0);
    let unread = reader.filling.unread();
    assert_eq!(reader.filling.give_up(), unread);
    assert_eq!(reader.filling.unread().get(), 0);
}

/// Of a file of 1 GiB pages are known by twos: what stands for both is read with one of them.
#[test]
fn of_a_long_file_nothing_stays_unread_that_was_read() {
    let mut filling = Box::new(Filling::BLANK);
    let pages = 1 << 18;
    filling.set_file_pages(PageCount::new(pages));
    let mut now = 0;
    for read in 0..4 * pages {
        let access = page(read.wrapping_mul(0x4a8b_e923) & (pages - 1));
        let (began, want) = (Timestamp::new(now), want(false));
        let (filled_read, _) = filling.on_read(access, &DEVICE, want, began);
        now += DEVICE.access_ns;
        if !filled_read.is_inside {
            let waited = Waited {
                once_ns: DEVICE.access_ns,
                is_long: true,
                began,
                is_alone: true,
            };
            filling.on_wait(access, filled_read, waited);
        }
    }
    assert_eq!(filling.unread().get(), 0);
    assert!(filling.is_inside(PageRange::new(0, pages)));
}

/// Records of four pages at random places, of which a stream asks for all but the first: those have saved something too, and what is told of late has
/// been read.
#[test]
fn what_a_stream_asks_for_pays_for_sections_and_what_comes_late_is_read() {
    let mut reader = Reader::new();
    let mut found = 0;
    for record in
        (0..FILE_PAGES / 4).map(|read| read.wrapping_mul(0x4a8b_e923) & (FILE_PAGES / 4 - 1))
    {
        reader.read(record * 4, false);
        for number in record * 4 + 1..record * 4 + 4 {
            let began = Timestamp::new(reader.now_ns);
            let read = reader.filling.on_read_asked_for(page(number), &DEVICE);
            found += u32::from(read.is_found());
            if !core::mem::replace(&mut reader.there[at(number)], true) && number == record * 4 + 1
            {
                reader.now_ns += DEVICE.access_ns;
                let waited = Waited {
                    once_ns: DEVICE.access_ns,
                    is_long: true,
                    began,
                    is_alone: true,
                };
                reader.filling.on_wait(page(number), read, waited);
            }
            reader.read[at(number)] = true;
        }
    }
    assert!(u64::from(found) > FILE_PAGES / 4, "{found}");
    assert_eq!(reader.filling.unread().get(), 0, "all was read");
    let mut late = Box::new(Filling::BLANK);
    late.set_file_pages(PageCount::new(FILE_PAGES));
    late.on_late_read(page(5));
    let (read, _) = late.on_read(page(5), &DEVICE, None, Timestamp::new(1));
    assert!(!read.is_found() && read.was_there);
}

/// Three threads wait all the time, so that none is alone, and everything has gone.
#[test]
fn what_is_gone_is_noticed_where_several_wait() {
    let mut reader = Reader::new();
    all_shuffled().for_each(|page| {
        reader.read(page, false);
    });
    let end = Timestamp::new(reader.now_ns + 1_000_000_000);
    let is_all_there = |reader: &Reader| reader.filling.is_inside(PageRange::new(64, 128));
    assert!(is_all_there(&reader));
    for _ in 0..8 {
        let access = page(100);
        let (filled_read, _) = reader.filling.on_read(access, &DEVICE, None, end);
        let waited = Waited {
            once_ns: DEVICE.access_ns,
            is_long: true,
            began: end,
            is_alone: false,
        };
        reader.filling.on_wait(access, filled_read, waited);
    }
    assert!(!is_all_there(&reader));
}

/// Everything has gone from memory once all of it was there: it is filled in again.
#[test]
fn what_was_brought_or_read_and_is_gone_is_brought_again() {
    let mut reader = Reader::new();
    all_shuffled().for_each(|page| {
        reader.read(page, false);
    });
    let (waited_ns, asked) = (reader.waited_ns, reader.asked);
    reader.there.fill(false);
    reader.now_ns += 1_000_000_000;
    all_shuffled().for_each(|page| {
        reader.read(page, false);
    });
    assert!(reader.asked - asked > FILE_PAGES / 2, "{}", reader.asked);
    let again_ns = reader.waited_ns - waited_ns;
    assert!(
        again_ns < FILE_PAGES * DEVICE.access_ns / 2,
        "{again_ns}, first {waited_ns}"
    );
}

#[test]
fn what_could_not_be_asked_for_cost_nothing_and_is_not_counted_on() {
    let mut reader = Reader::new();
    let mut pages = all_shuffled();
    for are_there in [false, true] {
        let asking = pages
            .by_ref()
            .find(|page| {
                let before = reader.asked;
                reader.read(*page, false);
                reader.asked > before
            })
            .expect("it begins before all is read");
        let unread = reader.filling.unread();
        let (asked, newest) = (reader.filling.newest.new_pages, reader.filling.newest.pages);
        reader.filling.on_not_asked(PageRange::new(0, 1), are_there);
        assert!(reader.filling.is_inside(page(asking)), "another request's");
        reader.filling.on_not_asked(newest, are_there);
        assert_eq!(reader.filling.is_inside(page(asking)), are_there);
        assert_eq!(reader.filling.unread() + asked, unread);
    }
}

#[test]
fn a_file_that_grows_keeps_what_is_known_and_another_one_begins_anew_with_what_was_owed() {
    let mut reader = Reader::new();
    let mut pages = all_shuffled();
    let section = loop {
        if let Some(section) = reader.section_there() {
            break section;
        }
        reader.read(pages.next().expect("not all of it"), false);
    };
    let set = |reader: &mut Reader, pages| reader.filling.set_file_pages(PageCount::new(pages));
    set(&mut reader, FILE_PAGES + 1);
    assert!(reader.filling.is_inside(section), "it has only grown");
    reader.filling.account.spend(u64::from(u32::MAX));
    set(&mut reader, FILE_PAGES / 2);
    assert!(!reader.filling.is_inside(section), "it is another one");
    assert!(!reader.filling.account.has(0), "what was owed is owed");
}

/// Whatever is read and waited for in which order, sections lie in the file, none is asked for twice, and what is asked for was earned.
#[test]
fn any_reads_and_waits_keep_sections_in_the_file_and_the_account_in_order() {
    let state = core::cell::Cell::new(0x1234_5678_9abc_def1_u64);
    let any = |below: u64| {
        let mut next = state.get();
        next ^= next << 13;
        next ^= next >> 7;
        next ^= next << 17;
        state.set(next);
        next % below.max(1)
    };
    let mut pieces = 0;
    for _ in 0..300 {
        let mut file_pages = 1 + any(1 << any(32));
        let mut filling = Box::new(Filling::BLANK);
        filling.set_file_pages(PageCount::new(file_pages));
        let device = DeviceEstimate {
            access_ns: any(1 << any(30)),
            bytes_per_second: any(1 << any(40)),
            depth: 1,
        };
        let mut now = 0;
        for _ in 0..400 {
            let start = any(file_pages);
            let end = (start + any(1 << any(12))).min(file_pages);
            let (pages, began) = (PageRange::new(start, end), Timestamp::new(now));
            let most = PageCount::new(any(4096)).max(filling.section());
            let want = Want {
                backward: any(2) == 0,
                ended: (any(2) == 0).then_some(PageCount::new(any(1 << 12))),
                pages_max: most,
            };
            let before: Vec<bool> = (0..filling.cut.count())
                .map(|section| filling.asked.has(section))
                .collect();
            let (filled_read, piece) = filling.on_read(pages, &device, Some(want), began);
            if let Some(piece) = piece {
                pieces += 1;
                assert!(piece.pages.end.get() <= file_pages && piece.pages.len() <= most);
                let mut sections = filling.cut.sections(piece.pages);
                assert!(sections.all(|section| !before[at(section)]));
            }
            now += any(1 << any(30));
            match any(20) {
                0..10 => {
                    let waited = Waited {
                        once_ns: any(1 << any(40)),
                        is_long: any(4) > 0,
                        began,
                        is_alone: any(2) == 0,
                    };
                    filling.on_wait(pages, filled_read, waited);
                }
                10 => filling.on_not_asked(filling.newest.pages, any(2) == 0),
                11 => filling.on_held(any(1 << 30)),
                12 => filling.on_fork_in_child(),
                13 => {
                    file_pages = file_pages
                        .saturating_add(any(100))
                        .saturating_sub(any(50))
                        .max(1);
                    filling.set_file_pages(PageCount::new(file_pages));
                }
                _ => {}
            }
        }
    }
    assert!(pieces > 1000, "{pieces}");
}
