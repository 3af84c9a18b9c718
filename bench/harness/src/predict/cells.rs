//! One cell: what was measured and what was simulated, how far they are apart, and why there is
//! none.

use ahead_sim::world::WorldError;
use ahead_workload::Scenario;
use serde::{Deserialize, Serialize};

use crate::arm::Arm;
use crate::error::BenchError;
use crate::reader::ReadError;
use crate::results::{RunRecord, approximate, ratio};
use crate::statistics::{Median, median};

/// Nothing could be predicted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PredictError {
    /// Measuring failed.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// A pattern has no twin in the simulator.
    #[error(
        "{scenario} cannot be predicted: what it waits for is not a read of its files; leave it out"
    )]
    NoTwin {
        /// Which.
        scenario: Scenario,
    },
    /// The costs of this machine could not be measured.
    #[error("cannot measure what reads cost here: {0}")]
    Calibrate(#[from] ReadError),
    /// An arm has no twin in the simulator.
    #[error("arm {arm} cannot be predicted: off, stock:KIB and run can")]
    NoTwinOfArm {
        /// Which.
        arm: Arm,
    },
    /// What guests measured does not say where the files lie.
    #[error("{scenario}: where its files lie was not measured")]
    NoPlaces {
        /// Which pattern.
        scenario: Scenario,
    },
    /// A file's place on the disk is not known.
    #[error("cannot find out where the files lie on the disk: {0}")]
    Places(#[source] ReadError),
    /// The simulator refused.
    #[error("the simulator cannot run {scenario}: {reason}")]
    Simulate {
        /// Which pattern.
        scenario: Scenario,
        /// Why.
        reason: String,
    },
}

impl PredictError {
    pub(super) fn simulate(scenario: &Scenario, error: &WorldError) -> Self {
        Self::Simulate {
            scenario: scenario.clone(),
            reason: error.to_string(),
        }
    }
}

/// One pattern on one disk in one arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PredictedCell {
    /// Name of the disk.
    pub disk: String,
    /// The pattern.
    pub scenario: Scenario,
    /// Who reads ahead.
    pub arm: Arm,
    /// What the runs on the emulated disk did.
    pub measured: Vec<RunRecord>,
    /// What the simulator did.
    pub simulated: Simulated,
}

/// What the simulator says about a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Simulated {
    /// Bytes that the pattern wanted and got.
    pub useful_bytes: u64,
    /// Virtual nanoseconds.
    pub elapsed_ns: u64,
    /// Bytes that the disk read.
    pub device_bytes: u64,
    /// Requests that the disk got.
    pub device_requests: u64,
}

impl PredictedCell {
    /// Median of the measured throughput in 10^6 bytes per second, and its spread.
    #[must_use]
    pub fn measured_mb_s(&self) -> Median {
        let values: Vec<f64> = self
            .measured
            .iter()
            .map(RunRecord::megabytes_per_second)
            .collect();
        median(&values).unwrap_or_default()
    }

    /// Simulated throughput in 10^6 bytes per second.
    #[must_use]
    pub fn simulated_mb_s(&self) -> f64 {
        ratio(self.simulated.useful_bytes, self.simulated.elapsed_ns) * 1000.0
    }

    /// Simulated ÷ measured − 1.
    #[must_use]
    pub fn error(&self) -> f64 {
        let measured = self.measured_mb_s().value;
        if measured > 0.0 {
            self.simulated_mb_s() / measured - 1.0
        } else {
            f64::NAN
        }
    }

    /// Median of the measured mean request, in KiB; 0 when the disk got none.
    #[must_use]
    pub fn measured_request_kib(&self) -> f64 {
        let values: Vec<f64> = self
            .measured
            .iter()
            .map(|run| ratio(run.device_bytes, run.device_requests) / 1024.0)
            .collect();
        median(&values).unwrap_or_default().value
    }

    /// The simulated mean request, in KiB.
    #[must_use]
    pub fn simulated_request_kib(&self) -> f64 {
        ratio(self.simulated.device_bytes, self.simulated.device_requests) / 1024.0
    }
}

/// Nanoseconds of a float, for means; never negative.
pub(super) fn whole_ns(ns: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the value is positive and far below 2^63"
    )]
    let whole = ns.max(0.0).round() as u64;
    whole
}

/// The middle of some whole numbers; 0 when there are none.
pub(super) fn middle(values: impl IntoIterator<Item = u64>) -> u64 {
    let values: Vec<f64> = values.into_iter().map(approximate).collect();
    whole_ns(median(&values).unwrap_or_default().value)
}
