//! The commands of the simulator.

use std::path::PathBuf;

use clap::Args;

use super::traces::TraceOptions;

/// Disks that chance makes for one workload, at most.
pub const DISKS_MAX: u64 = 1000;

/// `ahead reproduce`.
#[derive(Debug, Args)]
#[command(
    after_help = "A row that does not hold is a result, printed with the reason; the exit code is 0 \
    unless --strict is given. A row that its null model passes as well is called not discriminating, and \
    only rows that could fail and were not fitted are counted in the last line."
)]
pub struct Reproduce {
    /// Which figure; `list` names them
    #[arg(value_name = "NAME", default_value = "all")]
    pub name: String,
    /// Folder for a page of each publication, with its pictures (SVG and PNG); created when missing
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Halve and double every free number, and say which verdicts change; takes many times as long
    #[arg(long)]
    pub sensitivity: bool,
    /// Exit with 1 when a row does not hold or is refuted
    #[arg(long)]
    pub strict: bool,
}

/// What to simulate, for every command that does.
#[derive(Clone, Debug, Default, Args)]
pub struct Choice {
    /// Random seed: the same seed reads the same places
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Processors of the machine
    #[arg(long, value_name = "N")]
    pub cpus: Option<u32>,
    /// Issue the accesses of a trace at their recorded times, not as fast as they are answered
    #[arg(long)]
    pub timing: bool,
    /// How to read a trace
    #[command(flatten)]
    pub trace: TraceOptions,
}

/// `ahead simulate`.
#[derive(Debug, Args)]
#[command(
    after_help = "A policy is NAME or NAME:KEY=VALUE,…; so is a workload, which may also be the \
    file of a trace. `ahead simulate --list` names all of them."
)]
pub struct Simulate {
    /// Take workload, disk and memory from this plan, where the options name none
    #[arg(value_name = "PLAN")]
    pub plan: Option<PathBuf>,
    /// Who decides what is read ahead
    #[arg(long, value_name = "POLICY", default_value = "adaptive")]
    pub policy: String,
    /// What is read: a workload, a trace, or the name of one in the plan
    #[arg(long, value_name = "WORKLOAD")]
    pub workload: Option<String>,
    /// A disk as --list names it, or a model file ending in .toml (default: PLAN's, or hdd)
    #[arg(long, value_name = "DISK")]
    pub disk: Option<String>,
    /// Memory for the page cache (default: PLAN's, or 256M)
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Seed, machine, trace
    #[command(flatten)]
    pub choice: Choice,
    /// List policies, workloads and disks
    #[arg(long)]
    pub list: bool,
    /// Print every decision of the library, and every read that waited, instead of the account
    #[arg(long, conflicts_with_all = ["json", "svg", "png"])]
    pub explain: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write a picture of processor use over time as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// The same picture as PNG
    #[arg(long, value_name = "FILE")]
    pub png: Option<PathBuf>,
}

/// `ahead compare`.
#[derive(Debug, Args)]
#[command(
    after_help = "Lists are comma separated; `ahead simulate --list` names what can stand in them. \
    No read-ahead (none), the running kernel's (linux-6.18) and a reader that knows the future \
    (oracle) are always among the policies.\n\
    With plans, --policies, --disks and --memory replace theirs, and --workloads chooses from theirs."
)]
pub struct Compare {
    /// Plans: which policies, workloads, disks and memory sizes to compare
    #[arg(value_name = "PLAN")]
    pub plans: Vec<PathBuf>,
    /// Policies
    #[arg(long, value_name = "LIST")]
    pub policies: Option<String>,
    /// Windows of the running kernel's algorithm, such as 128K,512K,8M: a policy for each, instead of or
    /// beside --policies
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub sizes: Vec<String>,
    /// Workloads and traces
    #[arg(long, value_name = "LIST")]
    pub workloads: Option<String>,
    /// Generated workloads by seed, as FROM..TO: the distribution of times, and the worst places
    #[arg(long, value_name = "SEEDS", conflicts_with_all = ["plans", "workloads"])]
    pub generated: Option<String>,
    /// The same for reads at odd places of one file: steps that drift, tiles, cursors, records of any length
    #[arg(long, value_name = "SEEDS", conflicts_with_all = ["plans", "workloads"])]
    pub odd_reads: Option<String>,
    /// Where: simulator, or lab: guests over the real kernel, which have linux-6.12 with sizes, adaptive and patched: the
    /// kernel of `lab build --kernel 6.12-patched`
    #[arg(long = "in", value_name = "WHERE", default_value = "simulator", value_parser = ["simulator", "lab"])]
    pub place: String,
    /// Disks as `ahead simulate --list` names them, or model files ending in .toml (default: the plan's, or hdd and ssd)
    #[arg(long, value_name = "LIST")]
    pub disks: Option<String>,
    /// For each workload by seed so many disks that chance makes of the same seed, instead of --disks
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=DISKS_MAX),
        conflicts_with_all = ["plans", "workloads", "disks"])]
    pub disks_by_chance: Option<u64>,
    /// Memory sizes (default: the plan's, or 256M)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub memory: Vec<String>,
    /// Seed, machine, trace
    #[command(flatten)]
    pub choice: Choice,
    /// Keep finished runs in this file; after an interruption the same command resumes from it
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,
    /// Only `adaptive` against the best of the kernels: tables and picture
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    pub summary: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print CSV
    #[arg(long)]
    pub csv: bool,
    /// Write the table of --csv as Parquet
    #[arg(long, value_name = "FILE")]
    pub parquet: Option<PathBuf>,
    /// Write a picture as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// The same picture as PNG
    #[arg(long, value_name = "FILE")]
    pub png: Option<PathBuf>,
}
