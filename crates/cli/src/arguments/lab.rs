//! The command line of `ahead lab`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::amounts::{from_one, some_bytes};
use super::programs::ProgramChoice;

/// `ahead lab`.
#[derive(Debug, Subcommand)]
pub enum Lab {
    /// Build the guest's kernel (some minutes the first time, seconds after a change)
    Build(LabBuild),
    /// Run one command in a guest and print what its disk had to do
    Run(LabRun),
    /// Run one command in several guests, in several arms, and compare them
    Compare(LabCompare),
    /// Run the bench's patterns in guests, in all arms, and compare them
    Bench(LabBench),
    /// Compare the simulator with guests: throughput of both, cell by cell
    Predict(LabPredict),
    /// Run real programs in guests with and without `ahead run`, and compare them
    Programs(LabPrograms),
    /// Look around in a guest
    Shell(LabShell),
}

/// Which kernel.
#[derive(Debug, Args)]
pub struct LabKernel {
    /// Kernel of the guest: 6.12, 6.1, or 6.12-patched: with the adaptive read-ahead of kernel/patches. Only for
    /// `lab build`, and for `make kernel-test`: 6.12-patched-smp, 6.12-x86 and 6.12-patched-x86
    #[arg(long, value_name = "SERIES", default_value = "6.12")]
    pub kernel: String,
}

/// `ahead lab build`.
#[derive(Debug, Args)]
pub struct LabBuild {
    /// Which kernel.
    #[command(flatten)]
    pub kernel: LabKernel,
}

/// What a guest is made of.
#[derive(Debug, Args)]
pub struct LabMachine {
    /// Which kernel.
    #[command(flatten)]
    pub kernel: LabKernel,
    /// hdd, ssd, nvme, cloud, array, another disk as `ahead simulate --list` names it, or a model file ending in .toml
    #[arg(long, value_name = "MODEL", default_value = "hdd")]
    pub disk: String,
    /// Size of the disk
    #[arg(long, value_name = "SIZE", default_value = "4G")]
    pub size: String,
    /// Memory of the guest
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub memory: String,
    /// File system: ext4, xfs or btrfs (needs its mkfs), or nfs: ext4, served by the guest and mounted by it
    #[arg(long, value_name = "KIND", default_value = "ext4", value_parser = ["ext4", "xfs", "btrfs", "nfs"])]
    pub fs: String,
    /// Copy this file or folder to the disk first; may be repeated
    #[arg(long, value_name = "PATH")]
    pub with: Vec<PathBuf>,
    /// Run this first with the shell, on the disk, outside of the measurement
    #[arg(long, value_name = "SCRIPT")]
    pub prepare: Vec<OsString>,
    /// End the guest after so many seconds of the host's clock
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub wall_limit: u64,
}

/// The command of a guest, and the form of what is printed.
#[derive(Debug, Args)]
pub struct LabCommand {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Command to run, found as in this shell; its working folder is the disk
    #[arg(
        required = true,
        value_name = "CMD",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub command: Vec<OsString>,
}

/// `ahead lab run`.
#[derive(Debug, Args)]
#[command(
    after_help = "The account goes to standard error: standard output belongs to CMD, with all that it prints.\n\
    Exit codes: the status of CMD; 1 could not run it, 2 wrong usage, 126 CMD cannot be executed, 127 CMD not found."
)]
pub struct LabRun {
    /// What the guest is made of.
    #[command(flatten)]
    pub machine: LabMachine,
    /// Read-ahead of the disk
    #[arg(long, value_name = "SIZE", default_value = "128K")]
    pub read_ahead: String,
    /// Run the command by itself, not under `ahead run`
    #[arg(long)]
    pub no_ahead: bool,
    /// What runs there.
    #[command(flatten)]
    pub task: LabCommand,
}

/// `ahead lab compare`.
#[derive(Debug, Args)]
pub struct LabCompare {
    /// What the guests are made of.
    #[command(flatten)]
    pub machine: LabMachine,
    /// Arms, comma separated: off, stock:KIB, run, patched (needs `lab build --kernel 6.12-patched`), ceiling
    #[arg(
        long,
        value_name = "LIST",
        default_value = "stock:128,stock:512,stock:8192,run,ceiling"
    )]
    pub arm: String,
    /// How often each arm is run
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = from_one::<u32>)]
    pub repeat: u32,
    /// What runs there.
    #[command(flatten)]
    pub task: LabCommand,
}

