//! Who reads scans ahead: we, or the kernel by itself. Found out by letting it.
//!
//! A page that is asked for by a call is allocated, entered and mapped for the device by itself; of those that the kernel reads
//! ahead for a scan on its own, many are one (large folios). That costs processor time, and on disks of virtual machines each
//! piece of a request costs as well (and calls from outside come late): the same file came at 1.2 GB/s in requests of 512 KiB of ours, and at 2.4 GB/s in those of
//! 128 KiB that the kernel made. So where our calls hold readers up for an eighth of their time, the kernel is tried. That is so
//! where a page comes within some microseconds; what was seen to be an arm is never tried.
//!
//! ```text
//!            ┌── so much was read ──► trial: the other one, for a period ──┐
//!  one of both                                                            │
//!            ▲── it was no faster ────────────────────────────────────────┤
//!            └── it was faster, twice in a row: that one from now on ◄────┘
//! ```
//!
//! A trial of what is slower is broken off when it has cost a quarter of a period, and after each in vain the next one is twice as far
//! on, unless a page comes to take a quarter longer than it did then. A period is long beside what windows hold: a reader that finds
//! 8 MiB in memory reads those as fast as memory is.
//!
//! What stands before all trials where files are kept in large folios is an [`Opening`]. A trial says something to who has the device to
//! himself. Of several programs the one that asks for more gets more, and takes it from the others: eight of them preferred requests,
//! one after the other, to what the kernel brought them, and all eight took 1.3 times as long. So it is looked first whose pages the device
//! delivers, and where they are not ours for the most part, the device is opened again instead.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use ahead_units::{ByteLength, PageCount, Timestamp};

use crate::opening::Opening;

/// Pages of a period, at least: 4 MiB, a millisecond of the disks that this is about. Fewer, and a period is one accident; more,
/// and what is slower goes on for longer.
const PERIOD_PAGES: u64 = 1024;

/// And so many times what has been asked for and not read yet: it was read in part before, and is in part after.
const PERIOD_WINDOWS: u64 = 4;

/// Pages read after a turn that belong to neither: 256 KiB, and what we have asked for by then, which has to be read first.
const SETTLING_PAGES: u64 = 64;

/// The kernel is tried where our calls hold readers up for one part in so many of their time. Less is less than what periods differ
/// by, and the device transfers meanwhile.
const HELD_PARTS: u64 = 8;

/// Where a page takes longer, the kernel is not tried: 8 us, flash at 500 MB/s. Our calls take a microsecond or two for a page, during
/// which such a device transfers; what holds readers up for longer there is a queue that is full. Over Linux 6.12 64 places of one file in turn,
/// on an arm four times as fast as a real one, got 222 MB/s by one trial in 2 GiB, and get 270 without.
const PAGE_NS_MAX: u64 = 8_000;

/// A trial is broken off when it has cost one part in so many of a period of the other: noise, if it is less.
const BROKEN_OFF_PARTS: u64 = 4;

/// Faster is what takes at most fifteen of sixteen parts of the time: periods differ by as much without a reason.
const FASTER: (u64, u64) = (15, 16);

/// So many trials in a row turn the verdict.
const TURNING_TRIALS: u32 = 2;

/// Pages read until the next trial after the first in vain, and after many: 64 MiB to 16 GiB. Of the first gibibyte five trials take
/// half a per cent.
const REST_PAGES: u64 = 1 << 14;
/// And at least so many periods, where those are long.
const REST_PERIODS: u64 = 16;
const REST_DOUBLINGS: u32 = 8;

/// A page that takes one part in so many longer than at the newest trial in vain is reason for another: disks of virtual machines
/// have moods.
const SLOWER_PARTS: u64 = 4;

