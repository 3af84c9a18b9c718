//! What the commands of the simulator share: the words of the command line as a plan, an order to
//! stop, files to write.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ahead_study::chart::{Chart, ChartError};
use ahead_study::journal::JournalError;
use ahead_study::plan::{Plan, PlanError, TraceSource};
use ahead_study::sweep::SweepError;
use ahead_study::typed::{self, Words};
use ahead_trace::format_of;

use crate::arguments::Choice;
use crate::exit::Exit;
use crate::lab::LabError;
use crate::output;
use crate::signals::impatient_stop_flag;
use crate::size;

/// Why nothing, or not all, was simulated.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The plan, or the sweep.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// A guest.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// `--memory`.
    #[error("--memory: {0}")]
    Size(#[from] size::SizeError),
    /// Another mistake on the command line.
    #[error("{0}")]
    Usage(String),
    /// A picture.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// A file of results.
    #[error("cannot write '{path}': {reason}")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system or the library said.
        reason: String,
    },
    /// Signals cannot be caught.
    #[error("cannot prepare to be interrupted: {0}")]
    Signal(io::Error),
    /// Standard output.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

impl From<PlanError> for StudyError {
    fn from(error: PlanError) -> Self {
        Self::Sweep(error.into())
    }
}

impl StudyError {
    /// How the program ends after this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Lab(error) => error.exit(),
            Self::Size(_) | Self::Usage(_) => Exit::Usage,
            Self::Sweep(SweepError::Journal(JournalError::File { .. })) => Exit::Failed,
            Self::Sweep(SweepError::Plan(_) | SweepError::Policy(_) | SweepError::Journal(_)) => {
                Exit::Usage
            }
            _ => Exit::Failed,
        }
    }
}

/// The words that every command of the simulator has.
#[must_use]
pub fn words(choice: &Choice) -> Words {
    let trace = &choice.trace;
    Words {
        seed: choice.seed,
        cpus: choice.cpus,
        trace: TraceSource {
            path: PathBuf::new(),
            timing: choice.timing,
            from: trace.from.clone(),
            columns: trace.columns.clone(),
            objects: Some(trace.objects.clone()),
            action: Some(trace.action.clone()),
        },
        ..Words::default()
    }
}

/// The plans in `files`, changed to what `words` say; without files, a plan of the words alone.
/// What such a plan needs and `words` lack comes from `usual`.
///
/// # Errors
/// A plan or a word that cannot be used.
pub fn plans(
    files: &[PathBuf],
    words: &Words,
    usual: &Words,
    in_lab: bool,
) -> Result<Vec<Plan>, StudyError> {
    let mut plans = Vec::new();
    for file in files {
        plans.push(Plan::read(file)?);
    }
    if files.is_empty() {
        let or = |said: &Vec<String>, usual: &Vec<String>| {
            if said.is_empty() { usual } else { said }.clone()
        };
        let mut words = words.clone();
        words.policies = or(&words.policies, &usual.policies);
        words.disks = or(&words.disks, &usual.disks);
        if words.memory_mib.is_empty() {
            words.memory_mib.clone_from(&usual.memory_mib);
        }
        plans.push(typed::plan(&words).map_err(StudyError::Usage)?);
    } else {
        let trace = &words.trace;
        if trace.timing || trace.from.is_some() || trace.columns.is_some() {
            let reason = "--timing, --from and --columns are for a trace that is named on the \
                          command line: a plan says them itself";
            return Err(StudyError::Usage(reason.to_owned()));
        }
        typed::narrow(&mut plans, words).map_err(StudyError::Usage)?;
    }
    for plan in &plans {
        if in_lab {
            plan.check_for_guests()?;
        } else {
            plan.check()?;
        }
        for (name, trace) in &plan.trace {
            let options = trace.options().map_err(StudyError::Usage)?;
            let format = format_of(&plan.folder.join(&trace.path), &options);
            if let Some(format) = format.filter(|format| format.is_below_page_cache()) {
                output::to_stderr(&format!(
                    "ahead: '{name}' was recorded below the page cache ({}): its requests are what read-ahead \
                     made of reads, and are simulated as if they were the reads\n",
                    format.name()
                ));
            }
        }
    }
    Ok(plans)
}

/// Whole MiB, as `256M` or `4G`.
///
/// # Errors
/// No size, or a part of a MiB.
pub fn mebibytes(text: &str) -> Result<u64, StudyError> {
    let bytes = size::parse(text)?;
    if bytes == 0 || !bytes.is_multiple_of(1 << 20) {
        let reason = format!("--memory: '{text}' is not a whole number of MiB, such as 256M");
        return Err(StudyError::Usage(reason));
    }
    Ok(bytes >> 20)
}

/// A flag that Ctrl-C sets, so that the journal is whole at the end. A second Ctrl-C ends the
/// program at once; a line of the journal that it cuts short is dropped by the next run.
///
/// # Errors
/// The handlers cannot be installed.
pub fn stop_flag() -> Result<Arc<AtomicBool>, StudyError> {
    impatient_stop_flag(Exit::Failed.code()).map_err(StudyError::Signal)
}

/// Makes the files that will be written: an hour of computing should not end in "no such folder".
///
/// # Errors
/// [`StudyError::Write`].
pub fn prepare<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<(), StudyError> {
    for path in paths {
        std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .map_err(|error| failed(path, error))?;
    }
    Ok(())
}

/// Writes a file.
///
/// # Errors
/// [`StudyError::Write`].
pub fn write(path: &Path, content: &[u8]) -> Result<(), StudyError> {
    std::fs::write(path, content).map_err(|error| failed(path, error))
}

pub(crate) fn failed(path: &Path, reason: impl ToString) -> StudyError {
    StudyError::Write {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}

/// Writes `chart` as SVG and as PNG, where they are wanted.
///
/// # Errors
/// It cannot be drawn or written.
pub fn draw(chart: &Chart, svg: Option<&Path>, png: Option<&Path>) -> Result<(), StudyError> {
    if let Some(path) = svg {
        write(path, chart.to_svg()?.as_bytes())?;
    }
    if let Some(path) = png {
        write(path, &chart.to_png()?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_whole_mebibytes() {
        assert!(matches!(mebibytes("2G"), Ok(2048)));
        assert!(matches!(mebibytes("1500K"), Err(StudyError::Usage(_))));
        assert!(matches!(mebibytes("0"), Err(StudyError::Usage(_))));
        assert!(matches!(mebibytes("much"), Err(StudyError::Size(_))));
    }
}
