//! `ahead lab bench`: the bench's patterns and arms in guests, as tables, JSON and pictures.

use ahead_disk_model::TimeScale;

use super::arms;
use super::error::LabError;
use super::machine::{disk_name, file_system, results_folder};
use super::patterns::Sweep;
use crate::arguments::LabBench;
use crate::bench;
use crate::exit::Exit;

pub(super) fn bench(arguments: &LabBench) -> Result<(String, Exit), LabError> {
    let scale = arguments.scale.as_deref().map(str::parse::<TimeScale>);
    let scale = scale.transpose().map_err(LabError::Scale)?;
    let arms = arms::OF_THE_BENCH.parse(&arguments.arm)?;
    let repeat = [format!("--repeat={}", arguments.repeat)];
    let mut sweep = Sweep::new(&arguments.patterns, arms, repeat, None)?;
    sweep.file_system = file_system(&arguments.fs);
    for folder in [&arguments.json, &arguments.svg].into_iter().flatten() {
        results_folder(folder)?;
    }
    let image = sweep.image()?;
    let mut text = String::new();
    for disk in &sweep.disks() {
        let results = sweep.on_disk(disk, scale, &image)?;
        let name = disk_name(disk);
        if let Some(folder) = &arguments.json {
            let json = serde_json::to_vec_pretty(&results).unwrap_or_default();
            bench::write(&folder.join(format!("{name}.json")), &json)?;
        }
        let svg = arguments.svg.as_ref();
        let svg = svg.map(|folder| folder.join(format!("{name}.svg")));
        text += &bench::draw(&results, svg.as_deref())?;
    }
    Ok((text, Exit::Fine))
}
