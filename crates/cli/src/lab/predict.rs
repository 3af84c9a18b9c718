//! `ahead lab predict`: guests as the referee of the simulator.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use ahead_disk_model::TimeScale;
use ahead_harness::Results;
use ahead_harness::predict::{
    DiskRequest, PredictedCell, compare_with_guests, render_page, render_picture,
};

use ahead_workload::tree::Tree;

use super::error::LabError;
use super::machine::disk_name;
use super::patterns::{IMAGE_BYTES, Sweep};
use super::trees;
use crate::arguments::LabPredict;
use crate::bench::{self, BenchCommandError};
use crate::disk;
use crate::exit::Exit;

pub(super) fn predict(arguments: &LabPredict) -> Result<(String, Exit), LabError> {
    if let Some(tree) = arguments.tree.as_deref().and_then(Tree::find) {
        return trees::predict(arguments, tree.scaled(arguments.percent));
    }
    let options = [
        "--places".to_owned(),
        "--repeat=1".to_owned(),
        format!("--seed={}", arguments.seed),
    ];
    let requests = arguments.requests.as_deref();
    let sweep = Sweep::new(&arguments.patterns, &arguments.arm, options, requests)?;
    let folders = [&arguments.measured, &arguments.requests];
    for folder in folders.into_iter().flatten() {
        fs::create_dir_all(folder)?;
    }
    let mut predictions = None;
    for name in sweep.disks() {
        let model = disk::model(name)?;
        let kept = arguments.measured.as_ref();
        let kept = kept.map(|folder| folder.join(format!("{}.json", disk_name(name))));
        let results = match kept.as_deref().map(read).transpose()?.flatten() {
            Some(results) => results,
            None => {
                let image = sweep.image()?;
                let results = sweep.on_disk(name, Some(TimeScale::REAL), &image)?;
                if let Some(path) = &kept {
                    let json = serde_json::to_vec(&results).unwrap_or_default();
                    bench::write(path, &json)?;
                }
                results
            }
        };
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
