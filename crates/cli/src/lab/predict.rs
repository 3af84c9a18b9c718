//! `ahead lab predict`: guests as the referee of the simulator.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use ahead_disk_model::TimeScale;
use ahead_harness::Results;
use ahead_harness::predict::{
    DiskRequest, PredictedCell, ReclaimPredictions, compare_reclaim, compare_with_guests,
    render_page, render_picture,
};
use ahead_study::circumstances::ReclaimChoice;
use ahead_workload::tree::Tree;

use super::arms;
use super::error::LabError;
use super::machine::{disk_name, results_folder};
use super::patterns::{IMAGE_BYTES, Sweep};
use super::trees;
use crate::arguments::LabPredict;
use crate::bench::{self, BenchCommandError};
use crate::disk;
use crate::exit::Exit;

pub(super) fn predict(arguments: &LabPredict) -> Result<(String, Exit), LabError> {
    // Guests run for minutes.
    let check_files = || bench::check_writable([&arguments.json, &arguments.svg]);
    if let Some(tree) = arguments.tree.as_deref().and_then(Tree::find) {
        check_files()?;
        return trees::predict(arguments, tree.scaled(arguments.percent));
    }
    let options = [
        "--places".to_owned(),
        "--repeat=1".to_owned(),
        format!("--seed={}", arguments.seed),
    ];
    let requests = arguments.requests.as_deref();
    let arms = arms::OF_PREDICTIONS.parse(&arguments.arm)?;
    let sweep = Sweep::new(&arguments.patterns, arms, options, requests)?;
    let folders = [&arguments.measured, &arguments.requests];
    for folder in folders.into_iter().flatten() {
        results_folder(folder)?;
    }
    check_files()?;
    if !arguments.reclaim.is_empty() {
        return rule_by_rule(arguments, &sweep);
    }
    let mut predictions = None;
    for name in &sweep.disks() {
        let model = disk::model(name)?;
        let results = measured(arguments, &sweep, name)?;
        let so_far = predictions.take();
        let mut failure = Ok(());
        let compared =
            compare_with_guests(&model, IMAGE_BYTES, &results, so_far, &mut |cell, log| {
                if let Some(folder) = requests {
                    let written = write_requests(folder, cell, log);
                    failure = std::mem::replace(&mut failure, Ok(())).and(written);
                }
            });
        failure?;
        predictions = Some(compared.map_err(BenchCommandError::from)?);
    }
    let Some(predictions) = predictions else {
        return Err(LabError::Inside("nothing to run".to_owned()));
    };
    if let Some(path) = &arguments.json {
        let json = serde_json::to_vec_pretty(&predictions).unwrap_or_default();
        bench::write(path, &json)?;
    }
    if let Some(path) = &arguments.svg {
        let picture = render_picture(&predictions).to_svg();
        bench::write(path, picture.map_err(BenchCommandError::from)?.as_bytes())?;
    }
    Ok((render_page(&predictions), Exit::Fine))
}

/// The same cells under several rules of reclaim.
fn rule_by_rule(arguments: &LabPredict, sweep: &Sweep<'_>) -> Result<(String, Exit), LabError> {
    let named = |name: &String| {
        ReclaimChoice::ALL
            .into_iter()
            .find(|rule| rule.name() == name)
    };
    let mut predictions = ReclaimPredictions {
        rules: arguments.reclaim.iter().filter_map(named).collect(),
        cells: Vec::new(),
    };
    for name in &sweep.disks() {
        let model = disk::model(name)?;
        let results = measured(arguments, sweep, name)?;
        let compared = compare_reclaim(&model, IMAGE_BYTES, &results, &mut predictions);
        compared.map_err(BenchCommandError::from)?;
    }
    if predictions.cells.is_empty() {
        let why = "no pattern has a limit of memory, such as sep64@64m".to_owned();
        return Err(LabError::Inside(why));
    }
    Ok((predictions.text(), Exit::Fine))
}

/// What guests measure on the disk `name`, or have measured.
fn measured(arguments: &LabPredict, sweep: &Sweep<'_>, name: &str) -> Result<Results, LabError> {
    let kept = arguments.measured.as_ref();
    let kept = kept.map(|folder| folder.join(format!("{}.json", disk_name(name))));
    if let Some(results) = kept.as_deref().map(read).transpose()?.flatten() {
        return Ok(results);
    }
    let image = sweep.image()?;
    let results = sweep.on_disk(name, Some(TimeScale::REAL), &image)?;
    if let Some(path) = &kept {
        let json = serde_json::to_vec(&results).unwrap_or_default();
        bench::write(path, &json)?;
    }
    Ok(results)
}

/// Writes what the simulated disk had to do in a cell, beside what the guest's had.
fn write_requests(
    folder: &Path,
    cell: &PredictedCell,
    requests: &[DiskRequest],
) -> Result<(), LabError> {
    let mut text = String::from("arrived_ns,offset,bytes\n");
    for request in requests {
        let (at, offset) = (request.arrived_ns, request.offset);
        let _ = writeln!(text, "{at},{offset},{}", request.bytes);
    }
    let began = cell.measured.first().map_or(0, |run| run.began_ns);
    let name = format!("{}-{}-{}-{began}.csv", cell.disk, cell.scenario, cell.arm);
    Ok(bench::write(
        &folder.join(name.replace(':', "-")),
        text.as_bytes(),
    )?)
}

/// What was measured before, if it was.
fn read(path: &Path) -> Result<Option<Results>, LabError> {
    match fs::read(path) {
        Ok(text) => serde_json::from_slice(&text)
            .map(Some)
            .map_err(|error| LabError::Inside(format!("{}: {error}", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}
