//! Predicted against guests: what `ahead lab` measured over the real kernel in virtual time, cell by
//! cell, held against the simulator.
//!
//! A guest has no noise, its processor costs nothing, and its disk is the model itself. So nothing
//! is calibrated, and what differs is an error of the simulator, or of what it was given.

use ahead_disk_model::DiskModel;
use ahead_sim::queue::DiskRequest;
use ahead_workload::scenario::ScenarioWork;
use ahead_workload::{Scenario, Workload};

use super::cells::{PredictError, PredictedCell};
use super::simulated::{self, GroupFacts};
use super::{Calibration, PredictedDisk, Predictions, VERSION};
use crate::arm::Arm;
use crate::calendar::utc_minutes;
use crate::results::Results;

/// Simulates every cell that guests measured on one disk of `disk_bytes`, at its real speed, and adds them to what is
/// there of other disks. `on_requests` gets each cell with what its simulated disk had to do.
///
/// # Errors
/// [`PredictError`].
pub fn compare_with_guests(
    model: &DiskModel,
    disk_bytes: u64,
    results: &Results,
    so_far: Option<Predictions>,
    on_requests: &mut dyn FnMut(&PredictedCell, &[DiskRequest]),
) -> Result<Predictions, PredictError> {
    let mut predictions = so_far.unwrap_or_else(|| Predictions {
        version: VERSION,
        // The clock of a guest begins in 1970.
        began: utc_minutes(std::time::SystemTime::now()),
        machine: results.machine.clone(),
        seed: results.seed,
        limits: results.limits,
        disks: Vec::new(),
        cells: Vec::new(),
    });
    let twin = simulated::of_guest(model, disk_bytes, results);
    for scenario in &results.scenarios {
        for arm in &results.arms {
            let (cell, requests) = cell(&twin, results, scenario, arm)?;
            on_requests(&cell, &requests);
            predictions.cells.push(cell);
        }
    }
    predictions.disks.push(PredictedDisk {
        disk: results.disk.clone(),
        costs: Calibration::default(),
        calibrations: Vec::new(),
    });
    Ok(predictions)
}

/// What `twin` predicts of one cell that a guest measured, and what the simulated disk had to do for it.
pub(super) fn cell(
    twin: &simulated::Twin,
    results: &Results,
    scenario: &Scenario,
    arm: &Arm,
) -> Result<(PredictedCell, Vec<DiskRequest>), PredictError> {
    let workload = workload(scenario).ok_or_else(|| PredictError::NoTwin {
        scenario: scenario.clone(),
    })?;
    let placed = results.places.iter().find(|one| one.scenario == *scenario);
    let placed = placed.ok_or_else(|| PredictError::NoPlaces {
        scenario: scenario.clone(),
    })?;
    let runs = results.runs.iter();
    let measured: Vec<_> = runs
        .filter(|run| run.scenario == *scenario && run.arm == *arm)
        .cloned()
        .collect();
    let group = measured.first().map(GroupFacts::of).unwrap_or_default();
    let (simulated, requests) = twin.simulate(scenario, workload, &placed.files, arm, group)?;
    let cell = PredictedCell {
        disk: results.disk.name.clone(),
        scenario: scenario.clone(),
        arm: arm.clone(),
        simulated,
        measured,
    };
    Ok((cell, requests))
}

/// What `scenario` reads. What runs from memory waits for nothing in virtual time.
fn workload(scenario: &Scenario) -> Option<&'static Workload> {
    match &scenario.work {
        ScenarioWork::Preset(preset) if !scenario.cached => Some(&preset.workload),
        _ => None,
    }
}
