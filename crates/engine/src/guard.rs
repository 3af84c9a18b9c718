//! Whether reading ahead pays, measured where it cannot be known.
//!
//! Pages that were asked for in vain cost what they cost: on a disk that does nothing else, little; on one
//! that others wait for, all that the reader gains. So where much is asked for in vain the guard measures:
//! periods with requests and periods without take turns, and the time that a page takes in the one is
//! compared with the other, pair by pair, until the difference is no chance. Then the group is trusted, or
//! left alone, each time for longer.
//!
//! ```text
//! Trusted ── a sixteenth of what was read was given up unread ────► trial: with ◄─► without
//!    ▲                                                                │         │
//!    └────────────────────── it pays, or makes no difference ─────────┘         │
//! Left alone ◄───────────────────────────────── it does not pay ────────────────┘
//!    └── four times as much was read as the last time ──► trial
//! ```
//!
//! **What a trial may cost** is bounded by an account: time that periods without took longer than those with
//! may be half a per cent of all time so far. A period that would take more is broken off and goes on later.
//!
//! **Left alone** is who may lose: a run has up to a sixteenth of what it has read in front of it all the
//! same ([`ahead_policy::adaptive::Moment::is_left_alone`]), which is no more in vain than would be doubted.
//! So a scan that comes after many short runs is not lost.
//!
//! Nothing here is a lock, and no thread waits: one that comes to a point where something is due claims it.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64};

use ahead_units::Timestamp;

use crate::budget::Budget;
use crate::signed::signed;

// What these weigh shows over gigabytes only, and plans and generated workloads are smaller: they are no steering
// constants, which are swept over those. Measured on runs of random length, 2 to 8 GiB, on five disks.

/// Pages read between two looks at what was given up: 64 MiB. Fewer, and the beginnings of some runs are a reason to
/// doubt (16 MiB: twelve of 400 generated workloads slower, eight faster); more, and what does not pay goes on for
/// longer.
const LOOK_PAGES: u64 = 16_384;

/// One page in so many asked for in vain is a reason to doubt. Fewer, and much is lost without a look; more, and
/// trials are made where there is nothing to find.
const VAIN_PARTS: u64 = 16;

/// Pages of a period of a trial: 4 MiB. Fewer, and a period is one accident of the disk; more, and a trial takes
/// longer than most programs run (8 MiB: better and worse by three per cent in as many places).
const PERIOD_PAGES: u64 = 1024;

/// A trial may cost one part in so many of all time: half a per cent.
const COST_PARTS: u64 = 200;

/// What periods with requests took is a mean to which the newest adds one part in so many.
const MEAN_PERIODS: i64 = 4;

/// After a turn from one kind of period to the other so many pages belong to neither, and as many again until
/// more than half of them are read as in the new one: ahead, or not. What was asked for has to be read first, and
/// windows have to be asked for again.
const SETTLING_PAGES: u64 = 512;

/// A read that wants more than 256 MiB is one of a file that is shorter.
const READ_PAGES_MAX: u64 = 1 << 16;

/// No thread is for so long inside of what one at a time may enter, here or at a file of a host, unless it left
/// without coming back: the longest stay is a few microseconds, and one that lost its processor gets it back.
pub const STUCK_NS: u64 = 2_000_000_000;

/// Pairs of periods before anything is concluded: of fewer the spread is not known.
const PAIRS_MIN: u32 = 6;

/// After so many pairs that do not tell there is nothing to tell.
const PAIRS_MAX: u32 = 32;

/// A difference is none if it is smaller than so many of its standard errors. It is looked at after each pair, so
/// that chance has many tries: who is left alone for it has lost more by it than who is trusted.
const ERRORS_AGAINST: i64 = 3;
const ERRORS_FOR: i64 = 2;

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

/// What a file of the group has done since it said so last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Consumed {
    /// Pages read.
    pub read: u64,
    /// Pages read that had been asked for.
    pub useful: u64,
    /// Pages that were asked for and given up unread.
    pub vain: u64,
}

impl Consumed {
    /// What was done since `before`. Counters may have begun anew in between.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self {
            read: self.read.wrapping_sub(before.read),
            useful: self.useful.wrapping_sub(before.useful),
            vain: self.vain.wrapping_sub(before.vain),
        }
    }
}

/// How far the group is when something is due.
#[derive(Clone, Copy, Debug)]
struct Point {
    /// Pages read so far.
    read: u64,
    /// Pages asked for in vain so far.
    vain: u64,
    /// Pages that were asked for and may still be read.
    awaited: u64,
    now_ns: u64,
}

/// What was read in one go, and how long that took.
#[derive(Clone, Copy, Debug)]
struct Part {
    pages: u64,
    ns: u64,
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
    /// Since when a thread draws conclusions, in nanoseconds; 0: none does.
    claimed_ns: AtomicU64,
    // What the group did, since it began.
    read: AtomicU64,
    useful: AtomicU64,
    vain: AtomicU64,
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

