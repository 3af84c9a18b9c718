//! Why a bench run was not done, or not finished.

use std::io;
use std::path::PathBuf;

use ahead_workload::Scenario;

use crate::arm::Arm;
use crate::dataset::PrepareError;
use crate::target::TargetError;

/// A bench run could not be done or not finished.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The plan has no pattern or no arm.
    #[error("nothing to run: name at least one pattern and one arm")]
    NothingToRun,
    /// The page cache cannot be emptied nor read-ahead set without it.
    #[error("the bench sets read-ahead and empties the page cache, and so must be run by root")]
    NotRoot,
    /// The `run` arm has no library.
    #[error(
        "the arm `run` needs the library libahead_preload.so: build it with `cargo build \
         --release -p ahead-preload`, or say where it is"
    )]
    NoLibrary,
    /// The library is not one for this machine.
    #[error("{} cannot be loaded here: {reason}", path.display())]
    BadLibrary {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: &'static str,
    },
    /// The `daemon` arms have no daemon, or no reader that is linked statically.
    #[error("the arm `{arm}` needs {what}, which is not at hand")]
    NoDaemon {
        /// Which arm.
        arm: Arm,
        /// What is missing.
        what: &'static str,
    },
    /// The `patched` arm, on a kernel that has no adaptive read-ahead.
    #[error(
        "the arm `patched` needs a kernel with the patches of kernel/patches (vm.readahead_policy): \
         `ahead lab bench --kernel 6.12-patched` has one"
    )]
    NotPatched,
    /// The disk cannot be used.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The test files cannot be written.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// Another bench is running on the disk.
    #[error("another bench is running on {disk}; wait for it")]
    Busy {
        /// Which.
        disk: String,
    },
    /// A call to the machine failed.
    #[error("{what}: {source}")]
    Machine {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// A workload of a plan, without the plan.
    #[error("{scenario} is of a plan that is not at hand")]
    NoPlan {
        /// Which.
        scenario: Scenario,
    },
    /// A run failed.
    #[error("{scenario} in arm {arm}: {message}")]
    Run {
        /// Its pattern.
        scenario: Scenario,
        /// Its arm.
        arm: Arm,
        /// Why, in one line.
        message: String,
    },
    /// A reader was ended by the kernel, as there was no memory left for it.
    #[error("{scenario} in arm {arm}: the memory is too small, and the kernel ended a reader")]
    OutOfMemory {
        /// Its pattern.
        scenario: Scenario,
        /// Its arm.
        arm: Arm,
    },
    /// Stopped on request; everything has been put back.
    #[error("stopped; the settings of the disk are as before")]
    Stopped,
}
