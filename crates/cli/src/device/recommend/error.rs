//! Why nothing is recommended, and how the program ends then.

use std::io;
use std::path::PathBuf;

use ahead_device::measurement::report::MeasurementError;
use ahead_device::window::WindowError;
use ahead_disk_model::ModelError;
use ahead_sim::world::WorldError;

use crate::bench::BenchCommandError;
use crate::device::window_value::WindowValueError;
use crate::disk::DiskCommandError;
use crate::duration::DurationError;
use crate::exit::Exit;
use crate::lab::LabError;
use crate::size::SizeError;
use crate::studies::StudyError;
use crate::traces::TraceCommandError;

/// Why nothing is recommended.
#[derive(Debug, thiserror::Error)]
pub enum RecommendCommandError {
    /// An option whose value is no size.
    #[error("{option}: {source}")]
    Size {
        /// Which.
        option: &'static str,
        /// What is wrong.
        source: SizeError,
    },
    /// `--latency-limit`.
    #[error("--latency-limit: {0}")]
    Time(#[from] DurationError),
    /// A value out of range.
    #[error("{option}: '{value}' is not {expected}")]
    Range {
        /// Which.
        option: &'static str,
        /// What was typed.
        value: String,
        /// What can be.
        expected: &'static str,
    },
    /// `--what-if` is no window.
    #[error("--what-if: {0}")]
    WindowValue(#[from] WindowValueError),
    /// `--what-if` is a window that no kernel has.
    #[error("--what-if: {0}")]
    Window(#[from] WindowError),
    /// `--model`.
    #[error(transparent)]
    Model(#[from] DiskCommandError),
    /// The source is no measurement.
    #[error("'{path}': {source}")]
    Form {
        /// The file.
        path: String,
        /// What is wrong.
        source: MeasurementError,
    },
    /// The source cannot be read.
    #[error("cannot read the measurement '{path}': {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// What is stored of the device is damaged, or of another version.
    #[error(
        "the stored measurement of '{name}' ({path}) cannot be used: {source}; measure again with `ahead device measure`"
    )]
    Stored {
        /// The device, as it was asked for.
        name: String,
        /// The file.
        path: String,
        /// What is wrong.
        source: MeasurementError,
    },
    /// No measurement of the device is stored.
    #[error(
        "no measurement of '{0}' is stored: `ahead device measure` a device or a large file on it first"
    )]
    NotMeasured(String),
    /// Neither a file nor a device.
    #[error(
        "'{0}' is no file and no device here: name what `ahead device measure --json` wrote, or a device that was measured"
    )]
    Nothing(String),
    /// A file that is no measurement, on a device of which none is stored.
    #[error(
        "'{0}' is no measurement, whose name ends in .json, and of the disk that it lies on none is stored: \
         `ahead device measure` a device or a large file on it first"
    )]
    FileNotMeasured(String),
    /// No model has these figures.
    #[error("'{0}' has figures that no disk model can have: measure again")]
    NoModel(String),
    /// The trace.
    #[error(transparent)]
    Trace(#[from] TraceCommandError),
    /// The trace has no reads.
    #[error("the trace '{0}' holds no reads: there is nothing to simulate")]
    NoReads(PathBuf),
    /// The simulator refused.
    #[error("cannot simulate it: {0}")]
    Simulate(#[from] WorldError),
    /// A picture, or what is written to be proved.
    #[error(transparent)]
    Files(#[from] StudyError),
    /// `--prove` in a guest.
    #[error("--prove: {0}")]
    InLab(#[from] LabError),
    /// `--prove` on a disk.
    #[error("--prove: {0}")]
    OnDisk(#[from] BenchCommandError),
    /// `--prove`: no folder for what it writes.
    #[error("--prove: cannot make a folder: {0}")]
    Folder(io::Error),
    /// `--prove`: the model has no text.
    #[error("--prove: {0}")]
    ModelText(ModelError),
}

impl RecommendCommandError {
    /// How the program ends after this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Size { .. }
            | Self::Time(_)
            | Self::Range { .. }
            | Self::WindowValue(_)
            | Self::Window(_)
            | Self::Form { .. }
            | Self::Nothing(_)
            | Self::NoModel(_) => Exit::Usage,
            Self::Model(error) => error.exit(),
            Self::Trace(error) => error.exit(),
            Self::Files(error) => error.exit(),
            Self::InLab(error) => error.exit(),
            Self::OnDisk(error) => error.exit(),
            Self::Folder(_) | Self::ModelText(_) => Exit::Failed,
            Self::Read { .. }
            | Self::Stored { .. }
            | Self::NotMeasured(_)
            | Self::FileNotMeasured(_)
            | Self::NoReads(_)
            | Self::Simulate(_) => Exit::Failed,
        }
    }
}

/// A value that is not `expected`.
pub(super) fn range(
    option: &'static str,
    value: impl Into<String>,
    expected: &'static str,
) -> RecommendCommandError {
    RecommendCommandError::Range {
        option,
        value: value.into(),
        expected,
    }
}
