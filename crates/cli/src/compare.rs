//! `ahead compare`: plans, or words, into a sweep; its results into tables, files and a picture.

use std::ops::Range;

use ahead_disk_model::DiskModel;
use ahead_study::output as results_as;
use ahead_study::plan::{GUEST_KERNEL, KERNEL, Plan};
use ahead_study::results;
use ahead_study::sweep::{self, CellOutcome};
use ahead_study::typed::{self, Words};

use crate::arguments::{Compare, DISKS_MAX};
use crate::lab;
use crate::output;
use crate::progress::{self, Shows};
use crate::size;
use crate::studies::{self, StudyError};

mod generated;
mod tables;

/// What is compared when nothing is said: what Linux shipped or was offered, and ours.
const USUAL_POLICIES: [&str; 6] = [
    "linux-2.6.18",
    "ara-june",
    "linux-2.6.31",
    "linux-4.19",
    "linux-6.12",
    "adaptive",
];
/// What guests can run of that.
const LAB_POLICIES: [&str; 5] = [
    "linux-6.12",
    "linux-6.12:ra_kb=512",
    "linux-6.12:ra_kb=2048",
    "linux-6.12:ra_kb=8192",
    "adaptive",
];
const USUAL_DISKS: [&str; 2] = ["hdd", "ssd"];
const USUAL_MEMORY_MIB: [u64; 1] = [256];

/// The same for generated workloads: sizes too, since the best of all is the yardstick, every kind of
/// disk, and memory below and above the sizes of files.
const GENERATED_POLICIES: [&str; 7] = [
    "linux-2.6.18",
    "linux-4.19",
    "linux-6.12",
    "linux-6.18:ra_kb=512",
    "linux-6.18:ra_kb=2048",
    "linux-6.18:ra_kb=8192",
    "adaptive",
];
const GENERATED_DISKS: [&str; 5] = ["hdd", "ssd", "nvme", "cloud", "array"];
const GENERATED_MEMORY_MIB: [u64; 2] = [64, 1024];

/// Runs, writes and prints.
///
/// # Errors
/// [`StudyError`].
pub fn compare(arguments: &Compare) -> Result<(), StudyError> {
    let in_lab = arguments.place == "lab";
    let mut words = words(arguments)?;
    words.policies.extend(sizes(&arguments.sizes, in_lab)?);
    let generated = seeds("--generated", arguments.generated.as_deref())?;
    let odd_reads = seeds("--odd-reads", arguments.odd_reads.as_deref())?;
    let generated = generated.map(|seed| (seed, typed::generated(seed)));
    let odd_reads = odd_reads.map(|seed| (seed, typed::odd_reads(seed)));
    let by_seed: Vec<(u64, String)> = generated.chain(odd_reads).collect();
    let workloads_by_seed = by_seed.iter().map(|(_, workload)| workload.clone());
    words.workloads.extend(workloads_by_seed);
    if arguments.disks_by_chance.is_some() && !is_by_seed(arguments) {
        let reason = "--disks-by-chance: there is no workload to make disks for; name some by --generated or --odd-reads";
        return Err(StudyError::Usage(reason.to_owned()));
    }
    if arguments.plans.is_empty() && words.workloads.is_empty() {
        let reason = "nothing to compare: name a PLAN, or --workloads; \
                      `ahead simulate --list` names what there is";
        return Err(StudyError::Usage(reason.to_owned()));
    }
    let usual = if is_by_seed(arguments) {
        usual(&GENERATED_POLICIES, &GENERATED_DISKS, &GENERATED_MEMORY_MIB)
    } else {
        usual(&USUAL_POLICIES, &USUAL_DISKS, &USUAL_MEMORY_MIB)
    };
    if in_lab && arguments.journal.is_some() {
        let reason = "--journal: only what the simulator has finished is kept";
        return Err(StudyError::Usage(reason.to_owned()));
    }
    if in_lab && words.policies.is_empty() {
        words.policies = LAB_POLICIES.map(str::to_owned).to_vec();
    }
    let plans = match arguments.disks_by_chance {
        Some(disks) => on_disks_by_chance(&by_seed, disks, &words, &usual, in_lab)?,
        None => studies::plans(&arguments.plans, &words, &usual, in_lab)?,
    };
    let files = [&arguments.parquet, &arguments.svg, &arguments.png];
    studies::prepare(files.into_iter().flatten())?;
    let stop = studies::stop_flag()?;
    let bar = progress::bar(Shows::Parts, 0);
    if in_lab {
        let outcomes = lab::outcomes(&plans, &stop, &mut |finished, total| {
            bar.set_length(total as u64);
            bar.set_position(finished as u64);
        });
        bar.finish_and_clear();
        return show(arguments, &plans, &outcomes?);
    }
    let outcomes = sweep::run(&plans, arguments.journal.as_deref(), &stop, &mut |step| {
        let cell = step.cell;
        bar.set_length(step.total as u64);
        bar.set_position(step.finished as u64);
        bar.set_message(format!("{}, {}, {}", cell.plan, cell.disk, cell.policy));
    });
    bar.finish_and_clear();
    show(arguments, &plans, &outcomes?)
}

