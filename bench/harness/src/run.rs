//! A whole bench run: disk, files, all patterns in all arms, interleaved, and everything put back.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use ahead_workload::Scenario;

use crate::arm::{Arm, expand};
use crate::calendar::utc_minutes;
use crate::dataset::Dataset;
pub use crate::error::BenchError;
use crate::execute::Bench;
use crate::ground::{Ground, machine};
use crate::kernel_policy::KernelPolicy;
use crate::places::PlacedFiles;
use crate::plan::{BenchPlan, BenchProgress, DiskChoice};
use crate::results::{Results, RunName, VERSION};

/// Runs `plan`. After an error, as after success, the machine is as it was before.
pub fn run(
    plan: &BenchPlan,
    on_progress: &mut dyn FnMut(BenchProgress<'_>),
) -> Result<Results, BenchError> {
    let arms = expand(&plan.arms, &plan.sweep_kib);
    if plan.scenarios.is_empty() || arms.is_empty() || plan.repeat == 0 {
        return Err(BenchError::NothingToRun);
    }
    if arms.iter().any(|arm| matches!(arm, Arm::Run { .. })) {
        let preload = plan.preload.as_ref().ok_or(BenchError::NoLibrary)?;
        check_library(&preload.library)?;
    }
    for arm in arms.iter().filter(|arm| matches!(arm, Arm::Daemon { .. })) {
        check_daemon(plan, arm)?;
    }
    if arms.contains(&Arm::Patched) && !KernelPolicy::is_known() {
        return Err(BenchError::NotPatched);
    }
    let mut ground = Ground::make(plan)?;
    if let Some((name, model)) = &plan.known_model {
        ground.target.is_known_as(name, model);
    }
    if let Some(bytes) = plan.hole_bytes_max {
        ground.target.pricing.hole_bytes_max = bytes;
    }
    let outcome = run_on(plan, &mut ground, &arms, on_progress);
    ground.clear()?;
    outcome
}

fn run_on(
    plan: &BenchPlan,
    ground: &mut Ground,
    arms: &[Arm],
    on_progress: &mut dyn FnMut(BenchProgress<'_>),
) -> Result<Results, BenchError> {
    let dataset = Dataset::prepare(
        &ground.target.folder,
        ground.target.percent_max,
        &plan.planned_files(),
        plan.wants_presets(),
        &mut |done, total| on_progress(BenchProgress::Preparing { done, total }),
    )?;
    ground.note_read_ahead()?;
    let bench = Bench {
        plan,
        target: &ground.target,
        dataset: &dataset,
        folder: ground.folder(),
    };
    let outcome = run_all(&bench, arms, on_progress);
    ground.restore_read_ahead()?;
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
        out_of_memory: Vec::new(),
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
    on_progress(BenchProgress::SoFar(&results));
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
        match bench.execute(scenario, arm, repeat) {
            Ok(record) => {
                on_progress(BenchProgress::Ended {
                    number,
                    total,
                    record: &record,
                });
                results.runs.push(record);
            }
            // That is what this arm does with so much memory, and the others may do better.
            Err(BenchError::OutOfMemory { .. }) => {
                on_progress(BenchProgress::OutOfMemory {
                    number,
                    total,
                    scenario,
                    arm,
                });
                results.out_of_memory.push(RunName {
                    scenario: scenario.clone(),
                    arm: arm.clone(),
                    repeat,
                });
            }
            Err(error) => return Err(error),
        }
        on_progress(BenchProgress::SoFar(&results));
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

/// Whether the arm `daemon` or `daemon:static` has what it needs.
fn check_daemon(plan: &BenchPlan, arm: &Arm) -> Result<(), BenchError> {
    let missing = |what| BenchError::NoDaemon {
        arm: arm.clone(),
        what,
    };
    let commands = plan.daemon.as_ref().ok_or_else(|| missing("the daemon"))?;
    let is_static = *arm == Arm::Daemon { is_static: true };
    if is_static && commands.static_reader.is_none() {
        return Err(missing("a reader that is linked statically"));
    }
    Ok(())
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
    fn a_daemon_arm_without_what_it_needs_is_refused_before_anything_is_measured() {
        let command = || crate::plan::ReaderCommand::of_disk_server(Path::new("ahead"));
        let mut plan = BenchPlan::new(DiskChoice::Emulated("hdd".into()), command());
        let (shared, linked): (Arm, Arm) =
            ("daemon".parse().unwrap(), "daemon:static".parse().unwrap());
        let said = check_daemon(&plan, &shared).unwrap_err().to_string();
        assert!(said.contains("`daemon` needs the daemon"), "{said}");
        plan.daemon = Some(crate::plan::DaemonCommands {
            daemon: command(),
            static_reader: None,
        });
        check_daemon(&plan, &shared).unwrap();
        let said = check_daemon(&plan, &linked).unwrap_err().to_string();
        assert!(said.contains("linked statically"), "{said}");
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
