//! What `ahead bench programs` found: every single run, and what follows from it.

use serde::{Deserialize, Serialize};

use crate::arm::Arm;
use crate::overhead::{Effect, MedianFigure};
use crate::results::{MachineFacts, TestedDisk, approximate};
use crate::statistics::{geometric_mean, median};

/// Version of the JSON form.
pub(super) const VERSION: u32 = 1;

/// A program that is slower than this, as a ratio of plain time, counts as slowed.
pub const SPEED_MIN: f64 = 0.98;

/// Everything about one run of the bench.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramResults {
    /// Version of this form.
    pub version: u32,
    /// When it began, in UTC.
    pub began: String,
    /// Where.
    pub machine: MachineFacts,
    /// Which disk.
    pub disk: TestedDisk,
    /// What programs by themselves are compared with.
    #[serde(default = "ahead_run")]
    pub arm: Arm,
    /// What the list says of itself.
    pub list: String,
    /// What is in memory when a program starts.
    pub cache: CacheState,
    /// `read_ahead_kb` of the disk meanwhile.
    #[serde(default = "kernel_read_ahead_kib")]
    pub read_ahead_kib: u64,
    /// Size of the data, of a hundred.
    pub percent: u32,
    /// The programs, in the order of the list.
    pub rows: Vec<ProgramRow>,
}

/// What of the data is in memory when a program starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheState {
    /// Nothing.
    #[default]
    Cold,
    /// All that memory holds of it.
    Warm,
}

/// One program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramRow {
    /// Its name.
    pub name: String,
    /// What it did.
    pub about: String,
    /// It reads a tree of small files.
    pub is_tree: bool,
    /// What was found.
    #[serde(flatten)]
    pub outcome: ProgramOutcome,
}

/// What was found of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramOutcome {
    /// Nothing, and why.
    LeftOut(String),
    /// Runs: as many of one side as of the other, neighbours at the same place.
    Measured {
        /// By itself.
        plain: Vec<ProgramRun>,
        /// In the other arm.
        with: Vec<ProgramRun>,
        /// Who knows beforehand what is read: the most that can be had. By one who reads the same, where the list of
        /// programs says what that is; in the lab else what the disk needs at the least. Empty elsewhere.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ceiling: Vec<ProgramRun>,
    },
}

/// One run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramRun {
    /// When it started, by `CLOCK_MONOTONIC` of the kernel under it, as in the log of requests of a guest; 0: not known.
    #[serde(default)]
    pub started_ns: u64,
    /// From its start to its end.
    pub elapsed_ns: u64,
    /// Of the program and all its children, in user mode and in the kernel; servers that were started before
    /// are not in it.
    pub cpu_ns: u64,
    /// Bytes that the device read, also those on their way at the end.
    pub device_bytes: u64,
    /// Read requests that the device completed.
    pub device_requests: u64,
    /// What the program printed and wrote.
    pub output: Digest,
    /// CPU time of the daemon beside it, from its start to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daemon_cpu_ns: Option<u64>,
    /// Most memory that the daemon had resident, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daemon_memory_bytes: Option<u64>,
}

/// Bytes and check sum of what a program printed and wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest {
    /// How many bytes.
    pub bytes: u64,
    /// CRC-32 of all of them, names of files included.
    pub crc: u32,
}

impl ProgramRow {
    /// Runs of both sides; `None` if it was left out.
    #[must_use]
    pub fn runs(&self) -> Option<(&[ProgramRun], &[ProgramRun])> {
        match &self.outcome {
            ProgramOutcome::LeftOut(_) => None,
            ProgramOutcome::Measured { plain, with, .. } => Some((plain, with)),
        }
    }

    /// How many times faster it is in the other arm: the median over neighbouring runs.
    #[must_use]
    pub fn speed(&self) -> Option<MedianFigure> {
        let (plain, with) = self.runs()?;
        speed(plain, with)
    }

    /// How many times faster than the program by itself one is who knows the list; `None` where that was not measured.
    #[must_use]
    pub fn ceiling_speed(&self) -> Option<MedianFigure> {
        match &self.outcome {
            ProgramOutcome::Measured { plain, ceiling, .. } => speed(plain, ceiling),
            ProgramOutcome::LeftOut(_) => None,
        }
    }

    /// Whether every run of both sides produced the same.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.runs().is_none_or(|(plain, with)| {
            let mut outputs = plain.iter().chain(with).map(|run| run.output);
            let first = outputs.next();
            outputs.all(|output| Some(output) == first)
        })
    }

    /// Whether it is slower: all of the interval lies below [`SPEED_MIN`].
    #[must_use]
    pub fn is_slowed(&self) -> bool {
        self.speed()
            .is_some_and(|speed| speed.interval.high < SPEED_MIN)
    }
}

