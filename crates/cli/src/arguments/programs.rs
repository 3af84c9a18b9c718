//! The command line of `ahead bench programs`, and what `ahead lab programs` shares with it.

use std::path::PathBuf;

use clap::Args;

/// Which programs, and what they find.
#[derive(Clone, Debug, Args)]
pub struct ProgramChoice {
    /// Programs, comma separated; `sqlite` means all that begin with `sqlite-`
    #[arg(long, value_name = "LIST")]
    pub program: Option<String>,
    /// Programs and their data from this TOML file, instead of our own list; `trees`: programs that go through trees
    /// of 4000 small files, 100 000 tiny and 500 large ones, as written at once and as grown; `mapped`: programs that map
    /// the files that they read; `unnamed`: programs that nothing was tuned on
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub list: Option<PathBuf>,
    /// Only programs that read one of these data, comma separated
    #[arg(long, value_name = "LIST")]
    pub data: Option<String>,
    /// What is in memory when a program starts: nothing (cold), or what fits of its data (warm)
    #[arg(long, value_name = "STATE", default_value = "cold", value_parser = ["cold", "warm"])]
    pub cache: String,
    /// Size of the data, in per cent; a tenth does for a first look
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub percent: u32,
    /// Change one setting of `ahead run`; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// `ahead bench programs`.
#[derive(Debug, Args)]
#[command(
    after_help = "Each program is run by itself and in the other arm, in turn, until the interval in \
    which the median of the ratios lies in 95 of 100 repetitions is narrow. What a program prints and \
    writes has to be the same. `packaging/install-bench-programs` installs what the list needs; programs \
    that are missing are left out."
)]
pub struct BenchPrograms {
    /// What is run.
    #[command(flatten)]
    pub choice: ProgramChoice,
    /// What programs by themselves are compared with: `run`, under `ahead run`; `daemon`, beside `ahead daemon`
    #[arg(long, value_name = "ARM", default_value = "run", value_parser = ["run", "daemon"])]
    pub arm: String,
    /// hdd, ssd, cloud (emulated, needs root), or a folder on the disk to measure
    #[arg(long, value_name = "DISK", default_value = "hdd")]
    pub disk: String,
    /// Speed of an emulated disk relative to the real one: 4, 0.5, 1/3
    #[arg(long, value_name = "N")]
    pub scale: Option<String>,
    /// Size of an emulated disk; it lives in memory
    #[arg(long, value_name = "SIZE")]
    pub size: Option<String>,
    /// Read-ahead of the disk meanwhile, in KiB; `kept`: as this machine has it
    #[arg(long, value_name = "KIB", default_value = "128", value_parser = read_ahead)]
    pub read_ahead: String,
    /// Rounds of each program
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Rounds of a program whose interval is not narrow
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds_max: u32,
    /// An interval is narrow when its ends are no more than so many per cent apart
    #[arg(long, value_name = "PERCENT", default_value_t = 4.0)]
    pub narrow: f64,
    /// What the disk is (a model's name or a .toml file): names it in the report
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Leave the data, and an emulated disk, for the next bench
    #[arg(long)]
    pub keep: bool,
    /// Make the data, and measure nothing
    #[arg(long, hide = true)]
    pub prepare_only: bool,
    /// End with 1 when a program is slower than 0.98 of plain or produces something else
    #[arg(long)]
    pub check: bool,
    /// Write the results as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a picture as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// A number of KiB, or `kept`.
fn read_ahead(text: &str) -> Result<String, String> {
    if text == "kept" || text.parse::<u32>().is_ok() {
        Ok(text.to_owned())
    } else {
        Err("a number of KiB, or 'kept'".to_owned())
    }
}
