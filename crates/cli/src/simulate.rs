//! `ahead simulate`: one workload under one policy, with its whole account, beside the floor, the
//! running kernel and the ceiling.

use ahead_disk_model::DiskModel;
use ahead_disk_model::typed::TYPED as TYPED_DISKS;
use ahead_sim::algorithm::policies;
use ahead_sim::report::WorldReport;
use ahead_study::output::picture;
use ahead_study::parallel;
use ahead_study::plan::{CEILING, Cell, FLOOR, KERNEL, Plan};
use ahead_study::sweep::{self, SweepError};
use ahead_study::table;
use ahead_study::typed::{self, Words};
use ahead_workload::KINDS;
use ahead_workload::presets::PRESETS;
use serde_json::json;

use crate::arguments::Simulate;
use crate::output;
use crate::studies::{self, StudyError};

mod account;
mod explain;

const USUAL_DISK: &str = "hdd";
const USUAL_MEMORY_MIB: u64 = 256;
/// Steps of the timeline: what fits on a screen, and what is smooth in a picture.
const TEXT_BUCKETS: u64 = 20;
const PICTURE_BUCKETS: u64 = 200;

/// Runs, draws and prints.
///
/// # Errors
/// [`StudyError`].
pub fn simulate(arguments: &Simulate) -> Result<(), StudyError> {
    if arguments.list {
        return Ok(output::to_stdout(&list())?);
    }
    let plan = plan(arguments)?;
    let cell = cell(&plan, &arguments.policy)?;
    if arguments.explain {
        let explained = sweep::observe_cell(&plan, &cell, explain::Explained::default())?;
        return Ok(output::to_stdout(&explained.text)?);
    }
    studies::prepare([&arguments.svg, &arguments.png].into_iter().flatten())?;
    let wants_picture = arguments.svg.is_some() || arguments.png.is_some();
    let buckets = if wants_picture {
        PICTURE_BUCKETS
    } else {
        TEXT_BUCKETS
    };
    // The longest first: it is two runs.
    let beside = [FLOOR, KERNEL, CEILING].map(str::to_owned);
    let beside = beside.into_iter().filter(|policy| *policy != cell.policy);
    let policies: Vec<String> = [cell.policy.clone()].into_iter().chain(beside).collect();
    let reports = parallel::map(&policies, |policy| {
        let run = Cell {
            policy: policy.clone(),
            ..cell.clone()
        };
        if run == cell {
            return sweep::run_cell_in_detail(&plan, &run, buckets);
        }
        sweep::run_cell(&plan, &run)
    });
    let reports: Vec<WorldReport> = reports.into_iter().collect::<Result<_, SweepError>>()?;
    let (report, others) = (&reports[0], &reports[1..]);
    let title = title(&cell);
    if let Some(chart) = picture::of_run(&title, report) {
        studies::draw(&chart, arguments.svg.as_deref(), arguments.png.as_deref())?;
    }
    let beside: Vec<(&str, &WorldReport)> = policies[1..]
        .iter()
        .map(String::as_str)
        .zip(others)
        .collect();
    output::to_stdout(&if arguments.json {
        as_json(&cell, &plan, report, &beside)
    } else {
        account::text(&title, report, &beside, wants_picture)
    })?;
    Ok(())
}

/// The plan with one workload, one disk and one memory size.
fn plan(arguments: &Simulate) -> Result<Plan, StudyError> {
    let memory_mib = arguments.memory.as_deref().map(studies::mebibytes);
    let words = Words {
        policies: vec![arguments.policy.clone()],
        workloads: arguments.workload.iter().cloned().collect(),
        disks: arguments.disk.iter().cloned().collect(),
        memory_mib: memory_mib.transpose()?.into_iter().collect(),
        ..studies::words(&arguments.choice)
    };
    let usual = Words {
        disks: vec![USUAL_DISK.to_owned()],
        memory_mib: vec![USUAL_MEMORY_MIB],
        ..Words::default()
    };
    if arguments.plan.is_none() && words.workloads.is_empty() {
        let reason = "nothing to simulate: name a --workload, or a PLAN; \
                      `ahead simulate --list` names what there is";
        return Err(StudyError::Usage(reason.to_owned()));
    }
    let files: Vec<_> = arguments.plan.iter().cloned().collect();
    let plans = studies::plans(&files, &words, &usual, false)?;
    let plan = plans.into_iter().next();
    plan.ok_or_else(|| StudyError::Usage("the plan has no such workload".to_owned()))
}

