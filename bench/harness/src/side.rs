//! A command by itself, or under `ahead run`: the two sides of a comparison of whole programs, what is said
//! when one cannot be run, and the order in which they take turns.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// A run went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// A program could not be started or failed.
    #[error("{command}: {reason}")]
    Program {
        /// What was run.
        command: String,
        /// How it ended.
        reason: String,
    },
    /// A test file could not be taken out of memory.
    #[error("cannot prepare a cold run: {0}")]
    Evict(io::Error),
    /// No daemon beside a program.
    #[error("cannot start the daemon: {0}")]
    Daemon(io::Error),
    /// It was told to stop.
    #[error("stopped")]
    Stopped,
}

/// One side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side<'a> {
    /// The program by itself.
    Plain,
    /// Under `ahead run` with this library.
    With(&'a Path),
}

/// How both sides are started.
pub(crate) struct Launcher<'a> {
    /// Our own program.
    pub(crate) program: &'a Path,
    /// The environment variable that names the library.
    pub(crate) library_variable: &'a str,
    pub(crate) library: &'a Path,
    /// Another library, as a third side.
    pub(crate) against: Option<&'a Path>,
    /// A folder without anybody's configuration.
    pub(crate) folder: &'a Path,
}

impl Launcher<'_> {
    /// The sides of one repeat, in their order: it turns round with every repeat (A B C C B A …), so that a
    /// machine that gets slower or faster favours none.
    pub(crate) fn sides(&self, repeat: u32) -> Vec<Side<'_>> {
        let mut sides = vec![Side::Plain, Side::With(self.library)];
        sides.extend(self.against.map(Side::With));
        if repeat % 2 == 1 {
            sides.reverse();
        }
        sides
    }

    /// `words` on a side; `options` are for `ahead run`.
    pub(crate) fn command(
        &self,
        words: &[OsString],
        side: Side<'_>,
        options: &[OsString],
    ) -> Command {
        let mut all: Vec<OsString> = Vec::new();
        if let Side::With(_) = side {
            all.extend([self.program.into(), "run".into()]);
            // No run depends on what the one before it has learned.
            all.extend(["--device-cache".into(), "no".into()]);
            all.extend(options.iter().cloned());
            all.push("--".into());
        }
        all.extend(words.iter().cloned());
        let mut all = all.into_iter();
        let mut command = Command::new(all.next().unwrap_or_default());
        command
            .args(all)
            .env("LC_ALL", "C")
            // Neither the configuration of this machine's user nor what an outer `ahead run` set.
            .env("XDG_CONFIG_HOME", self.folder)
            .env_remove("LD_PRELOAD")
            .env_remove("AHEAD_SETTINGS")
            .env_remove("AHEAD_GROUP")
            .env_remove(self.library_variable)
            .stdin(Stdio::null());
        if let Side::With(library) = side {
            command.env(self.library_variable, library);
        }
        command
    }
}

/// Runs a command to its end, which must be a success. Returns what it printed.
pub(crate) fn succeed(command: &mut Command) -> Result<String, MeasureError> {
    let output = command
        .output()
        .map_err(|error| failed(command, format!("cannot be started: {error}")))?;
    if !output.status.success() {
        return Err(ended_badly(command, output.status, &output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A command that ended so and `said` this to standard error, of which the last words are shown.
pub(crate) fn ended_badly(command: &Command, status: ExitStatus, said: &[u8]) -> MeasureError {
    let said = String::from_utf8_lossy(said);
    let has_words = |line: &&str| line.chars().any(char::is_alphanumeric);
    let last = said.lines().rfind(has_words).unwrap_or("no reason given");
    failed(command, format!("ended with {status}: {}", last.trim()))
}

pub(crate) fn failed(command: &Command, reason: String) -> MeasureError {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.take(6).map(|word| {
        let word = word.to_string_lossy();
        // Of a script the beginning, so that the message stays one line.
        match word.trim().split_once('\n') {
            Some((first, _)) => format!("{first} …"),
            None => word.into_owned(),
        }
    });
    MeasureError::Program {
        command: words.collect::<Vec<_>>().join(" "),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_fails_is_named_by_its_first_line() {
        let script = "\nfirst='a b'\nexit 3\n";
        let error = succeed(Command::new("sh").args(["-c", script])).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("sh -c first='a b' …: ended with"),
            "{text}"
        );
        assert_eq!(text.lines().count(), 1);
    }
}
