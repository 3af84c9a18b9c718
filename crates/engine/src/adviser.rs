//! How a decision reaches the world, and what the world says back: what a host brings beside its
//! [table of files](crate::host).

use ahead_policy::decision::{Decision, Prefetch};
use ahead_policy::stock::{KERNEL_PAGES, first_read};
use ahead_units::{Advice, PageCount, PageIndex, PageRange};

/// One thing to do about an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Act {
    /// Bring these pages in, without waiting for them.
    Prefetch(PageRange),
    /// Tell the kernel how the file is going to be read.
    Advise(Advice),
    /// Let the kernel's own window of this open file be twice that of the device, unless the program has said itself how it reads
    /// it. A host that cannot, or has done so, answers [`Answer::Refused`].
    Widen,
}

/// What is known right after acting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    /// At least one page has to be read from the device.
    OnItsWay,
    /// All pages were in memory already.
    WasCached,
    /// Not known (yet).
    #[default]
    Unknown,
    /// The kernel, or whoever stands between, said no.
    Refused,
    /// The file cannot be reached any more the way it was: closed, or replaced.
    NotHere,
}

/// What came of a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallsMade {
    /// What its calls came to.
    pub answer: Answer,
    /// Pages of the file that calls were made for.
    pub pages: PageCount,
}

impl CallsMade {
    /// No call was made, for this reason.
    #[must_use]
    pub const fn nothing(answer: Answer) -> Self {
        Self {
            answer,
            pages: PageCount::new(0),
        }
    }
}

/// Carries out decisions.
pub trait Adviser {
    /// A decision is about to be carried out. The pages of the file as of now; `None` when the
    /// file cannot be reached, which ends the decision as [`Answer::NotHere`].
    fn prepare(&mut self, decision: &Decision) -> Option<PageCount>;

    /// Acts. A hint: what came of it may be wrong, and must not be waited for.
    fn act(&mut self, act: Act) -> Answer;

    /// Pages of `range`, which was asked for just now, that the calls were made for. A host that reaches only a part of the file counts
    /// that.
    fn asked_of(&self, range: PageRange) -> PageCount {
        range.len()
    }

    /// Whether the read that decisions are made with is over.
    fn is_over(&self) -> bool {
        false
    }

    /// How long its calls have held up the reader, in nanoseconds. 0 where others make them, or no time passes meanwhile.
    fn held_ns(&self) -> u64 {
        0
    }

    /// How much later than the access the newest request was made, in nanoseconds, where that is heard of from outside: a reader
    /// at the end of its window waits as long. `None` where the reader asks itself, or nothing came of the request.
    fn late_ns(&self) -> Option<u64> {
        None
    }

    /// The decision was carried out by these calls. For records and reports.
    fn finish(&mut self, _decision: &Decision, _made: &CallsMade) {}
}

/// Knows what became of pages.
pub trait Residency {
    /// Pages of `range` that were in memory and have been evicted; `None` when that is not known.
    fn evicted(&self, range: PageRange) -> Option<PageCount>;
}

/// A request whose first pages are waited for comes in so many pieces, if they are not to be smaller than the kernel's own window or
/// larger than 256 KiB: the reader computes while the next one is transferred. Doubled without an end, the last pages of a small
/// file came with most of it (62143, files of 600 KiB: 1.07 of the kernel's time on hdd).
const PIECES_MIN: u64 = 4;
const PIECE_PAGES_MAX: u64 = 64;

/// How a decision is cut into calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calls {
    /// No call asks for more; at least 1.
    pub(crate) pages_max: u64,
    /// What the reader is about to read.
    pub(crate) access: PageRange,
    /// Where it counts how long a reader waits at the begin: pages of the first piece, at least. Elsewhere
    /// pieces are only more requests, and those of several streams take turns.
    pub(crate) first_piece: Option<PageCount>,
}

impl Calls {
    /// Pages of the first call for `range`, and most pages of one behind it. Where it begins with what the reader wants now,
    /// that arrives with all of its call: then it is no more than the kernel would let it wait for.
    fn pieces(&self, range: PageRange) -> (u64, u64) {
        match self.first_piece {
            Some(least) if range.start == self.access.start => {
                let first = first_read(self.access.len().get()).max(least.get());
                let part = range.len().get().div_ceil(PIECES_MIN).next_power_of_two();
                let most = part
                    .clamp(KERNEL_PAGES, PIECE_PAGES_MAX)
                    .max(first)
                    .min(self.pages_max);
                (first.min(most), most)
            }
            _ => (self.pages_max, self.pages_max),
        }
    }
}

