//! What a sweep shows: for each place (a workload on a disk with some memory) who was how fast,
//! beside the best that the kernels know and the ceiling.
//!
//! Two yardsticks. The *best kernel algorithm* is the fastest of all that a kernel shipped or was
//! offered, each as it comes; it is a different one from place to place, and no machine could have it.
//! The *best size* is the running kernel's algorithm with the size that is best here, out of those
//! the plan names: what trying them all gets, setting `read_ahead_kb`.

use crate::plan::{CEILING, Cell, GUEST_KERNEL, KERNEL, PATCHED};
use crate::sweep::CellOutcome;

/// Policies that are held against the yardsticks: this name, with or without keys.
pub const CONTENDER: &str = "adaptive";
/// Beginnings of the names of kernel algorithms.
const KERNEL_FAMILIES: [&str; 4] = ["linux-", "ara-", "advise-", "thrash-safe-"];
/// Up to so much of another's time, in thousandths, counts as the same: a contender must not take
/// more.
pub const TIME_PERMILLE_MAX: u64 = 1020;

/// All runs of one workload on one disk with one memory size. Never empty.
#[derive(Clone, Copy, Debug)]
pub struct CellGroup<'a>(&'a [CellOutcome]);

impl<'a> CellGroup<'a> {
    /// The runs, one for each policy.
    #[must_use]
    pub fn runs(&self) -> &'a [CellOutcome] {
        self.0
    }

    /// The place; the policy in it is that of the first run.
    #[must_use]
    pub fn cell(&self) -> &'a Cell {
        &self.0[0].cell
    }

    fn fastest(&self, fits: impl Fn(&str) -> bool) -> Option<&'a CellOutcome> {
        let fitting = self.0.iter().filter(|run| fits(&run.cell.policy));
        fitting.min_by_key(|run| run.report.elapsed_ns)
    }

    /// The run of one policy.
    #[must_use]
    pub fn run(&self, policy: &str) -> Option<&'a CellOutcome> {
        self.0.iter().find(|run| run.cell.policy == policy)
    }

    /// The running kernel's algorithm as it comes; what guests ran has theirs instead.
    #[must_use]
    pub fn kernel(&self) -> Option<&'a CellOutcome> {
        self.run(self.kernel_name())
    }

    fn kernel_name(&self) -> &'static str {
        if self.run(KERNEL).is_some() {
            KERNEL
        } else {
            GUEST_KERNEL
        }
    }

    /// The ceiling's run.
    #[must_use]
    pub fn ceiling(&self) -> Option<&'a CellOutcome> {
        self.run(CEILING)
    }

    /// The fastest kernel algorithm as it comes.
    #[must_use]
    pub fn best_kernel(&self) -> Option<&'a CellOutcome> {
        self.fastest(is_kernel_default)
    }

    /// The fastest size of the running kernel's algorithm, its own included.
    #[must_use]
    pub fn best_size(&self) -> Option<&'a CellOutcome> {
        let kernel = self.kernel_name();
        self.fastest(|policy| is_size_of(kernel, policy))
    }
}

/// Whether `policy` is an algorithm of a kernel, without keys.
#[must_use]
pub fn is_kernel_default(policy: &str) -> bool {
    let is_kernel = KERNEL_FAMILIES
        .iter()
        .any(|family| policy.starts_with(family));
    is_kernel && !policy.contains(':')
}

fn is_size_of(kernel: &str, policy: &str) -> bool {
    policy.strip_prefix(kernel).is_some_and(|rest| {
        let is_size_alone = rest.starts_with(":ra_kb=") && !rest.contains(',');
        rest.is_empty() || is_size_alone
    })
}

/// Whether `policy` is held against the yardsticks.
#[must_use]
pub fn is_contender(policy: &str) -> bool {
    policy == PATCHED || policy.split(':').next() == Some(CONTENDER)
}

/// The groups of a sweep, in its order.
#[must_use]
pub fn groups(outcomes: &[CellOutcome]) -> Vec<CellGroup<'_>> {
    let place = |run: &CellOutcome| {
        let cell = &run.cell;
        (
            cell.plan.clone(),
            cell.disk.clone(),
            cell.memory_mib,
            cell.workload.clone(),
        )
    };
    let same = |one: &CellOutcome, other: &CellOutcome| place(one) == place(other);
    outcomes.chunk_by(same).map(CellGroup).collect()
}

