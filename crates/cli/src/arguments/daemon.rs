//! `ahead daemon`.

use clap::{Args, ValueEnum};

use super::example::{Examples, of};

/// `ahead daemon`.
#[derive(Debug, Args)]
#[command(
    after_help = "It stays in the foreground and ends with SIGINT or SIGTERM, after it has put back what it changed.\n\
    Exit codes: 0 ended when asked to, 1 could not start or go on, 2 wrong usage."
)]
pub struct Daemon {
    /// How far it goes: observe asks for nothing, advise asks for pages, full also takes the window from open files
    /// whose mapping is read at random
    #[arg(long, value_name = "MODE", value_enum, default_value_t = DaemonMode::Full)]
    pub mode: DaemonMode,
    /// Put back what a daemon that was killed has left, and end
    #[arg(long, conflicts_with = "mode")]
    pub undo: bool,
}

/// How far the daemon goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DaemonMode {
    /// Watches, asks for nothing.
    Observe,
    /// Asks for pages.
    Advise,
    /// Also takes windows from open files.
    Full,
}

/// Its examples.
pub(super) static DAEMON: &[Examples] = &[of(
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
            "sudo ahead daemon --undo",
            "after a daemon was killed: put back what it had changed",
        ),
    ],
)];
