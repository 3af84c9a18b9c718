//! What the service manager is told: ready, reading the settings again, alive, ending. Without one, nothing.

use std::time::{Duration, Instant};

use sd_notify::NotifyState;

/// The service manager, if there is one.
#[derive(Debug)]
pub(super) struct Manager {
    /// It wants to hear after so long that the daemon works.
    watchdog: Option<Duration>,
    told: Instant,
}

impl Manager {
    pub(super) fn new() -> Self {
        Self {
            watchdog: sd_notify::watchdog_enabled(),
            told: Instant::now(),
        }
    }

    /// The daemon works, and does what `text` says.
    pub(super) fn ready(&self, text: &str) {
        tell(&[NotifyState::Ready, NotifyState::Status(text)]);
    }

    /// It reads its settings again; [`Self::ready`] follows.
    pub(super) fn reloading(&self) {
        if let Ok(now) = NotifyState::monotonic_usec_now() {
            tell(&[NotifyState::Reloading, now]);
        }
    }

    /// It puts back what it has changed.
    pub(super) fn stopping(&self) {
        tell(&[NotifyState::Stopping]);
    }

    /// The loop has come round. Tells it twice in the time that the manager waits.
    pub(super) fn on_round(&mut self) {
        if let Some(watchdog) = self.watchdog
            && self.told.elapsed() >= watchdog / 2
        {
            tell(&[NotifyState::Watchdog]);
            self.told = Instant::now();
        }
    }
}

/// A manager that does not listen is none.
fn tell(state: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(state);
}
