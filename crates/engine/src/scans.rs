//! Who reads scans ahead: we, or the kernel by itself. Found out by letting it.
//!
//! A page that is asked for by a call is allocated, entered and mapped for the device by itself; of those that the kernel reads
//! ahead for a scan on its own, many are one (large folios). That costs processor time, and on disks of virtual machines each
//! piece of a request costs as well: the same file came at 1.2 GB/s in requests of 512 KiB of ours, and at 2.4 GB/s in those of
//! 128 KiB that the kernel made. Where a page takes long anyway, that is nothing; where it takes little, it may be all.
//!
//! ```text
//!            ┌── so much was read ──► trial: the other one, for a period ──┐
//!  one of both                                                            │
//!            ▲── it was no faster ────────────────────────────────────────┤
//!            └── it was faster, twice in a row: that one from now on ◄────┘
//! ```
//!
//! A trial of what is slower is broken off when it has cost a quarter of a period, and after each in vain the next one is twice as far
//! on.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use ahead_units::Timestamp;

/// Pages of a period: 4 MiB, a millisecond of the disks that this is about. Fewer, and a period is one accident; more, and what
/// is slower goes on for longer.
const PERIOD_PAGES: u64 = 1024;

/// Pages read after a turn that belong to neither: 1 MiB. What the other one has asked for has to be read first.
const SETTLING_PAGES: u64 = 256;

/// To ask for a page costs half a microsecond to one. Where a page takes longer than five, the most that can be gained is less
/// than what periods differ by, and the device transfers meanwhile.
const FAST_PAGE_NS: u64 = 5_000;

/// A trial is broken off when it has taken this part of the time of a whole period of the other.
const BROKEN_OFF: (u64, u64) = (5, 4);

/// Faster is what takes at most fifteen of sixteen parts of the time: periods differ by as much without a reason.
const FASTER: (u64, u64) = (15, 16);

/// So many trials in a row turn the verdict.
const TURNING_TRIALS: u32 = 2;

/// Pages read until the next trial after the first in vain, and after many: 256 MiB, of which a quarter of a period is less than
/// half a per cent, to 16 GiB.
const REST_PAGES: u64 = 1 << 16;
const REST_DOUBLINGS: u32 = 6;

/// Who asks for what a scan reads next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// Our requests.
    Requests,
    /// The kernel by itself.
    Kernel,
}

/// What scans of one device did, and who reads them ahead. All zero: we do, and nothing was found out.
#[derive(Debug, Default)]
pub(crate) struct Scans {
    /// The verdict: scans are left to the kernel.
    is_left: AtomicBool,
    /// The other one is being tried.
    is_trial: AtomicBool,
    /// Pages read since the newest turn.
    pages: AtomicU64,
    /// When so many of them were read as belong to neither, in nanoseconds; 0: they were not yet.
    from_ns: AtomicU64,
    /// Pages of them then.
    from_pages: AtomicU64,
    /// Time of a page by the one that the verdict is for, as measured last; 0: not measured.
    page_ns: AtomicU64,
    /// A trial begins when so many were read since the newest turn.
    rest: AtomicU64,
    /// Trials in a row that the other has won.
    won: AtomicU32,
    /// Trials since the newest verdict that it has lost.
    lost: AtomicU32,
}

impl Scans {
    /// Nothing was found out.
    pub(crate) const fn new() -> Self {
        Self {
            is_left: AtomicBool::new(false),
            is_trial: AtomicBool::new(false),
            pages: AtomicU64::new(0),
            from_ns: AtomicU64::new(0),
            from_pages: AtomicU64::new(0),
            page_ns: AtomicU64::new(0),
            rest: AtomicU64::new(0),
            won: AtomicU32::new(0),
            lost: AtomicU32::new(0),
        }
    }

    /// Whether scans are left to the kernel now, be it for a trial.
    pub(crate) fn are_left(&self) -> bool {
        self.is_left.load(Relaxed) != self.is_trial.load(Relaxed)
    }

    /// The verdict, trials left out.
    pub(crate) fn verdict(&self) -> bool {
        self.is_left.load(Relaxed)
    }

    /// Takes over what others have found out.
    pub(crate) fn hear(&self, is_left: bool) {
        if self.is_left.swap(is_left, Relaxed) != is_left {
            self.decide();
        }
    }

    /// Scans have read `pages` more, the newest `by` that one. Where both are at work, as streams have windows left at a turn,
    /// only the one whose turn it is counts.
    pub(crate) fn on_read(&self, pages: u64, by: By, now: Timestamp) {
        let now_ns = now.get().max(1);
        let read = self.pages.fetch_add(pages, Relaxed) + pages;
        if self.are_left() != (by == By::Kernel) || read < SETTLING_PAGES {
            return;
        }
        let from_ns = self.from_ns.load(Relaxed);
        if from_ns == 0 {
            self.from_pages.store(read, Relaxed);
            self.from_ns.store(now_ns, Relaxed);
            return;
        }
        let measured = read.saturating_sub(self.from_pages.load(Relaxed));
        let elapsed_ns = now_ns.saturating_sub(from_ns);
        if elapsed_ns == 0 {
            return;
        }
        if self.is_trial.load(Relaxed) {
            self.on_trial(measured, elapsed_ns);
        } else if measured >= PERIOD_PAGES {
            self.page_ns.store((elapsed_ns / measured).max(1), Relaxed);
            self.from_pages.store(read, Relaxed);
            self.from_ns.store(now_ns, Relaxed);
            if read >= self.rest.load(Relaxed) && self.page_ns.load(Relaxed) < FAST_PAGE_NS {
                self.turn(true);
            }
        }
    }

