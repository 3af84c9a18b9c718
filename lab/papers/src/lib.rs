//! Published figures, reproduced: one file per publication.
//!
//! Each file gives the set-up as the authors gave it, what they printed, and what the simulator
//! says of it. The bounds within which a shape is said to hold are written beside the figure and
//! follow from what the publication claims; where a bound or a set-up was chosen after a first
//! look, the notes say so. Machines and disks are those of the publication as far as they are
//! known; every substitute is named in the notes.
#![forbid(unsafe_code)]

pub mod ara_2006;
pub mod dead_ahead_2017;
pub mod disk_table_2010;
pub mod ext2_2000;
pub mod hit_ratio_2010;
pub mod oci_2017;
pub mod streams_2010;
pub mod thrash_2010;
pub mod x25m_2010;

use ahead_sim::algorithm::{Policy, PolicyError};
use ahead_sim::report::WorldReport;
use ahead_sim::world::{Machine, WorldError};
use ahead_workload::Job;

use ahead_study::chart::{Chart, ChartError};
use ahead_study::verdict::{FigureRow, Verdict};

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
fn run(machine: &Machine, policy: &str, job: &Job) -> Result<WorldReport, ReproduceError> {
    let policy = Policy::for_disk(policy, &machine.disk)?;
    Ok(ahead_sim::simulate(machine, &policy, job)?)
}

/// A count as a number to be drawn or divided.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts and nanoseconds of a run stay far below 2^53"
)]
const fn float(count: u64) -> f64 {
    count as f64
}

/// How a figure is computed.
pub type Compute = fn() -> Result<Figure, ReproduceError>;

/// Every figure, in the order of its publication.
pub const ALL: &[(&str, Compute)] = &[
    ("ext2-2000", ext2_2000::figure),
    ("ara-2006", ara_2006::figure),
    ("disk-table-2010", disk_table_2010::figure),
    ("x25m-2010", x25m_2010::figure),
    ("streams-2010", streams_2010::figure),
    ("hit-ratio-2010", hit_ratio_2010::figure),
    ("thrash-2010", thrash_2010::figure),
    ("dead-ahead-2017", dead_ahead_2017::figure),
    ("oci-2017", oci_2017::figure),
];

/// The figures called `name`, which may be `all`.
///
/// # Errors
/// [`ReproduceError::Unknown`].
pub fn find(name: &str) -> Result<Vec<(&'static str, Compute)>, ReproduceError> {
    let found: Vec<_> = ALL
        .iter()
        .filter(|(known, _)| name == "all" || name == *known)
        .copied()
        .collect();
    if found.is_empty() {
        let known: Vec<&str> = ALL.iter().map(|(known, _)| *known).collect();
        return Err(ReproduceError::Unknown {
            name: name.to_owned(),
            known: known.join(", "),
        });
    }
    Ok(found)
}
