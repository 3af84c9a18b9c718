//! What is believed about each device, and whether a stream has it to itself.
//!
//! An estimate begins with the kind of device (one arm or flash) or with what was configured, and follows
//! the waits that the host observes: a read that nothing had asked for, on a device with
//! no other user, waits for one access.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use Ordering::Relaxed;

use ahead_policy::device::DeviceEstimate;

use crate::settings::Settings;

/// Devices that are distinguished; further ones share the last place.
pub const DEVICES_MAX: usize = 16;

/// How much a switch between streams adds to the contest score, the score from which a device
/// counts as contested, and its ceiling. Two switches within eight requests are a contest; a
/// stream that asks alone for twelve requests has the device to itself again.
const SWITCH: u32 = 4;
const CONTESTED: u32 = 8;
const SCORE_MAX: u32 = 20;

/// A wait counts for one part in eight of the access time. On flash a longer one than believed
/// counts for one in 128: most long waits were spent behind other requests there, and windows
/// sized for them make the queue longer still. On an arm long waits are what seeks are.
const SHORTER_PARTS: u64 = 8;
const LONGER_PARTS: u64 = 128;

/// What the host found out about a device when it met it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    /// Has an arm that seeks; `None` when it is not known.
    pub rotational: Option<bool>,
    /// Pages that one call may ask for: the kernel cuts the rest silently. At least 1.
    pub call_pages_max: u32,
    /// The configured access time, 0 if none.
    pub access_ns: u64,
    /// The configured bandwidth, 0 if none.
    pub bytes_per_second: u64,
    /// The configured depth, 0 if none.
    pub depth: u32,
}

impl DeviceFacts {
    /// Nothing was found out: what the settings say, and a call that every kernel takes.
    #[must_use]
    pub fn configured(settings: &Settings) -> Self {
        Self {
            rotational: None,
            call_pages_max: 32,
            access_ns: u64::from(settings.access_us) * 1000,
            bytes_per_second: u64::from(settings.bandwidth_mb) * 1_000_000,
            depth: settings.depth,
        }
    }

    /// With the limits of the queue and of the kernel's read-ahead, in pages: a call is cut at the
    /// larger one. A call for more than 4 MiB would hold the reader for too long.
    #[must_use]
    pub fn with_call_limits(self, request_pages_max: u64, ra_pages: u64) -> Self {
        let pages = request_pages_max.max(ra_pages);
        let pages = if pages == 0 { 32 } else { pages.min(1024) };
        Self {
            call_pages_max: u32::try_from(pages).unwrap_or(1024),
            ..self
        }
    }
}

/// One device, shared by all threads of a host. All zero is a free place.
#[derive(Debug, Default)]
pub struct Device {
    access_ns: AtomicU64,
    bytes_per_second: AtomicU64,
    depth: AtomicU32,
    call_pages_max: AtomicU32,
    access_is_configured: AtomicU32,
    last_asker: AtomicU64,
    score: AtomicU32,
}

/// All devices of a host, shared by its threads. The last place serves those that find none.
#[derive(Debug)]
pub struct Devices {
    entries: [DeviceEntry; DEVICES_MAX],
}

#[derive(Debug)]
struct DeviceEntry {
    /// The device's number plus one; 0 is free.
    number: AtomicU64,
    facts_known: AtomicBool,
    device: Device,
}

/// Where a device stands in [`Devices`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DevicePlace(u8);

impl Default for Devices {
    fn default() -> Self {
        Self::new()
    }
}

impl Devices {
    /// No device yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            entries: [const {
                DeviceEntry {
                    number: AtomicU64::new(0),
                    facts_known: AtomicBool::new(false),
                    device: Device::new(),
                }
            }; DEVICES_MAX],
        }
    }

    /// The place of the device with this number, taken for it if it had none.
    #[must_use]
    pub fn place(&self, number: u64) -> DevicePlace {
        let wanted = number.wrapping_add(1).max(1);
        let last = DEVICES_MAX - 1;
        let place = self.entries[..last].iter().position(|entry| {
            match entry
                .number
                .compare_exchange(0, wanted, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => true,
                Err(taken) => taken == wanted,
            }
        });
        DevicePlace(u8::try_from(place.unwrap_or(last)).unwrap_or(0))
    }

    fn entry(&self, place: DevicePlace) -> &DeviceEntry {
        &self.entries[usize::from(place.0).min(DEVICES_MAX - 1)]
    }

    /// The device at a place.
    #[must_use]
    pub fn get(&self, place: DevicePlace) -> &Device {
        &self.entry(place).device
    }

    /// Sets the facts of a device with `find` unless that was done before.
    pub fn learn(&self, place: DevicePlace, find: impl FnOnce() -> DeviceFacts) {
        let entry = self.entry(place);
        if !entry.facts_known.swap(true, Ordering::AcqRel) {
            entry.device.set_facts(&find());
        }
    }
}

