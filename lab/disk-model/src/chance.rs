//! Disks that nobody chose: what a decision does on those has not been seen by who made it.

use fastrand::Rng;

use crate::arm::ArmModel;
use crate::array::ArrayModel;
use crate::flash::FlashModel;
use crate::model::DiskModel;
use crate::order::ServiceOrder;
use crate::volume::VolumeModel;

const MB: u64 = 1_000_000;
const KIB: u64 = 1 << 10;

impl DiskModel {
    /// An arm of 30 to 300 MB/s, a volume of 0.06 to 8 ms and 40 to 4000 MB/s, or flash of 1 to 32 channels, each as likely as the others, or one
    /// time in ten several arms as one. The same seed makes the same.
    #[must_use]
    pub fn by_chance(seed: u64) -> Self {
        let mut chance = Rng::with_seed(seed);
        match chance.u64(0..10) {
            0..3 => Self::Arm(arm(&mut chance)),
            3..6 => Self::Volume(volume(&mut chance)),
            6..9 => Self::Flash(flash(&mut chance)),
            _ => Self::Array(array(&mut chance)),
        }
    }
}

fn arm(chance: &mut Rng) -> ArmModel {
    let seek_us_min = of_any_size(chance, 500, 3_000);
    ArmModel {
        media_bytes_per_s: of_any_size(chance, 30, 300) * MB,
        seek_us_min,
        seek_us_max: seek_us_min + of_any_size(chance, 2_000, 16_000),
        rotation_rpm: one_of(chance, &[5_400, 7_200, 7_200, 10_000, 15_000]),
        order: ServiceOrder::C_LOOK,
    }
}

/// It delivers at least one request at a time.
fn volume(chance: &mut Rng) -> VolumeModel {
    let latency_us = of_any_size(chance, 60, 8_000);
    VolumeModel {
        latency_us,
        requests_per_s: of_any_size(chance, 300, 200_000).max(1_000_000 / latency_us),
        bytes_per_s: of_any_size(chance, 40, 4_000) * MB,
    }
}

fn flash(chance: &mut Rng) -> FlashModel {
    FlashModel {
        channels: 1 << chance.u32(0..6),
        page_us: of_any_size(chance, 25, 400),
        page_bytes: one_of(chance, &[4, 8, 16]) * KIB,
        latency_us: of_any_size(chance, 1, 300),
    }
}

fn array(chance: &mut Rng) -> ArrayModel {
    ArrayModel {
        disks: chance.u32(3..=12),
        chunk_bytes: (16 * KIB) << chance.u32(0..7),
        parity: chance.bool(),
        controller_us: of_any_size(chance, 20, 200),
        link_bytes_per_s: of_any_size(chance, 150, 3_000) * MB,
        read_ahead_bytes: one_of(chance, &[0, 256, 2_048]) * KIB,
        streams: chance.u32(1..=64),
        member: Box::new(DiskModel::Arm(arm(chance))),
    }
}

/// From `least` to `most`, each doubling as likely as any other.
fn of_any_size(chance: &mut Rng, least: u64, most: u64) -> u64 {
    let doublings = (most / least).ilog2();
    let from = least << chance.u32(0..=doublings);
    chance.u64(from..=most.min(2 * from - 1))
}

fn one_of(chance: &mut Rng, values: &[u64]) -> u64 {
    chance.choice(values).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_a_disk_and_all_kinds_are_there() {
        let disks: Vec<_> = (0..200).map(DiskModel::by_chance).collect();
        for (seed, disk) in disks.iter().enumerate() {
            assert_eq!(disk.check(), Ok(()), "{seed}");
        }
        for (kind, least) in [
            ("rotating disk", 40),
            ("flash disk", 40),
            ("network volume", 40),
            ("disk array", 10),
        ] {
            let found = disks.iter().filter(|disk| disk.kind() == kind).count();
            assert!(found >= least, "{found} of {kind}");
        }
    }

    /// Results in the tree are of these.
    #[test]
    fn a_seed_makes_the_same_everywhere() {
        let seventh = DiskModel::by_chance(7).to_toml().expect("writable");
        let expected =
            "kind = \"flash\"\nchannels = 2\npage-us = 148\npage-bytes = 4096\nlatency-us = 3\n";
        assert_eq!(seventh, expected);
    }
}
