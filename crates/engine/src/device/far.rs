//! Devices that take as long as an arm, or longer than is guessed, and are far away.

use core::sync::atomic::Ordering::Relaxed;

use ahead_policy::device::DeviceEstimate;

use super::waits::seeks;
use super::{ACCESS_NS_MAX, CONFIGURED, Device, FIRST_WAIT_FACTOR, GUESSED, MEASURED};

impl Device {
    /// The first wait for one access replaces the guess: a guess is of a kind of device, a wait of this
    /// one. It may not be that of an arm, of which one access says little.
    pub(super) fn take_first_wait(&self, waited_ns: u64) {
        let guess = self.estimate();
        let seen = DeviceEstimate {
            access_ns: waited_ns,
            ..guess
        };
        let is_guess = self.access_is.load(Relaxed) == GUESSED;
        if is_guess && !seeks(&guess) && !seeks(&seen) {
            let (least, most) = (guess.access_ns / 4, guess.access_ns * FIRST_WAIT_FACTOR);
            let access_ns = waited_ns.clamp(least, most);
            self.access_is.store(MEASURED, Relaxed);
            self.access_ns.store(access_ns, Relaxed);
            // What is slower to answer is farther away, and what lies between is no faster: what is under
            // way at once stays what it was guessed to be.
            if self.bandwidth_is.load(Relaxed) == GUESSED && access_ns > guess.access_ns {
                let rate = u128::from(guess.bytes_per_second) * u128::from(guess.access_ns);
                let rate = u64::try_from(rate / u128::from(access_ns)).unwrap_or(u64::MAX);
                self.bytes_per_second.store(rate, Relaxed);
            }
        }
    }

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

    /// Believes that an access takes longer if some waits in a row say so, each of `waited_ns` for a small read behind nothing. Whether they did.
    pub(super) fn try_longer(&self, waited_ns: u64) -> bool {
        if self.depth.load(Relaxed) <= 1 || self.says_arm() {
            return false;
        }
        let longer = self.longer.on_wait(waited_ns, self.access_ns.load(Relaxed));
        if let Some(access_ns) = longer {
            self.access_ns.store(access_ns.min(ACCESS_NS_MAX), Relaxed);
        }
        longer.is_some()
    }
}
