//! What `ahead compare --generated` prints: distributions, and the places where most is lost.

use ahead_study::distribution::{Distribution, Yardstick};
use ahead_study::results::CellGroup;
use ahead_study::table::{self, Table};
use ahead_study::typed;

use crate::figures::ratio;

/// Places that are named.
const WORST: usize = 20;

/// The distributions over all places and disk by disk, and the worst places.
pub(super) fn of_groups(groups: &[CellGroup<'_>]) -> String {
    format!("{}\n\n{}\n", distributions(groups), worst(groups))
}

fn distributions(groups: &[CellGroup<'_>]) -> Table {
    let titles = [
        "time relative to",
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
    let mut rows = table::with_titles(&titles, 1..10);
    for yardstick in Yardstick::ALL {
        rows.add_row(row(yardstick.name(groups).to_owned(), groups, yardstick));
    }
    let mut disks: Vec<(&str, u64)> = Vec::new();
    for group in groups {
        let place = (group.cell().disk.as_str(), group.cell().memory_mib);
        if !disks.contains(&place) {
            disks.push(place);
        }
    }
    for (disk, memory_mib) in disks {
        let is_here = |group: &&CellGroup<'_>| {
            group.cell().disk == disk && group.cell().memory_mib == memory_mib
        };
        let here: Vec<_> = groups.iter().filter(is_here).copied().collect();
        let name = format!(
            "{}, {disk}, {memory_mib} MiB",
            Yardstick::Kernel.name(groups)
        );
        rows.add_row(row(name, &here, Yardstick::Kernel));
    }
    rows
}

fn row(name: String, groups: &[CellGroup<'_>], yardstick: Yardstick) -> Vec<String> {
    let held = Distribution::of(groups, yardstick);
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
        let described = match typed::workload(&cell.workload) {
            Ok(Some(workload)) => typed::described(&workload),
            _ => String::new(),
        };
        text += &format!(
            "{} {} {} MiB {}\n    {described}\n",
            ratio(Some(held.permille)),
            cell.disk,
            cell.memory_mib,
            cell.workload
        );
    }
    text
}
