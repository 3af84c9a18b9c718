//! Predicted against measured: the simulator judged by the running kernel, cell by cell.
//!
//! A cell is a pattern on an emulated disk under one read-ahead limit. It is run twice: by the
//! [reader](crate::reader) on the disk of `bench/disk-emulator`, through the kernel's own page cache, and
//! by the simulator with the same job, the same places on the disk, the same disk model and the
//! replica of the kernel's read-ahead. What a simulator cannot know, the costs of this machine
//! (a page copied, a call, the way to the disk and back), is measured (`calibrate`) on the same disk
//! between the runs, by reads that no read-ahead touches. Nothing is fitted to the cells.
//!
//! ```text
//! disk ──► files ──► repeat: calibrate, every cell ──► medians
//!                          costs ──► simulate every cell ──► measured | simulated | error
//! ```
//!
//! A disk may run slower than real (`ssd@1/8`): its proportions stay, and the way to it and the
//! processors' part become small beside it, which is what matters where two processors have to be
//! reader, kernel and disk at once.
//! Where guests measured, nothing is calibrated: `guests`.
//!
//! Patterns that run from memory, and `small`, whose opens read directories that the simulator does
//! not have, cannot be predicted.

mod calibrate;
mod cells;
mod guests;
mod page;
mod pressure;
mod simulated;
pub mod trees;

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::Ordering;

use ahead_disk_model::{DiskModel, TimeScale};
use ahead_workload::{Scenario, Workload};
use serde::{Deserialize, Serialize};

pub use ahead_sim::queue::DiskRequest;
pub use calibrate::Calibration;
pub use cells::{PredictError, PredictedCell, Simulated};
pub use guests::compare_with_guests;
pub use page::{render_page, render_picture};
pub use pressure::{ReclaimPredictions, compare_reclaim};

use self::simulated::GroupFacts;
use crate::arm::Arm;
use crate::calendar::utc_minutes;
use crate::dataset::Dataset;
use crate::error::BenchError;
use crate::execute::Bench;
use crate::ground::machine;
use crate::journal::Journal;
use crate::places;
use crate::plan::{BenchPlan, BenchProgress};
use crate::results::{Limits, MachineFacts, TestedDisk};
use crate::statistics::median;
use crate::target::{Target, TargetError};

/// Version of the JSON form.
pub const VERSION: u32 = 2;

/// What to predict. Of the bench plan the disk and the arms are not used.
#[derive(Clone, Debug)]
pub struct PredictPlan {
    /// Patterns, limits, repeats and how to start a reader.
    pub bench: BenchPlan,
    /// Disks to emulate.
    pub disks: Vec<ScaledDisk>,
    /// Read-ahead limits in KiB.
    pub windows_kib: Vec<u64>,
}

/// A disk model and how many times faster than real it runs, as `ssd@1/8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScaledDisk {
    /// Name of the model: hdd, ssd, cloud.
    pub model: String,
    /// Its speed.
    pub scale: TimeScale,
}

impl FromStr for ScaledDisk {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (model, scale) = text.split_once('@').unwrap_or((text, "1"));
        if !["hdd", "ssd", "cloud"].contains(&model) {
            return Err(format!("'{model}' is none of hdd, ssd, cloud"));
        }
        Ok(Self {
            model: model.to_owned(),
            scale: scale.parse().map_err(|error| format!("{error}"))?,
        })
    }
}

impl fmt::Display for ScaledDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.model)?;
        if self.scale != TimeScale::REAL {
            write!(f, "@{}", self.scale)?;
        }
        Ok(())
    }
}

/// All cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predictions {
    /// Version of this form.
    pub version: u32,
    /// When it began, in UTC.
    pub began: String,
    /// Where.
    pub machine: MachineFacts,
    /// Seed of all chance.
    pub seed: u64,
    /// What stopped each run.
    pub limits: Limits,
    /// The disks, and what this machine takes for reads on each.
    pub disks: Vec<PredictedDisk>,
    /// The cells.
    pub cells: Vec<PredictedCell>,
}

/// One disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictedDisk {
    /// Its name and what it is.
    pub disk: TestedDisk,
    /// The medians that the simulator got.
    pub costs: Calibration,
    /// What was measured before each repeat.
    pub calibrations: Vec<Calibration>,
}

impl Predictions {
    /// The errors of all cells.
    #[must_use]
    pub fn errors(&self) -> Errors {
        Errors::of(&self.cells, |_| true)
    }
}

/// Absolute errors of some cells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    /// How many cells.
    pub cells: usize,
    /// The error in the middle.
    pub median: f64,
    /// The largest.
    pub worst: f64,
}

impl Errors {
    /// Those of the cells whose arm is `wanted`.
    #[must_use]
    pub fn of(cells: &[PredictedCell], wanted: impl Fn(&Arm) -> bool) -> Self {
        let wanted = cells.iter().filter(|cell| wanted(&cell.arm));
        let errors: Vec<f64> = wanted.map(|cell| cell.error().abs()).collect();
        Self {
            cells: errors.len(),
            median: median(&errors).unwrap_or_default().value,
            worst: errors.iter().copied().fold(0.0, f64::max),
        }
    }
}

