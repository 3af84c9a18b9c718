//! `evidence NAME`: what a steering constant balances, as numbers and as a picture.
//!
//! The program is built with the feature `evidence` into a folder of its own, runs plans with the
//! constant at a quarter, a half, once, twice and four times its value, and what came out is written
//! to docs/results/evidence: time relative to the chosen value, the geometric means over all cells,
//! the worst cell and the best. The plans are those of the tree, and one of generated workloads that
//! is written for the purpose. Virtual time: the same on every machine. What other policies do in the
//! plans does not depend on the constants and is run once, into a journal. Constants of
//! `policy::file_order` have programs in trees instead, which the program simulates by itself.

mod index;
mod point;

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ahead_engine::evidence::constants;
use ahead_policy::steering::Constant;
use ahead_study::chart::{Chart, LineChart, Scale, Series};
use ahead_workload::generated;
use serde_json::{Map, Value, json};

use self::point::{GENERATED, Point, Times, csv, is_of_trees};
use crate::cargo::{TESTED_BUILD, cargo, root};

/// Where the results are.
const FOLDER: &str = "docs/results/evidence";

/// What sets a constant in the program, as `NAME=VALUE`.
const VARIABLE: &str = "AHEAD_EVIDENCE";

/// Of the workloads that are generated. More find more cells in which a constant matters; these
/// take as long as the plans.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=32;

/// The list of all steering constants.
#[must_use]
pub fn list() -> String {
    let mut text = String::new();
    for constant in constants() {
        let _ = writeln!(
            text,
            "{:24} {:>8}  {}",
            constant.name, constant.value, constant.file
        );
    }
    text
}

/// Sweeps the constants of these `names`, or all without any, over the plans in `plans` and over
/// generated workloads, and says what came of each.
///
/// # Errors
/// No constant has one of these names, the program cannot be built or run, or a result cannot be
/// written.
pub fn sweep(names: &[String], plans: &Path) -> io::Result<String> {
    let root = &root();
    let (of_trees, of_files): (Vec<_>, Vec<_>) = named(names)?.into_iter().partition(is_of_trees);
    let program = build(root)?;
    let mut said = Vec::new();
    if !of_trees.is_empty() {
        let as_chosen = tree_times(&program, None)?;
        for constant in of_trees {
            let times = |setting: &str| tree_times(&program, Some(setting));
            said.push(sweep_one(root, constant, &as_chosen, times)?);
        }
    }
    if !of_files.is_empty() {
        said.extend(sweep_files(root, program, &of_files, plans)?);
    }
    Ok(said.join("\n"))
}

/// Sweeps one constant: `times` says what all cells take with it set, as `NAME=VALUE`.
fn sweep_one(
    root: &Path,
    constant: &Constant,
    as_chosen: &Times,
    mut times: impl FnMut(&str) -> io::Result<Times>,
) -> io::Result<String> {
    let mut points = Vec::new();
    for value in values(constant.value) {
        let found = if value == constant.value {
            as_chosen.clone()
        } else {
            times(&format!("{}={value}", constant.name))?
        };
        points.push(Point::new(value, &found, as_chosen)?);
    }
    write(root, constant, &points)
}

fn sweep_files(
    root: &Path,
    program: PathBuf,
    chosen: &[&Constant],
    plans: &Path,
) -> io::Result<Vec<String>> {
    let mut plans = plan_files(&root.join(plans))?;
    plans.push(write_generated(&root.join("target/evidence"))?);
    let sweep = Sweep {
        root,
        program,
        plans,
    };
    let journal = root.join("target/evidence/chosen.journal");
    let _ = std::fs::remove_file(&journal);
    let as_chosen = sweep.times(None, &journal)?;
    let others = without_adaptive(&std::fs::read_to_string(&journal)?);
    let mut said = Vec::new();
    for constant in chosen {
        let times = |setting: &str| {
            std::fs::write(journal.with_extension("others"), &others)?;
            sweep.times(Some(setting), &journal.with_extension("others"))
        };
        said.push(sweep_one(root, constant, &as_chosen, times)?);
    }
    Ok(said)
}

