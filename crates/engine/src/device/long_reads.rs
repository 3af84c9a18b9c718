//! What reads that are longer than what the kernel asks for at once wait for on a device: by it, and asked for whole.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed};

use ahead_units::PageCount;

use crate::adviser::Answer;
use crate::mean::mean_with;

/// Long reads that are asked for before their times are compared.
const TIMED_FIRST: u8 = 3;

/// Some of so many are made the other way from then on, so that both are timed. Fewer, and what is slower is done more often; more,
/// and what has changed is seen late.
const TIMED_EVERY: u8 = 64;

/// So many. Of what is done another way than the one before, the first is not timed: it waits behind what was brought in behind that, or
/// for less (alternately, 256 KiB at random places of flash seemed to take the kernel 160 us instead of 249, and were given up).
const TIMED_OTHERS: u8 = 2;

/// One that is asked for has to take less than one of the kernel's by one part in so many: calls cost the processor some time.
const FASTER_PARTS: u64 = 16;

/// Most long reads for which nothing is asked after one that was in memory.
const PAUSE_MAX: u8 = 64;

/// What the newest read is, and a read that waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum LongRead {
    /// Not longer than what the kernel asks for at once, asked for otherwise, or one that may not be.
    #[default]
    No,
    /// The kernel brings it in.
    ByKernel,
    /// All of it was asked for.
    Whole,
}

/// What is known. All zero: nothing. Threads that come in between each other lose a little of it, which is as good.
#[derive(Debug, Default)]
pub(crate) struct LongReadTimes {
    /// What a page of those took that the kernel brought in, in nanoseconds; 0: not known.
    kernel_ns: AtomicU32,
    /// The same of those that were asked for whole.
    whole_ns: AtomicU32,
    /// And for how long the calls for a page of those held up the reader, where that is no part of it.
    held_ns: AtomicU32,
    /// One has waited, and none has come since.
    has_waited: AtomicBool,
    /// The newest one that waited.
    newest: AtomicU8,
    /// Counts those that could be asked for, from [`TIMED_FIRST`] on again and again.
    turn: AtomicU8,
    /// Of so many more nothing is asked for, as one was in memory.
    pause: AtomicU8,
    /// And of so many after the next one that is.
    next_pause: AtomicU8,
}

impl LongReadTimes {
    pub(super) const fn new() -> Self {
        Self {
            kernel_ns: AtomicU32::new(0),
            whole_ns: AtomicU32::new(0),
            held_ns: AtomicU32::new(0),
            has_waited: AtomicBool::new(false),
            newest: AtomicU8::new(LongRead::No as u8),
            turn: AtomicU8::new(0),
            pause: AtomicU8::new(0),
            next_pause: AtomicU8::new(0),
        }
    }

    /// One more comes. Returns whether it is to be asked for: the one before it waited, and it pays.
    pub(crate) fn on_next(&self) -> bool {
        if !self.has_waited.swap(false, Relaxed) {
            return false;
        }
        let pause = self.pause.load(Relaxed);
        if pause > 0 {
            self.pause.store(pause - 1, Relaxed);
            return false;
        }
        const LAST: u8 = TIMED_FIRST + TIMED_EVERY - 1;
        let turn = self.turn.load(Relaxed);
        let next = if turn < LAST { turn + 1 } else { TIMED_FIRST };
        self.turn.store(next, Relaxed);
        let is_other = turn > LAST - TIMED_OTHERS;
        turn < TIMED_FIRST || self.is_faster() != is_other
    }

    /// Whether those are faster that are asked for.
    fn is_faster(&self) -> bool {
        let of = |page_ns: &AtomicU32| u64::from(page_ns.load(Relaxed));
        let whole_ns = of(&self.whole_ns) + of(&self.held_ns);
        whole_ns + whole_ns / FASTER_PARTS < of(&self.kernel_ns)
    }

    /// From now on they are asked for with more behind them, or with less: what they took says nothing of that.
    pub(crate) fn on_other_length(&self) {
        self.whole_ns.store(0, Relaxed);
        self.turn.store(0, Relaxed);
    }