/// The bench's patterns in guests: what `ahead lab bench` and `ahead lab predict` have in common.
#[derive(Debug, Args)]
pub struct LabPatterns {
    /// Which kernel.
    #[command(flatten)]
    pub kernel: LabKernel,
    /// Disks, comma separated: as `ahead simulate --list` names them, or model files ending in .toml
    #[arg(long, value_name = "LIST", default_value = "hdd,ssd,cloud")]
    pub disk: String,
    /// Patterns, comma separated; `ahead bench list` names them
    #[arg(long, value_name = "LIST", default_value = "all")]
    pub pattern: String,
    /// End each run after so many virtual seconds
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = from_one::<u64>)]
    pub seconds: u64,
    /// End each run after so many bytes
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = some_bytes)]
    pub bytes: String,
    /// Memory of each guest
    #[arg(long, value_name = "SIZE", default_value = "3G")]
    pub memory: String,
    /// Guests at once
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub guests: u32,
}

/// `ahead lab bench`.
#[derive(Debug, Args)]
pub struct LabBench {
    /// What is read, and where.
    #[command(flatten)]
    pub patterns: LabPatterns,
    /// Arms, comma separated: off, stock:KIB, static-best, run, run:KEY=VALUE, patched, ceiling
    #[arg(
        long,
        value_name = "LIST",
        default_value = "stock:128,stock:512,stock:8192,run,ceiling"
    )]
    pub arm: String,
    /// How often each pair of pattern and arm is run
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = from_one::<u32>)]
    pub repeat: u32,
    /// File system: ext4, or xfs, which has large folios (needs its mkfs)
    #[arg(long, value_name = "KIND", default_value = "ext4", value_parser = ["ext4", "xfs"])]
    pub fs: String,
    /// Speed of the disk relative to the real one (default: 4 for rotating disks, else 1)
    #[arg(long, value_name = "N")]
    pub scale: Option<String>,
    /// Write the results of each disk as JSON to this folder
    #[arg(long, value_name = "DIR")]
    pub json: Option<PathBuf>,
    /// Write a picture of each disk as SVG to this folder
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
}

/// `ahead lab predict`.
#[derive(Debug, Args)]
pub struct LabPredict {
    /// What is read, and where.
    #[command(flatten)]
    pub patterns: LabPatterns,
    /// Arms, comma separated: off, stock:KIB, run, run:KEY=VALUE
    #[arg(
        long,
        value_name = "LIST",
        default_value = "stock:128,stock:512,stock:8192,run"
    )]
    pub arm: String,
    /// Random seed: the same seed reads the same places
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Instead of patterns, compare programs that go through a tree (small: 4000 files, many: 100 000, large: 500 of
    /// 2 MB): tar, grep -r and diff -r, by themselves and under `ahead run --set trees=on`
    #[arg(
        long,
        value_name = "TREE",
        value_parser = ["small", "many", "large"],
        conflicts_with_all = ["pattern", "arm", "measured", "requests", "svg"]
    )]
    pub tree: Option<String>,
    /// Size of the tree, in per cent
    #[arg(long, value_name = "N", default_value_t = 100, requires = "tree", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub percent: u32,
    /// Only patterns with a limit of memory (such as sep64@64m), each simulated under these rules by which pages leave
    /// memory: two-lists, watermarks, generations, group (what guests do)
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = ["two-lists", "watermarks", "generations", "group"],
        conflicts_with_all = ["tree", "requests", "json", "svg"]
    )]
    pub reclaim: Vec<String>,
    /// Keep what guests measured in this folder, and use it where it is there
    #[arg(long, value_name = "DIR")]
    pub measured: Option<PathBuf>,
    /// Write every request of both disks to this folder, as CSV
    #[arg(long, value_name = "DIR")]
    pub requests: Option<PathBuf>,
    /// Write the results as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a picture as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// `ahead lab programs`.
#[derive(Debug, Args)]
pub struct LabPrograms {
    /// Which kernel.
    #[command(flatten)]
    pub kernel: LabKernel,
    /// Disks, comma separated: as `ahead simulate --list` names them, or model files ending in .toml
    #[arg(long, value_name = "LIST", default_value = "hdd")]
    pub disk: String,
    /// File system: ext4, xfs or btrfs (needs its mkfs)
    #[arg(long, value_name = "KIND", default_value = "ext4", value_parser = ["ext4", "xfs", "btrfs"])]
    pub fs: String,
    /// What is run.
    #[command(flatten)]
    pub choice: ProgramChoice,
    /// Memory of each guest
    #[arg(long, value_name = "SIZE", default_value = "3G")]
    pub memory: String,
    /// End with 1 when a program is slower than 0.98 of plain or produces something else
    #[arg(long)]
    pub check: bool,
    /// Write the results of each disk as JSON to this folder
    #[arg(long, value_name = "DIR")]
    pub json: Option<PathBuf>,
    /// Write a picture of each disk as SVG to this folder
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
}

/// `ahead lab shell`.
#[derive(Debug, Args)]
pub struct LabShell {
    /// What the guest is made of.
    #[command(flatten)]
    pub machine: LabMachine,
}
