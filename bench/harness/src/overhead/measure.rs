//! One job on all sides: without the library, with it, and with another one to compare.

use std::ffi::OsString;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::files::evict;
use super::job::{Clock, Job};
use crate::results::approximate;
use crate::side::{Launcher, MeasureError, Side, failed, succeed};

/// The runs of one job, in nanoseconds for one operation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs {
    pub(crate) plain: Vec<f64>,
    pub(crate) with: Vec<f64>,
    pub(crate) against: Vec<f64>,
}

/// How both sides are started, and when to stop.
pub(crate) struct Runner<'a> {
    pub(crate) launcher: Launcher<'a>,
    pub(crate) stop: &'a AtomicBool,
}

impl Runner<'_> {
    /// Runs `job` so often on every side.
    pub(crate) fn repeat(&self, job: &Job, repeats: u32) -> Result<Runs, MeasureError> {
        self.each(repeats, |side| self.once(job, side))
    }

    /// Calls `measure` so often for every side.
    pub(crate) fn each(
        &self,
        repeats: u32,
        mut measure: impl FnMut(Side<'_>) -> Result<f64, MeasureError>,
    ) -> Result<Runs, MeasureError> {
        let mut runs = Runs::default();
        for repeat in 0..repeats {
            for side in self.launcher.sides(repeat) {
                if self.stop.load(Ordering::Relaxed) {
                    return Err(MeasureError::Stopped);
                }
                let value = measure(side)?;
                match side {
                    Side::Plain => runs.plain.push(value),
                    Side::With(library) if library == self.launcher.library => {
                        runs.with.push(value)
                    }
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

    /// The command of `job` on a side; `options` are for `ahead run`.
    pub(crate) fn command(&self, job: &Job, side: Side<'_>, options: &[OsString]) -> Command {
        let policy = job.policy.map(|policy| ["--policy", policy]);
        let policy = policy.into_iter().flatten().map(OsString::from);
        let options: Vec<OsString> = policy.chain(options.iter().cloned()).collect();
        self.launcher.command(&job.words, side, &options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn runner(against: Option<&'static Path>, stop: &'static AtomicBool) -> Runner<'static> {
        Runner {
            launcher: Launcher {
                program: Path::new("/bin/ahead"),
                library_variable: "THE_LIBRARY",
                library: Path::new("/a.so"),
                against,
                folder: Path::new("/nowhere"),
            },
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
        let command = runner.command(
            &job,
            Side::With(runner.launcher.library),
            &["--json".into()],
        );
        let words: Vec<_> = command.get_args().collect();
        assert_eq!(
            words,
            [
                "run",
                "--device-cache",
                "no",
                "--policy",
                "kernel",
                "--json",
                "--",
                "/bin/true"
            ]
        );
    }
}
