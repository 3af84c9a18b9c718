//! Real programs in guests, with and without `ahead run`: `ahead bench programs` inside, a guest for each program,
//! on an image with all data that every guest may change for itself.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use ahead_disk_model::TimeScale;
use ahead_guest::init::in_guest;
use ahead_guest::{Console, GuestError, Task};
use ahead_harness::calendar::utc_minutes;
use ahead_harness::programs::list::{BenchProgram, ProgramList};
use ahead_harness::programs::results::ProgramResults;
use ahead_study::parallel;

use super::bound;
use super::error::LabError;
use super::image::{Image, MAKING_DISK};
use super::machine::{
    bench_command, bench_in, disk_name, file_system, guest_of, memory_of, results_folder,
    shared_folder,
};
use crate::arguments::{LabPrograms, ProgramChoice};
use crate::bench::programs::{draw, list, path, to_json};
use crate::exit::Exit;
use crate::progress;
use crate::signals::stop_flag;
use ahead_study::typed;

/// Of the image: the data of our list, and the tables of a file system.
const IMAGE_BYTES: u64 = 6 << 30;
/// Every round takes the same time.
const ONE_ROUND: [&str; 2] = ["--rounds=1", "--rounds-max=1"];

pub(super) fn programs(arguments: &LabPrograms) -> Result<(String, Exit), LabError> {
    let choice = &arguments.choice;
    let list = list(choice).map_err(|error| LabError::Programs(error.into()))?;
    for folder in [&arguments.json, &arguments.svg].into_iter().flatten() {
        results_folder(folder)?;
    }
    let memory_bytes = memory_of(&arguments.memory)?;
    let stop = stop_flag()?;
    let of_list = format!("{}-{}-{}-", list_name(choice), arguments.fs, choice.percent);
    let image = Image {
        name: format!("{of_list}{:08x}", crc32fast::hash(recipe(&list).as_bytes())),
        replaces: Some(of_list),
        bytes: IMAGE_BYTES,
        about: "the data of the programs",
        command: bench_command(
            "programs",
            MAKING_DISK,
            options(choice, ["--prepare-only"])?,
        )?,
        environment: environment()?,
        kernel: &arguments.kernel,
        file_system: file_system(&arguments.fs),
        memory_bytes,
    };
    let image = image.find(&stop)?;
    let (mut text, mut exit) = (String::new(), Exit::Fine);
    for disk in &typed::list(&arguments.disk) {
        let results = on_disk(arguments, &list, disk, &image, memory_bytes, &stop)?;
        let name = disk_name(disk);
        if let Some(folder) = &arguments.json {
            fs::write(folder.join(format!("{name}.json")), to_json(&results))?;
        }
        let svg = arguments.svg.as_ref();
        let svg = svg.map(|folder| folder.join(format!("{name}.svg")));
        let (table, end) = draw(&results, svg.as_deref(), arguments.check)?;
        text += &table;
        if end != Exit::Fine {
            exit = end;
        }
    }
    Ok((text, exit))
}

/// What images with the data of a list are called.
fn list_name(choice: &ProgramChoice) -> String {
    let stem = choice.list.as_ref().and_then(|path| path.file_stem());
    let named = stem.map(|stem| stem.to_string_lossy().into_owned());
    named.unwrap_or_else(|| "programs".to_owned())
}

/// Everything that says what is on an image with the data of `list`.
fn recipe(list: &ProgramList) -> String {
    let made = list
        .data
        .iter()
        .map(|data| format!("{}\n{}\n", data.name, data.make));
    made.collect()
}

/// The programs of this machine, where a guest finds them.
fn environment() -> Result<Vec<(OsString, OsString)>, LabError> {
    let found = std::env::split_paths(&path())
        .map(|folder| in_guest(&folder))
        .collect::<Vec<_>>();
    let path = std::env::join_paths(found).map_err(io::Error::other)?;
    Ok(vec![("PATH".into(), path)])
}

/// Options of `ahead bench programs` in a guest.
fn options<const N: usize>(
    choice: &ProgramChoice,
    more: [&str; N],
) -> Result<Vec<String>, LabError> {
    let mut all = vec![
        format!("--cache={}", choice.cache),
        format!("--percent={}", choice.percent),
    ];
    if let Some(path) = &choice.list {
        let is_named = path.to_str().and_then(ProgramList::named).is_some();
        let path = match is_named {
            true => path.clone(),
            false => in_guest(&std::path::absolute(path)?),
        };
        all.push(format!("--list={}", path.display()));
    }
    if let Some(names) = &choice.program {
        all.push(format!("--program={names}"));
    }
    if let Some(names) = &choice.data {
        all.push(format!("--data={names}"));
    }
    all.extend(choice.set.iter().map(|pair| format!("--set={pair}")));
    all.extend(more.map(str::to_owned));
    Ok(all)
}

fn on_disk(
    arguments: &LabPrograms,
    list: &ProgramList,
    disk: &str,
    image: &Path,
    memory_bytes: u64,
    stop: &AtomicBool,
) -> Result<ProgramResults, LabError> {
    let mut guest = guest_of(&arguments.kernel, disk)?;
    guest.disk.image = Some(image.to_owned());
    guest.disk.bytes = IMAGE_BYTES;
    guest.disk.scale = TimeScale::REAL;
    guest.memory_bytes = memory_bytes;
    guest.console = Console::Kept;
    let measure = |program: &BenchProgram| -> Result<ProgramResults, LabError> {
        let choice = ProgramChoice {
            program: Some(program.name.clone()),
            ..arguments.choice.clone()
        };
        let mut guest = guest.clone();
        guest.task = Task {
            is_blank: false,
            file_system: file_system(&arguments.fs),
            environment: environment()?,
            ..Task::new(bench_command(
                "programs",
                disk,
                options(&choice, ONE_ROUND)?,
            )?)
        };
        let (run, mut results): (_, ProgramResults) =
            bench_in(&guest, &shared_folder()?, stop, &program.name)?;
        for row in &mut results.rows {
            bound::add(&mut row.outcome, &run.requests, &guest.disk);
        }
        Ok(results)
    };
    let began = utc_minutes(SystemTime::now());
    let bar = progress::bar(
        progress::Shows::Parts,
        u64::try_from(list.programs.len()).unwrap_or(0),
    );
    let mut found: Vec<Option<ProgramResults>> = list.programs.iter().map(|_| None).collect();
    let mut failure = None;
    parallel::for_each(&list.programs, measure, |index, result| {
        bar.inc(1);
        match result {
            Ok(results) => found[index] = Some(results),
            Err(error) => failure = failure.take().or(Some(error)),
        }
        failure.is_none() && !stop.load(Ordering::Relaxed)
    });
    bar.finish_and_clear();
    if let Some(error) = failure {
        return Err(error);
    }
    if stop.load(Ordering::Relaxed) {
        return Err(LabError::Guest(GuestError::Stopped));
    }
    let mut all: Option<ProgramResults> = None;
    for results in found.into_iter().flatten() {
        match &mut all {
            Some(all) => all.rows.extend(results.rows),
            None => all = Some(results),
        }
    }
    let mut all = all.ok_or(LabError::Guest(GuestError::Stopped))?;
    disk_name(disk).clone_into(&mut all.disk.name);
    // A guest knows neither; its clock begins in 1970.
    guest
        .disk
        .model
        .kind()
        .clone_into(&mut all.disk.description);
    all.began = began;
    Ok(all)
}
