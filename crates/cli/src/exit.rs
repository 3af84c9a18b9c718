//! How the program ends: one type for every exit code, so that no verb invents its own numbers.

use std::process::ExitCode;

/// The end of one call of `ahead`, as the caller sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything was done, or there was nothing to do. Also: the reader of our output went away.
    Fine,
    /// The command found something, or could not do what was asked.
    Failed,
    /// The command line or the configuration is wrong; nothing was started.
    Usage,
    /// `ahead run`, `ahead lab run`: CMD exists but cannot be executed (what shells answer with 126).
    NotExecutable,
    /// `ahead run`, `ahead lab run`: there is no such CMD (what shells answer with 127).
    NotFound,
    /// `ahead run`, `ahead lab run`: the status of CMD, passed through.
    OfCommand(u8),
}

impl Exit {
    /// The number that the calling process gets.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NotExecutable => 126,
            Self::NotFound => 127,
            Self::OfCommand(status) => status,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
