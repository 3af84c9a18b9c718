//! What a bench run found: every single run as it was, and where and when.
//!
//! This is the JSON form. What is derived from it is in [`summary`](crate::summary), so that old
//! results can be looked at with newer eyes.

use ahead_workload::Scenario;
use serde::{Deserialize, Serialize};

use crate::arm::Arm;
use crate::assignment::Latency;
use crate::places::PlacedFiles;

/// Version of the JSON form.
pub const VERSION: u32 = 1;

/// Everything about one bench run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Version of this form.
    pub version: u32,
    /// When it began, in UTC, as `2025-01-31 12:00`.
    pub began: String,
    /// Where it ran.
    pub machine: MachineFacts,
    /// Which disk: its short name and what it is.
    pub disk: TestedDisk,
    /// Seed of all chance.
    pub seed: u64,
    /// What stopped each read list, unless its end came first.
    pub limits: Limits,
    /// The arms that were asked for.
    pub arms: Vec<Arm>,
    /// The sizes that `static-best` was chosen from, in KiB.
    pub sweep_kib: Vec<u64>,
    /// The patterns, in order.
    pub scenarios: Vec<Scenario>,
    /// All runs that came to their end, in the order in which they were done.
    pub runs: Vec<RunRecord>,
    /// Those that did not, as there was not enough memory for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub out_of_memory: Vec<RunName>,
    /// Where the files of each scenario lie, if that was looked up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<PlacedFiles>,
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// Kernel release.
    pub kernel: String,
    /// Processors.
    pub cpus: u64,
    /// Memory in bytes.
    pub memory_bytes: u64,
}

/// The disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestedDisk {
    /// `hdd`, `ssd`, `cloud`, or the folder.
    pub name: String,
    /// One line on what it is.
    pub description: String,
}

/// When a run stops; whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// After so many useful bytes.
    pub bytes: u64,
    /// After so many milliseconds.
    pub milliseconds: u64,
}

/// Which run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunName {
    /// The pattern.
    pub scenario: Scenario,
    /// The arm.
    pub arm: Arm,
    /// Which repeat, from 0.
    pub repeat: u32,
}

/// One run of one pattern in one arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The pattern.
    pub scenario: Scenario,
    /// The arm; never [`Arm::StaticBest`].
    pub arm: Arm,
    /// Which repeat, from 0.
    pub repeat: u32,
    /// Bytes that the pattern wanted and got.
    pub useful_bytes: u64,
    /// From the first read to the end of the last one.
    pub elapsed_ns: u64,
    /// How many reads.
    pub reads: u64,
    /// How long they took.
    pub latency: Latency,
    /// When the first read began, in nanoseconds of `CLOCK_MONOTONIC`; 0 where that was not noted.
    #[serde(default)]
    pub began_ns: u64,
    /// Under a limit of memory: what of it the readers had for themselves, when the first of them had
    /// got something.
    #[serde(default)]
    pub own_bytes: Option<u64>,
    /// Bytes that the device read, also those on their way when the reader stopped.
    pub device_bytes: u64,
    /// Read requests that the device completed.
    pub device_requests: u64,
    /// CPU time of the reader process with all its threads, in user mode.
    pub cpu_user_ns: u64,
    /// The same in the kernel.
    pub cpu_system_ns: u64,
    /// Most bytes that the device had delivered and the reader had not taken, as sampled.
    pub unread_bytes_max: u64,
    /// Bytes that the device read more than once; known of emulated disks only.
    pub reread_bytes: Option<u64>,
    /// CPU time of the daemon of the arm `daemon`, its start and its end with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daemon_cpu_ns: Option<u64>,
}

impl RunRecord {
    /// Useful throughput in 10^6 bytes per second.
    #[must_use]
    pub fn megabytes_per_second(&self) -> f64 {
        ratio(self.useful_bytes, self.elapsed_ns) * 1000.0
    }

    /// Device bytes ÷ useful bytes.
    #[must_use]
    pub fn amplification(&self) -> f64 {
        ratio(self.device_bytes, self.useful_bytes)
    }

    /// CPU time in seconds.
    #[must_use]
    pub fn cpu_seconds(&self) -> f64 {
        approximate(self.cpu_user_ns + self.cpu_system_ns) / 1e9
    }
}

/// `a ÷ b`; 0 when `b` is 0.
#[must_use]
pub fn ratio(a: u64, b: u64) -> f64 {
    if b == 0 {
        0.0
    } else {
        approximate(a) / approximate(b)
    }
}

/// A count as a float, for reports: exact up to 2^53, and close enough beyond.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "figures for people have three digits"
)]
pub fn approximate(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn record(scenario: &str, arm: &str, repeat: u32, mb_s: u64) -> RunRecord {
        RunRecord {
            scenario: scenario.parse().unwrap(),
            arm: arm.parse().unwrap(),
            repeat,
            useful_bytes: mb_s * 1_000_000,
            elapsed_ns: 1_000_000_000,
            began_ns: 0,
            own_bytes: None,
            reads: 1000,
            latency: Latency {
                p50_ns: 100,
                p99_ns: 2000,
                p999_ns: 30_000,
                max_ns: 40_000,
            },
            device_bytes: mb_s * 2_000_000,
            device_requests: 500,
            cpu_user_ns: 100_000_000,
            cpu_system_ns: 200_000_000,
            unread_bytes_max: 1 << 20,
            reread_bytes: Some(0),
            daemon_cpu_ns: None,
        }
    }

    pub(crate) fn results(runs: Vec<RunRecord>, arms: &str) -> Results {
        let mut scenarios = Vec::new();
        for run in &runs {
            if !scenarios.contains(&run.scenario) {
                scenarios.push(run.scenario.clone());
            }
        }
        Results {
            version: VERSION,
            began: "2025-01-31 12:00".into(),
            machine: MachineFacts {
                kernel: "6.18".into(),
                cpus: 2,
                memory_bytes: 1 << 30,
            },
            disk: TestedDisk {
                name: "hdd".into(),
                description: "an emulated disk".into(),
            },
            seed: 1,
            limits: Limits {
                bytes: 1 << 30,
                milliseconds: 5000,
            },
            arms: crate::arm::parse_list(arms).unwrap(),
            sweep_kib: vec![32, 128, 512],
            scenarios,
            runs,
            out_of_memory: Vec::new(),
            places: Vec::new(),
        }
    }

    #[test]
    fn results_survive_the_way_through_json() {
        let runs = vec![
            record("cached:sep64@128m", "run:a=1+b=2", 0, 5),
            record("mrand", "off", 1, 7),
        ];
        let results = results(runs, "off,stock:128,static-best,run:a=1+b=2,ceiling");
        let text = serde_json::to_string(&results).unwrap();
        assert_eq!(serde_json::from_str::<Results>(&text).unwrap(), results);
    }

    #[test]
    fn throughput_counts_useful_bytes_and_amplification_device_bytes() {
        let record = record("seq4k", "off", 0, 50);
        assert!((record.megabytes_per_second() - 50.0).abs() < 1e-9);
        assert!((record.amplification() - 2.0).abs() < 1e-9);
        assert!((record.cpu_seconds() - 0.3).abs() < 1e-9);
    }
}
