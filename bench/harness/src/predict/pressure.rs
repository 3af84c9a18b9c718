//! Little memory under every rule of reclaim that the simulator has: what guests measured, and how far each rule is
//! from it.
//!
//! Until the limit of a memory control group was modelled, the simulator made just as much space as was needed, in
//! two lists, and knew nothing of what the group's processes have of their own. These rules are still there, as plans
//! have them; here they stand beside the one that guests' kernels follow.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ahead_disk_model::DiskModel;
use ahead_study::circumstances::ReclaimChoice;
use ahead_study::parallel;
use ahead_study::table;
use ahead_workload::Scenario;

use super::cells::{PredictError, PredictedCell};
use super::page::per_cent;
use super::simulated;
use super::{Errors, guests};
use crate::arm::Arm;
use crate::results::Results;

/// An error that is worth a line.
const NEAR: f64 = 0.02;

/// What guests measured under limits of memory, beside every rule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReclaimPredictions {
    /// The rules.
    pub rules: Vec<ReclaimChoice>,
    /// Cell by cell what each rule says, in the order of the rules.
    pub cells: Vec<Vec<PredictedCell>>,
}

/// Simulates every cell of `results` that has a limit of memory, once under each rule, and adds them to `so_far`.
///
/// # Errors
/// [`PredictError`].
pub fn compare_reclaim(
    model: &DiskModel,
    disk_bytes: u64,
    results: &Results,
    so_far: &mut ReclaimPredictions,
) -> Result<(), PredictError> {
    let limited = |scenario: &&Scenario| scenario.memory_bytes_max().is_some();
    let scenarios = results.scenarios.iter().filter(limited);
    let places: Vec<(&Scenario, &Arm)> = scenarios
        .flat_map(|scenario| results.arms.iter().map(move |arm| (scenario, arm)))
        .collect();
    let rules = &so_far.rules;
    let cells = parallel::map(&places, |(scenario, arm)| {
        let cells = rules.iter();
        cells
            .map(|rule| cell(model, disk_bytes, results, scenario, arm, *rule))
            .collect::<Result<Vec<_>, _>>()
    });
    for cell in cells {
        so_far.cells.push(cell?);
    }
    Ok(())
}

fn cell(
    model: &DiskModel,
    disk_bytes: u64,
    results: &Results,
    scenario: &Scenario,
    arm: &Arm,
    rule: ReclaimChoice,
) -> Result<PredictedCell, PredictError> {
    let mut twin = simulated::of_guest(model, disk_bytes, results);
    twin.keeps_log = false;
    twin.reclaim = rule;
    let (cell, _) = guests::cell(&twin, results, scenario, arm)?;
    Ok(cell)
}

impl ReclaimPredictions {
    /// The errors of one rule, by its place among the rules, in the cells that are `wanted`.
    #[must_use]
    pub fn errors(&self, rule: usize, wanted: impl Fn(&PredictedCell) -> bool) -> Errors {
        let cells = self.cells.iter().filter_map(|cell| cell.get(rule));
        let cells: Vec<PredictedCell> = cells.filter(|cell| wanted(cell)).cloned().collect();
        Errors::of(&cells, |_| true)
    }

    /// Every cell, and what each rule is off by, by memory and by who reads ahead.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::from(
            "Under a limit of memory: guests (Linux 6.12) and the simulator, rule by rule\n",
        );
        let _ = writeln!(text, "{}", self.cell_table());
        let _ = writeln!(text, "{}", self.error_table());
        text
    }

    fn cell_table(&self) -> table::Table {
        let mut titles = vec!["disk", "pattern", "arm", "guest MB/s"];
        for rule in &self.rules {
            titles.extend([rule.name(), "error %"]);
        }
        let mut table = table::markdown(&titles, 3..titles.len());
        for cell in &self.cells {
            let Some(first) = cell.first() else { continue };
            let mut row = vec![
                first.disk.clone(),
                first.scenario.to_string(),
                first.arm.to_string(),
                format!("{:.1}", first.measured_mb_s().value),
            ];
            for one in cell {
                row.push(format!("{:.1}", one.simulated_mb_s()));
                row.push(format!("{:+.2}", one.error() * 100.0));
            }
            table.add_row(row);
        }
        table
    }

    fn error_table(&self) -> table::Table {
        let titles = [
            "rule",
            "memory MiB",
            "arms",
            "cells",
            "median error",
            "largest",
            "over 2 %",
        ];
        let mut table = table::markdown(&titles, 3..titles.len());
        let firsts = self.cells.iter().filter_map(|cell| cell.first());
        let memories: BTreeSet<u64> = firsts
            .filter_map(|cell| cell.scenario.memory_bytes_max())
            .collect();
        for (number, rule) in self.rules.iter().enumerate() {
            for memory in memories.iter().copied().map(Some).chain([None]) {
                for is_library in [false, true] {
                    let wanted = |cell: &PredictedCell| {
                        matches!(cell.arm, Arm::Run { .. }) == is_library
                            && (memory.is_none() || cell.scenario.memory_bytes_max() == memory)
                    };
                    let errors = self.errors(number, wanted);
                    if errors.cells == 0 {
                        continue;
                    }
                    let far = |cell: &PredictedCell| wanted(cell) && cell.error().abs() > NEAR;
                    table.add_row([
                        rule.name().to_owned(),
                        memory.map_or_else(|| "all".to_owned(), |bytes| (bytes >> 20).to_string()),
                        if is_library { "run" } else { "stock" }.to_owned(),
                        errors.cells.to_string(),
                        per_cent(errors.median),
                        per_cent(errors.worst),
                        self.errors(number, far).cells.to_string(),
                    ]);
                }
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::super::Simulated;
    use super::*;
    use crate::results::tests::record;

    fn cell(arm: &str, simulated_mb_s: u64) -> PredictedCell {
        PredictedCell {
            disk: "hdd".to_owned(),
            scenario: "sep64@64m".parse().unwrap(),
            arm: arm.parse().unwrap(),
            measured: vec![record("sep64@64m", arm, 0, 100)],
            simulated: Simulated {
                useful_bytes: simulated_mb_s * 1_000_000,
                elapsed_ns: 1_000_000_000,
                ..Simulated::default()
            },
        }
    }

    #[test]
    fn every_rule_has_its_own_errors_and_they_are_told_apart_by_arm() {
        let predictions = ReclaimPredictions {
            rules: vec![ReclaimChoice::TwoLists, ReclaimChoice::Group],
            cells: vec![
                vec![cell("stock:128", 150), cell("stock:128", 101)],
                vec![cell("run", 97), cell("run", 100)],
            ],
        };
        let text = predictions.text();
        for part in [
            "| hdd  | sep64@64m | stock:128 |      100.0 |     150.0 |  +50.00 | 101.0 |   +1.00 |",
            "| two-lists | 64         | stock |     1 |       50.0 % |  50.0 % |        1 |",
            "| group     | all        | run   |     1 |       0.00 % |  0.00 % |        0 |",
        ] {
            assert!(text.contains(part), "'{part}' in: {text}");
        }
    }
}
