//! Two numbers for every disk: how long a random access takes, and how fast bytes come after it.
//!
//! For whoever needs an order of magnitude beforehand (how long a hole may be that is cheaper to
//! read than to skip, what a window should be). What a request really takes depends on more, and
//! only the [`Disk`](crate::Disk) says it.

use ahead_units::PAGE_BYTES;

use crate::drive::{DriveModel, SECTOR_BYTES};
use crate::model::DiskModel;

impl DiskModel {
    /// Nanoseconds before the first byte of a random access comes, on average and when idle.
    #[must_use]
    pub fn access_ns(&self) -> u64 {
        match self {
            Self::Arm(arm) => {
                let half_turn_ns = 30_000_000_000 / arm.rotation_rpm.max(1);
                u64::midpoint(arm.seek_us_min, arm.seek_us_max) * 1_000 + half_turn_ns
            }
            Self::Flash(flash) => (flash.latency_us + flash.page_us) * 1_000,
            Self::Volume(volume) => volume.latency_us * 1_000,
            Self::Fixed(fixed) => fixed.access_us * 1_000,
            Self::Drive(drive) => drive_access_ns(drive),
            Self::Ramp(ramp) => ramp.window_ns + ramp.slow_page_ns,
            Self::Array(array) => array.controller_us * 1_000 + array.member.access_ns(),
        }
    }

    /// Bytes per second of one long sequential read, at the beginning of the disk.
    #[must_use]
    pub fn bytes_per_s(&self) -> u64 {
        match self {
            Self::Arm(arm) => arm.media_bytes_per_s,
            Self::Flash(flash) => {
                let at_once = flash.page_bytes * u64::from(flash.channels);
                at_once * 1_000_000 / flash.page_us.max(1)
            }
            Self::Volume(volume) => volume.bytes_per_s,
            Self::Fixed(fixed) => fixed.bytes_per_s,
            Self::Drive(drive) => {
                let outer = drive.zones.first().map_or(0, |zone| zone.track_sectors);
                outer * SECTOR_BYTES * drive.rotation_rpm / 60
            }
            Self::Ramp(ramp) => PAGE_BYTES * 1_000_000_000 / ramp.fast_page_ns.max(1),
            Self::Array(array) => {
                let together = array.member.bytes_per_s() * array.data_disks();
                together.min(array.link_bytes_per_s)
            }
        }
    }
}

/// Overhead, a seek over a third of the cylinders (the mean distance), half a turn.
fn drive_access_ns(drive: &DriveModel) -> u64 {
    let cylinders = drive.zones.last().map_or(1, |zone| zone.last_cylinder + 1);
    let half_turn_ns = 30_000_000_000 / drive.rotation_rpm.max(1);
    drive.miss_overhead_us * 1_000 + drive.seek.ns(cylinders / 3, cylinders) + half_turn_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimates_are_of_the_right_size() {
        // (preset, µs, MB/s)
        let expected = [
            ("hdd", 8_016, 100),
            ("ssd", 80, 1_638),
            ("cloud", 500, 125),
            ("theory", 8_000, 104),
            ("x25m", 33, 265),
            ("eva", 350 + 4_950 + 3_000, 212),
            ("ibm-dnes", 252 + 7_700 + 4_167, 23),
        ];
        for (name, us, mb_per_s) in expected {
            let model = DiskModel::preset(name).expect("a preset");
            let difference = (model.access_ns() / 1_000).abs_diff(us);
            assert!(difference * 20 <= us, "{name}: {} ns", model.access_ns());
            assert_eq!(model.bytes_per_s() / 1_000_000, mb_per_s, "{name}");
        }
    }
}
