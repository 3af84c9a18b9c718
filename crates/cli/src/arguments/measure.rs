//! The command lines of `ahead device measure` and `ahead device recommend`.

use std::path::PathBuf;

use clap::Args;

/// `ahead device measure`.
#[derive(Debug, Args)]
#[command(
    after_help = "Nothing is written to the device. While others use it we wait, and give up when \
    they stay.\n\
    As root the ladder through the page cache sets read_ahead_kb for a moment, and puts it back, also \
    when the command is killed.\n\
    Exit codes: 0 measured, 1 could not, or ended early, 2 wrong usage."
)]
pub struct DeviceMeasure {
    /// A block device (sda, /dev/sda, 8:0), or a large file on it
    pub target: String,
    /// Time of all steps together
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub time: String,
    /// Bytes that are read at most
    #[arg(long, value_name = "SIZE", default_value = "32G")]
    pub bytes: String,
    /// Write the whole measurement as JSON, for `recommend`; `-` prints it instead of the table
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Draw throughput, latency and utilisation over the size of requests
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write a job file of fio for each step to this folder
    #[arg(long, value_name = "DIR")]
    pub fio: Option<PathBuf>,
    /// Run these job files with fio as well, and show both side by side
    #[arg(long)]
    pub with_fio: bool,
    /// Leave out the ladder of windows through the page cache
    #[arg(long)]
    pub no_ladder: bool,
    /// Do not store the estimate for `ahead run`
    #[arg(long)]
    pub no_store: bool,
}
