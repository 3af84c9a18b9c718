//! Why a command of `ahead lab` failed, and how the program ends then.

use std::io;
use std::path::PathBuf;

use ahead_disk_model::ModelError;
use ahead_disk_model::time_scale::TimeScaleError;
use ahead_guest::GuestError;
use ahead_guest::kernel::KernelError;
use ahead_guest::source::{KernelSeries, SourceError, UnknownSeries};
use ahead_harness::arm::{Arm, ParseArmError};
use ahead_workload::scenario::ParseScenarioError;

use crate::bench::BenchCommandError;
use crate::bench::programs::ProgramsCommandError;
use crate::disk::DiskCommandError;
use crate::exit::Exit;
use crate::size::SizeError;

use super::unfinished::Unfinished;

/// Why a lab command failed.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// `--kernel`.
    #[error("--kernel: {0}")]
    KernelSeries(#[from] UnknownSeries),
    /// A kernel that is no guest of the lab.
    #[error(
        "--kernel: {0} has no virtual time: `make kernel-test` starts it in an emulated machine"
    )]
    NoVirtualTime(KernelSeries),
    /// `--disk`: no such model.
    #[error("--disk: {0}")]
    NoDisk(ModelError),
    /// `--disk`: a model file.
    #[error(transparent)]
    Disk(DiskCommandError),
    /// A size.
    #[error("--{option}: {source}")]
    Size {
        /// Of which option.
        option: &'static str,
        /// What is wrong with it.
        source: SizeError,
    },
    /// A size that the kernel would round.
    #[error("--{option}: '{text}' is not a whole number of pages of 4 KiB, such as 128K")]
    PartOfPage {
        /// Of which option.
        option: &'static str,
        /// As it was typed.
        text: String,
    },
    /// A size with which there is no guest.
    #[error("--{option}: '{text}' is too small: it takes {mib_min}M or more")]
    TooSmall {
        /// Of which option.
        option: &'static str,
        /// As it was typed.
        text: String,
        /// The smallest.
        mib_min: u64,
    },
    /// The folder for results.
    #[error("cannot write results to '{}': {source}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// `--arm`.
    #[error("--arm: {0}")]
    Arm(#[from] ParseArmError),
    /// `--pattern`.
    #[error("--pattern: {0}")]
    Pattern(ParseScenarioError),
    /// `--scale`.
    #[error("--scale: {0}")]
    Scale(TimeScaleError),
    /// Drawing or writing what came of a bench.
    #[error(transparent)]
    Bench(#[from] BenchCommandError),
    /// The bench inside a guest.
    #[error("in the guest: {0}")]
    Inside(String),
    /// A run of the bench inside a guest.
    #[error("in the guest: {what}: {why}{last}")]
    Unfinished {
        /// Which.
        what: String,
        /// Why it has no figures.
        why: Unfinished,
        /// What a guest that was ended said last, with a line break in front.
        last: String,
    },
    /// An arm that a guest does not have.
    #[error("--arm: `{arm}` is for `ahead bench`; here there are {known}")]
    OtherArm {
        /// Which.
        arm: Arm,
        /// Those that it has.
        known: &'static str,
    },
    /// What a plan has and a guest has not.
    #[error(
        "no guest has {0}: it has linux-6.12, linux-6.12:ra_kb=N, adaptive with or without keys, patched, none, oracle"
    )]
    NotInLab(String),
    /// The models that the kernel is linked with.
    #[error(
        "cannot find the disk models at {}: build them with `cargo build --release --workspace`",
        .0.display()
    )]
    NoModels(PathBuf),
    /// No source.
    #[error(transparent)]
    KernelSource(#[from] SourceError),
    /// No kernel.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// No home, no folder for results.
    #[error("cannot prepare the guest: {0}")]
    Prepare(#[from] io::Error),
    /// A guest.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// `--with`.
    #[error("--with: cannot copy {} to the disk: {source}", path.display())]
    With {
        /// What.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Programs in guests.
    #[error(transparent)]
    Programs(#[from] ProgramsCommandError),
    /// Arms whose commands ended differently cannot be compared.
    #[error("in arm {arm} the command ended with {code}")]
    CommandFailed {
        /// Which.
        arm: Arm,
        /// How.
        code: i32,
    },
}

impl From<DiskCommandError> for LabError {
    fn from(error: DiskCommandError) -> Self {
        match error {
            // It names the option of `ahead disk create`.
            DiskCommandError::Model(source) => Self::NoDisk(source),
            other => Self::Disk(other),
        }
    }
}

impl LabError {
    /// How the program ends after this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::KernelSeries(_) | Self::Size { .. } | Self::Arm(_) | Self::OtherArm { .. } => {
                Exit::Usage
            }
            Self::Pattern(_) | Self::Scale(_) | Self::NotInLab(_) => Exit::Usage,
            Self::PartOfPage { .. } | Self::TooSmall { .. } => Exit::Usage,
            Self::NoDisk(_) | Self::NoVirtualTime(_) => Exit::Usage,
            Self::Guest(GuestError::NotStarted { is_missing, .. }) => {
                if *is_missing {
                    Exit::NotFound
                } else {
                    Exit::NotExecutable
                }
            }
            Self::Bench(error) => error.exit(),
            Self::Programs(error) => error.exit(),
            Self::Disk(error) => error.exit(),
            _ => Exit::Failed,
        }
    }
}
