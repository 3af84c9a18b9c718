//! Devices whose window another program has set while the daemon ran: the owner of the machine has decided there, and
//! nothing is steered on them any more. Pure.
//!
//! The daemon's own change of a window lasts for a moment within one call, so what is found between two calls is
//! another program's. One of ours that measures with several windows (`ahead device measure`) is noted as their holder: while it does,
//! nothing is steered there either, and afterwards it goes on where the window is what it was.

use std::collections::BTreeMap;
use std::fmt;

use ahead_sys::block_queue::DeviceNumber;

/// Devices that are remembered. A machine with more has them without this rule.
const DEVICES_MAX: usize = 1024;

/// What another program did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnersWindow {
    /// Of which device.
    pub device: u64,
    /// The window before, in KiB.
    pub before_kib: u64,
    /// The window now, in KiB.
    pub now_kib: u64,
}

/// As the log has it.
impl fmt::Display for OwnersWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            device,
            before_kib,
            now_kib,
        } = self;
        let number = DeviceNumber::from_dev(*device);
        write!(
            f,
            "another program set the window of {number} from {before_kib} to {now_kib} KiB: nothing is steered there \
             until the settings are read again (SIGHUP)"
        )
    }
}

#[derive(Clone, Copy, Debug)]
struct KnownDevice {
    kib: u64,
    is_owned: bool,
    /// The window is set for a while by one of ours.
    is_held: bool,
}

/// The windows of all devices that files were met on.
#[derive(Debug, Default)]
pub(crate) struct OwnedDevices {
    known: BTreeMap<u64, KnownDevice>,
}

impl OwnedDevices {
    /// A file of `device` was met, whose window is what `window_kib` says; `None` where it has none of its own.
    pub(crate) fn meet(&mut self, device: u64, window_kib: impl FnOnce(u64) -> Option<u64>) {
        if self.known.len() >= DEVICES_MAX || self.known.contains_key(&device) {
            return;
        }
        if let Some(kib) = window_kib(device) {
            let known = KnownDevice {
                kib,
                is_owned: false,
                is_held: false,
            };
            self.known.insert(device, known);
        }
    }

    /// Whether another program has decided there, or measures.
    pub(crate) fn is_owned(&self, device: u64) -> bool {
        let known = self.known.get(&device);
        known.is_some_and(|known| known.is_owned || known.is_held)
    }

    /// Looks at all windows; what was changed since the last look. Devices that are gone are forgotten: their numbers
    /// may be others' next. `is_held` says whether one of ours has set a window for a while; what one that was killed has left it puts
    /// back first.
    pub(crate) fn look(
        &mut self,
        window_kib: impl Fn(u64) -> Option<u64>,
        is_held: impl Fn(u64) -> bool,
    ) -> Vec<OwnersWindow> {
        let mut changes = Vec::new();
        self.known.retain(|&device, known| {
            let Some(mut now_kib) = window_kib(device) else {
                return false;
            };
            if !known.is_owned && (known.is_held || now_kib != known.kib) {
                known.is_held = is_held(device);
                if known.is_held {
                    return true;
                }
                now_kib = window_kib(device).unwrap_or(now_kib);
            }
            let before_kib = std::mem::replace(&mut known.kib, now_kib);
            if before_kib != now_kib && !std::mem::replace(&mut known.is_owned, true) {
                changes.push(OwnersWindow {
                    device,
                    before_kib,
                    now_kib,
                });
            }
            true
        });
        changes
    }

    /// From now on the windows are what they are.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: u64 = 2049;
    const OTHER: u64 = 2065;

    #[test]
    fn a_window_that_was_set_by_another_program_ends_steering_on_its_device_alone() {
        let mut owned = OwnedDevices::default();
        owned.meet(DISK, |_| Some(128));
        owned.meet(OTHER, |_| Some(128));
        assert_eq!(owned.look(|_| Some(128), |_| false), []);
        let set = |device| Some(if device == DISK { 512 } else { 128 });
        let [change] = owned.look(set, |_| false).try_into().unwrap();
        assert_eq!(
            (change.device, change.before_kib, change.now_kib),
            (DISK, 128, 512)
        );
        assert!(change.to_string().starts_with(
            "another program set the window of 8:1 from 128 to 512 KiB: nothing is steered there"
        ));
        assert!(owned.is_owned(DISK) && !owned.is_owned(OTHER));
        // It is said once, and setting it back is no wish for more.
        assert_eq!(owned.look(|_| Some(128), |_| false), []);
        assert!(owned.is_owned(DISK));
        owned.forget();
        owned.meet(DISK, |_| Some(128));
        assert!(!owned.is_owned(DISK));
    }

    /// `ahead device measure` was taken for the owner of the machine, and ended steering on its disk for good.
    #[test]
    fn a_window_that_is_measured_with_is_steered_again_when_it_is_what_it_was() {
        let mut owned = OwnedDevices::default();
        owned.meet(DISK, |_| Some(128));
        for kib in [0, 128, 4096] {
            assert_eq!(owned.look(|_| Some(kib), |_| true), []);
            assert!(owned.is_owned(DISK));
        }
        assert_eq!(owned.look(|_| Some(128), |_| false), []);
        assert!(!owned.is_owned(DISK));
        // One that was killed: who looks for it puts its window back.
        let kib = std::cell::Cell::new(4096);
        let put_back = |_| {
            kib.set(128);
            false
        };
        assert_eq!(owned.look(|_| Some(kib.get()), put_back), []);
        assert!(!owned.is_owned(DISK));
        // And what is set in the end is the owner's.
        assert_eq!(owned.look(|_| Some(512), |_| true), []);
        assert_eq!(owned.look(|_| Some(512), |_| false).len(), 1);
        assert!(owned.is_owned(DISK));
    }

    /// A number that is another device's now.
    #[test]
    fn a_device_that_is_gone_is_forgotten() {
        let mut owned = OwnedDevices::default();
        owned.meet(DISK, |_| Some(128));
        assert_eq!(owned.look(|_| None, |_| false), []);
        owned.meet(DISK, |_| Some(4096));
        assert_eq!(owned.look(|_| Some(4096), |_| false), []);
        assert!(!owned.is_owned(DISK));
    }
}