/// The cell of `policy`, in a plan that leaves nothing to choose.
fn cell(plan: &Plan, policy: &str) -> Result<Cell, StudyError> {
    let cells = plan.cells();
    let policy = policy.trim();
    let own: Vec<&Cell> = cells.iter().filter(|cell| cell.policy == policy).collect();
    if let [one] = own[..] {
        return Ok(one.clone());
    }
    let workloads = plan.workload.keys().chain(plan.trace.keys());
    let workloads: Vec<_> = workloads.map(String::as_str).collect();
    let memory: Vec<_> = plan
        .memory_mib
        .iter()
        .map(|mib| format!("{mib}M"))
        .collect();
    let choices = [
        ("--workload", workloads.join(", ")),
        ("--disk", plan.disks.join(", ")),
        ("--memory", memory.join(", ")),
    ];
    let open = choices.iter().filter(|(_, values)| values.contains(", "));
    let open: Vec<_> = open
        .map(|(option, values)| format!("{option} (one of {values})"))
        .collect();
    Err(StudyError::Usage(format!(
        "the plan holds {} runs of this policy: choose with {}",
        own.len(),
        open.join(" and ")
    )))
}

fn title(cell: &Cell) -> String {
    format!(
        "{}: {} on {}, {} MiB",
        cell.policy, cell.workload, cell.disk, cell.memory_mib
    )
}

fn as_json(
    cell: &Cell,
    plan: &Plan,
    report: &WorldReport,
    beside: &[(&str, &WorldReport)],
) -> String {
    let beside: serde_json::Map<_, _> = beside
        .iter()
        .map(|(policy, report)| ((*policy).to_owned(), json!(report.elapsed_ns)))
        .collect();
    let value = json!({
        "cell": cell,
        "seed": plan.seed,
        "elapsed_ns_of_others": beside,
        "report": report,
    });
    format!("{value:#}\n")
}

/// Keys with blanks between them, where a line may be broken.
fn broken(keys: &str) -> String {
    keys.replace(',', ", ")
}

fn list() -> String {
    let mut listed = table::with_titles(&["policy", "keys and what they are without", ""], 0..0);
    for about in policies() {
        listed.add_row([about.name, &broken(&about.keys_text()), about.meaning]);
    }
    let titles = ["workload", "keys and what they are without", ""];
    let mut workloads = table::with_titles(&titles, 0..0);
    for (name, keys, meaning) in KINDS {
        workloads.add_row([*name, &broken(keys), *meaning]);
    }
    for (name, meaning) in typed::BY_SEED {
        workloads.add_row([name, "seed=N", meaning]);
    }
    let mut presets = table::with_titles(&["workloads with a name", ""], 0..0);
    for preset in PRESETS.iter().filter(|preset| preset.has_an_end()) {
        presets.add_row([preset.name, preset.about]);
    }
    let mut disks = table::with_titles(&["disks"], 0..0);
    disks.add_row([DiskModel::PRESETS.join(" ")]);
    let mut typed_disks = table::with_titles(&["disks with figures", ""], 0..0);
    for (typed, meaning) in TYPED_DISKS {
        typed_disks.add_row([typed, meaning]);
    }
    format!(
        "{listed}\n\n{workloads}\n\n{presets}\n\n{disks}\n\n{typed_disks}\n\
         A disk may also be a model file ending in .toml.\n\
         Plans can hold more workloads: several together, or with pauses; see plans/.\n"
    )
}
