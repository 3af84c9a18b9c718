//! What `ahead compare --generated` prints: distributions, and the places where most is lost.

use ahead_disk_model::DiskModel;
use ahead_study::distribution::{Distribution, Yardstick};
use ahead_study::plan::{CEILING, FLOOR};
use ahead_study::results::{CellGroup, is_contender};
use ahead_study::table::{self, Table};
use ahead_study::typed;

use crate::figures::ratio;

/// Places that are named.
const WORST: usize = 20;

/// The distributions over all places and disk by disk, those of the other policies, and the worst places.
pub(super) fn of_groups(groups: &[CellGroup<'_>]) -> String {
    let others = others(groups).map_or_else(String::new, |others| format!("{others}\n\n"));
    format!("{}\n\n{others}{}\n", distributions(groups), worst(groups))
}

fn empty_table(first_title: &str) -> Table {
    let titles = [
        first_title,
        "places",
        "mean",
        "p1",
        "p50",
        "p90",
        "p99",
        "worst",
        "> 1.02",
        "> 1.10",
    ];
    table::with_titles(&titles, 1..10)
}

fn distributions(groups: &[CellGroup<'_>]) -> Table {
    let mut rows = empty_table("time relative to");
    for yardstick in Yardstick::ALL {
        let name = yardstick.name(groups).to_owned();
        rows.add_row(row(name, &Distribution::of(groups, yardstick)));
    }
    let mut disks: Vec<(String, u64, Vec<CellGroup<'_>>)> = Vec::new();
    for group in groups {
        let (disk, memory_mib) = (disk_or_kind(&group.cell().disk), group.cell().memory_mib);
        let is_it = |known: &&mut (String, u64, _)| known.0 == disk && known.1 == memory_mib;
        match disks.iter_mut().find(is_it) {
            Some((.., here)) => here.push(*group),
            None => disks.push((disk, memory_mib, vec![*group])),
        }
    }
    for (disk, memory_mib, here) in disks {
        let name = format!(
            "{}, {disk}, {memory_mib} MiB",
            Yardstick::Kernel.name(groups)
        );
        rows.add_row(row(name, &Distribution::of(&here, Yardstick::Kernel)));
    }
    rows
}

/// A row for each of those that chance made would be a row for each place.
fn disk_or_kind(disk: &str) -> String {
    by_chance(disk).map_or_else(|| disk.to_owned(), |model| model.kind().to_owned())
}

/// The disk, if chance made it.
fn by_chance(disk: &str) -> Option<DiskModel> {
    let is_by_chance = DiskModel::is_typed_by_chance(disk);
    is_by_chance.then(|| DiskModel::typed(disk).ok())?
}

/// What anybody else's choice does in the same places, relative to the kernel as it comes: how much of a
/// difference is chance.
fn others(groups: &[CellGroup<'_>]) -> Option<Table> {
    let kernel = Yardstick::Kernel.name(groups);
    let mut policies: Vec<&str> = Vec::new();
    for run in groups.iter().flat_map(CellGroup::runs) {
        let policy = run.cell.policy.as_str();
        let is_bound = policy == FLOOR || policy == CEILING;
        let is_own = policy == kernel || is_contender(policy) || is_bound;
        if !is_own && !policies.contains(&policy) {
            policies.push(policy);
        }
    }
    let mut rows = empty_table(&format!("relative to {kernel}"));
    for policy in &policies {
        let held = Distribution::of_policy(groups, Yardstick::Kernel, policy);
        rows.add_row(row((*policy).to_owned(), &held));
    }
    (!policies.is_empty()).then_some(rows)
}

fn row(name: String, held: &Distribution<'_>) -> Vec<String> {
    let mean = held
        .mean()
        .map_or_else(|| "-".to_owned(), |mean| format!("{mean:.3}"));
    let quantiles = [10, 500, 900, 990, 1000].map(|permille| ratio(held.quantile(permille)));
    let beyond = [1020, 1100].map(|limit| held.beyond(limit).to_string());
    [name, held.places().to_string(), mean]
        .into_iter()
        .chain(quantiles)
        .chain(beyond)
        .collect()
}

/// Each can be run again by its name, and its description can stand in a plan.
fn worst(groups: &[CellGroup<'_>]) -> String {
    let mut text = format!(
        "Slowest beside {}, the worst first:\n",
        Yardstick::Kernel.name(groups)
    );
    for held in Distribution::of(groups, Yardstick::Kernel)
        .worst()
        .take(WORST)
    {
        let cell = &held.run.cell;
        text += &format!(
            "{} {} {} MiB {}\n",
            ratio(Some(held.permille)),
            cell.disk,
            cell.memory_mib,
            cell.workload
        );
        if let Some(disk) = by_chance(&cell.disk) {
            text += &format!("    {}\n", typed::described(&disk));
        }
        let described = match typed::workload(&cell.workload) {
            Ok(Some(workload)) => typed::described(&workload),
            _ => String::new(),
        };
        text += &format!("    {described}\n");
    }
    text
}
