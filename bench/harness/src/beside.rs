//! Two results beside each other: the same disk under two kernels, in real and in virtual time, or
//! on two machines.
//!
//! Compared is what both have, by pattern and arm. Only differences of conditions show: what varies
//! from repeat to repeat is inside the spread that the tables print.

use ahead_study::table::{self, Table};

use crate::results::Results;
use crate::statistics::{Median, median};
use crate::summary::{SummaryRow, summarize};
use crate::table::{arm_name, with_spread};

/// Two results cannot be compared.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BesideError {
    /// They are of two disks.
    #[error("these are results of '{0}', beside them of '{1}': compare two of one disk")]
    OtherDisk(String, String),
    /// They have no pattern in the same arm.
    #[error("the results have no pattern in the same arm")]
    NothingInCommon,
}

/// One pattern in one arm, in both.
struct Pair {
    here: SummaryRow,
    beside: SummaryRow,
}

impl Pair {
    /// Throughput here ÷ beside.
    fn ratio(&self) -> f64 {
        self.here.megabytes_per_second.value / self.beside.megabytes_per_second.value
    }

    fn difference(&self) -> f64 {
        (self.ratio() - 1.0).abs()
    }
}

/// `results` beside `others`: throughput of each pattern and arm that both have, its ratio, and how
/// far they are apart altogether.
///
/// # Errors
/// [`BesideError`].
pub fn render_beside(results: &Results, others: &Results) -> Result<String, BesideError> {
    let (here, beside) = (&results.disk.name, &others.disk.name);
    if here != beside {
        return Err(BesideError::OtherDisk(here.clone(), beside.clone()));
    }
    let pairs = pairs(results, others);
    let differences: Vec<f64> = pairs.iter().map(Pair::difference).collect();
    let worst = pairs
        .iter()
        .max_by(|a, b| a.difference().total_cmp(&b.difference()));
    let (Some(Median { value: middle, .. }), Some(worst)) = (median(&differences), worst) else {
        return Err(BesideError::NothingInCommon);
    };
    let within = differences.iter().filter(|part| **part <= 0.05).count();
    Ok(format!(
        "{here}: Linux {} beside Linux {}\n{}\n{} cells: {within} within 5 %, the middle {:.1} %, the \
         largest {:.1} % ({} {})\n",
        results.machine.kernel,
        others.machine.kernel,
        table_of(&pairs),
        pairs.len(),
        middle * 100.0,
        worst.difference() * 100.0,
        worst.here.scenario,
        arm_name(&worst.here),
    ))
}

fn pairs(results: &Results, others: &Results) -> Vec<Pair> {
    let beside = summarize(others).rows;
    let here = summarize(results).rows.into_iter();
    here.filter_map(|here| {
        let same = |row: &&SummaryRow| row.scenario == here.scenario && row.arm == here.arm;
        let beside = beside.iter().find(same)?.clone();
        (beside.megabytes_per_second.value > 0.0).then_some(Pair { here, beside })
    })
    .collect()
}

fn table_of(pairs: &[Pair]) -> Table {
    let titles = ["pattern", "arm", "MB/s", "MB/s\nbeside", "ratio"];
    let mut table = table::with_titles(&titles, 2..5);
    for pair in pairs {
        table.add_row([
            pair.here.scenario.to_string(),
            arm_name(&pair.here),
            with_spread(pair.here.megabytes_per_second, 1),
            with_spread(pair.beside.megabytes_per_second, 1),
            format!("{:.3}", pair.ratio()),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::{record, results};

    fn two() -> (Results, Results) {
        let here = vec![
            record("seq4k", "run", 0, 90),
            record("seq4k", "ceiling", 0, 100),
            record("one8", "run", 0, 60),
        ];
        let beside = vec![
            record("seq4k", "run", 0, 100),
            record("seq4k", "ceiling", 0, 99),
            record("sep8", "run", 0, 60),
        ];
        (results(here, "run,ceiling"), results(beside, "run,ceiling"))
    }

    #[test]
    fn what_both_have_is_compared_and_the_worst_is_named() {
        let (here, beside) = two();
        let text = render_beside(&here, &beside).unwrap();
        for part in [
            "0.900",
            "1.010",
            "2 cells: 1 within 5 %",
            "10.0 % (seq4k run)",
        ] {
            assert!(text.contains(part), "{part} missing in\n{text}");
        }
        assert!(!text.contains("one8") && !text.contains("sep8"), "{text}");
    }

    #[test]
    fn two_disks_and_results_without_a_common_cell_are_refused() {
        let (here, mut beside) = two();
        beside
            .scenarios
            .retain(|scenario| scenario.to_string() == "sep8");
        let nothing = render_beside(&here, &beside).unwrap_err();
        assert_eq!(nothing, BesideError::NothingInCommon);
        beside.disk.name = "ssd".into();
        let other = render_beside(&here, &beside).unwrap_err();
        assert_eq!(other, BesideError::OtherDisk("hdd".into(), "ssd".into()));
    }
}
