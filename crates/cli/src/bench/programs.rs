//! `ahead bench programs`: options into a plan, programs into a table and a picture. What is measured, and how,
//! is the business of the harness.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ahead_harness::DiskChoice;
use ahead_harness::arm::Arm;
use ahead_harness::programs::list::{ProgramList, ProgramListError};
use ahead_harness::programs::results::{
    CacheState, ProgramOutcome, ProgramResults, ProgramRow, SPEED_MIN, middle,
};
use ahead_harness::programs::{ProgramsError, ProgramsPlan, ProgramsProgress};
use ahead_study::chart::{BarChart, Chart, ChartError};
use ahead_study::table;
use indicatif::ProgressBar;

use crate::arguments::{BenchPrograms, ProgramChoice};
use crate::exit::Exit;
use crate::progress::{self, Shows};
use crate::run::library::{LIBRARY_VARIABLE, Library, LibraryError};
use crate::signals::stop_flag;
use crate::{cache, disk, output, size};

/// In our cache folder: where `packaging/install-bench-programs` puts Python and its modules.
const INSTALLED: &str = "programs/bin";

/// Why nothing was measured, or not all.
#[derive(Debug, thiserror::Error)]
pub enum ProgramsCommandError {
    /// `--list`, `--program`.
    #[error(transparent)]
    List(#[from] ProgramListError),
    /// `--size`.
    #[error("--size: {0}")]
    Size(#[from] size::SizeError),
    /// No library.
    #[error("there is nothing to measure: {0}")]
    Library(#[from] LibraryError),
    /// `--set` where nothing has these settings.
    #[error("--set is for `ahead run`: the daemon reads its settings from /etc/ahead/ahead.toml")]
    Set,
    /// `--model`.
    #[error(transparent)]
    Model(#[from] disk::DiskCommandError),
    /// The bench itself.
    #[error(transparent)]
    Programs(#[from] ProgramsError),
    /// The picture.
    #[error(transparent)]
    Draw(#[from] ChartError),
    /// A result cannot be written.
    #[error("cannot write '{path}': {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something around the bench.
    #[error("cannot prepare the bench: {0}")]
    Prepare(io::Error),
}

impl ProgramsCommandError {
    /// How the program ends after this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::List(_) | Self::Size(_) | Self::Set => Exit::Usage,
            Self::Model(error) => error.exit(),
            _ => Exit::Failed,
        }
    }
}

/// Measures as asked, and returns the text to print and how to end.
///
/// # Errors
/// [`ProgramsCommandError`].
pub fn programs(arguments: &BenchPrograms) -> Result<(String, Exit), ProgramsCommandError> {
    let mut plan = plan(arguments)?;
    for path in [&arguments.json, &arguments.svg].into_iter().flatten() {
        write(path, b"")?;
    }
    plan.stop = stop_flag().map_err(ProgramsCommandError::Prepare)?;
    let bar = progress::bar(Shows::Parts, 0);
    let results = ahead_harness::programs::programs(&plan, &mut |progress| show(&bar, &progress));
    bar.finish_and_clear();
    let mut results = results?;
    if let Some(text) = &arguments.model {
        text.clone_into(&mut results.disk.name);
    }
    if let Some(path) = &arguments.json {
        write(path, &to_json(&results))?;
    }
    if arguments.prepare_only {
        return Ok((String::new(), Exit::Fine));
    }
    draw(&results, arguments.svg.as_deref(), arguments.check)
}

/// The table, the picture in `svg`, and how to end where slower programs are failures.
pub(crate) fn draw(
    results: &ProgramResults,
    svg: Option<&Path>,
    checks: bool,
) -> Result<(String, Exit), ProgramsCommandError> {
    if let Some(path) = svg {
        write(path, picture(results).to_svg()?.as_bytes())?;
    }
    // Another output is never fine.
    let fails = |row: &ProgramRow| checks || !row.is_same();
    let exit = if results.failures().any(fails) {
        Exit::Failed
    } else {
        Exit::Fine
    };
    Ok((render(results), exit))
}

pub(crate) fn to_json(results: &ProgramResults) -> Vec<u8> {
    serde_json::to_vec_pretty(results).unwrap_or_default()
}

/// The list of `choice`.
pub(crate) fn list(choice: &ProgramChoice) -> Result<ProgramList, ProgramListError> {
    let mut list = match &choice.list {
        Some(path) => match path.to_str().and_then(ProgramList::named) {
            Some(list) => list?,
            None => ProgramList::read(path)?,
        },
        None => ProgramList::ours()?,
    };
    if let Some(names) = &choice.data {
        list.select_data(names)?;
    }
    if let Some(names) = &choice.program {
        list.select(names)?;
    }
    Ok(list)
}

fn plan(arguments: &BenchPrograms) -> Result<ProgramsPlan, ProgramsCommandError> {
    let list = list(&arguments.choice)?;
    let arm = match &*arguments.arm {
        "daemon" => Arm::Daemon { is_static: false },
        _ => Arm::Run {
            settings: Vec::new(),
        },
    };
    if matches!(arm, Arm::Daemon { .. }) && !arguments.choice.set.is_empty() {
        return Err(ProgramsCommandError::Set);
    }
    if let Some(text) = &arguments.model {
        disk::model(text)?;
    }
    let disk_bytes = arguments.size.as_deref().map(size::parse).transpose()?;
    let program = std::env::current_exe().map_err(ProgramsCommandError::Prepare)?;
    let named = std::env::var_os(LIBRARY_VARIABLE);
    let library = Library::find(named.as_deref(), &program)?;
    let Ok(disk) = arguments.disk.parse::<DiskChoice>();
    Ok(ProgramsPlan {
        list,
        arm,
        disk,
        time_scale: arguments.scale.clone(),
        disk_bytes,
        cache: match &*arguments.choice.cache {
            "warm" => CacheState::Warm,
            _ => CacheState::Cold,
        },
        read_ahead_kib: arguments.read_ahead.parse().ok(),
        percent: arguments.choice.percent,
        rounds: arguments.rounds,
        rounds_max: arguments.rounds_max.max(arguments.rounds),
        narrow: arguments.narrow / 100.0,
        settings: arguments.choice.set.clone(),
        program,
        library_variable: LIBRARY_VARIABLE.to_owned(),
        library: library.path,
        path: path(),
        keep: arguments.keep,
        prepares_only: arguments.prepare_only,
        state_folder: "/run/ahead/bench".into(),
        stop: std::sync::Arc::default(),
    })
}

/// `PATH` with the folder in front that the installer of the programs fills.
pub(crate) fn path() -> OsString {
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let ours = cache::folder().map(|folder| folder.join(INSTALLED));
    let all = ours.into_iter().chain(std::env::split_paths(&usual));
    std::env::join_paths(all).unwrap_or(usual)
}

fn show(bar: &ProgressBar, progress: &ProgramsProgress<'_>) {
    let as_u64 = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let say = |line: String| {
        if progress::is_seen() {
            bar.println(line);
        } else {
            output::to_stderr(&format!("{line}\n"));
        }
    };
    match progress {
        ProgramsProgress::Making(data) => {
            bar.set_message(format!("making {}", data.about));
            say(format!("making {}", data.about));
        }
        ProgramsProgress::Started(number, total, program) => {
            bar.set_length(as_u64(*total));
            bar.set_position(as_u64(*number));
            bar.set_message(program.name.clone());
        }
        ProgramsProgress::Ended(number, total, row) => {
            bar.set_position(as_u64(number + 1));
            let found = match (&row.outcome, row.speed()) {
                (ProgramOutcome::LeftOut(reason), _) => format!("left out: {reason}"),
                (_, Some(speed)) => format!("× {:.3}", speed.value),
                (_, None) => String::new(),
            };
            say(format!(
                "[{:>2}/{total}] {:<18} {found}",
                number + 1,
                row.name
            ));
        }
    }
}

fn write(path: &Path, content: &[u8]) -> Result<(), ProgramsCommandError> {
    std::fs::write(path, content).map_err(|source| ProgramsCommandError::Write {
        path: path.to_owned(),
        source,
    })
}

fn render(results: &ProgramResults) -> String {
    let has_ceilings = results.rows.iter().any(|row| row.ceiling_speed().is_some());
    let other = other(results);
    let seconds = format!("{other} s");
    let mut titles = vec!["program", "plain s", &seconds, "speed", "95 of 100"];
    titles.extend(has_ceilings.then_some("ceiling"));
    titles.extend(["disk MB", other]);
    // All of it does not fit. What a tree costs is the disk's time.
    let has_requests = !has_ceilings && is_daemon(results);
    let has_cpu = !has_ceilings && !has_requests;
    if has_requests {
        // Where a machine is busy, they say more than times.
        titles.extend(["requests", other]);
    }
    if has_cpu {
        titles.extend(["CPU s", other]);
    }
    let mut table = table::with_titles(&titles, 1..titles.len());
    let mut remarks = String::new();
    for row in &results.rows {
        let mut cells = vec![row.name.clone()];
        match (&row.outcome, row.speed()) {
            (ProgramOutcome::Measured { plain, with, .. }, Some(speed)) => {
                let seconds = |runs| middle(runs, |run| run.elapsed_ns) / 1e9;
                let megabytes = |runs| middle(runs, |run| run.device_bytes) / 1e6;
                let cpu = |runs| middle(runs, |run| run.cpu_ns) / 1e9;
                cells.extend([
                    format!("{:.2}", seconds(plain)),
                    format!("{:.2}", seconds(with)),
                    format!("{:.2}", speed.value),
                    format!("{:.2}–{:.2}", speed.interval.low, speed.interval.high),
                ]);
                if has_ceilings {
                    let ceiling = row.ceiling_speed();
                    cells.push(ceiling.map_or_else(String::new, |it| format!("{:.2}", it.value)));
                }
                let sides = [plain, with];
                cells.extend(sides.map(|runs| format!("{:.0}", megabytes(runs))));
                if has_requests {
                    cells.extend(
                        sides.map(|runs| format!("{:.0}", middle(runs, |run| run.device_requests))),
                    );
                }
                if has_cpu {
                    cells.extend(sides.map(|runs| format!("{:.2}", cpu(runs))));
                }
            }
            (ProgramOutcome::LeftOut(reason), _) => {
                let _ = writeln!(remarks, "{} was left out: {reason}.", row.name);
                continue;
            }
            (ProgramOutcome::Measured { .. }, None) => continue,
        }
        table.add_row(cells);
    }
    format!("{}{table}\n{}{remarks}", heading(results), summary(results))
}

fn is_daemon(results: &ProgramResults) -> bool {
    matches!(results.arm, Arm::Daemon { .. })
}

/// The arm beside the plain one, as the title of a column.
fn other(results: &ProgramResults) -> &'static str {
    if is_daemon(results) {
        "daemon"
    } else {
        "ahead"
    }
}

/// The same in a sentence.
fn arm_text(results: &ProgramResults) -> &'static str {
    if is_daemon(results) {
        "beside ahead daemon"
    } else {
        "under ahead run"
    }
}

fn heading(results: &ProgramResults) -> String {
    let state = match results.cache {
        CacheState::Cold => "nothing in memory",
        CacheState::Warm => "data in memory",
    };
    let size = match results.percent {
        100 => String::new(),
        percent => format!(", {percent} % of the data"),
    };
    let (machine, disk) = (&results.machine, &results.disk);
    format!(
        "Programs by themselves and {}: {} UTC, Linux {}, {} CPUs\n\
         {}: {}; {state}{size}; read-ahead {} KiB\n",
        arm_text(results),
        results.began,
        machine.kernel,
        machine.cpus,
        disk.name,
        disk.description,
        results.read_ahead_kib
    )
}

fn summary(results: &ProgramResults) -> String {
    let mut text = String::new();
    let measured = results.rows.iter().filter(|row| row.runs().is_some());
    if let (Some(all), Some(without)) = (results.mean_speed(true), results.mean_speed(false)) {
        let _ = writeln!(
            text,
            "{} programs, geometric mean × {all:.2}, without trees × {without:.2}",
            measured.count(),
        );
    }
    let ceilings = (results.mean_ceiling(true), results.mean_ceiling(false));
    if let (Some(all), Some(without)) = ceilings {
        let _ = writeln!(text, "Ceiling: × {all:.2}, without trees × {without:.2}");
    }
    let mut name = |what: &str, is_it: &dyn Fn(&ProgramRow) -> bool| {
        let rows = results.rows.iter().filter(|row| is_it(row));
        let names: Vec<&str> = rows.map(|row| &*row.name).collect();
        let all = if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        };
        let _ = writeln!(text, "{what}: {all}");
    };
    name(
        &format!("Slower than {SPEED_MIN} of plain"),
        &ProgramRow::is_slowed,
    );
    name("Other output", &|row| !row.is_same());
    text += &daemon_costs(results);
    text
}

/// What the daemon took for itself; nothing where there was none.
fn daemon_costs(results: &ProgramResults) -> String {
    let rows = results.rows.iter().filter_map(ProgramRow::runs);
    let runs: Vec<_> = rows.flat_map(|(_, with)| with).collect();
    let memory = runs.iter().filter_map(|run| run.daemon_memory_bytes).max();
    let Some(bytes_max) = memory else {
        return String::new();
    };
    let cpu = runs.iter().filter_map(|run| run.daemon_cpu_ns).sum::<u64>();
    let elapsed = runs.iter().map(|run| run.elapsed_ns).sum::<u64>();
    let seconds = |ns: u64| Duration::from_nanos(ns).as_secs_f64();
    format!(
        "The daemon: {:.1} s of CPU with its starts, in {:.1} s of programs; {} MB of memory at most\n",
        seconds(cpu),
        seconds(elapsed),
        bytes_max / 1_000_000
    )
}

/// For each program how long it took in the other arm, where 1 is as long as by itself.
fn picture(results: &ProgramResults) -> Chart {
    let mut groups = Vec::new();
    let mut times = Vec::new();
    for row in &results.rows {
        if let Some(speed) = row.speed() {
            groups.push(row.name.clone());
            times.push(1.0 / speed.value);
        }
    }
    Chart::Bars(BarChart {
        title: format!(
            "Programs on {}: time {} ÷ time without",
            results.disk.name,
            arm_text(results)
        ),
        y_label: "time, plain = 1".to_owned(),
        groups,
        bars: vec![(arm_text(results).to_owned(), times)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ahead_harness::programs::results::{Digest, ProgramRun};

    fn row(name: &str, plain_ms: u64, with_ms: u64, with_crc: u32) -> ProgramRow {
        let run = |ms: u64, crc| ProgramRun {
            elapsed_ns: ms * 1_000_000,
            cpu_ns: 12_345_678_901,
            device_bytes: 12_345_678_901,
            device_requests: 1,
            output: Digest { bytes: 1, crc },
            ..ProgramRun::default()
        };
        ProgramRow {
            name: name.to_owned(),
            about: String::new(),
            is_tree: false,
            outcome: ProgramOutcome::Measured {
                plain: vec![run(plain_ms, 1); 3],
                with: vec![run(with_ms, with_crc); 3],
                ceiling: Vec::new(),
            },
        }
    }

    fn results(rows: Vec<ProgramRow>) -> ProgramResults {
        ProgramResults {
            version: 1,
            began: "2025-01-31 12:00".into(),
            machine: ahead_harness::results::MachineFacts::default(),
            disk: ahead_harness::results::TestedDisk::default(),
            arm: Arm::Run {
                settings: Vec::new(),
            },
            list: String::new(),
            cache: CacheState::Cold,
            read_ahead_kib: 128,
            percent: 10,
            rows,
        }
    }

    /// The longest names of our list, and more seconds and megabytes than any has needed.
    #[test]
    fn the_table_is_no_wider_than_a_hundred_columns() {
        let list = ProgramList::ours().expect("ours");
        let rows = list.programs.iter();
        let text = render(&results(
            rows.map(|one| row(&one.name, 1_234_560, 12_340, 1))
                .collect(),
        ));
        for line in text.lines() {
            let width = line.chars().count();
            assert!(width <= 100, "{width}: {line}");
        }
        assert!(text.contains(" postgres-two-scans "), "{text}");
        assert!(text.contains("Slower than 0.98 of plain: none\n"), "{text}");
    }

    /// What the disk was asked for, and what the daemon took for itself, stand in place of the programs' processor time.
    #[test]
    fn the_table_of_the_daemon_has_its_costs_and_is_as_wide() {
        let mut run = row("postgres-four-scans", 1_234_560, 12_340, 1);
        if let ProgramOutcome::Measured { with, .. } = &mut run.outcome {
            for run in with {
                run.device_requests = 123_456;
                run.daemon_cpu_ns = Some(12_340_000_000);
                run.daemon_memory_bytes = Some(23_000_000);
            }
        }
        let mut results = results(vec![run]);
        results.arm = Arm::Daemon { is_static: false };
        let text = render(&results);
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
        assert!(text.contains("beside ahead daemon:"), "{text}");
        assert!(text.contains(" 123456 "), "{text}");
        assert!(
            text.contains("\nThe daemon: 37.0 s of CPU with its starts,"),
            "{text}"
        );
        assert!(text.contains("; 23 MB of memory at most\n"), "{text}");
    }

    /// One who knows the list stands beside the program, in place of what the processor did.
    #[test]
    fn the_table_of_trees_has_the_ceiling_and_is_as_wide() {
        let list = ProgramList::named("trees").expect("there").expect("right");
        let with_ceiling = |name: &str| {
            let mut row = row(name, 1_234_560, 12_340, 1);
            if let ProgramOutcome::Measured { with, ceiling, .. } = &mut row.outcome {
                ceiling.clone_from(with);
            }
            row
        };
        let rows = list.programs.iter().map(|one| with_ceiling(&one.name));
        let text = render(&results(rows.collect()));
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
        assert!(text.contains(" tree-python-large-aged "), "{text}");
        assert!(
            text.contains(" ceiling ") && !text.contains("CPU s"),
            "{text}"
        );
    }

    #[test]
    fn what_is_slower_or_writes_something_else_is_named_and_fails() {
        let rows = vec![
            row("good", 100, 100, 1),
            row("slow", 100, 110, 1),
            row("bad", 100, 50, 2),
        ];
        let end = |rows: &[ProgramRow], checks| {
            let (text, exit) = draw(&results(rows.to_vec()), None, checks).expect("drawn");
            (text, exit)
        };
        let (text, exit) = end(&rows, false);
        assert!(text.contains("Slower than 0.98 of plain: slow\n"), "{text}");
        assert!(text.contains("Other output: bad\n"), "{text}");
        assert_eq!(exit, Exit::Failed);
        assert_eq!(end(&rows[..2], false).1, Exit::Fine);
        assert_eq!(end(&rows[..2], true).1, Exit::Failed);
    }
}
