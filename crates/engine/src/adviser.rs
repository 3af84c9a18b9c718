//! How a decision reaches the world, and what the world says back: what a host brings beside its
//! [table of files](crate::host).

use ahead_policy::decision::{Decision, Prefetch};
use ahead_units::{Advice, PageCount, PageRange};

/// One thing to do about an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Act {
    /// Bring these pages in, without waiting for them.
    Prefetch(PageRange),
    /// Tell the kernel how the file is going to be read.
    Advise(Advice),
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

/// Carries out decisions.
pub trait Adviser {
    /// A decision is about to be carried out. The pages of the file as of now; `None` when the
    /// file cannot be reached, which ends the decision as [`Answer::NotHere`].
    fn prepare(&mut self, decision: &Decision) -> Option<PageCount>;

    /// Acts. A hint: what came of it may be wrong, and must not be waited for.
    fn act(&mut self, act: Act) -> Answer;

    /// The decision was carried out, with this answer. For records and reports.
    fn finish(&mut self, _decision: &Decision, _answer: Answer) {}
}

/// Knows what became of pages.
pub trait Residency {
    /// Pages of `range` that were in memory and have been evicted; `None` when that is not known.
    fn evicted(&self, range: PageRange) -> Option<PageCount>;
}

/// Applies `prefetch`, cut into calls of at most `call_pages_max` pages, in reading order within
/// a range. Stops at the first call that could not be made.
pub(crate) fn apply(
    prefetch: &Prefetch,
    call_pages_max: u64,
    adviser: &mut impl Adviser,
) -> Answer {
    let mut summary = Answer::Unknown;
    for range in prefetch.ranges() {
        let mut start = range.start.get();
        while start < range.end.get() {
            let end = start
                .saturating_add(call_pages_max.max(1))
                .min(range.end.get());
            match adviser.act(Act::Prefetch(PageRange::new(start, end))) {
                answer @ (Answer::Refused | Answer::NotHere) => return answer,
                Answer::OnItsWay => summary = Answer::OnItsWay,
                Answer::WasCached if summary == Answer::Unknown => summary = Answer::WasCached,
                Answer::WasCached | Answer::Unknown => {}
            }
            start = end;
        }
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Log(Vec<(u64, u64)>, Answer);

    impl Adviser for Log {
        fn prepare(&mut self, _decision: &Decision) -> Option<PageCount> {
            Some(PageCount::new(1 << 20))
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
        assert_eq!(apply(&window, 256, &mut log), Answer::OnItsWay);
        assert_eq!(log.0, [(10, 266), (266, 522), (522, 610)]);
    }

    #[test]
    fn a_refusal_ends_the_window() {
        let mut log = Log(Vec::new(), Answer::Refused);
        let strided = Prefetch {
            first: PageRange::new(0, 4),
            period: 16,
            count: 9,
        };
        assert_eq!(apply(&strided, 256, &mut log), Answer::Refused);
        assert_eq!(log.0.len(), 1);
    }
}
