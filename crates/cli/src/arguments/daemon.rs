//! `ahead daemon`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Deserialize;

use super::example::{Examples, of};

/// `ahead daemon`.
#[derive(Debug, Args)]
#[command(
    after_help = "Settings come from /etc/ahead/ahead.toml, the files *.toml in /etc/ahead/ahead.toml.d in the order of \
    their names, and --config; SIGHUP reads them again. `[daemon]` has `mode`, `log` and `metrics`, `[daemon.include]` and `[daemon.exclude]` have lists of `paths`, `processes`, `cgroups` and `devices`; `[run]` has \
    those of the policy.\n\
    It stays in the foreground and ends with SIGINT or SIGTERM, after it has put back what it changed.\n\
    Exit codes: 0 ended when asked to, 1 could not start or go on, 2 wrong usage."
)]
pub struct DaemonOptions {
    /// How far it goes: observe asks for nothing, advise asks for pages, full also takes the window from open files
    /// whose mapping is read at random [default: what the settings say, or full]
    #[arg(long, value_name = "MODE", value_enum)]
    pub mode: Option<DaemonMode>,
    /// Read settings from this file too
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Also log a line for each change of mind about a file, a few a second at most
    #[arg(long, value_name = "WHAT", value_enum)]
    pub log: Option<DaemonLog>,
    /// Answer Prometheus at this address of this machine, as in 127.0.0.1:9752 [default: nowhere]
    #[arg(long, value_name = "ADDRESS", value_parser = ahead_daemon::metrics::local_address)]
    pub metrics: Option<SocketAddr>,
    /// Put back what a daemon that was killed has left, and end
    #[arg(long, conflicts_with_all = ["mode", "config", "log", "metrics"])]
    pub undo: bool,
}

/// How far the daemon goes: an option, and a line of the config file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DaemonMode {
    /// Watches, asks for nothing.
    Observe,
    /// Asks for pages.
    Advise,
    /// Also takes windows from open files.
    Full,
}

/// What the daemon logs: an option, and a line of the config file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DaemonLog {
    /// What it says of itself.
    Service,
    /// Also a line for each change of mind.
    Changes,
}

/// `ahead status`.
#[derive(Debug, Args)]
#[command(
    after_help = "Root and the members of the group 'ahead' see all files, others those that their own processes read.\n\
    Exit codes: 0 shown, 1 no daemon runs or answers, 2 wrong usage."
)]
pub struct Status {
    /// Only files that this process read last, or only this file
    #[arg(value_name = "PID|FILE")]
    pub target: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `ahead explain`.
#[derive(Debug, Args)]
#[command(
    after_help = "The newest 32 decisions of each file are kept. Root and the members of the group 'ahead' see all \
    files, others those that their own processes read.\n\
    Exit codes: 0 shown, 1 no daemon runs or answers, 2 wrong usage."
)]
pub struct Explain {
    /// The files that this process read last, or this file
    #[arg(value_name = "PID|FILE")]
    pub target: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `ahead top`.
#[derive(Debug, Args)]
#[command(
    after_help = "Keys: 1 to 4 and Tab choose devices, control groups, processes or files; Enter goes into a row, down to \
    the decisions about a file, Esc back; < and > choose the order, r reverses it, / filters by name, q ends.\n\
    Columns: the largest request; pages useful, late (useful and waited for), wasted and evicted unread; pages requested \
    for each useful one. 80 columns and 24 lines are enough.\n\
    Root and the members of the group 'ahead' see all files, others those that their own processes read.\n\
    Exit codes: 0 ended by a key, 1 no daemon runs or answers, 2 wrong usage."
)]
pub struct Top {
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub interval: u32,
}

/// Its examples, and those of who asks it.
pub(super) static DAEMON: &[Examples] = &[
    of(
        "ahead-daemon",
        &[
            (
                "sudo ahead daemon",
                "read ahead for every program of this machine, until Ctrl-C",
            ),
            (
                "sudo ahead daemon --mode observe",
                "only watch: nothing is asked for, nothing changed",
            ),
            (
                "sudo ahead daemon --log changes --metrics 127.0.0.1:9752",
                "say in the log what is done about which file, and answer Prometheus",
            ),
            (
                "sudo ahead daemon --undo",
                "after a daemon was killed: put back what it had changed",
            ),
        ],
    ),
    of(
        "ahead-status",
        &[
            (
                "sudo ahead status",
                "every file that the daemon knows, and why it does what it does",
            ),
            ("ahead status big.log", "one file"),
            ("ahead status --json", "the same for programs"),
        ],
    ),
    of(
        "ahead-top",
        &[
            (
                "sudo ahead top",
                "devices, control groups, processes and files",
            ),
            (
                "ahead top --interval 5",
                "files of own processes, every five seconds",
            ),
        ],
    ),
    of(
        "ahead-explain",
        &[
            (
                "ahead explain big.log",
                "how it is read, what is requested and why, and the decisions before",
            ),
            (
                "sudo ahead explain 4285",
                "every file that this process read last",
            ),
        ],
    ),
];
