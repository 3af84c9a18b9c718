//! One job in its arms: without the library, with it, and with another one to compare. Arms follow
//! each other and turn round with every repeat (A B C C B A …), so that a machine that gets slower
//! or faster favours none.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::files::evict;
use super::job::{Clock, Job};
use crate::results::approximate;

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
    /// It was told to stop.
    #[error("stopped; the test files are gone")]
    Stopped,
}

/// One arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side<'a> {
    /// The program by itself.
    Plain,
    /// Under `ahead run` with this library.
    With(&'a Path),
}

/// The runs of one job, in nanoseconds for one operation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs {
    pub(crate) plain: Vec<f64>,
    pub(crate) with: Vec<f64>,
    pub(crate) against: Vec<f64>,
}

/// How `ahead run` is started, and when to stop.
pub(crate) struct Runner<'a> {
    pub(crate) program: &'a Path,
    /// The environment variable that names the library.
    pub(crate) library_variable: &'a str,
    pub(crate) library: &'a Path,
    pub(crate) against: Option<&'a Path>,
    /// A folder without anybody's configuration.
    pub(crate) folder: &'a Path,
    pub(crate) stop: &'a AtomicBool,
}

impl Runner<'_> {
    /// The arms of one repeat, in their order.
    fn sides(&self, repeat: u32) -> Vec<Side<'_>> {
        let mut sides = vec![Side::Plain, Side::With(self.library)];
        sides.extend(self.against.map(Side::With));
        if repeat % 2 == 1 {
            sides.reverse();
        }
        sides
    }

    /// Runs `job` so often in every arm.
    pub(crate) fn repeat(&self, job: &Job, repeats: u32) -> Result<Runs, MeasureError> {
        self.each(repeats, |side| self.once(job, side))
    }

    /// Calls `measure` so often for every arm.
    pub(crate) fn each(
        &self,
        repeats: u32,
        mut measure: impl FnMut(Side<'_>) -> Result<f64, MeasureError>,
    ) -> Result<Runs, MeasureError> {
        let mut runs = Runs::default();
        for repeat in 0..repeats {
            for side in self.sides(repeat) {
                if self.stop.load(Ordering::Relaxed) {
                    return Err(MeasureError::Stopped);
                }
                let value = measure(side)?;
                match side {
                    Side::Plain => runs.plain.push(value),
                    Side::With(library) if library == self.library => runs.with.push(value),
                    Side::With(_) => runs.against.push(value),
                }
            }
        }
        Ok(runs)
    }

    /// Runs `job` once. Returns nanoseconds for one operation.
    fn once(&self, job: &Job, side: Side<'_>) -> Result<f64, MeasureError> {
        evict(&job.cold).map_err(MeasureError::Evict)?;
        let mut command = self.command(job, side, &[]);
        let start = Instant::now();
        let said = succeed(&mut command)?;
        let elapsed = start.elapsed();
        match job.clock {
            Clock::Outside(operations) => {
                let ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
                Ok(approximate(ns) / approximate(operations.max(1)))
            }
            Clock::Program => {
                let last = said.split_whitespace().last().map(str::parse);
                last.and_then(Result::ok)
                    .ok_or_else(|| failed(&command, format!("said `{said}`, not a number")))
            }
        }
    }

    /// The command of `job` in an arm; `options` are for `ahead run`.
    pub(crate) fn command(&self, job: &Job, side: Side<'_>, options: &[OsString]) -> Command {
        let mut words: Vec<OsString> = Vec::new();
        if let Side::With(_) = side {
            words.extend([self.program.into(), "run".into()]);
            if let Some(policy) = job.policy {
                words.extend(["--policy".into(), policy.into()]);
            }
            words.extend(options.iter().cloned());
            words.push("--".into());
        }
        words.extend(job.words.iter().cloned());
        let mut words = words.into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        command
            .args(words)
            .env("LC_ALL", "C")
            // Neither the configuration of this machine's user nor what an outer `ahead run` set.
            .env("XDG_CONFIG_HOME", self.folder)
            .env_remove("LD_PRELOAD")
            .env_remove("AHEAD_SETTINGS")
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
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or("no reason given");
        return Err(failed(
            command,
            format!("ended with {}: {last}", output.status),
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

pub(crate) fn failed(command: &Command, reason: String) -> MeasureError {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.take(6).map(|word| word.to_string_lossy()).collect();
    MeasureError::Program {
        command: words.join(" "),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runner(against: Option<&'static Path>, stop: &'static AtomicBool) -> Runner<'static> {
        Runner {
            program: Path::new("/bin/ahead"),
            library_variable: "THE_LIBRARY",
            library: Path::new("/a.so"),
            against,
            folder: Path::new("/nowhere"),
            stop,
        }
    }

    static GO: AtomicBool = AtomicBool::new(false);

    #[test]
    fn arms_turn_round_with_every_repeat() {
        let runner = runner(Some(Path::new("/b.so")), &GO);
        let mut order = String::new();
        let runs = runner.each(2, |side| {
            order.push(match side {
                Side::Plain => 'A',
                Side::With(path) if path == Path::new("/a.so") => 'B',
                Side::With(_) => 'C',
            });
            Ok(f64::from(u32::try_from(order.len()).unwrap()))
        });
        let runs = runs.unwrap();
        assert_eq!(order, "ABCCBA");
        assert_eq!(
            (runs.plain, runs.with, runs.against),
            (vec![1.0, 6.0], vec![2.0, 5.0], vec![3.0, 4.0])
        );
    }

    #[test]
    fn a_bench_that_was_told_to_stop_starts_nothing_more() {
        static STOP: AtomicBool = AtomicBool::new(true);
        let stopped = runner(None, &STOP).each(1, |_| panic!("nothing is measured"));
        assert!(matches!(stopped, Err(MeasureError::Stopped)));
    }

    #[test]
    fn the_program_is_what_says_the_time_where_it_has_the_clock() {
        let job = Job {
            words: ["/bin/echo", "some", "12.5"].map(OsString::from).to_vec(),
            clock: Clock::Program,
            policy: None,
            cold: Vec::new(),
            note: None,
        };
        let runner = runner(None, &GO);
        assert_eq!(runner.once(&job, Side::Plain).unwrap(), 12.5);
        let fails = Job {
            words: vec!["/bin/false".into()],
            ..job
        };
        let error = runner.once(&fails, Side::Plain).unwrap_err().to_string();
        assert!(error.contains("/bin/false"), "{error}");
    }

    #[test]
    fn the_arm_with_the_library_is_run_by_the_program() {
        let job = Job {
            words: vec!["/bin/true".into()],
            clock: Clock::Outside(1),
            policy: Some("kernel"),
            cold: Vec::new(),
            note: None,
        };
        let runner = runner(None, &GO);
        let command = runner.command(&job, Side::With(runner.library), &["--json".into()]);
        let words: Vec<_> = command.get_args().collect();
        assert_eq!(
            words,
            ["run", "--policy", "kernel", "--json", "--", "/bin/true"]
        );
    }
}
