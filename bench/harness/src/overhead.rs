//! What being there costs: programs by themselves against the same under `ahead run`.
//!
//! Every row is a job that finds its data in memory, or that the kernel's own read-ahead serves
//! well, so that there is nothing to gain and only something to lose. [`ROWS`] holds them all, each
//! with the bound that it is to reach.
//!
//! ```text
//! row ──► job: command, cold files, clock ──► arms, interleaved ──► pairs ──► figure ──► verdict
//! ```
//!
//! Figures are made of neighbouring runs, as a difference or a ratio; the median of them and its
//! interval are shown. A row that cannot be run here says why.

mod calls;
mod files;
mod job;
mod many_files;
mod measure;
mod results;
mod row;
mod small_reads;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ahead_study::chart::{BarChart, Chart};

pub use calls::{Calls, count_calls, difference, total};
pub use results::{
    BoundVerdict, MeasuredRow, MedianFigure, OverheadResults, RowFigures, RowOutcome,
};
pub use row::{Bound, Effect, OverheadRow, ROWS, UnknownRow, select};
pub use small_reads::{KINDS as SMALL_READS, small_reads};

use crate::calendar::utc_minutes;
use crate::error::BenchError;
use crate::ground::machine;
use crate::results::approximate;
use crate::side::{Launcher, MeasureError, Side};
use crate::statistics::median;
use files::Files;
use job::{PASSES, Workshop};
use many_files::ManyFiles;
use measure::{Runner, Runs};
use row::Kind;

/// Eight seconds a run at four times real speed: more repeats would take longer than all other rows
/// together.
const MANY_FILES_REPEATS_MAX: u32 = 3;

/// What to measure.
#[derive(Clone, Debug)]
pub struct OverheadPlan {
    /// Which rows.
    pub rows: Vec<&'static OverheadRow>,
    /// Our own program, which is also the server of an emulated disk.
    pub program: PathBuf,
    /// Its first argument that leads to `small_reads`.
    pub reader_argument: String,
    /// The environment variable by which `ahead run` finds its library.
    pub library_variable: String,
    /// The library.
    pub library: PathBuf,
    /// Another one, measured in the same run.
    pub against: Option<PathBuf>,
    /// Where the test files go.
    pub folder: PathBuf,
    /// Model of the emulated disk for the rows that need one.
    pub disk: Option<String>,
    /// How often each row is run in each arm.
    pub repeat: u32,
    /// A quarter of the operations.
    pub quick: bool,
    /// Where notes about changes to the machine are kept, normally `/run/ahead/bench`.
    pub state_folder: PathBuf,
    /// Set from elsewhere, it ends the bench at the next moment.
    pub stop: Arc<AtomicBool>,
}

/// The bench could not be finished.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OverheadError {
    /// No place for test files.
    #[error("cannot make a folder in {}: {source}; name another one with --on", path.display())]
    Folder {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A row failed.
    #[error("{row}: {source}")]
    Row {
        /// Which.
        row: &'static str,
        /// Why.
        source: MeasureError,
    },
    /// An emulated disk could not be taken away.
    #[error(transparent)]
    Disk(#[from] BenchError),
}

/// Measures every row of `plan`; `on_row` is told each one before it begins, with its number.
///
/// # Errors
/// [`OverheadError`]; the test files and the emulated disk are gone also then.
pub fn overhead(
    plan: &OverheadPlan,
    on_row: &mut dyn FnMut(usize, &OverheadRow),
) -> Result<OverheadResults, OverheadError> {
    let files = Files::new(&plan.folder).map_err(|source| OverheadError::Folder {
        path: plan.folder.clone(),
        source,
    })?;
    let mut bench = Bench {
        plan,
        files: &files,
        disk: None,
    };
    let mut results = OverheadResults {
        version: results::VERSION,
        began: utc_minutes(std::time::SystemTime::now()),
        machine: machine(),
        file_system: files.file_system(),
        library: plan.library.display().to_string(),
        against: plan.against.as_ref().map(|path| path.display().to_string()),
        repeat: plan.repeat,
        rows: Vec::new(),
    };
    let mut outcome = Ok(());
    for (number, row) in plan.rows.iter().enumerate() {
        on_row(number, row);
        match bench.measure(row) {
            Ok(found) => results.rows.push(MeasuredRow {
                name: row.name.to_owned(),
                what: row.what.to_owned(),
                effect: row.effect,
                bound: row.bound,
                outcome: found,
            }),
            Err(source) => {
                outcome = Err(OverheadError::Row {
                    row: row.name,
                    source,
                });
                break;
            }
        }
    }
    if let Some(Ok(disk)) = bench.disk {
        disk.clear()?;
    }
    outcome.map(|()| results)
}

struct Bench<'a> {
    plan: &'a OverheadPlan,
    files: &'a Files,
    /// Made when the first row needs it; or why it could not be made.
    disk: Option<Result<ManyFiles, String>>,
}

