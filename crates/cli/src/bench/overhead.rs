//! `ahead bench overhead`: options into a plan, rows into a table. What is measured, and how, is the
//! business of the harness.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use ahead_harness::overhead::{
    BoundVerdict, Effect, MeasuredRow, MedianFigure, OverheadError, OverheadPlan, OverheadResults,
    RowOutcome, UnknownRow,
};
use ahead_harness::statistics::median;
use indicatif::{ProgressBar, ProgressStyle};

use crate::arguments::BenchOverhead;
use crate::exit::Exit;
use crate::output;
use crate::run::library::{LIBRARY_VARIABLE, Library, LibraryError};
use crate::signals::stop_flag;
use ahead_study::table;

/// First argument of the process that does the smallest reads, with the library or without.
pub const READER_ARGUMENT: &str = "__bench-small-reads";

/// Repeats of `--quick`: enough that one disturbed run is outvoted.
const REPEAT_QUICK: u32 = 3;

/// Why nothing was measured, or not all.
#[derive(Debug, thiserror::Error)]
pub enum OverheadCommandError {
    /// `--row`.
    #[error("--row: {0}")]
    Row(#[from] UnknownRow),
    /// No library.
    #[error("there is nothing to measure: {0}")]
    Library(#[from] LibraryError),
    /// The bench itself.
    #[error(transparent)]
    Overhead(#[from] OverheadError),
    /// The picture.
    #[error(transparent)]
    Draw(#[from] ahead_study::chart::ChartError),
    /// The picture cannot be written.
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

impl OverheadCommandError {
    /// How the program ends after this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Row(_) => Exit::Usage,
            _ => Exit::Failed,
        }
    }
}

/// The process that reads: prints nanoseconds for one operation.
#[must_use]
pub fn reader(words: impl Iterator<Item = OsString>) -> Exit {
    let printed = ahead_harness::overhead::small_reads(words)
        .and_then(|ns| output::to_stdout(&format!("{ns:.2}\n")));
    match printed {
        Ok(()) => Exit::Fine,
        Err(error) => {
            output::problem(&error);
            Exit::Failed
        }
    }
}

/// Measures as asked, and returns the text to print and how to end.
///
/// # Errors
/// [`OverheadCommandError`].
pub fn overhead(arguments: &BenchOverhead) -> Result<(String, Exit), OverheadCommandError> {
    let mut plan = plan(arguments)?;
    if let Some(path) = &arguments.svg {
        write(path, b"")?;
    }
    plan.stop = stop_flag().map_err(OverheadCommandError::Prepare)?;
    let total = plan.rows.len();
    let bar = progress_bar(total);
    let results = ahead_harness::overhead::overhead(&plan, &mut |number, row| {
        bar.set_position(number.try_into().unwrap_or(u64::MAX));
        bar.set_message(row.what);
        if bar.is_hidden() && !arguments.json {
            output::to_stderr(&format!(
                "[{:>2}/{total}] {}: {}\n",
                number + 1,
                row.name,
                row.what
            ));
        }
    });
    bar.finish_and_clear();
    let results = results?;
    if let Some(path) = &arguments.svg {
        let picture = ahead_harness::overhead::picture(&results).to_svg()?;
        write(path, picture.as_bytes())?;
    }
    let text = if arguments.json {
        format!(
            "{}\n",
            serde_json::to_string_pretty(&results).unwrap_or_default()
        )
    } else {
        render(&results)
    };
    let exit = if arguments.check && results.misses_a_bound() {
        Exit::Failed
    } else {
        Exit::Fine
    };
    Ok((text, exit))
}

fn plan(arguments: &BenchOverhead) -> Result<OverheadPlan, OverheadCommandError> {
    let rows = ahead_harness::overhead::select(&arguments.row)?;
    let program = std::env::current_exe().map_err(OverheadCommandError::Prepare)?;
    let named = std::env::var_os(LIBRARY_VARIABLE);
    let library = Library::find(named.as_deref(), &program)?;
    let against = arguments
        .against
        .as_ref()
        .map(|path| Library::find(Some(path.as_os_str()), &program))
        .transpose()?;
    Ok(OverheadPlan {
        rows,
        program,
        reader_argument: READER_ARGUMENT.to_owned(),
        library_variable: LIBRARY_VARIABLE.to_owned(),
        library: library.path,
        against: against.map(|library| library.path),
        folder: arguments.on.clone().unwrap_or_else(std::env::temp_dir),
        disk: arguments.disk.clone(),
        repeat: if arguments.quick {
            arguments.repeat.min(REPEAT_QUICK)
        } else {
            arguments.repeat
        },
        quick: arguments.quick,
        state_folder: "/run/ahead/bench".into(),
        stop: std::sync::Arc::default(),
    })
}

fn progress_bar(rows: usize) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(rows.try_into().unwrap_or(u64::MAX));
    if let Ok(style) = ProgressStyle::with_template("{bar:20} {pos}/{len}  {wide_msg}") {
        bar.set_style(style);
    }
    bar
}

fn write(path: &PathBuf, content: &[u8]) -> Result<(), OverheadCommandError> {
    std::fs::write(path, content).map_err(|source| OverheadCommandError::Write {
        path: path.clone(),
        source,
    })
}

fn render(results: &OverheadResults) -> String {
    let mut titles = vec![
        "row",
        "plain",
        "with",
        "figure",
        "95 of 100",
        "to reach",
        "",
    ];
    if results.against.is_some() {
        titles.insert(5, "other");
    }
    let numeric = 1..titles.len() - 1;
    let mut table = table::with_titles(&titles, numeric);
    let mut remarks = String::new();
    let mut is_unsure = false;
    for row in &results.rows {
        let mut cells = vec![row.name.clone()];
        match &row.outcome {
            RowOutcome::LeftOut(reason) => {
                cells.extend(["–"; 4].map(str::to_owned));
                if results.against.is_some() {
                    cells.push("–".to_owned());
                }
                cells.extend([to_reach(row), "left out".to_owned()]);
                let _ = writeln!(remarks, "{} was left out: {reason}.", row.name);
            }
            RowOutcome::Measured(found) => {
                let plain = if row.effect == Effect::Count {
                    "–".to_owned()
                } else {
                    amount(row.effect, &found.plain)
                };
                cells.extend([
                    plain,
                    amount(row.effect, &found.with),
                    figure(row.effect, found.figure.value),
                    interval(row.effect, &found.figure),
                ]);
                if results.against.is_some() {
                    let other = found.figure_against;
                    cells.push(
                        other.map_or_else(String::new, |other| figure(row.effect, other.value)),
                    );
                }
                let (word, sure) = word(row);
                is_unsure |= !sure;
                cells.extend([to_reach(row), word.to_owned()]);
                if let Some(note) = &found.note {
                    let _ = writeln!(remarks, "{}: {note}.", row.name);
                }
            }
        }
        table.add_row(cells);
    }
    if is_unsure {
        remarks.push_str(
            "?: the bound lies inside the interval; more repeats on a quieter machine decide.\n",
        );
    }
    format!("{}{table}\n{remarks}", heading(results))
}

fn heading(results: &OverheadResults) -> String {
    let machine = &results.machine;
    let mut text = format!(
        "What being there costs: {} UTC, Linux {}, {} CPUs; {} repeats, arms in turn\n\
         library {}\n",
        results.began, machine.kernel, machine.cpus, results.repeat, results.library
    );
    if let Some(other) = &results.against {
        let _ = writeln!(text, "other   {other}");
    }
    let _ = writeln!(text, "files   {}", results.file_system);
    text
}

/// The verdict, and whether the interval leaves no doubt.
fn word(row: &MeasuredRow) -> (&'static str, bool) {
    match row.verdict() {
        None => ("", true),
        Some(BoundVerdict::Kept { sure: true }) => ("yes", true),
        Some(BoundVerdict::Kept { sure: false }) => ("yes ?", false),
        Some(BoundVerdict::Missed { sure: true }) => ("no", true),
        Some(BoundVerdict::Missed { sure: false }) => ("no ?", false),
    }
}

fn to_reach(row: &MeasuredRow) -> String {
    let Some(bound) = row.bound else {
        return "–".to_owned();
    };
    let sign = match row.effect {
        Effect::Added | Effect::AddedCalls | Effect::Percent => "≤",
        Effect::Speed | Effect::Count => "≥",
    };
    format!("{sign} {}", figure(row.effect, bound.limit))
}

/// The median of an arm.
fn amount(effect: Effect, runs: &[f64]) -> String {
    let value = median(runs).map_or(0.0, |median| median.value);
    match effect {
        Effect::Added | Effect::Percent | Effect::Speed => time(value, value),
        Effect::AddedCalls => format!("{value:.1}"),
        Effect::Count => format!("{value:.0}"),
    }
}

fn figure(effect: Effect, value: f64) -> String {
    match effect {
        Effect::Added => format!("{}{}", plus(value), time(value, value)),
        Effect::AddedCalls => format!("{value:+.1}"),
        Effect::Percent => format!("{value:+.1} %"),
        Effect::Speed => format!("× {value:.3}"),
        Effect::Count => format!("{value:.0}"),
    }
}

/// Both ends, in the unit of the figure and without it.
fn interval(effect: Effect, figure: &MedianFigure) -> String {
    let (low, high) = (figure.interval.low, figure.interval.high);
    let bare = |value: f64| match effect {
        Effect::Added => {
            let (divisor, _) = unit(figure.value);
            format!("{}{}", plus(value), digits(value / divisor))
        }
        Effect::AddedCalls | Effect::Percent => format!("{value:+.1}"),
        Effect::Speed => format!("{value:.3}"),
        Effect::Count => format!("{value:.0}"),
    };
    format!("{} … {}", bare(low), bare(high))
}

fn plus(value: f64) -> &'static str {
    if value >= 0.0 { "+" } else { "" }
}

/// Nanoseconds in the unit that suits `like`.
fn time(ns: f64, like: f64) -> String {
    let (divisor, name) = unit(like);
    format!("{} {name}", digits(ns / divisor))
}

fn unit(ns: f64) -> (f64, &'static str) {
    match ns.abs() {
        size if size < 1e3 => (1.0, "ns"),
        size if size < 1e6 => (1e3, "µs"),
        size if size < 1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}

/// Three digits, and at most two behind the point.
fn digits(value: f64) -> String {
    match value.abs() {
        size if size < 10.0 => format!("{value:.2}"),
        size if size < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ahead_harness::overhead::{ROWS, RowFigures};

    fn results(outcome: impl Fn(Effect) -> RowOutcome) -> OverheadResults {
        let rows = ROWS.iter().map(|row| MeasuredRow {
            name: row.name.to_owned(),
            what: row.what.to_owned(),
            effect: row.effect,
            bound: row.bound,
            outcome: outcome(row.effect),
        });
        OverheadResults {
            version: 1,
            began: "2025-01-31 12:00".into(),
            machine: ahead_harness::results::MachineFacts::default(),
            file_system: "ext4 on /dev/vda".into(),
            library: "/lib.so".into(),
            against: Some("/other.so".into()),
            repeat: 9,
            rows: rows.collect(),
        }
    }

    /// The widest that can be: every figure has all its digits and a sign.
    #[test]
    fn the_table_is_no_wider_than_a_hundred_columns() {
        let text = render(&results(|effect| {
            let (plain, with) = match effect {
                Effect::AddedCalls => (vec![123.0, 123.0], vec![112.5, 145.7]),
                Effect::Count => (Vec::new(), vec![500.0]),
                _ => (vec![314_159.0, 271_828.0], vec![112_345.6, 998_765.4]),
            };
            let figure = MedianFigure::new(effect, &plain, &with).expect("runs");
            RowOutcome::Measured(RowFigures {
                plain,
                against: with.clone(),
                with,
                figure,
                figure_against: Some(figure),
                note: None,
            })
        }));
        for line in text.lines() {
            let width = line.chars().count();
            assert!(width <= 100, "{width}: {line}");
        }
        assert!(
            text.contains("≤ +60.0 µs") && text.contains("≥ × 0.990"),
            "{text}"
        );
    }

    #[test]
    fn a_row_that_was_left_out_says_why() {
        let text = render(&results(|_| RowOutcome::LeftOut("no disk".into())));
        assert!(text.contains("dd-cold was left out: no disk."), "{text}");
    }

    #[test]
    fn times_have_the_unit_that_suits_them() {
        assert_eq!(figure(Effect::Added, 25.0), "+25.0 ns");
        assert_eq!(figure(Effect::Added, -1500.0), "-1.50 µs");
        assert_eq!(figure(Effect::Added, 146_000_000.0), "+146 ms");
        assert_eq!(figure(Effect::Percent, 28.0), "+28.0 %");
    }
}
