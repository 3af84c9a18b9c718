//! The command line: every command, option and sentence of help. No behaviour lives here; the man
//! page and the shell completions are made from these definitions.

mod amounts;
mod daemon;
mod device;
mod example;
mod examples;
mod lab;
mod measure;
mod measure_examples;
mod programs;
mod simulator;
mod traces;

use std::ffi::OsString;
use std::path::PathBuf;

use ahead_harness::predict::ScaledDisk;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use amounts::{from_one, some_bytes};

pub use daemon::{DaemonLog, DaemonMode, DaemonOptions, Explain, Status, Top};
pub use device::{DeviceOptions, DeviceVerb, Doctor, PersistChoice, PersistOptions};
pub use example::Examples;
pub use examples::of_page;
pub use lab::{
    Lab, LabBench, LabBuild, LabCompare, LabKernel, LabMachine, LabPatterns, LabPredict,
    LabPrograms, LabRun, LabShell,
};
pub use measure::{DeviceMeasure, DeviceRecommend};
pub use programs::{BenchPrograms, ProgramChoice};
pub use simulator::{Choice, Compare, DISKS_MAX, Reproduce, Simulate};
pub use traces::{Convert, Record, Replay, Stat, TraceOptions};

/// Makes the file reads of programs faster, by predicting and prefetching them.
#[derive(Debug, Parser)]
#[command(
    name = "ahead",
    version,
    propagate_version = false,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 fine, 1 found something or failed, 2 wrong usage. \
                  `ahead run` passes on the status of CMD."
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The command line's definition, with the examples in its help.
#[must_use]
pub fn command() -> clap::Command {
    examples::added(Arguments::command(), "ahead")
}

impl Arguments {
    /// What was typed.
    ///
    /// # Errors
    /// It is no command line of ours, or asks for help or the version.
    pub fn from_typed(typed: &[OsString]) -> Result<Self, clap::Error> {
        if let Some(run) = Run::from_typed(typed) {
            let verb = Verb::Run(run);
            return Ok(Self { verb });
        }
        let mut command = command();
        let mut matches = command.try_get_matches_from_mut(typed)?;
        Self::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a command with its file reads predicted and prefetched
    Run(Run),
    /// Read ahead for every program of this machine, from outside (needs root)
    Daemon(DaemonOptions),
    /// What the daemon sees, does, and why
    Status(Status),
    /// Why the daemon does with a file what it does, and what it decided before
    Explain(Explain),
    /// What the daemon sees and does, on the terminal, again every second
    Top(Top),
    /// The read-ahead window of every device and file system: list, get, set, undo
    #[command(subcommand, arg_required_else_help = true)]
    Device(DeviceVerb),
    /// What is wrong with the read-ahead windows of this machine, and the command that repairs it
    Doctor(Doctor),
    /// Emulated disks under the real page cache, to try things on (needs root)
    #[command(subcommand, arg_required_else_help = true)]
    Disk(DiskVerb),
    /// Measure read-ahead here: patterns, policies, distance to the ceiling
    #[command(subcommand, arg_required_else_help = true)]
    Bench(Bench),
    /// Run programs over the real kernel in virtual time, on a modelled disk, without noise
    #[command(subcommand, arg_required_else_help = true)]
    Lab(Lab),
    /// Simulate one workload under one policy, with the full account of the run
    Simulate(Box<Simulate>),
    /// Simulate policies on workloads, disks and memory sizes, and compare them
    Compare(Box<Compare>),
    /// Reproduce published read-ahead figures in the simulator
    Reproduce(Reproduce),
    /// Record the reads of every process of this machine as a trace (needs root)
    Record(Record),
    /// Convert a trace of reads to another format
    Convert(Convert),
    /// Print statistics of a trace: sizes, runs, re-use
    Stat(Stat),
    /// Replay the reads of a trace on a real file system
    Replay(Replay),
    /// Print the settings of `run`, with the values that would be used
    Settings(SettingsArguments),
    /// Print the completion script of a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff), or write the pages of all commands to a folder
    Man {
        /// Folder to write the pages to, one per command
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// `ahead run`.
#[derive(Debug, Args)]
#[command(
    after_help = "Reports go to standard error or to FILE: standard output belongs to CMD.\n\
    Settings come from /etc/ahead/ahead.toml, ~/.config/ahead/ahead.toml, --config, --set; \
    the later one wins. `ahead settings` lists them.\n\
    Exit codes: the status of CMD; 1 could not prepare the run, 2 wrong usage, \
    126 CMD cannot be executed, 127 CMD not found."
)]
pub struct Run {
    /// Who decides what is read ahead: the same as --set policy=…
    #[arg(long, value_name = "POLICY", value_parser = ["adaptive", "off", "kernel"])]
    pub policy: Option<String>,
    /// Change one setting; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Read settings from this file too
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// When CMD has ended, print what was seen and done per file, and what was left alone and why
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub report: Option<Option<PathBuf>>,
    /// Write the report as JSON (implies --report)
    #[arg(long)]
    pub json: bool,
    /// Print decisions while they are made
    #[arg(long)]
    pub explain: bool,
    /// Print decisions to this file instead (implies --explain)
    #[arg(long, value_name = "FILE")]
    pub explain_to: Option<PathBuf>,
    /// Record the reads of CMD as a trace: .csv (also without an ending), .parquet, .fio, each also
    /// with .zst or .gz
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Do not act in the processes that CMD starts
    #[arg(long)]
    pub no_children: bool,
    /// Whether to begin with what earlier runs learned of the disks, and to keep what this one learns
    /// [default: yes; inside another run what that one does]
    #[arg(long, value_name = "yes|no", value_parser = ["yes", "no"], hide_possible_values = true)]
    pub device_cache: Option<String>,
    /// The command and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        value_name = "CMD",
        value_hint = clap::ValueHint::CommandWithArguments
    )]
    pub command: Vec<OsString>,
}

