//! `ahead compare`: plans, or words, into a sweep; its results into tables, files and a picture.

use ahead_study::output as results_as;
use ahead_study::results;
use ahead_study::sweep::{self, CellOutcome};
use ahead_study::typed::{self, Words};

use crate::arguments::Compare;
use crate::output;
use crate::progress::{self, Shows};
use crate::studies::{self, StudyError};

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
const USUAL_DISKS: [&str; 2] = ["hdd", "ssd"];
const USUAL_MEMORY_MIB: u64 = 256;

/// Runs, writes and prints.
///
/// # Errors
/// [`StudyError`].
pub fn compare(arguments: &Compare) -> Result<(), StudyError> {
    let words = words(arguments)?;
    if arguments.plans.is_empty() && words.workloads.is_empty() {
        let reason = "nothing to compare: name a PLAN, or --workloads; \
                      `ahead simulate --list` names what there is";
        return Err(StudyError::Usage(reason.to_owned()));
    }
    let usual = Words {
        policies: USUAL_POLICIES.map(str::to_owned).to_vec(),
        disks: USUAL_DISKS.map(str::to_owned).to_vec(),
        memory_mib: vec![USUAL_MEMORY_MIB],
        ..Words::default()
    };
    let plans = studies::plans(&arguments.plans, &words, &usual)?;
    let files = [&arguments.parquet, &arguments.svg, &arguments.png];
    studies::prepare(files.into_iter().flatten())?;
    let stop = studies::stop_flag()?;
    let bar = progress::bar(Shows::Parts, 0);
    let outcomes = sweep::run(&plans, arguments.journal.as_deref(), &stop, &mut |step| {
        let cell = step.cell;
        bar.set_length(step.total as u64);
        bar.set_position(step.finished as u64);
        bar.set_message(format!("{}, {}, {}", cell.plan, cell.disk, cell.policy));
    });
    bar.finish_and_clear();
    show(arguments, &plans, &outcomes?)
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

fn show(
    arguments: &Compare,
    plans: &[ahead_study::plan::Plan],
    outcomes: &[CellOutcome],
) -> Result<(), StudyError> {
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
    } else {
        let mut text = String::new();
        if !arguments.summary {
            text += &tables::of_plans(plans, &groups);
        }
        text + &tables::of_contests(&results::contests(&groups))
    };
    Ok(output::to_stdout(&text)?)
}