/// The kernel's own default, whatever this machine's start-up files set.
#[must_use]
pub const fn kernel_read_ahead_kib() -> u64 {
    128
}

/// The arm of results that do not name one.
fn ahead_run() -> Arm {
    Arm::Run {
        settings: Vec::new(),
    }
}

/// Of neighbouring runs; `None` without any.
pub(super) fn speed(plain: &[ProgramRun], with: &[ProgramRun]) -> Option<MedianFigure> {
    let of = |runs| values(runs, |run| run.elapsed_ns);
    MedianFigure::new(Effect::Speed, &of(plain), &of(with))
}

fn values(runs: &[ProgramRun], figure: impl Fn(&ProgramRun) -> u64) -> Vec<f64> {
    runs.iter().map(|run| approximate(figure(run))).collect()
}

/// The median of what `figure` says of `runs`; 0 without any.
pub fn middle(runs: &[ProgramRun], figure: impl Fn(&ProgramRun) -> u64) -> f64 {
    median(&values(runs, figure)).map_or(0.0, |median| median.value)
}

impl ProgramResults {
    /// How many times faster programs are: the geometric mean, of all or of those that read no trees.
    #[must_use]
    pub fn mean_speed(&self, with_trees: bool) -> Option<f64> {
        let rows = self.rows.iter().filter(|row| with_trees || !row.is_tree);
        geometric_mean(rows.filter_map(|row| Some(row.speed()?.value)))
    }

    /// How many times faster they could be: the same of the ceilings, where all of them are known.
    #[must_use]
    pub fn mean_ceiling(&self, with_trees: bool) -> Option<f64> {
        let rows = self.rows.iter().filter(|row| with_trees || !row.is_tree);
        let measured = rows.filter(|row| row.runs().is_some());
        let all: Option<Vec<f64>> = measured
            .map(|row| Some(row.ceiling_speed()?.value))
            .collect();
        geometric_mean(all?)
    }

    /// Programs that are slower, or that produced something else.
    pub fn failures(&self) -> impl Iterator<Item = &ProgramRow> {
        let fails = |row: &&ProgramRow| row.is_slowed() || !row.is_same();
        self.rows.iter().filter(fails)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(plain_ms: [u64; 3], with_ms: [u64; 3], is_tree: bool) -> ProgramRow {
        let runs = |all: [u64; 3]| {
            all.map(|ms| ProgramRun {
                elapsed_ns: ms * 1_000_000,
                ..ProgramRun::default()
            })
            .to_vec()
        };
        ProgramRow {
            name: "p".into(),
            about: "p".into(),
            is_tree,
            outcome: ProgramOutcome::Measured {
                plain: runs(plain_ms),
                with: runs(with_ms),
                ceiling: Vec::new(),
            },
        }
    }

    fn results(rows: Vec<ProgramRow>) -> ProgramResults {
        ProgramResults {
            version: VERSION,
            began: String::new(),
            machine: MachineFacts::default(),
            disk: TestedDisk::default(),
            arm: ahead_run(),
            list: String::new(),
            cache: CacheState::Cold,
            read_ahead_kib: 8192,
            percent: 100,
            rows,
        }
    }

    #[test]
    fn a_program_is_slowed_when_all_of_the_interval_says_so() {
        assert!(row([100, 100, 100], [104, 103, 105], false).is_slowed());
        assert!(!row([100, 100, 100], [104, 99, 105], false).is_slowed());
        assert!(!row([100, 100, 100], [50, 50, 50], false).is_slowed());
    }

    #[test]
    fn another_output_is_a_failure_however_fast_it_is() {
        let mut row = row([100; 3], [10; 3], false);
        assert!(row.is_same());
        if let ProgramOutcome::Measured { with, .. } = &mut row.outcome {
            with[1].output.crc = 7;
        }
        assert!(!row.is_same());
        let results = results(vec![row]);
        assert_eq!(results.failures().count(), 1);
        let json = serde_json::to_string(&results).unwrap();
        assert_eq!(
            serde_json::from_str::<ProgramResults>(&json).unwrap(),
            results
        );
    }

    #[test]
    fn trees_are_left_out_of_one_of_both_means() {
        let rows = [row([100; 3], [25; 3], false), row([100; 3], [100; 3], true)];
        let results = results(rows.to_vec());
        assert_eq!(results.mean_speed(true), Some(2.0));
        assert_eq!(results.mean_speed(false), Some(4.0));
    }
}