impl Run {
    /// The same without the definitions of all other commands, which take half of the time that `ahead run` needs before it
    /// starts a program. `None`: another command, a mistake, or a wish for help, of which all of them know more.
    fn from_typed(typed: &[OsString]) -> Option<Self> {
        let (_, typed) = typed.split_first()?;
        if typed.first()? != "run" {
            return None;
        }
        let run = Self::augment_args(clap::Command::new("run"));
        let matches = run.try_get_matches_from(typed).ok()?;
        Self::from_arg_matches(&matches).ok()
    }

    /// Whether estimates of devices are kept; `None` when nothing was said.
    #[must_use]
    pub fn device_cache(&self) -> Option<bool> {
        self.device_cache.as_deref().map(|said| said == "yes")
    }
}

/// `ahead settings`.
#[derive(Debug, Args)]
pub struct SettingsArguments {
    /// Read settings from this file too
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `ahead disk`.
#[derive(Debug, Subcommand)]
pub enum DiskVerb {
    /// Create an emulated disk and mount a fresh file system on it
    Create(DiskCreate),
    /// List the emulated disks of this machine; removes what crashed ones left behind
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the counters of an emulated disk
    Stats {
        /// Name of the disk
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Set the counters to zero afterwards
        #[arg(long)]
        reset: bool,
    },
    /// Unmount an emulated disk and remove it with its contents
    Destroy {
        /// Name of the disk
        name: String,
    },
}

/// Order in which waiting requests are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OrderName {
    /// First come, first served
    Fifo,
    /// Sweeps in one direction, with ageing so that no request starves
    CLook,
}