/// How long programs in trees take.
fn tree_times(program: &Path, setting: Option<&str>) -> io::Result<Times> {
    let mut command = Command::new(program);
    command.env("AHEAD_EVIDENCE_TREES", "yes");
    if let Some(setting) = setting {
        command.env(VARIABLE, setting);
    }
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(io::Error::other(format!("programs in trees: {said}")));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The constants of these names; all without any.
fn named(names: &[String]) -> io::Result<Vec<&'static Constant>> {
    if names.is_empty() {
        return Ok(constants().collect());
    }
    let constant = |name: &String| {
        let mut all = constants();
        all.find(|constant| constant.name == *name)
            .ok_or_else(|| io::Error::other(format!("no steering constant is called {name}")))
    };
    names.iter().map(constant).collect()
}

/// The page about all sweeps, as their tables say it.
///
/// # Errors
/// A table cannot be read.
pub fn index() -> io::Result<String> {
    index::page(&root().join(FOLDER))
}

/// Steering constants whose table is missing, or was made around another value.
///
/// # Errors
/// A table cannot be read.
pub fn without_table() -> io::Result<Vec<&'static str>> {
    let folder = root().join(FOLDER);
    let mut without = Vec::new();
    for constant in constants() {
        let path = folder.join(format!("{}.csv", constant.name));
        let table = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            table => table?,
        };
        let around = |point: &Point| point.value == constant.value && point.differ == 0;
        if !point::parse(&table).is_some_and(|points| points.iter().any(around)) {
            without.push(constant.name);
        }
    }
    Ok(without)
}

/// A plan of generated workloads, written into `folder`.
fn write_generated(folder: &Path) -> io::Result<PathBuf> {
    let workload = |seed: u64| Ok((seed.to_string(), serde_json::to_value(generated(seed))?));
    let workloads = SEEDS.map(workload).collect::<io::Result<Map<_, _>>>()?;
    let plan = json!({
        "name": GENERATED,
        "about": "Workloads by seed.",
        "disks": ["hdd", "ssd", "cloud"],
        "memory-mib": [24, 128],
        "policies": ["adaptive"],
        "workload": workloads,
    });
    let path = folder.join("generated.toml");
    std::fs::write(&path, toml::to_string(&plan).map_err(io::Error::other)?)?;
    Ok(path)
}

/// A journal with the cells that do not depend on the policy's constants.
fn without_adaptive(journal: &str) -> String {
    let is_other = |line: &&str| {
        let line: Value = serde_json::from_str(line).unwrap_or_default();
        !line["cell"]["policy"]
            .as_str()
            .is_some_and(|policy| policy.starts_with("adaptive"))
    };
    let mut text = String::new();
    for line in journal.lines().filter(is_other) {
        text += line;
        text.push('\n');
    }
    text
}

fn write(root: &Path, constant: &Constant, points: &[Point]) -> io::Result<String> {
    let (name, chosen) = (constant.name, constant.value);
    let folder = root.join(FOLDER);
    std::fs::create_dir_all(&folder)?;
    let table = csv(points);
    std::fs::write(folder.join(format!("{name}.csv")), &table)?;
    let chart = picture(constant, points);
    let svg = chart.to_svg().map_err(io::Error::other)?;
    std::fs::write(folder.join(format!("{name}.svg")), svg)?;
    std::fs::write(folder.join("README.md"), index::page(&folder)?)?;
    Ok(format!("{name}, {chosen} as chosen\n{table}"))
}

/// A quarter to four times the chosen value, each number once.
fn values(chosen: u64) -> Vec<u64> {
    let mut values = vec![chosen / 4, chosen / 2, chosen, chosen * 2, chosen * 4];
    for value in &mut values {
        *value = (*value).max(1);
    }
    values.dedup();
    values
}

