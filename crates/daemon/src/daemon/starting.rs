//! How it begins.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::path::Path;
use std::rc::Rc;

use ahead_device::machine::MachineTree;
use ahead_engine::session::Session;
use ahead_engine::settings::Settings;
use ahead_observer::observer::WATCHED_MAX;
use ahead_units::{PageCount, Timestamp};
use lru::LruCache;

use super::{Daemon, DaemonCounts, DaemonError, Service, THREADS_MAX};
use crate::aside::Aside;
use crate::changes::Changes;
use crate::files::{FILES_MAX, Files};
use crate::machine_facts::now;
use crate::memory::PressedMemory;
use crate::narrowed::NarrowedFiles;
use crate::observing::Observing;
use crate::owned::OwnedDevices;
use crate::reach::{self, Reacher};
use crate::readers::Readers;
use crate::scope::Scope;
use crate::spending::Spending;
use crate::starving::StarvingFaults;
use crate::windows::DeviceWindows;

impl Daemon {
    /// Starts to observe, after known reads of a scratch file in `folder` were told as they were. Puts back what an
    /// earlier daemon left.
    ///
    /// # Errors
    /// [`DaemonError`]; nothing was changed.
    pub fn start(
        settings: &Settings,
        service: Service,
        scope: Scope,
        machine: &MachineTree,
        folder: &Path,
    ) -> Result<Self, DaemonError> {
        let aside = Rc::new(Aside::default());
        let reacher = Rc::new(Reacher::with(&aside));
        let windows = Rc::new(DeviceWindows::new(machine));
        let narrowed = NarrowedFiles::start(machine, &reacher, &windows)?;
        let observer = Observing::start(folder)?;
        if service != Service::Observe {
            reach::may_reach().map_err(|source| DaemonError::Reach { source })?;
        }

        let files = NonZeroUsize::new(FILES_MAX).unwrap_or(NonZeroUsize::MIN);
        let watched = NonZeroUsize::new(WATCHED_MAX / 2).unwrap_or(NonZeroUsize::MIN);
        let mut daemon = Self {
            observer,
            session: Session::new(Files::new(files)),
            reacher,
            settings: *settings,
            service,
            scope,
            watched: LruCache::new(watched),
            last: LruCache::new(THREADS_MAX),
            readers: Readers::new(&aside),
            narrowed,
            owned: OwnedDevices::default(),
            windows,
            starving: StarvingFaults::new(),
            memory: PressedMemory::default(),
            file_memory: PageCount::new(0),
            owner_news: Vec::new(),
            counts: DaemonCounts::default(),
            changes: Changes::default(),
            began: now(),
            aside,
            spending: Spending::new(),
            facts: VecDeque::new(),
            looked: Timestamp::new(0),
            missed: Timestamp::new(0),
        };
        daemon.learn_memory();
        Ok(daemon)
    }
}
