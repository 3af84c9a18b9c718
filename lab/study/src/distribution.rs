//! How a contender's times are distributed over many places, beside others' in the same places.
//!
//! A mean hides who loses. Held against each other are the running kernel's algorithm as it comes, the
//! best that any kernel algorithm or static size does in the place (known only with hindsight), and the
//! ceiling.

use crate::plan::KERNEL;
use crate::results::{CellGroup, is_contender, permille};
use crate::sweep::CellOutcome;

/// What a time is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yardstick {
    /// The running kernel's algorithm as it comes.
    Kernel,
    /// The fastest kernel algorithm or static size of the place.
    Hindsight,
    /// Who knows the future.
    Ceiling,
}

impl Yardstick {
    /// All, in the order of the tables.
    pub const ALL: [Self; 3] = [Self::Kernel, Self::Hindsight, Self::Ceiling];

    /// What tables of `groups` call it.
    #[must_use]
    pub fn name<'a>(self, groups: &[CellGroup<'a>]) -> &'a str {
        let kernel = groups.iter().find_map(CellGroup::kernel);
        match self {
            Self::Kernel => kernel.map_or(KERNEL, |run| &run.cell.policy),
            Self::Hindsight => "best with hindsight",
            Self::Ceiling => "ceiling",
        }
    }

    /// Its run in a place.
    #[must_use]
    pub fn run<'a>(self, group: &CellGroup<'a>) -> Option<&'a CellOutcome> {
        match self {
            Self::Kernel => group.kernel(),
            Self::Hindsight => {
                let both = [group.best_kernel(), group.best_size()];
                let both = both.into_iter().flatten();
                both.min_by_key(|run| run.report.elapsed_ns)
            }
            Self::Ceiling => group.ceiling(),
        }
    }
}

/// A policy in one place.
#[derive(Clone, Copy, Debug)]
pub struct Held<'a> {
    /// Its run.
    pub run: &'a CellOutcome,
    /// Its time, of the yardstick's, in thousandths.
    pub permille: u64,
}

/// Times of one policy relative to a yardstick, shortest first.
#[derive(Clone, Debug)]
pub struct Distribution<'a> {
    held: Vec<Held<'a>>,
}

impl<'a> Distribution<'a> {
    /// Of the contender, over all `groups` in which it and the yardstick took time.
    #[must_use]
    pub fn of(groups: &[CellGroup<'a>], yardstick: Yardstick) -> Self {
        Self::of_whom(groups, yardstick, is_contender)
    }

    /// Of `policy`, as [`Self::of`].
    #[must_use]
    pub fn of_policy(groups: &[CellGroup<'a>], yardstick: Yardstick, policy: &str) -> Self {
        Self::of_whom(groups, yardstick, |name| name == policy)
    }

    fn of_whom(
        groups: &[CellGroup<'a>],
        yardstick: Yardstick,
        is_meant: impl Fn(&str) -> bool,
    ) -> Self {
        let in_group = |group: &CellGroup<'a>| {
            let runs: &'a [CellOutcome] = group.runs();
            let run = runs.iter().find(|run| is_meant(&run.cell.policy))?;
            let of_ns = yardstick.run(group)?.report.elapsed_ns;
            let permille = permille(run.report.elapsed_ns, of_ns)?;
            Some(Held { run, permille })
        };
        let mut held: Vec<_> = groups.iter().filter_map(in_group).collect();
        held.sort_by_key(|one| one.permille);
        Self { held }
    }

    /// How many places.
    #[must_use]
    pub fn places(&self) -> usize {
        self.held.len()
    }

    /// The geometric mean; `None` without places. For people: nothing is decided by it.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let count = u32::try_from(self.held.len()).unwrap_or(u32::MAX);
        let logarithm = |one: &Held<'_>| {
            let permille = u32::try_from(one.permille.max(1)).unwrap_or(u32::MAX);
            (f64::from(permille) / 1000.0).ln()
        };
        let sum: f64 = self.held.iter().map(logarithm).sum();
        (count > 0).then(|| (sum / f64::from(count)).exp())
    }

