//! Disks by name.
//!
//! Four are for comparison and bench (`hdd`, `ssd`, `cloud`, and `array`, the short name of
//! `sata-stripe`); the others stand behind published figures, or in today's machines. Mechanical
//! drives have their figures in [`drive`](crate::drive).

use crate::arm::ArmModel;
use crate::array::ArrayModel;
use crate::drive::sets;
use crate::fixed::FixedModel;
use crate::flash::FlashModel;
use crate::limits::ModelError;
use crate::model::DiskModel;
use crate::names::NAMES;
use crate::order::ServiceOrder;
use crate::ramp::RampModel;
use crate::volume::VolumeModel;

const MIB: u64 = 1 << 20;

impl DiskModel {
    /// Names of the presets.
    pub const PRESETS: [&'static str; 25] = NAMES;

    /// The preset called `name`.
    ///
    /// # Errors
    /// [`ModelError::UnknownPreset`].
    pub fn preset(name: &str) -> Result<Self, ModelError> {
        Ok(match name {
            "hdd" => Self::hdd(),
            "ssd" => Self::ssd(),
            "cloud" => Self::cloud(),
            "theory" => Self::theory(),
            "fireball" => Self::Drive(sets::fireball()),
            "fireball-pio" => Self::Drive(sets::fireball_pio()),
            "diamondmax" => Self::Drive(sets::diamondmax()),
            "barracuda-7200.11" => Self::Drive(sets::barracuda_7200_11()),
            "hp-97560" => Self::Drive(sets::hp_97560()),
            "ibm-dnes" => Self::Drive(sets::ibm_dnes()),
            "atlas-iii" => Self::Drive(sets::atlas_iii()),
            "atlas-10k" => Self::Drive(sets::atlas_10k()),
            "atlas-10k-v" => Self::Drive(sets::atlas_10k_v()),
            "barracuda-st32171" => Self::Drive(sets::barracuda_st32171()),
            "cheetah-9lp" => Self::Drive(sets::cheetah_9lp()),
            "eva" => Self::eva(),
            "array" | "sata-stripe" => Self::sata_stripe(),
            "cheetah-raid5" => Self::cheetah_raid5(),
            "x25m" => Self::x25m(),
            "nvme" => Self::nvme(),
            "gp3" => Self::gp3(),
            "gp2" => Self::gp2(),
            "st1" => Self::st1(),
            "oci" => Self::oci(),
            other => return Err(ModelError::UnknownPreset(other.to_owned())),
        })
    }

    /// A desktop disk: 100 MB/s, 7200 rpm, about 8.2 ms for a random access.
    #[must_use]
    pub const fn hdd() -> Self {
        Self::Arm(ArmModel {
            media_bytes_per_s: 100_000_000,
            seek_us_min: 1_500,
            seek_us_max: 6_200,
            rotation_rpm: 7_200,
            order: ServiceOrder::C_LOOK,
        })
    }

    /// A flash disk: 8 channels, 80 µs per 16 KiB; at most 1638 MB/s and 100 000 requests/s.
    #[must_use]
    pub const fn ssd() -> Self {
        Self::Flash(FlashModel {
            channels: 8,
            page_us: 80,
            page_bytes: 16_384,
            latency_us: 0,
        })
    }

    /// A cloud volume: 500 µs, 3000 requests/s, 125 MB/s.
    #[must_use]
    pub const fn cloud() -> Self {
        Self::Volume(VolumeModel {
            latency_us: 500,
            requests_per_s: 3_000,
            bytes_per_s: 125_000_000,
        })
    }

    /// The disk of the mail "512KB default readahead size" (2010): 8 ms, and 100 MB/s where a MB has
    /// 1024 KiB.
    #[must_use]
    pub const fn theory() -> Self {
        Self::Fixed(FixedModel {
            access_us: 8_000,
            bytes_per_s: 100 * MIB,
            contiguous_is_free: false,
        })
    }

    /// Intel X25-M, 80 GB: a fit to eleven sequential rates of 2010, each within 3 %. 9 µs and 24 µs
    /// per page, then 15.45 µs per page once a window spans all channels. The published estimate
    /// changes slope at 16 pages; at 21 the fit holds for 128 KiB as well.
    #[must_use]
    pub const fn x25m() -> Self {
        Self::Ramp(RampModel {
            window_ns: 9_000,
            slow_pages: 21,
            slow_page_ns: 24_000,
            fast_page_ns: 15_450,
        })
    }

    /// A data-centre NVMe disk: 90 µs, 3.5 GB/s, 840 000 requests/s.
    #[must_use]
    pub const fn nvme() -> Self {
        Self::Volume(VolumeModel {
            latency_us: 90,
            requests_per_s: 840_000,
            bytes_per_s: 3_500_000_000,
        })
    }

    /// AWS gp3 as included in its price: 3000 requests/s, 125 MiB/s. Latency (for this and the next
    /// two) is an order of magnitude.
    #[must_use]
    pub const fn gp3() -> Self {
        Self::Volume(VolumeModel {
            latency_us: 500,
            requests_per_s: 3_000,
            bytes_per_s: 125 * MIB,
        })
    }

    /// AWS gp2 while its credits last: 3000 requests/s, 250 MiB/s. Without them a small volume falls
    /// to 3 requests/s per GiB; that is a volume with other figures.
    #[must_use]
    pub const fn gp2() -> Self {
        Self::Volume(VolumeModel {
            latency_us: 500,
            requests_per_s: 3_000,
            bytes_per_s: 250 * MIB,
        })
    }

    /// AWS st1, spinning: 500 requests/s, 500 MiB/s.
    #[must_use]
    pub const fn st1() -> Self {
        Self::Volume(VolumeModel {
            latency_us: 5_000,
            requests_per_s: 500,
            bytes_per_s: 500 * MIB,
        })
    }

    /// A block volume of Oracle's OCI Classic (2017): 0.8 ms for 128 KiB alone, 1.07 GiB/s in all.
    /// The rest of the 0.8 ms is on the way.
    #[must_use]
    pub const fn oci() -> Self {
        Self::Volume(VolumeModel {
            latency_us: 686,
            requests_per_s: 100_000,
            bytes_per_s: 1_148_903_752,
        })
    }

    /// An HP EVA (2010). Windows of 128 and 512 KiB, one at a time, gave 132 and 185 MB/s with any
    /// number of readers: 0.35 ms and the 212.5 MB/s of Fibre Channel at 2 Gbit/s explain both. Eight
    /// disks behind it and a controller that reads ahead are assumed: enough not to be the limit.
    #[must_use]
    pub fn eva() -> Self {
        Self::Array(ArrayModel {
            disks: 8,
            chunk_bytes: 128 << 10,
            parity: false,
            controller_us: 350,
            link_bytes_per_s: 212_500_000,
            read_ahead_bytes: 4 * MIB,
            streams: 64,
            member: Box::new(Self::Drive(sets::atlas_10k_v())),
        })
    }

    /// Five or six SATA disks striped behind a hardware controller (2010): five here. Windows of 128
    /// and 512 KiB gave 148 and 160 MB/s to one reader, 125 and 149 to two: about 0.16 ms and
    /// 163 MB/s.
    #[must_use]
    pub fn sata_stripe() -> Self {
        Self::Array(ArrayModel {
            disks: 5,
            chunk_bytes: 64 << 10,
            parity: false,
            controller_us: 160,
            link_bytes_per_s: 163_000_000,
            read_ahead_bytes: 2 * MIB,
            streams: 32,
            member: Box::new(Self::Drive(sets::barracuda_7200_11())),
        })
    }

    /// Three Seagate Cheetahs of 10 000 rpm as RAID 5 behind a PERC 4/Di (the NFS server of 2006).
    /// The nearest published drive is the Cheetah 9LP; the controller's time and chunk are assumed.
    #[must_use]
    pub fn cheetah_raid5() -> Self {
        Self::Array(ArrayModel {
            disks: 3,
            chunk_bytes: 64 << 10,
            parity: true,
            controller_us: 100,
            link_bytes_per_s: 320_000_000,
            read_ahead_bytes: MIB,
            streams: 16,
            member: Box::new(Self::Drive(sets::cheetah_9lp())),
        })
    }
}
