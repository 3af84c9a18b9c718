//! `ahead bench`: a command line into a plan, progress onto a terminal, results into files.

pub mod overhead;
pub mod programs;

use std::io;
use std::path::{Path, PathBuf};

use ahead_device::whole_file;
use ahead_disk_model::TimeScale;
use ahead_disk_model::time_scale::TimeScaleError;
use ahead_harness::arm::{Arm, ParseArmError};
use ahead_harness::planned::{self, PlannedError};
use ahead_harness::predict::{PredictError, PredictPlan, Predictions};
use ahead_harness::results::{Limits, RunRecord};
use ahead_harness::{
    BenchPlan, BenchProgress, DaemonCommands, DiskChoice, Preload, ReaderCommand, Results,
};
use ahead_study::plan::PlanError;
use ahead_study::table;
use ahead_workload::presets::PRESETS;
use ahead_workload::scenario::{self, ParseScenarioError};
use indicatif::ProgressBar;
use serde_json::json;

use crate::arguments::{Bench, BenchPredict, BenchRun};
use crate::exit::Exit;
use crate::progress::{self, Shows};
use crate::run::library::{LIBRARY_VARIABLE, Library, LibraryError};
use crate::run::{SETTINGS_VARIABLE, about_this_machine, devices, group};
use crate::signals::stop_flag;
use crate::{disk, output, size};

/// First argument of the process that reads; the rest is the bench's own business.
pub const READER_ARGUMENT: &str = "__bench-reader";

/// The program once more, linked statically (`make static`): the reader of the arm `daemon:static`. Beside the program,
/// or where [`STATIC_VARIABLE`] says.
const STATIC_NAME: &str = "ahead-static";
const STATIC_VARIABLE: &str = "AHEAD_STATIC";