/// A device is ours if one part in so many, at least, of what it delivers is.
const OWN_PARTS: u64 = 2;

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
    opening: Opening,
    /// The verdict: scans are left to the kernel.
    is_left: AtomicBool,
    /// It was found out, here or by others.
    is_found: AtomicBool,
    /// The other one is being tried.
    is_trial: AtomicBool,
    /// Pages read since the newest turn.
    pages: AtomicU64,
    /// Pages asked for and not read yet then.
    awaited: AtomicU64,
    /// When so many of them were read as belong to neither, in nanoseconds; 0: they were not yet.
    from_ns: AtomicU64,
    /// Pages of them then.
    from_pages: AtomicU64,
    /// Time of a page by the one that the verdict is for, as measured last; 0: not measured.
    page_ns: AtomicU64,
    /// Pages of that period.
    period: AtomicU64,
    /// The same time at the newest trial in vain; 0: there was none.
    tried_ns: AtomicU64,
    /// How long our calls have held readers up since the newest period began, in nanoseconds.
    held_ns: AtomicU64,
    /// What the device does for others can be seen.
    sees_others: AtomicBool,
    /// It is time to look at it.
    is_due: AtomicBool,
    /// What it had delivered at the newest look, in bytes, and what was read then since the newest turn; 0: there was none.
    delivered: AtomicU64,
    pages_then: AtomicU64,
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
            opening: Opening::new(),
            is_left: AtomicBool::new(false),
            is_found: AtomicBool::new(false),
            is_trial: AtomicBool::new(false),
            pages: AtomicU64::new(0),
            awaited: AtomicU64::new(0),
            from_ns: AtomicU64::new(0),
            from_pages: AtomicU64::new(0),
            page_ns: AtomicU64::new(0),
            period: AtomicU64::new(0),
            tried_ns: AtomicU64::new(0),
            held_ns: AtomicU64::new(0),
            sees_others: AtomicBool::new(false),
            is_due: AtomicBool::new(false),
            delivered: AtomicU64::new(0),
            pages_then: AtomicU64::new(0),
            rest: AtomicU64::new(0),
            won: AtomicU32::new(0),
            lost: AtomicU32::new(0),
        }
    }

    /// Where files are kept in large folios they are left to the kernel until something was found out, by what the host sees of the
    /// device.
    pub(crate) fn set_large_folios(&self, has_them: bool) {
        self.sees_others.store(has_them, Relaxed);
        if has_them {
            self.opening.open();
        }
    }

    /// Whether scans are left to the kernel now, be it for a trial.
    pub(crate) fn are_left(&self) -> bool {
        self.opening.is_open() || self.is_left.load(Relaxed) != self.is_trial.load(Relaxed)
    }

    /// Whether they were found to be better left to it, and nothing else is being tried.
    pub(crate) fn are_better_left(&self) -> bool {
        self.verdict() == Some(true) && self.are_left()
    }

    /// Whether they are left to it, trials left out; `None` as long as that was not found out.
    pub(crate) fn verdict(&self) -> Option<bool> {
        let is_left = self.is_left.load(Relaxed);
        self.is_found.load(Relaxed).then_some(is_left)
    }

    /// Takes over what was found out elsewhere.
    pub(crate) fn hear(&self, is_left: bool) {
        self.opening.close();
        self.is_found.store(true, Relaxed);
        if self.is_left.swap(is_left, Relaxed) != is_left {
            self.decide();
        }
        self.turn(false, 0);
    }

    /// What is known before anything was found out.
    pub(crate) fn opening(&self) -> &Opening {
        &self.opening
    }

    /// Whether it is time to [look](Self::look) at the device.
    pub(crate) fn is_look_due(&self, now: Timestamp) -> bool {
        self.opening.is_due(now) || self.is_due.load(Relaxed)
    }

    /// The device has `delivered` so much to everybody since it is there, if that is known.
    pub(crate) fn look(&self, now: Timestamp, delivered: Option<ByteLength>) {
        self.is_due.store(false, Relaxed);
        if self.opening.is_open() {
            if let Some(is_left) = self.opening.look(now, delivered) {
                self.hear(is_left);
            }
            return;
        }
        let Some(delivered) = delivered else {
            self.sees_others.store(false, Relaxed);
            return;
        };
        let pages = self.pages.load(Relaxed);
        let pages_then = self.pages_then.swap(pages, Relaxed);
        let before = self.delivered.swap(delivered.get(), Relaxed);
        if before == 0 {
            return;
        }
        let own = PageCount::new(pages.saturating_sub(pages_then)).bytes();
        let all = delivered.get().saturating_sub(before);
        let unread = self.awaited.load(Relaxed);
        if own.get().saturating_mul(OWN_PARTS) >= all {
            self.turn(true, unread);
        } else {
            self.rest_again();
            self.turn(false, unread);
            self.opening.open();
        }
    }

    /// Our calls have held readers up for so long.
    pub(crate) fn on_held(&self, held_ns: u64) {
        self.held_ns.fetch_add(held_ns, Relaxed);
    }

    /// Scans have read `pages` more, the newest `by` that one, while `unread` pages were asked for and not read yet. Where both are
    /// at work, as streams have windows left at a turn, only the one whose turn it is counts.
    pub(crate) fn on_read(&self, pages: u64, by: By, unread: u64, now: Timestamp) {
        if self.opening.is_open() {
            return;
        }
        let now_ns = now.get().max(1);
        let read = self.pages.fetch_add(pages, Relaxed) + pages;
        if self.are_left() != (by == By::Kernel)
            || read < SETTLING_PAGES + self.awaited.load(Relaxed)
        {
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
            self.on_trial(measured, elapsed_ns, unread);
        } else if measured >= PERIOD_PAGES.max(unread * PERIOD_WINDOWS) {
            self.period.store(measured, Relaxed);
            let page_ns = (elapsed_ns / measured).max(1);
            self.page_ns.store(page_ns, Relaxed);
            self.from_pages.store(read, Relaxed);
            self.from_ns.store(now_ns, Relaxed);
            let held_ns = self.held_ns.swap(0, Relaxed);
            let holds_up = held_ns >= elapsed_ns / HELD_PARTS && page_ns <= PAGE_NS_MAX;
            let may_pay = self.is_left.load(Relaxed) || holds_up;
            let tried_ns = self.tried_ns.load(Relaxed);
            let is_slower = tried_ns > 0 && page_ns > tried_ns + tried_ns / SLOWER_PARTS;
            if read < self.rest.load(Relaxed) && !is_slower || !may_pay {
                return;
            }
            if self.sees_others.load(Relaxed) {
                self.awaited.store(unread, Relaxed);
                self.is_due.store(true, Relaxed);
            } else {
                self.turn(true, unread);
            }
        }
    }

    /// `pages` of a trial were read in `elapsed_ns`.
    fn on_trial(&self, pages: u64, elapsed_ns: u64, unread: u64) {
        let (other_ns, period) = (self.page_ns.load(Relaxed), self.period.load(Relaxed));
        let cost_ns = elapsed_ns.saturating_sub(other_ns.saturating_mul(pages));
        let is_slow = cost_ns > other_ns.saturating_mul(period) / BROKEN_OFF_PARTS;
        let is_over = pages >= period || is_slow;
        // One thread ends it.
        if !is_over || !self.is_trial.swap(false, Relaxed) {
            return;
        }
        let (least, of) = FASTER;
        let has_won = !is_slow && elapsed_ns / pages.max(1) * of <= other_ns * least;
        if !has_won {
            self.won.store(0, Relaxed);
            self.rest_again();
        } else if self.won.fetch_add(1, Relaxed) + 1 >= TURNING_TRIALS {
            let is_left = !self.is_left.load(Relaxed);
            self.is_left.store(is_left, Relaxed);
            self.is_found.store(true, Relaxed);
            self.decide();
        } else {
            self.rest.store(0, Relaxed);
        }
        self.turn(false, unread);
    }

    /// The next trial comes twice as late.
    fn rest_again(&self) {
        self.tried_ns.store(self.page_ns.load(Relaxed), Relaxed);
        let lost = self.lost.fetch_add(1, Relaxed).min(REST_DOUBLINGS);
        let period = self.period.load(Relaxed);
        let rest = REST_PAGES.max(period.saturating_mul(REST_PERIODS));
        self.rest.store(rest << lost, Relaxed);
    }

    /// There is a new verdict.
    fn decide(&self) {
        self.tried_ns.store(0, Relaxed);
        self.won.store(0, Relaxed);
        self.lost.store(0, Relaxed);
        self.rest.store(REST_PAGES, Relaxed);
    }

    /// To a trial, or back from it, while `unread` pages were asked for and not read yet.
    fn turn(&self, is_trial: bool, unread: u64) {
        self.awaited.store(unread, Relaxed);
        self.is_trial.store(is_trial, Relaxed);
        self.pages.store(0, Relaxed);
        self.from_ns.store(0, Relaxed);
        self.held_ns.store(0, Relaxed);
        self.delivered.store(0, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use ahead_units::PageRange;

    use super::*;

    /// Reads of 128 KiB by whoever's turn it is: pages take so many nanoseconds by requests, and by the kernel.
    struct Reader {
        scans: Scans,
        now_ns: u64,
        requests_ns: u64,
        kernel_ns: u64,
        /// How long a page of ours holds the reader up.
        held_ns: u64,
        /// Pages in front of readers by requests, and those that are left of them.
        window: u64,
        unread: u64,
        /// Readers that do the same in other programs, and what the device has delivered to all of them.
        others: u64,
        delivered: u64,
    }

    impl Reader {
        fn of(requests_ns: u64, kernel_ns: u64) -> Self {
            Self {
                scans: Scans::new(),
                now_ns: 1,
                requests_ns,
                kernel_ns,
                held_ns: 700,
                window: 0,
                unread: 0,
                others: 0,
                delivered: 0,
            }
        }

        /// Reads so many MiB. How many of them were left to the kernel.
        fn read(&mut self, mib: u64) -> u64 {
            let mut left = 0;
            for _ in 0..mib * 8 {
                let (by, page_ns) = if self.scans.are_left() {
                    left += 1;
                    let is_there = self.unread > 0;
                    self.unread = self.unread.saturating_sub(32);
                    (By::Kernel, if is_there { 500 } else { self.kernel_ns })
                } else {
                    self.unread = self.window;
                    self.scans.on_held(32 * self.held_ns);
                    (By::Requests, self.requests_ns)
                };
                self.now_ns += 32 * page_ns;
                let now = Timestamp::new(self.now_ns);
                if by == By::Kernel {
                    let (access, waited_ns) = (PageRange::new(64, 96), 32 * (page_ns - 300));
                    self.scans.opening().on_read(access, 32, now);
                    self.scans.opening().on_wait(access, waited_ns);
                }
                self.scans.on_read(32, by, self.unread, now);
                self.delivered += 32 * 4096 * (1 + self.others);
                if self.scans.is_look_due(now) {
                    let delivered = ByteLength::new(self.delivered);
                    self.scans.look(now, Some(delivered));
                }
            }
            left / 8
        }
    }

    /// `cat` of 256 MiB from a virtual disk took twice as long beside our requests.
    #[test]
    fn what_the_kernel_does_better_is_left_to_it_after_twenty_mebibytes() {
        let mut reader = Reader::of(3_300, 1_700);
        reader.read(24);
        assert_eq!(reader.scans.verdict(), Some(true));
        assert!(reader.read(10_000) > 9_900, "and it is tried again seldom");
    }

    #[test]
    fn what_we_do_better_costs_a_quarter_of_a_period_now_and_then() {
        let mut reader = Reader::of(1_000, 2_000);
        let before_ns = reader.now_ns;
        reader.read(10_000);
        assert_ne!(reader.scans.verdict(), Some(true));
        let spent_ns = reader.now_ns - before_ns;
        let least_ns = 10_000 * 256 * 1_000;
        assert!(
            spent_ns - least_ns < least_ns / 200,
            "half a per cent: {spent_ns}"
        );
    }

    /// Sixty-four scans of flash with a window each: what they had in front of them was read during the trial of the kernel, which
    /// seemed to be faster, and they took a seventh longer from then on.
    #[test]
    fn what_was_asked_for_before_a_trial_is_read_before_it_is_measured() {
        let mut reader = Reader::of(2_500, 2_900);
        reader.window = 64 * 256;
        reader.read(4_000);
        assert_ne!(reader.scans.verdict(), Some(true));
    }

    #[test]
    fn what_makes_no_difference_stays_as_it_is() {
        let mut reader = Reader::of(1_000, 980);
        reader.read(10_000);
        assert_ne!(reader.scans.verdict(), Some(true));
        reader.scans.hear(true);
        (reader.requests_ns, reader.kernel_ns) = (980, 1_000);
        reader.read(10_000);
        assert_eq!(reader.scans.verdict(), Some(true));
    }

    #[test]
    fn a_verdict_turns_with_the_device() {
        let mut reader = Reader::of(3_300, 1_700);
        reader.read(100);
        assert_eq!(reader.scans.verdict(), Some(true));
        (reader.requests_ns, reader.kernel_ns) = (1_000, 4_000);
        reader.read(1_000);
        assert_ne!(reader.scans.verdict(), Some(true));
    }

    /// A network volume, flash of 500 MB/s: nothing of this can matter there.
    #[test]
    fn where_our_calls_hold_nobody_up_nothing_is_tried() {
        let mut reader = Reader::of(8_000, 4_000);
        assert_eq!(reader.read(1_000), 0);
    }

    /// 64 places of a file in turn on an arm of 270 MB/s: calls wait for a place in its queue. One trial of the kernel went on for as long
    /// as 200 MiB were read that lay in windows, and took a fifth of two gibibytes.
    #[test]
    fn where_calls_wait_for_a_slow_device_the_kernel_is_not_tried() {
        let mut reader = Reader::of(15_000, 42_000);
        (reader.held_ns, reader.window) = (8_000, 64 * 850);
        assert_eq!(reader.read(4_000), 0);
    }

    /// After many trials in vain the second of the two that turn a verdict came 16 GiB after the first.
    #[test]
    fn a_trial_that_was_won_is_soon_repeated() {
        let mut reader = Reader::of(1_000, 2_000);
        reader.read(5_000);
        (reader.requests_ns, reader.kernel_ns) = (3_300, 1_700);
        while reader.scans.won.load(Relaxed) == 0 {
            reader.read(1);
        }
        reader.read(16);
        assert_eq!(reader.scans.verdict(), Some(true));
    }

    /// An emulated disk of 1.6 GB/s brought the kernel's windows at that rate, and a moment later at half of it, for seconds.
    #[test]
    fn what_becomes_slower_is_tried_again_at_once() {
        let mut reader = Reader::of(2_600, 2_600);
        reader.scans.hear(true);
        reader.read(5_000);
        assert_eq!(reader.scans.verdict(), Some(true));
        reader.kernel_ns = 5_000;
        let left = reader.read(100);
        assert!(left < 40, "{left} MiB");
        assert_eq!(reader.scans.verdict(), Some(false));
    }

    /// Windows of 64 scans make periods of 256 MiB, and trials of them came after 64 MiB.
    #[test]
    fn trials_of_long_periods_are_as_far_apart() {
        let mut reader = Reader::of(2_500, 5_000);
        reader.window = 64 * 256;
        let before_ns = reader.now_ns;
        reader.read(20_000);
        let spent_ns = reader.now_ns - before_ns;
        let least_ns = 20_000 * 256 * 2_500;
        assert!(spent_ns < least_ns + least_ns / 50, "{spent_ns}");
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
        assert_ne!(reader.scans.verdict(), Some(true));
    }

    /// Eight programs that read a disk of 4 GB/s: the one that tried requests had more of it, and the others less. All of them tried.
    #[test]
    fn what_is_faster_as_it_takes_from_others_is_not() {
        let mut reader = Reader::of(4_000, 8_000);
        reader.others = 7;
        reader.scans.set_large_folios(true);
        assert_eq!(reader.read(10_000), 10_000);
        assert_eq!(reader.scans.verdict(), Some(true));
        reader.others = 0;
        reader.read(10_000);
        assert_eq!(reader.scans.verdict(), Some(false), "alone it is");
    }

    /// Flash of 500 MB/s is known by its first windows, an arm by one; a reader by calls loses nothing after that.
    #[test]
    fn what_is_slow_is_left_to_the_kernel_for_some_windows() {
        for (requests_ns, kernel_ns) in [(8_000, 10_700), (41_000, 300_000)] {
            let mut reader = Reader::of(requests_ns, kernel_ns);
            reader.held_ns = 0;
            reader.scans.set_large_folios(true);
            assert!(reader.read(1_000) <= 2, "mebibytes");
            assert_eq!(reader.scans.verdict(), Some(false));
        }
    }

    #[test]
    fn windows_that_are_left_from_before_a_turn_do_not_count() {
        let scans = Scans::new();
        for read in 0..100 {
            scans.on_read(1024, By::Kernel, 0, Timestamp::new(read * 1_000));
        }
        assert!(!scans.are_left() && scans.page_ns.load(Relaxed) == 0);
    }
}
