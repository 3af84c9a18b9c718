//! Leap: the step that the majority of recent accesses took.
//!
//! The last [`HISTORY`] steps between accesses are kept. The trend is a step that more than half
//! of the newest `w` of them took, looked for in ever longer pasts (`w` from [`SHORTEST`], doubling)
//! with the Boyer–Moore vote; so a few foreign accesses in between do not hide it. The window
//! follows its own hits: with `h` prefetched pages hit since the last prefetch it is the power of
//! two above `h`, at most [`PAGES_MAX`]; without hits it is one page if the access follows the
//! trend, else nothing; and it never falls below half of the one before. Pages are fetched along
//! the trend; without one, around the access along the last known trend.
//!
//! The original prefetches swapped pages and detects trends for each process; here the state is
//! the open file's.
//!
//! Source: H. Al Maruf and M. Chowdhury, "Effectively prefetching remote memory with Leap",
//! USENIX ATC 2020.

use crate::kernel::{Class, Host, Read, ReadAhead};

use super::{ask, faults_are_reads, is_absent, start};
use crate::replica::Replica;

/// The name of it.
pub const REPLICAS: &[Replica<MajorityTrend>] = &[Replica::new(
    "leap",
    2020,
    "majority trend, ATC 2020",
    &[],
    |_| MajorityTrend::default(),
)];

/// Steps remembered.
pub const HISTORY: usize = 32;
/// Steps of the first vote.
pub const SHORTEST: usize = 8;
/// Largest window.
pub const PAGES_MAX: u64 = 8;

/// One open file.
#[derive(Clone, Copy, Debug)]
pub struct MajorityTrend {
    steps: [i64; HISTORY],
    /// Where the next step goes; the newest is just before.
    next: usize,
    last_page: Option<u64>,
    trend: i64,
    window: u64,
    hits: u64,
}

impl Default for MajorityTrend {
    fn default() -> Self {
        Self {
            steps: [0; HISTORY],
            next: 0,
            last_page: None,
            trend: 0,
            window: 0,
            hits: 0,
        }
    }
}

impl MajorityTrend {
    /// The `age`-th newest step, from 0.
    fn step(&self, age: usize) -> i64 {
        self.steps[(self.next + HISTORY - 1 - age) % HISTORY]
    }

    /// The step that the majority took, in the shortest past that has one.
    #[must_use]
    pub fn majority(&self) -> Option<i64> {
        let mut length = SHORTEST;
        while length <= HISTORY {
            let (mut candidate, mut votes) = (0, 0_usize);
            for age in 0..length {
                let step = self.step(age);
                if votes == 0 {
                    candidate = step;
                }
                votes = if step == candidate {
                    votes + 1
                } else {
                    votes - 1
                };
            }
            // The vote names the only possible winner; counting says whether it won.
            let count = (0..length).filter(|&age| self.step(age) == candidate);
            if candidate != 0 && count.count() > length / 2 {
                return Some(candidate);
            }
            length *= 2;
        }
        None
    }

    fn resize(&mut self, follows_trend: bool) {
        let wanted = match self.hits {
            0 => u64::from(follows_trend),
            hits => (hits + 1).next_power_of_two().min(PAGES_MAX),
        };
        self.window = wanted.max(self.window / 2);
        self.hits = 0;
    }

    fn fetch_along<H: Host>(&self, host: &mut H, page: u64, step: i64) {
        let mut at = page;
        for _ in 0..self.window {
            let Some(next) = at.checked_add_signed(step) else {
                return;
            };
            at = next;
            if is_absent(host, at) {
                start(host, at, 1, Class::Context);
                host.set_mark(at);
            }
        }
    }
}

impl ReadAhead for MajorityTrend {
    fn on_page<H: Host>(&mut self, host: &mut H, read: &Read, page: u64) {
        let step = self
            .last_page
            .and_then(|last| i64::try_from(i128::from(page) - i128::from(last)).ok())
            .unwrap_or(0);
        self.last_page = Some(page);
        self.steps[self.next] = step;
        self.next = (self.next + 1) % HISTORY;
        if host.is_marked(page) {
            host.clear_mark(page);
            self.hits += 1;
        }
        if !is_absent(host, page) {
            return;
        }
        ask(host, read, page, 0);
        self.resize(step != 0 && step == self.trend);
        if let Some(trend) = self.majority() {
            self.trend = trend;
        }
        if self.trend != 0 {
            self.fetch_along(host, page, self.trend);
        }
    }

    faults_are_reads!();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(steps: &[i64]) -> MajorityTrend {
        let mut leap = MajorityTrend::default();
        for &step in steps {
            leap.steps[leap.next] = step;
            leap.next = (leap.next + 1) % HISTORY;
        }
        leap
    }

    #[test]
    fn three_foreign_steps_in_eight_do_not_hide_the_trend() {
        assert_eq!(after(&[5, 5, 99, 5, -7, 5, 5, 12]).majority(), Some(5));
    }

    #[test]
    fn a_trend_of_long_ago_is_found_in_the_longer_past() {
        let mut steps = [3; 32];
        for (place, step) in steps.iter_mut().rev().take(8).enumerate() {
            *step = [11, -4, 90, 6, 23, -1, 8, 41][place];
        }
        assert_eq!(after(&steps).majority(), Some(3));
    }

    #[test]
    fn halves_are_no_majority() {
        let steps: Vec<i64> = (0..32).map(|at| if at % 2 == 0 { 1 } else { 2 }).collect();
        assert_eq!(after(&steps).majority(), None);
    }
}
