use super::*;

const FILE_PAGES: u64 = 16_384;
const DEVICE: DeviceEstimate = DeviceEstimate::ARM;
const MOST: PageCount = PageCount::new(512);

/// A file and a device on which each read of pages that are not there takes one access, and a section its transfer. What it
/// asks for is there at once, in time that the read that it is asked for with waits.
struct Reader {
    filling: Box<Filling>,
    there: Vec<bool>,
    /// What reads waited, that of it which was for what was asked for, and what they would have waited without.
    waited_ns: u64,
    spent_ns: u64,
    alone_ns: u64,
    read: Vec<bool>,
    asked: u64,
}

fn at(page: u64) -> usize {
    usize::try_from(page).expect("a small file")
}

impl Reader {
    fn new() -> Self {
        let mut filling = Box::new(Filling::BLANK);
        filling.begin(PageCount::new(FILE_PAGES));
        Self {
            filling,
            there: vec![false; at(FILE_PAGES)],
            waited_ns: 0,
            spent_ns: 0,
            alone_ns: 0,
            read: vec![false; at(FILE_PAGES)],
            asked: 0,
        }
    }

    fn read(&mut self, page: u64, backward: bool) {
        let access = PageRange::new(page, page + 1);
        self.filling.on_read(access, &DEVICE);
        let asked = self.filling.ask(access, backward, &DEVICE, MOST);
        let mut wait_ns = 0;
        if !core::mem::replace(&mut self.there[at(page)], true) {
            wait_ns += DEVICE.access_ns;
        }
        if !core::mem::replace(&mut self.read[at(page)], true) {
            self.alone_ns += DEVICE.access_ns;
        }
        if let Some(piece) = asked {
            let pages = at(piece.pages.start.get())..at(piece.pages.end.get());
            assert!(pages.end <= at(FILE_PAGES) && piece.pages.len() <= MOST);
            assert!(pages.contains(&at(page)), "it has the page that is read");
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
        if wait_ns > 0 {
            self.filling.on_wait(access, wait_ns);
        }
        self.waited_ns += wait_ns;
    }
}

/// Pages in an order without order, each once: an odd factor permutes what is below a power of two.
fn shuffled(reads: u64) -> impl Iterator<Item = u64> {
    (0..reads).map(|read| read.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7 & (FILE_PAGES - 1))
}

fn all_shuffled() -> impl Iterator<Item = u64> {
    (0..FILE_PAGES).map(|read| read.wrapping_mul(0x2545_f491 * 2 + 1) & (FILE_PAGES - 1))
}

#[test]
fn a_file_that_is_read_in_an_order_without_order_is_there_long_before_all_of_it_is_read() {
    let mut reader = Reader::new();
    all_shuffled().for_each(|page| reader.read(page, false));
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
        reads.for_each(|page| reader.read(page, false));
        assert_eq!((reader.asked, reader.waited_ns), (0, reader.alone_ns));
    }
}

#[test]
fn who_moves_backward_over_holes_gets_sections_in_front() {
    let mut reader = Reader::new();
    (0..FILE_PAGES)
        .rev()
        .step_by(5)
        .for_each(|page| reader.read(page, true));
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
}

#[test]
fn what_was_brought_and_is_gone_again_is_not_counted_on() {
    let mut reader = Reader::new();
    let asked = |reader: &Reader| {
        (0..FILE_PAGES / 64)
            .filter(|one| reader.filling.asked.has(*one))
            .count()
    };
    let mut pages = all_shuffled();
    while asked(&reader) < 10 {
        reader.read(pages.next().expect("it begins before all is read"), false);
    }
    let section = (0..FILE_PAGES / 64)
        .find(|one| reader.filling.asked.has(*one))
        .expect("one");
    let newest = (reader.filling.newest.start.get() / 64..).next();
    let section = if Some(section) == newest {
        section + 1
    } else {
        section
    };
    let page = PageRange::new(section * 64, section * 64 + 1);
    // The reads that say what the newest one costs.
    for _ in 0..2 {
        reader
            .filling
            .on_wait(PageRange::new(FILE_PAGES - 1, FILE_PAGES), 1000);
    }
    let inside = reader.filling.is_inside(page);
    reader.filling.on_read(page, &DEVICE);
    reader.filling.on_wait(page, DEVICE.access_ns);
    assert!(inside && !reader.filling.is_inside(page));
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
    for _ in 0..300 {
        let file_pages = 1 + any(1 << any(32));
        let mut filling = Box::new(Filling::BLANK);
        filling.begin(PageCount::new(file_pages));
        let device = DeviceEstimate {
            access_ns: any(1 << any(30)),
            bytes_per_second: any(1 << any(40)),
            depth: 1,
        };
        let mut asked = std::collections::BTreeSet::new();
        for _ in 0..400 {
            let start = any(file_pages + 2);
            let pages = PageRange::new(start, start + 1 + any(1 << any(12)));
            let read = filling.on_read(pages, &device);
            assert!(read.new_pages <= pages.len());
            let most = PageCount::new(any(4096)).max(filling.section());
            if let Some(piece) = filling.ask(pages, any(2) == 0, &device, most) {
                assert!(piece.pages.end.get() <= file_pages && piece.pages.len() <= most);
                assert!(piece.new_pages <= piece.pages.len());
                let sections = filling.sections(piece.pages);
                assert!(sections.into_iter().all(|section| asked.insert(section)));
            }
            if any(2) == 0 {
                filling.on_wait(pages, any(1 << any(40)));
                asked.retain(|section| filling.asked.has(*section));
            }
        }
    }
}