/// Applies `prefetch`, cut into calls, in the order of the file within a range. Stops at the first
/// call that could not be made. The file has `file_pages`: pages behind its end are not counted.
pub(crate) fn apply(
    prefetch: &Prefetch,
    calls: &Calls,
    file_pages: PageCount,
    adviser: &mut impl Adviser,
) -> CallsMade {
    let end_of_file = PageIndex::new(file_pages.get());
    let mut asked = CallsMade::default();
    for range in prefetch.ranges() {
        let mut start = range.start.get();
        let (mut pages, most) = calls.pieces(range);
        while start < range.end.get() {
            let end = start.saturating_add(pages.max(1)).min(range.end.get());
            let call = PageRange::new(start, end);
            let answer = adviser.act(Act::Prefetch(call));
            match answer {
                Answer::Refused | Answer::NotHere => return CallsMade { answer, ..asked },
                Answer::OnItsWay => asked.answer = answer,
                Answer::WasCached if asked.answer == Answer::Unknown => asked.answer = answer,
                Answer::WasCached | Answer::Unknown => {}
            }
            if answer != Answer::WasCached {
                asked.pages = asked.pages + adviser.asked_of(call.before(end_of_file));
            }
            start = end;
            // Each piece is there before the one in front of it has been read.
            pages = pages.saturating_mul(2).min(most);
        }
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: PageCount = PageCount::new(1 << 20);

    struct Log(Vec<(u64, u64)>, Answer);

    impl Adviser for Log {
        fn prepare(&mut self, _decision: &Decision) -> Option<PageCount> {
            Some(FILE)
        }

        fn act(&mut self, act: Act) -> Answer {
            if let Act::Prefetch(range) = act {
                self.0.push((range.start.get(), range.end.get()));
            }
            self.1
        }
    }

    #[test]
    fn a_window_is_cut_where_the_kernel_would_cut_it_silently() {
        let mut log = Log(Vec::new(), Answer::OnItsWay);
        let window = Prefetch::range(PageRange::new(10, 610));
        assert_eq!(
            apply(&window, &calls(0), FILE, &mut log).answer,
            Answer::OnItsWay
        );
        assert_eq!(log.0, [(10, 266), (266, 522), (522, 610)]);
    }

    fn calls(access: u64) -> Calls {
        Calls {
            pages_max: 256,
            access: PageRange::new(access, access + 4),
            first_piece: Some(PageCount::new(0)),
        }
    }

    /// A reader that computes between its reads lost what it could have computed meanwhile.
    #[test]
    fn what_the_reader_wants_now_does_not_arrive_with_all_of_its_window() {
        let mut log = Log(Vec::new(), Answer::OnItsWay);
        let window = Prefetch::range(PageRange::new(10, 910));
        assert_eq!(
            apply(&window, &calls(10), FILE, &mut log).answer,
            Answer::OnItsWay
        );
        assert_eq!(log.0[..4], [(10, 18), (18, 34), (34, 66), (66, 130)]);
        assert_eq!(log.0[4..6], [(130, 194), (194, 258)]);
        assert_eq!(log.0.last(), Some(&(898, 910)));
        let mut log = Log(Vec::new(), Answer::OnItsWay);
        let whole = Calls {
            first_piece: None,
            ..calls(10)
        };
        assert_eq!(
            apply(&window, &whole, FILE, &mut log).answer,
            Answer::OnItsWay
        );
        assert_eq!(log.0[0], (10, 266));
        let mut log = Log(Vec::new(), Answer::OnItsWay);
        let large = Calls {
            first_piece: Some(PageCount::new(32)),
            ..calls(10)
        };
        assert_eq!(
            apply(&window, &large, FILE, &mut log).answer,
            Answer::OnItsWay
        );
        assert_eq!(log.0[..2], [(10, 42), (42, 106)]);
    }

    /// Generated 62143: the 472 KiB behind the first read of a small file.
    #[test]
    fn the_rest_of_a_small_file_comes_in_four_pieces() {
        let mut log = Log(Vec::new(), Answer::OnItsWay);
        let window = Prefetch::range(PageRange::new(32, 150));
        let reads_of_32 = Calls {
            access: PageRange::new(32, 64),
            ..calls(32)
        };
        assert_eq!(
            apply(&window, &reads_of_32, FILE, &mut log).answer,
            Answer::OnItsWay
        );
        assert_eq!(log.0, [(32, 64), (64, 96), (96, 128), (128, 150)]);
    }

    #[test]
    fn a_refusal_ends_the_window() {
        let mut log = Log(Vec::new(), Answer::Refused);
        let strided = Prefetch {
            first: PageRange::new(0, 4).into(),
            period: 16 * 4096,
            count: 9,
        };
        assert_eq!(
            apply(&strided, &calls(0), FILE, &mut log).answer,
            Answer::Refused
        );
        assert_eq!(log.0.len(), 1);
    }

    /// A daemon that came late was said to have requested 16 GiB of a file of 16 MiB, all of which was in memory.
    #[test]
    fn what_no_call_was_made_for_is_not_counted() {
        let window = Prefetch::range(PageRange::new(100, 700));
        let file_pages = PageCount::new(650);
        for (answer, pages) in [
            (Answer::OnItsWay, 550),
            (Answer::Unknown, 550),
            (Answer::WasCached, 0),
            (Answer::Refused, 0),
            (Answer::NotHere, 0),
        ] {
            let mut log = Log(Vec::new(), answer);
            let asked = apply(&window, &calls(0), file_pages, &mut log);
            let pages = PageCount::new(pages);
            assert_eq!(asked, CallsMade { answer, pages });
        }
    }
}
