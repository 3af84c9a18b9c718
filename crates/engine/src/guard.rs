//! Whether reading ahead pays, measured where it cannot be known.
//!
//! Pages that were asked for in vain cost what they cost: on a disk that does nothing else, little; on one
//! that others wait for, all that the reader gains. So where much is asked for in vain the guard measures:
//! periods with requests and periods without take turns, and the time that a page takes in the one is
//! compared with the other, pair by pair, until the difference is no chance. Then the group is trusted, or
//! left alone, each time for longer.
//!
//! ```text
//! Trusted ── a sixteenth of what was read was asked for in vain ──► trial: with ◄─► without
//!    ▲                                                                │         │
//!    └────────────────────── it pays, or makes no difference ─────────┘         │
//! Left alone ◄───────────────────────────────── it does not pay ────────────────┘
//!    └── four times as much was read as the last time ──► trial
//! ```
//!
//! **What a trial may cost** is bounded by an account: time that periods without took longer than those with
//! may be half a per cent of all time so far. A period that would take more is broken off and goes on later.
//!
//! **Left alone** is who may lose: a run asks for a sixteenth of what it has read all the same
//! ([`ahead_policy::adaptive::Moment::is_left_alone`]), which is less in vain than would be doubted. So a
//! scan that comes after many short runs is not lost.
//!
//! Nothing here is a lock, and nobody waits: who comes to a point where something is due claims it.

use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

use ahead_policy::steering::steering;
use ahead_units::Timestamp;

steering! {
    /// Pages read between two looks at what was asked for in vain: 64 MiB. Fewer, and the beginnings of
    /// some runs are a reason to doubt; more, and what does not pay goes on for longer.
    /// Evidence: docs/results/evidence/LOOK_PAGES.csv
    LOOK_PAGES: u64 = 16_384;

    /// One page in so many asked for in vain is a reason to doubt. Fewer, and much is lost without a look;
    /// more, and trials are made where there is nothing to find.
    /// Evidence: docs/results/evidence/VAIN_PARTS.csv
    VAIN_PARTS: u64 = 16;

    /// Pages of a period of a trial: 4 MiB. Fewer, and a period is one accident of the disk; more, and a
    /// trial takes longer than most programs run.
    /// Evidence: docs/results/evidence/PERIOD_PAGES.csv
    PERIOD_PAGES: u64 = 1024;
}

/// A trial may cost one part in so many of all time: half a per cent.
const COST_PARTS: u64 = 200;

/// What periods with requests took is a mean to which the newest adds one part in so many.
const MEAN_PERIODS: i64 = 4;

/// After a turn from one kind of period to the other so many pages belong to neither, and as many again until
/// more than half of them are read as in the new one: ahead, or not. What was asked for has to be read first, and
/// windows have to be asked for again.
const SETTLING_PAGES: u64 = 512;

/// Pairs of periods before anything is concluded: of fewer the spread is not known.
const PAIRS_MIN: u32 = 6;

/// After so many pairs that do not tell there is nothing to tell.
const PAIRS_MAX: u32 = 32;

/// A difference is none if it is smaller than so many of its standard errors.
const STANDARD_ERRORS: i64 = 2;

/// Who is slower by less than that, in thousandths, is not left alone for it: what is slower by one per cent
/// today is faster by one tomorrow.
const DIFFERENCE: i64 = 20;

/// After each verdict of one kind in a row the next look is so many doublings of [`LOOK_PAGES`] further on.
const DOUBLINGS: u32 = 2;
/// But not more: 4 GiB.
const DOUBLINGS_MAX: u32 = 6;

const TRUSTED: u32 = 0;
const WITH: u32 = 1;
const WITHOUT: u32 = 2;
const LEFT_ALONE: u32 = 3;

/// What a group has done since it said so last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Pages read.
    pub read: u64,
    /// Pages asked for.
    pub asked: u64,
    /// Pages read that had been asked for.
    pub useful: u64,
}

impl Progress {
    /// What was done since `before`. Counters may have begun anew in between.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self {
            read: self.read.wrapping_sub(before.read),
            asked: self.asked.wrapping_sub(before.asked),
            useful: self.useful.wrapping_sub(before.useful),
        }
    }
}

/// Of periods of one kind in the pair that is being measured.
#[derive(Debug, Default)]
struct Period {
    pages: AtomicU64,
    ns: AtomicU64,
}

