//! A whole measurement, as it is kept: `ahead device measure --json` writes it, `recommend` reads it.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::fit::FittedFigures;
use super::ladder::{LadderPoint, LadderWork};
use super::plan::TARGET_BYTES_MIN;
use super::statistics::StepResult;

/// The form of the file. Another one is refused.
pub const MEASUREMENT_VERSION: u32 = 1;
/// Largest file that is read: a measurement has some tens of KiB.
pub const MEASUREMENT_BYTES_MAX: u64 = 16 << 20;

/// What figures can be: from memory to a tape, and what may yet be built.
const ACCESS_NS: RangeInclusive<u64> = 1..=60_000_000_000;
const RATE: RangeInclusive<u64> = 1..=1_000_000_000_000;
const DEPTH: RangeInclusive<u64> = 1..=4096;
const SIZE: RangeInclusive<u64> = TARGET_BYTES_MIN..=1 << 60;
const WINDOW: RangeInclusive<u64> = 0..=1 << 32;
/// What a ladder can have: `recommend` simulates its points.
const LADDER_WINDOW: RangeInclusive<u64> = 1..=1 << 20;
const LADDER_STREAMS: RangeInclusive<u64> = 1..=1024;

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredTarget {
    /// What was typed.
    pub name: String,
    /// What was opened.
    pub path: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Whether it is a whole device or partition, and no file.
    pub is_device: bool,
    /// What identifies the device, in hexadecimal; `None` where nothing does.
    pub identity: Option<String>,
    /// The kernel's name of the disk.
    pub disk: Option<String>,
    /// Whether it says that it rotates.
    pub rotational: Option<bool>,
    /// The window that counted, in KiB.
    pub read_ahead_kb: Option<u64>,
    /// Largest request of the block layer, in KiB.
    pub max_sectors_kb: Option<u64>,
    /// The disk's scheduler; not in measurements of earlier releases, as are the next two.
    #[serde(default)]
    pub scheduler: Option<String>,
    /// Requests that the disk's queue holds.
    #[serde(default)]
    pub nr_requests: Option<u64>,
    /// The file system of a file that was measured.
    #[serde(default)]
    pub file_system: Option<String>,
}

/// One measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// [`MEASUREMENT_VERSION`].
    pub version: u32,
    /// What was measured.
    pub target: MeasuredTarget,
    /// Release of the kernel.
    pub kernel: String,
    /// When it began, in seconds since 1970.
    pub began_s: u64,
    /// How requests were made: `io_uring` or `threads`.
    pub requests_by: String,
    /// What the steps say together.
    pub figures: FittedFigures,
    /// Step by step.
    pub steps: Vec<StepResult>,
    /// Through the page cache, by window; empty where that was left out.
    pub ladder: Vec<LadderPoint>,
    /// What is to be known about it, a sentence each.
    pub notes: Vec<String>,
}

/// A file is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum MeasurementError {
    /// Damaged, or something else.
    #[error("it is no measurement of `ahead device measure --json`: {0}")]
    Form(serde_json::Error),
    /// Of another release.
    #[error(
        "it is a measurement of form {0}, and this program reads {MEASUREMENT_VERSION}: measure again"
    )]
    Version(u64),
    /// Figures that no device has.
    #[error("its {0} is {1}, which no device has: measure again")]
    Range(&'static str, u64),
}

impl Measurement {
    /// Reads the JSON form.
    ///
    /// # Errors
    /// [`MeasurementError`].
    pub fn from_json(text: &[u8]) -> Result<Self, MeasurementError> {
        let value: serde_json::Value =
            serde_json::from_slice(text).map_err(MeasurementError::Form)?;
        let version = value.get("version").and_then(serde_json::Value::as_u64);
        if let Some(version) = version.filter(|one| *one != u64::from(MEASUREMENT_VERSION)) {
            return Err(MeasurementError::Version(version));
        }
        let read: Self = serde_json::from_value(value).map_err(MeasurementError::Form)?;
        let (figures, target) = (&read.figures, &read.target);
        let (access, rate) = (&figures.access_ns, &figures.bytes_per_second);
        let points = read.ladder.iter().flat_map(|point| {
            let streams = match point.work {
                LadderWork::Streams(streams) => streams.into(),
                LadderWork::Random(_) => 1,
            };
            [
                (
                    "window of the ladder in KiB",
                    point.window_kib,
                    LADDER_WINDOW,
                ),
                ("number of streams in the ladder", streams, LADDER_STREAMS),
            ]
        });
        let one_by_one = [
            ("access time in ns", access.low, ACCESS_NS),
            ("access time in ns", access.value, ACCESS_NS),
            ("access time in ns", access.high, ACCESS_NS),
            ("bandwidth in bytes per second", rate.low, RATE),
            ("bandwidth in bytes per second", rate.value, RATE),
            ("bandwidth in bytes per second", rate.high, RATE),
            ("depth", figures.depth.into(), DEPTH),
            ("rate of requests", figures.requests_per_second_max, RATE),
            ("size in bytes", target.size_bytes, SIZE),
            ("window in KiB", target.read_ahead_kb.unwrap_or(0), WINDOW),
            (
                "largest request in KiB",
                target.max_sectors_kb.unwrap_or(4),
                WINDOW,
            ),
        ];
        for (what, value, possible) in one_by_one.into_iter().chain(points) {
            if !possible.contains(&value) {
                return Err(MeasurementError::Range(what, value));
            }
        }
        Ok(read)
    }
}