/// Optimised as the tests are: virtual time does not depend on it.
fn build(root: &Path) -> io::Result<PathBuf> {
    let folder = root.join("target/evidence");
    let status = Command::new(cargo())
        .args(["build", "--release", "--locked", "--package", "ahead-cli"])
        .args(["--features", "evidence", "--target-dir"])
        .arg(&folder)
        .envs(TESTED_BUILD)
        .current_dir(root)
        .status()?;
    if status.success() {
        Ok(folder.join("release/ahead"))
    } else {
        Err(io::Error::other("cannot build with the feature `evidence`"))
    }
}

fn plan_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut plans = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            plans.push(path);
        }
    }
    plans.sort();
    Ok(plans)
}

/// What is run, and with which constant set.
struct Sweep<'a> {
    root: &'a Path,
    program: PathBuf,
    plans: Vec<PathBuf>,
}

impl Sweep<'_> {
    fn times(&self, setting: Option<&str>, journal: &Path) -> io::Result<Times> {
        let mut command = Command::new(&self.program);
        command
            .arg("compare")
            .args(&self.plans)
            .args(["--policies", "adaptive", "--json", "--journal"])
            .arg(journal)
            .current_dir(self.root);
        if let Some(setting) = setting {
            command.env(VARIABLE, setting);
        }
        times_of(&command.output()?)
    }
}

fn times_of(output: &Output) -> io::Result<Times> {
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(io::Error::other(format!("ahead compare: {said}")));
    }
    let results: Value = serde_json::from_slice(&output.stdout)?;
    let contests = results["contests"].as_array().into_iter().flatten();
    let matches = contests.flat_map(|contest| contest["matches"].as_array().into_iter().flatten());
    Ok(matches
        .filter_map(|cell| {
            let words = ["plan", "disk", "memory_mib", "workload"].map(|key| match &cell[key] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            Some((words.join(" "), cell["elapsed_ns"].as_f64()?))
        })
        .collect())
}

#[expect(clippy::cast_precision_loss, reason = "a place on an axis")]
fn picture(constant: &Constant, points: &[Point]) -> Chart {
    let (name, chosen) = (constant.name, constant.value);
    let series = |label: &str, height: fn(&Point) -> f64| Series {
        name: label.to_owned(),
        points: points
            .iter()
            .map(|point| (point.value as f64, height(point)))
            .collect(),
        ..Series::default()
    };
    let means = if is_of_trees(&constant) {
        vec![series("trees", |point| point.plans)]
    } else {
        vec![
            series("plans", |point| point.plans),
            series("generated", |point| point.generated),
        ]
    };
    let worst = series("worst cell", |point| point.worst.0);
    let best = series("best cell", |point| point.best.0);
    Chart::Lines(LineChart {
        title: format!("time over {name}, relative to {chosen} as chosen"),
        x_label: name.to_owned(),
        y_label: "time, relative".to_owned(),
        x_scale: Scale::Logarithmic,
        series: [vec![worst], means, vec![best]].concat(),
        ..LineChart::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_goes_from_a_quarter_to_four_times_and_never_to_nothing() {
        assert_eq!(values(32), [8, 16, 32, 64, 128]);
        assert_eq!(values(2), [1, 2, 4, 8]);
        assert_eq!(values(1), [1, 2, 4]);
    }

    #[test]
    fn the_journal_of_others_has_no_cell_of_the_policy() {
        let journal = "{\"journal_of\":\"1\"}\n{\"cell\":{\"policy\":\"none\"}}\n\
                       {\"cell\":{\"policy\":\"adaptive:ratio=50\"}}\n";
        let others = "{\"journal_of\":\"1\"}\n{\"cell\":{\"policy\":\"none\"}}\n";
        assert_eq!(without_adaptive(journal), others);
    }

    #[test]
    fn the_constants_have_names_of_their_own() {
        let mut names: Vec<&str> = constants().map(|constant| constant.name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