    fn add(&self, part: Part) {
        self.pages.fetch_add(part.pages, Relaxed);
        self.ns.fetch_add(part.ns, Relaxed);
    }

    fn is_whole(&self) -> bool {
        self.pages.load(Relaxed) >= PERIOD_PAGES
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
            claimed_ns: AtomicU64::new(0),
            read: AtomicU64::new(0),
            useful: AtomicU64::new(0),
            vain: AtomicU64::new(0),
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
        self.end_trial();
        for counter in [
            &self.claimed_ns,
            &self.read,
            &self.useful,
            &self.vain,
            &self.began_ns,
            &self.due_at,
            &self.from_read,
            &self.from_vain,
            &self.from_ns,
        ] {
            counter.store(0, Relaxed);
        }
        self.cost_ns.store(0, Relaxed);
        self.in_a_row.store(0, Relaxed);
        self.does_not_pay.store(false, Relaxed);
        self.enter(TRUSTED, 0);
    }

    /// A file of the group, which has this `budget`, has `consumed` so much. What was asked for in files that were
    /// closed since is in vain unless they are opened again.
    pub fn on_consumed(&self, consumed: Consumed, budget: &Budget, now: Timestamp) {
        let read = consumed.read.min(READ_PAGES_MAX);
        let read = self.read.fetch_add(read, Relaxed).saturating_add(read);
        for (all, news) in [(&self.useful, consumed.useful), (&self.vain, consumed.vain)] {
            // A read at a random place asks for nothing and finds nothing, and there may be many.
            if news > 0 {
                all.fetch_add(news, Relaxed);
            }
        }
        let now_ns = now.get().max(1);
        if self.is_due(read) && self.claim(now_ns) {
            // Another thread may have done it meanwhile.
            if self.is_due(read) {
                let given_up = self.vain.load(Relaxed);
                self.go_on(Point {
                    read,
                    vain: given_up.saturating_add(budget.left().get()),
                    awaited: budget.awaited().get(),
                    now_ns,
                });
            }
            self.claimed_ns.store(0, Release);
        }
    }

    fn is_due(&self, read: u64) -> bool {
        read >= self.due_at.load(Relaxed) || self.phase.load(Relaxed) == WITHOUT
    }

    /// One thread at a time. One that never came back, as a handler of signals may jump out of here, is
    /// forgotten.
    fn claim(&self, now_ns: u64) -> bool {
        let since_ns = self.claimed_ns.load(Relaxed);
        let is_free = since_ns == 0 || now_ns.saturating_sub(since_ns) > STUCK_NS;
        is_free
            && self
                .claimed_ns
                .compare_exchange(since_ns, now_ns, Acquire, Relaxed)
                .is_ok()
    }

    fn go_on(&self, point: Point) {
        if self.from_ns.load(Relaxed) == 0 {
            // The first word of any file.
            self.began_ns.store(point.now_ns, Relaxed);
            self.from_ns.store(point.now_ns, Relaxed);
            self.look_again(&point, 0);
            return;
        }
        match self.phase.load(Relaxed) {
            TRUSTED => self.look(&point),
            LEFT_ALONE => self.begin_trial(&point),
            phase => self.measure(phase, &point),
        }
    }

    fn look_again(&self, point: &Point, doublings: u32) {
        self.from_read.store(point.read, Relaxed);
        self.from_vain.store(point.vain, Relaxed);
        let pages = LOOK_PAGES << doublings.min(DOUBLINGS_MAX);
        self.due_at.store(point.read.saturating_add(pages), Relaxed);
    }

    fn look(&self, point: &Point) {
        let read = point.read.saturating_sub(self.from_read.load(Relaxed));
        let vain = point.vain.saturating_sub(self.from_vain.load(Relaxed));
        if vain > 0 && vain.saturating_mul(VAIN_PARTS) >= read {
            self.begin_trial(point);
        } else {
            self.look_again(point, 0);
        }
    }

    fn begin_trial(&self, point: &Point) {
        self.end_trial();
        self.turn_to(WITH, point);
    }

    /// Nothing is measured.
    fn end_trial(&self) {
        self.with.clear();
        self.without.clear();
        self.pairs.store(0, Relaxed);
        self.sum.store(0, Relaxed);
        self.squares.store(0, Relaxed);
        self.with_page_ns.store(0, Relaxed);
    }

    fn enter(&self, phase: u32, settled_at: u64) {
        self.settled_at.store(settled_at, Relaxed);
        self.phase.store(phase, Relaxed);
    }

    /// A period of the other kind begins, once what was asked for in the old one is read.
    fn turn_to(&self, phase: u32, point: &Point) {
        self.begin_settling(point);
        let pages = point.awaited.max(SETTLING_PAGES);
        self.enter(phase, point.read.saturating_add(pages));
    }

    /// A part of a period begins.
    fn begin_part(&self, point: &Point) {
        self.from_read.store(point.read, Relaxed);
        self.from_ns.store(point.now_ns, Relaxed);
        self.due_at
            .store(point.read.saturating_add(PERIOD_PAGES), Relaxed);
    }