fn usual(policies: &[&str], disks: &[&str], memory_mib: &[u64]) -> Words {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    Words {
        policies: owned(policies),
        disks: owned(disks),
        memory_mib: memory_mib.to_vec(),
        ..Words::default()
    }
}

const fn is_by_seed(arguments: &Compare) -> bool {
    arguments.generated.is_some() || arguments.odd_reads.is_some()
}

/// Each workload on so many disks that its seed makes: what loses on one disk is not found again on all others.
fn on_disks_by_chance(
    by_seed: &[(u64, String)],
    disks: u64,
    words: &Words,
    usual: &Words,
    in_lab: bool,
) -> Result<Vec<Plan>, StudyError> {
    let mut plans = Vec::new();
    for (seed, workload) in by_seed {
        let first = seed.wrapping_mul(DISKS_MAX);
        let disks = (0..disks).map(|disk| DiskModel::typed_by_chance(first.wrapping_add(disk)));
        let words = Words {
            workloads: vec![workload.clone()],
            disks: disks.collect(),
            ..words.clone()
        };
        let plan = studies::plans(&[], &words, usual, in_lab)?;
        plans.extend(plan.into_iter().map(|plan| Plan {
            name: workload.clone(),
            ..plan
        }));
    }
    Ok(plans)
}

/// A range of seeds; empty without a `text`.
fn seeds(option: &str, text: Option<&str>) -> Result<Range<u64>, StudyError> {
    let Some(text) = text else {
        return Ok(0..0);
    };
    let range = text.split_once("..").and_then(|(from, to)| {
        let range: Range<u64> = from.parse().ok()?..to.parse().ok()?;
        (!range.is_empty()).then_some(range)
    });
    range.ok_or_else(|| {
        let reason = format!("{option}: '{text}' is no range of seeds, such as 0..100");
        StudyError::Usage(reason)
    })
}

/// A policy for each window: the running kernel's algorithm, or that of guests.
fn sizes(texts: &[String], in_lab: bool) -> Result<Vec<String>, StudyError> {
    let kernel = if in_lab { GUEST_KERNEL } else { KERNEL };
    let policy = |text: &String| {
        let bytes = size::parse(text).ok();
        let kib = bytes.filter(|bytes| bytes.is_multiple_of(4 << 10));
        let kib = kib.map(|bytes| format!("{kernel}:ra_kb={}", bytes >> 10));
        kib.ok_or_else(|| {
            let reason =
                format!("--sizes: '{text}' is not a whole number of pages, such as 512K or 8M");
            StudyError::Usage(reason)
        })
    };
    texts.iter().map(policy).collect()
}

fn words(arguments: &Compare) -> Result<Words, StudyError> {
    let list = |text: &Option<String>| text.as_deref().map(typed::list).unwrap_or_default();
    let memory_mib: Result<_, _> = arguments
        .memory
        .iter()
        .map(|text| studies::mebibytes(text))
        .collect();
    Ok(Words {
        policies: list(&arguments.policies),
        workloads: list(&arguments.workloads),
        disks: list(&arguments.disks),
        memory_mib: memory_mib?,
        ..studies::words(&arguments.choice)
    })
}

fn show(arguments: &Compare, plans: &[Plan], outcomes: &[CellOutcome]) -> Result<(), StudyError> {
    let groups = results::groups(outcomes);
    if let Some(path) = &arguments.parquet {
        let bytes = results_as::parquet::parquet(&groups);
        studies::write(path, &bytes.map_err(|error| studies::failed(path, error))?)?;
    }
    if arguments.svg.is_some() || arguments.png.is_some() {
        let contests = results::contests(&groups);
        let chart = match contests.first().filter(|_| arguments.summary) {
            Some(contest) => results_as::picture::of_contest(contest),
            None => results_as::picture::of_groups(&groups),
        };
        studies::draw(&chart, arguments.svg.as_deref(), arguments.png.as_deref())?;
    }
    let text = if arguments.json {
        results_as::json(&groups)
    } else if arguments.csv {
        results_as::csv(&groups)
    } else if is_by_seed(arguments) {
        generated::of_groups(&groups)
    } else {
        let mut text = String::new();
        if !arguments.summary {
            text += &tables::of_plans(plans, &groups);
        }
        text + &tables::of_contests(&results::contests(&groups))
    };
    Ok(output::to_stdout(&text)?)
}