/// `ahead disk create`.
#[derive(Debug, Args)]
pub struct DiskCreate {
    /// Name of the disk: a-z, A-Z, 0-9, '.', '_' and '-'
    pub name: String,
    /// hdd, ssd, cloud, or a model file ending in .toml
    #[arg(long, value_name = "MODEL")]
    pub model: String,
    /// Size of the disk; it lives in memory (suffixes K, M, G, T are powers of 1024)
    #[arg(long, value_name = "SIZE")]
    pub size: String,
    /// Empty folder to mount it on; created when missing
    #[arg(long, value_name = "DIR")]
    pub mount: PathBuf,
    /// Speed relative to the real disk: 4, 0.5, 1/3
    #[arg(long, value_name = "N", default_value = "1")]
    pub scale: String,
    /// Order of service; the default belongs to the model
    #[arg(long, value_enum)]
    pub order: Option<OrderName>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `ahead bench`.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// Run patterns under several arms, interleaved, and compare them
    Run(BenchRun),
    /// List the patterns and arms
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Compare the simulator with the running kernel: throughput of both, cell by cell (needs root)
    Predict(BenchPredict),
    /// Measure the overhead where there is nothing to gain: process starts, calls, cached reads
    Overhead(BenchOverhead),
    /// Measure real programs with and without `ahead run`: speed, device bytes, the same output
    Programs(BenchPrograms),
    /// Print the table of an earlier run again, draw it, or compare two
    Report {
        /// Results that `bench run --json` or `lab bench --json` wrote
        results: PathBuf,
        /// Other results of the same disk: print how far the two are apart, cell by cell
        #[arg(long, value_name = "FILE", conflicts_with = "svg")]
        beside: Option<PathBuf>,
        /// Write a picture as SVG
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
    },
}

/// `ahead bench predict`.
#[derive(Debug, Args)]
pub struct BenchPredict {
    /// Patterns, comma separated; `ahead bench list` names them
    #[arg(
        long,
        value_name = "LIST",
        default_value = "seq4k,seq64k,back64k,stride64-192,one8,sep8,thr8,rand16k,mixed"
    )]
    pub patterns: String,
    /// Emulated disks, comma separated; `@1/8` behind one makes it eight times slower than real
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "hdd,ssd@1/8,cloud"
    )]
    pub disks: Vec<ScaledDisk>,
    /// Read-ahead sizes in KiB, comma separated
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "128,512,1024,4096"
    )]
    pub windows: Vec<u64>,
    /// How often each cell is measured
    #[arg(long, value_name = "N", default_value = "3", value_parser = from_one::<u32>)]
    pub repeat: u32,
    /// Longest run of a cell
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = from_one::<u64>)]
    pub seconds: u64,
    /// Random seed: the same seed reads the same places
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Size of an emulated disk; it lives in memory, and the test files shrink to fit
    #[arg(long, value_name = "SIZE", default_value = "4G")]
    pub size: String,
    /// Write the results as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a picture as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write the picture as PNG
    #[arg(long, value_name = "FILE")]
    pub png: Option<PathBuf>,
}