    /// `pages` of a trial were read in `elapsed_ns`.
    fn on_trial(&self, pages: u64, elapsed_ns: u64) {
        let other_ns = self.page_ns.load(Relaxed).saturating_mul(PERIOD_PAGES);
        let (most, of) = BROKEN_OFF;
        let is_slow = elapsed_ns.saturating_mul(of) > other_ns.saturating_mul(most);
        if pages < PERIOD_PAGES && !is_slow {
            return;
        }
        let (least, of) = FASTER;
        let page_ns = elapsed_ns / pages.max(1);
        let has_won = !is_slow && page_ns * of <= self.page_ns.load(Relaxed) * least;
        if !has_won {
            self.won.store(0, Relaxed);
            let lost = self.lost.fetch_add(1, Relaxed).min(REST_DOUBLINGS);
            self.rest.store(REST_PAGES << lost, Relaxed);
        } else if self.won.fetch_add(1, Relaxed) + 1 >= TURNING_TRIALS {
            let is_left = !self.is_left.load(Relaxed);
            self.is_left.store(is_left, Relaxed);
            self.decide();
        }
        self.turn(false);
    }

    /// There is a new verdict.
    fn decide(&self) {
        self.won.store(0, Relaxed);
        self.lost.store(0, Relaxed);
        self.rest.store(REST_PAGES, Relaxed);
        self.turn(false);
    }

    /// To a trial, or back from it.
    fn turn(&self, is_trial: bool) {
        self.is_trial.store(is_trial, Relaxed);
        self.pages.store(0, Relaxed);
        self.from_ns.store(0, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads of 128 KiB by whoever's turn it is: pages take so many nanoseconds by requests, and by the kernel.
    struct Reader {
        scans: Scans,
        now_ns: u64,
        requests_ns: u64,
        kernel_ns: u64,
    }

    impl Reader {
        fn of(requests_ns: u64, kernel_ns: u64) -> Self {
            Self {
                scans: Scans::new(),
                now_ns: 1,
                requests_ns,
                kernel_ns,
            }
        }

        /// Reads so many MiB. How many of them were left to the kernel.
        fn read(&mut self, mib: u64) -> u64 {
            let mut left = 0;
            for _ in 0..mib * 8 {
                let (by, page_ns) = if self.scans.are_left() {
                    left += 1;
                    (By::Kernel, self.kernel_ns)
                } else {
                    (By::Requests, self.requests_ns)
                };
                self.now_ns += 32 * page_ns;
                self.scans.on_read(32, by, Timestamp::new(self.now_ns));
            }
            left / 8
        }
    }

    /// `cat` of 256 MiB from a virtual disk took twice as long beside our requests.
    #[test]
    fn what_the_kernel_does_better_is_left_to_it_after_twenty_mebibytes() {
        let mut reader = Reader::of(3_300, 1_700);
        reader.read(24);
        assert!(reader.scans.verdict());
        assert!(reader.read(10_000) > 9_900, "and it is tried again seldom");
    }

    #[test]
    fn what_we_do_better_costs_a_quarter_of_a_period_now_and_then() {
        let mut reader = Reader::of(1_000, 2_000);
        let before_ns = reader.now_ns;
        reader.read(10_000);
        assert!(!reader.scans.verdict());
        let spent_ns = reader.now_ns - before_ns;
        let least_ns = 10_000 * 256 * 1_000;
        assert!(
            spent_ns - least_ns < least_ns / 200,
            "half a per cent: {spent_ns}"
        );
    }

    #[test]
    fn what_makes_no_difference_stays_as_it_is() {
        let mut reader = Reader::of(1_000, 980);
        reader.read(10_000);
        assert!(!reader.scans.verdict());
        reader.scans.hear(true);
        (reader.requests_ns, reader.kernel_ns) = (980, 1_000);
        reader.read(10_000);
        assert!(reader.scans.verdict());
    }

    #[test]
    fn a_verdict_turns_with_the_device() {
        let mut reader = Reader::of(3_300, 1_700);
        reader.read(100);
        assert!(reader.scans.verdict());
        (reader.requests_ns, reader.kernel_ns) = (1_000, 4_000);
        reader.read(1_000);
        assert!(!reader.scans.verdict());
    }

    /// An arm, a network volume, flash of 500 MB/s: nothing of this can matter there.
    #[test]
    fn where_a_page_takes_long_nothing_is_tried() {
        let mut reader = Reader::of(8_000, 4_000);
        assert_eq!(reader.read(1_000), 0);
    }

    /// One trial may be an accident of the disk, of the reader or of others.
    #[test]
    fn one_trial_that_was_faster_turns_nothing() {
        let mut reader = Reader::of(2_000, 1_000);
        while reader.scans.won.load(Relaxed) == 0 {
            reader.read(1);
        }
        reader.kernel_ns = 2_000;
        reader.read(1_000);
        assert!(!reader.scans.verdict());
    }

    #[test]
    fn windows_that_are_left_from_before_a_turn_do_not_count() {
        let scans = Scans::new();
        for read in 0..100 {
            scans.on_read(1024, By::Kernel, Timestamp::new(read * 1_000));
        }
        assert!(!scans.are_left() && scans.page_ns.load(Relaxed) == 0);
    }
}
