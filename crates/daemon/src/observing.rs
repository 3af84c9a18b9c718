//! Where facts come from: programs in the kernel, or, where these cannot be had, the positions of descriptors.

use std::path::Path;
use std::time::Duration;

use ahead_observer::observation::{FileKey, Observation};
use ahead_observer::observer::{KernelObserver, ObserverError};
use ahead_observer::positions::{self, PositionObserver};
use ahead_observer::quiet::Quiet;
use ahead_observer::self_test::{self, SelfTestError};
use ahead_units::Timestamp;
use rustix::thread::CapabilitySet;

use crate::machine_facts::now;

/// Positions are looked at this often. More often costs processors; less often, and windows have to be larger.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Why nothing can be observed, or not any more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObservingError {
    /// No programs can be had, and other processes may not be looked at.
    #[error(transparent)]
    Observer(#[from] ObserverError),
    /// What is observed is not believed.
    #[error(transparent)]
    SelfTest(#[from] SelfTestError),
    /// The ring of facts cannot be read any more.
    #[error("cannot read what the kernel tells: {0}")]
    Ring(String),
}

impl ObservingError {
    /// Whether positions of descriptors tell all the same: the kernel takes no programs, or these do not tell the truth there.
    const fn leaves_positions(&self) -> bool {
        use SelfTestError::{Observer, Untrue};
        matches!(
            self,
            Self::Observer(_) | Self::SelfTest(Observer(_) | Untrue { .. })
        )
    }
}

/// What tells.
#[derive(Debug)]
pub(crate) enum Observing {
    /// Programs in the kernel.
    Programs(Box<KernelObserver>),
    /// Looks at `/proc`, and why there are no programs.
    Positions(PositionObserver, String),
}

impl Observing {
    /// Starts to observe all processes but this one, and checks by known reads in `folder` that programs tell the truth.
    pub(crate) fn start(folder: &Path) -> Result<Self, ObservingError> {
        let me = std::process::id();
        let why = match programs(folder, me) {
            Ok(observer) => return Ok(Self::Programs(Box::new(observer))),
            Err(why) => why,
        };
        if !why.leaves_positions() || !may_look_at_others() {
            return Err(why);
        }
        let observer = PositionObserver::new(Path::new("/proc"), me);
        Ok(Self::Positions(observer, why.to_string()))
    }

    /// Why there are no programs.
    pub(crate) fn without_programs(&self) -> Option<&str> {
        match self {
            Self::Programs(_) => None,
            Self::Positions(_, why) => Some(why),
        }
    }

    /// What cannot be told here.
    pub(crate) fn lost(&self) -> &[&'static str] {
        match self {
            Self::Programs(observer) => observer.lost(),
            Self::Positions(..) => &positions::LOST,
        }
    }

    /// Accesses to `file` are told from now on.
    pub(crate) fn watch(&mut self, file: FileKey) -> Result<(), ObserverError> {
        match self {
            Self::Programs(observer) => observer.watch(file),
            Self::Positions(..) => Ok(()),
        }
    }

    /// Accesses to `file` are not told any more, its next miss is.
    pub(crate) fn forget(&mut self, file: FileKey) {
        if let Self::Programs(observer) = self {
            observer.forget(file);
        }
    }

    /// Accesses to `file`, which is watched, may be told late where `quiet` has it.
    pub(crate) fn set_quiet(&self, file: FileKey, quiet: &Quiet) {
        if let Self::Programs(observer) = self {
            observer.set_quiet(file, quiet);
        }
    }

    /// Misses of `file` by `process` are not told before `until`.
    pub(crate) fn ignore(&self, file: FileKey, process: u32, until: Timestamp) {
        if let Self::Programs(observer) = self {
            observer.ignore(file, process, until);
        }
    }

    /// No file is watched any more.
    pub(crate) fn rest(&mut self) {
        if let Self::Programs(observer) = self {
            observer.rest();
        }
    }

    /// Appends what was told within `timeout` to `facts`.
    pub(crate) fn wait(
        &mut self,
        timeout: Duration,
        facts: &mut Vec<Observation>,
    ) -> Result<(), ObservingError> {
        match self {
            Self::Programs(observer) => observer
                .wait(timeout, facts)
                .map_err(|error| ObservingError::Ring(error.to_string())),
            Self::Positions(observer, _) => {
                std::thread::sleep(timeout.min(LOOK_EVERY));
                observer.look(now(), facts);
                Ok(())
            }
        }
    }

    /// Facts that were lost, as they came faster than they were taken in.
    pub(crate) fn overruns(&self) -> u64 {
        match self {
            Self::Programs(observer) => observer.overruns(),
            Self::Positions(..) => 0,
        }
    }
}

/// Whether other users' processes can be looked at, and their descriptors be duplicated.
fn may_look_at_others() -> bool {
    let capabilities = rustix::thread::capabilities(None);
    capabilities.is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_PTRACE))
}

fn programs(folder: &Path, me: u32) -> Result<KernelObserver, ObservingError> {
    let mut observer = KernelObserver::start()?;
    self_test::run(&mut observer, folder)?;
    observer.leave_out(me).map_err(ObserverError::Refused)?;
    observer.leave_small().map_err(ObserverError::Refused)?;
    Ok(observer)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel that has moved its tracepoints: the service ended, and was started again every five seconds, for ever.
    #[test]
    fn where_programs_do_not_tell_the_truth_positions_are_followed() {
        let untrue = SelfTestError::Untrue {
            fact: "a page fault",
            told: "nothing was told".into(),
        };
        assert!(ObservingError::SelfTest(untrue).leaves_positions());
        let bytes = 65536;
        for other in [
            SelfTestError::Pages { bytes },
            SelfTestError::OtherNumbers { told: 7, own: 1 },
        ] {
            assert!(!ObservingError::SelfTest(other).leaves_positions());
        }
    }
}
