//! Ending the kernel's own pipeline of a scan whose open file was given a smaller window.
//!
//! The kernel reads a scan ahead from marker to marker: a page of each window has one, and who reads it has the next window
//! requested. Since Linux 6.13 such a window never becomes smaller (`page_cache_async_ra`), whatever window the open file has meanwhile.
//! The marker is set on a page that the kernel brings itself. So what it is about to request is requested for it: no marker is left, and
//! where that ends the scan goes on with a window that is new.
//!
//! On a busy machine that may come too late. Then the kernel still has a window ahead of the reader: it is done again, with more, and
//! less and less often.

use ahead_units::{PageCount, PageRange};

/// Windows of the kernel behind the place of a scan, after which no marker is left: the one that is read, the one that is on its
/// way, the one that this one's marker asks for, and another for a reader that is quicker than the call.
const WINDOWS: u64 = 4;

/// That is doubled so often where it was too late. More is read ahead for one scan while others wait.
const DOUBLINGS: u32 = 2;

/// And so often is doubled how far the scan goes on before it is looked at again: to 256 times what was requested.
const PAUSE_DOUBLINGS: u32 = 8;

/// What is left to be done about the pipeline of one scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pipeline {
    window: PageCount,
    /// While the scan is here, nothing is done.
    done: PageRange,
    times: u32,
    has_ended: bool,
}

impl Pipeline {
    /// The kernel's, in windows of `window`.
    pub(crate) fn new(window: PageCount) -> Self {
        Self {
            window,
            done: PageRange::default(),
            times: 0,
            has_ended: false,
        }
    }

    /// What is to be requested, as the scan of a file of `file_pages` has read up to page `at`, exclusive. `cached` counts the pages of a
    /// range that are in memory, or on their way; `None`: that is not known.
    pub(crate) fn next(
        &mut self,
        at: u64,
        file_pages: PageCount,
        cached: impl FnOnce(PageRange) -> Option<PageCount>,
    ) -> Option<PageRange> {
        let window = self.window.get();
        let behind = |pages: u64| at.saturating_add(pages).min(file_pages.get());
        let is_done = self.done.start.get() <= at && at < self.done.end.get();
        if self.has_ended || is_done || at >= file_pages.get() {
            return None;
        }
        if self.times > 0 {
            let ahead = cached(PageRange::new(at, behind(2 * window)));
            self.has_ended = ahead.is_none_or(|ahead| ahead.get() <= window / 2);
            if self.has_ended {
                return None;
            }
        }
        let pages = (window * WINDOWS) << self.times.min(DOUBLINGS);
        self.done = PageRange::new(at, behind(pages << self.times.min(PAUSE_DOUBLINGS)));
        self.times += 1;
        Some(PageRange::new(at, behind(pages)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: PageCount = PageCount::new(32);
    const FILE: PageCount = PageCount::new(100_000);

    fn next(pipeline: &mut Pipeline, at: u64, cached: u64) -> Option<PageRange> {
        pipeline.next(at, FILE, |_| Some(PageCount::new(cached)))
    }

    #[test]
    fn four_windows_are_requested_and_no_more_where_nothing_is_ahead_of_the_reader_then() {
        let mut pipeline = Pipeline::new(WINDOW);
        assert_eq!(next(&mut pipeline, 100, 64), Some(PageRange::new(100, 228)));
        assert_eq!(next(&mut pipeline, 116, 64), None, "it is read");
        assert_eq!(next(&mut pipeline, 228, 16), None, "it has ended");
        assert_eq!(next(&mut pipeline, 244, 64), None);
    }

    /// Four programs that compute on two processors: the reader was seven windows farther when it was requested.
    #[test]
    fn what_came_too_late_is_done_again_with_more_and_less_and_less_often() {
        let mut pipeline = Pipeline::new(WINDOW);
        let (mut requested, mut looks) = (Vec::new(), Vec::new());
        for at in (0..FILE.get()).step_by(16) {
            if let Some(range) = next(&mut pipeline, at, 64) {
                looks.push(at);
                requested.push(range.len().get());
            }
        }
        assert_eq!(requested[..5], [128, 256, 512, 512, 512]);
        assert_eq!(looks[..5], [0, 128, 640, 2688, 6784]);
        assert!(requested.iter().sum::<u64>() < FILE.get() / 20);
    }

    #[test]
    fn nothing_is_requested_behind_the_end_or_where_it_is_not_known_what_is_there() {
        let mut pipeline = Pipeline::new(WINDOW);
        let short = PageCount::new(120);
        let seen = |_| None;
        assert_eq!(
            pipeline.next(100, short, seen),
            Some(PageRange::new(100, 120))
        );
        assert_eq!(pipeline.next(120, short, seen), None);
        assert_eq!(pipeline.next(0, short, seen), None, "from the start again");
    }
}
