//! Which sections of a file were read in, and whether reads come back to one.
//!
//! Who moves through a file, on one or on several ways, is in a section for a while, and then never again. So a read has come back if
//! its section was read in before, but not in the newest looks: a look is some reads long.

use super::sections::Sections;

/// A look is as many reads as a file has sections, one part in so many. Fewer, and files of few sections are read at random without
/// ever coming back after so long; more, and reads in turn on some ways through a small file come back.
const LOOK_PARTS: u64 = 4;

/// Reads of a look, at least and at most. Fewer, and reads on so many ways come back each time; more, and random ones do late.
const LOOK_READS: (u64, u64) = (8, 64);

/// Reads come back at times if so many of the newest did, as many as a `u16` has bits. Fewer, and ways through a file that cross are such; more, and
/// a file that is read in pieces in any order is known when much of it is read.
const BACK_AT_TIMES: u32 = 2;

/// What was read in when. All zero: nothing was.
#[derive(Debug)]
pub(super) struct Visits {
    /// In this look, in the one before, and in those before that.
    newest: Sections,
    recent: Sections,
    earlier: Sections,
    /// Reads of a look, and those that are left of this one.
    look_reads: u64,
    left: u64,
    /// Which of the newest reads have come back, the newest in the lowest bit.
    newest_back: u16,
}

impl Visits {
    /// Nothing was read, of no file.
    pub(super) const NONE: Self = Self {
        newest: Sections::NONE,
        recent: Sections::NONE,
        earlier: Sections::NONE,
        look_reads: 0,
        left: 0,
        newest_back: 0,
    };

    /// It is about a file of so many sections, of which none was read in.
    pub(super) fn begin(&mut self, sections: u64) {
        let (least, most) = LOOK_READS;
        self.newest.clear();
        self.recent.clear();
        self.earlier.clear();
        self.newest_back = 0;
        self.look_reads = (sections / LOOK_PARTS).clamp(least, most);
        self.left = self.look_reads;
    }

    /// A read in this section.
    pub(super) fn on_read(&mut self, section: u64) {
        if self.left == 0 {
            self.earlier.take_in(&mut self.recent, &mut self.newest);
            self.left = self.look_reads;
        }
        self.left = self.left.saturating_sub(1);
        let comes_back =
            self.earlier.has(section) && !self.recent.has(section) && !self.newest.has(section);
        self.newest_back = self.newest_back << 1 | u16::from(comes_back);
        self.newest.insert(section);
    }

    /// Whether the newest read has come back to its section.
    pub(super) fn come_back(&self) -> bool {
        self.newest_back & 1 != 0
    }

    /// Whether reads come back at times.
    pub(super) fn come_back_at_times(&self) -> bool {
        self.newest_back.count_ones() >= BACK_AT_TIMES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of the reads in these sections of 256 came back.
    fn coming_back(sections: impl Iterator<Item = u64>) -> usize {
        let mut visits = Visits::NONE;
        visits.begin(256);
        let come_back = sections.filter(|section| {
            visits.on_read(*section);
            visits.come_back()
        });
        come_back.count()
    }

    #[test]
    fn who_moves_on_never_comes_back_however_many_do_in_turn() {
        assert_eq!(coming_back((0..4096).map(|read| read / 16)), 0, "one way");
        let in_turn = (0..16 * 4096).map(|read| read % 16 * 16 + read / 16 / 256);
        assert_eq!(coming_back(in_turn), 0, "sixteen ways");
        assert_eq!(
            coming_back((0..4096).rev().map(|read| read / 16)),
            0,
            "back"
        );
    }

    #[test]
    fn random_reads_come_back_to_most_sections_and_so_does_the_next_round() {
        let random = (0..4096_u64).map(|read| read.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56);
        assert!(coming_back(random) > 1000);
        let rounds = (0..512).map(|read| read % 256);
        assert_eq!(coming_back(rounds), 256, "all of the second round");
    }

    /// Pieces of three sections, in any order.
    #[test]
    fn who_reads_pieces_in_any_order_comes_back_at_times() {
        let begun = |piece: u64| piece.wrapping_mul(37) % 85 * 3;
        let mut visits = Visits::NONE;
        visits.begin(256);
        let at_times: Vec<bool> = (0..85)
            .map(|piece| {
                visits.on_read(begun(piece));
                visits.on_read(begun(piece) + 3);
                visits.come_back_at_times()
            })
            .collect();
        assert_eq!(at_times.iter().position(|is| *is), Some(65));
        assert!(at_times[65..].iter().all(|is| *is), "{at_times:?}");
    }

    #[test]
    fn what_is_behind_the_last_section_is_never_come_back_to() {
        assert_eq!(coming_back((0..512).map(|_| 4096)), 0);
        assert_eq!(coming_back((0..512).map(|_| u64::MAX)), 0);
    }
}
