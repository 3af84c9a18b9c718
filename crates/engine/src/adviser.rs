//! How a decision reaches the world, and what the world says back: two small traits.
//!
//! The process host implements them with system calls, the simulator with its own page cache.

use ahead_policy::decision::Prefetch;
use ahead_units::{PageCount, PageRange};

/// Brings pages in.
pub trait Adviser {
    /// Asks for `range` without waiting for it. What came of it is a hint only.
    fn prefetch(&mut self, range: PageRange) -> Asked;
}

/// What is known right after asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// At least one page has to be read from the device.
    OnItsWay,
    /// All pages were in memory already.
    WasCached,
    /// Not known (yet).
    Unknown,
    /// Asking is not possible here, or the queue is full.
    Refused,
}

/// Knows what became of pages.
pub trait Residency {
    /// Pages of `range` that were in memory and have been evicted; `None` when nobody can say.
    fn evicted(&self, range: PageRange) -> Option<PageCount>;
}

/// Applies `prefetch`, cut into calls of at most `call_pages_max` pages, in reading order within
/// a range. Stops at the first refusal.
pub fn apply(prefetch: &Prefetch, call_pages_max: u64, adviser: &mut impl Adviser) -> Asked {
    let mut summary = Asked::Unknown;
    for range in prefetch.ranges() {
        let mut start = range.start.get();
        while start < range.end.get() {
            let end = start
                .saturating_add(call_pages_max.max(1))
                .min(range.end.get());
            match adviser.prefetch(PageRange::new(start, end)) {
                Asked::Refused => return Asked::Refused,
                Asked::OnItsWay => summary = Asked::OnItsWay,
                Asked::WasCached if summary == Asked::Unknown => summary = Asked::WasCached,
                Asked::WasCached | Asked::Unknown => {}
            }
            start = end;
        }
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Log(Vec<(u64, u64)>, Asked);

    impl Adviser for Log {
        fn prefetch(&mut self, range: PageRange) -> Asked {
            self.0.push((range.start.get(), range.end.get()));
            self.1
        }
    }

    #[test]
    fn a_window_is_cut_where_the_kernel_would_cut_it_silently() {
        let mut log = Log(Vec::new(), Asked::OnItsWay);
        let window = Prefetch::range(PageRange::new(10, 610));
        assert_eq!(apply(&window, 256, &mut log), Asked::OnItsWay);
        assert_eq!(log.0, [(10, 266), (266, 522), (522, 610)]);
    }

    #[test]
    fn a_refusal_ends_the_window() {
        let mut log = Log(Vec::new(), Asked::Refused);
        let comb = Prefetch {
            first: PageRange::new(0, 4),
            period: 16,
            count: 9,
        };
        assert_eq!(apply(&comb, 256, &mut log), Asked::Refused);
        assert_eq!(log.0.len(), 1);
    }
}
