//! The page about all sweeps: docs/results/evidence/README.md, made from their tables.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use ahead_engine::evidence::constants;
use ahead_policy::steering::Constant;

use super::point::{Point, is_of_trees, parse};

/// Numbers that were chosen and cannot be set while the program runs.
const NOT_STEERING: &[(&str, &str)] = &[
    (
        "`STREAMS_FEW`, `STREAMS_MANY`",
        "lengths of tables, and so types",
    ),
    ("`REMEMBERED`", "length of a table, and so a type"),
    (
        "`OUTSTANDING_FILES_MAX`, `PARTS`, `LISTED_AT_ONCE`, `READ_AT_ONCE`",
        "lengths of tables, and numbers of threads",
    ),
    (
        "`AT_HAND`, `OPENED_BY_NAME_MIN`, `OPENS_BEFORE_LISTING`, `NAMES_IN_VAIN_MAX`, `STATS_AT_FIRST`, `STATS_IN_A_ROW`",
        "of the library's helper alone; the simulated one has no programs for which they matter",
    ),
    (
        "`COPY_PAGE_NS`",
        "what a copy takes on a machine, not what the policy makes of it",
    ),
    (
        "`RUNS_BELIEVED`, `LONGER_RUN_PAGES`, `STRAYS_MAX`, `ROUNDS_MISSED`, `SLOW_ACCESS_NS`",
        "chosen over generated workloads, and not swept yet",
    ),
    (
        "`SWEEP_EVERY_NS`, `DEFERRED_MAX`",
        "save processor time of a real host, which is not simulated",
    ),
    (
        "`UNREAD_PAGES_MAX`",
        "the default of the setting `budget_mib`, which plans can name",
    ),
];

const HEAD: &str = "\
# What each steering constant balances

Made by `cargo run -p xtask -- evidence --all`; a name instead of `--all` sweeps one constant. Each was
set to a quarter, a half, twice and four times the chosen value, and every plan of `plans/` was simulated
with it, and generated workloads (`ahead_workload::generated`, seeds 1 to 32) on three disks with short and
with enough memory. Times are relative to those with the chosen value, so 1 is no change; they are virtual,
and the same on every machine. A picture and a table (`NAME.csv`, which names the cells) belong to each;
what goes wrong on either side is written where the constant is.

* *plans*, *generated*: the least and the greatest geometric mean over the cells at any of the values
* *best*, *worst*: the least and the greatest time of a single cell
* *differ*: how many cells differ by a thousandth or more, at the value where most do
";

const TREES_HEAD: &str = "
What decides across files (`policy::file_order`) is swept over programs in trees (`ahead_sim::trees`): `tar`,
`grep -r` and `diff -r`, one that ends after forty files, one that reads every third file, one that lists all
folders and reads the files in no order, and one that reads three files of each folder; a fifth of the trees `small`
and `large` and a fiftieth of `many`, on three disks, with the helper.

| constant | chosen | trees | best | worst | differ |
| --- | --- | --- | --- | --- | --- |
";

/// What is said before the names of constants that made no difference.
const IDLE: &str = "\
No cell differs by a thousandth, so nothing here speaks for the value or against it; what these constants
are for does not occur in these workloads, or costs no time in them:";

/// The page, from the tables in `folder`.
///
/// # Errors
/// A table cannot be read.
pub(super) fn page(folder: &Path) -> io::Result<String> {
    let mut text = HEAD.to_owned();
    let mut without = Vec::new();
    let mut idle = Vec::new();
    let mut trees = TREES_HEAD.to_owned();
    text += "\n| constant | chosen | plans | generated | best | worst | differ |\n";
    text += "| --- | --- | --- | --- | --- | --- | --- |\n";
    for constant in constants() {
        let name = constant.name;
        let table = match std::fs::read_to_string(folder.join(format!("{name}.csv"))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            table => table?,
        };
        let Some(points) = parse(&table).filter(|points| !points.is_empty()) else {
            without.push(name);
            continue;
        };
        if points.iter().all(|point| point.differ == 0) {
            idle.push(format!("`{name}`"));
        }
        let is_of_trees = is_of_trees(&constant);
        let table = if is_of_trees { &mut trees } else { &mut text };
        let _ = writeln!(table, "{}", row(constant, &points));
    }
    text += &trees;
    if !idle.is_empty() {
        let lines: Vec<String> = idle.chunks(4).map(|names| names.join(", ")).collect();
        let _ = writeln!(text, "\n{IDLE}\n{}.", lines.join(",\n"));
    }
    if !without.is_empty() {
        let _ = writeln!(text, "\nNot swept yet: {}.", without.join(", "));
    }
    text += "\nChosen too, but no steering constants:\n\n";
    for (names, reason) in NOT_STEERING {
        let _ = writeln!(text, "* {names}: {reason}");
    }
    Ok(text)
}

fn row(constant: &Constant, points: &[Point]) -> String {
    let (name, chosen, is_of_trees) = (constant.name, constant.value, is_of_trees(&constant));
    let span = |of: fn(&Point) -> f64| {
        let least = points.iter().map(of).fold(f64::INFINITY, f64::min);
        let greatest = points.iter().map(of).fold(0.0, f64::max);
        (least, greatest)
    };
    let differ = points.iter().map(|point| point.differ).max().unwrap_or(0);
    let link = format!("[`{name}`]({name}.svg)");
    if differ == 0 {
        let means = if is_of_trees { "1" } else { "1 | 1" };
        return format!("| {link} | {chosen} | {means} | 1 | 1 | none |");
    }
    let means = |of| {
        let (least, greatest) = span(of);
        format!("{least:.3}–{greatest:.3}")
    };
    let mut all = means(|it| it.plans);
    if !is_of_trees {
        all = format!("{all} | {}", means(|it| it.generated));
    }
    let (best, worst) = (span(|it| it.best.0).0, span(|it| it.worst.0).1);
    let cells = points[0].cells;
    format!("| {link} | {chosen} | {all} | {best:.2} | {worst:.2} | {differ} of {cells} |")
}