/// `ns` for each 1000 of `of_ns`, rounded; `None` in no time.
#[must_use]
pub fn permille(ns: u64, of_ns: u64) -> Option<u64> {
    let of = u128::from(of_ns);
    let rounded = (u128::from(ns) * 1000 + of / 2).checked_div(of)?;
    u64::try_from(rounded).ok()
}

/// How one run stands. In thousandths; `None` where there is nothing to compare with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Standing {
    /// Its speed, of the ceiling's.
    pub of_ceiling_permille: Option<u64>,
    /// Its time, of the best kernel algorithm's.
    pub of_best_kernel_permille: Option<u64>,
    /// Its time, of the best size's.
    pub of_best_size_permille: Option<u64>,
}

impl Standing {
    /// How `run` stands in its group.
    #[must_use]
    pub fn new(run: &CellOutcome, group: &CellGroup<'_>) -> Self {
        let elapsed_ns = run.report.elapsed_ns;
        let against = |other: Option<&CellOutcome>| permille(elapsed_ns, other?.report.elapsed_ns);
        let of_ceiling = |ceiling: &CellOutcome| permille(ceiling.report.elapsed_ns, elapsed_ns);
        Self {
            of_ceiling_permille: group.ceiling().and_then(of_ceiling),
            of_best_kernel_permille: against(group.best_kernel()),
            of_best_size_permille: against(group.best_size()),
        }
    }
}

/// A contender in one group.
#[derive(Clone, Copy, Debug)]
pub struct Match<'a> {
    /// Where.
    pub group: CellGroup<'a>,
    /// The contender's run.
    pub run: &'a CellOutcome,
    /// Its best opponent's.
    pub best_kernel: &'a CellOutcome,
}

impl Match<'_> {
    /// Whether the best kernel algorithm took more time than it may beside the contender.
    #[must_use]
    pub fn is_won(&self) -> bool {
        is_beyond(self.best_kernel, self.run)
    }

    /// Whether the contender took more time than it may beside the best kernel algorithm.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        is_beyond(self.run, self.best_kernel)
    }
}

/// Whether `run` takes longer than `other` by more than counts as the same.
fn is_beyond(run: &CellOutcome, other: &CellOutcome) -> bool {
    let limit = u128::from(other.report.elapsed_ns) * u128::from(TIME_PERMILLE_MAX);
    u128::from(run.report.elapsed_ns) * 1000 > limit
}

/// A contender against the best kernel algorithm of every group.
#[derive(Clone, Debug)]
pub struct Contest<'a> {
    /// The contender.
    pub policy: &'a str,
    /// CellGroup by group.
    pub matches: Vec<Match<'a>>,
}

impl Contest<'_> {
    /// Groups in which the contender is faster than the best kernel algorithm, by more than counts
    /// as the same.
    #[must_use]
    pub fn won(&self) -> usize {
        self.matches.iter().filter(|it| it.is_won()).count()
    }

    /// Groups in which it is slower by more than that.
    #[must_use]
    pub fn lost(&self) -> usize {
        self.matches.iter().filter(|it| it.is_lost()).count()
    }

    /// Its time, of the best kernel algorithm's: the geometric mean over all groups. For people:
    /// nothing is decided by it.
    #[must_use]
    pub fn mean_ratio(&self) -> Option<f64> {
        let logarithms = self.matches.iter().filter_map(|it| {
            let (ours, best) = (it.run.report.elapsed_ns, it.best_kernel.report.elapsed_ns);
            (ours > 0 && best > 0).then(|| (ours as f64 / best as f64).ln())
        });
        let (count, sum) =
            logarithms.fold((0_u32, 0.0), |(count, sum), one| (count + 1, sum + one));
        (count > 0).then(|| (sum / f64::from(count)).exp())
    }
}

