//! The command lines of `ahead device measure` and `ahead device recommend`.

use std::path::PathBuf;

use clap::Args;

use super::traces::TraceOptions;

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

/// `ahead device recommend`.
#[derive(Debug, Args)]
#[command(
    after_help = "The simulator runs the mix, or the trace, at every window from 0 to 64 MiB under the \
    algorithm of the kernel that the device was measured with, on a model of that device: that of Linux 6.18, or of 6.12 \
    where it is older. With --model it is Linux 6.12, as in the guests of --prove, and the window that others are held \
    against is the default of 128 KiB.\n\
    Exit codes: 0 said, 1 could not, or not proved, 2 wrong usage."
)]
pub struct DeviceRecommend {
    /// What `ahead device measure --json` wrote, or a device or file of which a measurement was stored
    #[arg(value_name = "MEASUREMENT|DEVICE", default_value = "/")]
    pub source: String,
    /// A disk model instead of a measurement: hdd, ssd, cloud, …, or a file ending in .toml
    #[arg(long, value_name = "MODEL", conflicts_with = "source")]
    pub model: Option<String>,
    /// Programs that each read a file from its start
    #[arg(long, value_name = "N", default_value = "1")]
    pub sequential_streams: String,
    /// Part of their reads that goes to random places: 0 to 1
    #[arg(long, value_name = "F", default_value = "0")]
    pub random_share: String,
    /// Bytes of a read
    #[arg(long, value_name = "SIZE", default_value = "128K")]
    pub request: String,
    /// 99 of 100 random reads must not take longer; without random ones, of all reads
    #[arg(long, value_name = "TIME")]
    pub latency_limit: Option<String>,
    /// Memory for the programs and the page cache, as a container's limit
    #[arg(long, value_name = "SIZE", default_value = "1G")]
    pub memory: String,
    /// Bytes per second that a program takes at most
    #[arg(long, value_name = "SIZE")]
    pub reader_rate: Option<String>,
    /// The reads of a recorded trace (`ahead run --record`) instead of a mix
    #[arg(long, value_name = "FILE", conflicts_with_all =
        ["sequential_streams", "random_share", "request", "reader_rate"])]
    pub trace: Option<PathBuf>,
    /// How the trace is read.
    #[command(flatten)]
    pub reading: TraceOptions,
    /// Say what this window would change, and recommend nothing
    #[arg(long, value_name = "SIZE")]
    pub what_if: Option<String>,
    /// Read the mix at every window over a real kernel, and end with 1 where the recommended one is over 3 %
    /// slower than the fastest: `lab` in a guest, in virtual time; a folder, or hdd, ssd, cloud (emulated), in
    /// real time and as root
    #[arg(long, value_name = "lab|DISK", num_args = 0..=1, default_missing_value = "lab",
        require_equals = true, conflicts_with_all = ["what_if", "trace", "latency_limit"])]
    pub prove: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Draw throughput and latency over the window
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}
