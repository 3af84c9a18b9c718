//! A whole bench run: disk, files, all patterns in all arms, interleaved, and everything put back.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use ahead_sys::meminfo::MemoryInfo;
use ahead_workload::Scenario;

use crate::arm::{Arm, expand};
use crate::calendar::utc_minutes;
use crate::dataset::Dataset;
pub use crate::error::BenchError;
use crate::execute::Bench;
use crate::journal::Journal;
use crate::places::PlacedFiles;
use crate::plan::{BenchPlan, BenchProgress, DiskChoice};
use crate::results::{MachineFacts, Results, VERSION};
use crate::target::Target;

/// Runs `plan`. After an error, as after success, the machine is as it was before.
pub fn run(
    plan: &BenchPlan,
    on_progress: &mut dyn FnMut(BenchProgress<'_>),
) -> Result<Results, BenchError> {
    let arms = expand(&plan.arms, &plan.sweep_kib);
    if plan.scenarios.is_empty() || arms.is_empty() || plan.repeat == 0 {
        return Err(BenchError::NothingToRun);
    }
    if !rustix::process::geteuid().is_root() {
        return Err(BenchError::NotRoot);
    }
    if arms.iter().any(|arm| matches!(arm, Arm::Run { .. })) {
        let preload = plan.preload.as_ref().ok_or(BenchError::NoLibrary)?;
        check_library(&preload.library)?;
    }
    let notes = |source| BenchError::Machine {
        what: "cannot keep notes in the state folder",
        source,
    };
    let (mut journal, orphans) = Journal::open(&plan.state_folder).map_err(notes)?;
    for disk in orphans {
        // Whatever is left of it, the disks' own records know; it may be gone altogether.
        let _ = ahead_disk_emulator::destroy(&disk);
    }
    let made = match &plan.disk {
        DiskChoice::Folder(folder) => Target::of_folder(folder),
        DiskChoice::Emulated(model) => Target::create(plan, model, &mut |name| {
            journal.note_disk(Some(name.to_owned()))
        }),
    };
    let mut target = match made {
        Ok(target) => target,
        Err(error) => {
            // A disk that could not be made leaves nothing behind.
            let _ = journal.note_disk(None);
            return Err(error.into());
        }
    };
    if let Some((name, model)) = &plan.known_model {
        target.is_known_as(name, model);
    }
    if let Some(bytes) = plan.hole_bytes_max {
        target.pricing.hole_bytes_max = bytes;
    }
    let outcome = run_on(plan, &target, &mut journal, &arms, on_progress);
    if matches!(plan.disk, DiskChoice::Emulated(_)) && !plan.keep {
        target.destroy()?;
        journal.note_disk(None).map_err(notes)?;
    }
    outcome
}

fn run_on(
    plan: &BenchPlan,
    target: &Target,
    journal: &mut Journal,
    arms: &[Arm],
    on_progress: &mut dyn FnMut(BenchProgress<'_>),
) -> Result<Results, BenchError> {
    let dataset = Dataset::prepare(
        &target.folder,
        target.percent_max,
        &plan.planned_files(),
        plan.wants_presets(),
        &mut |done, total| on_progress(BenchProgress::Preparing { done, total }),
    )?;
    journal
        .note_read_ahead(&target.queue)
        .map_err(|source| match source.kind() {
            io::ErrorKind::ResourceBusy => BenchError::Busy {
                disk: target.disk.name.clone(),
            },
            _ => BenchError::Machine {
                what: "cannot keep notes in the state folder",
                source,
            },
        })?;
    let folder = journal.folder().to_owned();
    let bench = Bench {
        plan,
        target,
        dataset: &dataset,
        folder: &folder,
    };
    let outcome = run_all(&bench, arms, on_progress);
    journal
        .restore_read_ahead()
        .map_err(|source| BenchError::Machine {
            what: "cannot put read_ahead_kb back",
            source,
        })?;
    if matches!(plan.disk, DiskChoice::Folder(_)) && !plan.keep {
        dataset.remove()?;
    }
    outcome
}

fn run_all(
    bench: &Bench<'_>,
    arms: &[Arm],
    on_progress: &mut dyn FnMut(BenchProgress<'_>),
) -> Result<Results, BenchError> {
    let plan = bench.plan;
    let steps = order(&plan.scenarios, arms, plan.repeat);
    let total = steps.len();
    let mut results = Results {
        version: VERSION,
        began: utc_minutes(std::time::SystemTime::now()),
        machine: machine(),
        disk: bench.target.disk.clone(),
        seed: plan.seed,
        limits: plan.limits,
        arms: plan.arms.clone(),
        sweep_kib: plan.sweep_kib.clone(),
        scenarios: plan.scenarios.clone(),
        runs: Vec::with_capacity(total),
        places: Vec::new(),
    };
    if plan.looks_up_places {
        for scenario in &plan.scenarios {
            results.places.push(PlacedFiles {
                scenario: scenario.clone(),
                files: bench.look_up(scenario)?.files,
            });
        }
    }
    for (number, (repeat, scenario, arm)) in steps.into_iter().enumerate() {
        if plan.stop.load(Ordering::Relaxed) {
            return Err(BenchError::Stopped);
        }
        on_progress(BenchProgress::Started {
            number,
            total,
            scenario,
            arm,
        });
        let record = bench.execute(scenario, arm, repeat)?;
        on_progress(BenchProgress::Ended {
            number,
            total,
            record: &record,
        });
        results.runs.push(record);
    }
    Ok(results)
}

/// Every pattern in every arm, so often. Arms of one pattern follow one another, and every other
/// repeat turns their order round (A B B A), so that a machine that gets slower or faster with
/// time favours none. Patterns that run from memory have no ceiling.
fn order<'a>(
    scenarios: &'a [Scenario],
    arms: &'a [Arm],
    repeats: u32,
) -> Vec<(u32, &'a Scenario, &'a Arm)> {
    let mut steps = Vec::new();
    for repeat in 0..repeats {
        for scenario in scenarios {
            let fits = |arm: &&Arm| !(scenario.cached && **arm == Arm::Ceiling);
            let mut turn: Vec<&Arm> = arms.iter().filter(fits).collect();
            if repeat % 2 == 1 {
                turn.reverse();
            }
            steps.extend(turn.into_iter().map(|arm| (repeat, scenario, arm)));
        }
    }
    steps
}

pub(crate) fn machine() -> MachineFacts {
    let memory = MemoryInfo::read(Path::new("/proc")).unwrap_or_default();
    let release = rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned();
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    MachineFacts {
        kernel: release,
        cpus: u64::try_from(cpus).unwrap_or(1),
        memory_bytes: memory.total_bytes.unwrap_or(0),
    }
}

/// The loader only warns about a library that it cannot load, so we look beforehand.
fn check_library(path: &Path) -> Result<(), BenchError> {
    let bad = |reason| BenchError::BadLibrary {
        path: path.to_owned(),
        reason,
    };
    let library = head(path).ok_or(BenchError::NoLibrary)?;
    if !library.starts_with(b"\x7fELF") {
        return Err(bad("it is no shared library"));
    }
    // Class, byte order and machine have to be those of this program.
    let ours = std::env::current_exe().ok().and_then(|path| head(&path));
    if let Some(ours) = ours
        && (ours.get(4..6) != library.get(4..6) || ours.get(18..20) != library.get(18..20))
    {
        return Err(bad("it was built for another kind of processor"));
    }
    Ok(())
}

fn head(path: &Path) -> Option<[u8; 20]> {
    let mut bytes = [0; 20];
    let mut file = fs::File::open(path).ok()?;
    io::Read::read_exact(&mut file, &mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_follow_one_another_and_turn_round() {
        let scenarios = ahead_workload::scenario::parse_list("seq4k,cached:one2").unwrap();
        let arms = crate::arm::parse_list("off,run,ceiling").unwrap();
        let steps: Vec<_> = order(&scenarios, &arms, 2)
            .into_iter()
            .map(|(repeat, scenario, arm)| format!("{repeat} {scenario} {arm}"))
            .collect();
        assert_eq!(
            steps,
            [
                "0 seq4k off",
                "0 seq4k run",
                "0 seq4k ceiling",
                "0 cached:one2 off",
                "0 cached:one2 run",
                "1 seq4k ceiling",
                "1 seq4k run",
                "1 seq4k off",
                "1 cached:one2 run",
                "1 cached:one2 off",
            ]
        );
    }

    #[test]
    fn a_text_file_is_no_library() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "this is a text, and a long one").unwrap();
        assert!(matches!(
            check_library(file.path()),
            Err(BenchError::BadLibrary { .. })
        ));
        let missing = check_library(Path::new("/does/not/exist.so"));
        assert!(matches!(missing, Err(BenchError::NoLibrary)));
    }
}