/// The guard of one group. All zero is one that trusts and has seen nothing.
#[derive(Debug, Default)]
pub struct Guard {
    phase: AtomicU32,
    /// Somebody is drawing conclusions.
    is_claimed: AtomicBool,
    // What the group did, since it began.
    read: AtomicU64,
    asked: AtomicU64,
    useful: AtomicU64,
    began_ns: AtomicU64,
    /// Something is due when so much was read.
    due_at: AtomicU64,
    // Where the time between two looks, or a period, began.
    from_read: AtomicU64,
    from_vain: AtomicU64,
    from_ns: AtomicU64,
    /// When so much was read all that was asked for before the turn is; 0: the period has begun.
    settled_at: AtomicU64,
    // Where the newest pages began by which it is judged whether a turn is over.
    step_read: AtomicU64,
    step_useful: AtomicU64,
    with: Period,
    without: Period,
    /// Pairs, and the sums over them of the difference in thousandths and of its square. Positive: with
    /// requests it is faster.
    pairs: AtomicU32,
    sum: AtomicI64,
    squares: AtomicI64,
    /// What a page took in periods with requests, the newest most: one alone is an accident.
    with_page_ns: AtomicI64,
    /// What periods without have cost, in nanoseconds.
    cost_ns: AtomicI64,
    /// Verdicts of the newest kind in a row.
    in_a_row: AtomicU32,
    /// The newest verdict: it does not pay.
    does_not_pay: AtomicBool,
}

impl Period {
    const fn new() -> Self {
        Self {
            pages: AtomicU64::new(0),
            ns: AtomicU64::new(0),
        }
    }

    fn clear(&self) {
        self.pages.store(0, Relaxed);
        self.ns.store(0, Relaxed);
    }

    fn add(&self, pages: u64, ns: u64) {
        self.pages.fetch_add(pages, Relaxed);
        self.ns.fetch_add(ns, Relaxed);
    }

    fn is_whole(&self) -> bool {
        self.pages.load(Relaxed) >= PERIOD_PAGES.get()
    }

    /// Nanoseconds that a page took.
    fn page_ns(&self) -> i64 {
        signed(self.ns.load(Relaxed) / self.pages.load(Relaxed).max(1))
    }
}

