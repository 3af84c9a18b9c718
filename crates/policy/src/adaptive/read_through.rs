//! Strides that are read through, holes and all, as that is faster.
//!
//! A volume answers so many requests a second, however short they are: each element costs it as much as 128 KiB in one piece, in which
//! there would be several. The kernel reads through short holes and so gets them at once (16 KB of each 32 took a volume of 3649
//! requests a second 4.05 of its time). Whether requests are what a device waits for or its bandwidth, elements do not say. So where each is
//! waited for longer than all up to the next one takes to transfer, all of it is asked for, as a run that [reads on](ReadOn), and reads are timed
//! again: unless they are faster now, the run may become a stride again, and this is not tried another time in the file.

use super::pace::{UNIT_BITS, time_since_ns, units};
use ahead_units::Timestamp;

/// Elements that came since the newest request, with a wait among them, before this is tried. Fewer, and one slow access decides; more, and short rows
/// never are.
pub(super) const ELEMENTS_WAITED: u64 = 8;

/// They are waited for so many times longer than all up to the next one takes to transfer. Once, and a bandwidth that is believed too high
/// decides; three times, and half of what a volume of 3000 requests a second gains is lost.
pub(super) const SLOWER_TIMES: u64 = 2;

/// Reads that are not timed, while requests grow. Fewer, and what would be faster is given up.
const READS_BEFORE: u64 = 48;

/// Those may take so many times longer than elements did, of which some are still on their way. Twice, and what is faster than a volume of 3700
/// requests a second serves them is given up; without end, and flash of 12 MB/s takes half as long again for 27 MB.
const GROWING_TIMES: u64 = 3;

/// Reads that are timed then. Fewer, and they are those of one or two requests, each of which is waited for once: of 32 every other run was given up
/// in real time (requests of 46 elements, on a volume); more, and a device that has become slower by it is for longer.
const READS_TIMED: u64 = 128;

/// They have to be faster by one part in so many: it costs bandwidth and memory.
const FASTER_PARTS: u64 = 5;

/// What is read through of the short holes of a file's runs, beyond those that pay by themselves, and those of one that was asked for up to its
/// reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadOn {
    /// None.
    None,
    /// Those of any run: it is faster.
    Any,
    /// Those of any forward one: the kernel would go through them too, but for what was asked for.
    Forward,
}

/// Whether strides of a file are read through. All zero: none was slow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadThrough {
    /// Reads since it is tried, or [`KEPT`], or [`REFUSED`]. 0: it is not.
    reads: u8,
    /// The place of the stream with which it is.
    place: u8,
    /// What each element took before, in units of time; 67 ms and more count as that.
    element: u16,
    /// Since when it is tried, or reads are timed.
    since: u32,
}

const KEPT: u8 = 254;
const REFUSED: u8 = 255;
const _: () = assert!(
    READS_BEFORE + READS_TIMED < KEPT as u64,
    "reads are counted up to there"
);

impl ReadThrough {
    /// Whether that is faster, as far as is known.
    pub(super) fn is_on(&self) -> bool {
        self.reads > 0 && self.reads != REFUSED
    }

    /// Whether it was measured not to be.
    pub(super) fn is_refused(&self) -> bool {
        self.reads == REFUSED
    }

    /// The stride at `place` is read through from `now` on, of which each element took so long.
    pub(super) fn begin(&mut self, place: u8, element_ns: u64, now: Timestamp) {
        if self.reads == 0 {
            *self = Self {
                reads: 1,
                place,
                element: u16::try_from(element_ns >> UNIT_BITS).unwrap_or(u16::MAX),
                since: units(now),
            };
        }
    }

    /// The stream at `place` read on through a hole at `now`. Whether that has just been found to be no faster.
    pub(super) fn on_read(&mut self, place: u8, now: Timestamp) -> bool {
        if !self.is_on() || self.reads == KEPT || self.place != place {
            return false;
        }
        let (reads, time_ns) = (u64::from(self.reads), time_since_ns(self.since, now));
        let before_ns = |reads: u64| (reads * u64::from(self.element)) << UNIT_BITS;
        let most_ns = if reads <= READS_BEFORE {
            before_ns(READS_BEFORE) * GROWING_TIMES
        } else {
            before_ns(READS_TIMED) - before_ns(READS_TIMED) / FASTER_PARTS
        };
        self.reads += 1;
        if time_ns >= most_ns {
            self.reads = REFUSED;
        } else if reads == READS_BEFORE {
            self.since = units(now);
        } else if reads == READS_BEFORE + READS_TIMED {
            // From a clock that stands still nothing follows.
            self.reads = if time_ns > 0 { KEPT } else { 0 };
        }
        self.is_refused()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ELEMENT_NS: u64 = 300_000;
    const BEGIN: Timestamp = Timestamp::new(5_000_000_000);

    /// So many reads of the stream at place 2, each after so long: those with which it is given up.
    fn reads(through: &mut ReadThrough, count: u64, each_ns: u64) -> Vec<u64> {
        let at = |read: u64| Timestamp::new(BEGIN.get() + read * each_ns);
        (1..=count)
            .filter(|read| through.on_read(2, at(*read)))
            .collect()
    }

    #[test]
    fn what_is_faster_by_a_fourth_is_kept_and_what_is_not_is_given_up_once() {
        let parts = |of: u64| ELEMENT_NS * of / 100;
        for (each_ns, given_up) in [
            (parts(75), vec![]),
            (parts(90), vec![162]),
            (parts(100), vec![151]),
            (parts(800), vec![18]),
        ] {
            let mut through = ReadThrough::default();
            assert_eq!(reads(&mut through, 300, each_ns), [], "nothing is tried");
            through.begin(2, ELEMENT_NS, BEGIN);
            assert!(through.is_on());
            let late = Timestamp::new(u64::MAX);
            assert!(!through.on_read(1, late), "it is another stream");
            assert_eq!(reads(&mut through, 300, each_ns), given_up, "{each_ns}");
            through.begin(2, ELEMENT_NS, BEGIN);
            assert_eq!(reads(&mut through, 300, parts(800)), [], "once for all");
            let is_kept = given_up.is_empty();
            assert_eq!((through.is_on(), through.is_refused()), (is_kept, !is_kept));
        }
    }

    #[test]
    fn from_a_clock_that_stands_still_nothing_follows() {
        let mut through = ReadThrough::default();
        through.begin(2, ELEMENT_NS, BEGIN);
        assert_eq!(reads(&mut through, 300, 0), []);
        assert!(!through.is_on() && !through.is_refused());
    }
}
