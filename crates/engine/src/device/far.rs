//! Devices that take as long as an arm and may be far away.

use core::sync::atomic::Ordering::Relaxed;

use ahead_policy::device::DeviceEstimate;

use super::{CONFIGURED, Device, MEASURED};

impl Device {
    /// Whether it is believed to be an arm by what it takes, and says that it has none: it may be far away.
    pub(crate) fn may_be_far(&self) -> bool {
        self.may_be_tried() && self.estimate().has_one_arm()
    }

    /// Neither it nor who configured it says what it is.
    fn may_be_tried(&self) -> bool {
        !self.says_arm() && self.access_is.load(Relaxed) != CONFIGURED
    }

    /// An element of a stride is left alone, and was waited for. What strides are to ask by with this one, to find out whether that is right: a
    /// device that takes `alone_ns` and serves some at once; `None`: not with this one.
    pub(crate) fn on_left_alone(&self, alone_ns: u64) -> Option<DeviceEstimate> {
        let is_due = self.may_be_tried() && self.together.on_left_alone();
        is_due.then(|| DeviceEstimate {
            access_ns: self.access_ns.load(Relaxed).max(alone_ns),
            ..DeviceEstimate::FLASH
        })
    }

    /// Nothing was asked for by that.
    pub(crate) fn on_not_tried(&self) {
        self.together.on_not_asked();
    }

    /// Elements of a stride that were asked for at once came together, as from a device like `seen`, or one by one: `None`. It is far away once
    /// that was no chance.
    pub(crate) fn on_together(&self, seen: Option<DeviceEstimate>) {
        let is_sure = self.together.on_shown(seen.is_some());
        let Some(seen) = seen.filter(|_| is_sure && self.may_be_tried()) else {
            return;
        };
        let known = self.estimate();
        let bytes_per_second = match self.bandwidth_is.load(Relaxed) {
            CONFIGURED => known.bytes_per_second,
            _ => known.bytes_per_second.max(seen.bytes_per_second),
        };
        self.has_been_arm.store(false, Relaxed);
        self.has_been_slow.store(false, Relaxed);
        self.slower_ns.store(0, Relaxed);
        self.waits_to_refute.store(0, Relaxed);
        self.trial.end();
        self.access_is.store(MEASURED, Relaxed);
        self.believe(DeviceEstimate {
            access_ns: seen.access_ns,
            bytes_per_second,
            depth: known.depth.max(seen.depth),
        });
    }
}