/// The contests of everybody who takes part, in the order of the tables.
#[must_use]
pub fn contests<'a>(groups: &[CellGroup<'a>]) -> Vec<Contest<'a>> {
    let mut contests: Vec<Contest<'a>> = Vec::new();
    for group in groups {
        let Some(best_kernel) = group.best_kernel() else {
            continue;
        };
        for run in group.0.iter().filter(|run| is_contender(&run.cell.policy)) {
            let policy = run.cell.policy.as_str();
            let it = Match {
                group: *group,
                run,
                best_kernel,
            };
            match contests.iter_mut().find(|known| known.policy == policy) {
                Some(known) => known.matches.push(it),
                None => contests.push(Contest {
                    policy,
                    matches: vec![it],
                }),
            }
        }
    }
    contests
}

#[cfg(test)]
mod tests {
    use super::*;
    use ahead_sim::report::WorldReport;

    fn run(workload: &str, policy: &str, elapsed_ns: u64) -> CellOutcome {
        CellOutcome {
            cell: Cell {
                plan: "p".to_owned(),
                disk: "hdd".to_owned(),
                memory_mib: 1,
                workload: workload.to_owned(),
                policy: policy.to_owned(),
            },
            report: WorldReport {
                elapsed_ns,
                ..WorldReport::default()
            },
        }
    }

    fn two_groups() -> Vec<CellOutcome> {
        vec![
            run("a", "none", 400),
            run("a", "linux-6.18", 200),
            run("a", "ara-june", 100),
            run("a", "ara-june:ra_kb=4", 1),
            run("a", "linux-6.18:ra_kb=512", 150),
            run("a", "linux-6.12:ra_kb=512", 1),
            run("a", "adaptive", 102),
            run("a", "oracle", 51),
            run("b", "linux-6.18", 1000),
            run("b", "adaptive", 500),
            run("b", "oracle", 500),
        ]
    }

    #[test]
    fn the_yardsticks_are_kernels_as_they_come_and_sizes_of_the_running_one() {
        let outcomes = two_groups();
        let groups = groups(&outcomes);
        assert_eq!(groups.len(), 2);
        let name = |run: Option<&CellOutcome>| run.map(|run| run.cell.policy.clone());
        assert_eq!(name(groups[0].best_kernel()).as_deref(), Some("ara-june"));
        let size = Some("linux-6.18:ra_kb=512");
        assert_eq!(name(groups[0].best_size()).as_deref(), size);
        let standing = Standing::new(&outcomes[6], &groups[0]);
        assert_eq!(standing.of_ceiling_permille, Some(500));
        assert_eq!(standing.of_best_kernel_permille, Some(1020));
        assert_eq!(standing.of_best_size_permille, Some(680));
    }

    #[test]
    fn where_guests_ran_it_is_their_kernel_and_its_sizes() {
        let outcomes = [
            run("a", "linux-6.12", 200),
            run("a", "linux-6.12:ra_kb=512", 150),
            run("a", "adaptive", 102),
        ];
        let groups = groups(&outcomes);
        let name = |run: Option<&CellOutcome>| run.map(|run| run.cell.policy.clone());
        assert_eq!(name(groups[0].kernel()).as_deref(), Some("linux-6.12"));
        let size = Some("linux-6.12:ra_kb=512");
        assert_eq!(name(groups[0].best_size()).as_deref(), size);
    }

    #[test]
    fn two_in_a_hundred_more_is_no_loss_and_a_bit_more_is() {
        let mut outcomes = two_groups();
        let counts = |outcomes: &[CellOutcome]| {
            let groups = groups(outcomes);
            let contests = contests(&groups);
            (contests[0].won(), contests[0].lost())
        };
        assert_eq!(counts(&outcomes), (1, 0));
        outcomes[6].report.elapsed_ns = 103;
        assert_eq!(counts(&outcomes), (1, 1));
    }

    #[test]
    fn a_run_that_took_no_time_is_compared_with_nothing() {
        let outcomes = [run("a", "linux-6.18", 0), run("a", "adaptive", 0)];
        let groups = groups(&outcomes);
        assert_eq!(Standing::new(&outcomes[1], &groups[0]), Standing::default());
        assert_eq!(contests(&groups)[0].mean_ratio(), None);
    }
}
