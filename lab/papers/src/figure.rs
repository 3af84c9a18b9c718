//! A figure, how it can fail, and what every file computes one with.

use ahead_sim::algorithm::{Policy, PolicyError};
use ahead_sim::report::WorldReport;
use ahead_sim::world::{Machine, WorldError};
use ahead_study::chart::{Chart, ChartError};
use ahead_study::verdict::{FigureRow, Verdict};
use ahead_workload::Job;

/// A publication's figure, beside ours.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// What the command line calls it.
    pub name: &'static str,
    /// One line.
    pub title: String,
    /// Authors, title, year.
    pub source: String,
    /// Published, simulated, verdict.
    pub rows: Vec<FigureRow>,
    /// Pictures: the name of the file without its ending, and the picture.
    pub charts: Vec<(String, Chart)>,
    /// What is modelled how, what was substituted, what was learned. One sentence or more each.
    pub notes: Vec<String>,
}

impl Figure {
    /// How many rows have this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows
            .iter()
            .filter(|row| row.verdict == verdict)
            .count()
    }
}

/// A figure that could not be computed: a fault of ours, not of the figure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// Nothing is called that.
    #[error("no figure is called '{name}': use all, or one of {known}")]
    Unknown {
        /// The name given.
        name: String,
        /// All names, comma separated.
        known: String,
    },
    /// The simulator refused.
    #[error(transparent)]
    Simulate(#[from] WorldError),
    /// A policy's name or key is not known.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A picture could not be drawn.
    #[error(transparent)]
    Chart(#[from] ChartError),
}

/// What `policy` makes of `job` on `machine`.
pub(crate) fn run(
    machine: &Machine,
    policy: &str,
    job: &Job,
) -> Result<WorldReport, ReproduceError> {
    let policy = Policy::for_disk(policy, &machine.disk)?;
    Ok(ahead_sim::simulate(machine, &policy, job)?)
}

/// A count as a number to be drawn or divided.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts and nanoseconds of a run stay far below 2^53"
)]
pub(crate) const fn float(count: u64) -> f64 {
    count as f64
}