    /// What so many of a thousand places do not exceed, in thousandths of the yardstick's time: the time of a
    /// place, at the nearest rank. A rank between two places is the later one's, whose time is longer: the
    /// earlier one's would be exceeded by more places than it says.
    #[must_use]
    pub fn quantile(&self, permille_of_places: usize) -> Option<u64> {
        let rank = (self.held.len() * permille_of_places.min(1000)).div_ceil(1000);
        let place = self.held.get(rank.saturating_sub(1))?;
        Some(place.permille)
    }

    /// Places in which more than `limit_permille` of the yardstick's time was taken.
    #[must_use]
    pub fn beyond(&self, limit_permille: u64) -> usize {
        let within = self
            .held
            .partition_point(|one| one.permille <= limit_permille);
        self.held.len() - within
    }

    /// The places with the longest times, the worst first.
    pub fn worst(&self) -> impl Iterator<Item = Held<'a>> {
        self.held.iter().rev().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Cell;
    use crate::results::groups;
    use ahead_sim::report::WorldReport;

    fn places() -> Vec<CellOutcome> {
        let run = |workload: u64, policy: &str, elapsed_ns| CellOutcome {
            cell: Cell {
                plan: "p".to_owned(),
                disk: "hdd".to_owned(),
                memory_mib: 1,
                workload: workload.to_string(),
                policy: policy.to_owned(),
            },
            report: WorldReport {
                elapsed_ns,
                ..WorldReport::default()
            },
        };
        (0..10)
            .flat_map(|place| {
                [
                    run(place, KERNEL, 1000),
                    run(place, "linux-6.18:ra_kb=512", 800),
                    run(place, "linux-4.19", 900),
                    run(place, "adaptive", 500 + 100 * place),
                    run(place, "oracle", 400),
                ]
            })
            .collect()
    }

    #[test]
    fn the_worst_come_first_and_everybody_has_a_yardstick() {
        let outcomes = places();
        let groups = groups(&outcomes);
        let kernel = Distribution::of(&groups, Yardstick::Kernel);
        assert_eq!((kernel.places(), kernel.beyond(1020)), (10, 4));
        assert_eq!(
            kernel.worst().next().map(|worst| worst.permille),
            Some(1400)
        );
        assert_eq!(
            (kernel.quantile(0), kernel.quantile(1000)),
            (Some(500), Some(1400))
        );
        let size = "linux-6.18:ra_kb=512";
        let size = Distribution::of_policy(&groups, Yardstick::Kernel, size);
        assert_eq!((size.places(), size.quantile(500)), (10, Some(800)));
        let hindsight = Distribution::of(&groups, Yardstick::Hindsight);
        assert_eq!(hindsight.quantile(0), Some(625));
        assert_eq!(
            Distribution::of(&groups, Yardstick::Ceiling).beyond(999),
            10
        );
    }

    /// Ten places from 500 to 1400: what 99 of 100 do not exceed is the longest, not that before it.
    #[test]
    fn a_percentile_is_a_time_that_so_many_places_do_not_exceed() {
        let outcomes = places();
        let groups = groups(&outcomes);
        let held = Distribution::of(&groups, Yardstick::Kernel);
        for (permille, expected) in [(10, 500), (500, 900), (900, 1300), (901, 1400), (990, 1400)] {
            assert_eq!(held.quantile(permille), Some(expected), "{permille}");
            let within = held.places() - held.beyond(expected);
            assert!(within * 1000 >= permille * held.places(), "{permille}");
        }
        assert!(
            Distribution::of(&[], Yardstick::Kernel)
                .quantile(500)
                .is_none()
        );
    }

    #[test]
    fn the_mean_is_that_of_ratios() {
        let outcomes = places();
        let groups = groups(&outcomes);
        let mean = Distribution::of(&groups, Yardstick::Kernel).mean();
        assert!(
            mean.is_some_and(|mean| (0.89..0.92).contains(&mean)),
            "{mean:?}"
        );
        assert!(Distribution::of(&[], Yardstick::Kernel).mean().is_none());
    }
}
