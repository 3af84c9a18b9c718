//! The commands of the simulator.

use std::path::PathBuf;

use clap::Args;

/// `ahead reproduce`.
#[derive(Debug, Args)]
#[command(
    after_help = "A figure that does not hold is a finding: it is printed as such, with the reason, \
    and the exit code is 0 unless --strict says otherwise."
)]
pub struct Reproduce {
    /// Which figure; `list` names them
    #[arg(value_name = "NAME", default_value = "all")]
    pub name: String,
    /// Folder for the pictures, SVG and PNG; created when missing
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Exit with 1 when a figure does not hold
    #[arg(long)]
    pub strict: bool,
}