impl Device {
    /// A device of which nothing is known.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            access_ns: AtomicU64::new(0),
            bytes_per_second: AtomicU64::new(0),
            depth: AtomicU32::new(0),
            call_pages_max: AtomicU32::new(0),
            access_is_configured: AtomicU32::new(0),
            last_asker: AtomicU64::new(0),
            score: AtomicU32::new(0),
        }
    }

    /// Takes what the host found out.
    pub fn set_facts(&self, facts: &DeviceFacts) {
        let kind = if facts.rotational == Some(true) {
            DeviceEstimate::ARM
        } else {
            DeviceEstimate::FLASH
        };
        let or = |configured: u64, kind: u64| if configured > 0 { configured } else { kind };
        self.access_ns
            .store(or(facts.access_ns, kind.access_ns), Relaxed);
        self.bytes_per_second
            .store(or(facts.bytes_per_second, kind.bytes_per_second), Relaxed);
        self.depth.store(
            if facts.depth > 0 {
                facts.depth
            } else {
                kind.depth
            },
            Relaxed,
        );
        self.access_is_configured
            .store(u32::from(facts.access_ns > 0), Relaxed);
        self.call_pages_max
            .store(facts.call_pages_max.max(1), Relaxed);
    }

    /// The estimate as of now.
    #[must_use]
    pub fn estimate(&self) -> DeviceEstimate {
        DeviceEstimate {
            access_ns: self.access_ns.load(Relaxed),
            bytes_per_second: self.bytes_per_second.load(Relaxed),
            depth: self.depth.load(Relaxed),
        }
    }

    /// Pages that one call may ask for; 32 before the host said anything.
    #[must_use]
    pub fn call_pages_max(&self) -> u64 {
        match self.call_pages_max.load(Relaxed) {
            0 => 32,
            pages => u64::from(pages),
        }
    }

    /// Whether others made the device move since the streams asked last.
    #[must_use]
    pub fn is_contested(&self) -> bool {
        self.score.load(Relaxed) >= CONTESTED
    }

    /// `asker` (any number that tells streams apart) asks for pages.
    pub fn on_ask(&self, asker: u64) {
        let score = self.score.load(Relaxed);
        let score = if self.last_asker.swap(asker, Relaxed) == asker {
            score.saturating_sub(1)
        } else {
            (score + SWITCH).min(SCORE_MAX)
        };
        self.score.store(score, Relaxed);
    }

    /// A read of `pages` that no window covered waited `waited_ns`: the device moved for it.
    pub fn on_lone_wait(&self, waited_ns: u64, pages: u64) {
        let score = self.score.load(Relaxed);
        self.score.store((score + SWITCH).min(SCORE_MAX), Relaxed);
        if self.access_is_configured.load(Relaxed) != 0 || pages > 16 {
            return;
        }
        // A wait behind a queue says nothing about one access: it counts for at most double.
        let known = self.access_ns.load(Relaxed);
        let seen = waited_ns.clamp(known / 4, known * 2);
        let is_arm = self.depth.load(Relaxed) <= 1;
        let parts = if seen < known || is_arm {
            SHORTER_PARTS
        } else {
            LONGER_PARTS
        };
        let learned = (known * (parts - 1) + seen) / parts;
        self.access_ns.store(learned.max(1000), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(rotational: bool) -> Device {
        let device = Device::default();
        device.set_facts(&DeviceFacts {
            rotational: Some(rotational),
            call_pages_max: 256,
            access_ns: 0,
            bytes_per_second: 0,
            depth: 0,
        });
        device
    }

    fn arm() -> Device {
        device(true)
    }

    #[test]
    fn the_access_time_of_fast_flash_is_learned_from_its_waits() {
        let flash = device(false);
        for _ in 0..64 {
            flash.on_lone_wait(40_000, 1);
        }
        let learned = flash.estimate().access_ns;
        assert!((39_000..45_000).contains(&learned), "{learned}");
    }

    #[test]
    fn the_access_time_of_a_fast_arm_is_learned_from_its_waits() {
        let arm = arm();
        for _ in 0..64 {
            arm.on_lone_wait(2_000_000, 1);
        }
        let learned = arm.estimate().access_ns;
        assert!((1_900_000..2_200_000).contains(&learned), "{learned}");
    }

    #[test]
    fn one_wait_behind_a_long_queue_does_not_change_the_belief_much() {
        let flash = device(false);
        let before = flash.estimate().access_ns;
        flash.on_lone_wait(4_000_000_000, 1);
        assert!(flash.estimate().access_ns <= before * 102 / 100);
    }

    #[test]
    fn two_streams_in_turn_are_a_contest_and_one_alone_is_not() {
        let device = arm();
        for asker in [1, 2, 1, 2] {
            device.on_ask(asker);
        }
        assert!(device.is_contested());
        for _ in 0..16 {
            device.on_ask(1);
        }
        assert!(!device.is_contested());
    }

    #[test]
    fn random_lookups_beside_a_scan_are_a_contest() {
        let device = arm();
        device.on_ask(1);
        device.on_lone_wait(8_000_000, 4);
        device.on_lone_wait(8_000_000, 4);
        assert!(device.is_contested());
    }
}
