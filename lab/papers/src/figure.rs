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
    /// Every number that the publication does not give, or that was made to fit it.
    pub parameters: &'static [Parameter],
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

/// Where a number of a model comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterOrigin {
    /// From other numbers of the same publication.
    Derived,
    /// Chosen so that a published number comes out. What it was fitted to is no evidence.
    Fitted,
    /// From sources about such hardware, as the publication does not say.
    Assumed,
}

impl ParameterOrigin {
    /// In a word.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Derived => "derived",
            Self::Fitted => "fitted",
            Self::Assumed => "assumed",
        }
    }
}

/// A free number of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// What it is, with its unit.
    pub name: &'static str,
    /// What it is set to.
    pub value: &'static str,
    /// Where that comes from, in a word.
    pub origin: ParameterOrigin,
    /// And in a sentence.
    pub source: &'static str,
    /// It can be changed by [`ModelKnobs`]; others are not numbers, or have nothing between half and twice.
    pub turns: bool,
}

/// A figure's parameters as they are, or one of them times something: how sensitive the figure is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModelKnobs {
    changed: Option<(&'static str, f64)>,
}

impl ModelKnobs {
    /// Nothing is changed.
    pub const AS_IS: Self = Self { changed: None };

    /// The parameter called `name` is `factor` times what it is.
    #[must_use]
    pub const fn times(name: &'static str, factor: f64) -> Self {
        Self {
            changed: Some((name, factor)),
        }
    }

    /// What the parameter called `name` is, where it is `value` if nothing is changed.
    #[must_use]
    pub fn of(&self, name: &str, value: f64) -> f64 {
        match self.changed {
            Some((changed, factor)) if changed == name => value * factor,
            _ => value,
        }
    }

    /// The same for a whole number, of which at least 1 is left.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "small positive numbers, halved or doubled"
    )]
    pub fn whole(&self, name: &str, value: u64) -> u64 {
        self.of(name, float(value)).round().max(1.0) as u64
    }
}

/// A publication whose figures are computed again.
#[derive(Clone, Copy, Debug)]
pub struct Publication {
    /// What the command line calls it.
    pub name: &'static str,
    /// What its figures show, in a line.
    pub about: &'static str,
    /// The free numbers of the model.
    pub parameters: &'static [Parameter],
    /// Computes the figures with these numbers, or one of them changed.
    pub compute: fn(&ModelKnobs) -> Result<Figure, ReproduceError>,
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
