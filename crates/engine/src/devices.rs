//! The devices that a host has met, each with its place and what is believed of it.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering, Ordering::Relaxed};

use crate::counted_reads::CountedReads;
use crate::device::Device;
use crate::device_facts::DeviceFacts;

/// Devices that are distinguished; further ones share the last place.
pub const DEVICES_MAX: usize = 16;

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
    counted_reads: CountedReads,
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
                    counted_reads: CountedReads::new(),
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

    /// The device with this number, if it has been met and has a place of its own.
    #[must_use]
    pub fn find(&self, number: u64) -> Option<&Device> {
        self.own_entry(number).map(|entry| &entry.device)
    }

    /// Whether sectors of the device with this number are counted, if it has been met and has a place of its own.
    #[must_use]
    pub fn counted_reads(&self, number: u64) -> Option<&CountedReads> {
        self.own_entry(number).map(|entry| &entry.counted_reads)
    }

    fn own_entry(&self, number: u64) -> Option<&DeviceEntry> {
        let wanted = number.wrapping_add(1).max(1);
        let own = &self.entries[..DEVICES_MAX - 1];
        own.iter()
            .find(|entry| entry.number.load(Ordering::Acquire) == wanted)
    }

    /// The number of the device at a place.
    #[must_use]
    pub fn number(&self, place: DevicePlace) -> u64 {
        self.entry(place).number.load(Relaxed).wrapping_sub(1)
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