impl Guard {
    /// Trusts, and has seen nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            phase: AtomicU32::new(TRUSTED),
            is_claimed: AtomicBool::new(false),
            read: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            useful: AtomicU64::new(0),
            began_ns: AtomicU64::new(0),
            due_at: AtomicU64::new(0),
            from_read: AtomicU64::new(0),
            from_vain: AtomicU64::new(0),
            from_ns: AtomicU64::new(0),
            settled_at: AtomicU64::new(0),
            step_read: AtomicU64::new(0),
            step_useful: AtomicU64::new(0),
            with: Period::new(),
            without: Period::new(),
            pairs: AtomicU32::new(0),
            sum: AtomicI64::new(0),
            squares: AtomicI64::new(0),
            with_page_ns: AtomicI64::new(0),
            cost_ns: AtomicI64::new(0),
            in_a_row: AtomicU32::new(0),
            does_not_pay: AtomicBool::new(false),
        }
    }

    /// Whether runs ask for no more than they cannot lose, at the moment.
    #[must_use]
    pub fn is_left_alone(&self) -> bool {
        matches!(self.phase.load(Relaxed), WITHOUT | LEFT_ALONE)
    }

    /// The child of a fork begins anew.
    pub fn forget(&self) {
        self.is_claimed.store(false, Relaxed);
        self.due_at.store(0, Relaxed);
        self.from_ns.store(0, Relaxed);
        self.enter(TRUSTED, 0);
    }

    /// A file of the group has made `progress`. `awaited` pages that were asked for may still be read, over all
    /// of its files.
    pub fn on_progress(&self, progress: Progress, awaited: u64, now: Timestamp) {
        let read = self.read.fetch_add(progress.read, Relaxed) + progress.read;
        for (all, news) in [
            (&self.asked, progress.asked),
            (&self.useful, progress.useful),
        ] {
            // A read at a random place asks for nothing and finds nothing, and there may be many.
            if news > 0 {
                all.fetch_add(news, Relaxed);
            }
        }
        let is_due = read >= self.due_at.load(Relaxed) || self.phase.load(Relaxed) == WITHOUT;
        if is_due && !self.is_claimed.swap(true, Relaxed) {
            self.go_on(read, awaited, now.get().max(1));
            self.is_claimed.store(false, Relaxed);
        }
    }

    fn go_on(&self, read: u64, awaited: u64, now_ns: u64) {
        if self.from_ns.load(Relaxed) == 0 {
            // The first word of anybody.
            self.began_ns.store(now_ns, Relaxed);
            self.from_ns.store(now_ns, Relaxed);
            self.look_again(read, awaited, 0);
            return;
        }
        match self.phase.load(Relaxed) {
            TRUSTED => self.look(read, awaited, now_ns),
            LEFT_ALONE => self.begin_trial(read, awaited, now_ns),
            phase => self.measure(phase, read, awaited, now_ns),
        }
    }

    /// Pages that were asked for in vain so far.
    fn vain(&self, awaited: u64) -> u64 {
        let reached = self.useful.load(Relaxed).saturating_add(awaited);
        self.asked.load(Relaxed).saturating_sub(reached)
    }

    fn look_again(&self, read: u64, awaited: u64, doublings: u32) {
        self.from_read.store(read, Relaxed);
        self.from_vain.store(self.vain(awaited), Relaxed);
        let pages = LOOK_PAGES.get() << doublings.min(DOUBLINGS_MAX);
        self.due_at.store(read.saturating_add(pages), Relaxed);
    }

    fn look(&self, read: u64, awaited: u64, now_ns: u64) {
        let since_read = read - self.from_read.load(Relaxed).min(read);
        let since_vain = self
            .vain(awaited)
            .saturating_sub(self.from_vain.load(Relaxed));
        if since_vain.saturating_mul(VAIN_PARTS.get()) >= since_read {
            self.begin_trial(read, awaited, now_ns);
        } else {
            self.look_again(read, awaited, 0);
        }
    }

    fn begin_trial(&self, read: u64, awaited: u64, now_ns: u64) {
        self.with.clear();
        self.without.clear();
        self.pairs.store(0, Relaxed);
        self.sum.store(0, Relaxed);
        self.squares.store(0, Relaxed);
        self.with_page_ns.store(0, Relaxed);
        self.turn_to(WITH, read, awaited, now_ns);
    }

    fn enter(&self, phase: u32, settled_at: u64) {
        self.settled_at.store(settled_at, Relaxed);
        self.phase.store(phase, Relaxed);
    }

    /// A period of the other kind begins, once what was asked for in the old one is read.
    fn turn_to(&self, phase: u32, read: u64, awaited: u64, now_ns: u64) {
        self.from_read.store(read, Relaxed);
        self.from_ns.store(now_ns, Relaxed);
        self.next_step(read);
        self.enter(phase, read.saturating_add(awaited.max(SETTLING_PAGES)));
    }

    fn next_step(&self, read: u64) {
        self.step_read.store(read, Relaxed);
        self.step_useful.store(self.useful.load(Relaxed), Relaxed);
        self.due_at
            .store(read.saturating_add(SETTLING_PAGES), Relaxed);
    }

    /// Whether most of the newest pages were read in windows.
    fn is_read_ahead(&self, read: u64) -> bool {
        let pages = read.saturating_sub(self.step_read.load(Relaxed));
        let useful = self.useful.load(Relaxed);
        useful.saturating_sub(self.step_useful.load(Relaxed)) >= pages / 2
    }

    /// In a trial.
    fn measure(&self, phase: u32, read: u64, awaited: u64, now_ns: u64) {
        let pages = read.saturating_sub(self.from_read.load(Relaxed));
        let taken_ns = now_ns.saturating_sub(self.from_ns.load(Relaxed));
        let settled_at = self.settled_at.load(Relaxed);
        let is_settled = settled_at == 0;
        if phase == WITHOUT && self.is_too_dear(pages, taken_ns, now_ns) {
            self.take(phase, is_settled, pages, taken_ns);
            self.turn_to(WITH, read, awaited, now_ns);
            return;
        }
        if read < self.due_at.load(Relaxed) {
            return;
        }
        if !is_settled {
            if read < settled_at && self.is_read_ahead(read) != (phase == WITH) {
                self.next_step(read);
            } else {
                self.charge(phase, pages, taken_ns);
                self.from_read.store(read, Relaxed);
                self.from_ns.store(now_ns, Relaxed);
                self.due_at
                    .store(read.saturating_add(PERIOD_PAGES.get()), Relaxed);
                self.enter(phase, 0);
            }
            return;
        }
        self.take(phase, is_settled, pages, taken_ns);
        if phase == WITH {
            self.note_with();
            self.from_read.store(read, Relaxed);
            self.from_ns.store(now_ns, Relaxed);
            if self.can_afford(now_ns) {
                self.turn_to(WITHOUT, read, awaited, now_ns);
            } else {
                // The newest one is compared.
                self.with.clear();
                self.due_at
                    .store(read.saturating_add(PERIOD_PAGES.get()), Relaxed);
            }
        } else if self.without.is_whole() {
            self.end_pair(read, awaited, now_ns);
        }
    }

    /// Adds to a period what belongs to it.
    fn take(&self, phase: u32, is_settled: bool, pages: u64, taken_ns: u64) {
        self.charge(phase, pages, taken_ns);
        let period = if phase == WITH {
            &self.with
        } else {
            &self.without
        };
        if is_settled {
            period.add(pages, taken_ns);
        }
    }

    /// What periods without took longer than those with is put to the account.
    fn charge(&self, phase: u32, pages: u64, taken_ns: u64) {
        if phase == WITHOUT {
            // What one has gained is no reason to lose more in another.
            let cost = self.cost_ns.load(Relaxed) + self.cost(pages, taken_ns);
            self.cost_ns.store(cost.max(0), Relaxed);
        }
    }

    fn cost(&self, pages: u64, taken_ns: u64) -> i64 {
        let with = self.with_page_ns.load(Relaxed);
        signed(taken_ns) - with.saturating_mul(signed(pages))
    }

    fn note_with(&self) {
        let (before, newest) = (self.with_page_ns.load(Relaxed), self.with.page_ns());
        let mean = if before == 0 {
            newest
        } else {
            (before * (MEAN_PERIODS - 1) + newest) / MEAN_PERIODS
        };
        self.with_page_ns.store(mean.max(1), Relaxed);
    }

    /// What all periods without may cost.
    fn allowance_ns(&self, now_ns: u64) -> i64 {
        signed(now_ns.saturating_sub(self.began_ns.load(Relaxed)) / COST_PARTS)
    }

    fn is_too_dear(&self, pages: u64, taken_ns: u64, now_ns: u64) -> bool {
        let cost = self.cost_ns.load(Relaxed) + self.cost(pages, taken_ns);
        cost > self.allowance_ns(now_ns)
    }

    /// Whether enough is left for a part of a period.
    fn can_afford(&self, now_ns: u64) -> bool {
        self.cost_ns.load(Relaxed) <= self.allowance_ns(now_ns) / 2
    }

    fn end_pair(&self, read: u64, awaited: u64, now_ns: u64) {
        let (with, without) = (self.with.page_ns(), self.without.page_ns());
        let difference = (without - with) * 2000 / (without + with).max(1);
        let pairs = i64::from(self.pairs.fetch_add(1, Relaxed)) + 1;
        let sum = self.sum.fetch_add(difference, Relaxed) + difference;
        let squares = difference * difference;
        let squares = self.squares.fetch_add(squares, Relaxed) + squares;
        self.with.clear();
        self.without.clear();
        // Sum of squares about the mean over pairs·(pairs − 1) is the square of the standard error.
        let about_mean = (squares - sum * sum / pairs).max(0);
        let mean = sum / pairs;
        let is_chance = mean * mean * pairs * (pairs - 1).max(1)
            < STANDARD_ERRORS * STANDARD_ERRORS * about_mean;
        if pairs >= i64::from(PAIRS_MAX) || pairs >= i64::from(PAIRS_MIN) && !is_chance {
            let does_not_pay = !is_chance && mean <= -DIFFERENCE;
            self.conclude(does_not_pay, read, awaited);
        } else {
            self.turn_to(WITH, read, awaited, now_ns);
        }
    }

    fn conclude(&self, does_not_pay: bool, read: u64, awaited: u64) {
        let before = self.does_not_pay.swap(does_not_pay, Relaxed);
        let in_a_row = if before == does_not_pay {
            self.in_a_row.load(Relaxed).saturating_add(1)
        } else {
            1
        };
        self.in_a_row.store(in_a_row, Relaxed);
        let doublings = in_a_row.min(DOUBLINGS_MAX) * DOUBLINGS;
        self.look_again(read, awaited, doublings);
        self.enter(if does_not_pay { LEFT_ALONE } else { TRUSTED }, 0);
    }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of a read.
    const READ: u64 = 32;

    /// A group that reads on and on, a third of what it asks for in vain.
    struct Reader {
        guard: Guard,
        now_ns: u64,
        /// Pages read so far without requests.
        left_alone: u64,
        asked_extra: u64,
        seed: u64,
    }

    impl Reader {
        fn new() -> Self {
            Self {
                guard: Guard::new(),
                now_ns: 1_000,
                left_alone: 0,
                asked_extra: READ / 2,
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
                let progress = Progress {
                    read: READ,
                    asked: if alone { 0 } else { READ + self.asked_extra },
                    useful: if alone { 0 } else { READ },
                };
                self.guard
                    .on_progress(progress, 0, Timestamp::new(self.now_ns));
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
        reader.asked_extra = 0;
        reader.reads(4096, 1100, 1000);
        assert_eq!(reader.guard.pairs.load(Relaxed), 0);
        assert_eq!(reader.left_alone, 0);
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
    }
}
