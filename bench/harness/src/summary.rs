//! From single runs to what is shown: medians per pattern and arm, distance to the ceiling, means.
//!
//! Throughputs are compared within one repeat, where arms ran next to each other, and the median
//! of these ratios is taken: what made the whole machine slow for a minute then hits both sides.

use ahead_workload::{Preset, Scenario};
use serde::Serialize;

use crate::arm::Arm;
use crate::results::{Results, RunRecord, approximate};
use crate::statistics::{Median, geometric_mean, median};

/// One pattern in one arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PatternSummary {
    /// The pattern.
    pub scenario: Scenario,
    /// The arm.
    pub arm: Arm,
    /// The size that was best for this pattern; only of [`Arm::StaticBest`].
    pub best_kib: Option<u64>,
    /// Useful 10^6 bytes per second.
    pub megabytes_per_second: Median,
    /// Throughput ÷ that of the ceiling; `None` where no ceiling was run.
    pub of_ceiling: Option<Median>,
    /// Throughput ÷ that of `stock:128`; `None` where that was not run.
    pub of_stock: Option<Median>,
    /// Device bytes ÷ useful bytes.
    pub amplification: Median,
    /// Read latency that half of the reads stay below, in µs.
    pub p50_us: Median,
    /// The same of 99 %.
    pub p99_us: Median,
    /// The same of 99.9 %.
    pub p999_us: Median,
    /// CPU seconds of the reader.
    pub cpu_seconds: Median,
    /// Most MiB delivered and not taken.
    pub unread_mib_max: Median,
    /// MiB read more than once; `None` where the disk does not tell.
    pub reread_mib: Option<Median>,
}

/// Distance to the ceiling over all predictable patterns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// The arm.
    pub arm: Arm,
    /// The single size that is best over all patterns; only of [`Arm::StaticBest`] as one size.
    pub single_kib: Option<u64>,
    /// Geometric mean over all predictable patterns that were run.
    pub all: f64,
    /// The same without mapped patterns; `None` when nothing else was run.
    pub without_mapped: Option<f64>,
    /// Over how many patterns.
    pub patterns: usize,
}

/// Everything that a report shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// By pattern, then by arm, as asked for.
    pub rows: Vec<PatternSummary>,
    /// One per arm but the ceiling, and one for the best single static size. Empty without a
    /// ceiling.
    pub means: Vec<Mean>,
}

/// Sums up `results`.
#[must_use]
pub fn summarize(results: &Results) -> Summary {
    let mut rows = Vec::new();
    for scenario in &results.scenarios {
        for arm in &results.arms {
            let row = match arm {
                Arm::StaticBest => best_of_sweep(results, scenario),
                arm => row(results, scenario, arm),
            };
            rows.extend(row);
        }
    }
    let mut means = Vec::new();
    for arm in results.arms.iter().filter(|arm| **arm != Arm::Ceiling) {
        if *arm == Arm::StaticBest {
            means.extend(best_single(results));
        }
        means.extend(mean(rows.iter().filter(|row| row.arm == *arm), arm, None));
    }
    Summary { rows, means }
}

fn runs<'a>(
    results: &'a Results,
    scenario: &'a Scenario,
    arm: &'a Arm,
) -> impl Iterator<Item = &'a RunRecord> {
    results
        .runs
        .iter()
        .filter(move |run| run.scenario == *scenario && run.arm == *arm)
}

/// Throughput of `arm` against that of `other`, repeat by repeat.
fn paired(results: &Results, scenario: &Scenario, arm: &Arm, other: &Arm) -> Option<Median> {
    let mut ratios = Vec::new();
    for run in runs(results, scenario, arm) {
        let partner = runs(results, scenario, other).find(|other| other.repeat == run.repeat);
        if let Some(partner) = partner
            && partner.megabytes_per_second() > 0.0
        {
            ratios.push(run.megabytes_per_second() / partner.megabytes_per_second());
        }
    }
    median(&ratios)
}

fn row(results: &Results, scenario: &Scenario, arm: &Arm) -> Option<PatternSummary> {
    let of = |figure: &dyn Fn(&RunRecord) -> f64| {
        median(&runs(results, scenario, arm).map(figure).collect::<Vec<_>>())
    };
    let mib = |bytes: u64| approximate(bytes) / 1_048_576.0;
    let reread: Option<Vec<f64>> = runs(results, scenario, arm)
        .map(|run| run.reread_bytes.map(mib))
        .collect();
    Some(PatternSummary {
        scenario: scenario.clone(),
        arm: arm.clone(),
        best_kib: None,
        megabytes_per_second: of(&RunRecord::megabytes_per_second)?,
        of_ceiling: paired(results, scenario, arm, &Arm::Ceiling),
        of_stock: paired(results, scenario, arm, &Arm::Stock { kib: 128 }),
        amplification: of(&RunRecord::amplification)?,
        p50_us: of(&|run| approximate(run.latency.p50_ns) / 1000.0)?,
        p99_us: of(&|run| approximate(run.latency.p99_ns) / 1000.0)?,
        p999_us: of(&|run| approximate(run.latency.p999_ns) / 1000.0)?,
        cpu_seconds: of(&RunRecord::cpu_seconds)?,
        unread_mib_max: of(&|run| mib(run.unread_bytes_max))?,
        reread_mib: reread.as_deref().and_then(median),
    })
}

