//! What other processes have learned of a device, and what was kept of an earlier run.

use core::sync::atomic::Ordering::Relaxed;

use ahead_units::Timestamp;

use super::busy::REFUTING_WAITS;
use super::{Device, MEASURED};
use crate::estimates::Estimates;

impl Device {
    /// Takes over what other processes have learned, or what was kept of an earlier run.
    pub fn hear(&self, all: Estimates<'_>, now: Timestamp) {
        if let Some(heard) = self.shared.hear(all, now) {
            self.believe(heard.estimate);
            if heard.estimate.depth > 1 {
                self.has_been_arm.store(false, Relaxed);
            }
            if let Some(are_left) = heard.scans_are_left {
                self.scans.hear(are_left);
            }
            self.bandwidth_is.store(MEASURED, Relaxed);
            let waits = if heard.was_kept { REFUTING_WAITS } else { 0 };
            self.waits_to_refute.store(waits, Relaxed);
        }
    }

    /// Tells other processes what was learned. True if that is worth keeping.
    #[must_use]
    pub fn tell(&self, all: Estimates<'_>, now: Timestamp) -> bool {
        self.shared
            .tell(all, self.estimate(), self.scans.verdict(), now)
    }
}