    /// This came of the calls for one.
    pub(crate) fn on_answer(&self, answer: Answer) {
        match answer {
            Answer::OnItsWay => {
                // The next one will not be in memory either.
                self.has_waited.store(true, Relaxed);
                self.next_pause.store(0, Relaxed);
            }
            Answer::WasCached => {
                let pause = self.next_pause.load(Relaxed).saturating_mul(2);
                let pause = pause.clamp(1, PAUSE_MAX);
                self.next_pause.store(pause, Relaxed);
                self.pause.store(pause, Relaxed);
            }
            Answer::Unknown | Answer::Refused | Answer::NotHere => {}
        }
    }

    /// The calls for one of `pages`, which is on its way, have held up its reader for `held_ns`.
    pub(crate) fn on_held(&self, pages: PageCount, held_ns: u64) {
        take_in(&self.held_ns, pages, held_ns);
    }

    /// A read of `pages` of its file, which is this, waited `waited_ns`.
    pub(crate) fn on_wait(&self, read: LongRead, pages: PageCount, waited_ns: u64) {
        let known = match read {
            LongRead::No => return,
            LongRead::ByKernel => &self.kernel_ns,
            LongRead::Whole => &self.whole_ns,
        };
        self.has_waited.store(true, Relaxed);
        let before = self.newest.swap(read as u8, Relaxed);
        if before == read as u8 || before == LongRead::No as u8 {
            take_in(known, pages, waited_ns);
        }
    }
}

/// `pages` took `time_ns`, which goes into what a page takes in the mean.
fn take_in(page_ns: &AtomicU32, pages: PageCount, time_ns: u64) {
    let newest = (time_ns / pages.get().max(1)).min(u32::MAX.into());
    let mean = mean_with(page_ns.load(Relaxed).into(), newest);
    page_ns.store(u32::try_from(mean).unwrap_or(u32::MAX), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads one after the other, of 64 pages: one that is asked for takes 700 ns a page, and 1000 behind one of the kernel's, one
    /// of the kernel's 1000, and 400 behind one that was asked for.
    #[test]
    fn what_waits_behind_another_way_is_not_timed() {
        let times = LongReadTimes::new();
        let mut before = LongRead::No;
        let mut asked = 0;
        for _ in 0..1000 {
            let (read, page_ns) = match (times.on_next(), before) {
                (true, LongRead::ByKernel) => (LongRead::Whole, 1000),
                (true, _) => (LongRead::Whole, 700),
                (false, LongRead::Whole) => (LongRead::ByKernel, 400),
                (false, _) => (LongRead::ByKernel, 1000),
            };
            asked += u32::from(read == LongRead::Whole);
            times.on_wait(read, PageCount::new(64), 64 * page_ns);
            before = read;
        }
        assert!((960..970).contains(&asked), "{asked}");
    }

    /// 64 pages with 32 behind them were no faster than the kernel's; 64 alone may be.
    #[test]
    fn they_are_tried_anew_where_they_become_shorter() {
        let times = LongReadTimes::new();
        let on_next = || {
            times.on_wait(LongRead::ByKernel, PageCount::new(64), 64_000);
            times.on_next()
        };
        for _ in 0..TIMED_FIRST {
            assert!(on_next());
        }
        // The first one after the kernel's is not timed.
        for _ in 0..2 {
            times.on_wait(LongRead::Whole, PageCount::new(64), 64_000);
        }
        assert!(!on_next(), "no faster");
        times.on_other_length();
        assert!(on_next());
    }

    #[test]
    fn what_calls_hold_up_counts() {
        let times = LongReadTimes::new();
        let pages = PageCount::new(64);
        for read in [LongRead::ByKernel, LongRead::Whole, LongRead::Whole] {
            times.on_wait(
                read,
                pages,
                64 * if read == LongRead::Whole { 600 } else { 1000 },
            );
        }
        times.on_held(pages, 64 * 300);
        assert!(times.is_faster());
        times.on_answer(Answer::OnItsWay);
        assert!(times.is_faster());
        times.on_held(pages, 64 * 1000);
        assert!(!times.is_faster());
    }
}
