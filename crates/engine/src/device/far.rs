//! Devices that take as long as an arm and may be far away.

use core::sync::atomic::Ordering::Relaxed;

use ahead_policy::device::DeviceEstimate;

use super::{CONFIGURED, Device, MEASURED};

impl Device {
    /// Whether it is believed to be an arm by what it takes, and says that it has none: it may be far away.
    pub(crate) fn may_be_far(&self) -> bool {
        let is_fixed = self.access_is.load(Relaxed) == CONFIGURED;
        self.estimate().has_one_arm() && !self.says_arm() && !is_fixed
    }

    /// An element of a stride is left alone, and was waited for. What strides are to ask by with this one, to find out whether that is right: a
    /// device that serves some at once; `None`: not with this one.
    pub(crate) fn on_left_alone(&self) -> Option<DeviceEstimate> {
        let is_fixed = self.access_is.load(Relaxed) == CONFIGURED;
        let is_due = !self.says_arm() && !is_fixed && self.together.on_left_alone();
        is_due.then(|| DeviceEstimate {
            access_ns: self.access_ns.load(Relaxed).max(self.alone_ns()),
            ..DeviceEstimate::FLASH
        })
    }

    /// What a read waits that nothing had asked for, in the mean; 0: not known.
    pub(crate) fn alone_ns(&self) -> u64 {
        self.together.alone_ns()
    }

    /// Elements of a stride that were asked for at once came together, as from a device like `seen`, or one by one: `None`. It is far away once
    /// that was no chance.
    pub(crate) fn on_together(&self, seen: Option<DeviceEstimate>) {
        let is_sure = self.together.on_shown(seen.is_some());
        let Some(seen) = seen.filter(|_| is_sure) else {
            return;
        };
        let known = self.estimate();
        self.has_been_arm.store(false, Relaxed);
        self.has_been_slow.store(false, Relaxed);
        self.access_is.store(MEASURED, Relaxed);
        self.believe(DeviceEstimate {
            access_ns: seen.access_ns,
            bytes_per_second: known.bytes_per_second.max(seen.bytes_per_second),
            depth: known.depth.max(seen.depth),
        });
    }
}