/// `ahead bench overhead`.
#[derive(Debug, Args)]
#[command(
    after_help = "Each row is run without the library and under `ahead run`, in turn; what is \
    shown is the median of the differences (or ratios) of neighbouring runs, and where that median \
    would lie in 95 of 100 repetitions. Stop other programs first: a few per cent are within reach \
    of anything that shares the processors."
)]
pub struct BenchOverhead {
    /// Rows, comma separated; `dd` means `dd-cold` and `dd-warm`
    #[arg(long, value_name = "LIST", default_value = "all")]
    pub row: String,
    /// How often each row is run in each arm
    #[arg(long, value_name = "N", default_value = "9", value_parser = from_one::<u32>)]
    pub repeat: u32,
    /// A quarter of the operations and three repeats, for a first look
    #[arg(long)]
    pub quick: bool,
    /// Folder for the test files; the disk below it serves the cold rows
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    pub on: Option<PathBuf>,
    /// Emulated disk for the rows `files-800`: hdd, ssd, cloud (needs root and 8 GiB of memory)
    #[arg(long, value_name = "MODEL", value_parser = ["hdd", "ssd", "cloud"])]
    pub disk: Option<String>,
    /// Measure another library in the same run, beside the usual one
    #[arg(long, value_name = "LIBRARY", value_hint = clap::ValueHint::FilePath)]
    pub against: Option<PathBuf>,
    /// End with 1 when a row misses its bound
    #[arg(long)]
    pub check: bool,
    /// Print JSON, with every single run
    #[arg(long)]
    pub json: bool,
    /// Write a picture as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// `ahead bench run`.
#[derive(Debug, Default, Args)]
pub struct BenchRun {
    /// hdd, ssd, cloud (emulated, needs root), or a folder on the disk to measure
    #[arg(long, value_name = "DISK", required_unless_present = "plan")]
    pub disk: Option<String>,
    /// Patterns, comma separated; `ahead bench list` names them; all of them without a plan
    #[arg(long, value_name = "LIST")]
    pub pattern: Option<String>,
    /// Measure the workloads of this plan, in its memory sizes, and on its disk if it names one
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// Arms, comma separated
    #[arg(
        long,
        value_name = "LIST",
        default_value = "off,stock:128,stock:512,static-best,run,ceiling"
    )]
    pub arm: String,
    /// How often each pair of pattern and arm is run
    #[arg(long, value_name = "N", default_value = "3", value_parser = from_one::<u32>)]
    pub repeat: u32,
    /// Random seed: the same seed reads the same places (default: the plan's, or 1)
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Speed of an emulated disk relative to the real one: 4, 0.5, 1/3
    #[arg(long, value_name = "N")]
    pub scale: Option<String>,
    /// Size of an emulated disk; it lives in memory, and the test files shrink to fit
    #[arg(long, value_name = "SIZE")]
    pub size: Option<String>,
    /// What the disk is (a model's name or a .toml file): names it in the report, and tells the
    /// ceiling which holes are cheaper to read than to skip
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// End each run after so many seconds
    #[arg(long, value_name = "N", conflicts_with = "quick", value_parser = from_one::<u64>)]
    pub seconds: Option<u64>,
    /// End each run after so many bytes
    #[arg(long, value_name = "SIZE", value_parser = some_bytes)]
    pub bytes: Option<String>,
    /// Read-ahead sizes in KiB that `static-best` tries, comma separated
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub sweep: Vec<u64>,
    /// Leave the test files, and an emulated disk, for the next run
    #[arg(long)]
    pub keep: bool,
    /// Look up where the files lie before each run, and write it to the results
    #[arg(long, hide = true)]
    pub places: bool,
    /// Sleep where a workload computes: in a guest, whose processors take no time
    #[arg(long, hide = true)]
    pub sleep: bool,
    /// Write the results after each run: a guest that hangs leaves those before
    #[arg(long, hide = true)]
    pub each: bool,
    /// Short runs, for a first look; not for publishing
    #[arg(long)]
    pub quick: bool,
    /// Write the results as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a picture as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `ahead run` understands without the other commands is what it understands among them.
    #[test]
    fn a_run_is_parsed_alone_as_it_is_among_all_commands() {
        let lines = [
            "ahead run true",
            "ahead run -- true",
            "ahead run cat -n --report file",
            "ahead run --report cat file",
            "ahead run --report=r.txt --json --explain -- cat --explain",
            "ahead run --set a=1 --set b=2 --policy off --config c.toml --no-children x",
            "ahead run --device-cache no --record t.csv --explain-to e.txt x y z",
            "ahead run run run",
            "ahead run",
            "ahead run --",
            "ahead run --help",
            "ahead run -h x",
            "ahead run --version x",
            "ahead run --policy best x",
            "ahead run --policy",
            "ahead run --no-such x",
            "ahead run --json --json x",
            "ahead runs x",
            "ahead settings --json",
            "ahead",
            "",
        ];
        for line in lines {
            let typed: Vec<_> = line.split_whitespace().map(OsString::from).collect();
            let among = Arguments::command()
                .try_get_matches_from(&typed)
                .and_then(|matches| Arguments::from_arg_matches(&matches));
            let among = match among.map(|arguments| arguments.verb) {
                Ok(Verb::Run(run)) => Some(format!("{run:?}")),
                _ => None,
            };
            let alone = Run::from_typed(&typed).map(|run| format!("{run:?}"));
            assert_eq!(alone, among, "{line}");
        }
    }
}