    /// What lies between two periods begins, or goes on.
    fn begin_settling(&self, point: &Point) {
        self.begin_part(point);
        self.step_read.store(point.read, Relaxed);
        self.step_useful.store(self.useful.load(Relaxed), Relaxed);
        self.due_at
            .store(point.read.saturating_add(SETTLING_PAGES), Relaxed);
    }

    /// Whether most of the newest pages were read in windows.
    fn is_read_ahead(&self, read: u64) -> bool {
        let pages = read.saturating_sub(self.step_read.load(Relaxed));
        let useful = self.useful.load(Relaxed);
        useful.saturating_sub(self.step_useful.load(Relaxed)) >= pages / 2
    }

    /// In a trial.
    fn measure(&self, phase: u32, point: &Point) {
        let part = Part {
            pages: point.read.saturating_sub(self.from_read.load(Relaxed)),
            ns: point.now_ns.saturating_sub(self.from_ns.load(Relaxed)),
        };
        let is_over = phase == WITHOUT && self.is_too_dear(part, point.now_ns);
        if !is_over && point.read < self.due_at.load(Relaxed) {
            return;
        }
        let settled_at = self.settled_at.load(Relaxed);
        let is_settled = settled_at == 0;
        if phase == WITHOUT {
            self.charge(part, point.now_ns);
        }
        if is_settled {
            let period = if phase == WITH {
                &self.with
            } else {
                &self.without
            };
            period.add(part);
        }
        if is_over {
            self.turn_to(WITH, point);
        } else if !is_settled {
            if point.read < settled_at && self.is_read_ahead(point.read) != (phase == WITH) {
                self.begin_settling(point);
            } else {
                self.begin_part(point);
                self.enter(phase, 0);
            }
        } else if phase == WITH {
            self.note_with();
            if self.can_afford(point.now_ns) {
                self.turn_to(WITHOUT, point);
            } else {
                // The newest one is compared.
                self.with.clear();
                self.begin_part(point);
            }
        } else if self.without.is_whole() {
            self.end_pair(point);
        } else {
            self.begin_part(point);
        }
    }

    /// What a period without took longer than one with is put to the account. What one has gained is no reason to
    /// lose more in another, and a pause of the program costs no more than was allowed.
    fn charge(&self, part: Part, now_ns: u64) {
        let before = self.cost_ns.load(Relaxed);
        let cost = self.cost(part).min(self.allowance_ns(now_ns));
        self.cost_ns.store((before + cost).max(0), Relaxed);
    }

    fn cost(&self, part: Part) -> i64 {
        let with = self.with_page_ns.load(Relaxed);
        signed(part.ns).saturating_sub(with.saturating_mul(signed(part.pages)))
    }

    fn note_with(&self) {
        let (before, newest) = (self.with_page_ns.load(Relaxed), self.with.page_ns());
        let mean = if before == 0 {
            newest
        } else {
            // A pause of the program is no page that took so long.
            let newest = newest.min(before.saturating_mul(2));
            (before.saturating_mul(MEAN_PERIODS - 1) + newest) / MEAN_PERIODS
        };
        self.with_page_ns.store(mean.max(1), Relaxed);
    }

    /// What all periods without may cost.
    fn allowance_ns(&self, now_ns: u64) -> i64 {
        signed(now_ns.saturating_sub(self.began_ns.load(Relaxed)) / COST_PARTS)
    }

    fn is_too_dear(&self, part: Part, now_ns: u64) -> bool {
        let cost = self.cost_ns.load(Relaxed).saturating_add(self.cost(part));
        cost > self.allowance_ns(now_ns)
    }

    /// Whether enough is left for a part of a period.
    fn can_afford(&self, now_ns: u64) -> bool {
        self.cost_ns.load(Relaxed) <= self.allowance_ns(now_ns) / 2
    }

    fn end_pair(&self, point: &Point) {
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
        let errors = if mean < 0 { ERRORS_AGAINST } else { ERRORS_FOR };
        let is_chance = mean * mean * pairs * (pairs - 1).max(1) < errors * errors * about_mean;
        if pairs >= i64::from(PAIRS_MAX) || pairs >= i64::from(PAIRS_MIN) && !is_chance {
            let does_not_pay = !is_chance && mean <= -DIFFERENCE;
            self.conclude(does_not_pay, point);
        } else {
            self.turn_to(WITH, point);
        }
    }

    fn conclude(&self, does_not_pay: bool, point: &Point) {
        let before = self.does_not_pay.swap(does_not_pay, Relaxed);
        let in_a_row = if before == does_not_pay {
            self.in_a_row.load(Relaxed).saturating_add(1)
        } else {
            1
        };
        self.in_a_row.store(in_a_row, Relaxed);
        let doublings = in_a_row.min(DOUBLINGS_MAX) * DOUBLINGS;
        self.look_again(point, doublings);
        self.enter(if does_not_pay { LEFT_ALONE } else { TRUSTED }, 0);
    }
}

#[cfg(test)]
mod tests;