/// Why a bench command failed.
#[derive(Debug, thiserror::Error)]
pub enum BenchCommandError {
    /// `--pattern`.
    #[error("--pattern: {0}")]
    Pattern(#[from] ParseScenarioError),
    /// `--patterns` of `ahead bench predict`.
    #[error("--patterns: {0}")]
    Patterns(ParseScenarioError),
    /// `--scale`.
    #[error("--scale: {0}")]
    Scale(#[from] TimeScaleError),
    /// `--plan`.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A plan that the bench cannot run.
    #[error(transparent)]
    Planned(#[from] PlannedError),
    /// `--arm`.
    #[error("--arm: {0}")]
    Arm(#[from] ParseArmError),
    /// `--size`.
    #[error("--size: {0}")]
    Size(#[from] size::SizeError),
    /// No library for the arm `run`.
    #[error("the arm `run` needs the library: {0}")]
    Library(#[from] LibraryError),
    /// No reader for the arm `daemon:static`.
    #[error(
        "the arm `daemon:static` needs a program that is linked statically, and there is none at '{path}': \
         `make static` builds it, or set {STATIC_VARIABLE} to its path"
    )]
    Static {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// `--model`.
    #[error(transparent)]
    Model(#[from] disk::DiskCommandError),
    /// The bench itself.
    #[error(transparent)]
    Bench(#[from] ahead_harness::BenchError),
    /// Nothing was predicted.
    #[error(transparent)]
    Predict(#[from] PredictError),
    /// The picture.
    #[error(transparent)]
    Draw(#[from] ahead_study::chart::ChartError),
    /// A result cannot be written.
    #[error("cannot write '{path}': {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Results cannot be read.
    #[error("cannot read results from '{path}': {source}; `ahead bench run --json` writes them")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system or the parser said.
        source: io::Error,
    },
    /// Two results that cannot be compared.
    #[error(transparent)]
    Beside(#[from] ahead_harness::BesideError),
    /// What being there costs was not measured.
    #[error(transparent)]
    Overhead(#[from] overhead::OverheadCommandError),
    /// Programs were not measured.
    #[error(transparent)]
    Programs(#[from] programs::ProgramsCommandError),
    /// Something around the bench.
    #[error("cannot prepare the bench: {0}")]
    Prepare(io::Error),
}

impl BenchCommandError {
    /// How the program ends after this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Pattern(_) | Self::Plan(_) | Self::Planned(_) => Exit::Usage,
            Self::Arm(_) | Self::Size(_) | Self::Patterns(_) | Self::Scale(_) => Exit::Usage,
            Self::Bench(ahead_harness::BenchError::NothingToRun) | Self::Beside(_) => Exit::Usage,
            Self::Predict(PredictError::NoTwin { .. }) => Exit::Usage,
            Self::Overhead(error) => error.exit(),
            Self::Programs(error) => error.exit(),
            Self::Model(error) => error.exit(),
            _ => Exit::Failed,
        }
    }
}

/// Does what was asked and returns the text to print, and how to end.
///
/// # Errors
/// [`BenchCommandError`].
pub fn bench(verb: &Bench) -> Result<(String, Exit), BenchCommandError> {
    let text = match verb {
        Bench::Overhead(arguments) => return Ok(overhead::overhead(arguments)?),
        Bench::Programs(arguments) => return Ok(programs::programs(arguments)?),
        Bench::Run(arguments) => run(arguments),
        Bench::Predict(arguments) => predict(arguments),
        Bench::List { json } => Ok(if *json { list_json() } else { list_table() }),
        Bench::Report {
            results,
            beside,
            svg,
        } => {
            let results = read(results)?;
            match beside {
                Some(beside) => Ok(ahead_harness::render_beside(&results, &read(beside)?)?),
                None => draw(&results, svg.as_deref()),
            }
        }
    };
    Ok((text?, Exit::Fine))
}

fn read(path: &Path) -> Result<Results, BenchCommandError> {
    let parsed = || -> io::Result<Results> { Ok(serde_json::from_slice(&std::fs::read(path)?)?) };
    parsed().map_err(|source| BenchCommandError::Read {
        path: path.into(),
        source,
    })
}

fn run(arguments: &BenchRun) -> Result<String, BenchCommandError> {
    let results = results(arguments)?;
    if let Some(path) = &arguments.json {
        let text = serde_json::to_vec_pretty(&results).unwrap_or_default();
        write(path, &text)?;
    }
    draw(&results, arguments.svg.as_deref())
}

/// What `ahead bench run` measures, with progress on a terminal; nothing is printed, and the results are not written.
///
/// # Errors
/// [`BenchCommandError`].
pub fn results(arguments: &BenchRun) -> Result<Results, BenchCommandError> {
    let mut plan = plan(arguments)?;
    check_writable([&arguments.json, &arguments.svg])?;
    plan.stop = stop_flag().map_err(BenchCommandError::Prepare)?;
    let kept = arguments.json.as_deref().filter(|_| arguments.each);
    let mut unwritten = None;
    let mut screen = Screen::new();
    let results = ahead_harness::run(&plan, &mut |progress| {
        screen.show(&progress);
        if let (BenchProgress::SoFar(results), Some(path)) = (progress, kept) {
            unwritten = unwritten.take().or_else(|| replace(path, results).err());
        }
    });
    screen.bar.finish_and_clear();
    let results = results?;
    unwritten.map_or(Ok(results), Err)
}

/// Writes `results` to `path` in one step: whoever reads it meanwhile has those before.
fn replace(path: &Path, results: &Results) -> Result<(), BenchCommandError> {
    let aside = path.with_extension("new");
    let text = serde_json::to_vec_pretty(results).unwrap_or_default();
    whole_file::replace(path, &aside, &text, 0o644).map_err(|source| BenchCommandError::Write {
        path: path.into(),
        source,
    })
}

fn predict(arguments: &BenchPredict) -> Result<String, BenchCommandError> {
    let program = std::env::current_exe().map_err(BenchCommandError::Prepare)?;
    let reader = ReaderCommand {
        program,
        arguments: vec![READER_ARGUMENT.into()],
    };
    let disk = DiskChoice::Emulated(String::new());
    let mut bench = BenchPlan::new(disk, reader);
    bench.scenarios =
        scenario::parse_list(&arguments.patterns).map_err(BenchCommandError::Patterns)?;
    bench.repeat = arguments.repeat;
    bench.seed = arguments.seed;
    bench.disk_bytes = Some(size::parse(&arguments.size)?);
    bench.limits = Limits {
        milliseconds: arguments.seconds.saturating_mul(1000),
        ..bench.limits
    };
    check_writable([&arguments.json, &arguments.svg, &arguments.png])?;
    bench.stop = stop_flag().map_err(BenchCommandError::Prepare)?;
    let plan = PredictPlan {
        bench,
        disks: arguments.disks.clone(),
        windows_kib: arguments.windows.clone(),
    };
    let mut screen = Screen::new();
    let predictions =
        ahead_harness::predict::predict(&plan, &mut |progress| screen.show(&progress));
    screen.bar.finish_and_clear();
    let predictions = predictions?;
    if let Some(path) = &arguments.json {
        write(
            path,
            &serde_json::to_vec_pretty(&predictions).unwrap_or_default(),
        )?;
    }
    draw_predictions(&predictions, arguments)?;
    Ok(ahead_harness::predict::render_page(&predictions))
}

fn draw_predictions(
    predictions: &Predictions,
    arguments: &BenchPredict,
) -> Result<(), BenchCommandError> {
    let picture = ahead_harness::predict::render_picture(predictions);
    if let Some(path) = &arguments.svg {
        write(path, picture.to_svg()?.as_bytes())?;
    }
    if let Some(path) = &arguments.png {
        write(path, &picture.to_png()?)?;
    }
    Ok(())
}

/// An hour of measuring should not end in "no such folder".
pub(crate) fn check_writable<const N: usize>(
    paths: [&Option<PathBuf>; N],
) -> Result<(), BenchCommandError> {
    for path in paths.into_iter().flatten() {
        std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .map_err(|source| BenchCommandError::Write {
                path: path.clone(),
                source,
            })?;
    }
    Ok(())
}

fn plan(arguments: &BenchRun) -> Result<BenchPlan, BenchCommandError> {
    let program = std::env::current_exe().map_err(BenchCommandError::Prepare)?;
    let reader = ReaderCommand {
        program: program.clone(),
        arguments: vec![READER_ARGUMENT.into()],
    };
    let written = arguments
        .plan
        .as_deref()
        .map(ahead_study::plan::Plan::read)
        .transpose()?;
    let disk = match (&arguments.disk, &written) {
        (Some(disk), _) => disk,
        (None, Some(written)) => planned::disk(written)?,
        // Wrong usage, which the command line has answered already.
        (None, None) => "",
    };
    let Ok(disk) = disk.parse::<DiskChoice>();
    let mut plan = BenchPlan::new(disk, reader);
    if let Some(list) = &arguments.pattern {
        plan.scenarios = scenario::parse_list(list)?;
    } else if written.is_none() {
        plan.scenarios = scenario::parse_list("all")?;
    }
    if let Some(written) = &written {
        let (scenarios, workloads) = planned::scenarios(written)?;
        plan.scenarios.extend(scenarios);
        plan.planned = workloads;
    }
    plan.arms = ahead_harness::arm::parse_list(&arguments.arm)?;
    plan.repeat = arguments.repeat;
    let of_plan = written.map_or(plan.seed, |written| written.seed);
    plan.seed = arguments.seed.unwrap_or(of_plan);
    plan.keep = arguments.keep;
    plan.looks_up_places = arguments.places;
    plan.sleeps = arguments.sleep;
    if let Some(text) = &arguments.scale {
        text.parse::<TimeScale>()?;
        plan.time_scale = Some(text.clone());
    }
    if let Some(text) = &arguments.size {
        plan.disk_bytes = Some(size::parse(text)?);
    }
    if !arguments.sweep.is_empty() {
        plan.sweep_kib.clone_from(&arguments.sweep);
    }
    if let Some(seconds) = arguments.seconds {
        plan.limits.milliseconds = seconds.saturating_mul(1000);
    }
    if let Some(text) = &arguments.bytes {
        plan.limits.bytes = size::parse(text)?;
    }
    if let Some(text) = &arguments.model {
        plan.known_model = Some((text.clone(), disk::model(text)?));
    }
    if arguments.quick {
        plan.limits = Limits {
            milliseconds: 1500,
            ..plan.limits
        };
    }
    if plan.arms.iter().any(|arm| matches!(arm, Arm::Run { .. })) {
        let named = std::env::var_os(LIBRARY_VARIABLE);
        let library = Library::find(named.as_deref(), &program)?;
        // The configuration of this machine's user stays out: a result names what it was made with.
        plan.preload = Some(Preload {
            library: library.path,
            environment: about_this_machine(true)
                .into_iter()
                .chain(group::of_this_run())
                .chain([devices::learns_alone()])
                .collect(),
            settings_variable: SETTINGS_VARIABLE.to_owned(),
        });
    }
    if plan
        .arms
        .iter()
        .any(|arm| matches!(arm, Arm::Daemon { .. }))
    {
        plan.daemon = Some(daemon_commands(&plan.arms, program)?);
    }
    Ok(plan)
}

fn daemon_commands(arms: &[Arm], program: PathBuf) -> Result<DaemonCommands, BenchCommandError> {
    let mut static_reader = None;
    if arms.contains(&Arm::Daemon { is_static: true }) {
        let named = std::env::var_os(STATIC_VARIABLE).map(PathBuf::from);
        let path = named.unwrap_or_else(|| program.with_file_name(STATIC_NAME));
        if !path.is_file() {
            return Err(BenchCommandError::Static { path });
        }
        static_reader = Some(ReaderCommand {
            program: path,
            arguments: vec![READER_ARGUMENT.into()],
        });
    }
    Ok(DaemonCommands {
        daemon: ReaderCommand {
            program,
            arguments: vec!["daemon".into()],
        },
        static_reader,
    })
}

/// A bar on a terminal; in a log, a line for each run that has ended.
struct Screen {
    bar: ProgressBar,
    is_terminal: bool,
}

impl Screen {
    fn new() -> Self {
        Self {
            bar: progress::bar(Shows::Parts, 0),
            is_terminal: progress::is_seen(),
        }
    }

    fn show(&mut self, progress: &BenchProgress<'_>) {
        match progress {
            BenchProgress::Preparing { done, total } => {
                let mib = |bytes: &u64| bytes >> 20;
                self.bar.set_message(format!(
                    "writing test files: {} of {} MiB",
                    mib(done),
                    mib(total)
                ));
                if done == total && !self.is_terminal {
                    output::to_stderr(&format!("test files written: {} MiB\n", mib(total)));
                }
            }
            BenchProgress::Started {
                number,
                total,
                scenario,
                arm,
            } => {
                self.bar.set_length(as_u64(*total));
                self.bar.set_position(as_u64(*number));
                self.bar.set_message(format!("{scenario}, {arm}"));
            }
            BenchProgress::Ended {
                number,
                total,
                record,
            } => {
                self.ended(*number, &ended_line(number + 1, *total, record));
            }
            BenchProgress::OutOfMemory {
                number,
                total,
                scenario,
                arm,
            } => {
                let what = format!("{:16} {:14}", scenario.to_string(), arm.to_string());
                let line = format!("[{:>4}/{total}] {what} out of memory", number + 1);
                self.ended(*number, &line);
            }
            BenchProgress::SoFar(_) => {}
        }
    }

    fn ended(&self, number: usize, line: &str) {
        self.bar.set_position(as_u64(number + 1));
        if self.is_terminal {
            self.bar.println(line);
        } else {
            output::to_stderr(&format!("{line}\n"));
        }
    }
}

fn ended_line(number: usize, total: usize, record: &RunRecord) -> String {
    format!(
        "[{number:>4}/{total}] {:16} {:14} {:8.1} MB/s, {:.2} device bytes per byte",
        record.scenario.to_string(),
        record.arm.to_string(),
        record.megabytes_per_second(),
        record.amplification()
    )
}

fn as_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Writes the picture if one is wanted, and returns the table.
pub(crate) fn draw(results: &Results, svg: Option<&Path>) -> Result<String, BenchCommandError> {
    if let Some(path) = svg {
        write(
            path,
            ahead_harness::render_results(results).to_svg()?.as_bytes(),
        )?;
    }
    Ok(ahead_harness::render_table(results))
}

pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), BenchCommandError> {
    std::fs::write(path, content).map_err(|source| BenchCommandError::Write {
        path: path.into(),
        source,
    })
}

/// The arms, and what each compares.
const ARMS: &[(&str, &str)] = &[
    ("off", "the kernel's read-ahead switched off: the floor"),
    ("stock:KIB", "the stock kernel with this read-ahead size"),
    (
        "static-best",
        "the best of several sizes, found by trying them all",
    ),
    ("run", "ahead run"),
    ("run:KEY=VALUE+KEY=VALUE", "ahead run with settings"),
    ("daemon", "ahead daemon, for the disk under test"),
    (
        "daemon:static",
        "the same, and the reader is linked statically",
    ),
    (
        "patched",
        "a kernel with the patches of kernel/patches: adaptive",
    ),
    (
        "ceiling",
        "a reader that knows its future and keeps the device busy",
    ),
];

fn list_table() -> String {
    let mut patterns = table::with_titles(&["pattern", "what is read", "can be predicted"], 0..0);
    for preset in PRESETS {
        let predictable = if preset.is_predictable { "yes" } else { "no" };
        patterns.add_row([preset.name, preset.about, predictable]);
    }
    let mut arms = table::with_titles(&["arm", "what is compared"], 0..0);
    for (name, text) in ARMS {
        arms.add_row([*name, *text]);
    }
    format!(
        "{patterns}\n`cached:` before a pattern runs it from memory, `@128m` after it in 128 MiB of memory; \
         `all`\nmeans all of them.\n\n{arms}\n"
    )
}

fn list_json() -> String {
    let patterns: Vec<_> = PRESETS
        .iter()
        .map(|preset| {
            json!({
                "name": preset.name,
                "meaning": preset.about,
                "predictable": preset.is_predictable,
            })
        })
        .collect();
    let arms: Vec<_> = ARMS
        .iter()
        .map(|(name, text)| json!({"name": name, "meaning": text}))
        .collect();
    format!("{:#}\n", json!({"patterns": patterns, "arms": arms}))
}