fn best_of_sweep(results: &Results, scenario: &Scenario) -> Option<PatternSummary> {
    let rows = results.sweep_kib.iter().filter_map(|kib| {
        let found = row(results, scenario, &Arm::Stock { kib: *kib })?;
        Some(PatternSummary {
            arm: Arm::StaticBest,
            best_kib: Some(*kib),
            ..found
        })
    });
    rows.max_by(|a, b| {
        a.megabytes_per_second
            .value
            .total_cmp(&b.megabytes_per_second.value)
    })
}

fn is_mapped(scenario: &Scenario) -> bool {
    scenario.preset().is_some_and(Preset::is_mapped)
}

fn mean<'a>(
    rows: impl Iterator<Item = &'a PatternSummary>,
    arm: &Arm,
    single_kib: Option<u64>,
) -> Option<Mean> {
    let counted: Vec<(bool, f64)> = rows
        .filter(|row| row.scenario.counts())
        .filter_map(|row| Some((is_mapped(&row.scenario), row.of_ceiling?.value)))
        .collect();
    let unmapped = counted
        .iter()
        .filter(|(mapped, _)| !mapped)
        .map(|(_, ratio)| *ratio);
    Some(Mean {
        arm: arm.clone(),
        single_kib,
        all: geometric_mean(counted.iter().map(|(_, ratio)| *ratio))?,
        without_mapped: geometric_mean(unmapped),
        patterns: counted.len(),
    })
}

fn best_single(results: &Results) -> Option<Mean> {
    let means = results.sweep_kib.iter().filter_map(|kib| {
        let arm = Arm::Stock { kib: *kib };
        let rows: Vec<PatternSummary> = results
            .scenarios
            .iter()
            .filter_map(|s| row(results, s, &arm))
            .collect();
        mean(rows.iter(), &Arm::StaticBest, Some(*kib))
    });
    means.max_by(|a, b| a.all.total_cmp(&b.all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::{record, results};

    #[test]
    fn distances_are_taken_within_a_repeat() {
        // In the second repeat the whole machine was half as fast.
        let runs = vec![
            record("seq4k", "run", 0, 90),
            record("seq4k", "ceiling", 0, 100),
            record("seq4k", "ceiling", 1, 50),
            record("seq4k", "run", 1, 45),
        ];
        let summary = summarize(&results(runs, "run,ceiling"));
        let run = &summary.rows[0];
        assert!((run.of_ceiling.unwrap().value - 0.9).abs() < 1e-9);
        assert!(run.of_ceiling.unwrap().spread < 1e-9);
        assert!(run.megabytes_per_second.spread > 0.5);
    }

    #[test]
    fn unpredictable_patterns_do_not_enter_the_mean() {
        let mut runs = Vec::new();
        for (pattern, speed) in [
            ("seq4k", 40),
            ("mseq", 90),
            ("rand4k", 1),
            ("sep64@128m", 1),
        ] {
            runs.push(record(pattern, "run", 0, speed));
            runs.push(record(pattern, "ceiling", 0, 100));
        }
        let means = summarize(&results(runs, "run,ceiling")).means;
        assert_eq!(means.len(), 1);
        assert_eq!(means[0].patterns, 2);
        assert!((means[0].all - 0.6).abs() < 1e-9);
        assert!((means[0].without_mapped.unwrap() - 0.4).abs() < 1e-9);
    }

    #[test]
    fn static_best_is_chosen_per_pattern_and_as_one_size() {
        let mut runs = Vec::new();
        for (pattern, small, large) in [("seq4k", 80, 60), ("one8", 20, 70)] {
            runs.push(record(pattern, "stock:32", 0, small));
            runs.push(record(pattern, "stock:512", 0, large));
            runs.push(record(pattern, "ceiling", 0, 100));
        }
        let summary = summarize(&results(runs, "static-best,ceiling"));
        let best: Vec<_> = summary.rows.iter().filter_map(|row| row.best_kib).collect();
        assert_eq!(best, [32, 512]);
        let single = summary
            .means
            .iter()
            .find(|mean| mean.single_kib.is_some())
            .unwrap();
        assert_eq!(single.single_kib, Some(512));
        assert!((single.all - 0.42f64.sqrt()).abs() < 1e-9);
    }
}
