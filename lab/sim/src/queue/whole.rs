//! Runs that were cut into several requests and complete as a whole, with the last of them.
//!
//! A page is asked for once at a time, so that its place says to which run it belongs. What belongs
//! to no such run passes at once. A run that the queue took in two goes counts as two.

use std::collections::BTreeMap;

use super::run::Done;
use ahead_replicas::page_cache::FileId;

/// Runs of which something is still missing.
#[derive(Clone, Debug, Default)]
pub(super) struct WholeRuns {
    /// By file and first page.
    runs: BTreeMap<(u32, u64), Run>,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    /// One behind the last page.
    end: u64,
    /// Pages that have not come.
    missing: u64,
}

impl WholeRuns {
    /// The run of `pages` from `start` is on its way.
    pub(super) fn expect(&mut self, file: FileId, start: u64, pages: u64) {
        let run = Run {
            end: start + pages,
            missing: pages,
        };
        self.runs.insert((file.0, start), run);
    }

    /// `done` has come: appends to `finished` what is complete now.
    pub(super) fn pass(&mut self, done: Done, finished: &mut Vec<Done>) {
        let (file, end) = (done.file.0, done.start + done.pages);
        let mut from = done.start;
        while from < end {
            let newest = self.runs.range_mut((file, 0)..=(file, from)).next_back();
            if let Some((&(_, start), run)) = newest.filter(|(_, run)| from < run.end) {
                let to = run.end.min(end);
                run.missing = run.missing.saturating_sub(to - from);
                if run.missing == 0 {
                    let pages = run.end - start;
                    self.runs.remove(&(file, start));
                    finished.push(Done {
                        start,
                        pages,
                        ..done
                    });
                }
                from = to;
                continue;
            }
            let next = self.runs.range((file, from)..(file, end)).next();
            let to = next.map_or(end, |(&(_, start), _)| start);
            finished.push(Done {
                start: from,
                pages: to - from,
                ..done
            });
            from = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::run::IoDirection;

    fn passed(runs: &mut WholeRuns, start: u64, pages: u64) -> Vec<(u64, u64)> {
        let mut finished = Vec::new();
        let done = Done {
            file: FileId(3),
            start,
            pages,
            submitted_ns: 1,
            completed_ns: 2,
            direction: IoDirection::Read,
        };
        runs.pass(done, &mut finished);
        finished
            .iter()
            .map(|done| (done.start, done.pages))
            .collect()
    }

    #[test]
    fn a_run_waits_for_its_last_part_whichever_that_is() {
        let mut runs = WholeRuns::default();
        runs.expect(FileId(3), 100, 40);
        assert_eq!(passed(&mut runs, 120, 20), []);
        assert_eq!(passed(&mut runs, 100, 20), [(100, 40)]);
        assert_eq!(passed(&mut runs, 100, 20), [(100, 20)]);
    }

    #[test]
    fn what_lies_before_and_behind_a_run_passes_at_once() {
        let mut runs = WholeRuns::default();
        runs.expect(FileId(3), 10, 10);
        assert_eq!(passed(&mut runs, 5, 10), [(5, 5)]);
        assert_eq!(passed(&mut runs, 15, 10), [(10, 10), (20, 5)]);
    }
}
