//! Why a command about windows failed, and how the program ends then.

use ahead_device::persist::PersistError;
use ahead_device::persist_record::PersistRecordError;
use ahead_device::target::DeviceTargetError;
use ahead_device::window::WindowError;

use super::measure::MeasureCommandError;
use super::recommend::RecommendCommandError;
use super::window_value::WindowValueError;
use crate::exit::Exit;

/// Why a device command failed.
#[derive(Debug, thiserror::Error)]
pub enum DeviceCommandError {
    /// The value is no window.
    #[error(transparent)]
    Value(#[from] WindowValueError),
    /// The target stands for nothing.
    #[error(transparent)]
    Target(#[from] DeviceTargetError),
    /// The same of `ahead doctor`, whose status 1 would say that something was found.
    #[error(transparent)]
    NotExamined(DeviceTargetError),
    /// There is no machine to look at.
    #[error("'{}' holds no folder `sys`: name that of a recorded machine with --root", .0.display())]
    NoMachine(std::path::PathBuf),
    /// The window was not changed.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// Nothing was persisted or reverted.
    #[error(transparent)]
    Persist(#[from] PersistError),
    /// What is persisted cannot be read.
    #[error(transparent)]
    Record(#[from] PersistRecordError),
    /// Measuring.
    #[error(transparent)]
    Measure(#[from] MeasureCommandError),
    /// Recommending.
    #[error(transparent)]
    Recommend(#[from] RecommendCommandError),
    /// There is no terminal that could be asked.
    #[error("nothing was written: say --yes, as there is no terminal to ask at")]
    NotAsked,
    /// The answer was no.
    #[error("nothing was written")]
    Declined,
    /// The terminal cannot be used.
    #[error("cannot ask: {0}; nothing was written")]
    Ask(std::io::Error),
}

impl DeviceCommandError {
    /// How the program ends after this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Value(_) | Self::NotExamined(_) | Self::NoMachine(_) | Self::NotAsked => {
                Exit::Usage
            }
            Self::Target(error) if error.is_usage() => Exit::Usage,
            Self::Measure(error) => error.exit(),
            Self::Recommend(error) => error.exit(),
            Self::Window(error) if error.is_usage() => Exit::Usage,
            Self::Persist(error) if error.is_usage() => Exit::Usage,
            _ => Exit::Failed,
        }
    }
}