impl Bench<'_> {
    fn measure(&mut self, row: &OverheadRow) -> Result<RowOutcome, MeasureError> {
        let plan = self.plan;
        let runner = Runner {
            launcher: Launcher {
                program: &plan.program,
                library_variable: &plan.library_variable,
                library: &plan.library,
                against: plan.against.as_deref(),
                folder: self.files.folder(),
            },
            stop: &plan.stop,
        };
        let workshop = Workshop {
            files: self.files,
            reader: (&plan.program, &plan.reader_argument),
            quick: plan.quick,
        };
        let (runs, note) = match (row.kind, &plan.disk) {
            (Kind::ManyFiles | Kind::ManyFilesAskedFor, Some(model)) => {
                let disk = match self.many_files(model) {
                    Ok(disk) => disk,
                    Err(reason) => return Ok(RowOutcome::LeftOut(reason.to_owned())),
                };
                let runs = if row.kind == Kind::ManyFiles {
                    runner.repeat(&disk.job(), plan.repeat.min(MANY_FILES_REPEATS_MAX))?
                } else {
                    runner.each(1, |side| match side {
                        Side::Plain => Ok(0.0),
                        Side::With(_) => disk.asked_for(&runner, side),
                    })?
                };
                (runs, Some(disk.description()))
            }
            (Kind::SmallCalls(kind), _) => match small_calls(&workshop, &runner, kind)? {
                Ok(runs) => (runs, None),
                Err(reason) => return Ok(RowOutcome::LeftOut(reason)),
            },
            (kind, _) => {
                let job = match workshop.job(kind) {
                    Ok(job) => job,
                    Err(reason) => return Ok(RowOutcome::LeftOut(reason)),
                };
                (runner.repeat(&job, plan.repeat)?, job.note)
            }
        };
        let figure = MedianFigure::new(row.effect, &runs.plain, &runs.with);
        let figure_against = MedianFigure::new(row.effect, &runs.plain, &runs.against);
        Ok(figure.map_or_else(
            || RowOutcome::LeftOut("nothing was run".to_owned()),
            |figure| {
                RowOutcome::Measured(RowFigures {
                    plain: runs.plain,
                    with: runs.with,
                    against: runs.against,
                    figure,
                    figure_against: figure_against.filter(|_| plan.against.is_some()),
                    note,
                })
            },
        ))
    }

    fn many_files(&mut self, model: &str) -> Result<&ManyFiles, &str> {
        let plan = self.plan;
        let made = self.disk.get_or_insert_with(|| {
            ManyFiles::create(model, &plan.program, &plan.state_folder)
                .map_err(|error| error.to_string())
        });
        made.as_ref().map_err(|reason| &reason[..])
    }
}

/// System calls for one operation, from two runs of different length, so that everything around the
/// operations cancels out. The inner error is a reason to leave the row out.
fn small_calls(
    workshop: &Workshop<'_>,
    runner: &Runner<'_>,
    kind: &'static str,
) -> Result<Result<Runs, String>, MeasureError> {
    const FEW: u64 = 10;
    const MANY: u64 = 60;
    let jobs = [FEW, MANY].map(|count| workshop.small(kind, Some(count)));
    let [Ok(few), Ok(many)] = jobs else {
        return Ok(Err("its test files cannot be written".to_owned()));
    };
    let mut left_out = None;
    let runs = runner.each(1, |side| {
        // Being traced makes every call longer than a wait for a device: none of them counts as one.
        let options = ["--set", "wait_us=10000000"].map(OsString::from);
        let count =
            |job| count_calls(&runner.command(job, side, &options)).map(|calls| total(&calls));
        match (count(&few), count(&many)) {
            (Ok(few), Ok(many)) => {
                Ok((approximate(many) - approximate(few)) / approximate((MANY - FEW) * PASSES))
            }
            (Err(error), _) | (_, Err(error)) => {
                left_out = Some(error.to_string());
                Ok(0.0)
            }
        }
    })?;
    Ok(left_out.map_or(Ok(runs), Err))
}

/// The picture: for each row how long it took with the library, where 1 is as long as without.
#[must_use]
pub fn picture(results: &OverheadResults) -> Chart {
    let mut groups = Vec::new();
    let mut with = Vec::new();
    let mut against = Vec::new();
    for row in &results.rows {
        let RowOutcome::Measured(measured) = &row.outcome else {
            continue;
        };
        if row.effect == Effect::Count {
            continue;
        }
        let of = |runs: &[f64]| {
            let pairs = measured.plain.iter().zip(runs);
            let ratios: Vec<f64> = pairs.map(|(plain, run)| run / plain).collect();
            median(&ratios).map_or(f64::NAN, |median| median.value)
        };
        groups.push(row.name.clone());
        with.push(of(&measured.with));
        against.push(of(&measured.against));
    }
    let name = |path: &str| {
        let path = Path::new(path);
        path.file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    };
    let mut bars = vec![(format!("with {}", name(&results.library)), with)];
    if let Some(path) = &results.against {
        bars.push((format!("with {path}"), against));
    }
    Chart::Bars(BarChart {
        title: "What being there costs: time under ahead run ÷ time without".to_owned(),
        y_label: "time, plain = 1".to_owned(),
        groups,
        bars,
    })
}