/// Runs and simulates every cell. After an error, as after success, the machine is as it was.
///
/// # Errors
/// [`PredictError`].
pub fn predict(
    plan: &PredictPlan,
    on_progress: &mut dyn FnMut(BenchProgress<'_>),
) -> Result<Predictions, PredictError> {
    let bench = &plan.bench;
    if bench.scenarios.is_empty() || plan.windows_kib.is_empty() || bench.repeat == 0 {
        return Err(BenchError::NothingToRun.into());
    }
    let is_small =
        |scenario: &Scenario| matches!(bench.workload(scenario), Some(Workload::SmallFiles { .. }));
    let no_twin = |scenario: &&Scenario| scenario.cached || is_small(scenario);
    if let Some(scenario) = bench.scenarios.iter().find(no_twin) {
        return Err(PredictError::NoTwin {
            scenario: scenario.clone(),
        });
    }
    if !rustix::process::geteuid().is_root() {
        return Err(BenchError::NotRoot.into());
    }
    let notes = |source| BenchError::Machine {
        what: "cannot keep notes in the state folder",
        source,
    };
    let (mut journal, orphans) = Journal::open(&bench.state_folder).map_err(notes)?;
    for disk in orphans {
        let _ = ahead_disk_emulator::destroy(&disk);
    }
    let mut predictions = Predictions {
        version: VERSION,
        began: utc_minutes(std::time::SystemTime::now()),
        machine: machine(),
        seed: bench.seed,
        limits: bench.limits,
        disks: Vec::new(),
        cells: Vec::new(),
    };
    for choice in &plan.disks {
        let model = DiskModel::preset(&choice.model)
            .map_err(|error| BenchError::Target(TargetError::Model(error.to_string())))?;
        let model = simulated::at_scale(&model, choice.scale);
        let mut disk_plan = bench.clone();
        disk_plan.time_scale = Some(choice.scale.to_string());
        disk_plan.keep = false;
        let made = Target::create(&disk_plan, &choice.model, &mut |disk| {
            journal.note_disk(Some(disk.to_owned()))
        });
        let target = match made {
            Ok(target) => target,
            Err(error) => {
                let _ = journal.note_disk(None);
                return Err(BenchError::Target(error).into());
            }
        };
        let outcome = on_disk(
            plan,
            &choice.to_string(),
            &model,
            &target,
            &mut journal,
            on_progress,
        );
        target.destroy().map_err(BenchError::Target)?;
        journal.note_disk(None).map_err(notes)?;
        let (disk, cells) = outcome?;
        predictions.disks.push(disk);
        predictions.cells.extend(cells);
    }
    Ok(predictions)
}

fn on_disk(
    plan: &PredictPlan,
    name: &str,
    model: &DiskModel,
    target: &Target,
    journal: &mut Journal,
    on_progress: &mut dyn FnMut(BenchProgress<'_>),
) -> Result<(PredictedDisk, Vec<PredictedCell>), PredictError> {
    let dataset = Dataset::prepare(
        &target.folder,
        target.percent_max,
        &plan.bench.planned_files(),
        // The costs are measured on the main file of the presets.
        true,
        &mut |done, total| on_progress(BenchProgress::Preparing { done, total }),
    )
    .map_err(BenchError::Prepare)?;
    let notes = |source| BenchError::Machine {
        what: "cannot note read_ahead_kb, or put it back",
        source,
    };
    journal.note_read_ahead(&target.queue).map_err(notes)?;
    let folder = journal.folder().to_owned();
    let bench = Bench {
        plan: &plan.bench,
        target,
        dataset: &dataset,
        folder: &folder,
    };
    let measured = measure(plan, &bench, name, model, on_progress);
    journal.restore_read_ahead().map_err(notes)?;
    let (mut cells, calibrations) = measured?;
    let costs = Calibration::median(&calibrations);
    let twin = simulated::emulated(&bench, model, &costs);
    for cell in &mut cells {
        let (workload, sources) = bench.work(&cell.scenario)?;
        let known = places::look_up(&sources).map_err(PredictError::Places)?;
        let group = cell.measured.first().map(GroupFacts::of);
        let (scenario, group) = (&cell.scenario, group.unwrap_or_default());
        (cell.simulated, _) = twin.simulate(scenario, workload, &known.files, &cell.arm, group)?;
    }
    let disk = PredictedDisk {
        disk: TestedDisk {
            name: name.to_owned(),
            description: target.disk.description.clone(),
        },
        costs,
        calibrations,
    };
    Ok((disk, cells))
}

/// Every cell so often as the plan says, calibrations in between. Every other repeat goes
/// backwards, so that a machine that gets slower or faster with time favours none.
fn measure(
    plan: &PredictPlan,
    bench: &Bench<'_>,
    name: &str,
    model: &DiskModel,
    on_progress: &mut dyn FnMut(BenchProgress<'_>),
) -> Result<(Vec<PredictedCell>, Vec<Calibration>), PredictError> {
    let mut cells: Vec<PredictedCell> = Vec::new();
    for scenario in &plan.bench.scenarios {
        cells.extend(plan.windows_kib.iter().map(|&kib| PredictedCell {
            disk: name.to_owned(),
            scenario: scenario.clone(),
            arm: Arm::Stock { kib },
            measured: Vec::new(),
            simulated: Simulated::default(),
        }));
    }
    let mut calibrations = Vec::new();
    let total = cells.len() * usize::try_from(plan.bench.repeat).unwrap_or(1);
    let mut number = 0;
    for repeat in 0..plan.bench.repeat {
        calibrations.push(calibrate::calibrate(bench, model)?);
        let mut order: Vec<usize> = (0..cells.len()).collect();
        if repeat % 2 == 1 {
            order.reverse();
        }
        for index in order {
            if plan.bench.stop.load(Ordering::Relaxed) {
                return Err(BenchError::Stopped.into());
            }
            let cell = &mut cells[index];
            let scenario = &cell.scenario;
            on_progress(BenchProgress::Started {
                number,
                total,
                scenario,
                arm: &cell.arm,
            });
            let record = bench.execute(scenario, &cell.arm, repeat)?;
            on_progress(BenchProgress::Ended {
                number,
                total,
                record: &record,
            });
            cell.measured.push(record);
            number += 1;
        }
    }
    Ok((cells, calibrations))
}

#[cfg(test)]
mod tests;
